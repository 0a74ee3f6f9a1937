//! Inputs for a pair of runs: the program's own state at the function's entry, variations of it, or, where
//! the program never calls the function (or is no program), generated arguments and memory.

use crate::algebra::RSP;
use crate::cpu::{Cpu, Memory, Region, Tracker};
use crate::debug::{Type, TypeClass, VariableKind};
use crate::image::{Image, ImageKind};
use crate::observe::Side;
use crate::snapshot::Snapshot;
use std::collections::BTreeMap;

const HEAP: u32 = 0x1_0000;
const BUFFERS: u32 = 0x2_0000;
/// Bytes of a generated buffer behind a pointer parameter.
const BUFFER_SIZE: u64 = 0x1_0000;
/// Room given to an object that an object file only declares.
const EXTERN_SIZE: u64 = 0xf_0000;

/// One input for both builds.
#[derive(Clone, Debug)]
pub struct Input {
    /// The reference build's machine at the entry.
    pub reference: Cpu,
    /// The optimized build's machine at the entry.
    pub optimized: Cpu,
    /// Which layout it runs in.
    pub layout: usize,
    /// Where it came from.
    pub origin: Origin,
}

/// Where an input came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The program's own run.
    Program,
    /// The program's own run with other data and parameters.
    Varied,
    /// Made up.
    Generated,
}

/// A small generator whose stream never changes.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

/// Shared objects of both images: name, reference address, optimized address, size.
pub fn shared(reference: &Image, optimized: &Image) -> Vec<(String, u64, u64, u64)> {
    let mut found: BTreeMap<(String, u64), (u64, u64)> = BTreeMap::new();
    let theirs: BTreeMap<(&str, u64), u64> = optimized.data_symbols().map(|s| ((s.name.as_str(), s.size), s.address)).collect();
    for symbol in reference.data_symbols() {
        if let Some(address) = theirs.get(&(symbol.name.as_str(), symbol.size)) {
            found.insert((symbol.name.clone(), symbol.size), (symbol.address, *address));
        }
    }
    if optimized.kind == ImageKind::Relocatable {
        for (address, name) in &optimized.outside {
            if let Some((theirs, _)) = reference.outside.iter().find(|(_, n)| *n == name) {
                found.insert((name.clone(), EXTERN_SIZE), (*theirs, *address));
            }
        }
    }
    found.into_iter().map(|((name, size), (r, o))| (name, r, o, size)).collect()
}

/// Makes the inputs of one function. `pairs` are snapshots of both builds at the same call, by layout.
pub fn make(reference: &Side<'_>, optimized: &Side<'_>, pairs: &[(usize, Snapshot, Snapshot)], variations: u64, seed: u64) -> Vec<Input> {
    let objects = shared(reference.image, optimized.image);
    let mut inputs = Vec::new();
    for (layout, r, o) in pairs {
        let finish = |mut rc: Cpu, mut oc: Cpu, origin| {
            track(&mut rc, &objects, |x| x.1, r.heap, &[]);
            track(&mut oc, &objects, |x| x.2, o.heap, &[]);
            Input { reference: rc, optimized: oc, layout: *layout, origin }
        };
        inputs.push(finish(r.cpu.clone(), o.cpu.clone(), Origin::Program));
        for n in 0..variations {
            let mut dice = Dice(seed ^ n << 8 ^ (*layout as u64) << 32);
            let (mut rc, mut oc) = (r.cpu.clone(), o.cpu.clone());
            vary_objects(&mut dice, optimized, &objects, &mut rc, &mut oc, false);
            vary_parameters(&mut dice, optimized, &mut rc, &mut oc);
            inputs.push(finish(rc, oc, Origin::Varied));
        }
    }
    if inputs.is_empty() {
        for layout in 0..2 {
            for n in 0..=variations {
                let mut dice = Dice(seed ^ n << 8 ^ (layout as u64) << 32);
                inputs.push(generate(&mut dice, reference, optimized, &objects, layout));
            }
        }
    }
    inputs
}

fn track(
    cpu: &mut Cpu,
    objects: &[(String, u64, u64, u64)],
    address: impl Fn(&(String, u64, u64, u64)) -> u64,
    heap: (u64, u64),
    more: &[Region],
) {
    let mut regions: Vec<Region> = objects
        .iter()
        .enumerate()
        .map(|(n, object)| {
            let start = address(object).wrapping_add(cpu.bias);
            Region { start, end: start + object.3, id: n as u32 }
        })
        .collect();
    if heap.1 > heap.0 {
        regions.push(Region { start: heap.0, end: heap.1, id: HEAP });
    }
    regions.extend_from_slice(more);
    cpu.tracker = Tracker::new(regions, cpu.memory.clone());
}

