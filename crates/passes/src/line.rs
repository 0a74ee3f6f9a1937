//! What a pass did to the code of one line, whether it may or not: for a breakpoint that is never reached, or that the
//! debugger put on another line, since the code it was meant for lost the line, is gone, or runs elsewhere.
//!
//! Nothing here says that the pass is wrong: moving code and dropping its line is mostly what control flow asks for. It is
//! told where it is known that the line's breakpoint works in front of the pass and not behind it. Deliberately absent: what
//! the code of the line does, and which breakpoint a debugger chooses.

use crate::history::{Birth, History, InstId, Life};
use crate::judge::{ErrorKind, Operation, Verdict};
use crate::observation::{LocationId, StackId};
use crate::opcode;
use crate::pairs::{Manipulation, UpdatePair};
use crate::rules::Rule;

/// Which changes to a line's code count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChanges {
    /// All of them: those of the pass behind which the breakpoint fails.
    All,
    /// What stores and calls went through, which is what a line does: those of passes in front of it.
    OfEffects,
}

/// The changes that a run made to the code of a line, those of its stores and calls first.
pub fn changes(history: &History<'_>, line: u32, wanted: LineChanges) -> Vec<Verdict> {
    let is_on = |location: Option<LocationId>| location.is_some_and(|l| history.locations.get(l).line == line);
    let mut found: Vec<(bool, Verdict)> = Vec::new();
    for (index, life) in history.lives.iter().enumerate() {
        let id = InstId(index as u32);
        let change = if is_on(life.location_before) {
            taken_away(history, id, life, is_on(life.location_after))
        } else if is_on(life.location_after) {
            added(history, life)
        } else {
            None
        };
        let Some((manipulation, observed, stack, sources)) = change else { continue };
        let has_effect = sources.iter().chain([&id]).any(|id| has_effect(history, *id));
        if wanted == LineChanges::OfEffects && !(has_effect && is_on(life.location_before)) {
            continue;
        }
        let pair = UpdatePair { destination: id, sources: sources.clone(), manipulation, stack };
        let verdict = Verdict {
            pair,
            located: sources,
            expected: observed,
            observed,
            kind: Some(ErrorKind::Lost),
            hidden_by: Some(Rule::LineElsewhere),
            evidence: None,
        };
        found.push((has_effect, verdict));
    }
    found.sort_by_key(|(has_effect, _)| !has_effect);
    found.into_iter().map(|(_, verdict)| verdict).collect()
}

type Change = (Manipulation, Operation, StackId, Vec<InstId>);

/// What became of an instruction that was on the line.
fn taken_away(history: &History<'_>, id: InstId, life: &Life, stays_on_it: bool) -> Option<Change> {
    let Some(after) = life.after else {
        // What only computes may go: the line is where its effects are.
        let stack = life.death.unwrap_or_default();
        return has_effect(history, id).then_some((Manipulation::Delete, Operation::Drop, stack, vec![id]));
    };
    let before = life.before?;
    let stack = life.moved.unwrap_or_default();
    if !stays_on_it {
        let dropped = life.location_after.is_none_or(|l| history.locations.get(l).line == 0);
        let observed = if dropped { Operation::Drop } else { Operation::Merge };
        return Some((Manipulation::Move, observed, stack, vec![id]));
    }
    let went = life.moved.is_some() && history.block_before(before) != history.block_after(after);
    went.then_some((Manipulation::Move, Operation::Preserve, stack, vec![id]))
}

/// An instruction that is on the line now and was not there: a breakpoint on the line may stop at it instead.
fn added(history: &History<'_>, life: &Life) -> Option<Change> {
    let (stack, manipulation) = match life.birth {
        Birth::Created(stack) => (stack, Manipulation::Insert),
        Birth::Cloned(_, stack) => (stack, Manipulation::Clone),
        Birth::Original | Birth::Unseen => return None,
    };
    let place = life.after?;
    let record = crate::naming::at(&history.run.after, place).1;
    // Phis are no code, and what is made where the line's code was runs where that ran.
    let location = life.location_after?;
    let at = history.block_after(place);
    let of_line: Vec<InstId> = (0..history.lives.len() as u32)
        .map(InstId)
        .filter(|id| history.life(*id).location_before == Some(location) && history.life(*id).before.is_some())
        .collect();
    let was_here = of_line.iter().any(|id| history.life(*id).before.is_some_and(|p| history.block_before(p) == at));
    let counts = record.opcode != opcode::PHI && !record.callee.starts_with("llvm.dbg.") && !of_line.is_empty() && !was_here;
    counts.then(|| (manipulation, Operation::Preserve, stack, of_line.into_iter().take(1).collect()))
}

/// Whether an instruction does something that others see: it stores, or calls what is no debug intrinsic.
fn has_effect(history: &History<'_>, id: InstId) -> bool {
    let record = history.record_before(id).or_else(|| history.record_after(id));
    record.is_some_and(|r| r.opcode == opcode::STORE || (opcode::is_call(r.opcode) && !r.callee.starts_with("llvm.dbg.")))
}
