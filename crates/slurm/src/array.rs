//! An array of shards from submission to the last database, resumable from its directory alone.

use crate::queue::{self, JobId, QueueError, Queued};
use crate::script::batch_script;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Times a task may be submitted in all; a shard that dies three times dies of itself.
const MAX_SUBMISSIONS: u32 = 3;

/// What every task of an array is to run.
#[derive(Clone, Debug)]
pub struct ArraySpec {
    /// Directory that all nodes share; made if absent.
    pub directory: PathBuf,
    /// The hunt, program first, without `--shard`, `--db` and `--json`.
    pub command: Vec<String>,
    /// Number of shards, which is the number of tasks.
    pub shards: u32,
    /// Further options for sbatch (`--partition=…`).
    pub sbatch: Vec<String>,
}

/// Why an array cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ArrayError {
    /// Slurm refused or could not be asked.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The shared directory cannot be used.
    #[error("{path}: {source}", path = path.display())]
    Directory {
        /// The file that cannot be read or written.
        path: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The directory does not hold an array.
    #[error("{path} does not describe an array: {reason}", path = path.display())]
    NotAnArray {
        /// The file that does not describe an array.
        path: PathBuf,
        /// Why it cannot be understood.
        reason: String,
    },
}

/// What is known of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Waiting for a node.
    Pending,
    /// The task is on a node.
    Running,
    /// Its database is in the shared directory, whole.
    Done,
    /// Gone from the queue without having finished; it will be submitted again.
    Lost,
    /// The task is lost for good.
    Failed,
}

/// Counts over all tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayProgress {
    /// How many tasks wait in the queue.
    pub pending: usize,
    /// Tasks on a node.
    pub running: usize,
    /// How many tasks have finished.
    pub done: usize,
    /// How many tasks were given up.
    pub failed: usize,
}

/// How the following of an array ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Following {
    /// Every task is done or given up; the indexes of the latter.
    Ended {
        /// Shards without a finished database.
        failed: Vec<u32>,
    },
    /// The caller stopped looking; the array runs on.
    Left,
}

/// A submitted array. Everything that is needed to find it again is in `array.json` of its directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Array {
    directory: PathBuf,
    shards: u32,
    sbatch: Vec<String>,
    /// Every submission: the array's number and the tasks in it, oldest first.
    submissions: Vec<(JobId, Vec<u32>)>,
}

impl Array {
    /// Submits all shards as one array.
    pub fn submit(spec: &ArraySpec) -> Result<Self, ArrayError> {
        std::fs::create_dir_all(&spec.directory).map_err(at(&spec.directory))?;
        let directory = std::fs::canonicalize(&spec.directory).map_err(at(&spec.directory))?;
        let script = directory.join("shard.sh");
        std::fs::write(&script, batch_script(&directory, &spec.command, spec.shards)).map_err(at(&script))?;
        let mut array = Self { directory, shards: spec.shards, sbatch: spec.sbatch.clone(), submissions: Vec::new() };
        array.submit_tasks((1..=spec.shards).collect())?;
        Ok(array)
    }

    /// Finds a submitted array again by its directory.
    pub fn attach(directory: &Path) -> Result<Self, ArrayError> {
        let path = directory.join("array.json");
        let text = std::fs::read_to_string(&path).map_err(at(&path))?;
        serde_json::from_str(&text).map_err(|e| ArrayError::NotAnArray { path, reason: e.to_string() })
    }

    /// Finds a submitted array by its number: where Slurm says its script is, or in `beside` when Slurm has
    /// forgotten it.
    pub fn find(job: JobId, beside: &Path) -> Result<Self, ArrayError> {
        let directory = queue::script_of(job).ok().and_then(|script| Some(script.parent()?.to_owned()));
        let array = Self::attach(directory.as_deref().unwrap_or(beside))?;
        if array.submissions.iter().any(|(known, _)| *known == job) {
            return Ok(array);
        }
        let reason = format!("it holds array {}, not {job}", array.job());
        Err(ArrayError::NotAnArray { path: array.directory, reason })
    }

    /// The number of the first submission, which is what a person calls the array.
    pub fn job(&self) -> JobId {
        self.submissions[0].0
    }

