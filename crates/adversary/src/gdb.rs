//! gdb at chosen stops: a Python script inside gdb writes what it shows, and here it becomes typed stops.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use trueline_toolchain::{Limits, Scratch, ToolKind, find_tool};

const SCRIPT: &str = include_str!("stops.py");

/// One scalar: its path inside the variable, and what gdb shows, if anything.
pub type Leaf = (String, Option<String>);

/// A variable in a frame: name, line of its declaration, whether it is a parameter (1), its scalars.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Shown(pub String, pub u64, pub u8, pub Vec<Leaf>);

/// A frame: function, line, variables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FrameShown(pub String, pub u64, pub Vec<Shown>);

/// A stop.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Stop {
    /// Address as in the file.
    pub pc: u64,
    /// Whether a row of the line table starts here (1).
    pub row: u8,
    /// Digest of the shared objects.
    pub memory: String,
    /// Newest frame first; inlined callers included.
    pub frames: Vec<FrameShown>,
    /// The round, in programs made here.
    #[serde(default)]
    pub mark: usize,
    /// The frame pointer, in the reference build.
    #[serde(default)]
    pub base: u64,
    /// The line that opens the function, where this stop stands for it too.
    #[serde(default)]
    pub opening: Option<u64>,
}

/// What to run and where to stop.
pub struct Session<'a> {
    /// The file.
    pub binary: &'a Path,
    /// Units whose lines count, by file name.
    pub units: Vec<String>,
    /// Objects compared as memory, with their sizes.
    pub shared: Vec<(String, u64)>,
    /// An `int` among them that numbers the rounds.
    pub mark: Option<String>,
    /// Arguments of each run.
    pub runs: Vec<Vec<String>>,
    /// Where to stop.
    pub places: Places,
    /// Stops after which a run is cut off.
    pub limit: usize,
}

/// Where to stop.
pub enum Places {
    /// At every row of these functions, of all when there are none. The stack below an entered function is filled with [`PATTERN`].
    Rows(Vec<String>),
    /// At every instruction in these ranges.
    Ranges(Vec<(u64, u64)>),
}

/// What the stack of the reference build holds where nobody wrote.
pub const PATTERN: u8 = 0xa5;

/// Why there are no stops.
#[derive(Debug, thiserror::Error)]
pub enum GdbError {
    /// gdb is missing or could not be run.
    #[error("gdb: {0}")]
    Tool(String),
    /// The script or gdb gave up.
    #[error("gdb on {binary} gave up: {reason}")]
    Script {
        /// The file.
        binary: String,
        /// What it said.
        reason: String,
    },
}

#[derive(Serialize)]
struct Config<'a> {
    binary: &'a Path,
    output: &'a Path,
    units: &'a [String],
    shared: Vec<(&'a str, u64)>,
    functions: &'a [String],
    runs: &'a [Vec<String>],
    ranges: Option<&'a [(u64, u64)]>,
    mark: Option<&'a str>,
    pattern: u8,
    limit: usize,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    Stop(Box<Stop>),
    Run {
        #[serde(rename = "run")]
        _run: usize,
    },
    Done {
        #[serde(rename = "done")]
        _done: usize,
    },
    Cut {
        #[serde(rename = "cut")]
        _cut: usize,
    },
    End {
        end: String,
    },
}

impl Session<'_> {
    /// Runs gdb once and returns the stops of each run.
    pub fn run(&self) -> Result<Vec<Vec<Stop>>, GdbError> {
        let tool = |e: &dyn std::fmt::Display| GdbError::Tool(e.to_string());
        let gdb = find_tool(ToolKind::Gdb, None).map_err(|e| tool(&e))?;
        let scratch = Scratch::new().map_err(|e| tool(&e))?;
        let output = scratch.join("stops");
        let binary = std::fs::canonicalize(self.binary).map_err(|e| tool(&e))?;
        let (functions, ranges) = match &self.places {
            Places::Rows(functions) => (functions.as_slice(), None),
            Places::Ranges(ranges) => (&[][..], Some(ranges.as_slice())),
        };
        let config = Config {
            binary: &binary,
            output: &output,
            units: &self.units,
            shared: self.shared.iter().map(|(n, s)| (n.as_str(), *s)).collect(),
            functions,
            runs: &self.runs,
            ranges,
            mark: self.mark.as_deref(),
            pattern: PATTERN,
            limit: self.limit,
        };
        let text = serde_json::to_string(&config).map_err(|e| tool(&e))?;
        let config = scratch.write("config", text).map_err(|e| tool(&e))?;
        let script = scratch.write("stops.py", SCRIPT).map_err(|e| tool(&e))?;
        let limits = Limits { wall: Duration::from_secs(3600), cpu: Duration::from_secs(1200), ..Limits::default() };
        let outcome = gdb
            .job()
            .args(["-nx", "-nh", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"])
            .arg("-x")
            .arg(&script)
            .env("TRUELINE_STOPS", &config)
            .limits(limits)
            .run()
            .map_err(|e| tool(&e))?;
        let failed = |reason: String| GdbError::Script { binary: self.binary.display().to_string(), reason };
        let text = std::fs::read_to_string(&output).map_err(|e| failed(format!("{e}; {}", outcome.stderr_text())))?;
        let mut runs: Vec<Vec<Stop>> = Vec::new();
        let mut done = 0;
        for line in text.lines() {
            match serde_json::from_str(line).map_err(|e| failed(format!("{e} in {line}")))? {
                Record::Run { .. } => runs.push(Vec::new()),
                Record::Stop(stop) => runs.last_mut().ok_or_else(|| failed("a stop before a run".to_owned()))?.push(*stop),
                Record::Done { .. } => done += 1,
                Record::Cut { .. } => {}
                Record::End { end } => return Err(failed(end)),
            }
        }
        if done != self.runs.len() {
            return Err(failed(format!("it ended after {done} of {} runs; {}", self.runs.len(), outcome.stderr_text())));
        }
        Ok(runs)
    }
}
