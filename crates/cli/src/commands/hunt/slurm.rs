//! `hunt --on slurm`: the same hunt as a job array, followed and merged.

use anyhow::{Context, bail};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use trueline_slurm::{Array, ArrayProgress, ArraySpec, Following, JobId};
use trueline_store::Store;

/// Where a hunt runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum HuntPlace {
    /// The machine that this runs on.
    Here,
    /// The nodes of a Slurm cluster.
    Slurm,
}

/// Flags for hunts on a cluster.
#[derive(Clone, Debug, clap::Args)]
pub struct Flags {
    /// Where to hunt: here, or as a Slurm job array.
    #[arg(long, value_name = "PLACE", default_value = "here", help_heading = "On a cluster")]
    pub on: HuntPlace,
    /// Number of shards, which is the number of tasks of the array.
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "On a cluster")]
    array: u32,
    /// Directory that all nodes share, for the shards' databases. [default: beside the database]
    #[arg(long, value_name = "DIR", help_heading = "On a cluster")]
    shared: Option<PathBuf>,
    /// Come back to an array: its job number, or its shared directory.
    #[arg(long, value_name = "JOB", help_heading = "On a cluster")]
    pub attach: Option<String>,
    /// An option for sbatch, such as --partition=long; may be repeated.
    #[arg(long = "sbatch", value_name = "OPTION", allow_hyphen_values = true, help_heading = "On a cluster")]
    sbatch: Vec<String>,
}

/// How often the queue is asked.
const INTERVAL: Duration = Duration::from_secs(2);

/// What following an array came to.
pub enum ArrayOutcome {
    /// All shards are in; the database holds them.
    Merged,
    /// The user left; the array runs on.
    Left,
}

/// Submits (or comes back to) the array, follows it and merges what it made into `db`.
pub fn run(flags: &Flags, db: &Path, stop: &AtomicBool) -> anyhow::Result<ArrayOutcome> {
    let mut array = match &flags.attach {
        Some(name) => attach(name, db)?,
        None => submit(flags, db)?,
    };
    eprintln!("array {} of Slurm, shared directory {}", array.job(), array.directory().display());
    let mut shown = None;
    let talk = std::io::stderr().is_terminal();
    let following = array.follow(INTERVAL, stop, |array, progress| {
        let (units, findings) = count_events(&array.event_files());
        if talk && shown != Some((progress, units)) {
            let ArrayProgress { pending, running, done, failed } = progress;
            eprintln!("  shards: {pending} waiting, {running} running, {done} done, {failed} failed · {units} units · {findings} findings");
            shown = Some((progress, units));
        }
    })?;
    match following {
        Following::Left => {
            eprintln!("the array runs on; come back with: trueline hunt --on slurm --attach {} --db {}", array.job(), db.display());
            Ok(ArrayOutcome::Left)
        }
        Following::Ended { failed } => {
            let store = Store::open(db)?;
            for shard in array.databases() {
                store.merge_from(&shard).with_context(|| format!("cannot merge {}", shard.display()))?;
            }
            if !failed.is_empty() {
                let list: Vec<String> = failed.iter().map(u32::to_string).collect();
                let logs = array.directory().join("shard-K.log");
                bail!("shards {} died three times and are not in the result; their output is in {}", list.join(", "), logs.display());
            }
            Ok(ArrayOutcome::Merged)
        }
    }
}

fn shared_directory(flags: &Flags, db: &Path) -> PathBuf {
    flags.shared.clone().unwrap_or_else(|| db.with_extension("shards"))
}

fn submit(flags: &Flags, db: &Path) -> anyhow::Result<Array> {
    let directory = shared_directory(flags, db);
    if directory.join("array.json").exists() {
        bail!("{} already holds an array; come back to it with --attach, or choose another --shared", directory.display());
    }
    let program = std::env::current_exe().context("cannot tell where trueline is")?;
    let words = shard_words(std::env::args().skip(1));
    let command = [vec![program.to_string_lossy().into_owned()], words].concat();
    let spec = ArraySpec { directory, command, shards: flags.array.max(1), sbatch: flags.sbatch.clone() };
    Ok(Array::submit(&spec)?)
}

fn attach(name: &str, db: &Path) -> anyhow::Result<Array> {
    let Ok(number) = name.parse::<u64>() else { return Ok(Array::attach(Path::new(name))?) };
    let beside = db.with_extension("shards");
    Ok(Array::find(JobId(number), &beside)?)
}

/// The words of this command that a shard repeats: all but those that are about the array and the output.
fn shard_words(words: impl Iterator<Item = String>) -> Vec<String> {
    const WITH_VALUE: [&str; 8] = ["--on", "--array", "--shared", "--attach", "--sbatch", "--shard", "--db", "--out"];
    const ALONE: [&str; 3] = ["--json", "--no-report", "--fail-on-findings"];
    let mut kept = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !ALONE.contains(&word.as_str())
            && !WITH_VALUE.iter().any(|flag| word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
        {
            kept.push(word);
        }
    }
    kept.push("--no-report".to_owned());
    kept
}

/// Units done and findings made so far, from the shards' event streams.
fn count_events(files: &[PathBuf]) -> (usize, usize) {
    let (mut units, mut findings) = (0, 0);
    for file in files.iter().filter_map(|path| std::fs::File::open(path).ok()) {
        for line in std::io::BufReader::new(file).lines().map_while(Result::ok) {
            units += usize::from(line.contains(r#""event":"unit-done""#));
            findings += usize::from(line.contains(r#""event":"found""#));
        }
    }
    (units, findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_repeats_the_hunt_but_not_what_is_about_the_array() {
        let words = "hunt --on slurm --array=8 --seeds 1..9 --opt=-O2,-Og --db x.db --json --cc gcc-12".split(' ').map(str::to_owned);
        assert_eq!(shard_words(words), ["hunt", "--seeds", "1..9", "--opt=-O2,-Og", "--cc", "gcc-12", "--no-report"]);
    }
}
