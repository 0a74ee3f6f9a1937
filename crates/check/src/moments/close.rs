//! The close look at values that are still in doubt: runs that tell whether variables were initialised, which assignment a
//! value is about, and what was moved. What could not be looked at closely is not claimed.

use super::{MOST_MARKS, Open, PATTERNS, Placing, Ran, TRIES, hits_of, run, same_states, stop_of};
use crate::line_code::LineTable;
use crate::made::{beginnings, is_made_before};
use crate::thin::{thin, visits};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use trueline_model::{LineKey, VarKey};
use trueline_oracle::moments::{LineCode, MarkedRun, Place, Placed, Placement, Sequence, StaleValue, is_same_way, place, points};
use trueline_toolchain::JobError;
use trueline_trace::native::{MomentPlan, Moments};

/// A value in doubt, with its place among those that were placed.
pub(super) type Doubt = (Open, usize);

/// Both builds and what is asked of them.
pub(super) struct Close<'a> {
    pub placing: &'a Placing<'a>,
    pub reference: &'a LineTable<'a>,
    pub optimized: &'a LineTable<'a>,
    pub codes: &'a HashMap<LineKey, LineCode>,
    pub variables: &'a [VarKey],
}

/// A value that is stale by its moments, and the assignments that it can be about.
struct Ordered<'o> {
    number: usize,
    open: &'o Open,
    value: StaleValue,
    sequences: Vec<Sequence>,
}

type Points = BTreeMap<u64, Option<usize>>;

