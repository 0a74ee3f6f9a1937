//! Symbolic execution: a machine whose values are terms.
//!
//! Memory: words of the own frame are tracked one by one. Shared objects are read through uninterpreted
//! functions of the offset (the same functions in both builds: at a correlated point their memories are
//! equal) with the stores of the path laid over them. Objects do not overlap and accesses stay inside the
//! object they start in; both are listed as assumptions.

use crate::algebra::{Bin, Fault, Float, Machine, Place, RSP};
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
    /// When it is made, on a path that was joined.
    pub guard: Term,
    /// The object's number.
    pub object: u32,
    /// Bytes from the object's start.
    pub offset: Term,
    /// What is stored.
    pub value: Term,
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
    /// Bytes of the frame that were stored to: what was there at the start is gone.
    pub written: BTreeSet<i64>,
    /// Which memory loads read: empty for the start's. A store somewhere unknown makes loads of the two builds
    /// incomparable from then on, an outside call makes them new but equal.
    pub memory: String,
    /// The path's condition.
    pub condition: Term,
    /// Outside calls so far.
    pub calls: u32,
    /// Times that memory was lost.
    pub lost: u32,
}

impl Symbolic {
    /// A machine at a cut point: every register unknown but the stack pointer, `depth` bytes below the
    /// canonical frame address.
    pub fn new(mut terms: Terms, side: &'static str, objects: Arc<[Object]>, depth: i64) -> Self {
        let bias = terms.var(64, "bias");
        let cfa = terms.var(64, &format!("cfa_{side}"));
        let condition = terms.constant(1, 1);
        let mut places = BTreeMap::new();
        let k = terms.constant(64, u128::from(depth as u64));
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
            written: BTreeSet::new(),
            memory: String::new(),
            condition,
            calls: 0,
            lost: 0,
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
        // A stored or known word that contains it.
        let holder = self.frame.range(..=offset).next_back().map(|(at, v)| (*at, *v));
        if let Some((at, v)) = holder {
            let (low, width) = ((offset - at) as u32 * 8, self.terms.width(v));
            if low + bytes * 8 <= width {
                return self.terms.extract(v, low, bytes * 8);
            }
        }
        let end = offset + i64::from(bytes);
        let overlaps = self.frame.iter().any(|(at, v)| *at < end && at + i64::from(self.terms.width(*v) / 8) > offset);
        if overlaps || self.written.range(offset..end).next().is_some() {
            // Partly stored: nothing is known of the whole.
            return self.terms.fresh(bytes * 8);
        }
        let name = format!("frame_{}_{offset}_{bytes}", self.side);
        let value = self.terms.var(bytes * 8, &name);
        self.frame.insert(offset, value);
        value
    }

    /// Stores into the frame; a word that is only partly overwritten keeps its other bytes.
    fn store_frame(&mut self, offset: i64, value: Term) {
        let end = offset + i64::from(self.terms.width(value) / 8);
        let stale: Vec<(i64, Term)> = self
            .frame
            .iter()
            .filter(|(at, v)| **at < end && *at + i64::from(self.terms.width(**v) / 8) > offset)
            .map(|(at, v)| (*at, *v))
            .collect();
        for (at, v) in stale {
            self.frame.remove(&at);
            let high = at + i64::from(self.terms.width(v) / 8);
            if at < offset {
                let low = self.terms.extract(v, 0, (offset - at) as u32 * 8);
                self.frame.insert(at, low);
            }
            if high > end {
                let rest = self.terms.extract(v, (end - at) as u32 * 8, (high - end) as u32 * 8);
                self.frame.insert(end, rest);
            }
        }
        self.written.extend(offset..end);
        self.frame.insert(offset, value);
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
        let tag = if object.fixed.is_some() { "" } else { &self.memory };
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

    /// Loads read something new from now on.
    pub fn forget_memory(&mut self) {
        self.lost += 1;
        self.memory = format!("_{}{}", self.side, self.lost);
        self.stores.clear();
    }

    /// A call of code that is not followed. The same call (by name and number since the start) answers the same in
    /// both builds, a mathematical function the same for the same arguments.
    pub fn call(&mut self, name: Option<&str>) {
        let pure = name.and_then(crate::emulate::pure_arguments);
        let (mut integer, mut float) = (None, None);
        match (name, pure) {
            (Some(name), Some((count, bits))) => {
                let args: Vec<Term> = (0..count as u8)
                    .map(|n| {
                        let x = self.get(Place::Xmm(n));
                        self.terms.extract(x, 0, bits)
                    })
                    .collect();
                float = Some(self.terms.call(&format!("call_{name}"), 128, args));
            }
            (Some(name), None) if self.lost == 0 => {
                self.calls += 1;
                self.memory = format!("_call{}", self.calls);
                self.stores.clear();
                integer = Some(self.terms.var(64, &format!("call{}_{name}", self.calls)));
                float = Some(self.terms.var(128, &format!("call{}_{name}_x", self.calls)));
            }
            _ => self.forget_memory(),
        }
        for n in [0u8, 1, 2, 6, 7, 8, 9, 10, 11] {
            let value = integer.take().unwrap_or_else(|| self.terms.fresh(64));
            self.places.insert(Place::Gpr(n), value);
        }
        for n in 0..16 {
            let value = float.take().unwrap_or_else(|| self.terms.fresh(128));
            self.places.insert(Place::Xmm(n), value);
        }
    }

    /// Moves the stack pointer.
    pub fn move_stack(&mut self, by: i64) {
        let stack = self.get(Place::Gpr(RSP));
        let k = self.terms.constant(64, u128::from(by as u64));
        let moved = self.terms.bin(Bin::Add, stack, k);
        self.places.insert(Place::Gpr(RSP), moved);
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
        match self.place_of(*address) {
            Where::Frame(offset) => self.store_frame(offset, *value),
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

/// What a register is called before anything wrote it.
pub fn unwritten(terms: &mut Terms, side: &str, place: Place) -> Term {
    let (width, name) = match place {
        Place::Gpr(n) => (64, format!("r{n}_{side}")),
        Place::Xmm(n) => (128, format!("x{n}_{side}")),
        Place::Flag(f) => (1, format!("f{f:?}_{side}")),
    };
    terms.var(width, &name)
}
