//! The reducer of our own: hierarchical delta debugging on the C tree.
//!
//! Each round goes through the families of edits, coarse ones first, and within a family from the outermost
//! level of nesting inwards. A level's edits do not overlap, so any subset of them applies to one text; they
//! are tried in chunks of halving size. Candidates that the C front end refuses cost a few milliseconds and
//! are never shown to the judges. Rounds are repeated until one changes nothing.
//!
//! Sanitizers cost more than everything else together. A quick one is asked at every step; the whole set looks at what a
//! family of edits leaves. Should it refuse that, the family is done again with the whole set at every step.

use crate::candidates::{EditFamily, TreeChange};
use crate::{ReduceEnd, ReduceError, ReduceProgress, Reduced, Watch, admit, count_lines};
use rayon::prelude::*;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use trueline_ctree::Edits;
use trueline_model::{Interesting, Program, SeamError, StillShows, Validity};

/// The built-in reducer with its judges.
pub struct Builtin<'a> {
    /// Says whether a candidate still shows the fault.
    pub interesting: &'a dyn Interesting,
    /// Says whether a candidate is still a valid program; asked only about interesting ones.
    pub validity: &'a dyn Validity,
    /// A cheaper judge of the same, asked at every step; what it lets through is still shown to the other.
    pub quick: &'a dyn Validity,
    /// Is told of every step forward.
    pub watch: &'a Watch<'a>,
}

struct ReductionState {
    program: Program,
    /// The best that the whole validity judge has seen; what progress reports show.
    sure: Program,
    original_lines: usize,
    judged: usize,
    seen: HashSet<u64>,
}

