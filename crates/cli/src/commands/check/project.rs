//! `check --project`: a project's own build, made twice, and each of its runs as a pair.

use super::baseline::Baseline;
use super::batch::{BuildRow, CheckView, Checked, CheckedProgram, CheckedSubject};
use crate::input::project::{ProjectFlags, launch_of, ownership_of};
use crate::input::{BuildFlags, LaunchFlags};
use anyhow::Context;
use rayon::prelude::*;
use std::path::Path;
use trueline_check::{CheckError, CheckOptions, Checker, Reference};
use trueline_model::OptLevel;
use trueline_project::{BuiltTree, CompilerChoice, RunCommand, build, has_debug_information};
use trueline_toolchain::find_compiler;

/// All builds of a project by one compiler.
struct Builds {
    choice: CompilerChoice,
    reference: BuiltTree,
    levels: Vec<(OptLevel, BuiltTree)>,
}

/// Builds the project with each compiler at each level, and checks every run of each build.
pub fn check(
    flags: &ProjectFlags,
    directory: &Path,
    options: &CheckOptions,
    (build, launch): (&BuildFlags, &LaunchFlags),
    baseline: Option<&Baseline>,
    view: &CheckView,
) -> anyhow::Result<Vec<Checked>> {
    let runs = flags.runs()?;
    let named = build.named_compilers()?;
    let choices = if named.is_empty() { vec![CompilerChoice::Own] } else { named.into_iter().map(CompilerChoice::Given).collect() };
    let mut checked = Vec::new();
    for choice in choices {
        let builds = build_all(flags, directory, choice, build)?;
        for run in &runs {
            checked.push(check_run(
                run,
                flags.target(directory, run, &build.cflags) + &launch.words(),
                &builds,
                options,
                launch,
                baseline,
                view,
            )?);
        }
    }
    Ok(checked)
}

fn build_all(project: &ProjectFlags, directory: &Path, choice: CompilerChoice, flags: &BuildFlags) -> anyhow::Result<Builds> {
    let mut levels = vec![OptLevel::O0];
    levels.extend(flags.levels().into_iter().filter(|l| *l != OptLevel::O0));
    let names: Vec<String> = levels.iter().map(ToString::to_string).collect();
    eprintln!("building {} at {}", directory.display(), names.join(", "));
    let made: Vec<BuiltTree> = levels
        .par_iter()
        .map(|&level| build(&project.request(directory, level, &flags.cflags, choice.clone())))
        .collect::<Result<_, _>>()?;
    let mut made = made.into_iter();
    let reference = made.next().context("there is no -O0 build")?;
    Ok(Builds { choice, reference, levels: levels.into_iter().skip(1).zip(made).collect() })
}

/// One run of every build.
fn check_run(
    run: &RunCommand,
    target: String,
    builds: &Builds,
    options: &CheckOptions,
    flags: &LaunchFlags,
    baseline: Option<&Baseline>,
    view: &CheckView,
) -> anyhow::Result<Checked> {
    let launch = launch_of(run, &builds.reference, flags)?;
    let ownership = ownership_of(&builds.reference, &options.ownership);
    let checker = Checker::new(CheckOptions { launch, ownership, ..options.clone() })?;
    let binary = run.program_in(&builds.reference)?;
    let reference = checker.reference_pair(&binary, &run.args).map_err(|e| about_stripping(e, run, &binary))?;
    let mut rows = Vec::new();
    for (level, tree) in &builds.levels {
        let result = checker.check_build(&reference, &run.program_in(tree)?, *level);
        let result = result.map_err(|e| about_differing_runs(e, &checker, &reference, &binary));
        let compiler = match &builds.choice {
            CompilerChoice::Own => tree.compiler_name().and_then(|name| find_compiler(&name).ok()),
            CompilerChoice::Given(compiler) => Some(compiler.clone()),
        };
        rows.push(BuildRow::new(compiler, Some(*level), result, Some(0)));
    }
    let sources = rows.iter().find(|row| row.result.as_ref().is_ok_and(|r| !r.violations.is_empty())).map(BuildRow::sources);
    let sources = sources.unwrap_or_default();
    let outcome =
        CheckedProgram { program: run.text.clone(), subject: CheckedSubject::Project, target, sources, references: vec![reference], rows };
    Ok(Checked::of(outcome, baseline, view))
}

/// A program that does something else each time cannot be compared with itself at another level.
pub fn about_differing_runs(error: CheckError, checker: &Checker, reference: &Reference, binary: &Path) -> CheckError {
    if !matches!(error, CheckError::WrongCode { .. }) {
        return error;
    }
    match checker.check_build(reference, binary, OptLevel::O0) {
        Err(CheckError::WrongCode { expected, actual, .. }) => CheckError::BadProgram {
            reason: format!(
                "does something else each time, at -O0 too: {expected}, then {actual}; give it a run without clocks, random numbers \
                 and races between threads"
            ),
        },
        _ => error,
    }
}

/// The wrapped compilers add `-g`: a program without debug information lost it afterwards.
pub fn about_stripping(error: CheckError, run: &RunCommand, binary: &Path) -> anyhow::Error {
    let error = anyhow::Error::new(error);
    if has_debug_information(binary) {
        return error.context(format!("the run `{}` cannot be followed at -O0", run.text));
    }
    error.context(format!(
        "the build strips {} or makes it without the wrapped compilers; leave that step out of --build",
        run.program.display()
    ))
}
