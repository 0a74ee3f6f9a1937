//! What a second, targeted run of a build is asked for and what it tells. The run itself is the tracer's.

use super::module::Module;
use super::tracer::Tracer;
use crate::{TraceError, TraceRequest};
use std::collections::BTreeMap;
use std::sync::Arc;
use trueline_machine::image::Image;
use trueline_model::{CallId, Frame, VarKey};

/// What to record.
#[derive(Clone, Debug)]
pub struct MomentPlan {
    /// Link-time addresses to stop at, with how many inlined calls are shown there; all where it is not said.
    pub points: BTreeMap<u64, Option<usize>>,
    /// Variables that are read at each address where they are visible.
    pub variables: Vec<VarKey>,
    /// What the stack below the variables' functions is filled with when they are entered.
    pub fill: Option<u8>,
    /// Moments after which the run is given up.
    pub most: usize,
}

/// The program at one of the addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The link-time address it stands at.
    pub pc: u64,
    /// The call it is in.
    pub call: CallId,
    /// What the plan's variables are, in the plan's order; `None` for those that are not visible or have no value.
    pub values: Box<[Option<Arc<str>>]>,
    /// The observable state, as a number that equal states of the run share.
    pub state: u32,
}

/// A function that was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNote {
    /// Its number.
    pub call: CallId,
    /// Who called it.
    pub caller: Option<CallId>,
    /// The frames at its first instruction, innermost first.
    pub frames: Vec<Frame>,
}

/// What a run told.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// The calls in order.
    pub calls: Vec<CallNote>,
    /// The moments in order.
    pub moments: Vec<Moment>,
    /// What the parts of a state are: a global variable or a function of a library.
    pub components: Vec<Arc<str>>,
    /// The states by number: a digest for each component.
    pub states: Vec<Arc<[u64]>>,
    /// The state at the end of main.
    pub last: Arc<[u64]>,
    /// True when the run was given up.
    pub is_cut: bool,
}

/// Runs a build and records the moments of a plan.
pub fn record_moments(request: &TraceRequest, plan: &MomentPlan) -> Result<Moments, TraceError> {
    let module = Module::of(request)?;
    let image =
        Image::open(&request.binary).map_err(|e| TraceError::BadBinary { binary: request.binary.clone(), reason: e.to_string() })?;
    Tracer::launch(&module, request, 0)?.record(&image, plan)
}