impl Builtin<'_> {
    /// Reduces. The program must be self-contained C (preprocessed), interesting and valid.
    pub fn reduce(&self, program: &Program) -> Result<Reduced, ReduceError> {
        admit(program, self.interesting, self.validity)?;
        trueline_ctree::parse(program).map_err(|e| ReduceError::Parse(e.to_string()))?;
        let original_lines = count_lines(&program.source);
        let mut state = ReductionState { program: program.clone(), sure: program.clone(), original_lines, judged: 1, seen: HashSet::new() };
        let end = self.rounds(&mut state)?;
        Ok(Reduced { text: state.sure.source, judged: state.judged, end })
    }

    fn rounds(&self, state: &mut ReductionState) -> Result<ReduceEnd, ReduceError> {
        loop {
            let before = state.program.source.clone();
            for family in EditFamily::ALL {
                if self.family(state, family)?.is_break() {
                    return Ok(ReduceEnd::Interrupted);
                }
            }
            if state.program.source == before {
                return Ok(ReduceEnd::Finished);
            }
        }
    }

    /// One family of edits, and the whole validity judge's word on what it leaves.
    fn family(&self, state: &mut ReductionState, family: EditFamily) -> Result<ControlFlow<()>, ReduceError> {
        let mut flow = self.levels(state, family, self.quick)?;
        if state.program.source != state.sure.source {
            if self.validity.reject(&state.program)?.is_some() {
                state.program = state.sure.clone();
                state.seen.clear();
                if flow.is_continue() {
                    flow = self.levels(state, family, self.validity)?;
                }
            }
            state.sure = state.program.clone();
        }
        Ok(flow)
    }

    fn levels(&self, state: &mut ReductionState, family: EditFamily, validity: &dyn Validity) -> Result<ControlFlow<()>, ReduceError> {
        let mut level = 0;
        loop {
            // What is kept always parses, or it would not have been kept.
            let unit = trueline_ctree::parse(&state.program).map_err(|e| ReduceError::Parse(e.to_string()))?;
            let Some(changes) = family.levels(&unit).into_iter().nth(level) else { return Ok(ControlFlow::Continue(())) };
            if self.sweep(state, family, &changes, validity)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            level += 1;
        }
    }

    /// Applies as many of the changes as can be, in chunks of halving size, two candidates at a time.
    fn sweep(
        &self,
        state: &mut ReductionState,
        family: EditFamily,
        changes: &[TreeChange],
        validity: &dyn Validity,
    ) -> Result<ControlFlow<()>, ReduceError> {
        let base = state.program.source.clone();
        let mut taken = vec![false; changes.len()];
        let mut size = changes.len();
        while size > 0 {
            let open: Vec<usize> = (0..changes.len()).filter(|i| !taken[*i]).collect();
            for pair in open.chunks(size).collect::<Vec<_>>().chunks(2) {
                let accepted = self.try_pair(state, &base, changes, (&taken, pair), validity)?;
                for index in &accepted {
                    taken[*index] = true;
                }
                let progress = ReduceProgress {
                    text: &state.sure.source,
                    lines: count_lines(&state.program.source),
                    from: state.original_lines,
                    judged: state.judged,
                    phase: family.name(),
                };
                if (self.watch)(&progress).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            size /= 2;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Tries two chunks at once and, when both may go, both together. Returns the changes now applied.
    fn try_pair(
        &self,
        state: &mut ReductionState,
        base: &str,
        changes: &[TreeChange],
        (taken, chunks): (&[bool], &[&[usize]]),
        validity: &dyn Validity,
    ) -> Result<Vec<usize>, ReduceError> {
        let with = |extra: &[usize]| {
            let chosen = (0..changes.len()).filter(|i| taken[*i] || extra.contains(i)).map(|i| &changes[i]);
            apply(base, chosen).map(|source| Program { source, ..state.program.clone() })
        };
        let mut candidates: Vec<(Vec<usize>, Program)> = chunks.iter().filter_map(|chunk| Some((chunk.to_vec(), with(chunk)?))).collect();
        candidates.retain(|(_, p)| p.source != state.program.source && state.seen.insert(hash(&p.source)));
        let judged: Result<Vec<(bool, usize)>, SeamError> = candidates.par_iter().map(|(_, p)| self.accepts(p, validity)).collect();
        let judged = judged?;
        state.judged += judged.iter().map(|(_, cost)| cost).sum::<usize>();
        let mut good: Vec<(Vec<usize>, Program)> =
            candidates.into_iter().zip(judged).filter(|(_, (yes, _))| *yes).map(|(candidate, _)| candidate).collect();
        if good.len() == 2 {
            let both: Vec<usize> = good.iter().flat_map(|(chunk, _)| chunk.clone()).collect();
            if let Some(program) = with(&both)
                && state.seen.insert(hash(&program.source))
            {
                let (yes, cost) = self.accepts(&program, validity)?;
                state.judged += cost;
                if yes {
                    good = vec![(both, program)];
                }
            }
        }
        match good.into_iter().next() {
            Some((chunk, program)) => {
                state.program = program;
                Ok(chunk)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Whether a candidate may replace the best, and how many judgements that cost.
    fn accepts(&self, candidate: &Program, validity: &dyn Validity) -> Result<(bool, usize), SeamError> {
        if trueline_ctree::parse(candidate).is_err() {
            return Ok((false, 0));
        }
        if self.interesting.judge(candidate)? != StillShows::Yes {
            return Ok((false, 1));
        }
        Ok((validity.reject(candidate)?.is_none(), 1))
    }
}

fn apply<'c>(base: &str, changes: impl Iterator<Item = &'c TreeChange>) -> Option<String> {
    let mut edits = Edits::new();
    for (span, text) in changes.flat_map(|c| &c.edits) {
        edits.replace(*span, text.clone());
    }
    edits.apply(base).ok()
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{Language, Origin};

    /// Interesting: `marker(` is called with a value that is not 0, in something that compiles.
    struct CallsMarker;

    impl Interesting for CallsMarker {
        fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
            let text: String = candidate.source.split_whitespace().collect();
            Ok(if text.contains("marker(g)") && text.contains("main") { StillShows::Yes } else { StillShows::No })
        }
    }

    struct AlwaysValid;

    impl Validity for AlwaysValid {
        fn reject(&self, _: &Program) -> Result<Option<String>, SeamError> {
            Ok(None)
        }
    }

    fn program(source: &str) -> Program {
        Program {
            name: "a.c".to_owned(),
            language: Language::C,
            source: source.to_owned(),
            origin: Origin::File { path: "a.c".into() },
            cflags: Vec::new(),
        }
    }

    #[test]
    fn what_the_fault_does_not_need_is_taken_out() {
        let source = "typedef int myint;\nint g = 1, unused[4];\nstatic int helper(int a, int b) {\n  for (int i = 0; i < a; i++)\n    b += i;\n  return b;\n}\n\
                      void marker(int x) { g = x; }\n\nint main(void) {\n  myint k = helper(3, 4);\n  if (k > 2) {\n    while (k) {\n      marker(g);\n      k--;\n    }\n  } else {\n    k = 7;\n  }\n  return k ? helper(k, 2) : (k + 1);\n}\n";
        let steps = std::sync::atomic::AtomicUsize::new(0);
        let watch = |_: &ReduceProgress<'_>| {
            steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        let builtin = Builtin { interesting: &CallsMarker, validity: &AlwaysValid, quick: &AlwaysValid, watch: &watch };
        let reduced = match builtin.reduce(&program(source)) {
            Err(ReduceError::Parse(reason)) if reason.contains("libclang") => return println!("skipped: {reason}"),
            other => other.unwrap(),
        };
        assert_eq!(reduced.end, ReduceEnd::Finished);
        assert!(reduced.text.contains("marker(g)") && !reduced.text.contains("helper"), "{}", reduced.text);
        assert!(count_lines(&reduced.text) <= 6, "{}", reduced.text);
        assert!(steps.into_inner() > 0);
    }

    /// Valid: `guard` is there.
    struct NeedsGuard;

    impl Validity for NeedsGuard {
        fn reject(&self, candidate: &Program) -> Result<Option<String>, SeamError> {
            Ok((!candidate.source.contains("guard")).then(|| "no guard".to_owned()))
        }
    }

    #[test]
    fn what_the_quick_judge_lets_through_by_mistake_is_done_again() {
        let source = "int g;\nint guard;\nint unused;\nvoid marker(int x) {}\nint main(void) {\n  unused = 1;\n  switch (g) {\n  default: {\n    guard = 1;\n    {\n      marker(g);\n    }\n  }\n  }\n  return 0;\n}\n";
        let unsure = std::sync::atomic::AtomicUsize::new(0);
        let watch = |progress: &ReduceProgress<'_>| {
            unsure.fetch_add(usize::from(!progress.text.contains("guard")), std::sync::atomic::Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        let builtin = Builtin { interesting: &CallsMarker, validity: &NeedsGuard, quick: &AlwaysValid, watch: &watch };
        let reduced = match builtin.reduce(&program(source)) {
            Err(ReduceError::Parse(reason)) if reason.contains("libclang") => return println!("skipped: {reason}"),
            other => other.unwrap(),
        };
        assert!(reduced.text.contains("guard") && !reduced.text.contains("unused") && !reduced.text.contains("switch"), "{}", reduced.text);
        assert_eq!(unsure.into_inner(), 0, "only valid programs are handed out");
    }

    #[test]
    fn an_interrupted_reduction_has_a_result() {
        let watch = |_: &ReduceProgress<'_>| ControlFlow::Break(());
        let builtin = Builtin { interesting: &CallsMarker, validity: &AlwaysValid, quick: &AlwaysValid, watch: &watch };
        match builtin.reduce(&program("int g;\nint h;\nvoid marker(int x) {}\nint main(void) { marker(g); }\n")) {
            Err(ReduceError::Parse(reason)) if reason.contains("libclang") => println!("skipped: {reason}"),
            other => assert_eq!(other.unwrap().end, ReduceEnd::Interrupted),
        }
        let error = builtin.reduce(&program("int main(void) { return 0; }\n")).unwrap_err();
        assert!(matches!(error, ReduceError::NotInteresting(_)), "{error}");
    }
}
