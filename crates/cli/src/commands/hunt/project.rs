//! `hunt --project`: which inputs there are, how each is run, and the command that looks at one again.

use super::{Args, STOP, reporter, stop_on_signals};
use crate::input::project::{launch_of, ownership_of};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use trueline_campaign::{CampaignPlan, Oracle, ProjectHunt, ProjectInput, Totals, run_project};
use trueline_check::Ownership;
use trueline_model::{Language, OptLevel};
use trueline_project::{BuildSystem, BuiltTree, CompilerChoice, RunCommand, identity_of, input_number};
use trueline_store::Store;
use trueline_toolchain::{Compiler, quote};

/// Hunts over the inputs of a project, and says what it cost.
pub fn hunt(args: &Args, directory: &Path, plan: &CampaignPlan) -> anyhow::Result<Totals> {
    if plan.mutants > 0 || plan.oracle == Oracle::WrongCode || plan.explain_share.is_some() {
        bail!(
            "--mutate, --oracle wrong-code and --explain are for single programs; of a project's finding, triage --project says the cause"
        );
    }
    let directory = std::fs::canonicalize(directory).with_context(|| format!("cannot find the project {}", directory.display()))?;
    let inputs = inputs(args)?;
    let mut words: Vec<String> = plan.cflags.clone();
    words.push(args.project.target(Path::new(""), &RunCommand::parse("./any")?, &[]));
    words.push(args.launch.words());
    let project = ProjectHunt {
        directory: &directory,
        identity: identity_of(&directory, args.inputs.as_deref(), &words)?,
        language: language(args, &directory, plan)?,
        inputs,
        request: &|level: OptLevel, choice: CompilerChoice| args.project.request(&directory, level, &plan.cflags, choice),
        launch: &|input: &ProjectInput, reference: &BuiltTree| {
            let mut launch = launch_of(&input.run, reference, &args.launch).map_err(|e| format!("{e:#}"))?;
            launch.stdin = input.stdin.clone().or(launch.stdin);
            Ok(launch)
        },
        ownership: &|reference: &BuiltTree| ownership_of(reference, &Ownership::default()),
        command: &|input: &ProjectInput, compiler: &Compiler, opt: OptLevel| {
            let stdin = input.stdin.as_ref().map_or_else(String::new, |path| format!(" --stdin {}", quote(path)));
            let target = args.project.target(&directory, &input.run, &plan.cflags) + &args.launch.words() + &stdin;
            format!("trueline check {target} --cc {} --opt={opt}", quote(&compiler.id.path))
        },
    };
    let store = Store::open(&args.db)?;
    store.set_meta("generator", &format!("project {}", project.identity))?;
    stop_on_signals();
    let reporter = reporter(args, plan);
    Ok(run_project(plan, &project, &store, &*reporter, &STOP)?)
}

/// The runs: each file of `--inputs` with each `--run`, or each `--run` as it is.
fn inputs(args: &Args) -> anyhow::Result<Vec<ProjectInput>> {
    let runs = args.project.runs()?;
    let Some(corpus) = &args.inputs else {
        if let Some(run) = runs.iter().find(|run| run.takes_input()) {
            bail!("`{}` has a place for a file: say with --inputs which files there are", run.text);
        }
        let input = |run: RunCommand| ProjectInput { name: run.text.clone(), number: input_number(&run.text, &[]), run, stdin: None };
        return Ok(runs.into_iter().map(input).collect());
    };
    let corpus = std::path::absolute(corpus).with_context(|| format!("cannot find {}", corpus.display()))?;
    let mut files = Vec::new();
    files_below(&corpus, &mut files)?;
    files.sort();
    if files.is_empty() {
        bail!("{} holds no file to run the project on", corpus.display());
    }
    let mut inputs = Vec::new();
    for run in &runs {
        for file in &files {
            let content = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            let number = input_number(&run.text, &content);
            let name = file.strip_prefix(&corpus).ok().filter(|p| !p.as_os_str().is_empty()).unwrap_or(file).display().to_string();
            let (run, stdin) = if run.takes_input() { (run.with_input(file), None) } else { (run.clone(), Some(file.clone())) };
            inputs.push(ProjectInput { name, number, run, stdin });
        }
    }
    // Two files of one content are one input.
    let mut seen = std::collections::BTreeSet::new();
    inputs.retain(|input| seen.insert(input.number));
    Ok(inputs)
}

fn files_below(path: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let meta = std::fs::metadata(path).with_context(|| format!("cannot find {}", path.display()))?;
    if !meta.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))? {
        let path = entry?.path();
        // A link that leads nowhere is no input.
        if path.exists() {
            files_below(&path, found)?;
        }
    }
    Ok(())
}

/// The language that the project's findings are filed under.
fn language(args: &Args, directory: &Path, plan: &CampaignPlan) -> anyhow::Result<Language> {
    let of_compilers = plan.compilers.first().map_or(Language::C, Compiler::language);
    let is_cargo = BuildSystem::detect(directory).is_ok_and(|system| system == BuildSystem::Cargo);
    match (args.language, is_cargo) {
        (Some(language), _) => Ok(language),
        (None, true) if of_compilers != Language::Rust => bail!("a Cargo project is hunted with --cc rustc"),
        (None, _) => Ok(of_compilers),
    }
}
