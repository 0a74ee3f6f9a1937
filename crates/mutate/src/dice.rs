//! Random choices. Built on the raw words of ChaCha alone, so that no release of a random-number crate
//! can change what a seed means.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of choices.
#[derive(Clone, Debug)]
pub struct MutationDice(ChaCha8Rng);

impl MutationDice {
    /// The stream of a seed and a purpose: streams of different purposes do not influence one another.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&purpose.to_le_bytes());
        Self(ChaCha8Rng::from_seed(bytes))
    }

    /// A random word of 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    /// Heads or tails with equal chances.
    pub fn flip(&mut self) -> bool {
        self.word() >> 63 == 1
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        ((self.word() >> 11) as f64) < p * (1u64 << 53) as f64
    }

    /// One of them, `None` of none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len())) }
    }

    /// Puts them in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `n` different ones of them (all, when there are fewer), in random order.
    pub fn sample<T: Clone>(&mut self, items: &[T], n: usize) -> Vec<T> {
        let mut all = items.to_vec();
        self.shuffle(&mut all);
        all.truncate(n);
        all
    }
}
