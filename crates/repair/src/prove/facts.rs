//! What is taken to hold at a node, guessed from the runs and instantiated over both machines.

use super::Prover;
use super::held::{self, Address};
use crate::debug::TypeClass;
use crate::fit::{self, Preference};
use crate::relation::{Affine, MachineState, Relation, Source};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeSet;
use trueline_machine::algebra::{Bin, Machine, Place, RSP};
use trueline_machine::lift::gpr_slice;
use trueline_machine::solver::equal;
use trueline_machine::symbolic::Symbolic;
use trueline_machine::term::{Extreme, Sign, Term, TermShape};

/// Globals of one function that registers are compared with.
const MAX_GLOBALS: usize = 24;

/// Most source iterations that a loop is taken to leave over.
const MAX_LEFT: i128 = 64;

/// Something that holds whenever control is at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A source variable follows from the machine's state.
    Related(usize, Relation),
    /// A register holds a constant, or the load bias plus a constant.
    Fixed(u8, bool, u64),
    /// A register holds a link-time address of an object, as the linker has moved it.
    Based(u8, u64),
    /// A vector register holds a constant.
    FixedVector(u8, u128),
    /// A variable that is never negative leaves `residue` when divided by the modulus.
    Congruent(usize, u64, u64),
    /// A variable is at least this.
    AtLeast(usize, i64),
    /// A variable is at most this.
    AtMost(usize, i64),
    /// The first variable is less than the second.
    Less(usize, usize),
    /// The first variable is at most the second.
    NotMore(usize, usize),
    /// A variable times the form's divisor is less than the form of a register that limits the loop.
    Below(usize, Affine),
    /// Such a form is at most a variable times its divisor.
    Within(Affine, usize),
    /// A variable times the form's divisor is at most this much more than such a form.
    Near(Affine, usize, u64),
    /// A variable is what the lanes of vector registers come to together: a vectorised reduction that is not finished.
    Lanes(usize, Reduction, Vec<u8>),
    /// A register is at most this, as an unsigned number.
    Small(u8, u64),
    /// The low bits of such a form.
    Aligned(Affine, u32, u64),
    /// A register holds what lies in memory at a link-time address, so many bytes of it.
    Loaded(Place, u64, u32, Spread),
    /// The lanes of a vector register are a variable and these numbers more.
    Counted(usize, u8, Vec<u32>),
    /// The low bytes of a register are what lies in memory at an address that follows other registers.
    Held(Place, Address, u32),
    /// A variable is in every lane of a vector register.
    Splat(usize, u8),
    /// A register is a pointer variable, a multiple of an integer variable and a number together.
    Offset(u8, Offset),
    /// A condition that was tested on the way here, of variables that have not changed since.
    Kept(TermShape),
}

/// Where a register stands from a pointer variable: what pointers that move with a loop are, when the variable itself is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The pointer variable.
    pub pointer: usize,
    /// The integer variable.
    pub index: usize,
    /// What one of it is in bytes.
    pub scale: i64,
    /// Bytes more.
    pub constant: i64,
}

/// How a value from memory fills a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Above it there are zeroes.
    Zeroes,
    /// Above it there are copies of its sign.
    Sign,
    /// It is in every lane.
    Lanes,
}

impl Spread {
    const ALL: [Self; 3] = [Self::Zeroes, Self::Sign, Self::Lanes];

    /// A value spread over a register of a width.
    pub fn fill(self, o: &mut Symbolic, value: Term, width: u32) -> Term {
        match self {
            Self::Zeroes => o.terms.zext(value, width),
            Self::Sign => o.terms.sext(value, width),
            Self::Lanes => {
                let copies = width / o.terms.width(value);
                (1..copies).fold(value, |low, _| o.terms.concat(value, low))
            }
        }
    }
}

/// How lanes come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    Sum,
    Largest,
    Smallest,
}

