//! Compares what gdb shows of the repaired build with what the -O0 build has at the one matching moment.
//!
//! A moment of the source is an arrival at a line of a function in the -O0 build, before that line's effects. The moments that a
//! stop may stand for are those with the stop's function and line and with equal shared memory, the round included. The rules, in their order:
//!
//! | rule | verdict |
//! |---|---|
//! | there is no such moment | not judged |
//! | the variable has no defined value at one of them (nobody wrote it; its declaration is not yet passed) | not judged |
//! | the value belongs to none of them, and the stop is arrived at no more often than there are moments | wrong |
//! | the value belongs to none of them, and the stop is arrived at more often | not judged |
//! | it is the value of all of them | right |
//! | as many arrivals at the PC as moments: the n-th arrival is the n-th moment | right or wrong |
//! | anything else | not judged |
//!
//! So nothing that is ambiguous counts as right, and nothing counts as wrong for want of a moment.

use crate::gdb::{GdbStop, PATTERN};
use crate::repaired::{Index, LocationLabel};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// Why a value was not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unjudged {
    /// The -O0 build never comes to this line with this memory.
    NoMoment,
    /// The stop is arrived at more often than the source comes to the line with this memory.
    MoreArrivals,
    /// Several moments with different values.
    Ambiguous,
    /// The source has no defined value at the moment.
    Indefinite,
    /// An address that the two builds have no common name for.
    Address,
    /// gdb shows nothing although there is a new location.
    Unreadable,
    /// The variable stands in two frames of one stop.
    TwoInstances,
}

/// What became of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueVerdict {
    /// It is the source's.
    Right,
    /// It is not.
    Wrong {
        /// What the source has at the moment, or at the moments.
        expected: BTreeSet<String>,
    },
    /// It cannot be said.
    NotJudged(Unjudged),
}

/// One value at one stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedShown {
    /// Where.
    pub pc: u64,
    /// The function gdb names.
    pub function: String,
    /// The line gdb names.
    pub line: u64,
    /// The round.
    pub mark: usize,
    /// Which arrival at this PC in the whole run, from one.
    pub arrival: usize,
    /// The variable, with the path to the scalar.
    pub variable: String,
    /// Line of its declaration.
    pub decl_line: u64,
    /// Whose location it is.
    pub label: LocationLabel,
    /// The relation, for a new location.
    pub relation: String,
    /// What gdb shows.
    pub shown: String,
    /// What became of it.
    pub verdict: ValueVerdict,
}

/// The moments of the -O0 build.
pub struct ReferenceMoments<'a> {
    stops: &'a [GdbStop],
    by_place: HashMap<(&'a str, u64, &'a str), Vec<ReferenceMoment>>,
}

#[derive(Clone, Copy)]
struct ReferenceMoment {
    stop: usize,
    /// Whether control came to the line here, rather than going on inside it.
    first: bool,
    /// Whether the stop stands for the line that opens the function.
    opening: bool,
}

enum JudgedValue {
    Known(String),
    Indefinite,
}

impl<'a> ReferenceMoments<'a> {
    /// The moments of a run over a stack filled with [`PATTERN`].
    pub fn new(stops: &'a [GdbStop]) -> Self {
        let mut by_place: HashMap<_, Vec<ReferenceMoment>> = HashMap::new();
        let mut last: HashMap<u64, (&str, u64, u64)> = HashMap::new();
        for (n, stop) in stops.iter().enumerate() {
            let Some(frame) = stop.frames.first() else { continue };
            let (function, line) = (frame.0.as_str(), frame.1);
            if let Some(opening) = stop.opening {
                last.remove(&stop.base);
                by_place.entry((function, opening, stop.memory.as_str())).or_default().push(ReferenceMoment {
                    stop: n,
                    first: true,
                    opening: true,
                });
            }
            let before = last.insert(stop.base, (function, line, stop.pc));
            let first = !before.is_some_and(|(f, l, pc)| f == function && l == line && stop.pc > pc);
            by_place.entry((function, line, stop.memory.as_str())).or_default().push(ReferenceMoment { stop: n, first, opening: false });
        }
        Self { stops, by_place }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.stops.len()
    }

    /// Whether the -O0 build was stopped nowhere.
    pub fn is_empty(&self) -> bool {
        self.stops.is_empty()
    }

