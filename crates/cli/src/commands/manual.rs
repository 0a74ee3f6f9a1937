//! `trueline manual`: man pages and shell completions, from the same definition as `--help`, and the JSON schemas of
//! every document, from the types that print it.

use crate::exit::CommandEnding;
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

/// Write man pages, shell completions and JSON schemas, for packagers.
#[derive(clap::Args)]
pub struct Args {
    /// Directory to write to: man pages into man1/, completions into completions/, schemas into schemas/.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes man pages, completions and schemas.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let [pages, completions, schemas] = ["man1", "completions", "schemas"].map(|name| args.out.join(name));
    for dir in [&pages, &completions, &schemas] {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let command = crate::Cli::command();
    clap_mangen::generate_to(command.clone(), &pages).with_context(|| format!("cannot write to {}", pages.display()))?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command.clone(), "trueline", &completions)
            .with_context(|| format!("cannot write to {}", completions.display()))?;
    }
    for (name, schema) in super::schemas::all() {
        let path = schemas.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(&schema)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(CommandEnding::Clean)
}
