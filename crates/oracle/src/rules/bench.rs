//! A workbench for the tests of rules: two small traces built by hand, and what becomes of them.

use crate::calls::CallName;
use crate::case::{Case, FloatMath, Judgement, Remembered, Strictness, judge};
use crate::digest::{Digest, Role};
use crate::effects::{Effects, Place, Tied};
use crate::facts::{Extent, OptimizedFacts, ReferenceFacts, SourceFacts, Testimony, Witness};
use crate::moments::{Aligned, Beginning, Code, Iteration, Kept, Making, Misplaced, Order, Placed, Placement, Runs, StaleValue};
use crate::visits::{Recursion, Suspect};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_model::{
    FileName, Frame, FrameKind, Invariant, Line, LineEffect, LineKey, Observation, Step, StepSink, Timing, VarKey, VarKind, Variable,
    Violation,
};

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Reported,
    Dropped(&'static str),
}

/// A line of the one file.
pub(crate) fn line(number: u32) -> LineKey {
    LineKey { file: FileName::new("a.c"), line: Line(number) }
}

/// An int with a value.
pub(crate) fn local(name: &str, decl_line: u32, value: &str) -> Variable {
    Variable {
        name: name.into(),
        kind: VarKind::Local,
        decl_line,
        type_name: "int".into(),
        holds_pointer: false,
        observation: Observation::Value(value.into()),
    }
}

/// A line of `main` that prints, by an instruction of the line, and whose breakpoint is not hit.
pub(crate) fn tied(number: u32, pc: u64) -> Tied {
    Tied {
        line: line(number),
        function: "main".into(),
        effect: LineEffect::Call { callee: "output".into() },
        pc,
        row: Some(line(number)),
        visits: 1,
        missed: 1,
        moved: 0,
        places: vec![Place { pc: pc + 0x100, shown: Some(line(number)), in_function: true, hits: 0 }],
        alike: BTreeSet::from([line(number)]),
        sites: (1, 1),
    }
}

struct Said(BTreeMap<VarKey, Testimony>);

impl Witness for Said {
    fn testify(&self, variable: &VarKey) -> Option<Testimony> {
        self.0.get(variable).cloned()
    }
}