impl Prover<'_, '_> {
    /// Facts that held in every run at a node.
    pub fn guess(&self, pc: u64) -> Vec<Fact> {
        let study = self.study;
        let mut facts = Vec::new();
        let mut numbers: Vec<(usize, Vec<i128>)> = Vec::new();
        let mut pointers: Vec<(usize, Vec<u64>)> = Vec::new();
        for (slot, s) in study.slots.iter().enumerate().filter(|(_, s)| s.key.function == study.reference.function.name) {
            let ty = crate::debug::VariableType { class: s.class, size: s.size, element: None };
            let evidence = study.head_evidence(pc, slot);
            if evidence.targets.is_empty() {
                continue;
            }
            let samples = study.samples(&evidence);
            for relation in fit::fit(&samples, ty, Preference::Registers) {
                facts.push(Fact::Related(slot, relation));
            }
            if s.class == TypeClass::Pointer {
                pointers.push((slot, evidence.targets.iter().map(|t| t.1.first).collect()));
            }
            if s.class == TypeClass::Float || s.class == TypeClass::Pointer {
                continue;
            }
            let values: Vec<i128> = evidence.targets.iter().map(|t| fit::number(t.1.first, ty)).collect();
            let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
            let modulus = values.iter().fold(0u128, |g, v| gcd(g, (v - low).unsigned_abs()));
            if (2..=64).contains(&modulus) && low >= 0 {
                facts.push(Fact::Congruent(slot, modulus as u64, low as u64 % modulus as u64));
            }
            if let (Ok(l), Ok(h)) = (i64::try_from(low), i64::try_from(high)) {
                facts.push(Fact::AtLeast(slot, l));
                facts.push(Fact::AtLeast(slot, 0));
                facts.push(Fact::AtMost(slot, h));
            }
            numbers.push((slot, values));
        }
        for (a, x) in &numbers {
            for (b, y) in numbers.iter().filter(|(b, y)| b != a && y.len() == x.len()) {
                if x.iter().zip(y).all(|(x, y)| x < y) {
                    facts.push(Fact::Less(*a, *b));
                } else if x.iter().zip(y).all(|(x, y)| x <= y) {
                    facts.push(Fact::NotMore(*a, *b));
                }
            }
        }
        let states: Vec<_> = study.instants(pc).iter().map(|at| &study.instant(*at).machine).collect();
        // Where a relation determines only some of a register's bits, its range says the others.
        let mut partly: BTreeSet<u8> = BTreeSet::new();
        for fact in &facts {
            if let Fact::Related(_, Relation::Affine(a)) = fact {
                partly.extend(a.terms.iter().filter_map(|(s, k)| match s {
                    Source::Register(n) if k.abs() != 1 => Some(*n),
                    _ => None,
                }));
            }
        }
        facts.extend(partly.iter().filter_map(|n| Some(Fact::Small(*n, states.iter().map(|s| s.gpr[*n as usize]).max()?))));
        facts.extend(self.splats(pc, &states));
        let counting = self.counting(pc, &states);
        // A register that counts is no sum in the making.
        let counted = |slot: &usize| counting.iter().any(|f| matches!(f, Fact::Counted(s, ..) if s == slot));
        facts.extend(self.reductions(pc, &states).into_iter().filter(|f| !matches!(f, Fact::Lanes(slot, ..) if counted(slot))));
        facts.extend(counting.clone());
        let limits = self.limits(pc, &facts, &numbers, &states);
        facts.extend(limits);
        facts.extend(offsets(&pointers, &numbers, &states));
        for n in (0..16u8).filter(|n| *n != RSP) {
            let values: BTreeSet<u64> = states.iter().map(|s| s.gpr[n as usize]).collect();
            let moved: BTreeSet<u64> = states.iter().map(|s| s.gpr[n as usize].wrapping_sub(s.bias)).collect();
            match (values.first(), moved.first()) {
                (_, Some(v)) if moved.len() == 1 && states[0].bias != 0 && *v < 1 << 32 => facts.push(Fact::Fixed(n, true, *v)),
                (Some(v), _) if values.len() == 1 => facts.push(Fact::Fixed(n, false, *v)),
                _ => {}
            }
        }
        for n in (0..16u8).filter(|n| states.iter().all(|s| s.xmm[*n as usize] == states[0].xmm[*n as usize])) {
            facts.extend(states.first().map(|s| Fact::FixedVector(n, s.xmm[n as usize])));
        }
        facts
    }

