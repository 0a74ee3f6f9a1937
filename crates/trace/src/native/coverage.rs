//! Which lines a run executes, every row counted, by one-shot breakpoints on row starts and branch targets.
//!
//! A debugger's stops are not enough as a baseline: it passes over lines (a closing brace, a row in the middle of
//! another) that do run. Each address is hit once, so this costs as much as the program has code, however long it runs.

use super::libraries;
use super::line::Row;
use super::module::Module;
use super::policy::sites::{self, Needs};
use super::tracer::{is_user, not_allowed};
use crate::{TraceError, TraceRequest};
use std::collections::{BTreeSet, HashMap};
use trueline_machine::inferior::{Event, Inferior};
use trueline_model::{Line, LineKey};

/// Lines by what became of them in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCoverage {
    /// Lines with a row whose address was executed.
    pub executed: BTreeSet<LineKey>,
    /// Lines with a row at all.
    pub rows: BTreeSet<LineKey>,
    /// Addresses that were executed, of rows, branches and blocks of the user's files.
    pub addresses: u64,
}

/// Runs the request's program once, from its first instruction to its end, and tells which lines of the user's files had a
/// row executed, whether or not a debugger would have stopped there. Where rows share an address, all of them count; a
/// branch into the middle of a row executes that row.
pub fn executed_lines(request: &TraceRequest) -> Result<LineCoverage, TraceError> {
    let module = Module::of(request)?;
    let lines = lines_by_address(&module, request);
    let mut coverage = LineCoverage { rows: lines.iter().filter_map(|l| l.1.clone()).collect(), ..LineCoverage::default() };
    let of: HashMap<u64, Vec<LineKey>> =
        sites::find(&module, Needs::Rows, |_| true).all.into_iter().map(|pc| (pc, lines_at(&lines, pc))).collect();

    let bad = |reason: &str| TraceError::BadProgram { binary: request.binary.clone(), reason: reason.to_owned() };
    let mut inferior = Inferior::launch(&request.job()?, module.entry, module.image)?;
    let bias = inferior.bias();
    let addresses: Vec<u64> = of.iter().filter(|(_, lines)| !lines.is_empty()).map(|(a, _)| a.wrapping_add(bias)).collect();
    let mut reached = BTreeSet::new();
    let mut arrive = |pc: u64| {
        reached.insert(pc);
        coverage.executed.extend(of.get(&pc.wrapping_sub(bias)).into_iter().flatten().cloned());
    };
    inferior.permit(request.launch.allowed, request.follow);
    libraries::follow(&mut inferior, &module)?;
    inferior.hear_others();
    let end = run_through(&mut inferior, &addresses, &mut arrive).map_err(|e| inferior.why(e))?;
    inferior.met_by_others().for_each(arrive);
    coverage.addresses = reached.len() as u64;
    match end {
        Event::Exited(_) => Ok(coverage),
        Event::Killed { signal, .. } => Err(bad(&format!("crashed with signal {signal}"))),
        Event::TimedOut => Err(bad(&format!("did not finish within {} s", request.limits.wall.as_secs()))),
        Event::NotAllowed(permission) => Err(bad(&not_allowed(permission))),
        Event::Replaced => Ok(coverage),
        Event::OwnTrap => Err(bad("raised SIGTRAP")),
        Event::Stepped | Event::Breakpoint(_) | Event::ThreadStarted => unreachable!("the run goes on after these"),
    }
}

/// Runs to the end, which is returned, and tells of each address the first time it is reached.
fn run_through(inferior: &mut Inferior, addresses: &[u64], arrive: &mut dyn FnMut(u64)) -> Result<Event, TraceError> {
    let system = |what: &str| {
        let what = what.to_owned();
        move |source| TraceError::System { what, source }
    };
    inferior.set_breakpoints(addresses).map_err(system("insert breakpoints"))?;
    loop {
        match inferior.resume()? {
            Event::Breakpoint(pc) => {
                arrive(pc);
                inferior.remove_breakpoint(pc).map_err(system("remove a breakpoint"))?;
            }
            Event::Stepped => {}
            end => return Ok(end),
        }
    }
}

/// The rows by address, those of one address in the order of the line program; `None` for those that are not the user's,
/// have no line or end a sequence.
pub(super) fn lines_by_address(module: &Module, request: &TraceRequest) -> Vec<(u64, Option<LineKey>)> {
    let user: Vec<bool> = module.files.iter().map(|f| is_user(request, f)).collect();
    let key = |r: &Row| {
        let counts = !r.flags.end_sequence && r.line != 0 && user[r.file.0 as usize] && module.function_at(r.address).is_some();
        counts.then(|| LineKey { file: module.file(r.file).clone(), line: Line(r.line) })
    };
    let mut rows: Vec<&Row> = module.rows.iter().collect();
    // Where one sequence ends another may begin.
    rows.sort_by_key(|r| (r.address, !r.flags.end_sequence));
    rows.into_iter().map(|r| (r.address, key(r))).collect()
}

/// The lines that executing an address executes: those of all rows that start there, else that of the row around it.
pub(super) fn lines_at(lines: &[(u64, Option<LineKey>)], pc: u64) -> Vec<LineKey> {
    let after = lines.partition_point(|l| l.0 <= pc);
    match lines[..after].last() {
        Some((start, _)) if *start == pc => lines[..after].iter().rev().take_while(|l| l.0 == pc).filter_map(|l| l.1.clone()).collect(),
        Some((_, around)) => around.iter().cloned().collect(),
        None => Vec::new(),
    }
}
