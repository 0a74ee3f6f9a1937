//! Fits relations to samples, exactly.
//!
//! A sample is a readable state with the values that the variable had at the moments it stands for. A
//! relation must give one of them in every sample; there is no tolerance and no floating point.

use crate::debug::{TypeClass, VariableType};
use crate::relation::{Affine, MachineState, Relation, Source, truncate};
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::matrix::{self, Rational};

/// What a variable may be at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitTarget {
    /// Its value at the first moment that the instant stands for.
    pub first: u64,
    /// At the last one.
    pub last: u64,
    /// At any of them.
    pub allowed: Vec<u64>,
    /// Whatever the variable is while the source is at the line with this memory, the middle of the line included.
    pub seen: Vec<u64>,
    /// Which source iteration past the first of the optimized one.
    pub lane: Option<usize>,
}

/// A state with a target.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// What an expression can read here.
    pub state: &'a MachineState,
    /// What the variable may be.
    pub target: &'a FitTarget,
}

/// True when a relation gives an allowed value in every sample.
pub fn holds(relation: &Relation, samples: &[Sample<'_>], ty: VariableType) -> bool {
    samples.iter().all(|s| relation.evaluate(s.state, ty.size).is_some_and(|v| s.target.allowed.contains(&v)))
}

/// A value as a number by its type.
pub fn number(bits: u64, ty: VariableType) -> i128 {
    match (ty.class, ty.size) {
        (TypeClass::Signed, 1) => i128::from(bits as i8),
        (TypeClass::Signed, 2) => i128::from(bits as i16),
        (TypeClass::Signed, 4) => i128::from(bits as i32),
        (TypeClass::Signed | TypeClass::Pointer, _) => i128::from(bits as i64),
        (_, size) => i128::from(truncate(bits, size)),
    }
}

/// Whether constants come before registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Outside loops a constant is the simplest truth.
    Constants,
    /// Inside loops a register says more.
    Registers,
}

