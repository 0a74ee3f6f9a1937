//! One execution of one pass, watched inside the compiler itself: the compiler of a finding, on the program of the
//! finding, stopped by `-opt-bisect-limit` right behind the pass that a bisection found guilty.
//!
//! clang is linked with the same libLLVM as `opt`, so the hooks see it as they see `opt`, and the execution is the
//! very one that the bisection counted. A pass of code generation is read from the text that clang prints of it. Deliberately
//! absent: any other compiler.

use crate::judge::ErrorKind;
use crate::line::LineChanges;
use crate::machine::Codegen;
use crate::machine::report::for_each_execution;
use crate::observation::{Observation, ObservationError, PassRun};
use crate::report::{Detail, Grouping, Report, UpdateError, Watch};
use crate::rules::Rule;
use crate::runner::{SetupError, find_hook};
use crate::variables::{Attention, VariableError};
use std::path::{Path, PathBuf};
use trueline_model::OptLevel;
use trueline_toolchain::{Compiler, Limits, Scratch};

/// Which execution of which pass.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The compiler, a clang.
    pub compiler: &'a Compiler,
    /// The program.
    pub source: &'a Path,
    /// The level.
    pub opt: OptLevel,
    /// Further flags of the program.
    pub cflags: &'a [String],
    /// The pass's class as the bisection log names it, `SimplifyCFGPass`.
    pub pass: &'a str,
    /// The number of the execution in the bisection log.
    pub number: u64,
    /// The function that it ran on, where the log says so.
    pub function: Option<&'a str>,
    /// The variable that is shown wrongly from this execution on, where the fault is about one.
    pub variable: Option<&'a str>,
    /// The number that it is shown with, where it is one.
    pub shown: Option<u64>,
    /// The functions that are shown around the fault, the innermost first.
    pub frames: &'a [String],
    /// The line of the fault, and what is looked for about it.
    pub line: LineInQuestion,
}

/// What is known of the line that a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineInQuestion {
    /// It is shown where it does not run.
    Shown(u32),
    /// A breakpoint on it fails from this execution on.
    Missed(u32),
    /// The fault is about no line.
    None,
}

/// What watching an execution showed.
#[derive(Clone, Debug)]
pub enum Watched {
    /// The pass ran; these are its wrong updates, none when all conform.
    Judged {
        /// Update pairs that were judged.
        pairs: usize,
        /// The wrong ones, by place in LLVM, last the locations of instructions that stand for nothing.
        errors: Vec<UpdateError>,
        /// Wrong descriptions of variables, by place in LLVM, also those that a rule allows, last: a fault may be one that
        /// LLVM permits itself.
        variables: Vec<VariableError>,
        /// What earlier executions did to the variable in these functions, the latest first: the one that shows a fault
        /// first need not be the one that made it.
        earlier: Vec<VariableError>,
        /// What earlier executions did to the line in these functions, the latest first.
        earlier_on_line: Vec<UpdateError>,
    },
    /// The pass works on machine code and could not be read, and why.
    CodeGeneration(String),
    /// It could not be watched, and why.
    Unwatched(String),
}

/// Whether the name in a bisection log is that of a pass of code generation. Passes of the optimizer are named by
/// their class (`LICMPass`), those of code generation mostly by a phrase (`Branch Probability Basic Block Placement`).
pub fn is_code_generation(pass: &str) -> bool {
    let class = pass.split('<').next().unwrap_or(pass);
    class.contains(' ') || !class.ends_with("Pass")
}

/// The code generator's passes over IR, which the hooks see as they see the optimizer's: title and option as logs have
/// them, and the class that does the same in pipelines.
const OVER_IR: [(&str, &str, &str); 6] = [
    ("CodeGen Prepare", "codegenprepare", "CodeGenPreparePass"),
    ("Loop Strength Reduction", "loop-reduce", "LoopStrengthReducePass"),
    ("Constant Hoisting", "consthoist", "ConstantHoistingPass"),
    ("Merge contiguous icmps into a memcmp", "mergeicmps", "MergeICmpsPass"),
    ("Expand memcmp() to load/stores", "expand-memcmp", "ExpandMemCmpPass"),
    ("Partially inline calls to library functions", "partially-inline-libcalls", "PartiallyInlineLibCallsPass"),
];

/// The class under which the hooks know a pass of the code generator's over IR; `None` for other passes.
fn class_over_ir(pass: &str) -> Option<&'static str> {
    OVER_IR.iter().find(|(title, option, class)| [*title, *option, *class].contains(&pass)).map(|(.., class)| *class)
}

