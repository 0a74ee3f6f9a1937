//! Which lines a run executes, by one-shot breakpoints on every row.

use super::load::{Wanted, load};
use super::tracer::is_user;
use crate::inferior::{Event, Inferior};
use crate::{TraceError, TraceRequest};
use std::collections::{BTreeSet, HashMap};
use trueline_model::{Line, LineKey};
use trueline_toolchain::{Confinement, Job};

/// Lines by what became of them in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCoverage {
    /// Lines with a row whose address was executed.
    pub executed: BTreeSet<LineKey>,
    /// Lines with a row at all.
    pub rows: BTreeSet<LineKey>,
}

/// Runs the request's program once, from its first instruction to its end, and tells which lines of the user's files had a
/// row executed, whether or not a debugger would have stopped there. Where rows share an address, all of them count.
pub fn executed_lines(request: &TraceRequest) -> Result<LineCoverage, TraceError> {
    let module = load(&request.binary, Wanted::new(&request.user_files))?;
    let mut at: HashMap<u64, Vec<LineKey>> = HashMap::new();
    let mut coverage = LineCoverage::default();
    let in_code = |pc: u64| module.function_at(pc).is_some();
    for row in module.rows.iter().filter(|r| !r.flags.end_sequence && r.line != 0 && in_code(r.address)) {
        let file = module.file(row.file);
        if is_user(request, file) {
            let key = LineKey { file: file.clone(), line: Line(row.line) };
            coverage.rows.insert(key.clone());
            at.entry(row.address).or_default().push(key);
        }
    }
    let bad = |reason: &str| TraceError::BadProgram { binary: request.binary.clone(), reason: reason.to_owned() };
    let job = Job::new(&request.binary).args(&request.args).limits(request.limits.clone()).confine(Confinement::traced());
    let mut inferior = Inferior::launch(&job, module.entry, module.image)?;
    let bias = inferior.bias();
    let addresses: Vec<u64> = at.keys().map(|a| a.wrapping_add(bias)).collect();
    let system = |what: &str| {
        let what = what.to_owned();
        move |source| TraceError::System { what, source }
    };
    inferior.set_breakpoints(&addresses).map_err(system("insert breakpoints"))?;
    loop {
        match inferior.resume()? {
            Event::Breakpoint(pc) => {
                coverage.executed.extend(at.get(&pc.wrapping_sub(bias)).into_iter().flatten().cloned());
                inferior.remove_breakpoint(pc).map_err(system("remove a breakpoint"))?;
            }
            Event::Exited(_) => return Ok(coverage),
            Event::Killed { signal, .. } => return Err(bad(&format!("crashed with signal {signal}"))),
            Event::TimedOut => return Err(bad(&format!("did not finish within {} s", request.limits.wall.as_secs()))),
            Event::Forked => return Err(bad("starts another process or thread")),
            Event::OwnTrap => return Err(bad("raised SIGTRAP")),
            Event::Stepped => {}
        }
    }
}
