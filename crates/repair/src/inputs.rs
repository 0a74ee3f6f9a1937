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
    /// Which of the inputs of its layout it is: those of the same number have the same parameters and data.
    pub number: u64,
}

/// Where an input came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The program's own run.
    Program,
    /// The program's own run with other data and parameters.
    Varied,
    /// The same with any numbers in arrays of integers, so that no two are alike. An array of indices does not survive that, so such a
    /// run counts only if both builds come to the same end.
    Wild,
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
        let finish = |mut rc: Cpu, mut oc: Cpu, origin, number| {
            track(&mut rc, &objects, |x| x.1, r.heap, &[]);
            track(&mut oc, &objects, |x| x.2, o.heap, &[]);
            Input { reference: rc, optimized: oc, layout: *layout, origin, number }
        };
        inputs.push(finish(r.cpu.clone(), o.cpu.clone(), Origin::Program, 0));
        let integers = parameters(optimized).iter().any(|(ty, p)| p.is_ok() && ty.class != TypeClass::Pointer);
        let last = if integers { 2 * variations } else { variations };
        for n in 0..last + u64::from(variations > 0) {
            let mut dice = Dice(seed ^ n << 8 ^ (*layout as u64) << 32);
            let (mut rc, mut oc) = (r.cpu.clone(), o.cpu.clone());
            let origin = if n == last { Origin::Wild } else { Origin::Varied };
            let data = if n == last { Data::Wild } else { Data::Permuted };
            vary_objects(&mut dice, optimized, &objects, &mut rc, &mut oc, data);
            // Where loops run over parameters every second input leaves no iterations over.
            let granularity = if n % 2 == 1 { 8 } else { 1 };
            vary_parameters(&mut dice, optimized, &mut rc, &mut oc, granularity);
            scramble(&mut dice, optimized, &mut oc);
            inputs.push(finish(rc, oc, origin, n + 1));
        }
    }
    if inputs.is_empty() {
        for layout in 0..2 {
            for n in 0..=variations {
                let mut dice = Dice(seed ^ n << 8 ^ (layout as u64) << 32);
                inputs.push(Input { number: n, ..generate(&mut dice, reference, optimized, &objects, layout) });
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

/// What becomes of the contents of objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    /// Integers stay within what the object holds.
    Permuted,
    /// Arrays of integers hold any numbers of either sign.
    Wild,
    /// Everything is new.
    Fresh,
}

fn vary_objects(dice: &mut Dice, side: &Side<'_>, objects: &[(String, u64, u64, u64)], rc: &mut Cpu, oc: &mut Cpu, data: Data) {
    for (name, r, o, size) in objects {
        let ty = side.info.globals.iter().find(|g| g.name == *name).map(|g| g.ty);
        let Some((class, width, array)) = ty.and_then(|t| element(&t)) else { continue };
        if class == TypeClass::Pointer || class == TypeClass::Other {
            continue;
        }
        let (r, o) = (r.wrapping_add(rc.bias), o.wrapping_add(oc.bias));
        let count = (size / width).min(1 << 17);
        let Some(old) = rc.memory.bytes(r, count * width).filter(|_| width <= 8) else { continue };
        let at = |n: u64| {
            let mut word = [0; 16];
            word[..width as usize].copy_from_slice(&old[(n * width) as usize..((n + 1) * width) as usize]);
            u128::from_le_bytes(word)
        };
        let pool = pool(dice, (0..count).map(at), width);
        let mut new = Vec::with_capacity(old.len());
        for n in 0..count {
            let value = match class {
                TypeClass::Float => some_value(dice, class, width),
                _ if data == Data::Fresh => some_value(dice, class, width),
                // Integers may be indices: permute an array, shrink a scalar, never leave the range.
                _ if array && data == Data::Wild => (i128::from(dice.below(1 << 21)) - (1 << 20)) as u128,
                _ if array => pool[dice.below(pool.len() as u64) as usize],
                _ if at(n) > 1 && at(n) < 1 << (8 * width - 1) => 1 + u128::from(dice.below(at(n) as u64)),
                _ => at(n),
            };
            new.extend_from_slice(&value.to_le_bytes()[..width as usize]);
        }
        rc.memory.map(r, &new);
        oc.memory.map(o, &new);
    }
}

/// The values that a varied array is drawn from: those up to a quarter, a half, three quarters or all of the range, so that its largest
/// and its sum differ from input to input.
fn pool(dice: &mut Dice, values: impl Iterator<Item = u128>, width: u64) -> Vec<u128> {
    let shift = 128 - 8 * width;
    let mut pool: Vec<u128> = values.collect();
    pool.sort_unstable_by_key(|v| (*v << shift) as i128);
    let quarters = 1 + dice.below(4) as usize;
    pool.truncate((pool.len() * quarters).div_ceil(4));
    pool
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

fn vary_parameters(dice: &mut Dice, side: &Side<'_>, rc: &mut Cpu, oc: &mut Cpu, granularity: u64) {
    for (ty, place) in parameters(side) {
        match place {
            Err(n) => {
                let value = some_value(dice, TypeClass::Float, ty.size);
                (rc.xmm[n], oc.xmm[n]) = (value, value);
            }
            Ok(n) if ty.class != TypeClass::Pointer => {
                let old = crate::relation::truncate(rc.gpr[n], ty.size);
                if old > 1 && old < 1 << (8 * ty.size - 1) {
                    let any = 1 + dice.below(old);
                    let value = if any >= granularity { any - any % granularity } else { any };
                    (rc.gpr[n], oc.gpr[n]) = (value, value);
                }
            }
            Ok(_) => {}
        }
    }
}

/// Gives other contents to every register that the function is not called with: what its caller happened to keep there must not
/// look like a relation.
fn scramble(dice: &mut Dice, side: &Side<'_>, cpu: &mut Cpu) {
    let own = |v: &&crate::debug::Variable| v.kind == VariableKind::Parameter && !v.inlined && v.function == side.function.name;
    let places = parameters(side);
    // Parameters of classes that we do not know may be anywhere.
    let sure = places.len() == side.function.variables.iter().filter(own).count();
    let arguments = [7, 6, 2, 1, 8, 9];
    for n in (0..16).filter(|n| *n != RSP as usize) {
        let taken = if sure { places.iter().any(|(_, p)| *p == Ok(n)) } else { arguments.contains(&n) };
        if !taken {
            cpu.gpr[n] = dice.next() >> 8;
        }
    }
    for n in 0..16 {
        let taken = if sure { places.iter().any(|(_, p)| *p == Err(n)) } else { n < 8 };
        if !taken {
            cpu.xmm[n] = u128::from(dice.next()) << 64 | u128::from(dice.next());
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
    vary_objects(dice, optimized, objects, &mut rc, &mut oc, Data::Fresh);
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
    Input { reference: rc, optimized: oc, layout, origin: Origin::Generated, number: 0 }
}
