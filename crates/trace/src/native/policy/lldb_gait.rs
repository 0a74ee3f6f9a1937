//! How lldb 16 moves within a range: to the next branch at once, or to the range's end when there is none, and one
//! instruction at a time where that is the next instruction anyway.

use crate::native::module::Module;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

/// The next place where lldb looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub pc: u64,
    /// Whether it runs there, rather than executing one instruction.
    pub runs: bool,
}

fn branches(instruction: &Instruction) -> bool {
    use FlowControl as F;
    matches!(
        instruction.flow_control(),
        F::ConditionalBranch | F::UnconditionalBranch | F::IndirectBranch | F::Call | F::IndirectCall | F::Return
    )
}

fn decode(module: &Module, pc: u64, end: u64) -> impl Iterator<Item = Instruction> + '_ {
    let code = module.code_at(pc).unwrap_or_default();
    let code = &code[..code.len().min(end.saturating_sub(pc) as usize)];
    let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
    std::iter::from_fn(move || decoder.can_decode().then(|| decoder.decode()))
}

/// Where lldb looks after `pc`, in a range that ends at `end`.
pub(super) fn next(module: &Module, pc: u64, end: u64) -> Option<Next> {
    let mut first = None;
    let mut count = 0;
    for (index, instruction) in decode(module, pc, end).enumerate() {
        first.get_or_insert(instruction.next_ip());
        count = index;
        if branches(&instruction) {
            let runs = index > 1;
            return Some(Next { pc: if runs { instruction.ip() } else { first? }, runs });
        }
    }
    let runs = count > 1;
    Some(Next { pc: if runs { end } else { first? }, runs })
}

/// Whether the last move on a straight way from `from` to the range's end is a run, rather than one instruction.
pub(super) fn runs_to_end(module: &Module, from: u64, end: u64) -> bool {
    let mut at = from;
    while let Some(n) = next(module, at, end) {
        if n.pc >= end || n.pc <= at {
            return n.pc == end && n.runs;
        }
        at = n.pc;
    }
    false
}

/// Whether lldb looks at `to`, having looked at `from` before, and where it last did so up to there.
pub(super) fn looks(module: &Module, from: u64, to: u64, end: u64) -> (bool, u64) {
    let mut at = from;
    if to < from || end <= from {
        return (true, to);
    }
    while at < to {
        // A branch that is taken leads to a look.
        if decode(module, at, end).next().is_none_or(|i| branches(&i) && i.near_branch64() == to) {
            return (true, to);
        }
        match next(module, at, end) {
            Some(n) if n.pc <= to => at = n.pc,
            _ => return (false, at),
        }
    }
    (true, at)
}