/// Runs the compiler up to this execution and judges the updates that the pass made in it.
pub fn analyze_execution(execution: &Execution<'_>) -> Result<Watched, SetupError> {
    let hook = find_hook()?;
    if is_code_generation(execution.pass) && class_over_ir(execution.pass).is_none() {
        let mut watched = read_machine_pass(execution).unwrap_or_else(Watched::CodeGeneration);
        // All passes of the optimizer ran in front of it.
        if let Ok(observation) = observe(execution, &hook) {
            let found = told_earlier(&observation, &observation.runs, execution);
            let on_line = told_earlier_on_line(&observation, &observation.runs, execution);
            match &mut watched {
                Watched::Judged { earlier, earlier_on_line, .. } => (*earlier, *earlier_on_line) = (found, on_line),
                _ if !found.is_empty() || !on_line.is_empty() => {
                    let (errors, variables) = (Vec::new(), Vec::new());
                    watched = Watched::Judged { pairs: 0, errors, variables, earlier: found, earlier_on_line: on_line };
                }
                _ => {}
            }
        }
        return Ok(watched);
    }
    Ok(match observe(execution, &hook) {
        Ok(observation) => judge(observation, execution),
        Err(reason) => Watched::Unwatched(reason),
    })
}

/// What these runs did to one variable of functions that are shown around it, the latest first.
fn told_earlier(observation: &Observation, runs: &[PassRun], execution: &Execution<'_>) -> Vec<VariableError> {
    let Some(name) = execution.variable else { return Vec::new() };
    let detail = Detail { watch: Watch::Variables, hidden: true, grouping: Grouping::BySubject, ..Detail::default() };
    let seen = Observation { runs: runs.to_vec(), ..observation.without_runs() };
    let report = Report::about(&seen, detail, Attention::Only(name, execution.shown));
    let all = report.variable_errors.into_iter().chain(report.variable_hidden);
    let mut errors: Vec<VariableError> = all.filter(|e| execution.frames.contains(&e.function)).collect();
    errors.reverse();
    errors
}

/// What these runs did to the line in functions that are shown around it, the latest first: wrong locations that show it, or
/// where its breakpoint fails, what became of its stores and calls.
fn told_earlier_on_line(observation: &Observation, runs: &[PassRun], execution: &Execution<'_>) -> Vec<UpdateError> {
    let seen = Observation { runs: runs.to_vec(), ..observation.without_runs() };
    let mut errors = match execution.line {
        LineInQuestion::None => return Vec::new(),
        LineInQuestion::Missed(line) => Report::line_changes(&seen, line, LineChanges::OfEffects),
        LineInQuestion::Shown(line) => {
            let detail = Detail { watch: Watch::Locations, hidden: true, grouping: Grouping::BySubject, ..Detail::default() };
            let report = Report::about(&seen, detail, Attention::All);
            let given = report.hidden.into_iter().filter(|e| e.hidden_by == Some(Rule::StandsForNothing));
            let mut errors: Vec<UpdateError> = report.errors.into_iter().chain(given).collect();
            errors.retain(|e| e.kind == ErrorKind::Incorrect && e.dst.shows(line));
            errors.reverse();
            errors
        }
    };
    errors.retain(|e| execution.frames.contains(&e.function));
    errors
}

/// Judges a machine pass by the text of its function in front of and behind it. A pass that runs several times on one function
/// is judged at each time.
fn read_machine_pass(execution: &Execution<'_>) -> Result<Watched, String> {
    let limits = Limits::seconds(120);
    let codegen =
        Codegen { compiler: execution.compiler, source: execution.source, opt: execution.opt, cflags: execution.cflags, limits: &limits };
    let seen = codegen.observe()?;
    let (mut pairs, mut errors, mut variables, mut runs) = (0, Vec::new(), Vec::new(), 0);
    let is_it = |dump: &crate::machine::text::MirDump| {
        is_named(execution.pass, &dump.title, &dump.pass)
            && execution.function.is_none_or(|f| f.trim_matches(['(', ')']) == dump.function.name)
    };
    for_each_execution(&seen, is_it, |_, findings| {
        runs += 1;
        pairs += findings.pairs;
        let told = |e: &UpdateError| e.hidden_by.is_none_or(|rule| rule == Rule::StandsForNothing);
        errors.extend(findings.locations.into_iter().filter(told));
        variables.extend(findings.variables);
    });
    if runs == 0 {
        return Err(format!("{} changed nothing that its text shows", execution.pass));
    }
    variables.sort_by_key(|v: &VariableError| v.hidden_by.is_some());
    Ok(Watched::Judged { pairs, errors, variables, earlier: Vec::new(), earlier_on_line: Vec::new() })
}

/// Whether a bisection log means the machine pass of this title and this command-line option. Until LLVM 21 it has the one,
/// since then the other.
fn is_named(logged: &str, title: &str, option: &str) -> bool {
    logged == title || logged == option
}

