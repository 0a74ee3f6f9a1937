//! Slurm's command line: sbatch, squeue, scontrol. Accounting (sacct) is not asked, since many clusters
//! run without it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use trueline_toolchain::{Job, Limits};

/// Number of a submitted array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why Slurm did not answer.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// A command is missing or cannot be started.
    #[error("{0}; is Slurm's client installed (`apt-get install slurm-client`) and SLURM_CONF right?")]
    Start(#[from] trueline_toolchain::JobError),
    /// A command of Slurm refused.
    #[error("`{command}` failed: {message}")]
    Refused {
        /// The command that was run.
        command: String,
        /// What the command said about it.
        message: String,
    },
}

/// What the queue knows of a task that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queued {
    /// Waiting for a node.
    Pending,
    /// Running, or on its way in or out.
    Running,
}

fn run(program: &str, args: &[String]) -> Result<String, QueueError> {
    let mut job = Job::new(program).args(args).limits(Limits::seconds(60));
    // Where the cluster's configuration lives is the user's to say.
    if let Some(conf) = std::env::var_os("SLURM_CONF") {
        job = job.env("SLURM_CONF", conf);
    }
    let outcome = job.run()?;
    if outcome.success() {
        return Ok(outcome.stdout_text());
    }
    Err(QueueError::Refused { command: job.command_line(), message: outcome.stderr_text().trim().to_owned() })
}

/// Submits the tasks `indexes` of an array that runs `script`.
pub(crate) fn submit(script: &Path, indexes: &[u32], directory: &Path, options: &[String]) -> Result<JobId, QueueError> {
    let list: Vec<String> = indexes.iter().map(u32::to_string).collect();
    let mut args = vec![
        "--parsable".to_owned(),
        "--job-name=trueline".to_owned(),
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--array={}", list.join(",")),
        format!("--output={}/shard-%a.log", directory.display()),
    ];
    args.extend_from_slice(options);
    args.push(script.display().to_string());
    let answer = run("sbatch", &args)?;
    let id = answer.trim().split(';').next().and_then(|n| n.parse().ok());
    id.map(JobId)
        .ok_or_else(|| QueueError::Refused { command: "sbatch".to_owned(), message: format!("no job number in `{}`", answer.trim()) })
}

/// The unfinished tasks of an array, by index.
pub(crate) fn unfinished(job: JobId) -> Result<BTreeMap<u32, Queued>, QueueError> {
    let args = ["--noheader", "--array", "--format=%K %T", "--jobs"].map(str::to_owned);
    match run("squeue", &[&args[..], &[job.to_string()]].concat()) {
        Ok(text) => Ok(parse_squeue(&text)),
        // A job that ended long enough ago is forgotten: nothing of it is unfinished.
        Err(QueueError::Refused { message, .. }) if message.contains("Invalid job id") => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}

/// The script that a job runs, as long as Slurm remembers the job.
pub(crate) fn script_of(job: JobId) -> Result<PathBuf, QueueError> {
    let text = run("scontrol", &["show".to_owned(), "job".to_owned(), job.to_string()])?;
    let path = text.split_whitespace().find_map(|word| word.strip_prefix("Command="));
    path.map(PathBuf::from)
        .ok_or_else(|| QueueError::Refused { command: "scontrol show job".to_owned(), message: format!("job {job} has no script") })
}

fn parse_squeue(text: &str) -> BTreeMap<u32, Queued> {
    let row = |line: &str| {
        let (index, state) = line.trim().split_once(' ')?;
        let queued = match state.trim() {
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" => Queued::Pending,
            "RUNNING" | "COMPLETING" | "CONFIGURING" | "SUSPENDED" | "STAGE_OUT" | "RESIZING" | "SIGNALING" | "STOPPED" => Queued::Running,
            _ => return None,
        };
        Some((index.parse().ok()?, queued))
    };
    text.lines().filter_map(row).collect()
}

/// Cancels all tasks of an array.
pub(crate) fn cancel(job: JobId) -> Result<(), QueueError> {
    run("scancel", &[job.to_string()]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tasks_that_still_matter_are_read_from_the_queue() {
        let text = "0 RUNNING\n1 PENDING\n2 COMPLETING\n3 FAILED\n4 CANCELLED\n";
        let expected = BTreeMap::from([(0, Queued::Running), (1, Queued::Pending), (2, Queued::Running)]);
        assert_eq!(parse_squeue(text), expected);
    }
}
