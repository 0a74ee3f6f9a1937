//! Lines and the instructions they have, in both directions.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use trueline_dwarf::cfi::CfaRule;
use trueline_dwarf::op::Op;
use trueline_dwarf::{Location, LocationEntry, Module, Presence, spell, spell_constant};
use trueline_model::{LineKey, LocationSpan};
use trueline_oracle::Suspect;

/// Whether variables are read at the addresses that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// They are, so that only addresses count where a function has its frame.
    Read,
    /// They are not.
    Pass,
}

/// The line table of a binary, with its code.
pub(crate) struct LineTable<'m> {
    module: &'m Module,
    purpose: Purpose,
}

impl<'m> LineTable<'m> {
    pub(crate) fn new(module: &'m Module, purpose: Purpose) -> Self {
        Self { module, purpose }
    }

    /// The binary.
    pub(crate) fn module(&self) -> &'m Module {
        self.module
    }

    /// The line of an address.
    pub(crate) fn line_of(&self, pc: u64) -> Option<LineKey> {
        self.module.row_around(pc).and_then(|r| self.module.line_key(r.file, r.line))
    }

    /// Whether a line begins at an address, with or without code of its own.
    pub(crate) fn begins(&self, pc: u64, line: &LineKey) -> bool {
        let mut rows = self.module.rows_in(pc, pc.saturating_add(1)).map(|i| &self.module.rows[i]);
        rows.any(|row| row.flags.is_stmt && self.module.line_key(row.file, row.line).as_ref() == Some(line))
    }

    fn instructions(&self, low: u64, high: u64) -> Vec<Instruction> {
        let Some(code) = self.module.code_at(low) else { return Vec::new() };
        let code = &code[..code.len().min(high.saturating_sub(low) as usize)];
        Decoder::with_ip(64, code, low, DecoderOptions::NONE).into_iter().filter(|i| i.code() != Code::INVALID).collect()
    }

    /// The addresses of a line's instructions, and where control goes from them out of the line.
    pub(crate) fn code(&self, line: &LineKey) -> (BTreeSet<u64>, BTreeMap<u64, BTreeSet<u64>>) {
        let module = self.module;
        let is_it = |i: &usize| module.line_key(module.rows[*i].file, module.rows[*i].line).as_ref() == Some(line);
        let rows = module.rows_by_address().filter(is_it).filter(|&i| module.function_at(module.rows[i].address).is_some());
        let mut instructions: Vec<Instruction> = Vec::new();
        for row in rows {
            instructions.extend(self.instructions(module.rows[row].address, module.row_end(row)));
        }
        // Where several rows hold an address the last one is in force.
        instructions.retain(|i| self.line_of(i.ip()).as_ref() == Some(line) && self.has_frame(i.ip()));
        let own: BTreeSet<u64> = instructions.iter().map(Instruction::ip).collect();
        let mut after: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for instruction in &instructions {
            let next = instruction.next_ip();
            let targets = match instruction.flow_control() {
                FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => vec![],
                FlowControl::UnconditionalBranch => vec![instruction.near_branch64()],
                FlowControl::ConditionalBranch => vec![next, instruction.near_branch64()],
                _ => vec![next],
            };
            for target in targets.into_iter().filter(|t| !own.contains(t) && self.has_frame(*t)) {
                after.entry(target).or_default().insert(instruction.ip());
            }
        }
        (own, after)
    }

    /// Where a variable of the functions may have changed, and where their lines begin.
    pub(crate) fn changes(&self, functions: &HashSet<&str>) -> BTreeSet<u64> {
        let module = self.module;
        let mut factory = InstructionInfoFactory::new();
        let mut found = BTreeSet::new();
        for function in module.functions.iter().filter(|f| functions.contains(&*f.name)) {
            for &(low, high) in &function.ranges {
                for instruction in self.instructions(low, high) {
                    if changes_memory(&instruction, &mut factory) && instruction.next_ip() < high {
                        found.insert(instruction.next_ip());
                    }
                }
                found.extend(module.rows_in(low, high).map(|i| module.rows[i].address));
            }
        }
        found.retain(|pc| self.has_frame(*pc));
        found
    }

    /// Whether variables at fixed offsets can be read at an address: not before a function has set up the register that they
    /// are measured from, nor after it has given it up.
    fn has_frame(&self, pc: u64) -> bool {
        let Some(function) = self.module.function_at(pc) else { return false };
        if self.purpose == Purpose::Pass {
            return true;
        }
        let base = match &self.module.function(function).frame_base {
            Location::Everywhere(ops) => match **ops {
                [Op::Register(base)] => base,
                _ => return true,
            },
            _ => return true,
        };
        let cfa = self.module.cfi.at(pc).map(|row| &row.cfa);
        matches!(cfa, Some(CfaRule::RegisterOffset(register, offset)) if *register == base && *offset > 8)
    }

    /// The location behind a suspected value, and how far it goes on from the stop.
    pub(crate) fn location(&self, suspect: &Suspect) -> Option<LocationSpan> {
        let (module, pc) = (self.module, suspect.pc);
        let blocks = module.chain_at(pc);
        let in_force = |var: &trueline_dwarf::Var| {
            let is_it = var.name == suspect.variable.name && var.decl_line == suspect.variable.decl_line;
            if !is_it || var.presence == Presence::Gone {
                return None;
            }
            let function = module.function(module.function_at(pc)?);
            let everywhere = function.ranges.iter().copied().find(|r| r.0 <= pc && pc < r.1)?;
            match &var.location {
                Location::List(list) => {
                    // As in gdb, an empty entry counts at the function's entry.
                    let holds = |e: &&LocationEntry| e.low <= pc && pc < e.high || e.low == e.high && e.low == pc && pc == function.entry();
                    let entry = list.iter().find(holds)?;
                    Some(((entry.low, entry.high), spell(entry.ops.as_ref().ok()?)))
                }
                Location::Everywhere(ops) => Some((everywhere, spell(ops))),
                Location::Constant(bytes, _) => Some((everywhere, format!("the constant {}", spell_constant(bytes)))),
                Location::None | Location::Broken(_) => None,
            }
        };
        let vars = blocks.iter().flat_map(|b| &module.block(*b).vars);
        let ((low, high), expression) = vars.map(|v| module.var(*v)).find_map(in_force)?;
        // The last instruction may reach beyond the location's end.
        let mut instructions = self.instructions(pc, high.saturating_add(16));
        instructions.retain(|i| i.ip() < high);
        let lines: BTreeSet<LineKey> = instructions.iter().filter_map(|i| self.line_of(i.ip())).collect();
        let expression: Arc<str> = expression.into();
        Some(LocationSpan { low, high, expression, instructions: instructions.len(), lines: lines.len() })
    }
}

/// True for instructions after which a variable may hold something else: stores and calls.
pub(crate) fn changes_memory(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> bool {
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => true,
        FlowControl::Next => {
            let info = factory.info(instruction);
            let writes = |access| matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
            instruction.mnemonic() != Mnemonic::Push && info.used_memory().iter().any(|m| writes(m.access()))
        }
        _ => false,
    }
}
