//! Compares what describes a variable in front of a pass and behind it, at every instruction that stays where it is.

use super::defs::{Def, DefId, Defs, Side, VariableKey};
use super::dominance::Dominance;
use super::early_exit::any_decided;
use super::meaning::{Assignment, Choices, Depth, Extension, Reader, differ};
use super::proof::Proof;
use super::reach::{Holding, Reaching};
use super::recovery::{Recovery, Survivors};
use super::rules::{self, VariableRule};
use super::unequal::ChangedInPlace;
use super::unpassed::Unpassed;
use crate::flow::Flow;
use crate::history::{Birth, History, Place, ValueId};
use crate::observation::{Referents, StackId};
use crate::opcode;
use crate::pairs::folded;
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What is wrong with the description of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VariableErrorKind {
    /// The value is still there, or can be expressed by what is, and nothing describes it.
    Lost,
    /// Another assignment's value is shown than on any path of the original.
    Stale,
    /// The expression is not the value that it stands for.
    Wrong,
    /// A value is named where it does not exist yet, or the scope is another function's.
    Misplaced,
}

/// A description that a debugger would be misled by.
#[derive(Clone, Debug)]
pub struct VariableVerdict {
    /// What is wrong.
    pub kind: VariableErrorKind,
    /// The variable.
    pub key: VariableKey,
    /// The function's index behind the pass.
    pub function: usize,
    /// The instruction where it shows, in front of the pass and behind it.
    pub point: Option<(Place, Place)>,
    /// What described the variable there before; `None` for nothing.
    pub before: Vec<Option<DefId>>,
    /// What describes it there now.
    pub after: Vec<Option<DefId>>,
    /// How the value could be described, for a lost one.
    pub recovery: Option<Recovery>,
    /// Numbers for which the expression gives another result.
    pub counterexample: Option<Counterexample>,
    /// The operation of the expression at which numbers of two types meet.
    pub clash: Option<u64>,
    /// Where in the pass.
    pub stack: StackId,
    /// The rule by which it is no error all the same.
    pub hidden_by: Option<VariableRule>,
}

/// Numbers that show an expression to be wrong.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The leaves.
    pub numbers: Assignment,
    /// The value in front of the pass.
    pub value: u64,
    /// What the expression gives.
    pub described: Option<u64>,
    /// The bits that are compared.
    pub bits: u32,
    /// How the description came to be wrong.
    pub by: Deviation,
}

/// How a description came to give another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// LLVM expressed the value by others.
    Expression,
    /// It followed the value to what took its place.
    Replacement,
    /// The instruction that it names was changed.
    InPlace,
    /// The loop that computes it is left earlier.
    EarlyExit,
    /// It is known to be shown wrongly from this pass on, and nothing shows that it still says the same.
    Suspected,
    /// A later pass shows it wrongly, and here it began to say the number that is shown.
    ShownLater,
    /// The instruction that it names has another constant, whose number is not known.
    OtherConstant,
    /// It names an argument that a caller does not pass any more.
    Unpassed,
    /// It was copied to one of the ways that lead to a phi, and names the number of another.
    OtherWay,
}

/// Which variables are judged, and what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attention<'a> {
    /// All of them, and a value is only called wrong where an execution is seen to get there.
    #[default]
    All,
    /// All of them; the one of this name is known to be shown rightly in front of the pass and wrongly behind it, so that no
    /// execution need be looked for.
    Suspect(&'a str),
    /// The one of this name alone, which a later pass shows wrongly: with this number, where one is known.
    Only(&'a str, Option<u64>),
}

/// What came of one run of a pass.
#[derive(Debug, Default)]
pub struct Judged {
    /// What is wrong.
    pub verdicts: Vec<VariableVerdict>,
    /// Variables whose descriptions changed and were compared.
    pub compared: usize,
    /// Variables that are in other pieces than before, which are not compared.
    pub reshaped: usize,
}

/// The descriptions of both sides.
pub struct Described<'a> {
    /// In front of the pass.
    pub before: Defs<'a>,
    /// Behind it.
    pub after: Defs<'a>,
}

