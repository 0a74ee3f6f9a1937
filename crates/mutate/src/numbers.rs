//! Sets of numbers: the few that were seen, or all that lie in an interval and on a congruence.
//!
//! A loop counter has more values than are worth listing, yet `0 … 999 in steps of 3` says nearly all about it. Every operation here
//! may answer with more numbers than there are, and never with fewer; `None` means that some pair makes the operation
//! undefined, or that the answer would say nothing. Deliberately absent: types beyond their ranges, and how C converts.

use std::collections::BTreeSet;

/// Listed numbers at most; more become a progression.
pub(crate) const MOST_LISTED: usize = 64;

/// Numbers that an integer can have, never none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownNumbers {
    /// One of these numbers and no other.
    Listed(BTreeSet<i128>),
    /// Some or all of these.
    Spaced(Progression),
}

/// The numbers from `low` to `high` in steps; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progression {
    /// The smallest number that it can be.
    pub low: i128,
    /// The largest number that it can be.
    pub high: i128,
    /// The distance of neighbours; 0 when there is one number.
    pub step: i128,
}

/// The greatest common divisor, never negative.
pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

impl Progression {
    /// From `low` to at most `high` in steps.
    pub fn new(low: i128, high: i128, step: i128) -> Self {
        let step = step.abs();
        if step == 0 || high <= low {
            return Self { low, high: low, step: 0 };
        }
        let high = low + (high - low) / step * step;
        Self { low, high, step: if high == low { 0 } else { step } }
    }

    /// The only number, when there is one.
    pub fn single(self) -> Option<i128> {
        (self.low == self.high).then_some(self.low)
    }

    /// Whether a number belongs to it.
    pub fn contains(self, n: i128) -> bool {
        self.low <= n && n <= self.high && (self.step == 0 || (n - self.low) % self.step == 0)
    }

    /// Whether no number belongs to both.
    fn is_apart_from(self, other: Self) -> bool {
        let grid = gcd(self.step, other.step);
        self.high < other.low || other.high < self.low || (grid > 1 && (self.low - other.low) % grid != 0)
    }

    /// The same numbers, all moved and scaled; ends change places when the factor is negative.
    fn scaled(self, factor: i128, offset: i128) -> Option<Self> {
        let at = |n: i128| n.checked_mul(factor)?.checked_add(offset);
        let (a, b) = (at(self.low)?, at(self.high)?);
        Some(Self::new(a.min(b), a.max(b), self.step.checked_mul(factor)?))
    }

    pub(crate) fn negated(self) -> Option<Self> {
        self.scaled(-1, 0)
    }

