//! `trueline triage`: which pass did it, in which versions, the same bug as which other, and whose fault.

mod pair;
mod print;
mod project;

use crate::exit::CommandEnding;
use crate::input::project::{ProjectFlags, refuse_project};
use crate::input::{LaunchFlags, read_with_flags};
use anyhow::{Context, bail};
pub use pair::Document as PairDocument;
use pair::PairFlags;
pub use project::Document as ProjectDocument;
use project::{OneFile, ProjectQuestion};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use trueline_check::CheckOptions;
pub use trueline_explain::TriageDocument;
use trueline_explain::{
    ExplainError, ExplainStage, Explained, Explainer, FindingCase, Looking, Readers, Versions, check_options, faults_of, shows_expected,
};
use trueline_model::{EngineKind, Fault, FindingId, Invariant, Language, OptLevel, Policy, Program};
use trueline_project::{BuildSystem, crate_as_file};
use trueline_store::Store;
use trueline_toolchain::{Compiler, find_compiler, installed_compilers};
use trueline_triage::{KnownBugs, Setting};

/// The compiler where none is named.
const USUAL_COMPILER: &str = "gcc";

/// Explain findings: the guilty pass, a fingerprint over compiler versions, clusters, compiler or debugger.
#[derive(clap::Args)]
pub struct Args {
    /// A program (.c, .rs), or numbers of findings in --db; with --db alone, every finding.
    targets: Vec<String>,
    #[command(flatten)]
    project: ProjectFlags,
    #[command(flatten)]
    pair: PairFlags,
    #[command(flatten)]
    launch: LaunchFlags,
    /// The campaign store that holds the findings.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// The compiler, by name or path (for a program).
    #[arg(long, default_value = USUAL_COMPILER)]
    cc: String,
    /// Levels, separated by commas (for a program).
    #[arg(long, default_value = "-O2", allow_hyphen_values = true, value_delimiter = ',')]
    opt: Vec<OptLevel>,
    /// A flag for every compilation of the program; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
    /// Compilers of the fingerprint, separated by commas: names, paths, `all` (the installed ones of the
    /// same family) or `none`.
    #[arg(long, default_value = "all", value_delimiter = ',', value_name = "CC")]
    versions: Vec<String>,
    /// Who traces during the searches.
    #[arg(long, default_value = "native")]
    engine: EngineKind,
    /// Whose reading of the line table the native engine follows.
    #[arg(long, default_value = "gdb")]
    policy: Policy,
    /// Do not ask gdb and lldb whose fault it is.
    #[arg(long)]
    no_readers: bool,
    /// Only findings of this kind: line, backtrace, scope, parameter, value, …, crash, hang, wrong-code.
    #[arg(long, value_name = "KIND")]
    only: Option<String>,
    /// Only violations on this line.
    #[arg(long)]
    line: Option<u32>,
    /// Write a bug draft per finding into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --out: reduce each program, too, for at most this many seconds each.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "600", requires = "out")]
    reduce: Option<u64>,
    /// A directory of known bugs (*.toml) beside the shipped ones.
    #[arg(long, value_name = "DIR")]
    known: Option<PathBuf>,
    /// Say only, by exit code 0 or 1, whether the program shows a fault of this kind (for interesting.sh).
    #[arg(long, value_name = "KIND")]
    expect: Option<String>,
    /// With --expect: and whether this pass is behind it.
    #[arg(long, value_name = "PASS", requires = "expect")]
    expect_pass: Option<String>,
    /// Exit with 1 when something was found.
    #[arg(long)]
    fail_on_findings: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let mut looking = Looking::new(args.engine, args.policy);
    if let Some(kind) = &args.expect {
        return expect(&args, kind, &looking);
    }
    if let Some(invariant) = Invariant::ALL.into_iter().find(|i| args.only.as_deref() == Some(i.name())) {
        looking.seek(invariant);
    }
    if let Some(binaries) = args.pair.binaries() {
        let options = CheckOptions { launch: args.launch.launch(args.pair.args())?, ..check_options(&looking) };
        let findings = pair::explain(binaries, args.pair.args(), options, !args.no_readers, |f| is_wanted(f, &args))?;
        if args.json {
            pair::json(binaries.1, &findings)?;
        } else {
            pair::text(binaries.1, &findings);
        }
        return Ok(if args.fail_on_findings && !findings.is_empty() { CommandEnding::Found } else { CommandEnding::Clean });
    }
    let mut known = KnownBugs::shipped()?;
    if let Some(dir) = &args.known {
        if !dir.is_dir() {
            bail!("{} is not a directory of known bugs", dir.display());
        }
        known.extend(KnownBugs::read(dir)?);
    }
    let versions = versions(&args.versions)?;
    // A store may be a project's default: programs that are named need none.
    let names_programs = args.targets.iter().any(|target| is_program(target));
    let names_programs = names_programs || args.project.directory().is_some();
    let store = args.db.as_deref().filter(|_| !names_programs).map(Store::open_existing).transpose()?;
    let of_cargo = |dir: &&Path| BuildSystem::detect(dir).is_ok_and(|system| system == BuildSystem::Cargo);
    let (cases, mut notes) = match (args.project.directory(), &store) {
        // Cargo's crates have no objects to mix: a crate is looked at as one file.
        (Some(dir), _) if of_cargo(&dir) => of_crate(dir, &args, &looking)?,
        (Some(dir), _) => {
            let mut findings = of_project(dir, &args, &looking)?;
            let found = !findings.is_empty();
            if args.json {
                project::json(&findings)?;
            } else {
                project::text(&findings, dir);
            }
            let cases: Vec<FindingCase> = findings.iter_mut().filter_map(project::ProjectFinding::take_case).collect();
            if args.out.is_none() || cases.is_empty() {
                findings.iter().filter_map(project::ProjectFinding::note).for_each(|note| eprintln!("{note}"));
                return Ok(if found && args.fail_on_findings { CommandEnding::Found } else { CommandEnding::Clean });
            }
            (cases, findings.iter().filter_map(project::ProjectFinding::note).collect())
        }
        (None, Some(store)) => (from_store(store, &args)?, Vec::new()),
        (None, None) => from_files(&args, &looking)?,
    };
    for case in &cases {
        if let Fault::Violation(violation) = &case.fault {
            looking.seek(violation.invariant());
        }
    }
    let terminal = std::io::stderr().is_terminal();
    let progress = |stage| show(terminal, stage);
    let readers = (!args.no_readers).then(|| Readers::beside(&check_options(&looking)));
    let explainer = Explainer { looking, versions: &versions, known: &known, readers: readers.as_ref(), progress: &progress };
    let explained = explainer.explain_all(cases)?;
    notes.extend(explained.iter().filter_map(Explained::note));
    if let Some(dir) = &args.out {
        explainer.write_drafts(dir, &explained, args.reduce.map(std::time::Duration::from_secs))?;
    }
    if let Some(store) = &store {
        print::store(store, &explained)?;
    }
    let is_told = args.project.directory().is_some_and(|dir| !of_cargo(&dir));
    if args.json && !is_told {
        print::json(&explained, &notes)?;
    } else if !args.json {
        print::text(&explained, &notes);
    }
    let found = args.fail_on_findings && explained.iter().any(Explained::shows);
    Ok(if found { CommandEnding::Found } else { CommandEnding::Clean })
}

