//! gdb asked by a script that is not a tracer: it starts as the tracers do, with nothing that a user or a binary could bring
//! along, and finds their Python modules beside it.

use crate::{TraceError, debugger, gdb};
use std::path::Path;
use trueline_toolchain::{Confinement, Limits, Outcome, Scratch, Tool};

/// Set for the script: what it is to ask.
const QUESTIONS: &str = "TRUELINE_QUESTIONS";

/// Runs a script of the caller's inside gdb; what it writes with `emit` is the output. The script may import `shared` and
/// `gdb_values`, and finds `questions` in its environment.
pub fn ask_gdb(tool: &Tool, script: &str, questions: &str, binary: &Path, limits: Limits) -> Result<Outcome, TraceError> {
    let system = |what: &'static str| move |source| TraceError::System { what: what.to_owned(), source };
    let scratch = Scratch::new().map_err(system("cannot make a scratch directory"))?;
    let job = tool.job().env(QUESTIONS, questions).limits(Limits { memory: None, ..limits }).confine(Confinement::traced());
    let (script, job) = debugger::install(&scratch, script, job).map_err(system("cannot write the script"))?;
    Ok(gdb::with_tracer(job, &script).arg(binary).run()?)
}