    /// `!n` of every number of a signed type is `-n - 1`; of an unsigned one `largest - n`.
    pub(crate) fn complemented(self, largest: Option<i128>) -> Option<Self> {
        self.scaled(-1, largest.unwrap_or(-1))
    }

    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let (low, high) = (self.low.checked_add(other.low)?, self.high.checked_add(other.high)?);
        Some(Self::new(low, high, gcd(self.step, other.step)))
    }

    pub(crate) fn times(self, other: Self) -> Option<Self> {
        let ends = [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        let products: Vec<i128> = ends.into_iter().map(|(a, b)| a.checked_mul(b)).collect::<Option<_>>()?;
        let (low, high) = (*products.iter().min()?, *products.iter().max()?);
        let steps = [(self.low, other.step), (other.low, self.step), (self.step, other.step)];
        let step = steps.into_iter().map(|(a, b)| a.checked_mul(b)).try_fold(0, |all, part| Some(gcd(all, part?)))?;
        Some(Self::new(low, high, step))
    }

    /// Division by one number, which rounds to zero and so keeps the order.
    pub(crate) fn divided_by(self, by: i128) -> Option<Self> {
        let (a, b) = (self.low.checked_div(by)?, self.high.checked_div(by)?);
        let is_exact = self.low % by == 0 && self.step % by == 0;
        Some(Self::new(a.min(b), a.max(b), if is_exact { self.step / by } else { 1 }))
    }

    /// The remainder by one number.
    pub(crate) fn modulo(self, by: i128) -> Option<Self> {
        let size = by.checked_abs().filter(|size| *size > 0)?;
        if self.low < 0 {
            return Some(if self.low > -size && self.high < size { self } else { Self::new(1 - size, size - 1, 1) });
        }
        if self.high < size {
            return Some(self);
        }
        let grid = gcd(self.step, size);
        Some(if grid == 0 { Self::new(self.low % size, self.low % size, 0) } else { Self::new(self.low % grid, size - 1, grid) })
    }

    /// Both sides' common bits, for numbers that are not negative.
    pub(crate) fn masked(self, other: Self) -> Option<Self> {
        if self.low < 0 || other.low < 0 {
            return None;
        }
        // The mask of the low bits is a remainder, which knows more.
        match (self.single(), other.single()) {
            (_, Some(mask)) if (mask + 1) & mask == 0 => self.modulo(mask + 1),
            (Some(mask), _) if (mask + 1) & mask == 0 => other.modulo(mask + 1),
            _ => Some(Self::new(0, self.high.min(other.high), 1)),
        }
    }

    /// All bits of both sides, or those of one alone, for numbers that are not negative.
    pub(crate) fn joined(self, other: Self) -> Option<Self> {
        if self.low < 0 || other.low < 0 {
            return None;
        }
        let most = self.high.max(other.high);
        let bits = 128 - most.leading_zeros();
        Some(Self::new(0, if bits >= 126 { return None } else { (1i128 << bits) - 1 }, 1))
    }

    pub(crate) fn shifted_right(self, by: u32) -> Self {
        let keeps_grid = self.step & ((1i128 << by) - 1) == 0;
        Self::new(self.low >> by, self.high >> by, if keeps_grid { self.step >> by } else { 1 })
    }

    /// What is left of the numbers in a type of so many numbers from `least` on: themselves where they fit, otherwise those with the
    /// same remainder, as conversions keep it.
    pub(crate) fn wrapped(self, least: i128, most: i128) -> Self {
        if least <= self.low && self.high <= most {
            return self;
        }
        let size = most - least + 1;
        let grid = gcd(self.step, size);
        let first = if grid == 0 {
            return Self::new((self.low - least).rem_euclid(size) + least, least, 0);
        } else {
            (self.low - least).rem_euclid(grid) + least
        };
        Self::new(first, most, grid)
    }

    /// What `<` says of the two: one answer or none.
    pub(crate) fn is_less(self, other: Self) -> Option<bool> {
        if self.high < other.low {
            Some(true)
        } else if self.low >= other.high {
            Some(false)
        } else {
            None
        }
    }

    /// What `==` says of the two.
    pub(crate) fn is_equal(self, other: Self) -> Option<bool> {
        if self.is_apart_from(other) {
            Some(false)
        } else if self.single().is_some() && self.single() == other.single() {
            Some(true)
        } else {
            None
        }
    }
}

impl KnownNumbers {
    /// The set that holds one number only.
    pub fn one(n: i128) -> Self {
        Self::Listed(BTreeSet::from([n]))
    }

    /// The numbers of a progression, listed when they are few.
    pub fn spaced(all: Progression) -> Self {
        let count = if all.step == 0 { 1 } else { (all.high - all.low) / all.step + 1 };
        if count <= MOST_LISTED as i128 {
            return Self::Listed((0..count).map(|k| all.low + k * all.step).collect());
        }
        Self::Spaced(all)
    }

    /// What one comparison says, or both answers.
    pub(crate) fn answer(known: Option<bool>) -> Self {
        match known {
            Some(truth) => Self::one(i128::from(truth)),
            None => Self::Listed(BTreeSet::from([0, 1])),
        }
    }

    /// The progression that holds all of them.
    pub fn hull(&self) -> Progression {
        match self {
            Self::Listed(all) => {
                let low = all.first().copied().unwrap_or(0);
                let step = all.iter().fold(0, |step, n| gcd(step, n - low));
                Progression::new(low, all.last().copied().unwrap_or(low), step)
            }
            Self::Spaced(all) => *all,
        }
    }

    /// Whether a number is among them.
    pub fn contains(&self, n: i128) -> bool {
        match self {
            Self::Listed(all) => all.contains(&n),
            Self::Spaced(all) => all.contains(n),
        }
    }

    /// The single truth value, when all agree.
    pub fn truth(&self) -> Option<bool> {
        if !self.contains(0) {
            return Some(true);
        }
        (self.hull().single() == Some(0)).then_some(false)
    }

