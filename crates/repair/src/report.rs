//! What was done, per function, counted as the paper's Tables II and III count it, and the sidecar.

use crate::debug::{LocationCoverage, PlacedVariable};
use crate::mend::{self, Label, Mended, Stage, Trust, Verdict};
use crate::study::Study;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A new location in the sidecar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct NewLocation {
    /// First PC.
    pub low: u64,
    /// One past the last.
    pub high: u64,
    /// The variable.
    pub variable: String,
    /// Line of its declaration.
    pub decl_line: u64,
    /// The source function it belongs to.
    pub function: String,
    /// What was there before: `missing`, `constant`, `computed`.
    pub before: &'static str,
    /// The relation, readable.
    pub relation: String,
    /// How it is known.
    pub label: Label,
    /// How it came here.
    pub stage: Stage,
    /// Which source iteration of the optimized one it shows, inside loops.
    pub lane: Option<usize>,
}

/// One function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Entry address.
    pub address: u64,
    /// Instructions (T).
    #[serde(rename = "T")]
    pub total: usize,
    /// PCs where a variable was updated (U).
    #[serde(rename = "U")]
    pub updated: usize,
    /// Variables improved somewhere (V).
    #[serde(rename = "V")]
    pub variables: usize,
    /// PC-variable pairs with information before (O).
    #[serde(rename = "O")]
    pub original: usize,
    /// Pairs where missing information was added (M).
    #[serde(rename = "M")]
    pub missing: usize,
    /// Pairs where a constant gave way to an expression (I).
    #[serde(rename = "I")]
    pub constant: usize,
    /// PCs where something missing was added.
    pub missing_pcs: usize,
    /// PCs where a constant gave way to an expression.
    pub constant_pcs: usize,
    /// PCs where a variable in scope had no location: the ceiling of what can be added.
    pub missing_possible: usize,
    /// PCs where a constant was wrong in some run: the ceiling of what can be replaced.
    pub constant_possible: usize,
    /// Pairs with a new location that is proved.
    pub proved: usize,
    /// Pairs with a new location that is validated.
    pub validated: usize,
    /// Pairs in scope that a source value is known for.
    pub pairs: usize,
    /// Of these, right before.
    pub right_before: usize,
    /// Of these, right after.
    pub right_after: usize,
    /// Of these, wrong before.
    pub wrong_before: usize,
    /// Of these, wrong after.
    pub wrong_after: usize,
    /// Pairs that stay missing or wrong because the PC stands for no moment of the source.
    pub no_moment: usize,
    /// Pairs that stay missing or wrong because no affine relation gives the value in every run.
    pub no_relation: usize,
    /// Pairs that stay wrong because the relation that would replace them is validated, not proved.
    pub withheld: usize,
    /// Runs and layouts behind the validation.
    pub runs: usize,
    /// Layouts among them.
    pub layouts: usize,
    /// CPU seconds spent on it.
    pub seconds: f64,
    /// Why nothing (or not more) was done.
    pub reason: Option<String>,
    /// Why the proof attempt stopped, if it did.
    pub unproved: Option<String>,
    /// Inductive facts: machine PC, source PC, facts.
    pub invariants: Vec<(u64, Option<u64>, Vec<String>)>,
    /// CPU seconds of the solver.
    pub solver_seconds: f64,
    /// Variants: name, U, PCs with M, PCs with I.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<(String, usize, usize, usize)>,
    /// What the proofs assume.
    pub assumptions: Vec<String>,
    /// Loops tied to the source: head, source iterations per iteration.
    pub loops: Vec<(u64, usize)>,
    /// Every new location.
    pub locations: Vec<NewLocation>,
}

