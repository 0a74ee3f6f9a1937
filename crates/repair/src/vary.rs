//! Other data, other parameters, other contents of registers for a function that is about to be entered, the same in
//! both builds.

use crate::debug::{PlacedVariable, TypeClass, VariableKind, VariableType};
use crate::observe::BuildSide;
use trueline_machine::algebra::RSP;
use trueline_machine::cpu::{Cpu, Memory};

/// Elements of an object that are varied.
const MAX_ELEMENTS: u64 = 1 << 17;
/// Lanes among which the extremes of an array take turns: what a vector register of words holds, twice.
pub const TURNS: u64 = 8;
/// Bounds of any number that is not an extreme.
const ANY: i128 = 1 << 20;

/// A small generator whose stream never changes.
pub struct InputDice(pub u64);

impl InputDice {
    /// The next number of the sequence.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// The next number below another.
    pub fn below(&mut self, n: u64) -> u64 {
        self.throw() % n.max(1)
    }
}

/// A stretch of memory that both builds have, with elements of a known class.
#[derive(Clone, Debug)]
pub struct VariedItem {
    /// Its address in the reference build, and in the optimized one.
    pub at: (u64, u64),
    /// How many bytes it takes.
    pub size: u64,
    /// Class of an element.
    pub class: TypeClass,
    /// Bytes of an element.
    pub width: u64,
    /// Whether it is an array or one number.
    pub shape: ItemShape,
}

/// How many elements an item has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemShape {
    /// Many numbers side by side.
    Array,
    /// One number by itself.
    Scalar,
}

/// What becomes of the contents of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Integers stay within what the item holds.
    Permuted,
    /// Integers are any numbers of either sign, and the largest and the smallest of every part of an array stand where it is their turn:
    /// what one lane of a vector register holds by luck, it does not hold in every turn.
    Wild(u64),
    /// The same with every second element zero: nothing is added, nothing is done, stores change nothing.
    Sparse(u64),
    /// Arrays rise or fall from one end to the other: the extreme of every part stands at its end, where loops leave a rest or begin with one.
    Sorted(ArrayOrder),
    /// Everything is new, and harmless.
    Fresh,
}

/// What becomes of numbers that may be how often something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripCounts {
    /// Anything up to what it was.
    Any,
    /// The same without a rest, where loops are unrolled.
    Whole,
    /// So few that loops are passed by, or go round at most once or twice.
    Few(u64),
}

impl TripCounts {
    /// At least one and at most `old`, which is; where few are asked for a large signed one may also be none or less than that.
    fn shrink(self, dice: &mut InputDice, old: u64, class: TypeClass) -> u64 {
        match self {
            Self::Any => 1 + dice.below(old),
            Self::Whole => {
                let any = 1 + dice.below(old);
                if any >= TURNS { any - any % TURNS } else { any }
            }
            Self::Few(most) if u128::from(old) > SMALL && class == TypeClass::Signed => dice.below(most + 3).wrapping_sub(2),
            Self::Few(most) => 1 + dice.below(old.min(most)),
        }
    }
}

/// Which way an array goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayOrder {
    /// The largest element is the last one.
    Rising,
    /// It is the first one.
    Falling,
}

impl Data {
    fn turn(self) -> Option<u64> {
        match self {
            Self::Wild(turn) | Self::Sparse(turn) => Some(turn),
            Self::Permuted | Self::Sorted(_) | Self::Fresh => None,
        }
    }
}

/// The item of a variable or a buffer; `None` when its elements are no numbers.
pub fn item(at: (u64, u64), size: u64, ty: &VariableType) -> Option<VariedItem> {
    let (class, width, shape) = match (ty.class, ty.element) {
        (TypeClass::Other, Some((class, width))) => (class, width, ItemShape::Array),
        (class, _) => (class, ty.size, ItemShape::Scalar),
    };
    let numbers = matches!(class, TypeClass::Signed | TypeClass::Unsigned | TypeClass::Float);
    (numbers && matches!(width, 1 | 2 | 4 | 8)).then_some(VariedItem { at, size, class, width, shape })
}

