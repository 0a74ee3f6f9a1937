//! Decides, for one function, what each variable's location should be at each PC, and why.

use crate::debug::{FrameBase, LocationCoverage, PlacedVariable, TypeClass};
use crate::evaluate;
use crate::fit::{self, Preference};
use crate::flow::Graph;
use crate::prove;
use crate::relation::Relation;
use crate::rewrite::{Edit, EditRange, RangeContent};
use crate::spread::{self, Direction, Facts, Reversibility};
use crate::study::{RunEvidence, Study};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How a relation is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Held in every run, over several calls, inputs and layouts.
    Validated,
    /// Shown for all runs.
    Proved,
}

/// How a relation came to its PC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Fitted at a correlated point.
    Cut,
    /// Carried forward unchanged.
    Forward,
    /// Carried forward across a reversible instruction.
    Reversed,
    /// Carried backward.
    Backward,
    /// Fitted at this very PC.
    Observed,
}

/// Which stages are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Forward data flow.
    pub forward: bool,
    /// Reversibility in it.
    pub reverse: bool,
    /// Backward data flow.
    pub backward: bool,
    /// Fitting at every PC.
    pub observe: bool,
}

impl Default for Stages {
    fn default() -> Self {
        Self { forward: true, reverse: true, backward: true, observe: true }
    }
}

/// What a relation must be to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Proved.
    Proved,
    /// Validated is enough.
    Validated,
}

/// A new location at a PC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Choice {
    /// The relation.
    pub relation: Relation,
    /// How it is known.
    pub label: Label,
    /// How it came here.
    pub stage: Stage,
    /// Source iterations past the first that this PC stands for, inside a loop.
    pub lane: Option<usize>,
}

/// Whether what the compiler wrote was right in the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Right in every run.
    Right,
    /// Wrong in some run.
    Wrong,
    /// No run says.
    Unknown,
}

/// One variable of the function.
#[derive(Clone, Debug)]
pub struct Mended {
    /// Index among the function's variables.
    pub variable: usize,
    /// New locations by PC.
    pub choices: BTreeMap<u64, Choice>,
    /// Other relations that held in every run, by PC.
    pub others: BTreeMap<u64, Vec<Relation>>,
    /// PCs whose relation rests on too little: it may be proved, and is not worth writing else.
    pub weak: BTreeSet<u64>,
    /// What the compiler wrote, judged, by PC in scope.
    pub verdicts: BTreeMap<u64, Verdict>,
    /// PCs that stand for no known moment of the source, or for one at which the variable has no value.
    pub blank: BTreeSet<u64>,
    /// Whether the source takes its address: a callee may change it.
    pub escapes: bool,
}

impl Mended {
    /// Takes back what is neither proved nor well supported.
    pub fn forget_weak(&mut self) {
        let weak = std::mem::take(&mut self.weak);
        self.choices.retain(|pc, choice| choice.label == Label::Proved || !weak.contains(pc));
    }

    /// One past the last address at which a new location at `pc` holds. The frame of a caller is looked up inside its call: there
    /// what is in a register that the callee need not keep is gone, and so is a copy of what the callee may change. Such a
    /// location ends in front of the call's last byte, as those of compilers do.
    pub fn end(&self, graph: &Graph, pc: u64, relation: &Relation) -> u64 {
        let next = graph.instructions.get(&pc).map_or(pc + 1, iced_x86::Instruction::next_ip);
        let lost = graph.calls.binary_search(&pc).is_ok() && (self.escapes || !relation.outlives_calls());
        if lost { next - 1 } else { next }
    }

    /// The relations that may be written at a PC, the chosen one first.
    pub fn relations(&self, pc: u64) -> impl Iterator<Item = &Relation> {
        let chosen = self.choices.get(&pc).map(|c| &c.relation);
        chosen.into_iter().chain(self.others.get(&pc).into_iter().flatten().filter(move |r| Some(*r) != chosen)).take(MAX_RELATIONS)
    }
}

/// Relations of one variable at one PC that a proof is tried for.
const MAX_RELATIONS: usize = 6;

/// Points where both builds are correlated: entry, loop heads, calls, exits.
pub fn cut_points(study: &Study<'_>) -> BTreeSet<u64> {
    let graph = &study.optimized.graph;
    let mut cuts: BTreeSet<u64> = graph.loops.iter().map(|l| l.head).collect();
    cuts.insert(study.optimized.function.entry());
    cuts.extend(&graph.calls);
    cuts.extend(&graph.exits);
    cuts
}

/// True when a variable can be repaired at all.
pub fn repairable(variable: &PlacedVariable) -> bool {
    variable.ty.class != TypeClass::Other && matches!(variable.ty.size, 1 | 2 | 4 | 8)
}

/// Relations by PC and variable name, from a proof file.
pub type Given = BTreeMap<u64, Vec<(String, Relation)>>;