    /// The directory that all nodes share.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Databases that finished tasks left, in order of their shards.
    pub fn databases(&self) -> Vec<PathBuf> {
        (1..=self.shards).map(|shard| self.directory.join(format!("shard-{shard}.db"))).filter(|path| path.exists()).collect()
    }

    /// Event streams of all tasks that have started, for progress in more detail than [`ArrayProgress`].
    pub fn event_files(&self) -> Vec<PathBuf> {
        (1..=self.shards).map(|shard| self.directory.join(format!("shard-{shard}.jsonl"))).filter(|path| path.exists()).collect()
    }

    /// Cancels what is still running.
    pub fn cancel(&self) -> Result<(), ArrayError> {
        self.submissions.iter().try_for_each(|(job, _)| queue::cancel(*job))?;
        Ok(())
    }

    /// Asks the queue and the directory where every task stands.
    pub fn states(&self) -> Result<BTreeMap<u32, TaskState>, ArrayError> {
        // The queue first: a task that ends between the two looks must not seem lost.
        let mut queued = BTreeMap::new();
        for (job, _) in &self.submissions {
            queued.extend(queue::unfinished(*job)?);
        }
        let state = |shard: u32| {
            if self.directory.join(format!("shard-{shard}.done")).exists() {
                return TaskState::Done;
            }
            match queued.get(&shard) {
                Some(Queued::Pending) => TaskState::Pending,
                Some(Queued::Running) => TaskState::Running,
                None if self.times_submitted(shard) >= MAX_SUBMISSIONS => TaskState::Failed,
                None => TaskState::Lost,
            }
        };
        Ok((1..=self.shards).map(|shard| (shard, state(shard))).collect())
    }

    /// Follows the array until every task is done or given up, submitting lost tasks again. Returns early,
    /// leaving the array alone, once `stop` is set.
    pub fn follow(
        &mut self,
        interval: Duration,
        stop: &AtomicBool,
        mut progress: impl FnMut(&Self, ArrayProgress),
    ) -> Result<Following, ArrayError> {
        // A task between two states of the queue looks lost for a moment: believe it the second time.
        let mut suspects: Vec<u32> = Vec::new();
        loop {
            let states = self.states()?;
            let of = |wanted: TaskState| states.iter().filter(|(_, s)| **s == wanted).map(|(shard, _)| *shard).collect::<Vec<_>>();
            let lost = of(TaskState::Lost);
            let (again, first): (Vec<u32>, Vec<u32>) = lost.into_iter().partition(|shard| suspects.contains(shard));
            let counts = ArrayProgress {
                pending: of(TaskState::Pending).len() + again.len() + first.len(),
                running: of(TaskState::Running).len(),
                done: of(TaskState::Done).len(),
                failed: of(TaskState::Failed).len(),
            };
            progress(self, counts);
            if counts.pending + counts.running == 0 {
                return Ok(Following::Ended { failed: of(TaskState::Failed) });
            }
            if !again.is_empty() {
                self.submit_tasks(again)?;
            }
            suspects = first;
            if sleep_unless(interval, stop) {
                return Ok(Following::Left);
            }
        }
    }

    fn times_submitted(&self, shard: u32) -> u32 {
        self.submissions.iter().filter(|(_, tasks)| tasks.contains(&shard)).count() as u32
    }

    fn submit_tasks(&mut self, tasks: Vec<u32>) -> Result<(), ArrayError> {
        let job = queue::submit(&self.directory.join("shard.sh"), &tasks, &self.directory, &self.sbatch)?;
        self.submissions.push((job, tasks));
        let (path, part) = (self.directory.join("array.json"), self.directory.join("array.json.part"));
        let text = serde_json::to_string_pretty(self).expect("an array has only text keys");
        std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &path)).map_err(at(&path))
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ArrayError + '_ {
    move |source| ArrayError::Directory { path: path.to_owned(), source }
}

/// Sleeps in short naps; true when told to stop.
fn sleep_unless(interval: Duration, stop: &AtomicBool) -> bool {
    const NAP: Duration = Duration::from_millis(100);
    let mut left = interval;
    while !stop.load(Ordering::SeqCst) && !left.is_zero() {
        std::thread::sleep(left.min(NAP));
        left = left.saturating_sub(NAP);
    }
    stop.load(Ordering::SeqCst)
}
