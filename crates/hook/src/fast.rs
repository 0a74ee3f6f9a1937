//! Hash tables for addresses. The standard hasher guards against chosen keys, which costs more than the whole
//! event; addresses of our own process need no such guard.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map with the fast hasher.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;
/// A set with the fast hasher.
pub type FastSet<K> = HashSet<K, BuildHasherDefault<Mixer>>;

/// Multiplies and rotates.
#[derive(Clone, Copy, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}