/// Finds relations for every variable, all labelled validated: what a file gives is somebody's word until it is proved here.
pub fn mend(study: &Study<'_>, stages: Stages, given: Option<&Given>) -> Vec<Mended> {
    let cuts = cut_points(study);
    let mut all = Vec::new();
    for (n, variable) in study.optimized.function.variables.iter().enumerate() {
        let Some(slot) = study.slot(variable).filter(|_| repairable(variable)) else { continue };
        let evidence: BTreeMap<u64, RunEvidence> = study
            .optimized
            .graph
            .instructions
            .keys()
            .filter(|pc| variable.in_scope(**pc))
            .map(|pc| (*pc, study.evidence(*pc, slot)))
            .collect();
        all.push(mend_variable(study, n, variable, &evidence, &cuts, stages, given));
    }
    all
}

fn mend_variable(
    study: &Study<'_>,
    n: usize,
    variable: &PlacedVariable,
    evidence: &BTreeMap<u64, RunEvidence>,
    cuts: &BTreeSet<u64>,
    stages: Stages,
    given: Option<&Given>,
) -> Mended {
    let graph = &study.optimized.graph;
    let usable = |pc: &u64| evidence.get(pc).filter(|e| e.unknown == 0 && !e.targets.is_empty());
    let fitted = |pc: &u64| -> Vec<Relation> {
        let Some(e) = usable(pc) else { return Vec::new() };
        let preference = if graph.innermost(*pc).is_some() { Preference::Registers } else { Preference::Constants };
        fit::fit(&study.samples(e), variable.ty, preference)
    };
    let at_cuts: BTreeMap<u64, Vec<Relation>> = match given {
        None => cuts.iter().map(|pc| (*pc, fitted(pc))).collect(),
        Some(points) => {
            let own = |list: &Vec<(String, Relation)>| list.iter().filter(|(n, _)| *n == variable.name).map(|(_, r)| r.clone()).collect();
            points.iter().map(|(pc, list)| (*pc, own(list))).collect()
        }
    };
    let stages = Stages { observe: stages.observe && given.is_none(), ..stages };
    let label = Label::Validated;
    let facts: Facts = at_cuts.iter().map(|(pc, r)| (*pc, r.iter().cloned().collect())).collect();
    let none = Facts::new();
    let forward = if stages.forward { spread::spread(graph, &facts, Direction::Forward, Reversibility::Ignored) } else { none.clone() };
    let reversed = if stages.forward && stages.reverse {
        spread::spread(graph, &facts, Direction::Forward, Reversibility::Used)
    } else {
        none.clone()
    };
    let backward = if stages.backward {
        let reversibility = if stages.reverse { Reversibility::Used } else { Reversibility::Ignored };
        spread::spread(graph, &facts, Direction::Backward, reversibility)
    } else {
        none
    };
    let mut choices: BTreeMap<u64, Choice> = BTreeMap::new();
    let mut others: BTreeMap<u64, Vec<Relation>> = BTreeMap::new();
    let mut weak = BTreeSet::new();
    let mut verdicts = BTreeMap::new();
    let mut blank = BTreeSet::new();
    let mut previous: Option<Relation> = None;
    for (pc, e) in evidence {
        verdicts.insert(*pc, verdict(study, variable, *pc, e));
        if usable(pc).is_none() {
            blank.insert(*pc);
            previous = None;
            continue;
        }
        let samples = study.samples(e);
        let mut candidates: Vec<(Relation, Stage)> = Vec::new();
        candidates.extend(at_cuts.get(pc).into_iter().flatten().map(|r| (r.clone(), Stage::Cut)));
        for (facts, stage) in [(&forward, Stage::Forward), (&reversed, Stage::Reversed), (&backward, Stage::Backward)] {
            candidates.extend(facts.get(pc).into_iter().flatten().map(|r| (r.clone(), stage)));
        }
        // The source's own updates kill: a relation must still give a value the source has here.
        candidates.retain(|(r, _)| fit::holds(r, &samples, variable.ty));
        if candidates.is_empty() && stages.observe {
            candidates.extend(fitted(pc).into_iter().map(|r| (r, Stage::Observed)));
        }
        if !study.is_common(e) {
            candidates.sort_by_key(|(r, _)| r.is_constant());
        }
        if !study.is_supported(e) {
            let copies = |r: &Relation| match r {
                Relation::Affine(a) => a.is_copy(),
                Relation::Vector(_) => true,
                Relation::Bits(_) => false,
            };
            candidates.retain(|(r, _)| copies(r));
        }
        let kept = previous.as_ref().and_then(|p| candidates.iter().find(|(r, _)| r == p));
        let rank = |r: &Relation| match r {
            Relation::Affine(a) => (a.reads_frame(), a.terms.len(), a.divisor, a.constant.unsigned_abs()),
            Relation::Vector(_) => (false, 2, 1, 0),
            Relation::Bits(_) => (false, 0, 1, 0),
        };
        let chosen = kept.cloned().or_else(|| {
            let first = candidates.first().map(|c| c.1)?;
            // Within a stage the simplest; constants keep the place that the fit gave them.
            if first == Stage::Cut || first == Stage::Observed {
                return candidates.first().cloned();
            }
            candidates.iter().filter(|c| c.1 == first).min_by_key(|c| rank(&c.0)).cloned()
        });
        previous = chosen.as_ref().map(|c| c.0.clone());
        if let Some((relation, stage)) = chosen {
            if !study.is_well_supported(e, &relation) {
                weak.insert(*pc);
            }
            let lane = usual_lane(e);
            others.insert(*pc, candidates.into_iter().map(|(r, _)| r).collect());
            choices.insert(*pc, Choice { relation, label, stage, lane });
        }
    }
    let escapes = study.slot(variable).is_none_or(|slot| prove::is_address_taken(&study.reference, &study.slots[slot]));
    Mended { variable: n, choices, others, weak, verdicts, blank, escapes }
}

