//! Under which numbers a block is reached: the conditions of branches and switches on the way, as far as they are computed
//! from the same leaves.
//!
//! A pass may replace a value by one that is equal only where it matters, and a counterexample to a description counts only
//! if some execution takes it there. Deliberately absent: what memory, calls and loops tell of a number. A leaf of which such
//! things may tell something is no free leaf, and nothing is claimed about it.

use super::defs::Side;
use super::judge::Function;
use super::meaning::{Assignment, Choices, Depth, Reader, Term};
use crate::history::ValueId;
use crate::opcode;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use trueline_llvm_hook::wire::{BlockRecord, FunctionRecord, InstructionRecord, POINTER, known};

/// What decides where a block leads.
enum Choice {
    /// Nothing that the numbers say: every way is open.
    Free,
    /// The numbers have a part in it that is not followed: no way is taken to be open.
    Unknown,
    /// A condition: the first successor where it holds, the second where not.
    Branch(Rc<Term>),
    /// A number and where each leads; the first successor is for all others.
    Switch(Rc<Term>, Vec<(u64, u64)>),
}

/// The ways through both sides of a function that numbers of some leaves leave open.
pub struct Context<'f, 'a, 'h> {
    function: &'f Function<'a, 'h>,
    /// The leaves with their widths; those of conditions that have a part in them were added.
    pub widths: BTreeMap<ValueId, u32>,
    choices: [Vec<Choice>; 2],
}

impl<'f, 'a, 'h> Context<'f, 'a, 'h> {
    /// The context of terms with these leaves. `None` where something may be known of a leaf that is not followed here.
    pub fn of(function: &'f Function<'a, 'h>, mut widths: BTreeMap<ValueId, u32>) -> Option<Self> {
        if !widths.keys().all(|leaf| function.is_free(*leaf)) {
            return None;
        }
        let sides = [Side::Before, Side::After];
        let conditions = sides.map(|side| conditions(function, side));
        // A condition over a leaf and others says something of the leaf through them.
        loop {
            let known = widths.len();
            for term in conditions.iter().flatten().filter_map(|c| c.as_ref()?.term.as_ref()) {
                let mut leaves = BTreeMap::new();
                term.leaf_widths(&mut leaves);
                let shares = leaves.keys().any(|leaf| widths.contains_key(leaf));
                if shares && leaves.keys().all(|leaf| function.is_free(*leaf)) {
                    widths.extend(leaves);
                }
            }
            if widths.len() == known {
                break;
            }
        }
        let leaves: BTreeSet<ValueId> = widths.keys().copied().collect();
        if function.assumes_something_of(&leaves) {
            return None;
        }
        let choices = std::array::from_fn(|side| {
            let decide = |condition: &Option<Condition>| choose(function, sides[side], condition.as_ref(), &leaves);
            conditions[side].iter().map(decide).collect()
        });
        Some(Self { function, widths, choices })
    }

    /// Whether an execution with these numbers can reach a block of one side.
    pub fn reaches(&self, side: Side, target: u32, numbers: &Assignment) -> bool {
        let (record, choices) = match side {
            Side::Before => (self.function.record(Side::Before), &self.choices[0]),
            Side::After => (self.function.record(Side::After), &self.choices[1]),
        };
        let index: HashMap<u64, usize> = record.blocks.iter().enumerate().map(|(i, b)| (b.at, i)).collect();
        let mut seen = vec![false; record.blocks.len()];
        let mut work = vec![0usize];
        while let Some(at) = work.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let ways = open_ways(&record.blocks[at], &choices[at], numbers);
            work.extend(ways.iter().filter_map(|to| index.get(to)));
        }
        seen.get(target as usize).copied().unwrap_or(false)
    }
}

/// The successors that numbers leave open.
fn open_ways(block: &BlockRecord, choice: &Choice, numbers: &Assignment) -> Vec<u64> {
    match choice {
        Choice::Free => block.successors.clone(),
        Choice::Unknown => Vec::new(),
        // A branch on poison is undefined: no execution goes on.
        Choice::Branch(term) => match term.evaluate(numbers, true) {
            Some(value) => block.successors.get(usize::from(value & 1 == 0)).copied().into_iter().collect(),
            None => Vec::new(),
        },
        Choice::Switch(term, cases) => match term.evaluate(numbers, true) {
            Some(value) => {
                let case = cases.iter().find(|(number, _)| *number == value).map(|(_, to)| *to);
                case.or_else(|| block.successors.first().copied()).into_iter().collect()
            }
            None => Vec::new(),
        },
    }
}

/// What the end of a block looks at.
struct Condition {
    value: ValueId,
    term: Option<Rc<Term>>,
    cases: Option<Vec<(u64, u64)>>,
}

