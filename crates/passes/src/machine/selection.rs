//! Instruction selection: the IR in front of it against the machine function behind it. Values have other names on both
//! sides, so descriptions are compared by their order in each block, at instructions that carry a location of their own.

use super::function::{Held, MirBlock, MirDescription, MirFunction, MirInstruction, MirVariable};
use super::matching::MirPlace;
use super::metadata::{ModuleMetadata, reference, split};
use super::variables::{MirJudged, MirVariableVerdict, Numbering, ReachingDescriptions};
use crate::observation::LocationId;
use crate::variables::{VariableErrorKind, VariableRule};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Reads the functions of a module printed as IR into the shape of machine functions.
pub fn read_ir(module: &str, metadata: &mut ModuleMetadata) -> Vec<MirFunction> {
    let mut functions: Vec<MirFunction> = Vec::new();
    let mut open = false;
    for line in module.lines() {
        let text = line.trim();
        if text.starts_with("define ") && text.ends_with('{') {
            let name = text.split_once('@').map_or("", |(_, rest)| rest);
            let name = name.strip_prefix('"').and_then(|q| q.split('"').next()).unwrap_or_else(|| name.split('(').next().unwrap_or(""));
            let blocks = vec![MirBlock::default()];
            functions.push(MirFunction { name: name.to_owned(), is_ssa: true, blocks });
            open = true;
        } else if text == "}" {
            open = false;
        } else if let (true, false, Some(function)) = (open, text.is_empty() || text.starts_with(';'), functions.last_mut()) {
            read_line(text, function, metadata);
        }
    }
    for function in &mut functions {
        link(function);
    }
    functions
}

fn read_line(text: &str, function: &mut MirFunction, metadata: &mut ModuleMetadata) {
    let label = text.split("  ").next().unwrap_or(text).trim_end().strip_suffix(':').filter(|l| !l.contains(' ') && !l.contains('%'));
    if let Some(label) = label {
        let name = label.trim_matches('"').to_owned();
        let number = function.blocks.len() as u32;
        match function.blocks.as_mut_slice() {
            // The first block's label, when it has one.
            [only] if only.instructions.is_empty() => only.name = name,
            _ => function.blocks.push(MirBlock { number, name, ..MirBlock::default() }),
        }
        return;
    }
    let (body, location) = match text.rsplit_once(", !dbg ") {
        Some((body, rest)) => (body, metadata.location(rest.split([',', ' ']).next().unwrap_or(""))),
        None => (text, None),
    };
    let mut inst = MirInstruction { text: body.to_owned(), key: body.to_owned(), location, ..MirInstruction::default() };
    if let Some(description) = read_record(text, body, location, metadata) {
        "DBG_VALUE".clone_into(&mut inst.opcode);
        inst.description = Some(description);
    } else if body.contains("#dbg_") || body.contains("@llvm.dbg.") {
        "DBG_LABEL".clone_into(&mut inst.opcode);
    } else {
        let (result, operation) = body.split_once(" = ").map_or(("", body), |(r, o)| if r.starts_with('%') { (r, o) } else { ("", body) });
        let opcode = operation.split_whitespace().find(|w| !["tail", "musttail", "notail"].contains(w));
        opcode.unwrap_or("").clone_into(&mut inst.opcode);
        inst.defs = if result.is_empty() { Vec::new() } else { vec![result.to_owned()] };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-$".contains(c);
        let uses = operation.split('%').skip(1).map(|rest| format!("%{}", rest.split(|c| !is_name(c)).next().unwrap_or("")));
        inst.uses = uses.collect();
    }
    if let Some(block) = function.blocks.last_mut() {
        block.instructions.push(inst);
    }
}

/// `#dbg_value(i32 %x, !16, !DIExpression(), !24)` or the call of `llvm.dbg.value` that older versions print.
fn read_record(text: &str, body: &str, location: Option<LocationId>, metadata: &mut ModuleMetadata) -> Option<MirDescription> {
    let (inner, at) = match text.strip_prefix("#dbg_value(") {
        Some(rest) => (rest.strip_suffix(')')?, None),
        None => (body.split_once("@llvm.dbg.value(")?.1.rsplit_once(')')?.0, location),
    };
    let fields: Vec<&str> = split(inner).into_iter().map(|f| f.trim_start_matches("metadata ")).collect();
    let [value, variable, expression, rest @ ..] = fields.as_slice() else { return None };
    let at = at.or_else(|| rest.first().and_then(|l| metadata.location(l)));
    let declared = metadata.variable(reference(variable)?)?;
    let inlined = at.and_then(|id| metadata.locations.get(id).inlined_at);
    let listed = value.strip_prefix("!DIArgList(").and_then(|v| v.strip_suffix(')'));
    let held = listed.map_or_else(|| vec![*value], split).into_iter().map(held_in_ir).collect();
    let expression = expression.trim_start_matches("!DIExpression(").trim_end_matches(')').to_owned();
    let fragment = expression.contains("DW_OP_LLVM_fragment").then_some((0, 0));
    let inlined_at = inlined.map_or_else(String::new, |id| super::text::call_site(id, metadata));
    let variable = MirVariable { name: declared.name, line: declared.line, inlined_at, fragment };
    Some(MirDescription { variable, scope: Some(declared.scope), inlined, held, expression, is_indirect: false })
}

