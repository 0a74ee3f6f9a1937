//! `trueline manual`: man pages and shell completions, from the same definition as `--help`.

use crate::exit::Ending;
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

/// Write man pages and shell completions, for packagers.
#[derive(clap::Args)]
pub struct Args {
    /// Directory to write to: man pages into man1/, completions into completions/.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Ending> {
    let (pages, completions) = (args.out.join("man1"), args.out.join("completions"));
    for dir in [&pages, &completions] {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let command = crate::Cli::command();
    clap_mangen::generate_to(command.clone(), &pages).with_context(|| format!("cannot write to {}", pages.display()))?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command.clone(), "trueline", &completions)
            .with_context(|| format!("cannot write to {}", completions.display()))?;
    }
    Ok(Ending::Clean)
}
