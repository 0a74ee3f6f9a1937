//! What became of variables: the descriptions that reach each instruction in front of and behind a machine pass.
//!
//! A `DBG_INSTR_REF` names an instruction by its number, which must still exist or be substituted by another; a `DBG_VALUE`
//! names a register, which must still hold the value. Only instructions that are where they were are looked at.

use super::function::{Held, MirDescription, MirFunction, MirVariable};
use super::matching::{Matching, MirPlace};
use super::metadata::ModuleMetadata;
use super::registers::{survives_calls, whole};
use crate::variables::{VariableErrorKind, VariableRule};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Which instruction's operand stands for which since an instruction was replaced: (instruction, operand) each.
pub type Substitutions = HashMap<(u32, u32), (u32, u32)>;

/// What the text of a function does not show of the numbers of instructions.
#[derive(Clone, Copy)]
pub struct Numbering<'a> {
    /// Which stand for which others.
    pub substitutions: &'a Substitutions,
    /// Those whose places LLVM keeps in a table for now.
    pub kept_aside: &'a HashSet<u32>,
}

/// A wrong description of a variable behind a machine pass.
#[derive(Clone, Debug)]
pub struct MirVariableVerdict {
    /// What is wrong.
    pub kind: VariableErrorKind,
    /// The variable.
    pub variable: MirVariable,
    /// The instruction behind the pass in front of which it shows.
    pub point: MirPlace,
    /// What described it there in front of the pass.
    pub before: Vec<String>,
    /// What describes it there behind the pass.
    pub after: Vec<String>,
    /// Why it is wrong, in a sentence.
    pub evidence: String,
    /// The update that is missing.
    pub update: String,
    /// The rule by which it is no error all the same.
    pub hidden_by: Option<VariableRule>,
}

/// Verdicts on one function and one pass.
#[derive(Clone, Debug, Default)]
pub struct MirJudged {
    /// Variables that were compared.
    pub compared: usize,
    /// Variables in several pieces, which were not.
    pub reshaped: usize,
    /// What is wrong.
    pub verdicts: Vec<MirVariableVerdict>,
}

/// The descriptions that reach each block of a function, by variable; `None` stands for none at all.
pub struct ReachingDescriptions<'a> {
    function: &'a MirFunction,
    entries: BTreeMap<&'a MirVariable, Vec<BTreeSet<Option<MirPlace>>>>,
    numbers: HashMap<u32, MirPlace>,
    numbering: Numbering<'a>,
    values: HashMap<MirPlace, Option<String>>,
}

impl<'a> ReachingDescriptions<'a> {
    /// Follows descriptions over a function's graph.
    pub fn of(function: &'a MirFunction, numbering: Numbering<'a>) -> Self {
        let index: HashMap<u32, usize> = function.blocks.iter().enumerate().map(|(i, b)| (b.number, i)).collect();
        let mut last: BTreeMap<&MirVariable, HashMap<usize, MirPlace>> = BTreeMap::new();
        let mut numbers = HashMap::new();
        for (block, b) in function.blocks.iter().enumerate() {
            for (at, inst) in b.instructions.iter().enumerate() {
                let place = MirPlace { block, index: at };
                numbers.extend(inst.number.map(|n| (n, place)));
                if let Some(description) = &inst.description {
                    last.entry(&description.variable).or_default().insert(block, place);
                }
            }
        }
        let mut entries = BTreeMap::new();
        for (variable, ends) in last {
            let mut reach: Vec<BTreeSet<Option<MirPlace>>> = vec![BTreeSet::new(); function.blocks.len()];
            if let Some(first) = reach.first_mut() {
                first.insert(None);
            }
            let mut work: Vec<usize> = vec![0];
            let mut visited = vec![false; function.blocks.len()];
            while let Some(block) = work.pop() {
                let Some(b) = function.blocks.get(block) else { break };
                visited[block] = true;
                let out = ends.get(&block).map_or_else(|| reach[block].clone(), |place| BTreeSet::from([Some(*place)]));
                for to in b.successors.iter().filter_map(|s| index.get(s).copied()) {
                    let known = reach[to].len();
                    reach[to].extend(out.iter().copied());
                    if reach[to].len() > known || !visited[to] {
                        work.push(to);
                    }
                }
            }
            entries.insert(variable, reach);
        }
        let mut reaching = Self { function, entries, numbers, numbering, values: HashMap::new() };
        for (block, b) in function.blocks.iter().enumerate() {
            for index in (0..b.instructions.len()).filter(|i| b.instructions[*i].description.is_some()) {
                let place = MirPlace { block, index };
                reaching.values.insert(place, reaching.read_value(place));
            }
        }
        reaching
    }

