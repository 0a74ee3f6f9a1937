//! Wrong descriptions of variables for people and scripts, by the place in LLVM that made them.

use super::defs::{Def, DefId, Side};
use super::judge::{Described, Deviation, VariableErrorKind, VariableVerdict};
use super::proof::Proof;
use super::recovery::{Means, Recovery};
use super::rules::VariableRule;
use crate::history::{History, Place, ValueId};
use crate::naming::Names;
use crate::observation::Observation;
use crate::report::InstructionView;
use crate::site::{Site, Symbols};
use crate::skeleton;
use serde::Serialize;
use trueline_llvm_hook::wire::{ConstantKind, VariableKind};

/// A wrong description of a variable, with how often its place in LLVM made one.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct VariableError {
    /// The pass.
    pub pass: String,
    /// The function of the first instance.
    pub function: String,
    /// The variable's name.
    pub variable: String,
    /// The line that declares it.
    pub line: u32,
    /// Offset and size in bits of the piece that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment: Option<(u64, u64)>,
    /// What is wrong.
    pub kind: VariableErrorKind,
    /// The instruction in front of which a debugger would show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<InstructionView>,
    /// What described the variable there in front of the pass.
    pub before: Vec<String>,
    /// What describes it there behind the pass.
    pub after: Vec<String>,
    /// Why it is wrong, in a sentence.
    pub evidence: String,
    /// Numbers that show a wrong expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<String>,
    /// Whether it is known that the program shows it.
    pub certainty: Certainty,
    /// Where in LLVM.
    pub site: Site,
    /// The update that is missing.
    pub skeleton: String,
    /// The rule that hid it; only with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_by: Option<VariableRule>,
    /// How often it happened in this file.
    pub instances: usize,
}

/// How much is known of a wrong description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Control flow, arithmetic or a bisection says so.
    Known,
    /// The pass may have known that both are the same wherever the program gets.
    Possible,
}

impl VariableError {
    /// Whether another is of the same place and kind.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.pass, self.kind, self.hidden_by) == (&other.pass, other.kind, other.hidden_by)
            && (&self.site.function, self.site.address) == (&other.site.function, other.site.address)
    }
}

/// Counts of variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct VariableCount {
    /// Variables whose descriptions a pass changed and that were compared.
    pub compared: usize,
    /// Variables that a pass described in other pieces, which are not compared.
    pub reshaped: usize,
    /// Wrong descriptions.
    pub errors: usize,
    /// Wrong descriptions that a rule allows.
    pub hidden: usize,
}

impl VariableCount {
    /// Adds another count.
    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.reshaped += other.reshaped;
        self.errors += other.errors;
        self.hidden += other.hidden;
    }
}

/// Writes verdicts of one run of a pass.
pub struct View<'a, 'h> {
    /// Everything that was seen.
    pub observation: &'a Observation,
    /// The run.
    pub history: &'a History<'h>,
    /// The descriptions.
    pub described: &'a Described<'h>,
    /// Names of LLVM's functions.
    pub symbols: &'a Symbols,
}

