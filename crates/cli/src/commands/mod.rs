//! One module per command; the folder listing is the command list.

mod doctor;
mod manual;
mod passes;
mod toolchains;

use crate::exit::Ending;
use clap::Subcommand;

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Doctor(doctor::Args),
    Manual(manual::Args),
    Toolchains(toolchains::Args),
    Passes(passes::Args),
}

/// Runs one.
pub fn run(command: Command) -> anyhow::Result<Ending> {
    match command {
        Command::Doctor(args) => doctor::run(args),
        Command::Manual(args) => manual::run(args),
        Command::Toolchains(args) => toolchains::run(args),
        Command::Passes(args) => passes::run(args),
    }
}