/// The conditions of all blocks of one side, `None` for a block that does not choose.
fn conditions(function: &Function<'_, '_>, side: Side) -> Vec<Option<Condition>> {
    let record = function.record(side);
    let reader = function.reader(side);
    let of = |block: &Arc<BlockRecord>| {
        let last = block.instructions.last()?;
        let chooses = matches!(last.opcode, opcode::BR | opcode::SWITCH) && block.successors.len() > 1;
        let value = reader.value(*last.operands.first().filter(|_| chooses)?);
        let cases = (last.opcode == opcode::SWITCH).then(|| cases_of(function, last));
        Some(Condition { value, term: reader.term(value), cases: cases.map(Option::unwrap_or_default) })
    };
    record.blocks.iter().map(of).collect()
}

/// The numbers of a switch and where they lead; `None` where one is not known.
fn cases_of(function: &Function<'_, '_>, switch: &InstructionRecord) -> Option<Vec<(u64, u64)>> {
    let pairs = switch.operands.get(2..)?.chunks_exact(2);
    pairs.map(|pair| Some((function.number(pair[0])?, pair[1]))).collect()
}

fn choose(function: &Function<'_, '_>, side: Side, condition: Option<&Condition>, leaves: &BTreeSet<ValueId>) -> Choice {
    let Some(condition) = condition else { return Choice::Free };
    let followed = condition.term.as_ref().filter(|term| {
        let mut own = BTreeSet::new();
        term.leaves(&mut own);
        own.is_subset(leaves)
    });
    match (followed, &condition.cases) {
        (Some(term), None) => Choice::Branch(Rc::clone(term)),
        (Some(term), Some(cases)) if !cases.is_empty() => Choice::Switch(Rc::clone(term), cases.clone()),
        _ if function.depends_on(side, condition.value, leaves) => Choice::Unknown,
        _ => Choice::Free,
    }
}

impl<'h> Function<'_, 'h> {
    /// The function on one side.
    pub(super) fn record(&self, side: Side) -> &'h FunctionRecord {
        match side {
            Side::Before => &self.history.run.before[self.before],
            Side::After => &self.history.run.after[self.after],
        }
    }

    /// Reads terms of one side.
    pub(super) fn reader(&self, side: Side) -> Reader<'_, 'h> {
        let function = if side == Side::Before { self.before } else { self.after };
        Reader { history: self.history, referents: self.referents, side, function, choices: Choices::Opaque, depth: Depth::Full }
    }

    pub(super) fn number(&self, at: u64) -> Option<u64> {
        match self.referents.constants.get(&at)?.kind {
            trueline_llvm_hook::wire::ConstantKind::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Whether a pass can know nothing of a leaf but what the conditions in front of it say: an argument of a function that
    /// is looked at alone, or what is loaded, neither with a range.
    pub(super) fn is_free(&self, leaf: ValueId) -> bool {
        match leaf {
            ValueId::Given(at) => {
                let argument = self.record(Side::Before).arguments.iter().find(|a| a.at == at);
                !self.history.run.unit.is_empty() && argument.is_some_and(|a| !a.is_ranged && a.type_code != POINTER)
            }
            ValueId::Inst(id) => {
                let is_plain = |r: &InstructionRecord| r.opcode == opcode::LOAD && r.known & known::RANGED == 0 && r.type_code != POINTER;
                self.history.record_before(id).is_some_and(is_plain) && self.history.record_after(id).is_some_and(is_plain)
            }
        }
    }

    /// Whether the function is told to assume something that leaves have a part in.
    fn assumes_something_of(&self, leaves: &BTreeSet<ValueId>) -> bool {
        let calls = self.record(Side::Before).blocks.iter().flat_map(|b| &b.instructions);
        let assumes = calls.filter(|i| i.callee == "llvm.assume" || i.callee.starts_with("llvm.experimental.guard"));
        let mut operands = assumes.flat_map(|i| &i.operands).map(|at| self.history.value_before(*at));
        operands.any(|value| self.depends_on(Side::Before, value, leaves))
    }

    /// Whether a value is one of some leaves or computed from one, in whatever way.
    fn depends_on(&self, side: Side, value: ValueId, leaves: &BTreeSet<ValueId>) -> bool {
        let mut seen = HashSet::new();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            if leaves.contains(&value) {
                return true;
            }
            let ValueId::Inst(id) = value else { continue };
            if !seen.insert(id) {
                continue;
            }
            let record = if side == Side::Before { self.history.record_before(id) } else { self.history.record_after(id) };
            let value = |at: &u64| if side == Side::Before { self.history.value_before(*at) } else { self.history.value_after(*at) };
            work.extend(record.into_iter().flat_map(|r| &r.operands).map(value));
        }
        false
    }
}