impl View<'_, '_> {
    /// A verdict for people.
    pub fn error(&self, verdict: &VariableVerdict) -> VariableError {
        let run = self.history.run;
        let function = &run.after[verdict.function];
        let variable = self.observation.referents.variables.get(&verdict.key.variable);
        let frames = self.observation.stacks.get(&verdict.stack).map_or(&[][..], Vec::as_slice);
        let site = Site::of(frames, self.symbols, self.observation.major);
        let name = variable.map_or_else(|| "?".to_owned(), |v| v.name.clone());
        let texts = |side: Side, ids: &[Option<DefId>]| ids.iter().map(|id| self.description(side, *id)).collect();
        let update = self.update(verdict, &name);
        VariableError {
            pass: run.pass.clone(),
            function: function.name.clone(),
            line: variable.map_or(0, |v| v.line),
            fragment: verdict.key.fragment,
            kind: verdict.kind,
            point: verdict.point.map(|(_, after)| self.instruction(after)),
            before: texts(Side::Before, &verdict.before),
            after: texts(Side::After, &verdict.after),
            evidence: self.evidence(verdict),
            counterexample: verdict
                .counterexample
                .as_ref()
                .filter(|c| !matches!(c.by, Deviation::OtherConstant | Deviation::Unpassed))
                .map(|c| {
                    let numbers: Vec<String> =
                        c.numbers.iter().map(|(v, n)| format!("{} = {n}", self.value(Side::Before, verdict.function, *v))).collect();
                    let described = c.described.map_or_else(|| "no value".to_owned(), |d| (d & mask(c.bits)).to_string());
                    let with = if numbers.is_empty() { String::new() } else { format!("with {} ", numbers.join(", ")) };
                    let what = if c.by == Deviation::Expression { "the expression" } else { "what is described" };
                    format!("{with}the value is {}, {what} gives {described}", c.value & mask(c.bits))
                }),
            certainty: match &verdict.counterexample {
                Some(numbers) if numbers.by == Deviation::ShownLater => Certainty::Possible,
                _ => Certainty::Known,
            },
            skeleton: skeleton::at(&site, &update),
            variable: name,
            site,
            hidden_by: verdict.hidden_by,
            instances: 1,
        }
    }

    fn instruction(&self, place: Place) -> InstructionView {
        let (function, inst) = crate::naming::at(&self.history.run.after, place);
        let names = Names::of(function);
        let location = self.observation.locations.at(inst.location);
        let called_at = crate::report::called_at(&self.observation.locations, location);
        let location = location.map(|l| self.observation.locations.get(l));
        InstructionView {
            text: names.short(inst),
            block: names.block(function.blocks[place.block.0 as usize].at).to_owned(),
            file: location.map(|l| l.file.to_string()),
            line: location.map(|l| l.line),
            column: location.map(|l| l.column),
            called_at,
        }
    }