pub(crate) struct Bench {
    pub(crate) reference: Digest,
    optimized: Digest,
    pub(crate) reference_facts: ReferenceFacts,
    pub(crate) optimized_facts: OptimizedFacts,
    pub(crate) float_math: FloatMath,
    pub(crate) strictness: Strictness,
    pub(crate) source: SourceFacts,
    pub(crate) effects: Effects,
    witness: Said,
    placed: Vec<Placed>,
    pc: u64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            reference: Digest::new(Role::Reference),
            optimized: Digest::new(Role::Optimized),
            reference_facts: ReferenceFacts::default(),
            optimized_facts: OptimizedFacts::default(),
            float_math: FloatMath::Exact,
            strictness: Strictness::Filtered,
            source: SourceFacts::default(),
            effects: Effects::default(),
            witness: Said(BTreeMap::new()),
            placed: Vec::new(),
            pc: 0x1000,
        }
    }

    fn step(&mut self, number: u32, functions: &[&str], vars: &[Variable]) -> Step {
        self.pc += 4;
        let key = line(number);
        let frame = |f: &&str| Frame { function: Arc::from(*f), kind: FrameKind::Real, file: Some(key.file.clone()), line: Some(key.line) };
        let frames = functions.iter().map(frame).collect();
        Step { step: 0, file: Some(key.file.clone()), line: Some(key.line), pc: self.pc, frames, vars: vars.to_vec() }
    }

    pub(crate) fn reference_stop(&mut self, number: u32, functions: &[&str], vars: &[Variable]) {
        let step = self.step(number, functions, vars);
        let _ = self.reference.step(step);
    }

    /// -O0 came to a row without a stop.
    pub(crate) fn reference_pass(&mut self, number: u32, functions: &[&str]) {
        let step = self.step(number, functions, &[]);
        self.reference.pass(&[line(number)], &step.frames);
    }

    /// A local that is 1 on line 5 of the source and that the optimized build shows as 2 there; with the address of that stop.
    pub(crate) fn with_a_stale_value() -> (Self, u64) {
        let mut bench = Self::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        bench.reference_stop(6, &["main"], &[local("x", 3, "2")]);
        let stop = bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
        let x = bench.know("main", "x", 3);
        bench.place(stop, &x, "2", "1", Iteration::Any);
        (bench, stop)
    }

    pub(crate) fn optimized_stop(&mut self, number: u32, functions: &[&str], vars: &[Variable]) -> u64 {
        let step = self.step(number, functions, vars);
        let _ = self.optimized.step(step);
        self.pc
    }

    pub(crate) fn function(&mut self, name: &str, first: u32, last: u32) {
        let extent = Extent { file: "a.c".into(), first, last };
        self.reference_facts.functions.entry(name.into()).or_default().push(extent);
    }

    pub(crate) fn know(&mut self, function: &str, name: &str, decl_line: u32) -> VarKey {
        let key = VarKey { function: function.into(), name: name.into(), decl_line };
        self.reference_facts.variables.insert(key.clone());
        key
    }

    pub(crate) fn testify(&mut self, variable: &VarKey, values: &[&str], lines: &[u32], uninitialised: &[u32]) {
        let testimony = Testimony {
            values: vec![values.iter().map(|v| (*v).to_owned()).collect()],
            uninitialised_on: uninitialised.iter().map(|l| (line(*l), 0)).collect(),
            lines: lines.iter().map(|l| line(*l)).collect(),
        };
        self.witness.0.insert(variable.clone(), testimony);
    }

    /// A stop shows `value` of a variable that is `expected` at its moments.
    pub(crate) fn place(&mut self, stop: u64, variable: &VarKey, value: &str, expected: &str, iteration: Iteration) {
        let suspect = Suspect {
            pc: stop,
            line: line(5),
            way: Arc::from([]),
            inlined: 0,
            root: CallName { way: Arc::from([]), nth: 0 },
            nth: 1,
            hit: 1,
            stops: 1,
            recursion: Recursion::Kept,
            variable: variable.clone(),
            leaf: 0,
            is_part: false,
            value: value.into(),
        };
        let placement = Placement::Stale(StaleValue {
            expected: vec![expected.into()],
            moments: vec![0],
            iteration,
            runs: Runs::AsInSource,
            aligned: Aligned::One,
        });
        self.placed.push(Placed { suspect, placement, order: None, other: None, location: None });
    }

    /// The value that was placed last.
    pub(crate) fn last_placed(&mut self) -> &mut Placed {
        self.placed.last_mut().unwrap()
    }

    /// What both runs do around the stop that was placed last.
    pub(crate) fn order(&mut self, shown: Timing, crosses: bool, is_moved: bool) {
        let assignment = Misplaced { line: Some(Line(4)), shown };
        let order = Order {
            assignment,
            crosses,
            is_moved,
            code: Code::Runs,
            kept: Kept::Unknown,
            making: Making::Unseen,
            beginning: Beginning::Unseen,
        };
        self.last_placed().order = Some(order);
    }

    /// What both runs do with the assignment on the other side of that stop.
    pub(crate) fn other(&mut self, shown: Timing, is_moved: bool, code: Code, kept: Kept) {
        let assignment = Misplaced { line: Some(Line(6)), shown };
        self.last_placed().other =
            Some(Order { assignment, crosses: false, is_moved, code, kept, making: Making::Unseen, beginning: Beginning::Unseen });
    }

    pub(crate) fn verdicts(&self, invariant: Invariant) -> Vec<Verdict> {
        self.verdicts_of(&[invariant])
    }

    pub(crate) fn violations(&self, invariant: Invariant) -> Vec<Violation> {
        self.judgement(&[invariant]).violations
    }

    pub(crate) fn verdicts_of(&self, invariants: &[Invariant]) -> Vec<Verdict> {
        let judgement = self.judgement(invariants);
        let reported = judgement.violations.iter().map(|_| Verdict::Reported);
        reported.chain(judgement.dropped.iter().map(|d| Verdict::Dropped(d.rule))).collect()
    }

    fn judgement(&self, invariants: &[Invariant]) -> Judgement {
        let case = Case {
            reference: &self.reference,
            optimized: &self.optimized,
            reference_facts: &self.reference_facts,
            optimized_facts: &self.optimized_facts,
            effects: &self.effects,
            source: &self.source,
            witness: &self.witness,
            placed: &self.placed,
            float_math: self.float_math,
            strictness: self.strictness,
        };
        judge(&case, invariants, Remembered::All)
    }
}
