//! Facts that take memory or several lanes into account: registers that hold what lies in memory at a place that moves with the loop,
//! vector registers that count, variables that never change.

use super::facts::{Fact, lanes};
use super::{Node, Prover};
use crate::debug::TypeClass;
use crate::relation::{MachineState, Relation, Source};
use crate::walk;
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::algebra::{Bin, Machine, Place, RSP};
use trueline_machine::solver::equal;
use trueline_machine::symbolic::{Errno, Symbolic, memory};
use trueline_machine::term::{Term, TermShape, Terms};

/// Most facts of this kind about one register.
const MAX_PLACES: usize = 3;
/// Stores of one path that registers are compared with, the last ones.
const MAX_STORES: usize = 16;

/// An address as a sum of registers, each with its factor, and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    registers: Vec<(u8, u64)>,
    offset: u64,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, k) in &self.registers {
            write!(f, "{k}*{} + ", trueline_machine::algebra::GPR_NAMES[*n as usize])?;
        }
        write!(f, "{:#x}", self.offset)
    }
}

impl Address {
    /// What lies there.
    fn load(&self, o: &mut Symbolic, bytes: u32) -> Term {
        let mut at = o.terms.constant(64, u128::from(self.offset));
        for (n, factor) in &self.registers {
            let (x, k) = (o.get(Place::Gpr(*n)), o.terms.constant(64, u128::from(*factor)));
            let part = o.terms.bin(Bin::Mul, x, k);
            at = o.terms.bin(Bin::Add, at, part);
        }
        // The symbolic machine has no memory that is not there.
        o.load(&at, bytes).unwrap_or(at)
    }
}

/// The claim that a register's low bytes are what lies at an address.
pub fn is_held(o: &mut Symbolic, place: Place, address: &Address, bytes: u32) -> Term {
    let value = address.load(o, bytes);
    let held = o.get(place);
    let low = o.terms.extract(held, 0, bytes * 8);
    equal(&mut o.terms, low, value)
}

/// The claim that the lanes of a vector register are a variable and numbers more.
pub fn is_counted(o: &mut Symbolic, register: u8, value: Term, offsets: &[u32]) -> Term {
    let mut parts = Vec::new();
    for (lane, offset) in lanes(o, register).into_iter().zip(offsets) {
        let k = o.terms.constant(32, u128::from(*offset));
        let expected = o.terms.bin(Bin::Add, value, k);
        parts.push(equal(&mut o.terms, lane, expected));
    }
    o.terms.conjunction(&parts)
}

/// The claim that a variable is in every lane of a vector register.
pub fn is_splat(o: &mut Symbolic, register: u8, value: Term) -> Term {
    let held = o.get(Place::Xmm(register));
    if o.terms.mixes_orders(held) || o.terms.mixes_orders(value) {
        return o.terms.constant(1, 0);
    }
    let whole = splat(&mut o.terms, value);
    equal(&mut o.terms, held, whole)
}

/// A vector with a value in every lane.
fn splat(terms: &mut Terms, value: Term) -> Term {
    let lanes = 128 / terms.width(value);
    (1..lanes).fold(value, |low, _| terms.concat(value, low))
}

/// Registers that hold on arrival what was stored or loaded on the way, by the register that the address follows.
pub fn held(machine: &mut Symbolic) -> Vec<Fact> {
    let mut found: Vec<Fact> = Vec::new();
    let registers: BTreeMap<u8, Term> =
        (0..16).filter(|n| *n != RSP).filter_map(|n| machine.places.get(&Place::Gpr(n)).map(|t| (n, *t))).collect();
    let stores: Vec<(Term, Term)> = machine.memory.stores.iter().rev().take(MAX_STORES).map(|s| (s.address, s.value)).collect();
    let places: Vec<(Place, Term)> = machine
        .places
        .iter()
        .filter(|(p, _)| matches!(p, Place::Gpr(n) if *n != RSP) || matches!(p, Place::Xmm(_)))
        .map(|(p, t)| (*p, *t))
        .collect();
    for (place, whole) in places {
        let mut own: Vec<Fact> = Vec::new();
        for bytes in [8u32, 4, 2, 1] {
            let low = machine.terms.extract(whole, 0, bytes * 8);
            if machine.terms.value(low).is_some() {
                continue;
            }
            let stored = stores.iter().filter(|(_, value)| *value == low).map(|(address, _)| *address);
            for address in stored.chain(machine.terms.loaded_from(low)).collect::<BTreeSet<_>>() {
                own.extend(forms(machine, &registers, address).into_iter().map(|a| Fact::Held(place, a, bytes)));
            }
        }
        own.truncate(MAX_PLACES);
        found.extend(own);
    }
    found
}

/// Registers that hold the address of something in an object, wherever the linker puts it.
pub fn based(machine: &mut Symbolic) -> Vec<Fact> {
    let registers: Vec<(u8, Term)> = (0..16).filter_map(|n| machine.places.get(&Place::Gpr(n)).map(|t| (n, *t))).collect();
    registers.into_iter().filter_map(|(n, t)| machine.address_of(t).map(|address| Fact::Based(n, address))).collect()
}

