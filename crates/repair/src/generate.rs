//! Arguments and memory for a function that the program never calls, or that is in no program.

use crate::debug::TypeClass;
use crate::inputs::{self, EXTERN_SIZE, Input, InputOrigin, Shared};
use crate::observe::BuildSide;
use crate::vary::{self, Data, InputDice, ItemShape, TripCounts, VariedItem, parameters, some_value};
use trueline_machine::algebra::RSP;
use trueline_machine::cpu::{Cpu, Memory, Region};
use trueline_machine::image::{Image, ImageKind};

const BUFFERS: u32 = 0x2_0000;
/// Bytes of a generated buffer behind a pointer parameter.
const BUFFER_SIZE: u64 = 0x1_0000;

/// One input with the items that it consists of.
pub fn generate(
    dice: &mut InputDice,
    reference: &BuildSide<'_>,
    optimized: &BuildSide<'_>,
    objects: &[Shared],
    layout: usize,
) -> (Input, Vec<VariedItem>) {
    let blank = |image: &Image| {
        let bias = if image.kind == ImageKind::Movable { 0x5555_0000_0000 + 0x123_4000 * layout as u64 } else { 0 };
        let mut memory = Memory::default();
        for section in image.sections.iter().filter(|s| s.loaded) {
            memory.map_zeroes(section.address.wrapping_add(bias), section.size.max(1));
            memory.map(section.address.wrapping_add(bias), &section.data);
        }
        // What the dynamic linker would have done.
        for (slot, target) in &image.inside {
            let _ = memory.write(slot.wrapping_add(bias), u128::from(target.wrapping_add(bias)), 8);
        }
        for address in image.outside.keys().filter(|_| image.kind == ImageKind::Relocatable) {
            memory.map_zeroes(*address, EXTERN_SIZE);
        }
        let mut cpu = Cpu::new(memory, bias);
        cpu.gpr[RSP as usize] = 0x7ffd_4000_0ff8 + 0x11_1000 * layout as u64;
        cpu.fs = 0x7000_0000_0000;
        cpu.memory.map_zeroes(cpu.fs, 0x1000);
        cpu.memory.map_zeroes(cpu.gpr[RSP as usize] - 0x1000, 0x3000);
        cpu
    };
    let (mut rc, mut oc) = (blank(reference.image), blank(optimized.image));
    let mut items = inputs::items(optimized, objects, (rc.bias, oc.bias));
    for item in &items {
        vary::vary_item(dice, item, &mut rc, &mut oc, Data::Fresh, TripCounts::Any);
    }
    let mut buffers = Vec::new();
    for n in (0..16).filter(|n| *n != RSP as usize) {
        oc.gpr[n] = dice.throw();
    }
    for (k, (ty, place)) in parameters(optimized).into_iter().enumerate() {
        match place {
            Err(n) => {
                let value = some_value(dice, TypeClass::Float, ty.size);
                (rc.xmm[n], oc.xmm[n]) = (value, value);
            }
            Ok(n) if ty.class == TypeClass::Pointer => {
                let start = 0x6000_0000_0000 + (k as u64) * 0x100_0000 + 0x20_0000 * layout as u64;
                let (class, width) = ty.element.filter(|(_, s)| *s > 0).unwrap_or((TypeClass::Unsigned, 1));
                for cpu in [&mut rc, &mut oc] {
                    cpu.memory.map_zeroes(start, BUFFER_SIZE);
                    cpu.gpr[n] = start;
                }
                let item = VariedItem { at: (start, start), size: BUFFER_SIZE, class, width, shape: ItemShape::Array };
                if matches!(class, TypeClass::Signed | TypeClass::Unsigned | TypeClass::Float) && width <= 8 {
                    vary::vary_item(dice, &item, &mut rc, &mut oc, Data::Fresh, TripCounts::Any);
                    items.push(item);
                }
                buffers.push(Region { start, end: start + BUFFER_SIZE, id: BUFFERS + k as u32 });
            }
            Ok(n) => {
                let value = 5 + dice.below(60);
                (rc.gpr[n], oc.gpr[n]) = (value, value);
            }
        }
    }
    inputs::track(&mut rc, objects, |x| x.1, (0, 0), &buffers);
    inputs::track(&mut oc, objects, |x| x.2, (0, 0), &buffers);
    (Input { reference: rc, optimized: oc, layout, origin: InputOrigin::Generated, number: 0, call: 0 }, items)
}
