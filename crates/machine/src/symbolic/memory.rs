//! Memory that both builds share: one flat space, what it held at the start under an uninterpreted function, and the
//! stores since, laid over it by byte ranges.

use super::call::Call;
use crate::algebra::Bin;
use crate::term::{Term, Terms};

/// Which contents lie under the stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Those of the correlated point: the same in both builds.
    #[default]
    Start,
    /// Those that an outside call left, by its number: the same in both builds when the calls are.
    Call(u32),
    /// Nobody knows which.
    Lost(u32),
}

impl Version {
    /// True when nothing can be compared with it any more.
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Lost(_))
    }

    fn name(self, bytes: u32) -> String {
        match self {
            Self::Start => format!("memory{bytes}"),
            Self::Call(n) => format!("memory{bytes}_after{n}"),
            Self::Lost(n) => format!("memory{bytes}_lost{n}"),
        }
    }
}

/// A store: where and what, under a guard where paths were joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// When it was made.
    pub guard: Term,
    /// The address of its first byte.
    pub address: Term,
    /// What was stored.
    pub value: Term,
}

/// Shared memory as a path has left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What lies under the stores.
    pub version: Version,
    /// Stores since then, in order.
    pub stores: Vec<Store>,
    /// Outside calls since the start, in order.
    pub calls: Vec<Call>,
    /// Whether a function of the library that writes nothing else may have written `errno`.
    pub errno: bool,
}

impl Memory {
    /// Adds a store; one that it overwrites whole is forgotten.
    pub fn store(&mut self, terms: &mut Terms, address: Term, value: Term) {
        let guard = terms.constant(1, 1);
        let width = terms.width(value);
        self.stores.retain(|s| s.address != address || terms.width(s.value) != width);
        self.stores.push(Store { guard, address, value });
    }

    /// Something unknown was stored somewhere unknown.
    pub fn lose(&mut self, terms: &mut Terms) {
        self.version = Version::Lost(terms.unique());
        self.stores.clear();
        self.errno = false;
    }

    /// Memory where two paths meet: the other's under the condition, ours else.
    pub fn join(&mut self, terms: &mut Terms, condition: Term, other: &Self) {
        self.errno |= other.errno;
        if self.version != other.version || self.calls != other.calls {
            self.lose(terms);
            return;
        }
        if self.stores == other.stores {
            return;
        }
        let common = self.stores.iter().zip(&other.stores).take_while(|(a, b)| a == b).count();
        let not = terms.not(condition);
        for store in self.stores.iter_mut().skip(common) {
            store.guard = terms.and(store.guard, not);
        }
        for store in &other.stores[common..] {
            let guard = terms.and(store.guard, condition);
            self.stores.push(Store { guard, ..*store });
        }
        self.stores.retain(|s| terms.value(s.guard) != Some(0));
    }
}

/// How a load lies to a store.
enum Overlap {
    None,
    /// The load begins so many bytes after the store does; they share some.
    Known(i64),
    /// It depends.
    Open(Term),
}

fn overlap(terms: &mut Terms, store: &Store, address: Term, bytes: u32) -> Overlap {
    let stored = i128::from(terms.width(store.value) / 8);
    let distance = terms.bin(Bin::Sub, address, store.address);
    if let Some(d) = terms.value(distance) {
        let d = d as u64 as i64;
        return if i128::from(d) >= stored || i128::from(d) <= -i128::from(bytes) { Overlap::None } else { Overlap::Known(d) };
    }
    // Accesses stay in their objects, and those of different parts of an object file do not overlap.
    if let (Some(a), Some(b)) = (terms.owner(store.address), terms.owner(address))
        && a != b
    {
        return Overlap::None;
    }
    match terms.interval(distance) {
        Some((low, high)) if low >= stored || high <= -i128::from(bytes) => Overlap::None,
        _ => Overlap::Open(distance),
    }
}