/// A value of a class, made to be harmless: small, positive, rarely equal.
pub fn some_value(dice: &mut InputDice, class: TypeClass, width: u64) -> u128 {
    match class {
        TypeClass::Float => {
            let sign = |dice: &mut InputDice| if dice.below(2) == 0 { 1.0 } else { -1.0 };
            let value = 0.25 + dice.below(4096) as f64 / 64.0 * sign(dice);
            float(value, width)
        }
        _ => u128::from(dice.below(64)),
    }
}

fn float(value: f64, width: u64) -> u128 {
    if width == 4 { u128::from((value as f32).to_bits()) } else { u128::from(value.to_bits()) }
}

/// Puts new contents into an item of both builds.
pub fn vary_item(dice: &mut InputDice, item: &VariedItem, rc: &mut Cpu, oc: &mut Cpu, data: Data, counts: TripCounts) {
    let VariedItem { class, width, .. } = *item;
    let count = (item.size / width).min(MAX_ELEMENTS);
    let Some(old) = rc.memory.bytes(item.at.0, count * width) else { return };
    let at = |n: u64| {
        let mut word = [0; 16];
        word[..width as usize].copy_from_slice(&old[(n * width) as usize..((n + 1) * width) as usize]);
        u128::from_le_bytes(word)
    };
    let pool = pool(dice, (0..count).map(at), width);
    let mut values: Vec<u128> = Vec::with_capacity(count as usize);
    for n in 0..count {
        values.push(match (class, item.shape, data) {
            (_, ItemShape::Array, Data::Sparse(_)) if dice.below(2) == 0 => 0,
            (_, ItemShape::Array, Data::Sorted(order)) => {
                let n = if order == ArrayOrder::Rising { n } else { count - 1 - n };
                rising(dice, n, count, class, width)
            }
            (TypeClass::Float, ..) | (.., Data::Fresh) => some_value(dice, class, width),
            (_, ItemShape::Array, Data::Wild(_) | Data::Sparse(_)) => (i128::from(dice.below(2 * ANY as u64)) - ANY) as u128,
            // A small number may be a distance or a factor, a large one may be how often something is done.
            (_, ItemShape::Scalar, Data::Wild(_) | Data::Sparse(_) | Data::Sorted(_)) if at(n) <= SMALL => {
                1 + u128::from(dice.below(SMALL as u64))
            }
            // Integers may be indices: permute an array, shrink a scalar, never leave the range.
            (_, ItemShape::Array, Data::Permuted) => pool[dice.below(pool.len() as u64) as usize],
            (_, ItemShape::Scalar, _) if at(n) > 1 && at(n) < 1 << (8 * width - 1) => u128::from(counts.shrink(dice, at(n) as u64, class)),
            (_, ItemShape::Scalar, _) => at(n),
        });
    }
    if let (Some(turn), ItemShape::Array) = (data.turn(), item.shape) {
        plant(dice, &mut values, class, width, turn);
    }
    let new: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(width as usize)).collect();
    rc.memory.map(item.at.0, &new);
    oc.memory.map(item.at.1, &new);
}

/// One of `count` numbers that rise with `n`, the distances between them not all alike.
fn rising(dice: &mut InputDice, n: u64, count: u64, class: TypeClass, width: u64) -> u128 {
    let step = (2 * ANY as u64 / count.max(1)).max(2);
    let value = i128::from(n * step + dice.below(step / 2 + 1)) - ANY;
    match class {
        TypeClass::Float => float(value as f64 / 16384.0, width),
        // Narrow elements go round instead of staying at an end.
        _ => value as u128,
    }
}

/// Gives some elements of an item, in both builds, the contents that they have in another memory of the reference build: `odds` of eight.
pub fn mix_item(dice: &mut InputDice, item: &VariedItem, later: &Memory, rc: &mut Cpu, oc: &mut Cpu, odds: u64) {
    let size = item.size.min(MAX_ELEMENTS * item.width);
    let (Some(old), Some(new)) = (rc.memory.bytes(item.at.0, size), later.bytes(item.at.0, size)) else { return };
    if old == new {
        return;
    }
    let mixed: Vec<u8> = old
        .chunks(item.width as usize)
        .zip(new.chunks(item.width as usize))
        .flat_map(|(old, new)| if dice.below(8) < odds { new } else { old })
        .copied()
        .collect();
    rc.memory.map(item.at.0, &mixed);
    oc.memory.map(item.at.1, &mixed);
}

/// Numbers up to this are varied freely.
const SMALL: u128 = 8;

