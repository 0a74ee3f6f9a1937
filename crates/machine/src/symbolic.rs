//! Symbolic execution: a machine whose values are terms.
//!
//! Words of the own frame are tracked one by one ([`frame`]); everything else is one flat memory ([`memory`]),
//! read through uninterpreted functions of the address (the same functions in both builds: at a correlated point
//! their memories are equal) with the stores of the path laid over them by byte ranges. A store or a call that may
//! reach the frame makes the words it may reach unknown.
//!
//! Taken for granted, because anything else is undefined behaviour: an address computed from a global or from what
//! the caller passed does not point into the own frame, and nothing does while no register or memory ever held an
//! address of the frame.

pub mod call;
pub mod frame;
pub mod memory;

use crate::algebra::{AccessFault, Bin, Float, Machine, Place, RSP};
use crate::library;
use crate::term::{BASE, Term, Terms};
use call::{Argument, Call, Effect, Site};
use frame::Frame;
use memory::{Memory, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How link-time addresses of the reference build become those of the optimized one: ranges with what
/// to add. Everything else is moved out of the way by [`ELSEWHERE`].
pub type Moves = Vec<(u64, u64, u64)>;

/// Added to addresses of the reference build that have no counterpart.
pub const ELSEWHERE: u64 = 1 << 44;

/// Whether an address of the frame is ever anywhere but in the stack pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposure {
    /// Never: only accesses relative to the stack pointer reach the frame.
    #[default]
    Private,
    /// It is: any pointer that is not known to point elsewhere may point into the frame.
    Exposed,
}

/// Whether memory may change between two loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stability {
    /// Only the program changes it.
    #[default]
    Stable,
    /// The program has volatile objects: every load reads something new.
    Volatile,
}

/// Whether the loader decides where the optimized build lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// It does: addresses are relative to the load address.
    #[default]
    Movable,
    /// It does not: addresses are numbers.
    Fixed,
    /// Every part of it is placed on its own: an object that is not linked.
    Scattered,
}

/// A part of an object that is placed as a whole, in the address space that the object was given for the time being.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its first address.
    pub low: u64,
    /// One past its last address.
    pub high: u64,
    /// What tells it from all others.
    pub name: String,
    /// Whether only what begins at one address keeps together.
    pub merged: bool,
}

/// Whether both builds have their thread-local objects at the same places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// They have, or there are none.
    #[default]
    Alike,
    /// They may not.
    Apart,
}

/// Whether the program knows where `errno` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Errno {
    /// Nothing in it asks for that.
    #[default]
    Unknown,
    /// A pointer may point to it.
    Visible,
}

/// What the machine of one build knows of its address space.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// How the reference build's addresses move; `None` for the optimized build.
    pub moves: Option<Moves>,
    /// Contents that cannot change, by first address.
    pub constants: Vec<(u64, Vec<u8>)>,
    /// Objects with the bytes of an element: wide accesses are split so.
    pub elements: Vec<(u64, u64, u32)>,
    /// The bytes that wide accesses elsewhere are split into.
    pub granule: u32,
    /// Whether pointers may point into the frame.
    pub exposure: Exposure,
    /// Frame ranges (offset and bytes) that no pointer can reach: plain variables whose address is not taken.
    pub protected: Vec<(i64, u32)>,
    /// Whether loads may be compared.
    pub stability: Stability,
    /// Tables of jump targets.
    pub tables: Vec<JumpTable>,
    /// Whether the optimized build is linked to fixed addresses.
    pub linkage: Linkage,
    /// Where the build's own code and data lie, if it is linked to fixed addresses: what looks like one of these addresses in its code
    /// is one.
    pub own: Vec<(u64, u64)>,
    /// The parts of both builds, if they are objects.
    pub parts: Vec<Part>,
    /// Slots that the linker makes, with the link-time addresses that they will hold.
    pub slots: BTreeMap<u64, u64>,
    /// Where thread-local objects are.
    pub threads: Threads,
    /// Whether pointers may point to `errno`.
    pub errno: Errno,
}

/// A table of places in the function: 32-bit distances from the table, or 64-bit addresses.
#[derive(Clone, Debug)]
pub struct JumpTable {
    /// Its link-time address.
    pub address: u64,
    /// The bytes of an entry.
    pub width: u32,
    /// The link-time addresses of the targets, in order.
    pub targets: Vec<u64>,
}