    /// The variables that are described anywhere.
    pub fn variables(&self) -> impl Iterator<Item = &'a MirVariable> + '_ {
        self.entries.keys().copied()
    }

    /// The descriptions that reach the front of an instruction.
    pub fn at(&self, variable: &MirVariable, point: MirPlace) -> BTreeSet<Option<MirPlace>> {
        let Some(entries) = self.entries.get(variable) else { return BTreeSet::from([None]) };
        let list = &self.function.blocks[point.block].instructions[..point.index];
        let last = list.iter().rposition(|i| i.description.as_ref().is_some_and(|d| d.variable == *variable));
        match last {
            Some(index) => BTreeSet::from([Some(MirPlace { block: point.block, index })]),
            None => entries[point.block].clone(),
        }
    }

    /// What a description says, `None` when it says that the value is gone or names an instruction that is.
    pub fn value(&self, place: Option<MirPlace>) -> Option<String> {
        self.text(place).map(str::to_owned)
    }

    fn text(&self, place: Option<MirPlace>) -> Option<&str> {
        self.values.get(&place?)?.as_deref()
    }

    fn read_value(&self, place: MirPlace) -> Option<String> {
        let description = self.description(place)?;
        let dangles = |held: &Held| matches!(held, Held::Reference(n, op) if !self.is_numbered(*n, *op));
        (!description.is_undefined() && !description.held.iter().any(dangles)).then(|| description.value())
    }

    /// The description at a place.
    pub fn description(&self, place: MirPlace) -> Option<&'a MirDescription> {
        place.of(self.function).description.as_ref()
    }

    /// Whether a reference leads anywhere.
    fn is_numbered(&self, number: u32, operand: u32) -> bool {
        self.resolve(number, operand).is_some() || self.ends(number, operand).any(|(n, _)| self.numbering.kept_aside.contains(&n))
    }

    /// The numbers that a reference leads to, one after the other.
    fn ends(&self, number: u32, operand: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        // Substitutions never form a circle in LLVM; the bound keeps hostile text from making one.
        std::iter::successors(Some((number, operand)), |at| self.numbering.substitutions.get(at).copied()).take(64)
    }

    /// The instruction that a reference names, through what substitutes it.
    pub fn resolve(&self, number: u32, operand: u32) -> Option<MirPlace> {
        self.ends(number, operand).find_map(|(n, _)| self.numbers.get(&n).copied())
    }

    /// The last instruction in front of a place, in its block, that writes a register.
    pub fn writer(&self, register: &str, at: MirPlace) -> Option<MirPlace> {
        let register = whole(register);
        let list = &self.function.blocks[at.block].instructions[..at.index];
        let writes = |i: &super::function::MirInstruction| i.defs.contains(&register) || (i.is_call && !survives_calls(&register));
        list.iter().rposition(|i| i.is_real() && writes(i)).map(|index| MirPlace { block: at.block, index })
    }

    /// Whether what a description holds can be had in front of an instruction, as far as text can prove it.
    fn is_available(&self, held: &Held, point: MirPlace) -> bool {
        match held {
            Held::Constant(_) | Held::Slot(_) => true,
            Held::Nothing => false,
            Held::Reference(number, operand) => self.resolve(*number, *operand).is_some_and(|place| self.is_kept(place, point)),
            Held::Register(register) if register.starts_with('%') && self.function.is_ssa => {
                let all = self.function.blocks.iter().enumerate();
                let mut places = all.flat_map(|(block, b)| (0..b.instructions.len()).map(move |index| MirPlace { block, index }));
                let definition = places.find(|p| p.of(self.function).defs.contains(register));
                definition.is_some_and(|place| self.is_kept(place, point))
            }
            Held::Register(_) => false,
        }
    }

    /// Whether the result of an instruction is still there at a point: in static single assignment form once it is computed,
    /// otherwise within its block as long as nothing else writes the register.
    fn is_kept(&self, place: MirPlace, point: MirPlace) -> bool {
        let inst = place.of(self.function);
        let precedes = place.block == point.block && place.index < point.index;
        let register = if inst.opcode == "DBG_PHI" { inst.uses.first() } else { inst.defs.first() };
        match register {
            Some(register) if register.starts_with('%') && self.function.is_ssa => precedes || place.block != point.block,
            Some(register) if inst.opcode == "DBG_PHI" => precedes && self.writer(register, point).is_none_or(|w| w.index < place.index),
            Some(register) => precedes && self.writer(register, point) == Some(place),
            None => false,
        }
    }
}