    fn def(&self, side: Side, id: DefId) -> &Def<'_> {
        match side {
            Side::Before => self.described.before.get(id),
            Side::After => self.described.after.get(id),
        }
    }

    /// A description as LLVM would print it, in short.
    fn description(&self, side: Side, id: Option<DefId>) -> String {
        let Some(def) = id.map(|id| self.def(side, id)) else { return "nothing".to_owned() };
        let kind = match def.record.kind {
            VariableKind::Value => "dbg_value",
            VariableKind::Declare => "dbg_declare",
            VariableKind::Assign => "dbg_assign",
        };
        let values: Vec<String> = def.values.iter().map(|v| self.value(side, def.place.function, *v)).collect();
        let values = if values.is_empty() { "no value".to_owned() } else { values.join(", ") };
        let expression =
            self.observation.referents.expressions.get(&def.record.expression).map_or_else(String::new, |e| expression_text(e));
        let functions = match side {
            Side::Before => &self.history.run.before,
            Side::After => &self.history.run.after,
        };
        let function = &functions[def.place.function];
        let block = Names::of(function).block(function.blocks[def.place.block.0 as usize].at).to_owned();
        format!("{kind}({values}{expression}) in {block}")
    }

    /// The name of a value.
    fn value(&self, side: Side, function: usize, value: ValueId) -> String {
        let functions = match side {
            Side::Before => &self.history.run.before,
            Side::After => &self.history.run.after,
        };
        let at = match value {
            ValueId::Given(at) => Some(at),
            ValueId::Inst(id) => {
                let record = match side {
                    Side::Before => self.history.record_before(id),
                    Side::After => self.history.record_after(id),
                };
                // One that is only known on the other side is named as there.
                record.or_else(|| self.history.record_before(id)).or_else(|| self.history.record_after(id)).map(|r| r.at)
            }
        };
        let Some(at) = at else { return "a value that is gone".to_owned() };
        if let Some(constant) = self.observation.referents.constants.get(&at) {
            return match constant.kind {
                ConstantKind::Integer(number) => number.to_string(),
                ConstantKind::Undefined => "poison".to_owned(),
                ConstantKind::Null => "null".to_owned(),
            };
        }
        let place = match value {
            ValueId::Inst(id) => self.history.life(id).before.or(self.history.life(id).after).map(|p| p.function),
            ValueId::Given(_) => None,
        };
        let named = |list: &[std::sync::Arc<trueline_llvm_hook::wire::FunctionRecord>], function: usize| {
            list.get(function).and_then(|f| Names::of(f).value(at).map(str::to_owned))
        };
        let other = match side {
            Side::Before => &self.history.run.after,
            Side::After => &self.history.run.before,
        };
        named(functions, function).or_else(|| named(other, place.unwrap_or(function))).unwrap_or_else(|| "a constant".to_owned())
    }

    fn evidence(&self, verdict: &VariableVerdict) -> String {
        let function = verdict.function;
        match verdict.kind {
            VariableErrorKind::Lost => {
                let Some(recovery) = &verdict.recovery else { return String::new() };
                let live: Vec<String> = recovery.live.iter().map(|v| self.value(Side::After, function, *v)).collect();
                let value = self.value(Side::Before, function, recovery.value);
                match recovery.by {
                    Means::Itself => format!("{value} is still computed and exists here"),
                    Means::Heir => format!("{} took the place of {value} and exists here", live.join(", ")),
                    Means::Expression => {
                        let proved = if recovery.proof == Proof::Proved { "proved" } else { "tried with many numbers, not proved" };
                        format!("{value} can be expressed by {}, which exist here ({proved})", live.join(", "))
                    }
                }
            }
            VariableErrorKind::Stale if verdict.counterexample.is_some() => {
                "the loop is left earlier than in the original, and this is the value of its first iteration".to_owned()
            }
            VariableErrorKind::Stale if verdict.after.iter().flatten().any(|id| self.def(Side::After, *id).declares()) => {
                "nothing writes the address any more".to_owned()
            }
            VariableErrorKind::Stale => "no path of the original reaches this instruction with that description".to_owned(),
            VariableErrorKind::Wrong if let Some(operation) = verdict.clash => format!(
                "`{}` of the expression joins a converted number with one of another type, so that no debugger can evaluate it",
                expression_text(&[operation]).trim_start_matches("; ")
            ),
            VariableErrorKind::Wrong => match verdict.counterexample.as_ref().map(|c| c.by) {
                Some(Deviation::Replacement) => {
                    "what took the value's place does not equal it here, where an execution gets with these numbers"
                }
                Some(Deviation::Suspected) => {
                    "what is described now does not equal the value for all numbers, and the variable is shown wrongly from this pass on"
                }
                Some(Deviation::ShownLater) => {
                    "what is described now is not the value for all numbers, or is the very number that is shown wrongly later; the pass may have \
                     known that they are the same here"
                }
                Some(Deviation::OtherConstant) => {
                    "the instruction has another constant now, and is still described as the value it had: with one for a factor, or \
                     zero for a summand, the result is the constant"
                }
                Some(Deviation::Unpassed) => "a caller passes nothing for the argument any more, and a debugger shows what is in its place",
                Some(Deviation::OtherWay) => {
                    "the description was copied to where one way to the phi comes from, and names another number than the copies beside it"
                }
                Some(Deviation::InPlace) => "the instruction computes something else now, and is still described as the value it had",
                Some(Deviation::Expression | Deviation::EarlyExit) | None => "the expression does not give the value that was described",
            }
            .to_owned(),
            VariableErrorKind::Misplaced => match verdict.after.iter().flatten().next().map(|id| self.def(Side::After, *id)) {
                Some(def) => {
                    let early = def.values.iter().find(|v| matches!(v, ValueId::Inst(_)));
                    let value = early.map_or_else(|| "its value".to_owned(), |v| self.value(Side::After, function, *v));
                    format!("{value} does not exist on every path to the description, or its scope is another function's")
                }
                None => String::new(),
            },
        }
    }

    /// The missing update.
    fn update(&self, verdict: &VariableVerdict, variable: &str) -> String {
        let value = |v: ValueId| self.value(Side::Before, verdict.function, v);
        match (verdict.kind, &verdict.recovery) {
            (VariableErrorKind::Lost, Some(Recovery { by: Means::Itself, value: old, .. })) => {
                format!("Keep({variable}, {})  // the record that describes it, or a clone of it here", value(*old))
            }
            (VariableErrorKind::Lost, Some(Recovery { by: Means::Heir, value: old, live, .. })) => {
                let new = live.iter().next().map_or_else(String::new, |v| self.value(Side::After, verdict.function, *v));
                format!("Redescribe({variable}, {}, {new})  // replaceAllDbgUsesWith(Old, New, DomPoint, DT);", value(*old))
            }
            (VariableErrorKind::Lost, Some(Recovery { value: old, .. })) => {
                format!("Salvage({variable}, {})  // salvageDebugInfo(Old); before it is erased", value(*old))
            }
            (VariableErrorKind::Stale, _) => {
                format!("Kill({variable})  // Record->setKillLocation(); where the assignment is lost or passed")
            }
            (VariableErrorKind::Wrong, _) if verdict.clash.is_some() => {
                format!("Convert({variable})  // back to the type of what it meets, or Record->setKillLocation();")
            }
            (VariableErrorKind::Wrong, _) if verdict.counterexample.as_ref().is_some_and(|c| c.by == Deviation::Unpassed) => {
                format!("Kill({variable})  // Argument->replaceAllUsesWith(PoisonValue::get(Type)); where callers pass none")
            }
            (VariableErrorKind::Wrong, _) if verdict.counterexample.as_ref().is_some_and(|c| c.by != Deviation::Expression) => {
                let old = verdict.before.iter().flatten().flat_map(|id| self.def(Side::Before, *id).values.iter().copied()).next();
                let old = old.map_or_else(String::new, value);
                format!("Salvage({variable}, {old})  // salvageDebugInfo(Old); Old->replaceNonMetadataUsesWith(New);")
            }
            (VariableErrorKind::Wrong, _) => format!("Correct({variable})  // the expression, or Record->setKillLocation();"),
            (VariableErrorKind::Misplaced, _) => format!("Place({variable})  // behind the definition of the value, in its own scope"),
            (VariableErrorKind::Lost, None) => String::new(),
        }
    }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// An expression's operators, empty for the empty one.
