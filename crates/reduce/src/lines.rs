//! A reducer for languages whose tree we do not have: lines and what stands between braces are taken out.
//!
//! Blocks go first, from the outermost on: a function, an impl, a loop with its body; or its head and foot, so that the body is
//! left. Then runs of lines in chunks of halving size. A candidate with braces that do not match costs nothing. Rounds repeat
//! until one changes nothing. The judges say what is still a program that shows the fault; nothing is renamed or rewritten.

use crate::{ReduceEnd, ReduceError, ReduceProgress, Reduced, Watch, admit, count_lines};
use std::collections::HashSet;
use std::ops::ControlFlow;
use trueline_model::{Interesting, Program, StillShows, Validity};

/// The reducer by lines with its judges.
pub struct LineReducer<'a> {
    /// Says whether a candidate still shows the fault.
    pub interesting: &'a dyn Interesting,
    /// Says whether a candidate is still a valid program; asked only about interesting ones.
    pub validity: &'a dyn Validity,
    /// Is told of every step forward.
    pub watch: &'a Watch<'a>,
}

struct LineState<'p> {
    program: &'p Program,
    lines: Vec<String>,
    from: usize,
    judged: usize,
    seen: HashSet<String>,
}

/// Lines that are taken out together.
struct Cut(Vec<usize>);

impl LineReducer<'_> {
    /// Reduces. The program must be interesting and valid.
    pub fn reduce(&self, program: &Program) -> Result<Reduced, ReduceError> {
        admit(program, self.interesting, self.validity)?;
        let lines = program.source.lines().map(str::to_owned).collect();
        let mut state = LineState { program, lines, from: count_lines(&program.source), judged: 1, seen: HashSet::new() };
        loop {
            let before = state.lines.len();
            let flow = match self.blocks(&mut state)? {
                ControlFlow::Continue(()) => self.runs(&mut state)?,
                stopped @ ControlFlow::Break(()) => stopped,
            };
            if flow.is_break() || state.lines.len() == before {
                let end = if flow.is_break() { ReduceEnd::Interrupted } else { ReduceEnd::Finished };
                return Ok(Reduced { text: text_of(&state.lines), judged: state.judged, end });
            }
        }
    }

    /// Blocks, and heads and feet of blocks, the largest first.
    fn blocks(&self, state: &mut LineState<'_>) -> Result<ControlFlow<()>, ReduceError> {
        let mut at = 0;
        loop {
            let mut cuts: Vec<Cut> = blocks_of(&state.lines)
                .into_iter()
                .flat_map(|(open, close)| [Cut((open..=close).collect()), Cut(vec![open, close])])
                .collect();
            cuts.sort_by_key(|cut| std::cmp::Reverse(cut.0.len()));
            let Some(cut) = cuts.into_iter().nth(at) else { return Ok(ControlFlow::Continue(())) };
            match self.take(state, &cut)? {
                LineStep::Taken => {}
                LineStep::Kept => at += 1,
                LineStep::Stopped => return Ok(ControlFlow::Break(())),
            }
        }
    }

    /// Runs of lines in chunks of halving size.
    fn runs(&self, state: &mut LineState<'_>) -> Result<ControlFlow<()>, ReduceError> {
        let mut size = state.lines.len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < state.lines.len() {
                let end = (at + size).min(state.lines.len());
                match self.take(state, &Cut((at..end).collect()))? {
                    LineStep::Taken => {}
                    LineStep::Kept => at = end,
                    LineStep::Stopped => return Ok(ControlFlow::Break(())),
                }
            }
            size /= 2;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes lines out, if what is left is as wanted.
    fn take(&self, state: &mut LineState<'_>, cut: &Cut) -> Result<LineStep, ReduceError> {
        if balance(cut.0.iter().map(|i| state.lines[*i].as_str())) != Some(0) {
            return Ok(LineStep::Kept);
        }
        let left: Vec<String> = state.lines.iter().enumerate().filter(|(i, _)| !cut.0.contains(i)).map(|(_, l)| l.clone()).collect();
        let candidate = Program { source: text_of(&left), ..state.program.clone() };
        if !state.seen.insert(candidate.source.clone()) {
            return Ok(LineStep::Kept);
        }
        state.judged += 1;
        let taken = self.interesting.judge(&candidate)? == StillShows::Yes && self.validity.reject(&candidate)?.is_none();
        if taken {
            state.lines = left;
        }
        let text = text_of(&state.lines);
        let progress = ReduceProgress { text: &text, lines: count_lines(&text), from: state.from, judged: state.judged, phase: "lines" };
        match ((self.watch)(&progress), taken) {
            (ControlFlow::Break(()), _) => Ok(LineStep::Stopped),
            (ControlFlow::Continue(()), true) => Ok(LineStep::Taken),
            (ControlFlow::Continue(()), false) => Ok(LineStep::Kept),
        }
    }
}

enum LineStep {
    Taken,
    Kept,
    Stopped,
}

fn text_of(lines: &[String]) -> String {
    lines.iter().map(|l| format!("{l}\n")).collect()
}

/// How many braces lines leave open; none when they close one that is not theirs. `} else {` inside is balanced.
fn balance<'l>(lines: impl Iterator<Item = &'l str>) -> Option<i32> {
    let mut depth = 0;
    for c in lines.flat_map(str::chars) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    Some(depth)
}

/// First and last line of everything between braces that begins at the end of a line.
fn blocks_of(lines: &[String]) -> Vec<(usize, usize)> {
    let mut open: Vec<usize> = Vec::new();
    let mut blocks = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        for c in line.chars() {
            match c {
                '{' => open.push(number),
                '}' => blocks.extend(open.pop().filter(|first| *first < number).map(|first| (first, number))),
                _ => {}
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{Language, Origin, SeamError};

    struct Keeps(&'static [&'static str]);

    impl Interesting for Keeps {
        fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
            let balanced = balance(candidate.source.lines()) == Some(0);
            Ok(if balanced && self.0.iter().all(|word| candidate.source.contains(word)) { StillShows::Yes } else { StillShows::No })
        }
    }

    impl Validity for Keeps {
        fn reject(&self, _: &Program) -> Result<Option<String>, SeamError> {
            Ok(None)
        }
    }

    #[test]
    fn blocks_and_lines_go_and_a_block_can_leave_its_body() {
        let source =
            "mod a {\n    fn unused() {\n        one();\n    }\n}\nfn main() {\n    if x {\n        two();\n        three();\n    }\n}\n";
        let program = Program {
            name: "a.rs".to_owned(),
            language: Language::Rust,
            source: source.to_owned(),
            origin: Origin::File { path: "a.rs".into() },
            cflags: Vec::new(),
        };
        let judge = Keeps(&["fn main() {", "three();"]);
        let watch = |_: &ReduceProgress<'_>| ControlFlow::Continue(());
        let reduced = LineReducer { interesting: &judge, validity: &judge, watch: &watch }.reduce(&program).unwrap();
        assert_eq!((reduced.text.as_str(), reduced.end), ("fn main() {\n        three();\n}\n", ReduceEnd::Finished));
        let stop = |_: &ReduceProgress<'_>| ControlFlow::Break(());
        let stopped = LineReducer { interesting: &judge, validity: &judge, watch: &stop }.reduce(&program).unwrap();
        assert!(stopped.end == ReduceEnd::Interrupted && stopped.text.contains("three();"), "{}", stopped.text);
    }
}
