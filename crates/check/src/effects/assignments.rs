//! Which lines assign a variable at -O0, by the stores to its slot of the frame.

use super::operands::variable_in;
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};
use trueline_dwarf::Module;
use trueline_model::{LineKey, VarKey};

/// The lines that assign each scalar variable whose address is never taken.
#[derive(Debug, Default)]
pub(crate) struct Assignments(BTreeMap<VarKey, BTreeSet<LineKey>>);

impl Assignments {
    /// What a test says.
    #[cfg(test)]
    pub(crate) fn of_lines(lines: impl IntoIterator<Item = (VarKey, BTreeSet<LineKey>)>) -> Self {
        Self(lines.into_iter().collect())
    }

    /// Reads the -O0 build's code.
    pub(crate) fn read(debug: &Module) -> Self {
        let mut lines: BTreeMap<VarKey, BTreeSet<LineKey>> = BTreeMap::new();
        let mut escaped: BTreeSet<VarKey> = BTreeSet::new();
        let mut factory = InstructionInfoFactory::new();
        let writes = |access| matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
        for &(low, high) in debug.functions.iter().flat_map(|f| &f.ranges) {
            let Some(code) = debug.code_at(low) else { continue };
            let code = &code[..code.len().min((high - low) as usize)];
            for instruction in &mut Decoder::with_ip(64, code, low, DecoderOptions::NONE) {
                let pc = instruction.ip();
                let of = |at: i64| [1, 2, 4, 8].into_iter().find_map(|size: u64| variable_in(debug, pc, (at, size)));
                let is_slot = instruction.memory_base() == Register::RBP && instruction.memory_index() == Register::None;
                if !is_slot {
                    continue;
                }
                let Some((key, _)) = of(instruction.memory_displacement64() as i64) else { continue };
                if instruction.mnemonic() == Mnemonic::Lea && instruction.op1_kind() == OpKind::Memory {
                    escaped.insert(key);
                } else if factory.info(&instruction).used_memory().iter().any(|m| writes(m.access())) {
                    let line = debug.row_around(pc).and_then(|r| debug.line_key(r.file, r.line));
                    lines.entry(key).or_default().extend(line);
                }
            }
        }
        lines.retain(|key, _| !escaped.contains(key));
        Self(lines)
    }

    /// The lines that assign a variable; `None` for one that may be assigned elsewhere.
    pub(crate) fn of(&self, variable: &VarKey) -> Option<&BTreeSet<LineKey>> {
        self.0.get(variable)
    }
}
