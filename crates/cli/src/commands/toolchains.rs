//! `trueline toolchains`: compilers that the host lacks, fetched into private roots.

use crate::exit::CommandEnding;
use anyhow::Context;
use serde::Serialize;
use std::io::IsTerminal;
use std::path::PathBuf;
use trueline_toolchain::{
    Compiler, FetchOptions, PrivateRoots, Tool, ToolKind, find_compiler, find_tool, installed_compilers, installed_debuggers,
    installed_optimizers,
};

/// List compilers, LLVM optimizers and debuggers, or fetch one that the host lacks from another Debian suite into a private root.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: ToolchainAction,
}

#[derive(clap::Subcommand)]
enum ToolchainAction {
    /// Show every compiler that --versions and --cc can name, every debugger that --engine can name and every `opt`: the host's
    /// and the fetched ones.
    List {
        /// Print one JSON document instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Fetch compilers (clang-18, gcc-13), debuggers for --engine (gdb-18, lldb-22) and LLVM's optimizer for `passes` (opt-18).
    /// Nothing is installed system-wide.
    Fetch {
        /// Which.
        #[arg(required = true)]
        names: Vec<String>,
        /// Another Debian mirror.
        #[arg(long, value_name = "URL")]
        mirror: Option<String>,
        /// Look in this suite only (trixie, bullseye, sid, …).
        #[arg(long)]
        suite: Option<String>,
        /// Print one JSON document instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Remove fetched compilers.
    Remove {
        /// Which.
        #[arg(required = true)]
        names: Vec<String>,
        /// Print one JSON document instead of a line each.
        #[arg(long)]
        json: bool,
    },
}

/// What `trueline toolchains --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Toolchains")]
pub struct Document<'a> {
    /// `trueline.toolchains/1`.
    schema: &'static str,
    /// Where fetched ones are kept.
    directory: &'a std::path::Path,
    /// What is here, was fetched or was removed.
    toolchains: &'a [ToolchainRow],
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Row")]
pub struct ToolchainRow {
    path: PathBuf,
    /// `gcc`, `clang`, `rustc`, `opt`, `gdb` or `lldb`.
    kind: String,
    version: String,
    origin: ToolchainOrigin,
}

impl ToolchainRow {
    fn compiler(compiler: Compiler) -> Self {
        let id = compiler.id;
        Self { path: id.path, kind: id.kind.to_string(), version: id.version, origin: ToolchainOrigin::Host }
    }

    fn tool(tool: Tool) -> Self {
        Self { path: tool.path, kind: tool.kind.to_string(), version: tool.version, origin: ToolchainOrigin::Host }
    }
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase", tag = "from")]
#[schemars(rename = "Origin")]
enum ToolchainOrigin {
    Host,
    Fetched { name: String, suite: String, package_version: String },
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let roots = PrivateRoots::of_user().context("neither HOME nor TRUELINE_TOOLCHAINS is set: there is no place for fetched compilers")?;
    match args.action {
        ToolchainAction::List { json } => print(&list(&roots), json, &roots)?,
        ToolchainAction::Fetch { names, mirror, suite, json } => {
            let options = FetchOptions { mirror, suite };
            let terminal = std::io::stderr().is_terminal();
            for name in &names {
                let progress = |text: &str| {
                    if terminal {
                        eprint!("\r\x1b[K{name}: {text}");
                    }
                };
                let fetched = roots.fetch(name, &options, &progress);
                if terminal {
                    eprint!("\r\x1b[K");
                }
                fetched?;
            }
            let rows =
                list(&roots).into_iter().filter(|r| matches!(&r.origin, ToolchainOrigin::Fetched { name, .. } if names.contains(name)));
            print(&rows.collect::<Vec<_>>(), json, &roots)?;
        }
        ToolchainAction::Remove { names, json } => {
            let before = list(&roots);
            for name in &names {
                let root = roots.remove(name)?;
                if !json {
                    println!("removed {} ({} from {})", root.name, root.package_version, root.suite);
                }
            }
            if json {
                let rows =
                    before.into_iter().filter(|r| matches!(&r.origin, ToolchainOrigin::Fetched { name, .. } if names.contains(name)));
                print(&rows.collect::<Vec<_>>(), true, &roots)?;
            }
        }
    }
    Ok(CommandEnding::Clean)
}

fn list(roots: &PrivateRoots) -> Vec<ToolchainRow> {
    let mut rows: Vec<ToolchainRow> = installed_compilers().into_iter().map(ToolchainRow::compiler).collect();
    rows.extend(installed_optimizers().into_iter().chain(installed_debuggers()).map(ToolchainRow::tool));
    for root in roots.list() {
        let origin =
            ToolchainOrigin::Fetched { name: root.name.clone(), suite: root.suite.clone(), package_version: root.package_version.clone() };
        if let Some(row) = rows.iter_mut().find(|r| r.path == root.program) {
            row.origin = origin;
            continue;
        }
        // One that the host has too is shadowed on PATH, yet it is there and can be named by its path.
        let path = root.program.to_string_lossy();
        let kind = match root.name.split('-').next() {
            Some("opt") => Some(ToolKind::Opt),
            Some("gdb") => Some(ToolKind::Gdb),
            Some("lldb") => Some(ToolKind::Lldb),
            _ => None,
        };
        let row = match kind {
            Some(kind) => find_tool(kind, Some(&path)).map(ToolchainRow::tool),
            None => find_compiler(&path).map(ToolchainRow::compiler),
        };
        rows.extend(row.ok().map(|row| ToolchainRow { origin, ..row }));
    }
    rows
}

fn print(rows: &[ToolchainRow], json: bool, roots: &PrivateRoots) -> anyhow::Result<()> {
    if json {
        let document = Document { schema: "trueline.toolchains/1", directory: roots.dir(), toolchains: rows };
        println!("{}", serde_json::to_string_pretty(&document)?);
        return Ok(());
    }
    for row in rows {
        let origin = match &row.origin {
            ToolchainOrigin::Host => "host".to_owned(),
            ToolchainOrigin::Fetched { suite, package_version, .. } => format!("{suite} {package_version}"),
        };
        println!("{:<6} {:<9} {:<28} {}", row.kind, row.version, origin, row.path.display());
    }
    Ok(())
}
