//! The gcc half: what a pass of a stock gcc does to locations and to the descriptions of variables, read from gcc's own dumps.
//!
//! `-fdump-tree-all-lineno` and `-fdump-rtl-all` print each function behind each pass. The dump of the pass and the one in
//! front of it are compared: GIMPLE statements by their text, RTL instructions by their uid. Deliberately absent: locations
//! that belong elsewhere, since gcc has no guide that says when they do, passes between GIMPLE and RTL, and passes on the whole
//! program, whose dumps print no statements.

mod catalog;
mod compare;
mod text;

use crate::execution::Watched;
use std::collections::BTreeMap;
use std::path::Path;
use trueline_model::OptLevel;
use trueline_toolchain::{Compiler, Limits, Scratch};

/// A pass of a gcc on a program.
#[derive(Clone, Copy, Debug)]
pub struct GccExecution<'a> {
    /// The compiler, a gcc.
    pub compiler: &'a Compiler,
    /// The program.
    pub source: &'a Path,
    /// The level.
    pub opt: OptLevel,
    /// Further flags of the program.
    pub cflags: &'a [String],
    /// The pass with its family and the number of its instance: `tree-ccp2`, `rtl-sched2`.
    pub pass: &'a str,
}

/// Compiles with dumps and judges the pass in every function.
pub fn analyze_gcc_pass(execution: &GccExecution<'_>) -> Watched {
    dumps(execution).and_then(|dumps| judge(&dumps, execution)).unwrap_or_else(Watched::Unwatched)
}

/// What gcc printed: the text behind each pass, by its number and family, with its name.
type Dumps = BTreeMap<(u32, char), (String, String)>;

fn dumps(execution: &GccExecution<'_>) -> Result<Dumps, String> {
    let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
    let source = std::fs::canonicalize(execution.source).map_err(|e| format!("{}: {e}", execution.source.display()))?;
    let job = execution.compiler.job().cwd(scratch.path()).arg(execution.opt.flag()).args(["-g", "-w", "-c"]).args(execution.cflags);
    let job = job.args(["-fdump-tree-all-lineno", "-fdump-rtl-all"]).arg(&source).arg("-o").arg(scratch.join("a.o"));
    let outcome = job.limits(Limits::seconds(60)).run().map_err(|e| e.to_string())?;
    if !outcome.success() {
        let first = outcome.stderr_text().lines().find(|l| l.contains("error")).unwrap_or("it printed no error").to_owned();
        return Err(format!("{} failed while it was watched: {first}", execution.compiler.id.path.display()));
    }
    let entries = std::fs::read_dir(scratch.path()).map_err(|e| e.to_string())?;
    let mut dumps = Dumps::new();
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let Some((number, family, name)) = path.file_name().and_then(|n| dump_name(&n.to_string_lossy())) else { continue };
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
        dumps.insert((number, family), (name, text));
    }
    if dumps.is_empty() { Err("gcc printed no dumps".to_owned()) } else { Ok(dumps) }
}

/// Number, family and pass of a dump: `a.c.034t.ccp1`.
fn dump_name(file: &str) -> Option<(u32, char, String)> {
    let mut parts = file.rsplitn(3, '.');
    let (name, number) = (parts.next()?, parts.next()?);
    let family = number.chars().last().filter(|c| matches!(c, 't' | 'r'))?;
    Some((number.trim_end_matches(family).parse().ok()?, family, name.to_owned()))
}

fn judge(dumps: &Dumps, execution: &GccExecution<'_>) -> Result<Watched, String> {
    let (family, name) = match execution.pass.split_once('-') {
        Some(("tree", name)) => ('t', name),
        Some(("rtl", name)) => ('r', name),
        _ => return Err(format!("{} prints no statements: only tree and rtl passes do", execution.pass)),
    };
    let behind = dumps.iter().find(|((_, f), (n, _))| *f == family && n == name);
    let Some((key, (_, after))) = behind else { return Err(format!("{} did not run", execution.pass)) };
    let after = text::read(after, family);
    let mut found = compare::Findings::default();
    for (function, after) in &after {
        // The last pass in front of it that printed the function.
        let earlier = dumps.range(..key).rev().filter(|((_, f), _)| *f == family);
        let before = earlier.filter_map(|(_, (_, text))| text::read_one(text, family, function)).find(|f| !f.is_empty());
        if let Some(before) = before {
            compare::compare(
                &compare::Pass { name: execution.pass, version: &execution.compiler.id.version, function },
                &before,
                after,
                &mut found,
            );
        }
    }
    if found.pairs == 0 {
        return Err(format!("{} printed nothing that can be compared with the pass in front of it", execution.pass));
    }
    let (earlier, earlier_on_line) = (Vec::new(), Vec::new());
    Ok(Watched::Judged { pairs: found.pairs, errors: found.locations, variables: found.variables, earlier, earlier_on_line })
}