fn held_in_ir(value: &str) -> Held {
    match value.rsplit_once(' ').map_or(value, |(_, v)| v) {
        "poison" | "undef" => Held::Nothing,
        name if name.starts_with('%') => Held::Register(name.to_owned()),
        _ => Held::Constant(value.to_owned()),
    }
}

/// Successors from the labels that the last instruction of each block names.
fn link(function: &mut MirFunction) {
    let numbers: HashMap<String, u32> = function.blocks.iter().map(|b| (b.name.clone(), b.number)).collect();
    for block in &mut function.blocks {
        let last: Vec<&str> = block
            .instructions
            .iter()
            .rev()
            .take_while(|i| i.text.contains("label %") || i.text.starts_with(']') || i.text.contains("i64 ") || i.text.contains("i32 "))
            .map(|i| i.text.as_str())
            .collect();
        let labels = last.iter().flat_map(|t| t.split("label %").skip(1)).map(|l| l.split([',', ' ', ')', ']']).next().unwrap_or(""));
        block.successors = labels.filter_map(|l| numbers.get(l.trim_matches('"')).copied()).collect();
    }
}

/// Judges the variables of one function over instruction selection.
pub fn judge_selection(ir: &MirFunction, machine: &MirFunction, numbering: Numbering<'_>, metadata: &ModuleMetadata) -> MirJudged {
    let (old, new) = (ReachingDescriptions::of(ir, numbering), ReachingDescriptions::of(machine, numbering));
    let blocks = match_blocks(ir, machine);
    let points = points(ir, machine, &blocks, metadata);
    let mut judged = MirJudged::default();
    for variable in old.variables() {
        if variable.fragment.is_some() {
            judged.reshaped += 1;
            continue;
        }
        judged.compared += 1;
        let selection = Selection { ir, machine, old: &old, new: &new, blocks: &blocks, metadata, variable };
        judged.verdicts.extend(selection.judge(&points));
    }
    judged
}

/// Blocks by the names of the IR, the first by its place; names that several machine blocks have count for none.
fn match_blocks(ir: &MirFunction, machine: &MirFunction) -> HashMap<usize, usize> {
    let mut matched = HashMap::new();
    for (old, block) in ir.blocks.iter().enumerate() {
        let named: Vec<usize> = (0..machine.blocks.len()).filter(|b| machine.blocks[*b].name == block.name).collect();
        match named.as_slice() {
            [one] if !block.name.is_empty() => drop(matched.insert(*one, old)),
            _ if old == 0 && !machine.blocks.is_empty() => drop(matched.insert(0, 0)),
            _ => {}
        }
    }
    matched
}

/// Instructions of the machine function by the IR's instruction of the same location, where that has a line and is the only
/// one of its block on both sides.
fn points(
    ir: &MirFunction,
    machine: &MirFunction,
    blocks: &HashMap<usize, usize>,
    metadata: &ModuleMetadata,
) -> BTreeMap<MirPlace, MirPlace> {
    let mut points = BTreeMap::new();
    for (new, old) in blocks {
        let by_location = |function: &MirFunction, block: usize| {
            let mut found: HashMap<LocationId, Vec<usize>> = HashMap::new();
            for (index, inst) in function.blocks[block]
                .instructions
                .iter()
                .enumerate()
                .filter(|(_, i)| i.is_real() && i.opcode != "phi" && i.opcode != "PHI")
            {
                if let Some(location) = inst.location.filter(|l| metadata.locations.get(*l).line != 0) {
                    found.entry(location).or_default().push(index);
                }
            }
            found
        };
        let (olds, news) = (by_location(ir, *old), by_location(machine, *new));
        for (location, indices) in &news {
            if let ([index], Some([source])) = (indices.as_slice(), olds.get(location).map(Vec::as_slice)) {
                points.insert(MirPlace { block: *new, index: *index }, MirPlace { block: *old, index: *source });
            }
        }
    }
    points
}

struct Selection<'a> {
    ir: &'a MirFunction,
    machine: &'a MirFunction,
    old: &'a ReachingDescriptions<'a>,
    new: &'a ReachingDescriptions<'a>,
    blocks: &'a HashMap<usize, usize>,
    metadata: &'a ModuleMetadata,
    variable: &'a MirVariable,
}

