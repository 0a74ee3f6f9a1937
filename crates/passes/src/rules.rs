//! What LLVM's own rules allow is not an error. Each rule says which section of LLVM's "How to Update
//! Debug Info" it follows; `--all` shows what each one hid.

use crate::flow::BlockIndex;
use crate::history::{Birth, Write};
use crate::judge::{Case, ErrorKind, Operation};
use crate::opcode;
use crate::pairs::Manipulation;
use serde::Serialize;

/// A reason why a difference between the expected and the observed operation is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The pass took the location away on purpose.
    ExplicitDrop,
    /// The destination is not in the block of its source.
    LeftItsBlock,
    /// The source is still in its place with its location.
    SourceSurvives,
    /// The location of the sources merged would have no line.
    MergeHasNoLine,
    /// The destination has line 0: compiler-generated, on purpose.
    LineZero,
    /// A call that can be inlined or can crash must have a location.
    CallKeepsLocation,
    /// Every path through the destination passes another instruction with the same location.
    LocationOnPath,
    /// A phi was copied, which only happens together with the block it heads.
    PhiCopy,
    /// The destination stands for no instruction of the original.
    StandsForNothing,
    /// The code of a line lost the line, is gone or runs elsewhere, as it may: only told where a breakpoint fails by it.
    LineElsewhere,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 10] = [
        Rule::ExplicitDrop,
        Rule::LeftItsBlock,
        Rule::SourceSurvives,
        Rule::MergeHasNoLine,
        Rule::LineZero,
        Rule::CallKeepsLocation,
        Rule::LocationOnPath,
        Rule::PhiCopy,
        Rule::StandsForNothing,
        Rule::LineElsewhere,
    ];

    /// Its name, as `--all` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::ExplicitDrop => "explicit-drop",
            Rule::LeftItsBlock => "left-its-block",
            Rule::SourceSurvives => "source-survives",
            Rule::MergeHasNoLine => "merge-has-no-line",
            Rule::LineZero => "line-zero",
            Rule::CallKeepsLocation => "call-keeps-location",
            Rule::LocationOnPath => "location-on-path",
            Rule::PhiCopy => "phi-copy",
            Rule::StandsForNothing => "stands-for-nothing",
            Rule::LineElsewhere => "line-elsewhere",
        }
    }

    /// The section of LLVM's "How to Update Debug Info: A Guide for LLVM Pass Authors" it follows.
    pub fn section(self) -> &'static str {
        match self {
            Rule::ExplicitDrop | Rule::LineZero | Rule::CallKeepsLocation | Rule::StandsForNothing | Rule::LineElsewhere => {
                "When to drop an instruction location"
            }
            Rule::LeftItsBlock | Rule::SourceSurvives | Rule::LocationOnPath | Rule::PhiCopy => "When to preserve an instruction location",
            Rule::MergeHasNoLine => "When to merge instruction locations",
        }
    }

    /// What it allows, in a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Rule::ExplicitDrop => {
                "the pass dropped the location explicitly, and the instruction is not always executed together with its source"
            }
            Rule::LeftItsBlock => {
                "a location need only be preserved while the instruction stays in its block or in one that is always executed with it"
            }
            Rule::SourceSurvives => "the source is still in its block with its location and in use, so no breakpoint is lost",
            Rule::MergeHasNoLine => "the sources have different lines, and their merged location would have none",
            Rule::LineZero => "line 0 marks the instruction as belonging to no line, which the guide accepts instead of dropping",
            Rule::CallKeepsLocation => "a call must keep a location, since it may be inlined or be the frame of a crash",
            Rule::LocationOnPath => "every path through the destination already has this location, so nothing is added to any path",
            Rule::PhiCopy => "a phi is copied with the block it heads, which the copy stands for",
            Rule::StandsForNothing => {
                "a new instruction that takes nobody's place may have the location it was made for; the guide speaks of instructions that \
                 stand for others"
            }
            Rule::LineElsewhere => {
                "a pass may move, merge and delete code; a breakpoint on its line then stops elsewhere or not at all, and the guide has no \
                 update that would keep it"
            }
        }
    }
}

/// Whether a rule allows the difference between the expected operation and what is there.
type Allows = fn(Operation, &Case<'_, '_>) -> bool;

