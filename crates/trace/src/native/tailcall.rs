//! Frames of functions that are gone because their last act was a call: debuggers show them when the debug information
//! allows only one way from the call that was made to the function that runs.
//!
//! gdb also shows what several ways have in common at their ends, and shows nothing when a function on the way may
//! leave by a jump that it cannot follow: to a library, through a pointer, or to a function that is also inlined. lldb
//! looks past such a jump, and shows nothing when there are several ways.

use super::module::{CallTarget, FunctionId, Module};
use trueline_model::{Debugger, Policy};

/// Ways looked at before the question counts as ambiguous.
const MOST_WAYS: usize = 64;

/// A tail call: the function that made it, and the address after its jump.
type TailCall = (FunctionId, u64);

/// The tail calls between the call that returns to `return_pc` and the function `callee`, innermost first. Empty when the
/// call was direct, unknown or ambiguous.
pub(crate) fn chain(module: &Module, policy: Policy, return_pc: u64, callee: FunctionId) -> Vec<TailCall> {
    let Some(caller) = module.function_at(return_pc.wrapping_sub(1)) else { return Vec::new() };
    let sites = &module.function(caller).call_sites;
    let Some(site) = sites.iter().find(|s| s.return_pc == return_pc && !s.is_tail) else { return Vec::new() };
    let Some(first) = resolve(module, policy, &site.target).filter(|&f| f != callee) else { return Vec::new() };
    let mut search = Search { module, policy, callee, path: Vec::new(), found: Vec::new(), left: MOST_WAYS, lost: false };
    search.from(first);
    let mut shown = match policy {
        Policy::Gdb | Policy::Gdb16 | Policy::Gdb18 if search.left > 0 && !search.lost => common_ends(&search.found),
        Policy::Lldb | Policy::Lldb22 | Policy::Standard if search.left > 0 && search.found.len() == 1 => search.found.remove(0),
        _ => Vec::new(),
    };
    shown.reverse();
    shown
}

/// What all ways have in common, from the caller on and up to the callee.
fn common_ends(ways: &[Vec<TailCall>]) -> Vec<TailCall> {
    let [first, others @ ..] = ways else { return Vec::new() };
    if others.is_empty() {
        return first.clone();
    }
    let shortest = ways.iter().map(Vec::len).min().unwrap_or_default();
    let same = |at: usize| others.iter().all(|w| w[at] == first[at]);
    let same_behind = |back: usize| others.iter().all(|w| w[w.len() - 1 - back] == first[first.len() - 1 - back]);
    let callers = (0..shortest).take_while(|&at| same(at)).count();
    let callees = (0..shortest - callers).take_while(|&back| same_behind(back)).count();
    first[..callers].iter().chain(&first[first.len() - callees..]).copied().collect()
}

fn resolve(module: &Module, policy: Policy, target: &CallTarget) -> Option<FunctionId> {
    match target {
        CallTarget::Shared(name) if policy.debugger() != Some(Debugger::Gdb) => module.function_named(name),
        CallTarget::Entry(entry) => module.function_at(*entry).filter(|&f| module.function(f).entry() == *entry),
        CallTarget::Named(name) => module.function_named(name),
        CallTarget::Unknown | CallTarget::Computed(_) | CallTarget::Shared(_) => None,
    }
}

struct Search<'m> {
    module: &'m Module,
    policy: Policy,
    callee: FunctionId,
    path: Vec<TailCall>,
    found: Vec<Vec<TailCall>>,
    left: usize,
    /// Whether a function on a way may leave by a jump whose target is not known.
    lost: bool,
}

impl Search<'_> {
    fn from(&mut self, function: FunctionId) {
        for site in self.module.function(function).call_sites.iter().filter(|s| s.is_tail) {
            let Some(target) = resolve(self.module, self.policy, &site.target) else {
                self.lost = true;
                continue;
            };
            if self.path.iter().any(|p| p.1 == site.return_pc) || self.left == 0 {
                continue;
            }
            self.left -= 1;
            self.path.push((function, site.return_pc));
            if target == self.callee {
                self.found.push(self.path.clone());
            } else {
                self.from(target);
            }
            self.path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(functions: &[u32]) -> Vec<TailCall> {
        functions.iter().map(|&f| (FunctionId(f), u64::from(f))).collect()
    }

    #[test]
    fn what_two_ways_have_in_common_at_their_ends_is_shown() {
        assert_eq!(common_ends(&[way(&[1, 2, 4]), way(&[1, 3, 4])]), way(&[1, 4]));
        assert_eq!(common_ends(&[way(&[1, 2]), way(&[1, 3])]), way(&[1]));
        assert_eq!(common_ends(&[way(&[1, 9]), way(&[2, 9])]), way(&[9]));
    }

    #[test]
    fn a_call_that_is_common_to_both_ends_is_shown_once() {
        assert_eq!(common_ends(&[way(&[7]), way(&[7, 7])]), way(&[7]));
    }

    #[test]
    fn one_way_is_shown_as_it_is_and_none_is_nothing() {
        assert_eq!(common_ends(&[way(&[1, 2, 3])]), way(&[1, 2, 3]));
        assert!(common_ends(&[]).is_empty());
    }
}
