//! One module per command; the folder listing is the command list.

mod check;
mod dap;
mod debug;
mod doctor;
mod hunt;
mod isolate;
mod ledger;
mod manual;
mod merge;
mod mutate;
mod passes;
mod reduce;
mod repair;
mod repair_check;
mod report;
mod same;
mod schemas;
mod serve;
mod suite;
mod toolchains;
mod trace;
mod triage;

use crate::exit::CommandEnding;
use clap::Subcommand;

/// The commands, in the order of `--help`: find, explain, repair, the rest.
#[derive(Subcommand)]
pub enum Command {
    Check(Box<check::Args>),
    Trace(Box<trace::Args>),
    Hunt(Box<hunt::Args>),
    Mutate(mutate::Args),
    Same(same::Args),
    Suite(suite::Args),
    Debug(Box<debug::Args>),
    Dap(Box<dap::Args>),
    Triage(Box<triage::Args>),
    Reduce(Box<reduce::Args>),
    Passes(passes::Args),
    Isolate(Box<isolate::Args>),
    Repair(Box<repair::Args>),
    Report(report::Args),
    Serve(serve::Args),
    Merge(merge::Args),
    Ledger(ledger::Args),
    Toolchains(toolchains::Args),
    Doctor(doctor::Args),
    Manual(manual::Args),
}

/// Runs the command that was given.
pub fn run(command: Command) -> anyhow::Result<CommandEnding> {
    match command {
        Command::Check(args) => check::run(*args),
        Command::Trace(args) => trace::run(*args),
        Command::Doctor(args) => doctor::run(args),
        Command::Manual(args) => manual::run(args),
        Command::Mutate(args) => mutate::run(args),
        Command::Same(args) => same::run(args),
        Command::Suite(args) => suite::run(args),
        Command::Debug(args) => debug::run(*args),
        Command::Dap(args) => dap::run(*args),
        Command::Hunt(args) => hunt::run(*args),
        Command::Merge(args) => merge::run(args),
        Command::Report(args) => report::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Toolchains(args) => toolchains::run(args),
        Command::Passes(args) => passes::run(args),
        Command::Triage(args) => triage::run(*args),
        Command::Reduce(args) => reduce::run(*args),
        Command::Ledger(args) => ledger::run(args),
        Command::Isolate(args) => isolate::run(*args),
        Command::Repair(args) => repair::run(*args),
    }
}