/// The lane that most targets have: where stores change nothing others look the same.
fn usual_lane(evidence: &RunEvidence) -> Option<usize> {
    let mut votes: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for (_, target) in &evidence.targets {
        *votes.entry(target.lane).or_insert(0) += 1;
    }
    votes.into_iter().max_by_key(|(_, n)| *n).and_then(|(lane, _)| lane)
}

/// Judges what the compiler wrote at a PC.
fn verdict(study: &Study<'_>, variable: &PlacedVariable, pc: u64, evidence: &RunEvidence) -> Verdict {
    let coverage = variable.coverage(pc);
    if matches!(coverage, LocationCoverage::OutOfScope | LocationCoverage::Missing) || evidence.targets.is_empty() {
        return Verdict::Unknown;
    }
    let location = variable.locations.iter().find(|l| pc >= l.low && pc < l.high);
    let mut right = 0;
    for (at, target) in &evidence.targets {
        let state = &study.instant(*at).machine;
        let value = match (variable.constant, location) {
            (Some(c), _) => Some(crate::relation::truncate(c as u64, variable.ty.size)),
            (None, Some(l)) => {
                let base = match study.optimized.function.frame_base {
                    FrameBase::Cfa => Some(state.cfa),
                    FrameBase::FramePointer => Some(state.gpr[trueline_machine::algebra::RBP as usize]),
                    FrameBase::Other => Some(state.gpr[trueline_machine::algebra::RSP as usize]),
                };
                evaluate::evaluate(&l.expression, base, variable.ty.size, state)
            }
            (None, None) => None,
        };
        match value {
            // The compiler may follow the variable inside a line.
            Some(v) if target.seen.contains(&v) || target.allowed.contains(&v) => right += 1,
            Some(_) => return Verdict::Wrong,
            None => {}
        }
    }
    if right == evidence.targets.len() && evidence.unknown == 0 { Verdict::Right } else { Verdict::Unknown }
}

/// True when a choice may be written over what is there.
pub fn admitted(variable: &PlacedVariable, pc: u64, choice: &Choice, verdict: Verdict, trust: Trust) -> bool {
    match variable.coverage(pc) {
        LocationCoverage::OutOfScope => false,
        _ if choice.label != Label::Proved && trust != Trust::Validated => false,
        LocationCoverage::Missing => true,
        // What is right stays.
        _ => verdict == Verdict::Wrong,
    }
}

/// The new location list of a variable, or `None` when nothing changes.
pub fn edit(study: &Study<'_>, mended: &Mended, trust: Trust) -> Option<Edit> {
    let variable = &study.optimized.function.variables[mended.variable];
    // Each with the address up to which nothing else holds.
    let mut new: Vec<(EditRange, u64)> = Vec::new();
    for (pc, choice) in &mended.choices {
        let verdict = mended.verdicts.get(pc).copied().unwrap_or(Verdict::Unknown);
        if !admitted(variable, *pc, choice, verdict, trust) {
            continue;
        }
        let next = study.optimized.graph.instructions.get(pc).map_or(*pc + 1, iced_x86::Instruction::next_ip);
        let high = mended.end(&study.optimized.graph, *pc, &choice.relation);
        let content = RangeContent::New(choice.relation.clone(), variable.ty.size);
        match new.last_mut() {
            Some((last, until)) if last.high == *pc && last.content == content => (last.high, *until) = (high, next),
            _ => new.push((EditRange { low: *pc, high, content }, next)),
        }
    }
    if new.is_empty() {
        return None;
    }
    let mut ranges: Vec<EditRange> = new.iter().map(|(range, _)| range.clone()).collect();
    let old: Vec<(u64, u64, RangeContent)> = match variable.constant {
        Some(c) => variable.scope.iter().map(|(l, h)| (*l, *h, RangeContent::Constant(c))).collect(),
        None => variable.locations.iter().map(|l| (l.low, l.high, RangeContent::Old(l.expression.clone()))).collect(),
    };
    for (low, high, content) in old {
        let mut at = low;
        for (n, until) in new.iter().filter(|(n, until)| *until > low && n.low < high) {
            if n.low > at {
                ranges.push(EditRange { low: at, high: n.low, content: content.clone() });
            }
            at = at.max(*until);
        }
        if at < high {
            ranges.push(EditRange { low: at, high, content });
        }
    }
    ranges.sort_by_key(|r| (r.low, r.high));
    Some(Edit { die: variable.die, ranges })
}