    /// Registers that hold a global on arrival at a node, as the terms say: what the optimizer loads once for the whole loop.
    pub fn loaded(&self, machine: &mut Symbolic) -> Vec<Fact> {
        let graph = &self.study.optimized.graph;
        let globals: BTreeSet<(u64, u32)> = graph
            .instructions
            .values()
            .filter(|i| is_fixed_operand(i) && i.mnemonic() != Mnemonic::Lea)
            .map(|i| (i.memory_displacement64(), i.memory_size().size() as u32))
            .filter(|(_, bytes)| matches!(bytes, 1 | 2 | 4 | 8))
            .take(MAX_GLOBALS)
            .collect();
        let mut found = Vec::new();
        for (address, bytes) in globals {
            let value = self.global(machine, address, bytes);
            for spread in Spread::ALL {
                for place in (0..16).filter(|n| *n != RSP).map(Place::Gpr).chain((0..16).map(Place::Xmm)) {
                    let Some(held) = machine.places.get(&place).copied() else { continue };
                    let width = machine.terms.width(held);
                    // A value that is as wide as the register is spread in one way only.
                    let whole = bytes * 8 == width;
                    if (!whole || spread == Spread::Zeroes) && held == spread.fill(machine, value, width) {
                        found.push(Fact::Loaded(place, address, bytes, spread));
                    }
                }
            }
        }
        found
    }

    /// What lies at a link-time address of the optimized build.
    fn global(&self, o: &mut Symbolic, address: u64, bytes: u32) -> Term {
        let at = o.link_address(address);
        // An address that comes from the file is mapped.
        o.load(&at, bytes).unwrap_or(at)
    }

    /// A register as a fact of this kind has it.
    pub fn filled(&self, o: &mut Symbolic, place: Place, address: u64, bytes: u32, spread: Spread) -> Term {
        let width = if matches!(place, Place::Xmm(_)) { 128 } else { 64 };
        let value = self.global(o, address, bytes);
        spread.fill(o, value, width)
    }

    /// Vector registers whose lanes together are a variable in every run, one or two at a time.
    fn reductions(&self, pc: u64, states: &[&MachineState]) -> Vec<Fact> {
        let study = self.study;
        let own = |s: &crate::observe::Slot| {
            s.key.function == study.reference.function.name && s.size == 4 && matches!(s.class, TypeClass::Signed | TypeClass::Unsigned)
        };
        // Lanes that are the same everywhere are constants, not sums in the making.
        let moving: Vec<u8> = (0..16u8).filter(|n| states.iter().any(|s| s.xmm[*n as usize] != states[0].xmm[*n as usize])).collect();
        let singles = moving.iter().map(|n| vec![*n]);
        let pairs = moving.iter().flat_map(|n| moving.iter().filter(move |m| *m > n).map(move |m| vec![*n, *m]));
        let groups: Vec<Vec<u8>> = singles.chain(pairs).collect();
        let mut found = Vec::new();
        for (slot, s) in study.slots.iter().enumerate().filter(|(_, s)| own(s)) {
            let evidence = study.head_evidence(pc, slot);
            if evidence.targets.len() != states.len() || evidence.targets.iter().all(|t| t.1.first == evidence.targets[0].1.first) {
                continue;
            }
            let kinds: &[Reduction] = match s.class {
                TypeClass::Signed => &[Reduction::Sum, Reduction::Largest, Reduction::Smallest],
                _ => &[Reduction::Sum],
            };
            for kind in kinds {
                let holds = |group: &&Vec<u8>| {
                    states.iter().zip(&evidence.targets).all(|(state, t)| reduced(state, *kind, group) == t.1.first as u32)
                };
                found.extend(groups.iter().find(holds).map(|group| Fact::Lanes(slot, *kind, group.clone())));
            }
        }
        found
    }

