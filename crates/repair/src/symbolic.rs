//! Symbolic execution: a machine whose values are terms, and the walk from one cut point to the next.
//!
//! Memory: words of the own frame are tracked one by one. Shared objects are read through uninterpreted
//! functions of the offset (the same functions in both builds: at a correlated point their memories are
//! equal) with the stores of the path laid over them. Objects do not overlap and accesses stay inside the
//! object they start in; both are listed as assumptions.

use crate::algebra::{Bin, Fault, Float, Machine, Place, RSP};
use crate::emulate::Code;
use crate::lift::{self, Flow};
use crate::term::{Term, Terms};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A shared object: link-time range, common number, element size.
#[derive(Clone, Debug)]
pub struct Object {
    /// First link-time address.
    pub low: u64,
    /// One past the last.
    pub high: u64,
    /// The number both builds use.
    pub id: u32,
    /// Bytes of an element.
    pub element: u32,
    /// Contents, where they cannot change.
    pub fixed: Option<Arc<[u8]>>,
}

/// How link-time addresses of the reference build become those of the optimized one: ranges with what
/// to add. Everything else is moved out of the way by [`ELSEWHERE`].
pub type Moves = Arc<[(u64, u64, u64)]>;

/// Added to addresses of the reference build that have no counterpart.
pub const ELSEWHERE: u64 = 1 << 44;

/// A store into a shared object: guard, object, offset, value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    guard: Term,
    object: u32,
    offset: Term,
    value: Term,
}

/// A symbolic machine.
#[derive(Clone, Debug)]
pub struct Symbolic {
    /// The terms.
    pub terms: Terms,
    /// Registers.
    pub places: BTreeMap<Place, Term>,
    /// Frame words: offset from the canonical frame address to value.
    pub frame: BTreeMap<i64, Term>,
    /// Stores so far.
    pub stores: Vec<Store>,
    /// Which build, to keep unknowns apart.
    pub side: &'static str,
    /// Shared objects.
    pub objects: Arc<[Object]>,
    /// Empty for the optimized build.
    pub moves: Option<Moves>,
    bias: Term,
    cfa: Term,
    /// A store somewhere unknown makes loads incomparable from then on.
    epoch: u32,
    /// The path's condition.
    pub condition: Term,
    calls: u32,
}

impl Symbolic {
    /// A machine at a cut point: every register unknown but the stack pointer, `depth` bytes below the
    /// canonical frame address.
    pub fn new(mut terms: Terms, side: &'static str, objects: Arc<[Object]>, depth: i64) -> Self {
        let bias = terms.var(64, "bias");
        let cfa = terms.var(64, &format!("cfa_{side}"));
        let condition = terms.constant(1, 1);
        let mut places = BTreeMap::new();
        let k = terms.constant(64, depth as u64 as u128);
        let stack = terms.bin(Bin::Sub, cfa, k);
        places.insert(Place::Gpr(RSP), stack);
        Self {
            terms,
            places,
            frame: BTreeMap::new(),
            stores: Vec::new(),
            side,
            objects,
            moves: None,
            bias,
            cfa,
            epoch: 0,
            condition,
            calls: 0,
        }
    }

    /// The term of the load bias.
    pub fn bias(&self) -> Term {
        self.bias
    }

    /// The term of the canonical frame address.
    pub fn cfa(&self) -> Term {
        self.cfa
    }

    /// A frame word's value; an unknown where it was never written.
    pub fn frame_value(&mut self, offset: i64, bytes: u32) -> Term {
        if let Some(v) = self.frame.get(&offset).copied() {
            let width = self.terms.width(v);
            if width == bytes * 8 {
                return v;
            }
            if width > bytes * 8 {
                return self.terms.extract(v, 0, bytes * 8);
            }
        }
        let name = format!("frame_{}_{offset}_{bytes}", self.side);
        let value = self.terms.var(bytes * 8, &name);
        self.frame.insert(offset, value);
        value
    }

    fn place_of(&mut self, address: Term) -> Where {
        let (mut atoms, constant) = self.terms.linear(address);
        if atoms.get(&self.cfa) == Some(&1) {
            atoms.remove(&self.cfa);
            return if atoms.is_empty() { Where::Frame(constant as i64) } else { Where::Unknown };
        }
        if atoms.remove(&self.bias) == Some(1) {
            let object = self.objects.iter().find(|o| constant >= o.low && constant < o.high).cloned();
            if let Some(object) = object {
                let start = self.terms.constant(64, u128::from(object.low));
                let base = self.terms.bin(Bin::Add, self.bias, start);
                let offset = self.terms.bin(Bin::Sub, address, base);
                return Where::Object(object, offset);
            }
        }
        Where::Unknown
    }

