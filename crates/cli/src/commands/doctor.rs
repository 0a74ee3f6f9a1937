//! `trueline doctor`: each tool found, its version, what it enables, and what installs the rest.

use crate::exit::CommandEnding;
use anyhow::{Context, bail};
use serde::Serialize;
use std::ops::ControlFlow;
use trueline_toolchain::{
    ConfinementSupport, Diagnosis, Job, Limits, ResidentSupport, Tool, confinement_support, diagnose, resident_support,
};

/// Show which tools are here, what each enables, and how to install what is missing.
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,

    /// Install what is missing: runs the command when we are root, prints it with sudo otherwise.
    #[arg(long, conflicts_with = "json")]
    fix: bool,
}

/// What `trueline doctor --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Doctor")]
pub struct Document<'a> {
    schema: &'static str,
    compilers: Vec<&'a trueline_model::CompilerId>,
    /// What `--engine` can name besides native.
    debuggers: Vec<DebuggerRow<'a>>,
    tools: Vec<ToolRow<'a>>,
    install: Option<String>,
    confinement: &'static str,
    /// Whether compilers stay between compilations, or why not.
    residents: String,
    /// The library that `passes` preloads into opt; none when it is not where it is looked for.
    hook: Option<std::path::PathBuf>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Row")]
struct ToolRow<'a> {
    name: &'static str,
    path: Option<&'a std::path::Path>,
    version: Option<&'a str>,
    enables: &'static str,
    package: &'static str,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DebuggerRow<'a> {
    /// What `--engine` is told.
    engine: String,
    path: &'a std::path::Path,
    version: &'a str,
}

impl<'a> DebuggerRow<'a> {
    fn of(tool: &'a Tool) -> Self {
        Self { engine: format!("{}-{}", tool.kind, tool.major()), path: &tool.path, version: &tool.version }
    }
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let diagnosis = diagnose();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&document(&diagnosis))?);
    } else {
        print_table(&diagnosis);
        if args.fix {
            install(&diagnosis)?;
        }
    }
    Ok(CommandEnding::Clean)
}

fn document(diagnosis: &Diagnosis) -> Document<'_> {
    Document {
        schema: "trueline.doctor/1",
        compilers: diagnosis.compilers.iter().map(|c| &c.id).collect(),
        debuggers: diagnosis.debuggers.iter().map(DebuggerRow::of).collect(),
        tools: diagnosis
            .tools
            .iter()
            .map(|(requirement, tool)| ToolRow {
                name: requirement.kind.program(),
                path: tool.as_ref().ok().map(|t| t.path.as_path()),
                version: tool.as_ref().ok().map(|t| t.version.as_str()),
                enables: requirement.enables,
                package: requirement.kind.package(),
            })
            .collect(),
        install: diagnosis.install_command(),
        confinement: confinement(),
        residents: residents(),
        hook: trueline_passes::find_hook().ok(),
    }
}

fn print_table(diagnosis: &Diagnosis) {
    println!("compilers");
    for compiler in &diagnosis.compilers {
        println!("  {:<6} {:<10} {}", compiler.id.kind.to_string(), compiler.id.version, compiler.id.path.display());
    }
    if diagnosis.compilers.is_empty() {
        println!("  none: nothing can be checked without one");
    }
    if !diagnosis.debuggers.is_empty() {
        println!("\ndebuggers");
    }
    for debugger in diagnosis.debuggers.iter().map(DebuggerRow::of) {
        println!("  {:<9} {:<10} {}", debugger.engine, debugger.version, debugger.path.display());
    }
    println!("\ntools");
    for (requirement, tool) in &diagnosis.tools {
        let version = tool.as_ref().map_or("missing", |t| t.version.as_str());
        println!("  {:<14} {:<10} {}", requirement.kind.program(), version, requirement.enables);
    }
    println!("\nconfinement of traced programs\n  {}", confinement());
    println!("\ncompilers stay between compilations\n  {}", residents());
    println!("\nlibrary for trueline passes");
    match trueline_passes::find_hook() {
        Ok(path) => println!("  {}", path.display()),
        Err(error) => println!("  missing: {error}"),
    }
    if let Some(command) = diagnosis.install_command() {
        println!("\nTo install what is missing:\n  {command}");
    }
    let elsewhere: Vec<_> = diagnosis.missing().filter_map(|r| r.kind.homepage().map(|from| (r.kind.program(), from))).collect();
    if !elsewhere.is_empty() {
        println!("\nNot in Debian, optional:");
        elsewhere.iter().for_each(|(program, from)| println!("  {program:<14} {from}"));
    }
}

fn confinement() -> &'static str {
    match confinement_support() {
        ConfinementSupport::Full => "files, signals, network and processes",
        ConfinementSupport::NoFileRules => "network and processes only: this kernel has no Landlock, so programs may write where you may",
    }
}

fn residents() -> String {
    match resident_support() {
        ResidentSupport::Works => "yes".to_owned(),
        ResidentSupport::Off => "no: TRUELINE_RESIDENT=off is set".to_owned(),
        ResidentSupport::Unavailable(reason) => {
            format!("no: {reason}; every compilation starts its compiler afresh, which costs time only")
        }
    }
}

/// Runs the install command as root, or says how to.
fn install(diagnosis: &Diagnosis) -> anyhow::Result<()> {
    let Some(command) = diagnosis.install_command() else {
        println!("\nNothing is missing that can be installed from Debian.");
        return Ok(());
    };
    if !nix::unistd::geteuid().is_root() {
        println!("\nNot root: run this yourself:\n  sudo {command}");
        return Ok(());
    }
    let limits = Limits { memory: None, file_size: u64::MAX >> 1, ..Limits::seconds(1800) };
    for words in [vec!["update"], command.split_whitespace().skip(1).chain(["-y"]).collect()] {
        let job = Job::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive").limits(limits.clone());
        let outcome = job.stream(|chunk| {
            eprint!("{}", String::from_utf8_lossy(chunk));
            ControlFlow::Continue(())
        });
        let outcome = outcome.context("is this a Debian system?")?;
        if !outcome.success() {
            bail!("`{}` failed:\n{}", job.command_line(), outcome.stderr_text());
        }
    }
    println!("\nInstalled. Run `trueline doctor` again to see the result.");
    Ok(())
}