    /// Facts about registers that the loop's counter is compared with, in the counter's own terms.
    fn limits(&self, pc: u64, facts: &[Fact], numbers: &[(usize, Vec<i128>)], states: &[&MachineState]) -> Vec<Fact> {
        let graph = &self.study.optimized.graph;
        let Some(own) = graph.innermost(pc) else { return Vec::new() };
        let mut compared: BTreeSet<u8> = BTreeSet::new();
        for i in graph.loops[own].body.iter().filter_map(|pc| graph.instructions.get(pc)) {
            if i.mnemonic() == Mnemonic::Cmp {
                let registers = (0..2).filter(|n| i.op_kind(*n) == OpKind::Register).filter_map(|n| gpr_slice(i.op_register(n)));
                compared.extend(registers.map(|r| r.0).filter(|n| *n != RSP));
            }
        }
        compared.retain(|n| states.iter().any(|s| s.gpr[*n as usize] != states[0].gpr[*n as usize]));
        let mut found = Vec::new();
        for (slot, values) in numbers.iter().filter(|(_, v)| v.len() == states.len()) {
            let relations = facts.iter().filter_map(|f| match f {
                Fact::Related(s, Relation::Affine(a)) if s == slot => Some(a),
                _ => None,
            });
            for a in relations.take(3) {
                let mut counters = a.terms.iter().filter(|(s, _)| matches!(s, Source::Register(n) if compared.contains(n)));
                let (Some((Source::Register(counter), _)), None) = (counters.next(), counters.next()) else { continue };
                for limit in compared.iter().filter(|n| *n != counter) {
                    let swap = |s: &Source| if *s == Source::Register(*counter) { Source::Register(*limit) } else { *s };
                    let terms = a.terms.iter().map(|(s, k)| (swap(s), *k)).collect();
                    let form = Affine { terms, ..a.clone() };
                    let Some(ends) = states.iter().map(|s| numerator(&form, s)).collect::<Option<Vec<_>>>() else { continue };
                    let scaled = |v: &i128| v * i128::from(form.divisor);
                    if !ends.iter().zip(values).all(|(e, v)| scaled(v) < *e) {
                        continue;
                    }
                    found.push(Fact::Below(*slot, form.clone()));
                    let apart = ends.iter().fold(0u128, |g, e| gcd(g, (e - ends[0]).unsigned_abs()));
                    let bits = apart.trailing_zeros().min(10);
                    if bits > 0 {
                        found.push(Fact::Aligned(form.clone(), bits, (ends[0] as u64) & ((1 << bits) - 1)));
                    }
                    for (other, bound) in numbers.iter().filter(|(o, b)| o != slot && b.len() == ends.len()) {
                        if ends.iter().zip(bound).all(|(e, b)| *e <= scaled(b)) {
                            found.push(Fact::Within(form.clone(), *other));
                            // What is left over after the loop.
                            let most = ends.iter().zip(bound).map(|(e, b)| scaled(b) - *e).max().unwrap_or(0);
                            if most < scaled(&MAX_LEFT) {
                                found.push(Fact::Near(form.clone(), *other, most as u64));
                            }
                        }
                    }
                }
            }
        }
        found
    }

    /// A variable's value as a 64-bit number.
    pub fn wide(&self, m: &mut Symbolic, slot: usize) -> Term {
        let s = &self.study.slots[slot];
        let value = m.frame_value(s.offset, s.size as u32);
        if s.class == TypeClass::Unsigned { m.terms.zext(value, 64) } else { m.terms.sext(value, 64) }
    }