    fn load_object(&mut self, object: &Object, offset: Term, bytes: u32) -> Term {
        if object.fixed.is_none() && bytes > object.element && bytes.is_multiple_of(object.element) {
            let mut value: Option<Term> = None;
            for n in 0..bytes / object.element {
                let k = self.terms.constant(64, u128::from(n * object.element));
                let at = self.terms.bin(Bin::Add, offset, k);
                let lane = self.load_object(object, at, object.element);
                value = Some(match value {
                    None => lane,
                    Some(low) => self.terms.concat(lane, low),
                });
            }
            return value.unwrap_or(offset);
        }
        if let (Some(fixed), Some(at)) = (&object.fixed, self.terms.value(offset)) {
            let mut bytes16 = [0u8; 16];
            let at = at as usize;
            if let Some(found) = fixed.get(at..at + bytes as usize) {
                bytes16[..bytes as usize].copy_from_slice(found);
                return self.terms.constant(bytes * 8, u128::from_le_bytes(bytes16));
            }
        }
        let tag = if self.epoch == 0 || object.fixed.is_some() { String::new() } else { format!("_{}{}", self.side, self.epoch) };
        let mut value = self.terms.call(&format!("load{}_{}{tag}", bytes * 8, object.id), bytes * 8, vec![offset]);
        for store in self.stores.clone().iter().filter(|s| s.object == object.id) {
            if self.terms.width(store.value) != bytes * 8 {
                return self.terms.fresh(bytes * 8);
            }
            let same = self.terms.bin(Bin::Eq, store.offset, offset);
            let hit = self.terms.and(store.guard, same);
            value = self.terms.ite(hit, store.value, value);
        }
        value
    }

    fn store_object(&mut self, object: &Object, offset: Term, value: Term) {
        let bytes = self.terms.width(value) / 8;
        let guard = self.terms.constant(1, 1);
        if bytes > object.element && bytes.is_multiple_of(object.element) {
            for n in 0..bytes / object.element {
                let k = self.terms.constant(64, u128::from(n * object.element));
                let at = self.terms.bin(Bin::Add, offset, k);
                let lane = self.terms.extract(value, n * object.element * 8, object.element * 8);
                self.stores.push(Store { guard, object: object.id, offset: at, value: lane });
            }
        } else {
            self.stores.push(Store { guard, object: object.id, offset, value });
        }
    }

    fn forget_memory(&mut self) {
        self.epoch += 1;
        self.stores.clear();
    }

    fn call(&mut self) {
        self.calls += 1;
        self.forget_memory();
        for n in [0u8, 1, 2, 6, 7, 8, 9, 10, 11] {
            let value = self.terms.fresh(64);
            self.places.insert(Place::Gpr(n), value);
        }
        for n in 0..16 {
            let value = self.terms.fresh(128);
            self.places.insert(Place::Xmm(n), value);
        }
    }
}

enum Where {
    Frame(i64),
    Object(Object, Term),
    Unknown,
}

impl Machine for Symbolic {
    type V = Term;

