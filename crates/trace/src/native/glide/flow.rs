//! Where control goes from one breakpoint to the next.

use crate::native::module::Module;
use iced_x86::{Decoder, DecoderOptions, FlowControl};

/// What is known of the ways that start at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Every way leads to one of the addresses that follow.
    Known,
    /// Some way leads to a call, a return or another function.
    Elsewhere,
    /// Some way jumps to an address that is only known when it is taken.
    Anywhere,
}

/// The breakpoints that may come next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub next: Vec<u64>,
    pub ending: Ending,
}

impl Flow {
    /// Follows the code from `pc`; every branch target of the functions concerned is a site.
    pub fn from(module: &Module, is_site: &dyn Fn(u64) -> bool, pc: u64) -> Self {
        let mut next = Vec::new();
        let ending = follow(module, is_site, pc, &mut next);
        Self { next, ending }
    }
}

fn follow(module: &Module, is_site: &dyn Fn(u64) -> bool, pc: u64, next: &mut Vec<u64>) -> Ending {
    let code = module.code_at(pc).unwrap_or_default();
    for instruction in &mut Decoder::with_ip(64, code, pc, DecoderOptions::NONE) {
        let target = instruction.near_branch64();
        match instruction.flow_control() {
            _ if instruction.is_invalid() => return Ending::Elsewhere,
            FlowControl::Next => {}
            FlowControl::ConditionalBranch if is_site(target) => next.push(target),
            FlowControl::UnconditionalBranch if is_site(target) => {
                next.push(target);
                return Ending::Known;
            }
            FlowControl::IndirectBranch => return Ending::Anywhere,
            _ => return Ending::Elsewhere,
        }
        if is_site(instruction.next_ip()) {
            next.push(instruction.next_ip());
            return Ending::Known;
        }
    }
    Ending::Elsewhere
}