    /// The claim of a relation as a one-bit term: machine state in `o`, variable `value` of `size` bytes.
    pub fn claim(&self, o: &mut Symbolic, relation: &Relation, value: Term, wide: Term, size: u64) -> Term {
        match relation {
            Relation::Vector(n) => {
                let x = o.get(Place::Xmm(*n));
                let low = o.terms.extract(x, 0, size as u32 * 8);
                if o.terms.mixes_orders(low) || o.terms.mixes_orders(value) {
                    return o.terms.constant(1, 0);
                }
                equal(&mut o.terms, low, value)
            }
            Relation::Bits(bits) => {
                let k = o.terms.constant(size as u32 * 8, u128::from(*bits));
                equal(&mut o.terms, k, value)
            }
            Relation::Affine(a) => {
                let sum = form(o, a);
                // A whole register is the whole number, which `start` makes use of; half of one is as much of it as there is.
                let halves = a.terms.iter().any(|(s, _)| matches!(s, Source::Half(_) | Source::HalfWord(_)));
                if a.divisor == 1 && size < 8 && halves {
                    let low = o.terms.extract(sum, 0, size as u32 * 8);
                    return equal(&mut o.terms, low, value);
                }
                let d = o.terms.constant(64, u128::from(a.divisor as u64));
                let scaled = o.terms.bin(Bin::Mul, wide, d);
                equal(&mut o.terms, sum, scaled)
            }
        }
    }