    fn constant(&mut self, width: u32, value: u128) -> Term {
        self.terms.constant(width, value)
    }
    fn undefined(&mut self, width: u32) -> Term {
        self.terms.fresh(width)
    }
    fn width(&self, value: &Term) -> u32 {
        self.terms.width(*value)
    }
    fn bin(&mut self, op: Bin, a: &Term, b: &Term) -> Term {
        self.terms.bin(op, *a, *b)
    }
    fn extract(&mut self, value: &Term, low: u32, width: u32) -> Term {
        self.terms.extract(*value, low, width)
    }
    fn concat(&mut self, high: &Term, low: &Term) -> Term {
        self.terms.concat(*high, *low)
    }
    fn zext(&mut self, value: &Term, width: u32) -> Term {
        self.terms.zext(*value, width)
    }
    fn sext(&mut self, value: &Term, width: u32) -> Term {
        self.terms.sext(*value, width)
    }
    fn ite(&mut self, condition: &Term, a: &Term, b: &Term) -> Term {
        self.terms.ite(*condition, *a, *b)
    }
    fn float(&mut self, op: Float, width: u32, args: &[Term]) -> Term {
        self.terms.float(op, width, args)
    }
    fn get(&mut self, place: Place) -> Term {
        if let Some(t) = self.places.get(&place) {
            return *t;
        }
        let t = unwritten(&mut self.terms, self.side, place);
        self.places.insert(place, t);
        t
    }
    fn set(&mut self, place: Place, value: Term) {
        self.places.insert(place, value);
    }
    fn load(&mut self, address: &Term, bytes: u32) -> Result<Term, Fault> {
        Ok(match self.place_of(*address) {
            Where::Frame(offset) => self.frame_value(offset, bytes),
            Where::Object(object, offset) => self.load_object(&object, offset, bytes),
            Where::Unknown => self.terms.fresh(bytes * 8),
        })
    }
    fn store(&mut self, address: &Term, value: &Term) -> Result<(), Fault> {
        let bytes = i64::from(self.terms.width(*value) / 8);
        match self.place_of(*address) {
            Where::Frame(offset) => {
                let overlaps = |at: &i64, v: &Term| *at < offset + bytes && at + i64::from(self.terms.width(*v) / 8) > offset;
                let stale: Vec<i64> = self.frame.iter().filter(|(at, v)| overlaps(at, v)).map(|(at, _)| *at).collect();
                for at in stale {
                    self.frame.remove(&at);
                }
                self.frame.insert(offset, *value);
            }
            Where::Object(object, offset) => self.store_object(&object, offset, *value),
            // A pointer we know nothing of points into shared memory, not into the own frame.
            Where::Unknown => self.forget_memory(),
        }
        Ok(())
    }
    fn link_address(&mut self, address: u64) -> Term {
        let address = match &self.moves {
            None => address,
            Some(moves) => match moves.iter().find(|(low, high, _)| address >= *low && address < *high) {
                Some((_, _, delta)) => address.wrapping_add(*delta),
                None => address.wrapping_add(ELSEWHERE),
            },
        };
        let k = self.terms.constant(64, u128::from(address));
        self.terms.bin(Bin::Add, self.bias, k)
    }
    fn thread_base(&mut self) -> Term {
        let name = format!("fs_{}", self.side);
        self.terms.var(64, &name)
    }
}

/// Where a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    /// At a cut point.
    Cut(u64),
    /// At a return.
    Return,
}

/// Most instructions between two cut points.
const MAX_STEPS: usize = 4000;

/// Walks from `pc` to the next cut points and returns, joining paths wherever they meet, so that the work
/// is linear in the code. `visit` sees each instruction's address with the machine before it. `ranks` orders
/// the function's instructions (reverse postorder).
pub fn walk(
    code: &Code<'_>,
    ranks: &BTreeMap<u64, usize>,
    mut start: Symbolic,
    pc: u64,
    cuts: &BTreeSet<u64>,
    visit: &mut dyn FnMut(u64, &mut Symbolic),
) -> Result<(Vec<(Arrival, Symbolic)>, Terms), String> {
    let mut terms = std::mem::take(&mut start.terms);
    let mut arrived: BTreeMap<Arrival, Vec<Symbolic>> = BTreeMap::new();
    let mut queue: BTreeMap<(usize, u64), Vec<Symbolic>> = BTreeMap::new();
    let rank = |pc: u64| ranks.get(&pc).copied().ok_or_else(|| format!("control leaves the function at {pc:#x}"));
    queue.insert((rank(pc)?, pc), vec![start]);
    let mut steps = 0;
    while let Some(((at, pc), machines)) = queue.pop_first() {
        steps += 1;
        if steps > MAX_STEPS {
            return Err("its paths are too long".to_owned());
        }
        let Some(mut m) = merge(&mut terms, machines) else { continue };
        m.terms = std::mem::take(&mut terms);
        visit(pc, &mut m);
        let instruction = code.at(pc).ok_or_else(|| format!("no code at {pc:#x}"))?;
        let next = instruction.next_ip();
        let mut out: Vec<(u64, Symbolic)> = Vec::new();
        match lift::execute(&mut m, &instruction).map_err(|e| e.to_string())? {
            Flow::Next => out.push((next, m)),
            Flow::Jump(to) if code.outside(to).is_some() => {
                m.call();
                terms = std::mem::take(&mut m.terms);
                arrived.entry(Arrival::Return).or_default().push(m);
            }
            Flow::Jump(to) => out.push((to, m)),
            Flow::Call(_) | Flow::CallTo(_) => {
                m.call();
                out.push((next, m));
            }
            Flow::Return => {
                terms = std::mem::take(&mut m.terms);
                arrived.entry(Arrival::Return).or_default().push(m);
            }
            Flow::Branch(condition, to) => match m.terms.value(condition) {
                Some(0) => out.push((next, m)),
                Some(_) => out.push((to, m)),
                None => {
                    let taken = m.terms.and(m.condition, condition);
                    let not = m.terms.not(condition);
                    let passed = m.terms.and(m.condition, not);
                    let shared = std::mem::take(&mut m.terms);
                    let mut other = m.clone();
                    other.condition = passed;
                    m.condition = taken;
                    m.terms = shared;
                    out.push((next, other));
                    out.push((to, m));
                }
            },
            Flow::JumpTo(_) => return Err("it has a computed jump".to_owned()),
            Flow::Stop => return Err("it has a trap".to_owned()),
        }
        for (to, mut m) in out {
            if !m.terms.is_empty() {
                terms = std::mem::take(&mut m.terms);
            }
            if cuts.contains(&to) {
                arrived.entry(Arrival::Cut(to)).or_default().push(m);
                continue;
            }
            let order = rank(to)?;
            if order <= at {
                return Err(format!("it has a loop at {to:#x} that is no natural one"));
            }
            queue.entry((order, to)).or_default().push(m);
        }
    }
    let done = arrived.into_iter().filter_map(|(a, ms)| Some((a, merge(&mut terms, ms)?))).collect();
    Ok((done, terms))
}

