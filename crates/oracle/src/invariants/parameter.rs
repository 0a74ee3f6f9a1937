//! PI: a parameter shows only values that it has somewhere in the -O0 trace. What holds for locals holds for it.

use super::{ToldBy, value};
use crate::case::{Candidate, Case};
use trueline_model::{Breach, VarKind};

pub(super) use value::shows;

pub(super) const TOLD_BY: ToldBy = value::TOLD_BY;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    value::list_of(case, |kind| kind == VarKind::Param, Breach::Parameter, found);
}