    /// A fact as a one-bit term over both machines. The terms live in `o`.
    pub fn instantiate(&self, fact: &Fact, o: &mut Symbolic, r: &mut Symbolic) -> Term {
        std::mem::swap(&mut o.terms, &mut r.terms);
        let value = |p: &Self, r: &mut Symbolic, slot: usize| {
            let s = &p.study.slots[slot];
            r.frame_value(s.offset, s.size as u32)
        };
        let slots: Vec<usize> = match fact {
            Fact::Related(s, _) | Fact::Splat(s, _) | Fact::Congruent(s, ..) | Fact::AtLeast(s, _) | Fact::AtMost(s, _) => vec![*s],
            Fact::Below(s, _) | Fact::Within(_, s) | Fact::Near(_, s, _) | Fact::Lanes(s, ..) | Fact::Counted(s, ..) => {
                vec![*s]
            }
            Fact::Less(a, b) | Fact::NotMore(a, b) => vec![*a, *b],
            Fact::Offset(_, offset) => vec![offset.pointer, offset.index],
            Fact::Fixed(..)
            | Fact::Based(..)
            | Fact::FixedVector(..)
            | Fact::Aligned(..)
            | Fact::Small(..)
            | Fact::Loaded(..)
            | Fact::Held(..)
            | Fact::Kept(_) => Vec::new(),
        };
        let pairs: Vec<(Term, Term)> = slots.iter().map(|s| (value(self, r, *s), self.wide(r, *s))).collect();
        std::mem::swap(&mut o.terms, &mut r.terms);
        match fact {
            Fact::Related(slot, relation) => self.claim(o, relation, pairs[0].0, pairs[0].1, self.study.slots[*slot].size),
            Fact::Fixed(n, biased, k) => {
                let x = o.get(Place::Gpr(*n));
                let k = o.terms.constant(64, u128::from(*k));
                let k = if *biased { o.terms.bin(Bin::Add, o.bias(), k) } else { k };
                equal(&mut o.terms, x, k)
            }
            Fact::Based(n, address) => {
                let (x, at) = (o.get(Place::Gpr(*n)), o.link_address(*address));
                equal(&mut o.terms, x, at)
            }
            Fact::FixedVector(n, k) => {
                let x = o.get(Place::Xmm(*n));
                let k = o.terms.constant(128, *k);
                equal(&mut o.terms, x, k)
            }
            Fact::Congruent(_, modulus, residue) => {
                if modulus.is_power_of_two() {
                    let twos = modulus.trailing_zeros();
                    let low = o.terms.extract(pairs[0].1, 0, twos);
                    let k = o.terms.constant(twos, u128::from(*residue));
                    return equal(&mut o.terms, low, k);
                }
                // Narrow on purpose: division of 64 bits is dear, and indices are small.
                let low = o.terms.extract(pairs[0].1, 0, 32);
                let m = o.terms.constant(32, u128::from(*modulus));
                let rest = o.terms.bin(Bin::Urem, low, m);
                let k = o.terms.constant(32, u128::from(*residue));
                equal(&mut o.terms, rest, k)
            }
            Fact::AtLeast(_, k) | Fact::AtMost(_, k) => {
                let k = o.terms.constant(64, u128::from(*k as u64));
                let (a, b) = if matches!(fact, Fact::AtLeast(..)) { (pairs[0].1, k) } else { (k, pairs[0].1) };
                let less = o.terms.bin(Bin::Slt, a, b);
                o.terms.not(less)
            }
            Fact::Below(_, a) | Fact::Within(a, _) => {
                let limit = form(o, a);
                let d = o.terms.constant(64, u128::from(a.divisor as u64));
                let scaled = o.terms.bin(Bin::Mul, pairs[0].1, d);
                if matches!(fact, Fact::Below(..)) {
                    return o.terms.bin(Bin::Slt, scaled, limit);
                }
                let more = o.terms.bin(Bin::Slt, scaled, limit);
                o.terms.not(more)
            }
            Fact::Near(a, _, most) => {
                let limit = form(o, a);
                let d = o.terms.constant(64, u128::from(a.divisor as u64));
                let scaled = o.terms.bin(Bin::Mul, pairs[0].1, d);
                let left = o.terms.bin(Bin::Sub, scaled, limit);
                let k = o.terms.constant(64, u128::from(*most));
                let more = o.terms.bin(Bin::Slt, k, left);
                o.terms.not(more)
            }
            Fact::Lanes(_, kind, group) => {
                let lanes: Vec<Term> = group.iter().flat_map(|n| lanes(o, *n)).collect();
                let value = pairs[0].0;
                if *kind == Reduction::Sum {
                    let total = lanes[1..].iter().fold(lanes[0], |sum, lane| o.terms.bin(Bin::Add, sum, *lane));
                    return equal(&mut o.terms, total, value);
                }
                let kind = if *kind == Reduction::Largest { Extreme::Largest } else { Extreme::Smallest };
                let last = o.terms.extreme(kind(Sign::Signed), &lanes);
                equal(&mut o.terms, last, value)
            }
            Fact::Small(n, most) => {
                let x = o.get(Place::Gpr(*n));
                let k = o.terms.constant(64, u128::from(*most));
                let more = o.terms.bin(Bin::Ult, k, x);
                o.terms.not(more)
            }
            Fact::Aligned(a, bits, rest) => {
                let limit = form(o, a);
                let low = o.terms.extract(limit, 0, *bits);
                let k = o.terms.constant(*bits, u128::from(*rest));
                equal(&mut o.terms, low, k)
            }
            Fact::Loaded(place, address, bytes, spread) => {
                let held = o.get(*place);
                let value = self.filled(o, *place, *address, *bytes, *spread);
                equal(&mut o.terms, held, value)
            }
            Fact::Splat(_, n) => held::is_splat(o, *n, pairs[0].0),
            Fact::Counted(_, n, offsets) => held::is_counted(o, *n, pairs[0].0, offsets),
            Fact::Held(place, address, bytes) => held::is_held(o, *place, address, *bytes),
            Fact::Kept(shape) => self.is_kept(o, r, shape),
            Fact::Offset(n, offset) => {
                let x = o.get(Place::Gpr(*n));
                let sum = offset.sum(o, pairs[0].1, pairs[1].1);
                equal(&mut o.terms, x, sum)
            }
            Fact::Less(..) => o.terms.bin(Bin::Slt, pairs[0].1, pairs[1].1),
            Fact::NotMore(..) => {
                let less = o.terms.bin(Bin::Slt, pairs[1].1, pairs[0].1);
                o.terms.not(less)
            }
        }
    }

