//! `trueline ledger`: the causes that were found in compilers and debuggers, looked for again and shown.

use crate::exit::CommandEnding;
use anyhow::{Context, bail};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use trueline_ledger::{Answer, Ledger, LedgerEntry, Recorded, Standing, State, Status, ToolFamily, Tried, verify};
use trueline_report::{LedgerLine, LedgerPage, LedgerRow, write_ledger};
use trueline_toolchain::{Compiler, Tool, ToolError, ToolKind, find_compiler, find_tool, installed_compilers, installed_debuggers};

/// Follow known causes over the releases of compilers and debuggers: does each still show, and what does it look like?
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: LedgerAction,
}

#[derive(clap::Subcommand)]
enum LedgerAction {
    /// Build each program with the compilers at hand, show it to the debuggers at hand, and say whether the fault shows, is gone or has changed. Exits with 1 when a
    /// build contradicts the ledger.
    Verify {
        /// The directory of the ledger.
        #[arg(default_value = "ledger")]
        ledger: PathBuf,
        /// Compilers, separated by commas; every one that is found by default.
        #[arg(long, value_name = "CC", value_delimiter = ',')]
        cc: Vec<String>,
        /// Debuggers for the entries about debuggers, by name or path, separated by commas; every one that is found by default.
        #[arg(long, value_name = "DEBUGGER", value_delimiter = ',')]
        debugger: Vec<String>,
        /// Entries by name; all by default.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        only: Vec<String>,
        /// Print one JSON document instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Write a page with all causes: program, lie and truth side by side, versions and levels.
    Html {
        /// The directory of the ledger.
        #[arg(default_value = "ledger")]
        ledger: PathBuf,
        /// Where the page goes.
        #[arg(long, value_name = "DIR", default_value = "ledger-html")]
        out: PathBuf,
    },
}

/// What `trueline ledger verify --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "LedgerVerified")]
pub struct Document<'a> {
    /// `trueline.ledger/1`.
    schema: &'static str,
    /// The entries, the worst first.
    entries: &'a [Verified],
}

/// One entry as it is today.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Verified {
    /// The name of its directory.
    id: String,
    /// One line for people.
    title: String,
    /// The builds that were tried.
    builds: Vec<Answer>,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    match args.action {
        LedgerAction::Verify { ledger, cc, debugger, only, json } => verify_all(&read(&ledger, &only)?, &cc, &debugger, json),
        LedgerAction::Html { ledger, out } => {
            let pages: Vec<LedgerPage> = read(&ledger, &[])?.iter().map(page).collect();
            println!("{}", write_ledger(&out, &pages)?.display());
            Ok(CommandEnding::Clean)
        }
    }
}

fn read(dir: &Path, only: &[String]) -> anyhow::Result<Vec<LedgerEntry>> {
    let mut entries = Ledger::read(dir).with_context(|| format!("cannot read the ledger {}", dir.display()))?.entries;
    if let Some(unknown) = only.iter().find(|name| !entries.iter().any(|e| e.id.0 == **name)) {
        bail!("{} has no entry {unknown}; its entries are the directories with a bug.toml", dir.display());
    }
    entries.retain(|e| only.is_empty() || only.contains(&e.id.0));
    if entries.is_empty() {
        bail!("{} has no entries; an entry is a directory with a bug.toml", dir.display());
    }
    Ok(entries)
}

/// The debuggers that were named, or those that are here.
fn debuggers(names: &[String]) -> Result<Vec<Tool>, ToolError> {
    let kind_of = |name: &str| if name.rsplit('/').next().is_some_and(|n| n.contains("lldb")) { ToolKind::Lldb } else { ToolKind::Gdb };
    match names {
        [] => Ok(installed_debuggers()),
        names => names.iter().map(|name| find_tool(kind_of(name), Some(name))).collect(),
    }
}