/// The findings of a project, each with its unit and pass.
fn of_project(dir: &Path, args: &Args, looking: &Looking) -> anyhow::Result<Vec<project::ProjectFinding>> {
    let compiler = find_compiler(&args.cc)?;
    let question = ProjectQuestion {
        project: &args.project,
        launch: &args.launch,
        compiler: &compiler,
        levels: &args.opt,
        cflags: &args.cflags,
        looking,
        one_file: if args.out.is_some() { OneFile::Wanted } else { OneFile::Needless },
    };
    question.answer(dir, |fault| is_wanted(fault, args))
}

fn show(terminal: bool, stage: ExplainStage) {
    match stage {
        _ if !terminal => {}
        ExplainStage::Explained { done, total } => {
            eprint!("\r\x1b[K{done} of {total} explained");
            if done == total {
                eprint!("\r\x1b[K");
            }
        }
        ExplainStage::Reducing { lines, from } => eprint!("\r\x1b[Kreducing: {lines} of {from} lines"),
    }
}

/// The compilers that `--versions` names.
fn versions(words: &[String]) -> anyhow::Result<Versions> {
    match words {
        [one] if one == "all" => Ok(Versions::Installed(installed_compilers())),
        [one] if one == "none" => Ok(Versions::None),
        names => {
            let mut compilers = Vec::new();
            for name in names {
                match name.as_str() {
                    "all" => compilers.extend(installed_compilers()),
                    name => compilers.push(find_compiler(name).with_context(|| format!("--versions {name}"))?),
                }
            }
            Ok(Versions::Named(compilers))
        }
    }
}

/// Whether a target is a program and not the number of a finding.
pub fn is_program(target: &str) -> bool {
    Language::of_path(target.as_ref()).is_some()
}

fn from_files(args: &Args, looking: &Looking) -> anyhow::Result<(Vec<FindingCase>, Vec<String>)> {
    if args.targets.is_empty() {
        bail!("nothing to explain: name a program, or a store with --db");
    }
    let (mut cases, mut notes) = (Vec::new(), Vec::new());
    for target in &args.targets {
        if target.parse::<i64>().is_ok() {
            bail!("finding {target}: a number needs the store it is in (--db FILE)");
        }
        let program = read_with_flags(target.as_ref(), &args.cflags)?;
        let (found, said) = of_program(&program, target, &find_compiler(&args.cc)?, args, looking, &Some)?;
        cases.extend(found);
        notes.extend(said);
    }
    Ok((cases, notes))
}