fn expression_text(elements: &[u64]) -> String {
    let mut words = Vec::new();
    let mut rest = elements.iter();
    while let Some(op) = rest.next() {
        let (name, arguments) = match op {
            0x06 => ("deref".to_owned(), 0),
            0x10 => ("constu".to_owned(), 1),
            0x11 => ("consts".to_owned(), 1),
            0x12 => ("dup".to_owned(), 0),
            0x16 => ("swap".to_owned(), 0),
            0x1a => ("and".to_owned(), 0),
            0x1b => ("div".to_owned(), 0),
            0x1c => ("minus".to_owned(), 0),
            0x1d => ("mod".to_owned(), 0),
            0x1e => ("mul".to_owned(), 0),
            0x1f => ("neg".to_owned(), 0),
            0x20 => ("not".to_owned(), 0),
            0x21 => ("or".to_owned(), 0),
            0x22 => ("plus".to_owned(), 0),
            0x23 => ("plus_uconst".to_owned(), 1),
            0x24 => ("shl".to_owned(), 0),
            0x25 => ("shr".to_owned(), 0),
            0x26 => ("shra".to_owned(), 0),
            0x27 => ("xor".to_owned(), 0),
            0x30..=0x4f => (format!("lit{}", op - 0x30), 0),
            0x9f => ("stack_value".to_owned(), 0),
            0x1000 => ("fragment".to_owned(), 2),
            0x1001 => ("convert".to_owned(), 2),
            0x1005 => ("arg".to_owned(), 1),
            other => (format!("{other:#x}"), 0),
        };
        words.push(name);
        words.extend(rest.by_ref().take(arguments).map(|n| (*n as i64).to_string()));
    }
    if words.is_empty() { String::new() } else { format!("; {}", words.join(" ")) }
}
