//! Frames of functions that are gone because their last act was a call: debuggers show them when the debug information
//! allows only one way from the call that was made to the function that runs.

use super::module::{CallTarget, FunctionId, Module};

/// Ways looked at before the question counts as ambiguous.
const MOST_WAYS: usize = 64;

/// The tail calls between the call that returns to `return_pc` and the function `callee`, innermost first: the function
/// that made it, and the address after its jump. Empty when the call was direct, unknown or ambiguous.
pub(crate) fn chain(module: &Module, return_pc: u64, callee: FunctionId) -> Vec<(FunctionId, u64)> {
    let Some(caller) = module.function_at(return_pc.wrapping_sub(1)) else { return Vec::new() };
    let sites = &module.function(caller).call_sites;
    let Some(site) = sites.iter().find(|s| s.return_pc == return_pc && !s.is_tail) else { return Vec::new() };
    let Some(first) = resolve(module, &site.target).filter(|&f| f != callee) else { return Vec::new() };
    let mut search = Search { module, callee, path: Vec::new(), found: Vec::new(), left: MOST_WAYS };
    search.from(first);
    match (search.found.len(), search.left) {
        (1, 1..) => search.found.remove(0).into_iter().rev().collect(),
        _ => Vec::new(),
    }
}

fn resolve(module: &Module, target: &CallTarget) -> Option<FunctionId> {
    match target {
        CallTarget::Entry(entry) => module.function_at(*entry).filter(|&f| module.function(f).entry() == *entry),
        CallTarget::Named(name) => module.function_named(name),
        CallTarget::Unknown | CallTarget::Computed(_) => None,
    }
}

struct Search<'m> {
    module: &'m Module,
    callee: FunctionId,
    path: Vec<(FunctionId, u64)>,
    found: Vec<Vec<(FunctionId, u64)>>,
    left: usize,
}

impl Search<'_> {
    fn from(&mut self, function: FunctionId) {
        for site in self.module.function(function).call_sites.iter().filter(|s| s.is_tail) {
            let Some(target) = resolve(self.module, &site.target) else { continue };
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