/// The largest and the smallest number of every eighth of an array, at indices that leave what it is their turn to leave.
fn plant(dice: &mut InputDice, values: &mut [u128], class: TypeClass, width: u64, turn: u64) {
    let count = values.len() as u64;
    let part = count.div_ceil(8).max(TURNS);
    for start in (0..count).step_by(part as usize) {
        let blocks = (part.min(count - start) / TURNS).max(1);
        for (sign, residue) in [(1, turn % TURNS), (-1, (turn + 3) % TURNS)] {
            let block = start + TURNS * dice.below(blocks);
            let index = block - block % TURNS + residue;
            let far = dice.below(ANY as u64);
            let value = match class {
                TypeClass::Float => float(f64::from(sign) * (96.0 + (far % 4096) as f64 / 64.0), width),
                _ => (i128::from(sign) * (ANY + i128::from(far))) as u128,
            };
            if let Some(slot) = values.get_mut(index as usize) {
                *slot = value;
            }
        }
    }
}

/// The values that a varied array is drawn from: those up to a quarter, a half, three quarters or all of the range, so that its largest
/// and its sum differ from input to input.
fn pool(dice: &mut InputDice, values: impl Iterator<Item = u128>, width: u64) -> Vec<u128> {
    let shift = 128 - 8 * width;
    let mut pool: Vec<u128> = values.collect();
    pool.sort_unstable_by_key(|v| (*v << shift) as i128);
    let quarters = 1 + dice.below(4) as usize;
    pool.truncate((pool.len() * quarters).div_ceil(4));
    pool
}

/// Parameters in registers, by the System V convention: type and where it is.
pub fn parameters(side: &BuildSide<'_>) -> Vec<(VariableType, Result<usize, usize>)> {
    const INTEGER: [usize; 6] = [7, 6, 2, 1, 8, 9];
    let (mut integers, mut vectors) = (0, 0);
    let mut found = Vec::new();
    for v in own_parameters(side) {
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

fn own_parameters<'s>(side: &'s BuildSide<'_>) -> impl Iterator<Item = &'s PlacedVariable> {
    let function = side.function;
    function.variables.iter().filter(|v| v.kind == VariableKind::Parameter && !v.inlined && v.function == function.name)
}

/// Gives parameters other values. Counts shrink; with wild data small ones become any small number.
pub fn vary_parameters(dice: &mut InputDice, side: &BuildSide<'_>, rc: &mut Cpu, oc: &mut Cpu, data: Data, counts: TripCounts) {
    for (ty, place) in parameters(side) {
        match place {
            Err(n) => {
                let value = some_value(dice, TypeClass::Float, ty.size);
                (rc.xmm[n], oc.xmm[n]) = (value, value);
            }
            Ok(n) if ty.class != TypeClass::Pointer => {
                let old = crate::relation::truncate(rc.gpr[n], ty.size);
                let value = match data {
                    Data::Wild(_) | Data::Sparse(_) | Data::Sorted(_) if u128::from(old) <= SMALL => 1 + dice.below(SMALL as u64),
                    _ if old > 1 && old < 1 << (8 * ty.size - 1) => counts.shrink(dice, old, ty.class),
                    _ => continue,
                };
                (rc.gpr[n], oc.gpr[n]) = (value, value);
            }
            Ok(_) => {}
        }
    }
}

/// Gives other contents to every register that the function is not called with: what its caller happened to keep there must not
/// look like a relation.
pub fn scramble(dice: &mut InputDice, side: &BuildSide<'_>, cpu: &mut Cpu) {
    let places = parameters(side);
    // Parameters of classes that we do not know may be anywhere.
    let sure = places.len() == own_parameters(side).count();
    let arguments = [7, 6, 2, 1, 8, 9];
    for n in (0..16).filter(|n| *n != RSP as usize) {
        let taken = if sure { places.iter().any(|(_, p)| *p == Ok(n)) } else { arguments.contains(&n) };
        if !taken {
            cpu.gpr[n] = dice.throw() >> 8;
        }
    }
    for n in 0..16 {
        let taken = if sure { places.iter().any(|(_, p)| *p == Err(n)) } else { n < 8 };
        if !taken {
            cpu.xmm[n] = u128::from(dice.throw()) << 64 | u128::from(dice.throw());
        }
    }
}