/// A value of a class, made to be harmless: small, positive, rarely equal.
fn some_value(dice: &mut Dice, class: TypeClass, size: u64) -> u128 {
    match (class, size) {
        (TypeClass::Float, 4) => {
            u128::from((0.25 + dice.below(4096) as f32 / 64.0 * if dice.below(2) == 0 { 1.0 } else { -1.0 }).to_bits())
        }
        (TypeClass::Float, _) => {
            u128::from((0.25 + dice.below(4096) as f64 / 64.0 * if dice.below(2) == 0 { 1.0 } else { -1.0 }).to_bits())
        }
        _ => u128::from(dice.below(64)),
    }
}

fn vary_objects(dice: &mut Dice, side: &Side<'_>, objects: &[(String, u64, u64, u64)], rc: &mut Cpu, oc: &mut Cpu, fresh: bool) {
    for (name, r, o, size) in objects {
        let ty = side.info.globals.iter().find(|g| g.name == *name).map(|g| g.ty);
        let Some((class, width, array)) = ty.and_then(|t| element(&t)) else { continue };
        if class == TypeClass::Pointer || class == TypeClass::Other {
            continue;
        }
        let (r, o) = (r.wrapping_add(rc.bias), o.wrapping_add(oc.bias));
        let count = (size / width).min(1 << 17);
        for n in 0..count {
            let old = rc.memory.read(r + n * width, width as u32).unwrap_or(0);
            let new = match class {
                TypeClass::Float => some_value(dice, class, width),
                _ if fresh => some_value(dice, class, width),
                // Integers may be indices: permute an array, shrink a scalar, never leave the range.
                _ if array => rc.memory.read(r + dice.below(count) * width, width as u32).unwrap_or(old),
                _ if old > 1 && old < 1 << (8 * width - 1) => 1 + u128::from(dice.below(old as u64)),
                _ => old,
            };
            let _ = rc.memory.write(r + n * width, new, width as u32);
            let _ = oc.memory.write(o + n * width, new, width as u32);
        }
    }
}

fn element(ty: &Type) -> Option<(TypeClass, u64, bool)> {
    match (ty.class, ty.element) {
        (TypeClass::Other, Some((class, size))) if size > 0 => Some((class, size, true)),
        (TypeClass::Other, _) => None,
        (class, _) if ty.size > 0 => Some((class, ty.size, false)),
        _ => None,
    }
}

/// Parameters in registers, by the System V convention: type and where it is.
fn parameters(side: &Side<'_>) -> Vec<(Type, Result<usize, usize>)> {
    const INTEGER: [usize; 6] = [7, 6, 2, 1, 8, 9];
    let (mut integers, mut vectors) = (0, 0);
    let mut found = Vec::new();
    for v in side.function.variables.iter().filter(|v| v.kind == VariableKind::Parameter && !v.inlined && v.function == side.function.name)
    {
        match v.ty.class {
            TypeClass::Float if vectors < 8 => {
                found.push((v.ty, Err(vectors)));
                vectors += 1;
            }
            TypeClass::Signed | TypeClass::Unsigned | TypeClass::Pointer if integers < 6 => {
                found.push((v.ty, Ok(INTEGER[integers])));
                integers += 1;
            }
            _ => {}
        }
    }
    found
}

fn vary_parameters(dice: &mut Dice, side: &Side<'_>, rc: &mut Cpu, oc: &mut Cpu) {
    for (ty, place) in parameters(side) {
        match place {
            Err(n) => {
                let value = some_value(dice, TypeClass::Float, ty.size);
                (rc.xmm[n], oc.xmm[n]) = (value, value);
            }
            Ok(n) if ty.class != TypeClass::Pointer => {
                let old = crate::relation::truncate(rc.gpr[n], ty.size);
                if old > 1 && old < 1 << (8 * ty.size - 1) {
                    let value = 1 + dice.below(old);
                    (rc.gpr[n], oc.gpr[n]) = (value, value);
                }
            }
            Ok(_) => {}
        }
    }
}

fn generate(dice: &mut Dice, reference: &Side<'_>, optimized: &Side<'_>, objects: &[(String, u64, u64, u64)], layout: usize) -> Input {
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
    vary_objects(dice, optimized, objects, &mut rc, &mut oc, true);
    let mut buffers = Vec::new();
    for n in (0..16).filter(|n| *n != RSP as usize) {
        oc.gpr[n] = dice.next();
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
                for at in (0..BUFFER_SIZE).step_by(width.max(1) as usize).filter(|_| width <= 8) {
                    let value = some_value(dice, class, width);
                    let _ = rc.memory.write(start + at, value, width as u32);
                    let _ = oc.memory.write(start + at, value, width as u32);
                }
                buffers.push(Region { start, end: start + BUFFER_SIZE, id: BUFFERS + k as u32 });
            }
            Ok(n) => {
                let value = 5 + dice.below(60);
                (rc.gpr[n], oc.gpr[n]) = (value, value);
            }
        }
    }
    track(&mut rc, objects, |x| x.1, (0, 0), &buffers);
    track(&mut oc, objects, |x| x.2, (0, 0), &buffers);
    Input { reference: rc, optimized: oc, layout, origin: Origin::Generated }
}