/// An address by one register, else by two of which one is scaled.
fn forms(machine: &Symbolic, registers: &BTreeMap<u8, Term>, address: Term) -> Vec<Address> {
    let terms = &machine.terms;
    let (target, constant) = terms.linear(address);
    let rest = |from: &BTreeMap<Term, u64>, t: Term, k: u64| {
        let (atoms, c) = terms.linear(t);
        let mut left = from.clone();
        for (atom, factor) in atoms {
            let slot = left.entry(atom).or_insert(0);
            *slot = slot.wrapping_sub(factor.wrapping_mul(k));
        }
        left.retain(|_, factor| *factor != 0);
        (left, c.wrapping_mul(k))
    };
    let mut found = Vec::new();
    for (n, t) in registers {
        let (left, c) = rest(&target, *t, 1);
        if left.is_empty() && !terms.linear(*t).0.is_empty() {
            found.push(Address { registers: vec![(*n, 1)], offset: constant.wrapping_sub(c) });
            continue;
        }
        for (m, other) in registers.iter().filter(|(m, _)| *m != n) {
            for k in [4u64, 8, 1, 2] {
                let (none, d) = rest(&left, *other, k);
                if none.is_empty() && !terms.linear(*other).0.is_empty() {
                    found.push(Address { registers: vec![(*n, 1), (*m, k)], offset: constant.wrapping_sub(c).wrapping_sub(d) });
                }
            }
        }
    }
    found.sort_by_key(|a| a.registers.len());
    found.truncate(2);
    found
}

/// Most parts of a condition that is kept.
const MAX_PARTS: usize = 48;
/// Most tests of memory that a loop is taken to have passed.
const MAX_TESTS: usize = 4;
/// Most conditions that are kept for one node.
const MAX_CONDITIONS: usize = 10;

impl Prover<'_, '_> {
    /// Conditions of the way to a node that speak of the source's variables and the load address only: what a function asks of its
    /// parameters once holds as long as they stay what they are.
    pub fn kept(&self, machine: &Symbolic, source: &mut Symbolic, terms: &mut Terms) -> Vec<Fact> {
        let leaves = walk::with(terms, source, |r| self.leaves(r));
        let leaf = |t: Term| leaves.iter().position(|l| *l == t);
        let mut found = Vec::new();
        for condition in terms.conjuncts(machine.condition) {
            let shape = terms.shape(condition, &leaf, &mut MAX_PARTS.clone());
            found.extend(shape.filter(TermShape::has_leaf).map(Fact::Kept));
        }
        found.truncate(MAX_CONDITIONS);
        found
    }

    /// Conditions on memory under which the source goes on from a node: a loop that the optimizer has turned around tests them before it
    /// comes there. `leaves` are those of the node.
    pub fn going_on(&self, source: &Symbolic, terms: &mut Terms, leaves: &[Term]) -> Vec<Fact> {
        let leaf = |t: Term| leaves.iter().position(|l| *l == t);
        let mut found = Vec::new();
        for condition in terms.conjuncts(source.condition) {
            let shape = terms.shape(condition, &leaf, &mut MAX_PARTS.clone());
            found.extend(shape.filter(|s| s.has_leaf() && s.has_load()).map(Fact::Kept));
        }
        found.truncate(MAX_TESTS);
        found
    }

    /// What a kept condition may speak of: the variables of the function, the load address last.
    pub fn leaves(&self, r: &mut Symbolic) -> Vec<Term> {
        let own = self.study.slots.iter().filter(|s| s.key.function == self.study.reference.function.name);
        let bias = r.bias();
        own.map(|s| r.frame_value(s.offset, s.size as u32)).chain([bias]).collect()
    }

    /// A kept condition, of the variables as they are now.
    pub fn is_kept(&self, o: &mut Symbolic, r: &mut Symbolic, shape: &TermShape) -> Term {
        let leaves = walk::with(&mut o.terms, r, |r| self.leaves(r));
        let memory = &o.memory;
        let stable = !(memory.errno && o.layout.errno == Errno::Visible);
        let read = |terms: &mut Terms, address: Term, bytes: u32| {
            stable.then(|| memory::read(terms, memory.version, &memory.stores, address, bytes))
        };
        let claim = o.terms.of_shape(shape, &leaves, &read);
        claim.unwrap_or_else(|| o.terms.constant(1, 0))
    }