    pub fn describe(&self, fact: &Fact) -> String {
        let name = |s: &usize| self.study.slots[*s].key.name.clone();
        match fact {
            Fact::Related(s, r) => format!("{} = {r}", name(s)),
            Fact::Fixed(n, true, k) => format!("{} = base + {k:#x}", trueline_machine::algebra::GPR_NAMES[*n as usize]),
            Fact::Fixed(n, false, k) => format!("{} = {k:#x}", trueline_machine::algebra::GPR_NAMES[*n as usize]),
            Fact::Based(n, address) => format!("{} = address {address:#x}", trueline_machine::algebra::GPR_NAMES[*n as usize]),
            Fact::FixedVector(n, k) => format!("xmm{n} = {k:#x}"),
            Fact::Congruent(s, m, r) => format!("{} ≡ {r} mod {m}", name(s)),
            Fact::AtLeast(s, k) => format!("{} >= {k}", name(s)),
            Fact::AtMost(s, k) => format!("{} <= {k}", name(s)),
            Fact::Less(a, b) => format!("{} < {}", name(a), name(b)),
            Fact::NotMore(a, b) => format!("{} <= {}", name(a), name(b)),
            Fact::Below(s, a) => format!("{} < {a}", name(s)),
            Fact::Within(a, s) => format!("{a} <= {}", name(s)),
            Fact::Near(a, s, most) => format!("{}·{} <= {}·({a}) + {most}", a.divisor, name(s), a.divisor),
            Fact::Lanes(s, kind, group) => {
                let group: Vec<String> = group.iter().map(|n| format!("xmm{n}")).collect();
                format!("{} = {kind:?} of the lanes of {}", name(s), group.join(" and "))
            }
            Fact::Loaded(place, address, bytes, spread) => format!("{place:?} = {bytes} bytes at {address:#x} ({spread:?})"),
            Fact::Kept(shape) => format!("still {shape:?}"),
            Fact::Offset(n, o) => {
                let (register, pointer, index) = (trueline_machine::algebra::GPR_NAMES[*n as usize], name(&o.pointer), name(&o.index));
                format!("{register} = {pointer} + {}·{index} + {:#x}", o.scale, o.constant)
            }
            Fact::Splat(s, n) => format!("every lane of xmm{n} = {}", name(s)),
            Fact::Counted(s, n, offsets) => format!("the lanes of xmm{n} = {} + {offsets:?}", name(s)),
            Fact::Held(place, address, bytes) => format!("{place:?} = {bytes} bytes at {address}"),
            Fact::Small(n, k) => format!("{} <= {k:#x}", trueline_machine::algebra::GPR_NAMES[*n as usize]),
            Fact::Aligned(a, bits, rest) => format!("{}·({a}) ≡ {rest} mod {}", a.divisor, 1u64 << bits),
        }
    }
}

/// True for an access to one address that the code names.
fn is_fixed_operand(i: &Instruction) -> bool {
    let absolute = i.memory_base() == Register::None && i.memory_index() == Register::None && i.memory_segment() == Register::DS;
    i.is_ip_rel_memory_operand() || (absolute && i.op_kinds().any(|k| k == OpKind::Memory))
}

impl Offset {
    /// The sum that it stands for.
    pub fn sum(&self, o: &mut Symbolic, pointer: Term, index: Term) -> Term {
        let (scale, constant) =
            (o.terms.constant(64, u128::from(self.scale as u64)), o.terms.constant(64, u128::from(self.constant as u64)));
        let part = o.terms.bin(Bin::Mul, index, scale);
        let sum = o.terms.bin(Bin::Add, pointer, part);
        o.terms.bin(Bin::Add, sum, constant)
    }
}