/// The contents of some bytes.
pub fn read(terms: &mut Terms, version: Version, stores: &[Store], address: Term, bytes: u32) -> Term {
    let mut value = terms.call(&version.name(bytes), bytes * 8, vec![address]);
    for store in stores {
        let stored = terms.width(store.value) / 8;
        match overlap(terms, store, address, bytes) {
            Overlap::None => {}
            Overlap::Known(d) => {
                let new = lay_over(terms, value, bytes, store.value, stored, d);
                value = terms.ite(store.guard, new, value);
            }
            Overlap::Open(distance) => {
                let zero = terms.constant(64, 0);
                let same = terms.bin(Bin::Eq, distance, zero);
                let mut new = value;
                let whole = bytes == stored;
                // Overlapping without being the same: possible unless both are laid out in steps of their size.
                if !(whole && terms.is_multiple(distance, bytes)) {
                    let k = terms.constant(64, u128::from(bytes - 1));
                    let shifted = terms.bin(Bin::Add, distance, k);
                    let reach = terms.constant(64, u128::from(bytes + stored - 1));
                    let near = terms.bin(Bin::Ult, shifted, reach);
                    let mixed = terms.call(&format!("mixed{bytes}_{stored}"), bytes * 8, vec![distance, store.value, value]);
                    new = terms.ite(near, mixed, new);
                }
                if whole {
                    new = terms.ite(same, store.value, new);
                }
                value = terms.ite(store.guard, new, value);
            }
        }
    }
    value
}

/// The bytes of `old` with those of a store laid over them; the load begins `d` bytes after the store.
fn lay_over(terms: &mut Terms, old: Term, bytes: u32, stored_value: Term, stored: u32, d: i64) -> Term {
    let (from, to) = ((-d).max(0) as u32, (i64::from(stored) - d).min(i64::from(bytes)) as u32);
    let skip = (i64::from(from) + d) as u32;
    let mut value = terms.extract(stored_value, skip * 8, (to - from) * 8);
    if from > 0 {
        let low = terms.extract(old, 0, from * 8);
        value = terms.concat(value, low);
    }
    if to < bytes {
        let high = terms.extract(old, to * 8, (bytes - to) * 8);
        value = terms.concat(high, value);
    }
    value
}

/// The claim that two memories are the same, the calls that led to them included; `None` when that cannot be shown.
pub fn same(terms: &mut Terms, a: &Memory, b: &Memory) -> Option<Term> {
    if a.version != b.version || a.version.is_lost() || a.calls.len() != b.calls.len() {
        return None;
    }
    let mut parts = Vec::new();
    for (x, y) in a.calls.iter().zip(&b.calls) {
        if x.name != y.name || x.args.len() != y.args.len() || x.before.0 != y.before.0 {
            return None;
        }
        for (p, q) in x.args.iter().zip(&y.args) {
            if terms.width(*p) != terms.width(*q) {
                return None;
            }
            parts.push(terms.bin(Bin::Eq, *p, *q));
        }
        same_stores(terms, x.before.0, &x.before.1, &y.before.1, &mut parts);
    }
    same_stores(terms, a.version, &a.stores, &b.stores, &mut parts);
    let claim = terms.conjunction(&parts);
    (terms.value(claim) != Some(0)).then_some(claim)
}

/// Whatever either list stores is the same in the end: then everything is, since the rest is what it was.
fn same_stores(terms: &mut Terms, version: Version, a: &[Store], b: &[Store], parts: &mut Vec<Term>) {
    if a == b {
        return;
    }
    for store in a.iter().chain(b) {
        let bytes = terms.width(store.value) / 8;
        let (x, y) = (read(terms, version, a, store.address, bytes), read(terms, version, b, store.address, bytes));
        let equal = terms.bin(Bin::Eq, x, y);
        let not = terms.not(store.guard);
        let part = terms.either(not, equal);
        parts.push(part);
        if terms.value(part) == Some(0) {
            return;
        }
    }
}