    /// Vector registers whose four lanes are a variable and fixed numbers more in every run.
    pub fn counting(&self, pc: u64, states: &[&MachineState]) -> Vec<Fact> {
        let study = self.study;
        let mut found = Vec::new();
        let moving: Vec<u8> = (0..16u8).filter(|n| states.iter().any(|s| s.xmm[*n as usize] != states[0].xmm[*n as usize])).collect();
        if moving.is_empty() {
            return found;
        }
        let own = |s: &crate::observe::Slot| {
            s.key.function == study.reference.function.name && s.size == 4 && matches!(s.class, TypeClass::Signed | TypeClass::Unsigned)
        };
        for (slot, _) in study.slots.iter().enumerate().filter(|(_, s)| own(s)) {
            let evidence = study.head_evidence(pc, slot);
            if evidence.targets.len() != states.len() {
                continue;
            }
            for n in &moving {
                let offsets = |state: &MachineState, value: u64| -> Vec<u32> {
                    (0..4).map(|k| ((state.xmm[*n as usize] >> (32 * k)) as u32).wrapping_sub(value as u32)).collect()
                };
                let first = offsets(states[0], evidence.targets[0].1.first);
                if states.iter().zip(&evidence.targets).all(|(s, t)| offsets(s, t.1.first) == first) {
                    found.push(Fact::Counted(slot, *n, first));
                }
            }
        }
        found
    }

    /// Vector registers that have a variable in every lane in every run: what the optimizer spreads once for the whole loop.
    pub fn splats(&self, pc: u64, states: &[&MachineState]) -> Vec<Fact> {
        let study = self.study;
        let mut found = Vec::new();
        for (slot, s) in study.slots.iter().enumerate().filter(|(_, s)| s.key.function == study.reference.function.name) {
            let evidence = study.head_evidence(pc, slot);
            if evidence.targets.len() != states.len() || states.is_empty() {
                continue;
            }
            let spread = |bits: u64| (0..16 / s.size).fold(0u128, |all, _| all << (8 * s.size % 128) | u128::from(bits));
            let holds = |n: &u8| states.iter().zip(&evidence.targets).all(|(state, t)| state.xmm[*n as usize] == spread(t.1.first));
            found.extend((0..16u8).filter(holds).map(|n| Fact::Splat(slot, n)));
        }
        found
    }

    /// Puts in what vector registers are that have a variable in every lane.
    pub fn define_splats(&self, node: &Node, o: &mut Symbolic, r: &mut Symbolic) {
        for fact in &node.facts {
            let Fact::Splat(slot, n) = fact else { continue };
            if o.places.contains_key(&Place::Xmm(*n)) {
                continue;
            }
            let s = &self.study.slots[*slot];
            let value = walk::with(&mut o.terms, r, |r| r.frame_value(s.offset, s.size as u32));
            let whole = splat(&mut o.terms, value);
            o.places.insert(Place::Xmm(*n), whole);
        }
    }

    /// Puts in what variables are that have a fixed value at a node, so that both builds' addresses look alike.
    pub fn define_fixed(&self, node: &Node, o: &mut Symbolic, r: &mut Symbolic) {
        let mut done = BTreeSet::new();
        for fact in &node.facts {
            let Fact::Related(slot, Relation::Affine(a)) = fact else { continue };
            let fixed = a.divisor == 1 && a.terms.iter().all(|(s, k)| *s == Source::Bias && *k == 1) && a.terms.len() < 2;
            if !fixed || !done.insert(*slot) {
                continue;
            }
            let s = &self.study.slots[*slot];
            let mut value = o.terms.constant(64, u128::from(a.constant as u64));
            if !a.terms.is_empty() {
                value = o.terms.bin(Bin::Add, o.bias(), value);
            }
            let value = o.terms.extract(value, 0, s.size as u32 * 8);
            walk::with(&mut o.terms, r, |r| r.frame.write(&mut r.terms, s.offset, value));
        }
    }

    /// Puts in what vector registers are that count: all their lanes at once, which a relation to the first lane alone would not.
    pub fn define_counted(&self, node: &Node, o: &mut Symbolic, r: &mut Symbolic) {
        for fact in &node.facts {
            let Fact::Counted(slot, n, offsets) = fact else { continue };
            if o.places.contains_key(&Place::Xmm(*n)) {
                continue;
            }
            let s = &self.study.slots[*slot];
            let value = walk::with(&mut o.terms, r, |r| r.frame_value(s.offset, s.size as u32));
            let mut whole: Option<Term> = None;
            for k in offsets {
                let k = o.terms.constant(32, u128::from(*k));
                let lane = o.terms.bin(Bin::Add, value, k);
                whole = Some(whole.map_or(lane, |low| o.terms.concat(lane, low)));
            }
            o.places.extend(whole.map(|w| (Place::Xmm(*n), w)));
        }
    }

    /// Puts in what registers are that hold memory, where nothing else defined them.
    pub fn define_held(&self, node: &Node, o: &mut Symbolic) {
        for fact in &node.facts {
            match fact {
                Fact::Held(place, address, bytes) if !o.places.contains_key(place) => {
                    // A register that the address itself needs stays what it is.
                    if matches!(place, Place::Gpr(n) if address.registers.iter().any(|(r, _)| r == n)) {
                        continue;
                    }
                    let value = address.load(o, *bytes);
                    let width = if matches!(place, Place::Xmm(_)) { 128 } else { 64 };
                    let whole = if bytes * 8 == width {
                        value
                    } else {
                        let high = o.terms.fresh(width - bytes * 8);
                        o.terms.concat(high, value)
                    };
                    o.places.insert(*place, whole);
                }
                _ => {}
            }
        }
    }
}