fn verify_all(entries: &[LedgerEntry], cc: &[String], debugger: &[String], json: bool) -> anyhow::Result<CommandEnding> {
    let compilers: Vec<Compiler> = match cc {
        [] => installed_compilers(),
        names => names.iter().map(|name| find_compiler(name)).collect::<Result<_, _>>()?,
    };
    let debuggers = debuggers(debugger)?;
    let terminal = std::io::stderr().is_terminal();
    let mut verified = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        if terminal {
            eprint!("\r\x1b[K{} of {}: {}", number + 1, entries.len(), entry.id);
        }
        let mut builds = Vec::new();
        let tried: Vec<Tried> = match entry.bug.component.family() {
            ToolFamily::Compilers(kind) => compilers.iter().filter(|c| c.id.kind == kind).map(Tried::Compiler).collect(),
            ToolFamily::Debuggers(kind) => debuggers.iter().filter(|d| d.kind == kind).map(Tried::Debugger).collect(),
        };
        for tried in tried {
            builds.extend(verify(entry, tried)?);
        }
        verified.push(Verified { id: entry.id.0.clone(), title: entry.bug.title.clone(), builds });
    }
    if terminal {
        eprint!("\r\x1b[K");
    }
    if verified.iter().all(|v| v.builds.iter().all(|a| matches!(a.state, State::NotChecked { .. }))) {
        let reason = verified.iter().flat_map(|v| &v.builds).find_map(|a| match &a.state {
            State::NotChecked { reason } => Some(reason.as_str()),
            _ => None,
        });
        bail!(
            "no entry could be looked for: {}",
            reason.unwrap_or("no compiler or debugger of their families is here; name one with --cc or --debugger")
        );
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&Document { schema: "trueline.ledger/1", entries: &verified })?);
    } else {
        verified.iter().for_each(print);
    }
    let is_news = verified.iter().any(|v| v.builds.iter().any(Answer::is_news));
    Ok(if is_news { CommandEnding::Found } else { CommandEnding::Clean })
}

fn print(entry: &Verified) {
    println!("{}  {}", entry.id, entry.title);
    if entry.builds.is_empty() {
        println!("  not looked for: no compiler or debugger of its family is here");
    }
    for answer in &entry.builds {
        let state = match &answer.state {
            State::Shows => "shows".to_owned(),
            State::Gone if answer.recorded == Recorded::Absent => "absent".to_owned(),
            State::Gone => "gone".to_owned(),
            State::Changed { lines } => {
                format!("changed: now on line {}", lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
            }
            State::NotChecked { reason } => format!("not checked: {reason}"),
        };
        let news = match (answer.is_news(), answer.recorded) {
            (true, Recorded::Shows) => "  (the ledger has it as shown)",
            (true, _) => "  (the ledger has it as absent)",
            (false, Recorded::Nothing) => "  (not in the ledger)",
            (false, _) => "",
        };
        println!("  {:<14} {:<6} {state}{news}", answer.version, answer.level.to_string());
    }
}

fn page(entry: &LedgerEntry) -> LedgerPage {
    let bug = &entry.bug;
    let levels = entry.levels();
    let program = entry.program.source.lines().zip(1u32..);
    LedgerPage {
        id: entry.id.0.clone(),
        title: bug.title.clone(),
        component: bug.component.name().to_owned(),
        pass: match &bug.site {
            Some(site) => format!("{} ({}, {})", bug.pass, site.function, site.file),
            None => bug.pass.clone(),
        },
        severity: bug.severity.name().to_owned(),
        status: match bug.status {
            Status::Unreported => "unreported",
            Status::Reported => "reported",
            Status::Fixed => "fixed",
        }
        .to_owned(),
        findings: bug.findings,
        is_debatable: entry.standing == Standing::Debatable,
        shown: bug.shows.shown.clone(),
        truth: bug.shows.truth.clone(),
        program: program.map(|(text, number)| LedgerLine { number, text: text.to_owned(), is_wrong: number == bug.shows.line }).collect(),
        report: entry.report.clone(),
        versions: bug
            .versions
            .iter()
            .map(|(version, shown)| LedgerRow { version: version.clone(), shows: levels.iter().map(|l| shown.contains(l)).collect() })
            .collect(),
        levels: levels.iter().map(ToString::to_string).collect(),
    }
}