fn observe(execution: &Execution<'_>, hook: &PathBuf) -> Result<Observation, String> {
    let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
    let events = scratch.join("events");
    let job = execution.compiler.job().arg(execution.opt.flag()).args(["-g", "-w", "-fintegrated-cc1", "-c"]).args(execution.cflags);
    let job = job.args(["-mllvm", &format!("-opt-bisect-limit={}", execution.number)]);
    let job = job.arg(execution.source).arg("-o").arg(scratch.join("a.o"));
    let job = job.env("LD_PRELOAD", hook).env(trueline_llvm_hook::OUTPUT_VARIABLE, &events);
    let job = job.env(trueline_llvm_hook::VARIABLES_VARIABLE, "1").limits(Limits::seconds(60));
    let outcome = job.run().map_err(|e| e.to_string())?;
    let name = execution.compiler.id.path.display();
    if !outcome.success() {
        let first = outcome.stderr_text().lines().find(|l| l.contains("error")).unwrap_or("it printed no error").to_owned();
        return Err(format!("{name} failed while it was watched: {first}"));
    }
    Observation::read(&trueline_llvm_hook::read_stream(&events)).map_err(|error| match error {
        ObservationError::Silent => format!("{name} is not linked with a shared libLLVM that can be observed"),
        refused @ ObservationError::Refused(_) => refused.to_string(),
    })
}

/// The number of the run that was asked for. Behind the limit the optimizer's passes do not run, so that it is the last one.
/// The code generator's passes are called and return at once: theirs is the one on the function, and of several on loops of
/// one function the last that did anything.
fn number_of(observation: &Observation, execution: &Execution<'_>) -> Option<usize> {
    let Some(class) = class_over_ir(execution.pass) else { return observation.last_runs.get(execution.pass).copied() };
    let unit = execution.function.unwrap_or("");
    let function = unit.rsplit_once(" in function ").map_or(unit, |(_, name)| name).trim_matches(['(', ')']);
    let manipulated = observation.runs.iter().rev().find(|run| run.pass == class && (run.unit == function || function.starts_with('<')));
    manipulated.map(|run| run.number)
}

/// Judges the run of the pass that was asked for.
fn judge(mut observation: Observation, execution: &Execution<'_>) -> Watched {
    let Some(last) = number_of(&observation, execution) else {
        return Watched::Unwatched(format!("{} did not run, or its entry is not one that can be hooked", execution.pass));
    };
    // A run that manipulated nothing is not among the runs, and an earlier one is not the one asked for.
    let (runs, before): (Vec<PassRun>, Vec<PassRun>) =
        std::mem::take(&mut observation.runs).into_iter().filter(|run| run.number <= last).partition(|run| run.number == last);
    observation.runs = runs;
    let detail = Detail { watch: Watch::Everything, hidden: true, grouping: Grouping::BySubject, ..Detail::default() };
    let report = Report::about(&observation, detail, execution.variable.map_or(Attention::All, Attention::Suspect));
    let earlier = told_earlier(&observation, &before, execution);
    let earlier_on_line = told_earlier_on_line(&observation, &before, execution);
    let variables = report.variable_errors.into_iter().chain(report.variable_hidden).collect();
    // Whose location a new instruction was given is the pass's choice, and a fault may be of just that choice.
    let given = report.hidden.into_iter().filter(|e| e.hidden_by == Some(Rule::StandsForNothing));
    let changed = match execution.line {
        LineInQuestion::Missed(line) => Report::line_changes(&observation, line, LineChanges::All),
        LineInQuestion::Shown(_) | LineInQuestion::None => Vec::new(),
    };
    let errors = report.errors.into_iter().chain(given).chain(changed).collect();
    Watched::Judged { pairs: report.pairs, errors, variables, earlier, earlier_on_line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_pass_is_found_by_its_title_and_by_its_option() {
        for logged in ["Branch Probability Basic Block Placement", "block-placement"] {
            assert!(is_code_generation(logged) && is_named(logged, "Branch Probability Basic Block Placement", "block-placement"));
        }
        assert!(!is_named("branch-folder", "Branch Probability Basic Block Placement", "block-placement"));
    }

    #[test]
    fn passes_over_ir_are_known_by_title_and_by_option() {
        for logged in ["CodeGen Prepare", "codegenprepare", "CodeGenPreparePass"] {
            assert_eq!(class_over_ir(logged), Some("CodeGenPreparePass"));
        }
        assert_eq!(class_over_ir("X86 DAG->DAG Instruction Selection"), None);
        assert_eq!(class_over_ir("LICMPass"), None, "the optimizer's need no other name");
    }

    #[test]
    fn passes_of_code_generation_are_known_by_their_names() {
        for name in ["X86 DAG->DAG Instruction Selection", "Branch Probability Basic Block Placement", "CodeGen Prepare", "MachineCSE"] {
            assert!(is_code_generation(name), "{name}");
        }
        for name in ["LICMPass", "SimplifyCFGPass", "RequireAnalysisPass<llvm::GlobalsAA, llvm::Module>"] {
            assert!(!is_code_generation(name), "{name}");
        }
    }
}