impl<'a> Described<'a> {
    /// Collects both.
    pub fn of(history: &History<'a>, referents: &Referents) -> Self {
        let before = Defs::before(history, referents);
        let after = Defs::after(history, referents, &before);
        Self { before, after }
    }
}

/// Judges the descriptions of one run of a pass.
pub fn judge_variables<'a>(
    history: &History<'a>,
    referents: &Referents,
    described: &Described<'a>,
    attention: Attention<'_>,
    major: u32,
) -> Judged {
    let mut judged = Judged::default();
    let in_place = ChangedInPlace::of(history);
    let unpassed = Unpassed::of(history, referents);
    for (after, function) in history.run.after.iter().enumerate() {
        let Some(before) = history.run.before.iter().position(|f| f.at == function.at) else { continue };
        let Keys { mut changed, mut recomputed } = Keys::of(history, described, &in_place, before, after);
        let mut declared = declared_keys(described, after);
        if let Attention::Only(name, _) = attention {
            let is_it = |variable: u64| referents.variables.get(&variable).is_some_and(|v| v.name == name);
            changed.retain(|(variable, _), _| is_it(*variable));
            recomputed.retain(|(variable, _), _| is_it(*variable));
            declared.retain(|keys| keys.keys().any(|key| is_it(key.variable)));
        }
        let decided = any_decided(&history.run.before[before], function);
        let unpassed = unpassed.of_function(after);
        if changed.is_empty() && recomputed.is_empty() && !decided && declared.is_empty() && unpassed.is_none() {
            continue;
        }
        let old_flow = Flow::of(&history.run.before[before]);
        // What a constant condition never takes is taken apart by passes before it is deleted.
        let new_flow = Flow::feasible(function);
        let case = Function {
            history,
            referents,
            described,
            before,
            after,
            dominance: Dominance::of(&new_flow),
            old_dominance: OnceCell::new(),
            old_flow,
            new_flow,
            points: OnceCell::new(),
            attention,
            major,
        };
        for keys in changed.values() {
            case.judge_variable(keys, &mut judged);
        }
        for (key, (_, new)) in recomputed.values().flatten() {
            case.find_unequal(*key, new, &mut judged);
        }
        for keys in &declared {
            case.find_unwritten(keys, &mut judged);
        }
        if let Some(arguments) = unpassed {
            case.find_unpassed(arguments, &mut judged);
        }
        if decided {
            case.find_early_exits(&mut judged);
        }
    }
    judged
}

/// Variables that are described by an address on both sides.
fn declared_keys(described: &Described<'_>, after: usize) -> Vec<Changed> {
    let declared = |defs: &Defs<'_>, ids: &[DefId]| ids.iter().any(|id| defs.get(*id).declares());
    let all = described.after.by_key.iter().filter(|((f, _), ids)| *f == after && declared(&described.after, ids));
    let with_origin = all.filter_map(|((_, key), ids)| {
        let origins: Vec<DefId> = ids.iter().filter_map(|id| described.after.get(*id).origin).collect();
        (!origins.is_empty()).then(|| Changed::from([(*key, (origins, ids.clone()))]))
    });
    with_origin.collect()
}

/// The pieces of one variable that changed, with their descriptions on both sides.
pub(super) type Changed = BTreeMap<VariableKey, (Vec<DefId>, Vec<DefId>)>;

/// The variables of a function that something can have gone wrong with, by variable.
struct Keys {
    /// Those whose descriptions are not what they were.
    changed: BTreeMap<(u64, Option<u32>), Changed>,
    /// Those whose descriptions stayed and name an instruction that computes something else now: what it computes is all that
    /// can be wrong. A loop made of a recursion changes operands everywhere.
    recomputed: BTreeMap<(u64, Option<u32>), Changed>,
}