/// Judges the variables of one function over one pass.
pub fn judge_variables(
    before: &MirFunction,
    after: &MirFunction,
    matching: &Matching,
    numbering: Numbering<'_>,
    metadata: &ModuleMetadata,
) -> MirJudged {
    let old = ReachingDescriptions::of(before, numbering);
    let new = ReachingDescriptions::of(after, numbering);
    let mut judged = MirJudged::default();
    let mut pieces: BTreeMap<(&str, u32, &str), usize> = BTreeMap::new();
    for v in old.variables() {
        *pieces.entry((&v.name, v.line, &v.inlined_at)).or_default() += 1;
    }
    let touched = touched(before, after, matching, &old, &new);
    for variable in old.variables() {
        if pieces[&(variable.name.as_str(), variable.line, variable.inlined_at.as_str())] > 1 {
            judged.reshaped += 1;
            continue;
        }
        judged.compared += 1;
        if touched.as_ref().is_some_and(|touched| !touched.contains(variable)) {
            continue;
        }
        let comparison = Comparison { before, after, matching, old: &old, new: &new, metadata, variable };
        judged.verdicts.extend(comparison.over_points());
        judged.verdicts.extend(comparison.over_registers());
    }
    judged
}

/// The variables whose descriptions are not all where they were, in the same words; `None` stands for any, since the graph
/// is another. Most passes touch few of them, and comparing at every instruction is dear.
fn touched<'a>(
    before: &'a MirFunction,
    after: &'a MirFunction,
    matching: &Matching,
    old: &ReachingDescriptions<'_>,
    new: &ReachingDescriptions<'_>,
) -> Option<HashSet<&'a MirVariable>> {
    let edges =
        |f: &MirFunction| -> BTreeSet<(u32, u32)> { f.blocks.iter().flat_map(|b| b.successors.iter().map(|s| (b.number, *s))).collect() };
    let numbers = |(new, old): (&usize, &usize)| after.blocks[*new].number == before.blocks[*old].number;
    let same_graph = before.blocks.len() == matching.blocks.len() && after.blocks.len() == matching.blocks.len();
    if !same_graph || !matching.blocks.iter().all(numbers) || edges(before) != edges(after) {
        return None;
    }
    // Each description by the instruction behind it that stayed, as it was called in front of the pass.
    type Spot<'s> = (&'s MirVariable, Option<MirPlace>, Option<String>);
    fn spots<'s>(
        function: &'s MirFunction,
        side: &ReachingDescriptions<'_>,
        anchor: impl Fn(MirPlace) -> Option<MirPlace>,
    ) -> Vec<Spot<'s>> {
        let mut spots = Vec::new();
        for (block, b) in function.blocks.iter().enumerate() {
            let mut next = Some(MirPlace { block, index: usize::MAX });
            for (index, inst) in b.instructions.iter().enumerate().rev() {
                let place = MirPlace { block, index };
                next = anchor(place).or(next);
                if let Some(description) = &inst.description {
                    spots.push((&description.variable, next.filter(|n| n.index != usize::MAX), side.value(Some(place))));
                }
            }
        }
        spots
    }
    let sources: HashMap<MirPlace, MirPlace> =
        matching.stayed.iter().filter(|(new, _)| !matching.reordered.contains(new)).map(|(new, old)| (*new, *old)).collect();
    let stayed: HashSet<MirPlace> = sources.values().copied().collect();
    let was = spots(before, old, |place| stayed.contains(&place).then_some(place));
    let is = spots(after, new, |place| sources.get(&place).copied());
    let mut count: HashMap<&Spot<'_>, i64> = HashMap::new();
    was.iter().for_each(|spot| *count.entry(spot).or_default() += 1);
    is.iter().for_each(|spot| *count.entry(spot).or_default() -= 1);
    let moved: HashSet<MirVariable> = count.into_iter().filter(|(_, n)| *n != 0).map(|(spot, _)| spot.0.clone()).collect();
    Some(was.iter().map(|spot| spot.0).filter(|v| moved.contains(*v)).collect())
}

