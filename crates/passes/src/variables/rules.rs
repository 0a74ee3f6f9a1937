//! What LLVM's own guide allows to happen to variables is not an error. Each rule says which section it follows; `--all` shows
//! what each one hid.

use super::defs::DefId;
use super::judge::{Function, VariableErrorKind, VariableVerdict};
use super::proof::Proof;
use super::reach::Holding;
use super::recovery::Means;
use crate::history::ValueId;
use serde::Serialize;

/// A reason why a changed description is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VariableRule {
    /// LLVM was asked to express the dying value and declined.
    SalvageTried,
    /// The instruction stays and computes something else now.
    RewrittenInPlace,
    /// The block that assigned the variable was removed as a whole.
    AssignmentRemoved,
    /// The expression joins numbers of two types.
    MixedTypes,
    /// Several ways lead here, and not all have the older value.
    WaysDisagree,
    /// Machine code: nothing that the text shows holds the value any more.
    ValueGone,
}

impl VariableRule {
    /// All rules.
    pub const ALL: [VariableRule; 6] = [
        VariableRule::SalvageTried,
        VariableRule::RewrittenInPlace,
        VariableRule::AssignmentRemoved,
        VariableRule::MixedTypes,
        VariableRule::WaysDisagree,
        VariableRule::ValueGone,
    ];

    /// Its name, as `--all` prints it.
    pub fn name(self) -> &'static str {
        match self {
            VariableRule::SalvageTried => "salvage-tried",
            VariableRule::RewrittenInPlace => "rewritten-in-place",
            VariableRule::AssignmentRemoved => "assignment-removed",
            VariableRule::MixedTypes => "mixed-types",
            VariableRule::WaysDisagree => "ways-disagree",
            VariableRule::ValueGone => "value-gone",
        }
    }

    /// The section of LLVM's "How to Update Debug Info" it follows.
    pub fn section(self) -> &'static str {
        match self {
            VariableRule::SalvageTried | VariableRule::RewrittenInPlace | VariableRule::AssignmentRemoved => {
                "Deleting an IR-level Instruction"
            }
            VariableRule::MixedTypes => "Debug information descriptors: DIExpression",
            VariableRule::WaysDisagree => "Source Level Debugging: Variable locations in Instruction Selection and MIR",
            VariableRule::ValueGone => "Variable locations in Instruction Selection and MIR",
        }
    }

    /// What it allows, in a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            VariableRule::SalvageTried => {
                "the pass asked LLVM to salvage the value before deleting it, which is all that the guide asks of it"
            }
            VariableRule::RewrittenInPlace => {
                "the instruction is there and computes something else now, so that describing the variable by it would be wrong, and no proof \
                 says what gives the value it had"
            }
            VariableRule::AssignmentRemoved => "the block that assigned the variable was removed as a whole, and its description with it",
            VariableRule::MixedTypes => {
                "the expression joins a converted number with a plain one, which DWARF 5 forbids and debuggers refuse to evaluate; no guide of \
                 LLVM's says whether passes or the printing of DWARF must see to it"
            }
            VariableRule::WaysDisagree => {
                "several ways lead to the instruction and not all of them have the older value, so that no location is made for the variable \
                 there; the way with that value may be one that no execution takes"
            }
            VariableRule::ValueGone => "nothing is seen to hold the value any more, and optimized out is the honest answer",
        }
    }
}

/// The rule that allows what a verdict found.
pub fn apply(function: &Function<'_, '_>, verdict: &VariableVerdict) -> Option<VariableRule> {
    if verdict.clash.is_some() {
        return Some(VariableRule::MixedTypes);
    }
    if verdict.kind == VariableErrorKind::Stale
        && verdict.counterexample.is_none()
        && disagree(function, &verdict.after.iter().copied().collect())
    {
        return Some(VariableRule::WaysDisagree);
    }
    if verdict.kind != VariableErrorKind::Lost {
        return None;
    }
    let recovery = verdict.recovery.as_ref()?;
    let tried = |value: ValueId| matches!(value, ValueId::Inst(id) if function.history.life(id).salvage_tried.is_some());
    if recovery.by == Means::Expression && tried(recovery.value) {
        return Some(VariableRule::SalvageTried);
    }
    // Descriptions followed to the value that took its place, and were taken from it afterwards: it had changed by then.
    let followed = |value: ValueId| match value {
        ValueId::Inst(id) => function.history.life(id).redescribed.iter().any(|(to, _)| recovery.live.contains(to)),
        ValueId::Given(_) => false,
    };
    if recovery.by == Means::Heir && followed(recovery.value) {
        return Some(VariableRule::RewrittenInPlace);
    }
    let stays = |value: ValueId| matches!(value, ValueId::Inst(id) if function.history.life(id).after.is_some());
    // What the operands are proved to give could have been salvaged in front of the change.
    if recovery.by == Means::Expression && recovery.proof != Proof::Proved && stays(recovery.value) {
        return Some(VariableRule::RewrittenInPlace);
    }
    let assigned = verdict.before.iter().flatten().map(|id| function.described.before.get(*id).place);
    let removed = |place: crate::history::Place| {
        let block = function.history.block_before(place);
        !function.history.run.after[function.after].blocks.iter().any(|b| b.at == block)
    };
    assigned.into_iter().all(removed).then_some(VariableRule::AssignmentRemoved)
}

/// Whether descriptions that hold at one place say different things, or nothing on some way. Code generation makes a location
/// only of what all ways say.
pub(super) fn disagree(function: &Function<'_, '_>, holding: &Holding) -> bool {
    let says =
        |id: &Option<DefId>| id.map(|id| function.described.after.get(id)).map(|def| (&def.values, def.record.expression, def.kills));
    let mut all = holding.iter().map(says);
    let first = all.next().flatten();
    first.is_none() || all.any(|other| other != first)
}
