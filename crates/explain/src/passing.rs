//! Programs that somebody gives beside a failing one: a developer's tests, say. Each must compile and pass before it counts, and a
//! small budget does not leave one of a thousand.

use crate::failure::FailingCase;
use trueline_model::{Coverage, CoverageSet, Program, SeamError};

/// Programs that are looked at whatever the budget is: fewer say little, and a dozen cost about two CPU-seconds with gcc.
pub const LEAST_PASSING: usize = 12;

/// What became of the programs that were given.
#[derive(Clone, Debug, Default)]
pub struct PassingPrograms {
    /// What those that pass cover.
    pub covered: Vec<CoverageSet>,
    /// The names of those that do not compile, or fail, too.
    pub refused: Vec<String>,
    /// Programs there was no time for.
    pub left: usize,
}

/// Measures programs that pass, in an order that a seed decides, until the budget is used up and [`LEAST_PASSING`] were tried.
/// `programs` reads one by its number.
pub fn passing_programs(
    case: &FailingCase,
    coverage: &dyn Coverage,
    count: usize,
    seed: u64,
    programs: &dyn Fn(usize) -> Result<Program, SeamError>,
    within_budget: &mut dyn FnMut() -> bool,
) -> Result<PassingPrograms, SeamError> {
    let flags = case.setting.all_flags();
    let mut order: Vec<usize> = (0..count).collect();
    // Neighbours in a directory are about the same thing.
    order.sort_by_key(|&index| mixed(seed, index as u64));
    let mut found = PassingPrograms::default();
    for (tried, &index) in order.iter().enumerate() {
        if tried >= LEAST_PASSING && !within_budget() {
            found.left = count - tried;
            break;
        }
        let program = programs(index)?;
        if case.judge.passes(&program)? {
            found.covered.push(coverage.measure(&program, &flags)?);
        } else {
            found.refused.push(program.name);
        }
    }
    Ok(found)
}

/// A number without order (the finalizer of splitmix64).
fn mixed(seed: u64, index: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
