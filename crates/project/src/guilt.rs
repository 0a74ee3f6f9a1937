//! The objects that must be optimized for a fault to show, by halving.

/// The smallest set that halving finds of which `shows` still says yes, given that it says yes of all. Where neither half
/// shows it alone, both are needed: one is halved beside the whole other. A single guilty one of n takes at most 2·log2(n)
/// questions.
pub fn find_guilty<T: Clone, E>(all: &[T], shows: &mut impl FnMut(&[T]) -> Result<bool, E>) -> Result<Vec<T>, E> {
    halve(all, &[], shows)
}

fn halve<T: Clone, E>(candidates: &[T], beside: &[T], shows: &mut impl FnMut(&[T]) -> Result<bool, E>) -> Result<Vec<T>, E> {
    if candidates.len() < 2 {
        return Ok(candidates.to_vec());
    }
    let (first, second) = candidates.split_at(candidates.len() / 2);
    for half in [first, second] {
        if shows(&[beside, half].concat())? {
            return halve(half, beside, shows);
        }
    }
    let mut needed = halve(first, &[beside, second].concat(), shows)?;
    let rest = halve(second, &[beside, &needed].concat(), shows)?;
    needed.extend(rest);
    Ok(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(count: u32, guilty: &[u32]) -> (Vec<u32>, u32) {
        let all: Vec<u32> = (0..count).collect();
        let mut asked = 0;
        let mut shows = |set: &[u32]| {
            asked += 1;
            Ok::<bool, ()>(guilty.iter().all(|g| set.contains(g)))
        };
        let mut found = find_guilty(&all, &mut shows).unwrap();
        found.sort_unstable();
        (found, asked)
    }

    #[test]
    fn one_of_forty_is_found_within_twice_the_logarithm() {
        for guilty in 0..40 {
            let (found, asked) = search(40, &[guilty]);
            assert_eq!(found, [guilty]);
            assert!(asked <= 12, "{asked} questions for {guilty}");
        }
    }

    #[test]
    fn two_that_only_together_show_it_are_both_found() {
        for (a, b) in [(0, 39), (3, 4), (10, 30), (18, 21)] {
            assert_eq!(search(40, &[a, b]).0, [a, b]);
        }
    }
}
