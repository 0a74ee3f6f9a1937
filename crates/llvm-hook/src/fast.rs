//! Hash tables for addresses, and what tells blocks and locations apart quickly. The standard hasher guards against chosen keys,
//! which costs more than the whole event; addresses of our own process need no such guard.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map with the fast hasher.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;
/// A set with the fast hasher.
pub type FastSet<K> = HashSet<K, BuildHasherDefault<Mixer>>;

/// A hasher that multiplies and rotates, for keys that are addresses.
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

/// Tells long sequences of words apart, which agree by chance once in 2⁶⁴ times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Fingerprint {
    /// Takes in a word: both halves of a wide product depend on all of its bits.
    pub fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0xd6e8_feb8_6659_fd93;
        self.0 = (product as u64 ^ (product >> 64) as u64).rotate_left(23);
    }
}

/// Remembers the addresses seen last, each in a place of its own: neighbours mostly share few.
pub struct Recent([u64; 256]);

impl Default for Recent {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl Recent {
    /// Whether the address was seen lately; from now on it was.
    pub fn saw(&mut self, at: u64) -> bool {
        std::mem::replace(&mut self.0[(at >> 4) as usize % 256], at) == at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(words: &[u64]) -> Fingerprint {
        let mut print = Fingerprint::default();
        words.iter().for_each(|word| print.word(*word));
        print
    }

    #[test]
    fn fingerprints_of_all_short_sequences_of_near_addresses_differ() {
        let near: Vec<u64> = (0..40).map(|i| 0x5555_5560_0000 + 16 * i).chain(0..8).collect();
        let mut seen = std::collections::HashSet::new();
        for a in &near {
            assert!(seen.insert(print(&[*a]).0));
            for b in &near {
                assert!(seen.insert(print(&[*a, *b]).0));
                for c in &near {
                    assert!(seen.insert(print(&[*a, *b, *c]).0), "{a:#x} {b:#x} {c:#x}");
                }
            }
        }
    }

    #[test]
    fn an_address_was_seen_until_another_takes_its_place() {
        let mut recent = Recent::default();
        assert!(!recent.saw(0x1000));
        assert!(recent.saw(0x1000));
        assert!(!recent.saw(0x2000));
        assert!(!recent.saw(0x1000));
    }
}