/// The findings of a Cargo project's programs, each as one file.
fn of_crate(dir: &Path, args: &Args, looking: &Looking) -> anyhow::Result<(Vec<FindingCase>, Vec<String>)> {
    let compiler = if args.cc == USUAL_COMPILER { find_compiler("rustc")? } else { find_compiler(&args.cc)? };
    let (mut cases, mut notes) = (Vec::new(), Vec::new());
    for run in args.project.runs()? {
        let file = crate_as_file(dir, &run)?;
        // The user knows the lines of the crate's files.
        let (found, said) = of_program(&file.program, &run.text, &compiler, args, looking, &|line| file.origin(line))?;
        cases.extend(found);
        notes.extend(said);
    }
    Ok((cases, notes))
}

/// The faults of one program at each level.
fn of_program(
    program: &Program,
    target: &str,
    compiler: &Compiler,
    args: &Args,
    looking: &Looking,
    known_as: &dyn Fn(u32) -> Option<u32>,
) -> anyhow::Result<(Vec<FindingCase>, Vec<String>)> {
    if !compiler.takes(program.language) {
        bail!("{} does not compile {target}; choose another compiler with --cc", compiler.id);
    }
    let compiler = compiler.driver(program.language)?;
    let (mut cases, mut notes) = (Vec::new(), Vec::new());
    for &opt in &args.opt {
        let setting = Setting { compiler: compiler.clone(), opt };
        let faults = faults_of(program.clone(), looking, &setting).map_err(|error| match error {
            ExplainError::Unjudged { reason, .. } => {
                anyhow::anyhow!("{target} cannot be judged with {} at {opt}: {reason}", compiler.id)
            }
            other => other.into(),
        })?;
        if faults.is_empty() {
            notes.push(format!("{target}: {} at {opt} shows nothing wrong", compiler.id));
        }
        let (shown, before) = (faults.len(), cases.len());
        let wanted = faults.into_iter().filter(|f| is_wanted_where(f, args, known_as));
        cases.extend(wanted.map(|fault| FindingCase { id: None, program: program.clone(), compiler: compiler.clone(), opt, fault }));
        if shown > 0 && cases.len() == before {
            notes.push(format!("{target}: {} at {opt} shows {shown} findings, none that --only and --line ask for", compiler.id));
        }
    }
    Ok((cases, notes))
}

fn is_wanted(fault: &Fault, args: &Args) -> bool {
    is_wanted_where(fault, args, &Some)
}

/// The same with the line that the user knows a line by.
fn is_wanted_where(fault: &Fault, args: &Args, known_as: &dyn Fn(u32) -> Option<u32>) -> bool {
    let line = match fault {
        Fault::Violation(v) => known_as(v.line.0),
        _ => None,
    };
    args.only.as_deref().is_none_or(|kind| kind == fault.kind()) && args.line.is_none_or(|l| line == Some(l))
}

fn from_store(store: &Store, args: &Args) -> anyhow::Result<Vec<FindingCase>> {
    let mut records = if args.targets.is_empty() { store.findings()? } else { Vec::new() };
    for target in &args.targets {
        let id = target.parse().map_err(|_| {
            anyhow::anyhow!("`{target}` is neither a program (.c, .rs) nor the number of a finding in {}", store.path().display())
        })?;
        records.push(store.finding(FindingId(id))?);
    }
    let mut cases = Vec::new();
    for record in records {
        if !is_wanted(&record.finding.fault, args) {
            continue;
        }
        let evidence = store.evidence(&record)?;
        let evidence = evidence.with_context(|| format!("finding {} has no program in {}", record.id.0, store.path().display()))?;
        refuse_project(&record, &evidence)?;
        let path = record.finding.compiler.path.to_string_lossy().into_owned();
        let compiler = find_compiler(&path).with_context(|| format!("the compiler of finding {}", record.id.0))?;
        let (fault, opt) = (record.finding.fault, record.finding.opt);
        cases.push(FindingCase { id: Some(record.id), program: evidence.program, compiler, opt, fault });
    }
    Ok(cases)
}

/// The question of a reducer.
fn expect(args: &Args, kind: &str, looking: &Looking) -> anyhow::Result<CommandEnding> {
    let [target] = args.targets.as_slice() else { bail!("--expect judges one program") };
    let program = read_with_flags(target.as_ref(), &args.cflags)?;
    let compiler = find_compiler(&args.cc)?.driver(program.language)?;
    let &[opt] = args.opt.as_slice() else { bail!("--expect judges one level") };
    let shows = shows_expected(program, looking, &Setting { compiler, opt }, kind, args.expect_pass.as_deref())?;
    Ok(if shows { CommandEnding::Clean } else { CommandEnding::Found })
}
