//! The DWARF standard read literally: every is_stmt row is a place to stop, the last one where several share
//! an address, no prologue is skipped, returns and inlined calls are nothing special.

use super::sites::Needs;
use super::{Position, PositionKind, Shown, Stepper, Verdict};
use crate::native::module::{FileId, FunctionId, Module};
use std::collections::HashMap;

/// Stops wherever a row says that a statement begins.
pub(crate) struct StandardStepper<'m> {
    module: &'m Module,
    /// The last is_stmt row with a line at each address.
    rows: HashMap<u64, (FileId, u32)>,
    /// Start of each row with the line that holds from there on.
    holds: Vec<(u64, Option<(FileId, u32)>)>,
}

impl<'m> StandardStepper<'m> {
    pub fn new(module: &'m Module) -> Self {
        let mut rows = HashMap::new();
        let mut holds = Vec::new();
        for row in &module.rows {
            let line = (row.line != 0).then_some((row.file, row.line));
            holds.push((row.address, line.filter(|_| !row.flags.end_sequence), row.flags.end_sequence));
            if row.flags.is_stmt
                && !row.flags.end_sequence
                && let Some(line) = line
            {
                rows.insert(row.address, line);
            }
        }
        holds.sort_by_key(|h| (h.0, !h.2));
        Self { module, rows, holds: holds.into_iter().map(|h| (h.0, h.1)).collect() }
    }
}

impl Stepper for StandardStepper<'_> {
    fn first_stop(&self, main: FunctionId) -> u64 {
        self.module.function(main).entry()
    }

    fn begin(&mut self, position: &Position) -> Verdict {
        self.arrive(position)
    }

    fn arrive(&mut self, position: &Position) -> Verdict {
        match self.rows.get(&position.pc) {
            Some(&(file, line)) if position.kind == PositionKind::Real => Verdict::Stop(Shown { hidden: 0, line, file }),
            _ => Verdict::Run,
        }
    }

    fn step(&mut self, _position: &Position) -> Verdict {
        Verdict::Run
    }

    fn line_at(&self, pc: u64) -> Option<(FileId, u32)> {
        let after = self.holds.partition_point(|h| h.0 <= pc);
        self.holds[..after].last().and_then(|h| h.1)
    }

    fn generation(&self) -> u64 {
        0
    }

    fn sites(&self) -> Needs {
        Needs::Rows
    }

    fn rejoin(&mut self, _position: &Position) -> bool {
        true
    }
}