impl Selection<'_> {
    fn judge(&self, points: &BTreeMap<MirPlace, MirPlace>) -> Option<MirVariableVerdict> {
        let mut hidden = None;
        for (point, source) in points {
            let (old, new) = (self.old.at(self.variable, *source), self.new.at(self.variable, *point));
            let described: Vec<&MirDescription> = old.iter().flatten().filter_map(|p| self.old.description(*p)).collect();
            let in_scope = |d: &&MirDescription| {
                let location = point.of(self.machine).location;
                d.scope.zip(location).is_some_and(|(scope, at)| self.metadata.is_in_scope(scope, d.inlined, at))
            };
            if old.contains(&None) || described.iter().any(|d| d.is_undefined()) || !described.iter().all(in_scope) {
                continue;
            }
            let values: Vec<Option<String>> = new.iter().map(|p| self.new.value(*p)).collect();
            let verdict = if values.iter().all(Option::is_none) {
                let is_there = described.iter().all(|d| d.held.iter().all(|held| self.is_selected(held)));
                let evidence = if is_there {
                    "the value is used in ways that keep it in a register, and nothing describes the variable by it"
                } else {
                    "nothing describes the variable, whose value may have been folded into another instruction"
                };
                self.verdict(VariableErrorKind::Lost, *point, &old, &new, evidence, (!is_there).then_some(VariableRule::ValueGone))
            } else if let Some((shown, due)) = self.ordinals(&old, &new).filter(|(shown, due)| shown != due) {
                let evidence = if shown < due {
                    "an assignment that the IR makes in front of this instruction is described behind it"
                } else {
                    "an assignment that the IR makes behind this instruction is described in front of it"
                };
                self.verdict(VariableErrorKind::Stale, *point, &old, &new, evidence, None)
            } else {
                continue;
            };
            match verdict.hidden_by {
                None => return Some(verdict),
                Some(_) => drop(hidden.get_or_insert(verdict)),
            }
        }
        hidden
    }

    /// Which of the block's descriptions is shown and which is due, where both sides have as many.
    fn ordinals(&self, old: &BTreeSet<Option<MirPlace>>, new: &BTreeSet<Option<MirPlace>>) -> Option<(usize, usize)> {
        let only = |set: &BTreeSet<Option<MirPlace>>| set.first().copied().flatten().filter(|_| set.len() == 1);
        let (old, new) = (only(old)?, only(new)?);
        if self.blocks.get(&new.block) != Some(&old.block) {
            return None;
        }
        let of = |function: &MirFunction, block: usize| -> Vec<usize> {
            let list = function.blocks[block].instructions.iter().enumerate();
            list.filter(|(_, i)| i.description.as_ref().is_some_and(|d| d.variable == *self.variable)).map(|(index, _)| index).collect()
        };
        let (olds, news) = (of(self.ir, old.block), of(self.machine, new.block));
        let position = |list: &[usize], index: usize| list.iter().position(|i| *i == index);
        (olds.len() == news.len()).then(|| position(&news, new.index).zip(position(&olds, old.index))).flatten()
    }

    /// Whether a value is certainly in a register behind selection: a constant or an argument that is used, a value that is
    /// stored, passed, returned, or used in another block.
    fn is_selected(&self, held: &Held) -> bool {
        let Held::Register(name) = held else { return matches!(held, Held::Constant(_)) };
        let all = || self.ir.blocks.iter().enumerate().flat_map(|(b, block)| block.instructions.iter().map(move |i| (b, i)));
        let home = all().find(|(_, i)| i.defs.contains(name)).map(|(b, _)| b);
        let conversion = all().any(|(_, i)| {
            i.defs.contains(name)
                && ["trunc", "bitcast", "addrspacecast", "getelementptr", "icmp", "fcmp", "freeze"].contains(&i.opcode.as_str())
        });
        let keeps = |block: usize, inst: &MirInstruction| {
            inst.is_real()
                && inst.uses.contains(name)
                && (home.is_some_and(|h| h != block) || ["store", "call", "ret", "phi"].contains(&inst.opcode.as_str()))
        };
        !conversion && all().any(|(block, inst)| keeps(block, inst))
    }

    fn verdict(
        &self,
        kind: VariableErrorKind,
        point: MirPlace,
        old: &BTreeSet<Option<MirPlace>>,
        new: &BTreeSet<Option<MirPlace>>,
        evidence: &str,
        hidden_by: Option<VariableRule>,
    ) -> MirVariableVerdict {
        let text = |side: &ReachingDescriptions<'_>, place: &Option<MirPlace>| {
            side.value(*place).unwrap_or_else(|| "no description of a value".to_owned())
        };
        let update = match kind {
            VariableErrorKind::Lost => format!("in SelectionDAGBuilder::handleDebugValue: emit a DBG_VALUE of {}", self.variable.name),
            _ => format!(
                "in InstrEmitter and ScheduleDAGSDNodes::EmitSchedule: place the description of {} by its order",
                self.variable.name
            ),
        };
        MirVariableVerdict {
            kind,
            variable: self.variable.clone(),
            point,
            before: old.iter().map(|p| text(self.old, p)).collect(),
            after: new.iter().map(|p| text(self.new, p)).collect(),
            evidence: evidence.to_owned(),
            update,
            hidden_by,
        }
    }
}