impl Keys {
    fn of(history: &History<'_>, described: &Described<'_>, in_place: &ChangedInPlace, before: usize, after: usize) -> Self {
        let mut all: BTreeMap<(u64, Option<u32>), Changed> = BTreeMap::new();
        let group = |key: &VariableKey| (key.variable, key.inlined_at.map(|l| l.0));
        for (side, defs, function) in [(Side::Before, &described.before, before), (Side::After, &described.after, after)] {
            for ((_, key), ids) in defs.by_key.iter().filter(|((f, _), _)| *f == function) {
                let entry = all.entry(group(key)).or_default().entry(*key).or_default();
                match side {
                    Side::Before => entry.0.clone_from(ids),
                    Side::After => entry.1.clone_from(ids),
                }
            }
        }
        let moved = |value: &ValueId| matches!(value, ValueId::Inst(id) if history.life(*id).moved.is_some());
        let is_same = |(old, new): &(Vec<DefId>, Vec<DefId>)| {
            old.len() == new.len()
                && old.iter().zip(new).all(|(old, new)| {
                    let (b, a) = (described.before.get(*old), described.after.get(*new));
                    a.origin == Some(*old)
                        && a.made.is_none()
                        && a.values == b.values
                        && a.record.expression == b.record.expression
                        && history.block_after(a.place) == history.block_before(b.place)
                        && !a.values.iter().any(moved)
                })
        };
        let concerns = |id: &DefId| described.before.get(*id).values.iter().any(|value| in_place.concerns(history, *value));
        // Where every piece is as it was only what the instructions compute can have gone wrong.
        let (mut recomputed, changed): (BTreeMap<_, Changed>, _) = all.into_iter().partition(|(_, keys)| keys.values().all(is_same));
        recomputed.retain(|_, keys| keys.values().any(|(old, _)| old.iter().any(concerns)));
        Self { changed, recomputed }
    }
}

/// One function on both sides of a pass.
pub struct Function<'a, 'h> {
    pub(super) history: &'a History<'h>,
    pub(super) referents: &'a Referents,
    pub(super) described: &'a Described<'h>,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) old_flow: Flow,
    pub(super) new_flow: Flow,
    pub(super) dominance: Dominance,
    old_dominance: OnceCell<Dominance>,
    points: OnceCell<Vec<(Place, Place)>>,
    pub(super) attention: Attention<'a>,
    pub(super) major: u32,
}

