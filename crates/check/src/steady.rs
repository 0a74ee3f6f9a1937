//! Programs that print something else each time: a duration, a date, an address.
//!
//! Where both builds of a pair print different things, the -O0 build is run again. Lines that its own runs do not agree on say
//! nothing about the other build, and where there are such lines, neither do those that the other build's runs do not agree on.

use crate::plain::Behaviour;
use std::collections::BTreeSet;

/// What of the output could not be held against the -O0 build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// So many lines.
    Lines(usize),
    /// All of it: the runs at -O0 do not even print as many lines.
    Everything,
}

/// Whether two builds behave alike but for what differs between runs of one build; none where they do not, or where the runs
/// at -O0 agree.
pub(crate) fn alike_but_for(reference: &[&Behaviour], optimized: &[&Behaviour]) -> Option<LeftOut> {
    let code = reference.first()?.code;
    if reference.iter().chain(optimized).any(|b| b.code != code) {
        return None;
    }
    let at_o0 = Disagreement::of(reference);
    let lines = match at_o0 {
        Disagreement::Length => return Some(LeftOut::Everything),
        Disagreement::Lines(lines) if lines.is_empty() => return None,
        Disagreement::Lines(lines) => lines,
    };
    let Disagreement::Lines(others) = Disagreement::of(optimized) else { return None };
    let left_out: BTreeSet<usize> = lines.union(&others).copied().collect();
    let (mine, theirs) = (lines_of(reference[0]), lines_of(optimized.first()?));
    let alike = mine.len() == theirs.len() && mine.iter().zip(&theirs).enumerate().all(|(i, (a, b))| a == b || left_out.contains(&i));
    alike.then_some(LeftOut::Lines(left_out.len()))
}

/// What runs of one build do not agree on.
enum Disagreement {
    /// The numbers of these lines, from 0.
    Lines(BTreeSet<usize>),
    /// How many lines there are.
    Length,
}

impl Disagreement {
    fn of(runs: &[&Behaviour]) -> Self {
        let all: Vec<Vec<&[u8]>> = runs.iter().map(|b| lines_of(b)).collect();
        let Some((first, rest)) = all.split_first() else { return Self::Lines(BTreeSet::new()) };
        if rest.iter().any(|lines| lines.len() != first.len()) {
            return Self::Length;
        }
        Self::Lines((0..first.len()).filter(|&i| rest.iter().any(|lines| lines[i] != first[i])).collect())
    }
}

fn lines_of(behaviour: &Behaviour) -> Vec<&[u8]> {
    behaviour.output.split(|b| *b == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use trueline_toolchain::Launch;

    fn printed(output: &str, code: i32) -> Behaviour {
        Behaviour { code, output: output.as_bytes().to_vec(), cpu: Duration::ZERO, launch: Launch::default() }
    }

    #[test]
    fn a_duration_is_left_out_and_a_result_is_not() {
        let [a, b] = [printed("sum 4\ntook 3 ms\n", 0), printed("sum 4\ntook 5 ms\n", 0)];
        let [good, bad, died] = [printed("sum 4\ntook 1 ms\n", 0), printed("sum 5\ntook 1 ms\n", 0), printed("sum 4\ntook 1 ms\n", 1)];
        assert_eq!(alike_but_for(&[&a, &b], &[&good, &good]), Some(LeftOut::Lines(1)));
        assert_eq!(alike_but_for(&[&a, &b], &[&bad, &bad]), None, "another result is wrong code");
        assert_eq!(alike_but_for(&[&a, &b], &[&died, &died]), None, "so is another end");
        assert_eq!(alike_but_for(&[&a, &a], &[&good, &good]), None, "-O0 agrees with itself");
    }

    #[test]
    fn a_build_that_alone_prints_something_else_each_time_is_not_excused() {
        let [steady, one, other] = [printed("4\n", 0), printed("17\n", 0), printed("23\n", 0)];
        assert_eq!(alike_but_for(&[&steady, &steady], &[&one, &other]), None);
    }

    #[test]
    fn output_of_another_length_each_time_leaves_the_exit_code() {
        let [a, b] = [printed("1\n", 0), printed("1\n2\n", 0)];
        assert_eq!(alike_but_for(&[&a, &b], &[&a, &a]), Some(LeftOut::Everything));
    }
}
