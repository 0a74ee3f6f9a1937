//! gdb at chosen stops: a Python script inside gdb writes what it shows, and here it becomes typed stops.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueline_toolchain::{Limits, Scratch, ToolKind, find_tool};

const STOPS: &str = concat!(include_str!("shown.py"), include_str!("stops.py"));

/// What the stack of the reference build holds where nobody wrote.
pub const PATTERN: u8 = 0xa5;

/// One scalar: its path inside the variable, and what gdb shows, if anything.
pub type Leaf = (String, Option<String>);

/// A variable in a frame: name, line of its declaration, whether it is a parameter (1), its scalars.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ShownLocal(pub String, pub u64, pub u8, pub Vec<Leaf>);

/// A frame: function, line, variables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FrameShown(pub String, pub u64, pub Vec<ShownLocal>);

/// A stop.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GdbStop {
    /// Address as in the file.
    pub pc: u64,
    /// Whether a row of the line table starts here (1).
    pub row: u8,
    /// What ties moments of two builds: a digest of the shared objects, or the function's call.
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
#[derive(Serialize)]
pub struct GdbSession<'a> {
    /// The file.
    pub binary: &'a Path,
    /// Units whose lines count, by file name.
    pub units: Vec<String>,
    /// Objects compared as memory, with their sizes.
    pub shared: Vec<(String, u64)>,
    /// An `int` among them that numbers the rounds.
    pub mark: Option<String>,
    /// Arguments of the run.
    pub args: Vec<String>,
    /// Where to stop.
    #[serde(flatten)]
    pub places: Places,
    /// Stops after which the run is cut off.
    pub limit: usize,
}

/// Where to stop.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Places {
    /// At every row of these functions, of all when there are none. The stack below an entered function is filled
    /// with [`PATTERN`].
    Functions(Vec<String>),
    /// At every instruction in these ranges.
    Ranges(Vec<(u64, u64)>),
}

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
        binary: PathBuf,
        /// What it said.
        reason: String,
    },
}

/// A line that a script writes.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum GdbRecord {
    Stop(Box<GdbStop>),
    Calls {
        function: String,
        callers: Vec<String>,
    },
    Overflow {
        overflow: String,
    },
    End {
        end: String,
    },
    Done {
        #[serde(rename = "done")]
        _stops: usize,
    },
    Cut {
        #[serde(rename = "cut")]
        _stops: usize,
    },
}

impl GdbSession<'_> {
    /// Runs gdb and returns the stops.
    pub fn run(&self) -> Result<Vec<GdbStop>, GdbError> {
        let records = run_script(STOPS, self.binary, self)?;
        // Half a run has fewer moments than the source, and what is right would look wrong.
        if records.iter().any(|r| matches!(r, GdbRecord::Cut { .. })) {
            let reason = format!("more than {} stops", self.limit);
            return Err(GdbError::Script { binary: self.binary.to_owned(), reason });
        }
        Ok(records.into_iter().filter_map(|r| if let GdbRecord::Stop(stop) = r { Some(*stop) } else { None }).collect())
    }
}

#[derive(Serialize)]
struct GdbConfig<'a, C> {
    #[serde(flatten)]
    own: &'a C,
    output: &'a Path,
    pattern: u8,
}

/// Runs a script inside gdb with its configuration; an output without an end is an error.
pub(crate) fn run_script<C: Serialize>(script: &str, binary: &Path, own: &C) -> Result<Vec<GdbRecord>, GdbError> {
    let tool = |e: &dyn std::fmt::Display| GdbError::Tool(e.to_string());
    let gdb = find_tool(ToolKind::Gdb, None).map_err(|e| tool(&e))?;
    let scratch = Scratch::new().map_err(|e| tool(&e))?;
    let output = scratch.join("stops");
    let text = serde_json::to_string(&GdbConfig { own, output: &output, pattern: PATTERN }).map_err(|e| tool(&e))?;
    let config = scratch.write("config", text).map_err(|e| tool(&e))?;
    let script = scratch.write("stops.py", script).map_err(|e| tool(&e))?;
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
    let failed = |reason: String| GdbError::Script { binary: binary.to_owned(), reason };
    let text = std::fs::read_to_string(&output).map_err(|e| failed(format!("{e}; {}", outcome.stderr_text())))?;
    let mut records = Vec::new();
    for line in text.lines() {
        match serde_json::from_str(line).map_err(|e| failed(format!("{e} in {line}")))? {
            GdbRecord::End { end } => return Err(failed(end)),
            record => records.push(record),
        }
    }
    match records.last() {
        Some(GdbRecord::Done { .. }) => Ok(records),
        _ => Err(failed(format!("it ended early ({:?}): {}", outcome.exit, outcome.stderr_text()))),
    }
}