/// Most bytes that one of an index stands for, and that an offset is from its pointer.
const MAX_SCALE: i128 = 4096;
const MAX_OFFSET: i128 = 1 << 20;

/// Registers that stand somewhere from a pointer variable in every run, as far as an integer variable says. The scale comes from two
/// samples, and all others have to agree.
fn offsets(pointers: &[(usize, Vec<u64>)], numbers: &[(usize, Vec<i128>)], states: &[&MachineState]) -> Vec<Fact> {
    let mut found = Vec::new();
    for n in (0..16u8).filter(|n| *n != RSP) {
        for (pointer, from) in pointers.iter().filter(|(_, v)| v.len() == states.len()) {
            let distances: Vec<i128> =
                states.iter().zip(from).map(|(s, p)| i128::from(s.gpr[n as usize].wrapping_sub(*p) as i64)).collect();
            let Some(other) = distances.iter().position(|d| *d != distances[0]) else { continue };
            for (index, values) in numbers.iter().filter(|(_, v)| v.len() == states.len()) {
                let (step, steps) = (distances[other] - distances[0], values[other] - values[0]);
                if steps == 0 || step % steps != 0 || (step / steps).abs() > MAX_SCALE {
                    continue;
                }
                let scale = step / steps;
                let rest = |(d, v): (&i128, &i128)| d - v * scale;
                let constant = rest((&distances[0], &values[0]));
                if constant.abs() < MAX_OFFSET && distances.iter().zip(values).map(rest).all(|r| r == constant) {
                    found
                        .push(Fact::Offset(n, Offset { pointer: *pointer, index: *index, scale: scale as i64, constant: constant as i64 }));
                }
            }
        }
    }
    found
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The 32-bit lanes of a vector register, the lowest first.
pub fn lanes(o: &mut Symbolic, n: u8) -> Vec<Term> {
    let x = o.get(Place::Xmm(n));
    (0..4).map(|k| o.terms.extract(x, 32 * k, 32)).collect()
}

/// What the lanes of some vector registers come to in a state.
fn reduced(state: &MachineState, kind: Reduction, group: &[u8]) -> u32 {
    let lanes = group.iter().flat_map(|n| (0..4).map(move |k| (state.xmm[*n as usize] >> (32 * k)) as u32));
    match kind {
        Reduction::Sum => lanes.fold(0, u32::wrapping_add),
        Reduction::Largest => lanes.max_by_key(|l| *l as i32).unwrap_or(0),
        Reduction::Smallest => lanes.min_by_key(|l| *l as i32).unwrap_or(0),
    }
}

/// What a form comes to before its division.
pub fn form(o: &mut Symbolic, a: &Affine) -> Term {
    let mut sum = o.terms.constant(64, u128::from(a.constant as u64));
    for (source, factor) in &a.terms {
        let x = match source {
            Source::Register(n) => o.get(Place::Gpr(*n)),
            Source::Half(n) => {
                let full = o.get(Place::Gpr(*n));
                let low = o.terms.extract(full, 0, 32);
                o.terms.sext(low, 64)
            }
            Source::Word(offset) => o.frame_value(i64::from(*offset), 8),
            Source::HalfWord(offset) => {
                let low = o.frame_value(i64::from(*offset), 4);
                o.terms.sext(low, 64)
            }
            Source::Bias => o.bias(),
            Source::Cfa => o.cfa(),
        };
        let k = o.terms.constant(64, u128::from(*factor as u64));
        let part = o.terms.bin(Bin::Mul, x, k);
        sum = o.terms.bin(Bin::Add, sum, part);
    }
    sum
}

/// The numerator of a form in a state.
fn numerator(a: &Affine, state: &MachineState) -> Option<i128> {
    Affine { divisor: 1, ..a.clone() }.evaluate(state)
}