    fn value(&self, moment: ReferenceMoment, depth: usize, function: &str, variable: (&str, u64), path: &str) -> JudgedValue {
        let read = || -> Option<&String> {
            let frame = self.stops[moment.stop].frames.get(depth).filter(|f| f.0 == function)?;
            let shown = frame.2.iter().find(|v| (v.0.as_str(), v.1) == variable)?;
            let passed = shown.2 == 1 || (frame.1 > variable.1 && !moment.opening);
            let leaf = shown.3.iter().find(|l| l.0 == path)?;
            leaf.1.as_ref().filter(|v| passed && !unwritten(v))
        };
        read().map_or(JudgedValue::Indefinite, |v| JudgedValue::Known(v.clone()))
    }
}

/// Whether a value is what the stack was filled with. A value that happens to be the same is not judged either.
fn unwritten(text: &str) -> bool {
    let bytes = [PATTERN; 8];
    let wide = u64::from_ne_bytes(bytes);
    let integers = [8, 16, 32, 64].map(|bits| (wide >> (64 - bits), (wide as i64) >> (64 - bits)));
    let float = [f64::from_ne_bytes(bytes), f64::from(f32::from_ne_bytes([PATTERN; 4]))];
    integers.iter().any(|(u, s)| text == u.to_string() || text == s.to_string()) || float.iter().any(|f| text == hexadecimal(*f))
}

/// A negative number as Python's `float.hex` writes it.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let exponent = i64::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1023;
    format!("-0x1.{:013x}p{exponent:+}", bits & ((1 << 52) - 1))
}

/// Judges every value at every stop of the repaired build's run.
pub fn judge(moments: &ReferenceMoments<'_>, stops: &[GdbStop], index: &Index<'_>) -> Vec<JudgedShown> {
    let mut totals: HashMap<(u64, &str), usize> = HashMap::new();
    for stop in stops {
        *totals.entry((stop.pc, stop.memory.as_str())).or_default() += 1;
    }
    let mut arrivals: HashMap<(u64, &str), usize> = HashMap::new();
    let mut visits: HashMap<u64, usize> = HashMap::new();
    let mut found = Vec::new();
    for stop in stops {
        let key = (stop.pc, stop.memory.as_str());
        let arrival = arrivals.entry(key).or_default();
        *arrival += 1;
        let visit = visits.entry(stop.pc).or_default();
        *visit += 1;
        let Some(newest) = stop.frames.first() else { continue };
        let place = (newest.0.as_str(), newest.1, stop.memory.as_str());
        let candidates = moments.by_place.get(&place).map_or(&[][..], Vec::as_slice);
        for (depth, frame) in stop.frames.iter().enumerate() {
            for shown in &frame.2 {
                let location = index.at(&shown.0, shown.1, stop.pc);
                let twice = stop.frames.iter().flat_map(|f| &f.2).filter(|v| v.0 == shown.0 && v.1 == shown.1).count() > 1;
                for (path, value) in &shown.3 {
                    // Inside a line the compiler's own locations already show what the line has done.
                    if location.is_none() && (value.is_none() || stop.row == 0) {
                        continue;
                    }
                    let expected = |m: &ReferenceMoment| (*m, moments.value(*m, depth, &frame.0, (shown.0.as_str(), shown.1), path));
                    let verdict = match value {
                        None => ValueVerdict::NotJudged(Unjudged::Unreadable),
                        Some(v) if v.starts_with('!') => ValueVerdict::NotJudged(Unjudged::Unreadable),
                        Some(_) if twice => ValueVerdict::NotJudged(Unjudged::TwoInstances),
                        Some(v) => compare(v, candidates.iter().map(expected).collect(), *arrival, totals[&key]),
                    };
                    found.push(JudgedShown {
                        pc: stop.pc,
                        function: newest.0.clone(),
                        line: newest.1,
                        mark: stop.mark,
                        arrival: *visit,
                        variable: format!("{}{path}", shown.0),
                        decl_line: shown.1,
                        label: location.map_or(LocationLabel::Compiler, |l| l.label),
                        relation: location.map_or_else(String::new, |l| l.relation.clone()),
                        shown: value.clone().unwrap_or_else(|| "<optimized out>".to_owned()),
                        verdict,
                    });
                }
            }
        }
    }
    found
}

