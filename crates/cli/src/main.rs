//! `trueline`: finds, explains and repairs what optimized builds tell debuggers wrongly.
//!
//! Only flags, printing and exit codes live here; the work is in the library crates.

mod commands;
mod config;
mod exit;
mod input;
mod style;

use clap::{CommandFactory, FromArgMatches, Parser};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A first look:
  trueline doctor                                        what is installed, what each tool is for
  trueline check prog.c --cc gcc --opt=-Og,-O2           does this program's optimized build mislead a debugger?
  trueline hunt --for 10m                                find programs that do
  trueline triage prog.c --cc clang --opt -O2            which pass is behind it, since which version
  trueline repair ./prog -o ./prog.repaired              variables that can be printed again

Exit codes: 0 nothing found or work done, 1 found (check, passes), 2 bad use, bad input or a missing tool, 3 a bug in trueline.
`--json` prints one document with its schema's name. A trueline.toml here or above sets the defaults of the flags.";

/// Finds, explains and repairs what optimized builds tell debuggers wrongly.
#[derive(Parser)]
#[command(name = "trueline", version, propagate_version = true, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    exit::install_panic_hook();
    exit::report(|| {
        let config = config::ProjectDefaults::load().or_else(config_for_help)?;
        let matches = config::apply(&config, Cli::command()).get_matches();
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        trueline_toolchain::sweep_stale();
        commands::run(cli.command)
    })
}

/// Help, the version and `doctor` need no configuration: a mistake in it must not keep people from them.
fn config_for_help(error: anyhow::Error) -> anyhow::Result<config::ProjectDefaults> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    let needs_none = match Cli::command().try_get_matches() {
        Ok(matches) => matches.subcommand_name() == Some("doctor"),
        Err(usage) => matches!(usage.kind(), DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand),
    };
    if !needs_none {
        return Err(error);
    }
    eprintln!("warning: {error:#}");
    Ok(config::ProjectDefaults::default())
}