/// The first rule that allows the difference.
pub fn apply(kind: ErrorKind, expected: Operation, case: &Case<'_, '_>) -> Option<Rule> {
    let rules: &[(Rule, Allows)] = match kind {
        ErrorKind::Lost => &[
            (Rule::ExplicitDrop, |_, c| dropped_on_purpose(c)),
            (Rule::LineZero, |_, c| c.location.is_some()),
            (Rule::MergeHasNoLine, |e, c| e == Operation::Merge && !merge_has_a_line(c)),
            (Rule::LeftItsBlock, |_, c| !in_a_sources_block(c)),
            (Rule::SourceSurvives, |_, c| sources_survive(c)),
        ],
        ErrorKind::Incorrect => &[
            (Rule::CallKeepsLocation, |_, c| is_real_call(c)),
            (Rule::LocationOnPath, |_, c| c.location_is_on_path),
            (Rule::PhiCopy, |_, c| is_phi_copy(c)),
            (Rule::StandsForNothing, |_, c| c.pair.manipulation == Manipulation::Insert),
        ],
    };
    rules.iter().find(|(_, allows)| allows(expected, case)).map(|(rule, _)| *rule)
}

fn dropped_on_purpose(case: &Case<'_, '_>) -> bool {
    let life = case.history.life(case.pair.destination);
    let writes = &life.writes;
    // Moved and cloned instructions bring their location along: without one, it was taken away. For a created
    // one only a write tells.
    let brought_one = match life.birth {
        Birth::Original => life.location_before.is_some(),
        Birth::Cloned(from, _) => case.history.life(from).location_before.is_some(),
        Birth::Created(_) | Birth::Unseen => false,
    };
    let took_away = brought_one || writes.contains(&Write::Drop) || writes.last() == Some(&Write::Clear);
    // The path sets did not ask for a drop, or nothing would be lost. Where the instruction is always executed with its
    // source there was nothing to drop either, however much on purpose it was.
    took_away && !in_a_sources_block(case)
}

fn merge_has_a_line(case: &Case<'_, '_>) -> bool {
    let key = |id| {
        let location = case.history.life(id).location_before?;
        let location = case.history.locations.get(location);
        Some((location.line, location.scope, location.inlined_at))
    };
    case.located.windows(2).all(|w| key(w[0]) == key(w[1]))
}

/// Whether the destination is in the block of a source, or in one that is always executed with it.
fn in_a_sources_block(case: &Case<'_, '_>) -> bool {
    let history = case.history;
    let blocks = &history.run.after[case.place.function].blocks;
    case.located.iter().any(|source| {
        let before = history.life(*source).before.expect("an original");
        let together = || {
            let at = history.block_before(before);
            let still = blocks.iter().position(|b| b.at == at && !history.new_blocks.contains(&at));
            still.is_some_and(|index| case.flow.always_together(case.place.block, BlockIndex(index as u32)))
        };
        // A phi elsewhere is a merge point of its own, however often it is executed.
        let is_phi = history.record_after(case.pair.destination).is_some_and(|r| r.opcode == opcode::PHI);
        case.provenance.same_block(history, case.place, before) || (!is_phi && together())
    })
}

/// Whether every source is where it was, with its location, and still used: its value was not replaced
/// but wrapped. A conversion that is the only user left stands for the value in every use.
fn sources_survive(case: &Case<'_, '_>) -> bool {
    let after = &case.history.run.after[case.place.function];
    let uses = |at: u64| after.blocks.iter().flat_map(|b| &b.instructions).any(|i| i.operands.contains(&at));
    case.located.iter().all(|source| {
        let life = case.history.life(*source);
        let (Some(before), Some(place)) = (life.before, life.after) else { return false };
        let stayed = case.history.block_before(before) == case.history.block_after(place);
        let stands_for = || {
            let destination = case.history.record_after(case.pair.destination);
            let at = case.history.record_after(*source).map(|r| r.at);
            let all = after.blocks.iter().flat_map(|b| &b.instructions);
            let mut users = all.filter(|i| at.is_some_and(|at| i.operands.contains(&at)));
            destination.is_some_and(|d| opcode::is_conversion(d.opcode) && users.all(|user| user.at == d.at))
        };
        let stayed = stayed && !(case.pair.manipulation == Manipulation::Rewrite && stands_for());
        stayed && life.location_after == life.location_before && case.history.record_after(*source).is_some_and(|r| uses(r.at))
    })
}

fn is_phi_copy(case: &Case<'_, '_>) -> bool {
    let is_phi = case.history.record_after(case.pair.destination).is_some_and(|r| r.opcode == opcode::PHI);
    is_phi && matches!(case.history.life(case.pair.destination).birth, Birth::Cloned(..))
}

fn is_real_call(case: &Case<'_, '_>) -> bool {
    case.history.record_after(case.pair.destination).is_some_and(|r| opcode::is_call(r.opcode) && !r.callee.starts_with("llvm."))
}