/// The rules, applied to one value.
fn compare(shown: &str, candidates: Vec<(ReferenceMoment, JudgedValue)>, arrival: usize, arrivals: usize) -> ValueVerdict {
    if candidates.is_empty() {
        return ValueVerdict::NotJudged(Unjudged::NoMoment);
    }
    let mut values = Vec::new();
    let mut in_order = Vec::new();
    for (moment, value) in candidates {
        let JudgedValue::Known(value) = value else { return ValueVerdict::NotJudged(Unjudged::Indefinite) };
        if moment.first {
            in_order.push(value.clone());
        }
        values.push(value);
    }
    if shown == "elsewhere" || values.iter().any(|v| v == "elsewhere") {
        return ValueVerdict::NotJudged(Unjudged::Address);
    }
    if !values.iter().any(|v| agree(shown, v)) {
        return if arrivals > in_order.len() {
            ValueVerdict::NotJudged(Unjudged::MoreArrivals)
        } else {
            ValueVerdict::Wrong { expected: values.into_iter().collect() }
        };
    }
    if values.iter().all(|v| agree(shown, v)) {
        return ValueVerdict::Right;
    }
    if arrivals == in_order.len() && values.len() == in_order.len() {
        let expected = &in_order[arrival - 1];
        return if agree(shown, expected) {
            ValueVerdict::Right
        } else {
            ValueVerdict::Wrong { expected: BTreeSet::from([expected.clone()]) }
        };
    }
    ValueVerdict::NotJudged(Unjudged::Ambiguous)
}

/// Equal as values. A pointer at the end of one object is the same as one at the start of the next.
fn agree(a: &str, b: &str) -> bool {
    match (a.strip_prefix('&'), b.strip_prefix('&')) {
        (Some(a), Some(b)) => a.split('|').any(|x| b.split('|').any(|y| x == y)),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdb::{FrameShown, ShownLocal};

    fn stop(pc: u64, line: u64, memory: &str, value: &str) -> GdbStop {
        let shown = ShownLocal("t".to_owned(), 2, 0, vec![(String::new(), Some(value.to_owned()))]);
        let frames = vec![FrameShown("f".to_owned(), line, vec![shown])];
        GdbStop { pc, row: 1, memory: memory.to_owned(), frames, mark: 1, base: 1, opening: None }
    }

    fn verdicts(reference: &[GdbStop], optimized: &[GdbStop]) -> Vec<ValueVerdict> {
        let sidecar = crate::repaired::Sidecar { functions: Vec::new() };
        let moments = ReferenceMoments::new(reference);
        judge(&moments, optimized, &sidecar.index()).into_iter().map(|j| j.verdict).collect()
    }

    #[test]
    fn the_value_of_another_moment_is_wrong() {
        let reference = [stop(16, 5, "a", "1"), stop(16, 5, "b", "2")];
        let wrong = ValueVerdict::Wrong { expected: BTreeSet::from(["2".to_owned()]) };
        assert_eq!(verdicts(&reference, &[stop(64, 5, "b", "1")]), [wrong]);
        assert_eq!(verdicts(&reference, &[stop(64, 5, "a", "1")]), [ValueVerdict::Right]);
    }

    #[test]
    fn visits_in_equal_number_are_paired_in_order() {
        let reference = [stop(16, 5, "a", "1"), stop(20, 6, "a", "1"), stop(16, 5, "a", "2")];
        let right = [stop(64, 5, "a", "1"), stop(64, 5, "a", "2")];
        assert_eq!(verdicts(&reference, &right), [ValueVerdict::Right, ValueVerdict::Right]);
        let late = verdicts(&reference, &[stop(64, 5, "a", "2"), stop(64, 5, "a", "2")]);
        assert!(matches!(late[0], ValueVerdict::Wrong { .. }) && late[1] == ValueVerdict::Right);
    }

    #[test]
    fn what_is_ambiguous_is_neither_right_nor_wrong() {
        let reference = [stop(16, 5, "a", "1"), stop(20, 6, "a", "1"), stop(16, 5, "a", "2")];
        assert_eq!(verdicts(&reference, &[stop(64, 5, "a", "2")]), [ValueVerdict::NotJudged(Unjudged::Ambiguous)]);
        assert_eq!(verdicts(&reference, &[stop(64, 7, "a", "2")]), [ValueVerdict::NotJudged(Unjudged::NoMoment)]);
        assert!(matches!(verdicts(&reference, &[stop(64, 5, "a", "3")])[0], ValueVerdict::Wrong { .. }));
    }

    #[test]
    fn what_nobody_wrote_is_no_value() {
        let reference = [stop(16, 5, "a", "-1515870811")];
        assert_eq!(verdicts(&reference, &[stop(64, 5, "a", "7")]), [ValueVerdict::NotJudged(Unjudged::Indefinite)]);
        assert!(unwritten("165") && unwritten("-91") && unwritten("42405") && !unwritten("164"));
        assert_eq!(hexadecimal(-3.5), "-0x1.c000000000000p+1");
    }

    #[test]
    fn a_variable_has_no_value_before_its_declaration_is_passed() {
        let reference = [stop(16, 2, "a", "1")];
        assert_eq!(verdicts(&reference, &[stop(64, 2, "a", "7")]), [ValueVerdict::NotJudged(Unjudged::Indefinite)]);
    }
}