impl Function<'_, '_> {
    fn before_def(&self, id: DefId) -> &Def<'_> {
        self.described.before.get(id)
    }

    fn after_def(&self, id: DefId) -> &Def<'_> {
        self.described.after.get(id)
    }

    fn judge_variable(&self, keys: &Changed, judged: &mut Judged) {
        let defs = |ids: &Vec<DefId>, side: Side| -> bool {
            ids.iter().any(|id| match side {
                Side::Before => self.is_of_memory(self.before_def(*id)),
                Side::After => self.is_of_memory(self.after_def(*id)),
            })
        };
        for (key, (_, new)) in keys {
            self.find_misplaced(*key, new, judged);
        }
        let was_declared = keys.values().any(|(old, _)| defs(old, Side::Before));
        if was_declared || keys.values().any(|(_, new)| defs(new, Side::After)) {
            judged.compared += 1;
            if was_declared {
                self.find_lost_declaration(keys, judged);
            }
            return;
        }
        for (key, (old, new)) in keys {
            self.find_wrong(*key, new, judged);
            self.find_unequal(*key, new, judged);
            self.find_unreadable(*key, new, judged);
            self.find_other_ways(*key, new, judged);
            // A piece that is nowhere described on one side says that the variable was cut anew.
            let reshaped = |ids: &Vec<DefId>| ids.is_empty() && keys.len() > 1;
            if reshaped(old) || reshaped(new) || key.fragment.is_none() && keys.len() > 1 {
                judged.reshaped += 1;
                continue;
            }
            judged.compared += 1;
            self.compare_points(*key, old, new, judged);
        }
    }

    /// Whether a description says where the variable is rather than what it is.
    fn is_of_memory(&self, def: &Def<'_>) -> bool {
        const DEREFERENCE: u64 = 0x06;
        def.declares() || self.referents.expressions.get(&def.record.expression).is_some_and(|e| e.contains(&DEREFERENCE))
    }

    /// Instructions that are where they were, in order.
    pub(super) fn points(&self) -> &[(Place, Place)] {
        self.points.get_or_init(|| {
            let stays = |life: &crate::history::Life| {
                let (before, after) = (life.before?, life.after?);
                let here = before.function == self.before && after.function == self.after;
                if !here || life.birth != Birth::Original || life.moved.is_some() {
                    return None;
                }
                let (from, to) = (self.history.block_before(before), self.history.block_after(after));
                // A branch that ends a new block stands where the new block does.
                let same_block = !self.history.new_blocks.contains(&to) && (from == to || folded(self.history, before, after));
                let reached = self.old_flow.is_reachable(before.block) && self.new_flow.is_reachable(after.block);
                (same_block && reached).then_some((before, after))
            };
            let is_point = |id: &crate::history::InstId| {
                let counts = |r: &trueline_llvm_hook::wire::InstructionRecord| {
                    !matches!(r.opcode, opcode::PHI | opcode::UNREACHABLE) && !r.callee.starts_with("llvm.dbg.")
                };
                self.history.record_after(*id).is_some_and(counts)
            };
            let ids = (0..self.history.lives.len() as u32).map(crate::history::InstId).filter(is_point);
            let mut points: Vec<_> = ids.filter_map(|id| stays(self.history.life(id))).collect();
            points.sort_by_key(|(_, after)| (after.block, after.index));
            points
        })
    }

    fn compare_points(&self, key: VariableKey, old: &[DefId], new: &[DefId], judged: &mut Judged) {
        let before = Reaching::of(&self.old_flow, &self.described.before, old);
        let after = Reaching::of(&self.new_flow, &self.described.after, new);
        // One report per description, at the first instruction that shows it.
        let mut told: HashSet<(VariableErrorKind, Option<DefId>)> = HashSet::new();
        // Where several ways disagree, a rule hides what another point may show.
        let mut doubted: HashSet<DefId> = HashSet::new();
        for point in self.points() {
            let (was, is) = (before.at(point.0), after.at(point.1));
            if !self.is_visible(key, *point) {
                continue;
            }
            if let Some((lost, mut recovery)) = self.find_lost(&was, &is, *point)
                && told.insert((VariableErrorKind::Lost, Some(lost)))
                && {
                    recovery.prove(self.bits_of(key));
                    recovery.proof != Proof::Refuted
                }
            {
                let stack = self.lost_at(lost);
                let kind = VariableErrorKind::Lost;
                self.tell(judged, kind, key, Some(*point), (&was, &is), stack, |v| v.recovery = Some(recovery));
            }
            if let Some(stale) = self.find_stale(old, &was, &is)
                && if rules::disagree(self, &is) { doubted.insert(stale) } else { told.insert((VariableErrorKind::Stale, Some(stale))) }
            {
                let stack = self.stale_at(stale, &was);
                self.tell(judged, VariableErrorKind::Stale, key, Some(*point), (&was, &is), stack, |_| {});
            }
        }
    }

    /// Whether a debugger that stops at a point can be asked for the variable, in front of the pass and behind it.
    pub(super) fn is_visible(&self, key: VariableKey, (before, after): (Place, Place)) -> bool {
        let location = |functions: &[std::sync::Arc<trueline_llvm_hook::wire::FunctionRecord>], place: Place| {
            let location = self.history.locations.at(crate::naming::at(functions, place).1.location)?;
            (self.history.locations.get(location).line != 0).then_some(location)
        };
        [location(&self.history.run.before, before), location(&self.history.run.after, after)]
            .into_iter()
            .all(|location| location.is_some_and(|l| self.referents.is_visible(key.variable, key.inlined_at, l, self.history.locations)))
    }

    #[expect(clippy::too_many_arguments, reason = "one verdict has as many parts")]
    pub(super) fn tell(
        &self,
        judged: &mut Judged,
        kind: VariableErrorKind,
        key: VariableKey,
        point: Option<(Place, Place)>,
        (was, is): (&Holding, &Holding),
        stack: StackId,
        complete: impl FnOnce(&mut VariableVerdict),
    ) {
        let mut verdict = VariableVerdict {
            kind,
            key,
            function: self.after,
            point,
            before: was.iter().copied().collect(),
            after: is.iter().copied().collect(),
            recovery: None,
            counterexample: None,
            clash: None,
            stack,
            hidden_by: None,
        };
        complete(&mut verdict);
        verdict.hidden_by = rules::apply(self, &verdict);
        judged.verdicts.push(verdict);
    }

    /// The description that was lost at a point, and how its value could be described there.
    fn find_lost(&self, was: &Holding, is: &Holding, point: (Place, Place)) -> Option<(DefId, Recovery)> {
        let gone = |id: &Option<DefId>| id.is_none_or(|id| self.after_def(id).kills && !self.lives_in_memory(self.after_def(id)));
        let there = |id: &Option<DefId>| id.is_some_and(|id| !self.before_def(id).kills);
        if is.is_empty() || !is.iter().all(gone) || was.is_empty() || !was.iter().all(there) {
            return None;
        }
        let mut ids = was.iter().flatten().copied();
        let first = ids.next()?;
        let says = |id: DefId| (&self.before_def(id).values, self.before_def(id).record.expression);
        if ids.any(|id| says(id) != says(first)) {
            return None;
        }
        let recovery = Survivors::at(self, point.1).recover(self.before_def(first))?;
        Some((first, recovery))
    }

    /// Whether an assignment without a value still says where the variable is stored.
    fn lives_in_memory(&self, def: &Def<'_>) -> bool {
        def.record.address != 0 && !self.referents.is_undefined(def.record.address)
    }

    /// The description behind the pass that holds at a point though no path of the original has its value there.
    fn find_stale(&self, old: &[DefId], was: &Holding, is: &Holding) -> Option<DefId> {
        if was.is_empty() {
            return None;
        }
        let stale = |id: &DefId| {
            let now = self.after_def(*id);
            if now.kills {
                return false;
            }
            let holds = |other: &DefId| was.contains(&Some(*other));
            // What it describes must be an assignment that was there, and none that held at the point.
            let assigned = match now.origin {
                Some(origin) => self.same(self.before_def(origin), now).then_some(origin),
                None => old.iter().copied().find(|o| self.same(self.before_def(*o), now)),
            };
            let Some(assigned) = assigned else { return false };
            let equals = |other: &DefId| self.same(self.before_def(*other), now) || self.is_incoming(self.before_def(*other), now);
            !holds(&assigned) && !was.iter().flatten().any(equals)
        };
        is.iter().flatten().copied().find(|id| stale(id))
    }

    /// Whether a description behind the pass says what one in front of it said.
    pub(super) fn same(&self, was: &Def<'_>, is: &Def<'_>) -> bool {
        let is_heir = |(old, new): (&ValueId, &ValueId)| old == new || self.heirs(*old).contains(new);
        if was.record.expression == is.record.expression && was.values.len() == is.values.len() {
            return was.values.iter().zip(&is.values).all(is_heir);
        }
        self.says_the_same(was, is)
    }

    /// Whether what is described now is what was described where a phi has one of its operands: on that path they are the same.
    fn is_incoming(&self, was: &Def<'_>, is: &Def<'_>) -> bool {
        let phi = |value: &ValueId| match value {
            ValueId::Inst(id) => self.history.record_before(*id).filter(|record| record.opcode == opcode::PHI),
            ValueId::Given(_) => None,
        };
        if let ([old], [value]) = (was.values.as_slice(), is.values.as_slice())
            && let Some(record) = phi(old)
            && record.operands.iter().map(|at| self.history.value_before(*at)).any(|o| o == *value || self.heirs(o).contains(value))
        {
            return true;
        }
        // Either may have been put in other words before, and the value may only be computed by the phi.
        [Extension::Zeros, Extension::Sign].into_iter().any(|extension| {
            let reader = self.reader(Side::Before);
            let before = reader.described(&was.values, was.record.expression, extension);
            let after = self.reader(Side::After).described(&is.values, is.record.expression, extension);
            let (Some(before), Some(after)) = (before, after) else { return false };
            let mut leaves = BTreeSet::new();
            before.leaves(&mut leaves);
            leaves.iter().filter_map(|leaf| Some((*leaf, phi(leaf)?))).any(|(leaf, record)| {
                record.operands.iter().filter_map(|at| reader.term(self.history.value_before(*at))).any(|operand| {
                    let before = before.with(leaf, &operand);
                    let mut leaves = BTreeSet::new();
                    before.leaves(&mut leaves);
                    after.leaves(&mut leaves);
                    leaves.iter().all(|leaf| self.is_untouched(*leaf)) && differ(&before, &after, self.bits_of(was.key)).is_none()
                })
            })
        })
    }

    /// Whether no numbers tell two descriptions apart that can be followed down to values which are the same on both sides.
    fn says_the_same(&self, was: &Def<'_>, is: &Def<'_>) -> bool {
        let terms = |extension| self.terms(was, is, extension);
        [Extension::Zeros, Extension::Sign]
            .into_iter()
            .any(|extension| terms(extension).is_some_and(|(before, after, bits)| differ(&before, &after, bits).is_none()))
    }

    /// The values that took a value's place, directly or one after the other.
    pub(super) fn heirs(&self, value: ValueId) -> BTreeSet<ValueId> {
        let mut heirs = BTreeSet::new();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            let next: Vec<ValueId> = match value {
                ValueId::Inst(id) => {
                    let life = self.history.life(id);
                    life.taken_over_by.iter().chain(&life.redescribed).map(|(to, _)| *to).collect()
                }
                ValueId::Given(at) => self.history.given_away.get(&at).into_iter().flatten().map(|(to, _)| *to).collect(),
            };
            work.extend(next.into_iter().filter(|to| heirs.insert(*to)));
        }
        heirs
    }

    /// What two descriptions say, where both can be followed down to values that are the same on both sides, and the bits of
    /// the variable that count.
    fn terms(
        &self,
        was: &Def<'_>,
        is: &Def<'_>,
        extension: Extension,
    ) -> Option<(std::rc::Rc<super::meaning::Term>, std::rc::Rc<super::meaning::Term>, u32)> {
        let reader = |side, function| Reader {
            history: self.history,
            referents: self.referents,
            side,
            function,
            choices: Choices::Opaque,
            depth: Depth::Full,
        };
        let before = reader(Side::Before, self.before).described(&was.values, was.record.expression, extension)?;
        let after = reader(Side::After, self.after).described(&is.values, is.record.expression, extension)?;
        let mut leaves = BTreeSet::new();
        before.leaves(&mut leaves);
        after.leaves(&mut leaves);
        // A value that the pass replaced may be equal by what the pass knows and the term does not say.
        if !leaves.iter().all(|leaf| self.is_untouched(*leaf)) || reader(Side::Before, self.before).passes_replaced(&was.values) {
            return None;
        }
        Some((before, after, self.bits_of(was.key)))
    }

    /// The bits of a variable, or of its piece, that are compared: at most a word.
    pub(super) fn bits_of(&self, key: VariableKey) -> u32 {
        let whole = self.referents.variables.get(&key.variable).map_or(0, |v| u64::from(v.bits));
        match key.fragment.map_or(whole, |(_, size)| size) {
            0 => 64,
            bits => u32::try_from(bits).unwrap_or(64).min(64),
        }
    }

    /// Whether a value is computed from the same operands on both sides.
    pub(super) fn is_stable(&self, value: ValueId) -> bool {
        let ValueId::Inst(id) = value else { return self.heirs(value).is_empty() };
        let (Some(before), Some(after)) = (self.history.record_before(id), self.history.record_after(id)) else { return false };
        before.opcode == after.opcode
            && before.operands.len() == after.operands.len()
            && before.operands.iter().zip(&after.operands).all(|(old, new)| {
                let (old, new) = (self.history.value_before(*old), self.history.value_after(*new));
                old == new || self.heirs(old).contains(&new)
            })
    }

    /// Whether a value is the same instruction with the very same operands on both sides, and nothing took its place.
    pub(super) fn is_untouched(&self, value: ValueId) -> bool {
        let ValueId::Inst(id) = value else { return self.heirs(value).is_empty() };
        let (Some(before), Some(after)) = (self.history.record_before(id), self.history.record_after(id)) else { return false };
        let same = |(old, new): (&u64, &u64)| self.history.value_before(*old) == self.history.value_after(*new);
        before.opcode == after.opcode
            && before.operands.len() == after.operands.len()
            && before.operands.iter().zip(&after.operands).all(same)
            && self.history.life(id).taken_over_by.is_empty()
    }

    /// Descriptions that LLVM made by expressing the value by others and that do not give it.
    fn find_wrong(&self, key: VariableKey, new: &[DefId], judged: &mut Judged) {
        for id in new {
            let is = self.after_def(*id);
            let Some(origin) = is.origin else { continue };
            let was = self.before_def(origin);
            let stayed = is.made.is_none() && self.history.block_before(was.place) == self.history.block_after(is.place);
            let Some(stack) = self.salvaged_at(was) else { continue };
            if is.kills || was.kills || !stayed || self.same(was, is) || !self.new_flow.is_reachable(is.place.block) {
                continue;
            }
            let refute = |extension| {
                let (before, after, bits) = self.terms(was, is, extension)?;
                let numbers = differ(&before, &after, bits)?;
                let bits = bits.min(before.width).min(after.width);
                let (value, described) = (before.evaluate(&numbers, true)?, after.evaluate(&numbers, false));
                Some(Counterexample { numbers, value, described, bits, by: Deviation::Expression })
            };
            let (Some(_), Some(counterexample)) = (refute(Extension::Sign), refute(Extension::Zeros)) else { continue };
            let sides: (Holding, Holding) = ([Some(origin)].into(), [Some(*id)].into());
            let kind = VariableErrorKind::Wrong;
            self.tell(judged, kind, key, None, (&sides.0, &sides.1), stack, |v| v.counterexample = Some(counterexample));
        }
    }

    /// Where LLVM expressed a value that a description named by others: then nothing but arithmetic can make it right.
    pub(super) fn salvaged_at(&self, def: &Def<'_>) -> Option<StackId> {
        def.values.iter().find_map(|value| match value {
            ValueId::Inst(id) => self.history.life(*id).salvage_tried,
            ValueId::Given(_) => None,
        })
    }

    fn find_misplaced(&self, key: VariableKey, new: &[DefId], judged: &mut Judged) {
        for id in new {
            let is = self.after_def(*id);
            if is.kills || !self.new_flow.is_reachable(is.place.block) {
                continue;
            }
            // What was copied from a function that was not looked at, as the inliner does, may have been so there.
            let is_known = is.origin.is_some();
            let early = is_known
                && self.names_too_early(is, Side::After)
                && !is.origin.is_some_and(|o| self.names_too_early(self.before_def(o), Side::Before));
            let foreign = self.is_foreign(is, Side::After) && !is.origin.is_some_and(|o| self.is_foreign(self.before_def(o), Side::Before));
            if early || foreign {
                let moved = is.values.iter().find_map(|v| match v {
                    ValueId::Inst(id) => self.history.life(*id).moved,
                    ValueId::Given(_) => None,
                });
                let stack = is.made.or(moved).unwrap_or_default();
                let sides: (Holding, Holding) = (is.origin.into_iter().map(Some).collect(), [Some(*id)].into());
                self.tell(judged, VariableErrorKind::Misplaced, key, None, (&sides.0, &sides.1), stack, |_| {});
            }
        }
    }

    pub(super) fn old_dominance(&self) -> &Dominance {
        self.old_dominance.get_or_init(|| Dominance::of(&self.old_flow))
    }

    /// Whether a description names a value that does not exist yet where it stands.
    pub(super) fn names_too_early(&self, def: &Def<'_>, side: Side) -> bool {
        def.values.iter().any(|value| {
            let ValueId::Inst(id) = value else { return false };
            let life = self.history.life(*id);
            let (place, dominance, flow) = match side {
                Side::Before => (life.before, self.old_dominance(), &self.old_flow),
                Side::After => (life.after, &self.dominance, &self.new_flow),
            };
            let Some(place) = place.filter(|p| p.function == def.place.function) else { return false };
            if !flow.is_reachable(place.block) || !flow.is_reachable(def.place.block) {
                return false;
            }
            if place.block == def.place.block { place.index >= def.place.index } else { !dominance.dominates(place.block, def.place.block) }
        })
    }

    /// Whether a description's location is in another function than its variable, or not in this one.
    pub(super) fn is_foreign(&self, def: &Def<'_>, side: Side) -> bool {
        let function = match side {
            Side::Before => &self.history.run.before[self.before],
            Side::After => &self.history.run.after[self.after],
        };
        let locations = self.history.locations;
        let Some(location) = locations.at(def.record.location).map(|l| locations.get(l)) else { return false };
        let variable = self.referents.variables.get(&def.key.variable).map_or(0, |v| v.subprogram);
        let mut root = location;
        while let Some(outer) = root.inlined_at {
            root = locations.get(outer);
        }
        let differs = |a: u64, b: u64| a != 0 && b != 0 && a != b;
        differs(variable, location.subprogram) || differs(root.subprogram, function.subprogram)
    }

    /// A variable that lived at an address which is still there, and of which nothing is said any more.
    fn find_lost_declaration(&self, keys: &Changed, judged: &mut Judged) {
        if keys.values().any(|(_, new)| !new.is_empty()) {
            return;
        }
        for (key, (old, _)) in keys {
            let Some(declared) = old.iter().copied().find(|id| self.before_def(*id).declares() && !self.before_def(*id).kills) else {
                continue;
            };
            let def = self.before_def(declared);
            let [ValueId::Inst(address)] = def.values.as_slice() else { continue };
            let Some(place) = self.history.life(*address).after.filter(|p| p.function == self.after) else { continue };
            let is_slot = self.history.record_after(*address).is_some_and(|r| r.opcode == opcode::ALLOCA);
            let used = self.history.run.after[self.after]
                .blocks
                .iter()
                .flat_map(|b| &b.instructions)
                .any(|i| self.history.record_after(*address).is_some_and(|r| i.operands.contains(&r.at)));
            if !is_slot || !used {
                continue;
            }
            let recovery = Recovery::alive(def.values[0]);
            let sides: (Holding, Holding) = ([Some(declared)].into(), [None].into());
            let stack = self.lost_at(declared);
            let point = Some((def.place, place));
            self.tell(judged, VariableErrorKind::Lost, *key, point, (&sides.0, &sides.1), stack, |v| v.recovery = Some(recovery));
        }
    }

    /// Where a description was deleted, or stopped naming its value.
    fn lost_at(&self, id: DefId) -> StackId {
        let def = self.before_def(id);
        let deleted = self.history.deleted_records.get(&def.record.at).copied();
        let died = self.history.before_ids.get(&def.record.at).and_then(|id| self.history.life(*id).death);
        deleted.or(died).or_else(|| self.redescribed_at(def)).unwrap_or_default()
    }

    pub(super) fn redescribed_at(&self, def: &Def<'_>) -> Option<StackId> {
        def.values.iter().find_map(|value| match value {
            ValueId::Inst(id) => self.history.life(*id).redescribed.last().map(|(_, stack)| *stack).or(self.history.life(*id).death),
            ValueId::Given(at) => self.history.given_away.get(at).and_then(|list| list.last()).map(|(_, stack)| *stack),
        })
    }

    fn stale_at(&self, id: DefId, was: &Holding) -> StackId {
        let made = self.after_def(id).made;
        let gone = || was.iter().flatten().map(|id| self.lost_at(*id)).find(|stack| *stack != StackId(0));
        made.or_else(gone).unwrap_or_default()
    }

    /// Whether every path to `point` passes the value behind the pass.
    pub(super) fn exists_at(&self, value: ValueId, point: Place) -> bool {
        let id = match value {
            ValueId::Inst(id) => id,
            // A global may be gone; arguments and numbers stay.
            ValueId::Given(at) => {
                let is_argument = self.history.run.after[self.after].arguments.iter().any(|a| a.at == at);
                return is_argument || self.referents.constants.contains_key(&at);
            }
        };
        let Some(place) = self.history.life(id).after.filter(|p| p.function == self.after) else { return false };
        let is_invoke = self.history.record_after(id).is_some_and(|r| matches!(r.opcode, opcode::INVOKE | opcode::CALLBR));
        if place.block == point.block {
            return place.index < point.index;
        }
        !is_invoke && self.dominance.dominates(place.block, point.block)
    }
}
