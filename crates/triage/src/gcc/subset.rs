//! A smallest set of switches that hides a fault.

/// What switching off a set does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The fault is gone.
    Hides,
    /// It is still there, or the build says nothing.
    Keeps,
}

/// Shrinks `start`, which hides the fault, to a set from which no single element can be left out.
///
/// The shortest prefix that still hides it (found by bisection, two cuts at a time) ends in an element that
/// is needed; that one is kept, and the search goes on in what is before it. Each needed element costs
/// `2·log3(n) + 1` tests, where classical delta debugging pays for every element that is not needed.
/// `test` judges several candidates at once; `budget` bounds how many it is asked in all, and when it runs
/// out the best set so far is returned together with `false`.
pub(super) fn shrink<T: Clone, E>(
    start: Vec<T>,
    mut budget: usize,
    mut test: impl FnMut(&[Vec<T>]) -> Result<Vec<Effect>, E>,
) -> Result<(Vec<T>, bool), E> {
    let mut needed: Vec<T> = Vec::new();
    let mut rest = start;
    while !rest.is_empty() {
        // `rest[..keeps]` with the needed ones does not hide it, `rest[..hides]` does.
        let (mut keeps, mut hides) = (None, rest.len());
        while keeps.map_or(hides > 0, |k: usize| hides - k > 1) {
            let low = keeps.map_or(0, |k| k + 1);
            let gap = hides - low;
            let mut cuts = if keeps.is_none() && !needed.is_empty() { vec![0, gap / 2] } else { vec![low + gap / 3, low + 2 * gap / 3] };
            // Nothing needed yet: the empty set is known to keep the fault.
            cuts.retain(|cut| *cut < hides && !(needed.is_empty() && *cut == 0));
            cuts.dedup();
            if cuts.is_empty() {
                break;
            }
            if budget < cuts.len() {
                needed.extend(rest.into_iter().take(hides));
                return Ok((needed, false));
            }
            budget -= cuts.len();
            let candidates: Vec<Vec<T>> = cuts.iter().map(|cut| needed.iter().chain(&rest[..*cut]).cloned().collect()).collect();
            for (cut, effect) in cuts.into_iter().zip(test(&candidates)?) {
                match effect {
                    Effect::Hides => {
                        hides = cut;
                        break;
                    }
                    Effect::Keeps => keeps = Some(cut),
                }
            }
        }
        rest.truncate(hides);
        match rest.pop() {
            Some(last) => needed.push(last),
            None => break,
        }
    }
    needed.reverse();
    Ok((needed, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u32, needed: &[u32]) -> (Vec<u32>, usize) {
        let mut asked = 0;
        let test = |batch: &[Vec<u32>]| -> Result<Vec<Effect>, ()> {
            asked += batch.len();
            let hides = |set: &Vec<u32>| needed.iter().all(|x| set.contains(x));
            Ok(batch.iter().map(|set| if hides(set) { Effect::Hides } else { Effect::Keeps }).collect())
        };
        let (set, minimal) = shrink((0..n).collect(), 1000, test).unwrap();
        assert!(minimal);
        (set, asked)
    }

    #[test]
    fn a_single_switch_is_found_in_logarithmic_time() {
        let (set, asked) = run(200, &[137]);
        assert_eq!(set, [137]);
        assert!(asked <= 16, "{asked}");
    }

    #[test]
    fn five_switches_that_only_together_hide_it_still_fit_into_a_search() {
        let (set, asked) = run(230, &[3, 20, 90, 137, 229]);
        assert_eq!(set, [3, 20, 90, 137, 229]);
        assert!(asked <= 70, "{asked}");
    }

    #[test]
    fn a_pair_is_found_within_the_promised_number_of_builds() {
        let (set, asked) = run(200, &[20, 137]);
        assert_eq!(set, [20, 137]);
        assert!(asked <= 40, "{asked}");
    }
}