/// A symbolic machine.
#[derive(Clone, Debug)]
pub struct Symbolic {
    /// The terms.
    pub terms: Terms,
    /// Registers.
    pub places: BTreeMap<Place, Term>,
    /// Words of the own frame.
    pub frame: Frame,
    /// Everything else.
    pub memory: Memory,
    /// Which build, to keep unknowns apart.
    pub side: &'static str,
    /// What is known of the address space.
    pub layout: Arc<Layout>,
    /// Pointers that came from the caller: they do not point into the frame.
    pub foreign: Arc<BTreeSet<Term>>,
    /// The path's condition.
    pub condition: Term,
    bias: Term,
    cfa: Term,
}

/// Where an address points.
enum Where {
    /// A word of the frame.
    Frame(i64),
    /// Somewhere in the frame, from this offset on.
    Indexed(i64),
    /// Outside the frame.
    Shared,
    /// Anywhere.
    Anywhere,
}

impl Symbolic {
    /// A machine at a cut point: every register unknown but the stack pointer, `depth` bytes below the
    /// canonical frame address.
    pub fn new(mut terms: Terms, side: &'static str, layout: Arc<Layout>, depth: i64) -> Self {
        let bias = match layout.linkage {
            Linkage::Movable | Linkage::Scattered => terms.var(64, "bias"),
            Linkage::Fixed => terms.constant(64, 0),
        };
        let cfa = terms.var(64, &format!("cfa_{side}"));
        let condition = terms.constant(1, 1);
        let mut places = BTreeMap::new();
        let k = terms.constant(64, u128::from(depth as u64));
        let stack = terms.bin(Bin::Sub, cfa, k);
        places.insert(Place::Gpr(RSP), stack);
        Self {
            terms,
            places,
            frame: Frame::new(side),
            memory: Memory::default(),
            side,
            layout,
            foreign: Arc::default(),
            condition,
            bias,
            cfa,
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
        self.frame.read(&mut self.terms, offset, bytes)
    }

    /// The distance of a term from the canonical frame address, where it is known.
    pub fn frame_offset(&self, t: Term) -> Option<i64> {
        let (mut atoms, constant) = self.terms.linear(t);
        (atoms.remove(&self.cfa) == Some(1) && atoms.is_empty()).then_some(constant as i64)
    }

    fn place_of(&self, address: Term) -> Where {
        let (mut atoms, constant) = self.terms.linear(address);
        if atoms.get(&self.cfa) == Some(&1) {
            atoms.remove(&self.cfa);
            if atoms.is_empty() {
                return Where::Frame(constant as i64);
            }
            // An index into something of the frame: numbers, not addresses, are added to it.
            let plain = atoms.keys().all(|a| self.terms.is_extended(*a) && !self.terms.is_framed(*a));
            return if plain { Where::Indexed(constant as i64) } else { Where::Anywhere };
        }
        if atoms.keys().any(|a| self.terms.is_framed(*a)) {
            return Where::Anywhere;
        }
        let elsewhere = atoms.iter().any(|(a, k)| *k == 1 && (*a == self.bias || self.terms.is_base(*a) || self.foreign.contains(a)));
        let elsewhere = elsewhere || (self.layout.linkage == Linkage::Fixed && self.is_object(constant));
        if self.layout.exposure == Exposure::Exposed && !elsewhere && !atoms.is_empty() { Where::Anywhere } else { Where::Shared }
    }

    /// What the linker or the loader adds to an address of this build.
    fn base(&mut self, address: u64) -> Term {
        if self.layout.linkage != Linkage::Scattered {
            return self.bias;
        }
        let part = self.layout.parts.iter().find(|p| address >= p.low && address < p.high);
        match part.map(|p| if p.merged { format!("{BASE}{}_{address:x}", p.name) } else { format!("{BASE}{}", p.name) }) {
            Some(name) => self.terms.var(64, &name),
            None => self.terms.fresh(64),
        }
    }

    /// Takes what the linker or the loader adds out of a sum that has it once; false when `constant` is no link-time address.
    fn take_base(&mut self, atoms: &mut BTreeMap<Term, u64>, constant: u64) -> bool {
        if self.layout.linkage == Linkage::Fixed {
            return true;
        }
        let base = self.base(constant);
        atoms.remove(&base) == Some(1)
    }

    /// The link-time address that a term is, wherever the linker puts it.
    pub fn address_of(&mut self, t: Term) -> Option<u64> {
        let (mut atoms, constant) = self.terms.linear(t);
        (self.layout.linkage == Linkage::Scattered && self.take_base(&mut atoms, constant) && atoms.is_empty()).then_some(constant)
    }

    /// True for an address in something that has a name.
    fn is_object(&self, address: u64) -> bool {
        self.layout.elements.iter().any(|(low, high, _)| address >= *low && address < *high)
    }

    /// Makes unknown what a pointer may reach in the frame.
    fn lose_frame(&mut self, also: Option<i64>) {
        let holds = |at: i64, bytes: u32| also.is_some_and(|k| k >= at && k < at + i64::from(bytes));
        let safe: Vec<(i64, u32)> = self.layout.protected.iter().copied().filter(|(at, bytes)| !holds(*at, *bytes)).collect();
        let kept: Vec<(i64, Term)> = safe.into_iter().map(|(at, bytes)| (at, self.frame_value(at, bytes))).collect();
        self.frame.lose(&mut self.terms, i64::MIN / 2, i64::MAX / 2);
        for (at, value) in kept {
            self.frame.write(&mut self.terms, at, value);
        }
    }

    /// The bytes that an access at an address is split into.
    fn granule(&self, address: Term, bytes: u32) -> u32 {
        let (atoms, constant) = self.terms.linear(address);
        let linked = self.layout.linkage == Linkage::Fixed || atoms.keys().any(|a| *a == self.bias || self.terms.is_base(*a));
        let known = linked.then(|| self.layout.elements.iter().find(|e| constant >= e.0 && constant < e.1));
        let granule = known.flatten().map_or(self.layout.granule, |e| e.2).clamp(1, 8);
        if bytes > granule && bytes.is_multiple_of(granule) { granule } else { bytes.min(8) }
    }

    /// The table that a load reads an entry of, with the number of the entry.
    fn entry_of(&mut self, address: Term, bytes: u32) -> Option<(usize, Term)> {
        let (mut atoms, constant) = self.terms.linear(address);
        self.take_base(&mut atoms, constant).then_some(())?;
        let (index, step) = atoms.pop_first()?;
        (atoms.is_empty() && step == u64::from(bytes)).then_some(())?;
        let all = self.layout.tables.iter();
        Some((all.map(|t| (self.moved(t.address), t.width)).position(|t| t == (constant, bytes))?, index))
    }

    /// Where a jump goes that reads its target from a table: conditions and link-time addresses, one of them per target. `None` for any
    /// other jump.
    pub fn cases(&mut self, target: Term) -> Option<Vec<(Term, u64)>> {
        let (mut atoms, constant) = self.terms.linear(target);
        self.take_base(&mut atoms, constant).then_some(())?;
        let (entry, 1) = atoms.pop_first()? else { return None };
        atoms.is_empty().then_some(())?;
        let layout = Arc::clone(&self.layout);
        let (table, index) = layout.tables.iter().enumerate().find_map(|(n, table)| {
            let index = self.terms.called_with(self.terms.unextended(entry), &entry_name(n))?;
            let base = if table.width == 4 { self.moved(table.address) } else { 0 };
            (base == constant).then_some((table, index))
        })?;
        let mut cases: BTreeMap<u64, Term> = BTreeMap::new();
        for (n, to) in table.targets.iter().enumerate() {
            let k = self.terms.constant(64, n as u128);
            let here = self.terms.bin(Bin::Eq, index, k);
            let all = cases.get(to).copied().map_or(here, |before| self.terms.either(before, here));
            cases.insert(*to, all);
        }
        Some(cases.into_iter().map(|(to, condition)| (condition, to)).collect())
    }

    /// A link-time address as both builds have it.
    fn moved(&self, address: u64) -> u64 {
        match &self.layout.moves {
            None => address,
            Some(moves) => match moves.iter().find(|(low, high, _)| address >= *low && address < *high) {
                Some((_, _, delta)) => address.wrapping_add(*delta),
                None => address.wrapping_add(ELSEWHERE),
            },
        }
    }

    fn load_shared(&mut self, address: Term, bytes: u32) -> Term {
        if matches!(bytes, 4 | 8)
            && let Some((table, index)) = self.entry_of(address, bytes)
        {
            return self.terms.call(&entry_name(table), bytes * 8, vec![index]);
        }
        if self.layout.stability == Stability::Volatile {
            return self.terms.fresh(bytes * 8);
        }
        let (mut atoms, constant) = self.terms.linear(address);
        let own =
            self.layout.linkage == Linkage::Fixed || atoms.iter().any(|(a, k)| *k == 1 && (*a == self.bias || self.terms.is_base(*a)));
        if self.memory.errno && self.layout.errno == Errno::Visible && !own {
            return self.terms.fresh(bytes * 8);
        }
        if self.take_base(&mut atoms, constant) && atoms.is_empty() {
            if let Some(target) = self.layout.slots.get(&constant).copied().filter(|_| bytes == 8) {
                return self.link_address(target);
            }
            if let Some(value) = self.constant_at(constant, bytes) {
                return self.terms.constant(bytes * 8, value);
            }
        }
        let granule = self.granule(address, bytes);
        let mut value: Option<Term> = None;
        for n in 0..bytes / granule {
            let k = self.terms.constant(64, u128::from(n * granule));
            let at = self.terms.bin(Bin::Add, address, k);
            let part = memory::read(&mut self.terms, self.memory.version, &self.memory.stores, at, granule);
            value = Some(value.map_or(part, |low| self.terms.concat(part, low)));
        }
        value.unwrap_or(address)
    }

    /// Bytes of memory that never changes.
    fn constant_at(&self, address: u64, bytes: u32) -> Option<u128> {
        self.layout.constants.iter().find_map(|(low, data)| {
            let at = usize::try_from(address.checked_sub(*low)?).ok()?;
            let found = data.get(at..at.checked_add(bytes as usize)?)?;
            let mut all = [0u8; 16];
            all[..found.len()].copy_from_slice(found);
            Some(u128::from_le_bytes(all))
        })
    }

    /// The constant text that an argument points to.
    pub fn text(&mut self, argument: usize) -> Option<Vec<u8>> {
        let register = [7u8, 6, 2, 1, 8, 9].get(argument)?;
        let pointer = self.get(Place::Gpr(*register));
        let (mut atoms, address) = self.terms.linear(pointer);
        (self.take_base(&mut atoms, address) && atoms.is_empty()).then_some(())?;
        self.layout.constants.iter().find_map(|(low, data)| {
            let text = data.get(usize::try_from(address.checked_sub(*low)?).ok()?..)?;
            text.iter().position(|b| *b == 0).map(|end| text[..end].to_vec())
        })
    }

    fn store_shared(&mut self, address: Term, value: Term) {
        let bytes = self.terms.width(value) / 8;
        let granule = self.granule(address, bytes);
        for n in 0..bytes / granule {
            let k = self.terms.constant(64, u128::from(n * granule));
            let at = self.terms.bin(Bin::Add, address, k);
            let part = self.terms.extract(value, n * granule * 8, granule * 8);
            self.memory.store(&mut self.terms, at, part);
        }
    }

    /// A call of code that is not followed. The same call with the same arguments and memory answers the same and leaves
    /// the same memory in both builds; whoever compares them has to show that it is the same ([`memory::same`]).
    pub fn call(&mut self, site: &Site<'_>) {
        let arguments = site.arguments.as_ref().and_then(|list| self.arguments(list));
        let (mut integer, mut float) = (None, None);
        match (&site.effect, site.name, arguments) {
            (Effect::Function, Some(name), Some(args)) => {
                float = Some(self.terms.call(&format!("call_{name}"), 128, args));
            }
            (effect @ (Effect::Reads | Effect::Writes), Some(name), Some(args)) if !self.memory.version.is_lost() => {
                let number = self.memory.calls.len() as u32;
                let before = (self.memory.version, self.memory.stores.clone());
                self.memory.calls.push(Call { name: name.to_owned(), args, before });
                if *effect == Effect::Writes {
                    self.memory.version = Version::Call(number);
                    self.memory.stores.clear();
                    self.memory.errno = false;
                }
                integer = Some(self.terms.var(64, &format!("answer{number}")));
                float = Some(self.terms.var(128, &format!("answer{number}_x")));
            }
            (Effect::Reads | Effect::Function, ..) => {}
            _ => self.memory.lose(&mut self.terms),
        }
        self.memory.errno |= site.effect != Effect::Writes && site.name.is_none_or(library::may_set_errno);
        if self.layout.exposure == Exposure::Exposed && site.effect == Effect::Writes {
            self.lose_frame(None);
        }
        // The callee's own frame.
        let stack = self.get(Place::Gpr(RSP));
        let low = self.frame_offset(stack);
        self.frame.lose(&mut self.terms, i64::MIN / 2, low.unwrap_or(i64::MAX / 2));
        for n in [0u8, 1, 2, 6, 7, 8, 9, 10, 11] {
            let value = integer.take().unwrap_or_else(|| self.terms.fresh(64));
            self.places.insert(Place::Gpr(n), value);
        }
        for n in 0..16 {
            let value = float.take().unwrap_or_else(|| self.terms.fresh(128));
            self.places.insert(Place::Xmm(n), value);
        }
        for flag in crate::algebra::Flag::ALL {
            let value = self.terms.fresh(1);
            self.places.insert(Place::Flag(flag), value);
        }
    }

    /// The terms that arguments are passed in; `None` when some are passed on the stack.
    fn arguments(&mut self, list: &[Argument]) -> Option<Vec<Term>> {
        let (mut integers, mut floats) = ([7u8, 6, 2, 1, 8, 9].into_iter(), 0..8u8);
        let mut terms = Vec::new();
        for argument in list {
            let (place, bytes) = match argument {
                Argument::Integer(bytes) => (Place::Gpr(integers.next()?), *bytes),
                Argument::Float(bytes) => (Place::Xmm(floats.next()?), *bytes),
            };
            let full = self.get(place);
            terms.push(self.terms.extract(full, 0, bytes * 8));
        }
        Some(terms)
    }

    /// Moves the stack pointer.
    pub fn move_stack(&mut self, by: i64) {
        let stack = self.get(Place::Gpr(RSP));
        let k = self.terms.constant(64, u128::from(by as u64));
        let moved = self.terms.bin(Bin::Add, stack, k);
        self.places.insert(Place::Gpr(RSP), moved);
    }
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
    fn load(&mut self, address: &Term, bytes: u32) -> Result<Term, AccessFault> {
        Ok(match self.place_of(*address) {
            Where::Frame(offset) => self.frame_value(offset, bytes),
            Where::Shared => self.load_shared(*address, bytes),
            Where::Indexed(_) | Where::Anywhere => self.terms.fresh(bytes * 8),
        })
    }
    fn store(&mut self, address: &Term, value: &Term) -> Result<(), AccessFault> {
        match self.place_of(*address) {
            Where::Frame(offset) => self.frame.write(&mut self.terms, offset, *value),
            Where::Indexed(from) => self.lose_frame(Some(from)),
            Where::Shared => self.store_shared(*address, *value),
            Where::Anywhere => {
                self.lose_frame(None);
                self.memory.lose(&mut self.terms);
            }
        }
        Ok(())
    }
    fn link_address(&mut self, address: u64) -> Term {
        let address = self.moved(address);
        let (base, k) = (self.base(address), self.terms.constant(64, u128::from(address)));
        self.terms.bin(Bin::Add, base, k)
    }
    fn absolute(&mut self, width: u32, value: u64) -> Term {
        if width < 32 || !self.layout.own.iter().any(|(low, high)| value >= *low && value < *high) {
            return self.terms.constant(width, u128::from(value));
        }
        let address = self.link_address(value);
        self.terms.extract(address, 0, width)
    }
    fn thread_base(&mut self) -> Term {
        match self.layout.threads {
            Threads::Alike => self.terms.var(64, "fs"),
            Threads::Apart => self.terms.var(64, &format!("fs_{}", self.side)),
        }
    }
}

/// What an entry of a table of jump targets is called.
fn entry_name(table: usize) -> String {
    format!("target{table}")
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