impl Close<'_> {
    fn plan(&self, points: &Points, fill: Option<u8>) -> MomentPlan {
        MomentPlan { points: points.clone(), variables: self.variables.to_vec(), fill, most: MOST_MARKS }
    }

    /// Decides what is in doubt, as far as the runs allow.
    pub(super) fn look(&self, mut doubts: Vec<Doubt>, placed: &mut [Placed]) -> Result<(), JobError> {
        for (_, number) in &doubts {
            placed[*number].placement = Placement::Unplaced;
        }
        let Some([one, two]) = self.run_reference(&mut doubts)? else { return Ok(()) };
        // States of the first look and of this one are not to be mixed: the stop is placed anew.
        let stops: Points = doubts.iter().map(|(o, _)| (o.suspect.pc, Some(o.suspect.inlined))).collect();
        let Ran::Whole(few) = run(self.placing.request, &self.plan(&stops, None))? else { return Ok(()) };
        let (first, few) = same_states(&one, &few);
        let (second, _) = same_states(&two, &Moments::default());
        if !is_same_way(&first, &second) {
            return Ok(());
        }
        let line_of = |pc: u64| self.reference.line_of(pc);
        let mut ordered: Vec<Ordered<'_>> = Vec::new();
        for (open, number) in &doubts {
            let (number, suspect) = (*number, &open.suspect);
            let placement = stop_of(open, &few).map_or(Placement::Unplaced, |stop| {
                let points = points(&first, Some(&second), &open.calls, &self.codes[&suspect.line], open.scalar);
                place(suspect, few.marks[stop].state, &points, open.stops, &hits_of(open, &few, stop))
            });
            // What the variable never has is another invariant's to tell.
            let is_held = first.marks.iter().any(|m| open.scalar.at(m) == Some(&*suspect.value));
            placed[number].placement = match placement {
                _ if !is_held => Placement::NeverHeld,
                Placement::Stale(value) => {
                    let sequences = Sequence::of(&first, &open.calls, &value, &suspect.value, open.scalar, &line_of);
                    ordered.push(Ordered { number, open, value, sequences });
                    Placement::Unplaced
                }
                other => other,
            };
        }
        self.order(ordered, placed)
    }

    /// Two runs of the reference with two fillings, stopped at every line and store of the doubtful variables' functions. The
    /// functions with most stops are left out where a run is too long.
    fn run_reference(&self, doubts: &mut Vec<Doubt>) -> Result<Option<[Moments; 2]>, JobError> {
        let function = |d: &Doubt| Arc::clone(&d.0.suspect.variable.function);
        for _ in 0..TRIES {
            if doubts.is_empty() {
                return Ok(None);
            }
            let functions: HashSet<&str> = doubts.iter().map(|(o, _)| &*o.suspect.variable.function).collect();
            let mut at: Points = self.reference.changes(&functions).into_iter().map(|pc| (pc, None)).collect();
            for (open, _) in doubts.iter() {
                let code = &self.codes[&open.suspect.line];
                at.extend(code.own.iter().chain(code.after.keys()).map(|pc| (*pc, None)));
            }
            let ran = |fill| run(self.placing.reference_request, &self.plan(&at, Some(fill)));
            match ran(PATTERNS[0])? {
                Ran::Whole(one) => {
                    let Ran::Whole(two) = ran(PATTERNS[1])? else { return Ok(None) };
                    return Ok(Some([one, two]));
                }
                Ran::Failed => return Ok(None),
                Ran::Cut(part) => {
                    let module = self.reference.module();
                    let counts = visits(&part, |pc| module.function_at(pc).map(|f| Arc::clone(&module.function(f).name)));
                    let cost = |d: &Doubt| counts.get(&Some(function(d))).copied().unwrap_or(0);
                    thin(doubts, MOST_MARKS / 2, function, cost);
                }
            }
        }
        Ok(None)
    }

    /// Compares the order of lines and assignments in both runs.
    fn order(&self, mut ordered: Vec<Ordered<'_>>, placed: &mut [Placed]) -> Result<(), JobError> {
        let Some(many) = self.run_optimized(&mut ordered)? else { return Ok(()) };
        let (many, _): (MarkedRun, _) = same_states(&many, &Moments::default());
        let line_of = |pc: u64| self.optimized.line_of(pc);
        for Ordered { number, open, value, sequences } in ordered {
            let suspect = &open.suspect;
            let visits: BTreeSet<u64> = self.placing.digests.1.stops_on(&suspect.line).map(|s| s.pc).collect();
            let is_made_before = |pc| is_made_before(self.optimized, &suspect.variable, pc);
            let begins = |pc, line: &LineKey| self.optimized.begins(pc, line);
            let orders = stop_of(open, &many).map(|stop| {
                let place = Place {
                    stop,
                    line: &suspect.line,
                    visits: &visits,
                    scalar: open.scalar,
                    shown: &suspect.value,
                    expected: &value.expected,
                    is_made_before: &is_made_before,
                    begins: &begins,
                };
                sequences.iter().map(|sequence| sequence.compare(&many, &place, &line_of)).collect::<Vec<_>>()
            });
            let mut orders = orders.unwrap_or_default().into_iter();
            let placed = &mut placed[number];
            (placed.order, placed.other) = (orders.next(), orders.next());
            placed.location = self.optimized.location(suspect);
            placed.placement = Placement::Stale(value);
        }
        Ok(())
    }

    /// A run of the optimized build, stopped wherever something of the doubtful values' functions is to be seen. The functions
    /// with most stops are left out where it is too long.
    fn run_optimized(&self, ordered: &mut Vec<Ordered<'_>>) -> Result<Option<Moments>, JobError> {
        let module = self.optimized.module();
        let function = |o: &Ordered<'_>| module.function_at(o.open.suspect.pc);
        for _ in 0..TRIES {
            if ordered.is_empty() {
                return Ok(None);
            }
            // A stop keeps what it is asked for; the others are to show the variable wherever they are.
            let mut at: Points = ordered.iter().map(|o| (o.open.suspect.pc, Some(o.open.suspect.inlined))).collect();
            // Only what runs in the same calls is compared.
            let functions: HashSet<_> = ordered.iter().filter_map(function).collect();
            let is_inside = |pc: &u64| module.function_at(*pc).is_some_and(|f| functions.contains(&f));
            let assignments: BTreeSet<&LineKey> = ordered.iter().flat_map(|o| &o.sequences).map(|s| &s.line).collect();
            let mut others: BTreeSet<u64> = assignments.into_iter().flat_map(|line| self.optimized.code(line).0).collect();
            for ordered in ordered.iter() {
                others.extend(beginnings(module, &ordered.open.suspect.variable, ordered.open.suspect.pc));
            }
            others.extend(self.placing.digests.1.stops.iter().map(|s| s.pc));
            for pc in others.into_iter().filter(is_inside) {
                at.entry(pc).or_insert(None);
            }
            match run(self.placing.request, &self.plan(&at, None))? {
                Ran::Whole(many) => return Ok(Some(many)),
                Ran::Failed => return Ok(None),
                Ran::Cut(part) => {
                    let counts = visits(&part, |pc| module.function_at(pc));
                    thin(ordered, MOST_MARKS / 2, function, |o| counts.get(&function(o)).copied().unwrap_or(0));
                }
            }
        }
        Ok(None)
    }
}