/// What a register is called before anything wrote it.
fn unwritten(terms: &mut Terms, side: &str, place: Place) -> Term {
    let (width, name) = match place {
        Place::Gpr(n) => (64, format!("r{n}_{side}")),
        Place::Xmm(n) => (128, format!("x{n}_{side}")),
        Place::Flag(f) => (1, format!("f{f:?}_{side}")),
    };
    terms.var(width, &name)
}

/// Joins machines that arrived at the same place: differing values become choices on the paths'
/// conditions. `terms` is the shared table.
pub fn merge(terms: &mut Terms, machines: Vec<Symbolic>) -> Option<Symbolic> {
    let mut machines = machines.into_iter();
    let mut joined = machines.next()?;
    for m in machines {
        let condition = m.condition;
        let places: BTreeSet<Place> = joined.places.keys().chain(m.places.keys()).copied().collect();
        for place in places {
            let start = unwritten(terms, joined.side, place);
            let (a, b) = (joined.places.get(&place).copied().unwrap_or(start), m.places.get(&place).copied().unwrap_or(start));
            let value = terms.ite(condition, b, a);
            joined.places.insert(place, value);
        }
        let offsets: BTreeSet<i64> = joined.frame.keys().chain(m.frame.keys()).copied().collect();
        for offset in offsets {
            match (joined.frame.get(&offset), m.frame.get(&offset)) {
                (Some(a), Some(b)) if terms.width(*a) == terms.width(*b) => {
                    let value = terms.ite(condition, *b, *a);
                    joined.frame.insert(offset, value);
                }
                (Some(v), None) | (None, Some(v)) => {
                    // One path read or wrote it first: on the other it still is what it was at the start.
                    let bytes = terms.width(*v) / 8;
                    let start = terms.var(bytes * 8, &format!("frame_{}_{offset}_{bytes}", joined.side));
                    let (a, b) = (joined.frame.get(&offset).copied().unwrap_or(start), m.frame.get(&offset).copied().unwrap_or(start));
                    let value = terms.ite(condition, b, a);
                    joined.frame.insert(offset, value);
                }
                _ => {
                    joined.frame.remove(&offset);
                }
            }
        }
        if joined.stores != m.stores || joined.epoch != m.epoch {
            let common = joined.stores.iter().zip(&m.stores).take_while(|(a, b)| a == b).count();
            let not = terms.not(condition);
            if joined.epoch != m.epoch {
                joined.epoch = joined.epoch.max(m.epoch) + 1;
                joined.stores.clear();
            } else {
                for store in joined.stores.iter_mut().skip(common) {
                    store.guard = terms.and(store.guard, not);
                }
                for store in m.stores.into_iter().skip(common) {
                    let guard = terms.and(store.guard, condition);
                    joined.stores.push(Store { guard, ..store });
                }
            }
        }
        joined.condition = terms.bin(Bin::Or, joined.condition, condition);
    }
    Some(joined)
}
