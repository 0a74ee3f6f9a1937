//! One module per command; the folder listing is the command list.

mod doctor;
mod toolchains;

use crate::exit::Ending;
use clap::Subcommand;

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Doctor(doctor::Args),
    Toolchains(toolchains::Args),
}

/// Runs one.
pub fn run(command: Command) -> anyhow::Result<Ending> {
    match command {
        Command::Doctor(args) => doctor::run(args),
        Command::Toolchains(args) => toolchains::run(args),
    }
}