/// What became of the computation whose description reaches an instruction, or no longer does.
#[derive(Clone, Copy)]
enum Order {
    /// It is behind the instruction now.
    Delayed,
    /// It is in front of the instruction now.
    Advanced,
    /// It is where it was.
    Kept,
}

struct Comparison<'a> {
    before: &'a MirFunction,
    after: &'a MirFunction,
    matching: &'a Matching,
    old: &'a ReachingDescriptions<'a>,
    new: &'a ReachingDescriptions<'a>,
    metadata: &'a ModuleMetadata,
    variable: &'a MirVariable,
}

impl Comparison<'_> {
    /// All descriptions of the variable in a function.
    fn all(&self, function: &MirFunction) -> Vec<MirPlace> {
        let blocks = function.blocks.iter().enumerate();
        let places = blocks.flat_map(|(block, b)| (0..b.instructions.len()).map(move |index| MirPlace { block, index }));
        places.filter(|p| p.of(function).description.as_ref().is_some_and(|d| d.variable == *self.variable)).collect()
    }

    fn is_in_scope(&self, description: Option<MirPlace>, point: MirPlace) -> bool {
        let Some(description) = description.and_then(|p| self.old.description(p)) else { return false };
        let location = point.of(self.after).location;
        match (description.scope, location) {
            (Some(scope), Some(location)) => self.metadata.is_in_scope(scope, description.inlined, location),
            _ => false,
        }
    }

    /// Lost and stale descriptions: the first of each, with those of the others counted by the caller.
    fn over_points(&self) -> Option<MirVariableVerdict> {
        let known: BTreeSet<String> = self.all(self.before).into_iter().filter_map(|p| self.old.value(Some(p))).collect();
        let now: BTreeSet<String> = self.all(self.after).into_iter().filter_map(|p| self.new.value(Some(p))).collect();
        let anywhere = self.all(self.before).first().copied();
        let mut hidden = None;
        for (point, source) in &self.matching.stayed {
            if self.matching.reordered.contains(point) {
                continue;
            }
            let (old, new) = (self.old.at(self.variable, *source), self.new.at(self.variable, *point));
            if old.iter().map(|p| self.old.text(*p)).eq(new.iter().map(|p| self.new.text(*p))) {
                continue;
            }
            let texts = |set: &BTreeSet<Option<MirPlace>>, side: &ReachingDescriptions<'_>| -> BTreeSet<Option<String>> {
                set.iter().map(|place| side.value(*place)).collect()
            };
            let (was, is) = (texts(&old, self.old), texts(&new, self.new));
            if was == is || !self.is_in_scope(old.iter().flatten().next().copied().or(anywhere), *point) {
                continue;
            }
            let available = |place: &Option<MirPlace>| {
                let description = place.and_then(|p| self.old.description(p));
                description.is_some_and(|d| d.held.iter().all(|held| self.new.is_available(held, *point)))
            };
            let verdict = if !was.contains(&None) && is.iter().all(Option::is_none) {
                let dangling = new.iter().flatten().find_map(|p| self.dangling(*p));
                let is_there = old.iter().all(available);
                self.lost(*point, &was, &is, dangling, is_there)
            } else {
                let foreign = is.iter().flatten().find(|text| !was.contains(&Some((*text).clone())) && self.is_old(text, &known));
                // A pass that writes descriptions in other words is not read as one that lets them reach elsewhere.
                if foreign.is_none() || !now.is_subset(&known) {
                    continue;
                }
                let computed = old.iter().any(|place| self.old.value(*place).is_none() || available(place));
                let early = new.iter().filter(|p| self.new.value(**p).as_ref() == foreign).any(|p| self.went_along(*p, *source));
                let order = match (computed, early) {
                    (false, _) => Order::Delayed,
                    (true, true) => Order::Advanced,
                    (true, false) => Order::Kept,
                };
                self.stale(*point, &was, &is, order)
            };
            match verdict.hidden_by {
                None => return Some(verdict),
                Some(_) => drop(hidden.get_or_insert(verdict)),
            }
        }
        hidden
    }

    /// Whether the pass found a description of this text. One by a machine register may also be a new one that happens to
    /// read the same, unless there are no more of them than before.
    fn is_old(&self, text: &str, known: &BTreeSet<String>) -> bool {
        let count = |function: &MirFunction, side: &ReachingDescriptions<'_>| {
            self.all(function).into_iter().filter(|p| side.text(Some(*p)) == Some(text)).count()
        };
        known.contains(text) && (!text.contains('$') || count(self.after, self.new) <= count(self.before, self.old))
    }

    /// Whether a description that is shown early follows, in the block of the point, what computes its value.
    fn went_along(&self, shown: Option<MirPlace>, source: MirPlace) -> bool {
        let Some(description) = shown.and_then(|p| self.new.description(p)) else { return false };
        let later = self
            .all(self.before)
            .into_iter()
            .any(|p| p.block == source.block && p.index > source.index && self.old.value(Some(p)) == Some(description.value()));
        later && description.held.iter().any(|held| matches!(held, Held::Reference(..) | Held::Register(_)))
    }

    /// The instruction that a description names and that is gone, with what became of it.
    fn dangling(&self, place: MirPlace) -> Option<(u32, Option<MirPlace>)> {
        let description = self.new.description(place)?;
        description.held.iter().find_map(|held| match held {
            Held::Reference(number, operand) if !self.new.is_numbered(*number, *operand) => {
                let source = self.old.resolve(*number, *operand)?;
                Some((*number, self.matching.heir(source)))
            }
            _ => None,
        })
    }

    fn lost(
        &self,
        point: MirPlace,
        was: &BTreeSet<Option<String>>,
        is: &BTreeSet<Option<String>>,
        dangling: Option<(u32, Option<MirPlace>)>,
        is_there: bool,
    ) -> MirVariableVerdict {
        let (evidence, update, hidden_by) = match dangling {
            Some((number, Some(heir))) => (
                format!("instruction {number}, which the description names, is `{}` now and has lost its number", heir.of(self.after).text),
                "MF.substituteDebugValuesForInst(OldMI, NewMI);".to_owned(),
                None,
            ),
            Some((number, None)) => (
                format!("instruction {number}, which the description names, is gone and nothing substitutes it"),
                "MF.makeDebugValueSubstitution({OldNumber, 0}, {NewNumber, 0});".to_owned(),
                Some(VariableRule::ValueGone),
            ),
            None => (
                if is_there { "what described it is still computed there" } else { "what described it is not seen there any more" }
                    .to_owned(),
                "keep the description, or insert it behind what took its place".to_owned(),
                (!is_there).then_some(VariableRule::ValueGone),
            ),
        };
        self.verdict(VariableErrorKind::Lost, point, (was, is), evidence, update, hidden_by)
    }

    fn stale(&self, point: MirPlace, was: &BTreeSet<Option<String>>, is: &BTreeSet<Option<String>>, order: Order) -> MirVariableVerdict {
        let name = &self.variable.name;
        let (evidence, update) = match order {
            Order::Delayed => (
                "the value is only computed behind this instruction now, and until then an older one is shown",
                format!("give {name} an undefined location where its value was computed before: DBG_VALUE $noreg"),
            ),
            Order::Advanced => (
                "the description went ahead of this instruction together with what computes its value",
                format!("keep the description of {name} in its original position"),
            ),
            Order::Kept => (
                "a description reaches this instruction that none of the original's paths brings here",
                format!("end the description of {name} in front of this instruction, or leave its description where it was"),
            ),
        };
        self.verdict(VariableErrorKind::Stale, point, (was, is), evidence.to_owned(), update, None)
    }

    fn verdict(
        &self,
        kind: VariableErrorKind,
        point: MirPlace,
        (was, is): (&BTreeSet<Option<String>>, &BTreeSet<Option<String>>),
        evidence: String,
        update: String,
        hidden_by: Option<VariableRule>,
    ) -> MirVariableVerdict {
        let texts = |set: &BTreeSet<Option<String>>| {
            set.iter().map(|t| t.clone().unwrap_or_else(|| "no description of a value".to_owned())).collect()
        };
        MirVariableVerdict {
            kind,
            variable: self.variable.clone(),
            point,
            before: texts(was),
            after: texts(is),
            evidence,
            update,
            hidden_by,
        }
    }

    /// Descriptions by a register that holds another value now.
    fn over_registers(&self) -> Option<MirVariableVerdict> {
        let mut blocks: Vec<(usize, usize)> = self.matching.blocks.iter().map(|(n, o)| (*n, *o)).collect();
        blocks.sort_unstable();
        let in_block = |all: &[MirPlace], block: usize| -> Vec<MirPlace> { all.iter().copied().filter(|p| p.block == block).collect() };
        let (old_all, new_all) = (self.all(self.before), self.all(self.after));
        for (new_block, old_block) in blocks {
            let (olds, news) = (in_block(&old_all, old_block), in_block(&new_all, new_block));
            let same =
                olds.len() == news.len() && olds.iter().zip(&news).all(|(o, n)| self.old.value(Some(*o)) == self.new.value(Some(*n)));
            if !same {
                continue;
            }
            for (old, new) in olds.into_iter().zip(news) {
                let Some([Held::Register(register)]) = self.new.description(new).map(|d| d.held.as_slice()) else { continue };
                let (Some(writer), now) = (self.old.writer(register, old), self.new.writer(register, new)) else { continue };
                let heir = self.matching.stayed.iter().find(|(_, o)| **o == writer).map(|(n, _)| *n);
                let Some(heir) = heir.filter(|h| h.block == new_block && Some(*h) != now) else { continue };
                let kind = if heir.index > new.index { VariableErrorKind::Misplaced } else { VariableErrorKind::Wrong };
                let evidence = match kind {
                    VariableErrorKind::Misplaced => format!("`{}` computes the value behind the description", heir.of(self.after).text),
                    _ => format!("the register was written by `{}` and holds another value here", heir.of(self.after).text),
                };
                let set = BTreeSet::from([self.new.value(Some(new))]);
                let update = format!("move the description of {} behind what computes its value", self.variable.name);
                return Some(self.verdict(kind, new, (&set, &set), evidence, update, None));
            }
        }
        None
    }
}
