//! `-g` must not change code. Traces cannot show it, so nothing is listed here: `trueline-check` compares the builds.

use super::ToldBy;
use crate::case::{Candidate, Case};
use trueline_model::{CodeDifference, Step, Violation};

pub(super) const TOLD_BY: ToldBy = ToldBy::Build;

pub(super) fn list(_: &Case<'_>, _: &mut dyn FnMut(Candidate)) {}

pub(super) fn shows(_: &Violation, _: &CodeDifference, _: &Step) -> bool {
    false
}
