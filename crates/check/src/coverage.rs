//! Which lines -O0 executes, every row counted: one-shot breakpoints on row starts and branch targets.
//!
//! A debugger's stops are not enough as a baseline: it passes over lines (a closing brace, a row in the middle
//! of another) that do run. Each address is hit once, so this costs as much as the program has code.

use crate::CheckError;
use crate::debuginfo::DebugInfo;
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use trueline_model::LineKey;
use trueline_toolchain::{Confinement, Job, Limits};
use trueline_trace::inferior::{Event, Inferior};

/// Runs the program once and returns the lines it executes.
pub(crate) fn executed_lines(info: &DebugInfo, binary: &Path, args: &[String], limits: &Limits) -> Result<BTreeSet<LineKey>, CheckError> {
    let mut addresses: HashSet<u64> = info.rows.iter().filter(|r| r.key.is_some()).map(|r| r.start).collect();
    addresses.extend(branch_targets(info));
    let job = Job::new(binary).args(args).limits(limits.clone()).confine(Confinement::traced());
    let mut inferior = Inferior::launch(&job, info.entry, info.image)?;
    let bias = inferior.bias();
    let places: Vec<u64> = addresses.iter().map(|a| a + bias).collect();
    inferior.set_breakpoints(&places).map_err(CheckError::io("cannot set breakpoints"))?;
    let mut executed = BTreeSet::new();
    let bad = |reason: String| CheckError::BadProgram { reason };
    loop {
        match inferior.resume()? {
            Event::Breakpoint(at) => {
                let pc = at - bias;
                executed.extend(rows_at(info, pc));
                inferior.remove_breakpoint(at).map_err(CheckError::io("cannot remove a breakpoint"))?;
            }
            Event::Stepped => {}
            Event::Exited(_) => return Ok(executed),
            Event::Killed { signal, .. } => return Err(bad(format!("is ended by signal {signal}"))),
            Event::TimedOut => return Err(bad(format!("did not finish within {} s", limits.wall.as_secs()))),
            Event::Forked => return Err(bad("starts another process or thread".to_owned())),
            Event::OwnTrap => return Err(bad("raises SIGTRAP itself".to_owned())),
        }
    }
}

/// The lines of an address: the row that covers it, and the empty rows that share its start.
fn rows_at(info: &DebugInfo, pc: u64) -> impl Iterator<Item = LineKey> + '_ {
    let covering = info.row_at(pc).and_then(|r| r.key.clone());
    let first = info.rows.partition_point(|r| r.start < pc);
    let sharing = info.rows[first..].iter().take_while(move |r| r.start == pc).filter_map(|r| r.key.clone());
    covering.into_iter().chain(sharing)
}

/// Targets of direct branches inside functions with debug information: code is entered there and at rows only.
fn branch_targets(info: &DebugInfo) -> HashSet<u64> {
    let mut targets = HashSet::new();
    for (start, end) in info.functions.iter().filter(|f| !f.is_inlined).flat_map(|f| f.ranges.iter().copied()) {
        let Some(code) = info.code_at(start) else { continue };
        let code = &code[..code.len().min((end - start) as usize)];
        for instruction in &mut Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
            if matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
                && instruction.near_branch_target() != 0
                && (start..end).contains(&instruction.near_branch_target())
            {
                targets.insert(instruction.near_branch_target());
            }
        }
    }
    targets
}