/// Counts one function.
pub fn count(study: &Study<'_>, mended: &[Mended], trust: Trust) -> FunctionReport {
    let function = study.optimized.function;
    let instructions = &study.optimized.graph.instructions;
    let mut report = FunctionReport {
        name: function.name.clone(),
        address: function.entry(),
        total: instructions.len(),
        runs: study.pairs.len(),
        layouts: study.layouts(),
        ..FunctionReport::default()
    };
    let (mut updated, mut missing_pcs, mut constant_pcs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut missing_possible, mut constant_possible) = (BTreeSet::new(), BTreeSet::new());
    let mut variables: BTreeSet<(String, u64)> = BTreeSet::new();
    for variable in &function.variables {
        let known = |pc: &&u64| matches!(variable.coverage(**pc), LocationCoverage::Constant | LocationCoverage::Computed);
        report.original += instructions.keys().filter(known).count();
    }
    for m in mended {
        let variable = &function.variables[m.variable];
        for (pc, verdict) in &m.verdicts {
            match variable.coverage(*pc) {
                LocationCoverage::Missing => {
                    missing_possible.insert(*pc);
                }
                LocationCoverage::Constant if *verdict == Verdict::Wrong => {
                    constant_possible.insert(*pc);
                }
                _ => {}
            }
            let choice = m.choices.get(pc).filter(|c| mend::admitted(variable, *pc, c, *verdict, trust));
            let evidence = m.choices.contains_key(pc) || *verdict != Verdict::Unknown;
            report.pairs += usize::from(evidence);
            report.right_before += usize::from(*verdict == Verdict::Right);
            report.wrong_before += usize::from(*verdict == Verdict::Wrong);
            report.right_after += usize::from(choice.is_some() || *verdict == Verdict::Right);
            report.wrong_after += usize::from(choice.is_none() && *verdict == Verdict::Wrong);
            let before = variable.coverage(*pc);
            let Some(choice) = choice else {
                if before == LocationCoverage::Missing || *verdict == Verdict::Wrong {
                    let left = match (m.choices.contains_key(pc), m.blank.contains(pc)) {
                        (true, _) => &mut report.withheld,
                        (_, true) => &mut report.no_moment,
                        _ => &mut report.no_relation,
                    };
                    *left += 1;
                }
                continue;
            };
            match before {
                LocationCoverage::Missing => {
                    report.missing += 1;
                    missing_pcs.insert(*pc);
                }
                LocationCoverage::Constant if !choice.relation.is_constant() => {
                    report.constant += 1;
                    constant_pcs.insert(*pc);
                }
                _ => {}
            }
            updated.insert(*pc);
            variables.insert((variable.name.clone(), variable.line));
            match choice.label {
                Label::Proved => report.proved += 1,
                Label::Validated => report.validated += 1,
            }
            let high = m.end(&study.optimized.graph, *pc, &choice.relation);
            push(&mut report.locations, variable, *pc, high, before, choice);
        }
    }
    report.missing_possible = missing_possible.len();
    report.constant_possible = constant_possible.len();
    report.updated = updated.len();
    report.variables = variables.len();
    report.missing_pcs = missing_pcs.len();
    report.constant_pcs = constant_pcs.len();
    report.loops = loops(study);
    report
}

fn push(list: &mut Vec<NewLocation>, variable: &PlacedVariable, low: u64, high: u64, before: LocationCoverage, choice: &mend::Choice) {
    let before = match before {
        LocationCoverage::Missing | LocationCoverage::OutOfScope => "missing",
        LocationCoverage::Constant => "constant",
        LocationCoverage::Computed => "computed",
    };
    let new = NewLocation {
        low,
        high,
        variable: variable.name.clone(),
        decl_line: variable.line,
        function: variable.function.clone(),
        before,
        relation: choice.relation.to_string(),
        label: choice.label,
        stage: choice.stage,
        lane: choice.lane,
    };
    if let Some(last) = list.last_mut()
        && last.high == low
        && (NewLocation { low: last.low, high: last.high, ..new.clone() }) == *last
    {
        last.high = high;
        return;
    }
    list.push(new);
}

/// Tied loops: head and source iterations per iteration.
fn loops(study: &Study<'_>) -> Vec<(u64, usize)> {
    let mut found: BTreeMap<u64, usize> = BTreeMap::new();
    for pair in &study.pairs {
        for (instance, tie) in pair.machine.instances.iter().zip(&pair.alignment.ties) {
            if let Some(tie) = tie {
                found.insert(study.optimized.graph.loops[instance.index].head, tie.unroll);
            }
        }
    }
    found.into_iter().collect()
}

/// The whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// Functions in address order.
    pub functions: Vec<FunctionReport>,
    /// Size before.
    pub size_before: u64,
    /// Size after.
    pub size_after: u64,
}
