//! Addresses where the tracer has to stop so that no decision of a debugger is missed.
//!
//! Between two such addresses control flows straight on within one line row, one inlined call and one
//! activation, and no debugger changes its mind there.

use crate::native::module::Module;
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::collections::HashSet;

/// What a policy needs to see besides line rows, block boundaries and branch targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing more: returns may be deduced afterwards.
    Rows,
    /// The addresses that calls return to.
    Returns,
}

/// The addresses to stop at.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    /// All addresses, in rising order.
    pub all: Vec<u64>,
    /// Those among them that calls return to.
    pub returns: HashSet<u64>,
}

/// The addresses in functions that `wanted` accepts.
pub(crate) fn find(module: &Module, needs: Needs, wanted: impl Fn(u64) -> bool) -> Sites {
    let mut sites: HashSet<u64> = HashSet::new();
    let ranges: Vec<(u64, u64)> = module.by_address.iter().map(|r| (r.0, r.1)).filter(|r| wanted(r.0)).collect();
    let inside = |pc: u64| {
        let after = ranges.partition_point(|r| r.0 <= pc);
        after > 0 && pc < ranges[after - 1].1
    };
    for row in module.rows.iter().filter(|r| !r.flags.end_sequence) {
        sites.insert(row.address);
    }
    for block in &module.blocks {
        for &(low, high) in if module.gdb_blocks.is_some() { &block.described } else { &block.ranges } {
            sites.extend([low, high]);
        }
    }
    sites.retain(|&pc| inside(pc));
    let mut boundaries = HashSet::new();
    let mut returns = HashSet::new();
    for &(low, high) in &ranges {
        let Some(code) = module.code_at(low) else { continue };
        let code = &code[..code.len().min((high - low) as usize)];
        sites.insert(low);
        for instruction in &mut Decoder::with_ip(64, code, low, DecoderOptions::NONE) {
            boundaries.insert(instruction.ip());
            match instruction.flow_control() {
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    let target = instruction.near_branch64();
                    if inside(target) {
                        sites.insert(target);
                    }
                }
                FlowControl::Call | FlowControl::IndirectCall if needs == Needs::Returns && inside(instruction.next_ip()) => {
                    sites.insert(instruction.next_ip());
                    returns.insert(instruction.next_ip());
                }
                _ => {}
            }
        }
    }
    // A breakpoint inside an instruction would change the program: damaged tables must not do that.
    let mut all: Vec<u64> = sites.into_iter().filter(|s| boundaries.contains(s)).collect();
    all.sort_unstable();
    Sites { all, returns }
}
