//! One module per command; the folder listing is the command list.

mod doctor;

use crate::exit::Ending;
use clap::Subcommand;

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Doctor(doctor::Args),
}

/// Runs one.
pub fn run(command: Command) -> anyhow::Result<Ending> {
    match command {
        Command::Doctor(args) => doctor::run(args),
    }
}