/// All simple relations that hold in every sample, best first.
pub fn fit(samples: &[Sample<'_>], ty: VariableType, preference: Preference) -> Vec<Relation> {
    if samples.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Relation> = Vec::new();
    let mut add = |relation: Relation| {
        if holds(&relation, samples, ty) && !found.contains(&relation) {
            found.push(relation);
        }
    };
    let sure = samples.iter().find(|s| s.target.allowed.len() == 1).unwrap_or(&samples[0]);
    let constants: BTreeSet<u64> = [sure.target.first, sure.target.last].into();
    let constant = |bits: u64| match ty.class {
        TypeClass::Float => Relation::Bits(bits),
        _ => Relation::Affine(Affine::constant(number(bits, ty) as i64)),
    };
    // An address is never a constant: it moves with the layout.
    let constants: Vec<Relation> = constants.into_iter().filter(|b| ty.class != TypeClass::Pointer || *b == 0).map(constant).collect();
    let constants: Vec<Relation> = constants.into_iter().chain(fixed_address(samples, ty)).collect();
    if preference == Preference::Constants {
        constants.iter().cloned().for_each(&mut add);
    }
    if ty.class == TypeClass::Float {
        for n in 0..16 {
            add(Relation::Vector(n));
        }
        for relation in same_bits(samples, ty) {
            add(relation);
        }
    } else {
        // Where memory does not tell iterations apart several values are allowed: fit where there is one.
        let certain: Vec<Sample<'_>> = samples.iter().copied().filter(|s| s.target.allowed.len() == 1).collect();
        let basis = if certain.len() >= 3 { &certain[..] } else { samples };
        // One value throughout is a constant, or a copy of one: a distance from some register would be an accident.
        let single = basis.iter().all(|s| s.target.allowed.len() == 1 && s.target.first == basis[0].target.first);
        for targets in [|t: &FitTarget| t.first, |t: &FitTarget| t.last] {
            for affine in singles(basis, ty, targets).into_iter().filter(|a| !single || a.is_copy()) {
                add(Relation::Affine(affine));
            }
        }
        // Where a loop is vectorised the first lane is the variable of the first iteration.
        if ty.class != TypeClass::Pointer && ty.size >= 4 {
            for n in 0..16 {
                add(Relation::Vector(n));
            }
        }
    }
    if preference == Preference::Registers {
        constants.into_iter().for_each(&mut add);
    }
    if found.is_empty() && ty.class != TypeClass::Float {
        // No single part of the state says it: several together may.
        found.extend(severals(samples, ty).into_iter().map(Relation::Affine).filter(|r| holds(r, samples, ty)));
    }
    found
}

/// A pointer that is always the same address of the file, wherever the file lies: seen at two places at least.
fn fixed_address(samples: &[Sample<'_>], ty: VariableType) -> Option<Relation> {
    let first = samples.first().filter(|_| ty.class == TypeClass::Pointer)?;
    let distance = |s: &Sample<'_>| s.target.first.wrapping_sub(s.state.bias);
    let moved = samples.iter().any(|s| s.state.bias != first.state.bias);
    let constant = i64::try_from(distance(first)).ok().filter(|d| moved && *d < 1 << 32)?;
    let same = samples.iter().all(|s| distance(s) == distance(first));
    same.then(|| Relation::Affine(Affine { terms: vec![(Source::Bias, 1)], constant, divisor: 1 }))
}

/// Samples that a fit to several registers looks at: more only confirm, and every relation is tried on all.
const JOINT_SAMPLES: usize = 72;

/// Affine relations to several registers at once: over the rationals, else modulo 2^64.
fn severals(samples: &[Sample<'_>], ty: VariableType) -> Vec<Affine> {
    let sure: Vec<&Sample<'_>> = samples.iter().filter(|s| s.target.allowed.len() == 1).collect();
    let every = sure.len().div_ceil(JOINT_SAMPLES).max(1);
    let sure: Vec<&Sample<'_>> = sure.into_iter().step_by(every).collect();
    let states: Vec<&MachineState> = sure.iter().map(|s| s.state).collect();
    let values: Vec<Vec<i128>> = sure.iter().map(|s| vec![number(s.target.first, ty)]).collect();
    let columns = columns(&states);
    let rows: Vec<Vec<i128>> = states
        .iter()
        .zip(&values)
        .map(|(state, v)| columns.iter().map(|c| state.value(*c).unwrap_or(0)).chain([1, v[0]]).collect())
        .collect();
    if !matrix::may_be_solved(&rows) {
        return joint_modular(&states, &values).into_iter().collect();
    }
    let rational: Vec<Affine> = joint(&states, &values).into_iter().map(|(_, a)| a).collect();
    if !rational.is_empty() {
        return rational;
    }
    joint_modular(&states, &values).into_iter().collect()
}

/// One relation modulo 2^64 whose factors are small enough not to be an accident.
fn joint_modular(states: &[&MachineState], values: &[Vec<i128>]) -> Option<Affine> {
    let columns = columns(states);
    if states.len() < columns.len() + 4 {
        return None;
    }
    let rows = states
        .iter()
        .zip(values)
        .map(|(state, v)| columns.iter().map(|c| state.value(*c).unwrap_or(0) as u64).chain([1, v[0] as u64]).collect())
        .collect();
    let solution = matrix::solve_modular(rows)?;
    let factors: Vec<i64> = solution.iter().map(|f| *f as i64).collect();
    let (constant, factors) = factors.split_last()?;
    let mut terms: Vec<(Source, i64)> = columns.into_iter().zip(factors.iter().copied()).filter(|(_, f)| *f != 0).collect();
    terms.sort_unstable();
    let machine = terms.iter().filter(|(s, _)| !matches!(s, Source::Bias | Source::Cfa)).count();
    ((1..=3).contains(&machine) && factors.iter().all(|f| f.unsigned_abs() <= 64)).then_some(Affine {
        terms,
        constant: *constant,
        divisor: 1,
    })
}

/// Registers that differ somewhere and are no copies of another one. One that has two values in a layout is an answer to some question, not a
/// number: with a factor of its own it would turn any two cases into a relation.
fn columns(states: &[&MachineState]) -> Vec<Source> {
    let mut columns: Vec<Source> = Vec::new();
    let mut seen: BTreeSet<Vec<i128>> = BTreeSet::new();
    for source in
        [Source::Cfa, Source::Bias].into_iter().chain((0..16).filter(|n| *n != trueline_machine::algebra::RSP).map(Source::Register))
    {
        let Some(xs) = states.iter().map(|s| s.value(source)).collect::<Option<Vec<_>>>() else { continue };
        let mut by_layout: BTreeMap<(u64, u64), BTreeSet<i128>> = BTreeMap::new();
        for (state, x) in states.iter().zip(&xs) {
            by_layout.entry((state.bias, state.cfa)).or_default().insert(*x);
        }
        if by_layout.values().any(|values| values.len() == 2) {
            continue;
        }
        if xs.iter().any(|x| *x != xs[0]) && seen.insert(xs) {
            columns.push(source);
        }
    }
    columns
}

/// Frame words that simply hold the variable.
fn same_bits(samples: &[Sample<'_>], ty: VariableType) -> Vec<Relation> {
    frame_sources(samples, ty.size).into_iter().map(|s| Relation::Affine(Affine { terms: vec![(s, 1)], constant: 0, divisor: 1 })).collect()
}

fn frame_sources(samples: &[Sample<'_>], size: u64) -> Vec<Source> {
    let words = samples.iter().map(|s| s.state.frame.len()).min().unwrap_or(0) as i32;
    let mut sources = Vec::new();
    for n in 1..=words {
        if size == 8 {
            sources.push(Source::Word(-8 * n));
        } else {
            sources.extend([Source::HalfWord(-8 * n), Source::HalfWord(-8 * n + 4)]);
        }
    }
    sources
}

/// Affine relations to one register or frame word, with the load bias or the frame address where needed.
fn singles(samples: &[Sample<'_>], ty: VariableType, target: fn(&FitTarget) -> u64) -> Vec<Affine> {
    let values: Vec<i128> = samples.iter().map(|s| number(target(s.target), ty)).collect();
    let registers = (0..16u8).filter(|n| *n != trueline_machine::algebra::RSP).flat_map(|n| [Source::Register(n), Source::Half(n)]);
    let mut found = Vec::new();
    for source in registers.chain(frame_sources(samples, ty.size)) {
        let Some(xs) = samples.iter().map(|s| s.state.value(source)).collect::<Option<Vec<_>>>() else { continue };
        found.extend(single(source, &xs, &values, samples));
    }
    found
}

fn single(source: Source, xs: &[i128], values: &[i128], samples: &[Sample<'_>]) -> Option<Affine> {
    let layout = |n: usize| (samples[n].state.bias, samples[n].state.cfa);
    // The slope from two samples of one layout; 1 when the source never changes.
    let pair = (1..xs.len()).find_map(|n| (0..n).find(|m| layout(*m) == layout(n) && xs[*m] != xs[n]).map(|m| (m, n)));
    let (p, q) = match pair {
        Some((m, n)) => {
            let (dv, dx) = (values[n].checked_sub(values[m])?, xs[n].checked_sub(xs[m])?);
            let g = gcd(dv.unsigned_abs(), dx.unsigned_abs()).max(1) as i128;
            let (p, q) = (dv / g, dx / g);
            if q < 0 { (-p, -q) } else { (p, q) }
        }
        None => (1, 1),
    };
    if p == 0 {
        return None;
    }
    // A slope other than one needs more than two points to be believed.
    if (p, q) != (1, 1) {
        let distinct: BTreeSet<i128> = xs.iter().copied().collect();
        if distinct.len() < 3 {
            return None;
        }
    }
    let rests: Vec<i128> = xs.iter().zip(values).map(|(x, v)| q.checked_mul(*v)?.checked_sub(p.checked_mul(*x)?)).collect::<Option<_>>()?;
    // rest = constant + c·bias + d·cfa, for the few c and d that mean something.
    for (c, d) in [(0, 0), (-p, 0), (0, -p), (q, 0), (0, q), (q - p, 0), (0, q - p)] {
        let constant = |n: usize| {
            let s = samples[n].state;
            rests[n].checked_sub(c * i128::from(s.bias)).and_then(|r| r.checked_sub(d * i128::from(s.cfa)))
        };
        let Some(first) = constant(0) else { continue };
        if !(1..rests.len()).all(|n| constant(n) == Some(first)) {
            continue;
        }
        let mut terms = vec![(source, i64::try_from(p).ok()?)];
        for (s, k) in [(Source::Bias, c), (Source::Cfa, d)] {
            if k != 0 {
                terms.push((s, i64::try_from(k).ok()?));
            }
        }
        return Some(Affine { terms, constant: i64::try_from(first).ok()?, divisor: i64::try_from(q).ok()? });
    }
    None
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Relations between several source variables and several parts of the state at one point, by the matrix:
/// samples' null space, reduced with the source variables first. `values` has one row per sample.
pub fn joint(states: &[&MachineState], values: &[Vec<i128>]) -> Vec<(usize, Affine)> {
    let variables = values.first().map_or(0, Vec::len);
    let columns = columns(states);
    let width = variables + columns.len() + 1;
    if states.len() < width + 3 {
        return Vec::new();
    }
    let integer = |x: i128| Rational::from_integer(BigInt::from(x));
    let rows: Vec<Vec<Rational>> = states
        .iter()
        .zip(values)
        .map(|(state, values)| {
            let machine = columns.iter().map(|c| integer(state.value(*c).unwrap_or(0)));
            values.iter().map(|v| integer(*v)).chain(machine).chain([integer(1)]).collect()
        })
        .collect();
    let relations = matrix::null_space(rows, width);
    let mut found = Vec::new();
    for (variable, row) in matrix::source_rows(relations, variables) {
        if let Some(affine) = affine_of(&row[variables..], &columns) {
            found.push((variable, affine));
        }
    }
    found
}

/// Factors and divisors of forms over several registers are sizes of elements and rows; others are accidents of few samples.
const MAX_FACTOR: u64 = 1024;
const MAX_DIVISOR: u64 = 128;
const MAX_POWER: u64 = 1 << 16;

/// `x = -Σ row·column - constant` as an affine form with a common divisor.
pub fn affine_of(row: &[Rational], columns: &[Source]) -> Option<Affine> {
    let mut divisor = BigInt::from(1);
    for x in row {
        let d = x.denom();
        let g = big_gcd(divisor.clone(), d.clone());
        divisor = divisor * d / g;
    }
    let scaled = |x: &Rational| -> Option<i64> {
        let value = -(x.numer() * &divisor / x.denom());
        i64::try_from(value).ok()
    };
    let mut terms = Vec::new();
    for (x, source) in row.iter().zip(columns) {
        let factor = scaled(x)?;
        if factor != 0 {
            terms.push((*source, factor));
        }
    }
    terms.sort_unstable();
    let machine = terms.iter().filter(|(s, _)| !matches!(s, Source::Bias | Source::Cfa)).count();
    let plausible = |n: u64, most: u64| n <= most || (n.is_power_of_two() && n <= MAX_POWER);
    let scale = u64::try_from(&divisor).ok().filter(|d| plausible(*d, MAX_DIVISOR));
    if machine == 0 || machine > 3 || scale.is_none() || !terms.iter().all(|(_, f)| plausible(f.unsigned_abs(), MAX_FACTOR)) {
        return None;
    }
    Some(Affine { terms, constant: scaled(row.last()?)?, divisor: i64::try_from(divisor).ok()? })
}

fn big_gcd(mut a: BigInt, mut b: BigInt) -> BigInt {
    while b != BigInt::from(0) {
        (a, b) = (b.clone(), a % b);
    }
    a
}