    /// Each of them, where they are listed.
    pub fn listed(&self) -> Option<&BTreeSet<i128>> {
        match self {
            Self::Listed(all) => Some(all),
            Self::Spaced(_) => None,
        }
    }

    /// The number that a draw of 64 bits stands for.
    pub(crate) fn pick(&self, word: u64) -> i128 {
        match self {
            Self::Listed(all) => {
                let at = (u128::from(word) * all.len() as u128) >> 64;
                all.iter().nth(at as usize).copied().unwrap_or_default()
            }
            Self::Spaced(all) => {
                let count = (all.high - all.low) / all.step.max(1) + 1;
                all.low + i128::from(word) % count * all.step
            }
        }
    }
}

impl FromIterator<i128> for KnownNumbers {
    fn from_iter<I: IntoIterator<Item = i128>>(numbers: I) -> Self {
        Self::Listed(numbers.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small progressions of all kinds: negative, crossing zero, single, wide steps.
    fn samples() -> Vec<Progression> {
        let mut all = Vec::new();
        for low in [-17, -3, 0, 1, 6, 40] {
            for length in [0, 1, 4] {
                for step in [1, 2, 5, 12] {
                    all.push(Progression::new(low, low + length * step, step));
                }
            }
        }
        all
    }

    fn members(p: Progression) -> Vec<i128> {
        if p.step == 0 { vec![p.low] } else { (0..=(p.high - p.low) / p.step).map(|k| p.low + k * p.step).collect() }
    }

    #[test]
    fn no_operation_forgets_a_number_that_there_is() {
        for a in samples() {
            let has = |made: Option<Progression>, f: &dyn Fn(i128) -> i128, name: &str| {
                let Some(made) = made else { return };
                members(a).into_iter().for_each(|x| assert!(made.contains(f(x)), "{name} of {x} in {a:?}: {made:?}"));
            };
            has(a.negated(), &|x| -x, "minus");
            has(a.complemented(None), &|x| !x, "complement");
            for by in [-7, -1, 1, 2, 3, 8, 12] {
                has(a.divided_by(by), &|x| x / by, "division");
                has(a.modulo(by), &|x| x % by, "remainder");
            }
            for by in [0, 1, 3] {
                has(Some(a.shifted_right(by)), &|x| x >> by, "shift");
            }
            has(Some(a.wrapped(0, 15)), &|x| x.rem_euclid(16), "conversion to four bits");
            has(Some(a.wrapped(-8, 7)), &|x| (x + 8).rem_euclid(16) - 8, "conversion to four signed bits");
        }
    }

    #[test]
    fn no_operation_on_two_forgets_a_pair() {
        type Abstract = fn(Progression, Progression) -> Option<Progression>;
        type Concrete = fn(i128, i128) -> i128;
        let operations: [(&str, Abstract, Concrete); 5] = [
            ("sum", Progression::plus, |x, y| x + y),
            ("product", Progression::times, |x, y| x * y),
            ("and", Progression::masked, |x, y| x & y),
            ("or", Progression::joined, |x, y| x | y),
            ("xor", Progression::joined, |x, y| x ^ y),
        ];
        for a in samples() {
            for b in samples() {
                for (x, y) in members(a).into_iter().flat_map(|x| members(b).into_iter().map(move |y| (x, y))) {
                    for (name, whole, one) in operations {
                        if let Some(made) = whole(a, b) {
                            assert!(made.contains(one(x, y)), "{name} of {x} and {y} in {a:?}, {b:?}: {made:?}");
                        }
                    }
                    assert!(a.is_less(b).is_none_or(|said| said == (x < y)), "{x} < {y} in {a:?}, {b:?}");
                    assert!(a.is_equal(b).is_none_or(|said| said == (x == y)), "{x} == {y} in {a:?}, {b:?}");
                }
            }
        }
    }

    #[test]
    fn a_counter_in_steps_of_three_is_never_a_number_in_between() {
        let counter = KnownNumbers::spaced(Progression::new(0, 2997, 3));
        assert!(counter.contains(2997) && !counter.contains(2998) && !counter.contains(1000));
        assert_eq!(counter.hull().is_equal(Progression::new(1000, 1000, 0)), Some(false));
        assert_eq!(counter.hull().modulo(3), Some(Progression::new(0, 0, 0)));
        assert_eq!(counter.truth(), None);
    }
}
