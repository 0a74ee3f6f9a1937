//! `trueline`: finds, explains and repairs what optimized builds tell debuggers wrongly.
//!
//! Only flags, printing and exit codes live here; the work is in the library crates.

mod commands;
mod config;
mod exit;
mod fault;
mod input;
mod style;

use clap::{CommandFactory, FromArgMatches, Parser};
use std::process::ExitCode;

/// Finds, explains and repairs what optimized builds tell debuggers wrongly.
#[derive(Parser)]
#[command(name = "trueline", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    exit::install_panic_hook();
    let config = match config::Config::load() {
        Ok(config) => config,
        Err(error) => return exit::report(Err(error)),
    };
    let matches = config::apply(&config, Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    trueline_toolchain::sweep_stale();
    exit::report(commands::run(cli.command))
}
