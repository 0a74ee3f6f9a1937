//! What the gdb and lldb engines share: a Python tracer runs inside the debugger and writes JSON Lines;
//! here they become steps.
//!
//! The tracers are embedded in this crate, so a binary needs no files beside it. Debuggers never read
//! init files, and never run scripts that the traced binary brings along.

use crate::{Placement, Placements, TraceEnd, TraceError, TraceRequest, TraceSummary, Vars};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueline_dwarf::Search;
use trueline_machine::inferior::Follow;
use trueline_model::{EngineKind, FileName, Frame, FrameKind, Line, LineKey, Observation, Step, StepSink, VarKind, Variable};
use trueline_toolchain::{Exit, Job, Launch, Onlooker, Permission, Scratch};

/// Set for the tracer alone; the traced program gets an empty environment.
pub(crate) const CONFIG: &str = "TRUELINE_TRACER";

/// Where the tracer finds what it shares with the other one.
const DIRECTORY: &str = "TRUELINE_TRACER_DIR";

/// Writes a tracer and what it imports into a scratch directory; the job is told where.
pub(crate) fn install(scratch: &Scratch, tracer: &str, job: Job) -> std::io::Result<(PathBuf, Job)> {
    scratch.write("shared.py", include_str!("tracers/shared.py"))?;
    scratch.write("gdb_values.py", include_str!("tracers/gdb_values.py"))?;
    Ok((scratch.write("tracer.py", tracer)?, job.env(DIRECTORY, scratch.path())))
}

/// What a tracer is to look at, whether it steps through it or goes to chosen places.
#[derive(Serialize)]
pub(crate) struct Target<'a> {
    binary: &'a Path,
    args: &'a [String],
    user_files: &'a [String],
    vars: bool,
    /// Whether the program's arguments need a shell's quoting.
    shell: bool,
    /// What the program is told its name is.
    name: Option<&'a str>,
    env: &'a [(String, String)],
    directory: Option<PathBuf>,
    stdin: Option<&'a Path>,
    /// Whether the program may start processes.
    fork: bool,
    /// Whether a child is followed rather than its parent.
    follow_child: bool,
    /// Where the binary's debug files are.
    debug_dirs: &'a [PathBuf],
    /// Where its libraries' are; the system's own stay without, as on a machine that has no such files.
    library_debug_dirs: &'a [PathBuf],
}

impl<'a> Target<'a> {
    /// The target; whether a shell is needed follows from the arguments. The place where the program works is prepared.
    pub(crate) fn new(
        binary: &'a Path,
        launch: &'a Launch,
        user_files: &'a [String],
        search: &'a Search,
        vars: Vars,
    ) -> Result<Self, TraceError> {
        let plain = |arg: &String| !arg.is_empty() && arg.bytes().all(|b| b.is_ascii_alphanumeric() || b"_./=+-,:@%".contains(&b));
        let prepared = launch.prepare();
        let directory = prepared.map_err(|source| TraceError::System { what: "cannot prepare the run".into(), source })?;
        let Launch { name, args, env, stdin, .. } = launch;
        let fork = launch.allowed.allow(Permission::Fork);
        let (vars, shell) = (vars != Vars::None, !args.iter().all(plain));
        Ok(Target {
            binary,
            args,
            user_files,
            vars,
            shell,
            name: name.as_deref(),
            env,
            directory,
            stdin: stdin.as_deref(),
            fork,
            follow_child: false,
            debug_dirs: &search.debug_dirs,
            library_debug_dirs: search.asked_for(),
        })
    }
}

#[derive(Serialize)]
struct Config<'a> {
    #[serde(flatten)]
    target: Target<'a>,
    max_steps: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    Var { var: (Arc<str>, VarKind, u32, Arc<str>, bool) },
    Step { file: Option<String>, line: u32, pc: u64, frames: Vec<(String, u8, Option<String>, u32)>, vars: Vec<VarRecord> },
    End { end: String },
    Bad { bad: String },
    Binary { binary: String },
    Error { error: String },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum VarRecord {
    Value((usize, char, Arc<str>)),
    Bare((usize, char)),
}

/// How the tracer itself says that it ended.
enum Ending {
    End(TraceEnd),
    Program(String),
    Binary(String),
    Failure(String),
}

/// Turns the tracer's lines into steps.
pub(crate) struct Reader<'s> {
    sink: &'s mut dyn StepSink,
    pending: Vec<u8>,
    vars: Vec<Variable>,
    names: crate::intern::Names,
    last_frames: Arc<[Frame]>,
    steps: u64,
    ending: Option<Ending>,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(sink: &'s mut dyn StepSink) -> Self {
        let names = crate::intern::Names::default();
        Self { sink, pending: Vec::new(), vars: Vec::new(), names, last_frames: Arc::from([]), steps: 0, ending: None }
    }

    /// Whether the tracer has said how it ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    /// What the tracer has to complain about at its end.
    pub(crate) fn complaint(self) -> Option<String> {
        match self.ending? {
            Ending::End(_) => None,
            Ending::Program(reason) | Ending::Binary(reason) | Ending::Failure(reason) => Some(reason),
        }
    }

    pub(crate) fn feed(&mut self, chunk: &[u8]) -> ControlFlow<()> {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|&b| b == b'\n') {
            let (line, tail) = rest.split_at(end);
            rest = &tail[1..];
            if self.pending.is_empty() {
                self.line(line)?;
            } else {
                self.pending.extend_from_slice(line);
                let whole = std::mem::take(&mut self.pending);
                self.line(&whole)?;
            }
        }
        self.pending.extend_from_slice(rest);
        ControlFlow::Continue(())
    }

    fn line(&mut self, line: &[u8]) -> ControlFlow<()> {
        // Debuggers echo commands before the tracer takes over their output.
        if line.first() != Some(&b'{') {
            return ControlFlow::Continue(());
        }
        match serde_json::from_slice(line) {
            Ok(Record::Step { file, line, pc, frames, vars }) => return self.step(file, line, pc, frames, vars),
            Ok(Record::Var { var: (name, kind, decl_line, type_name, holds_pointer) }) => {
                self.vars.push(Variable { name, kind, decl_line, type_name, holds_pointer, observation: Observation::OptimizedOut });
            }
            Ok(Record::End { end }) => {
                self.ending = Some(Ending::End(if end == "cut-off" { TraceEnd::CutOff } else { TraceEnd::Finished }));
            }
            Ok(Record::Bad { bad }) => self.ending = Some(Ending::Program(bad)),
            Ok(Record::Binary { binary }) => self.ending = Some(Ending::Binary(binary)),
            Ok(Record::Error { error }) => self.ending = Some(Ending::Failure(error)),
            Err(e) => self.ending = Some(Ending::Failure(format!("its tracer wrote a line that cannot be read: {e}"))),
        }
        ControlFlow::Continue(())
    }

    fn step(
        &mut self,
        file: Option<String>,
        line: u32,
        pc: u64,
        frames: Vec<(String, u8, Option<String>, u32)>,
        vars: Vec<VarRecord>,
    ) -> ControlFlow<()> {
        let number = |line: u32| (line != 0).then_some(Line(line));
        let frames: Vec<Frame> = frames
            .into_iter()
            .map(|(function, inlined, file, line)| Frame {
                function: self.names.get(&function),
                kind: if inlined == 1 { FrameKind::Inlined } else { FrameKind::Real },
                file: file.map(|f| FileName(self.names.get(&f))),
                line: number(line),
            })
            .collect();
        if *self.last_frames != *frames {
            self.last_frames = Arc::from(frames);
        }
        let vars = vars
            .into_iter()
            .filter_map(|record| {
                let (id, observation) = match record {
                    VarRecord::Value((id, _, text)) => (id, Observation::Value(text)),
                    VarRecord::Bare((id, 'o')) => (id, Observation::OptimizedOut),
                    VarRecord::Bare((id, _)) => (id, Observation::Unreadable),
                };
                Some(Variable { observation, ..self.vars.get(id)?.clone() })
            })
            .collect();
        let file = file.map(|f| FileName(self.names.get(&f)));
        let step = Step { step: self.steps, file, line: number(line), pc, frames: Arc::clone(&self.last_frames), vars };
        self.steps += 1;
        self.sink.step(step)
    }
}

/// Reads a tracer's output as a run would, for the fuzzer.
#[doc(hidden)]
pub fn read_tracer_output<'c>(chunks: impl Iterator<Item = &'c [u8]>, sink: &mut dyn StepSink) -> u64 {
    let mut reader = Reader::new(sink);
    for chunk in chunks {
        if reader.feed(chunk).is_break() {
            break;
        }
    }
    reader.steps
}

/// Runs `job` (a debugger that loads a tracer) and pushes what it writes into `sink`.
pub(crate) fn run(
    engine: EngineKind,
    tool: &trueline_toolchain::Tool,
    source: &str,
    command: impl FnOnce(Job, &Path) -> Job,
    request: &TraceRequest,
    sink: &mut dyn StepSink,
) -> Result<TraceSummary, TraceError> {
    trueline_dwarf::Module::look_for(&request.binary, &request.search)?;
    let system = |source| TraceError::System { what: "cannot write the tracer to a scratch directory".to_owned(), source };
    let scratch = Scratch::new().map_err(system)?;
    let mut target = Target::new(&request.binary, &request.launch, &request.user_files, &request.search, request.vars)?;
    target.follow_child = request.follow == Follow::Child;
    let config = Config { target, max_steps: request.max_steps };
    let config = serde_json::to_string(&config).expect("plain data");
    // The whole output is one long trace: its size is bounded by max_steps, not by the output limit.
    let limits = trueline_toolchain::Limits { output: usize::MAX, memory: None, ..request.limits.clone() };
    let job = tool.job().env(CONFIG, config).limits(limits).confine(request.launch.confinement(Onlooker::Debugger));
    let (script, job) = install(&scratch, source, job).map_err(system)?;
    let job = command(job, &script);
    let mut reader = Reader::new(sink);
    let outcome = job.stream(|chunk| reader.feed(chunk))?;
    let binary = request.binary.clone();
    let summary = |end| TraceSummary {
        end,
        steps: reader.steps,
        cpu: outcome.cpu,
        refusals: Vec::new(),
        threads: 0,
        followed: 0,
        addresses: 0,
        given_up: 0,
    };
    match (outcome.exit, reader.ending) {
        (Exit::Stopped, _) => Ok(summary(TraceEnd::Stopped)),
        (_, Some(Ending::End(end))) => Ok(summary(end)),
        (_, Some(Ending::Program(reason))) => Err(TraceError::BadProgram { binary, reason }),
        (_, Some(Ending::Binary(reason))) => Err(TraceError::BadBinary { binary, reason }),
        (_, Some(Ending::Failure(reason))) => Err(TraceError::Debugger { engine, binary, reason }),
        (Exit::TimedOut, None) => Err(TraceError::BadProgram {
            binary,
            reason: format!("did not finish within {} s under {engine}", request.limits.wall.as_secs()),
        }),
        (exit, None) => {
            let said = outcome.stderr_text().lines().next().unwrap_or("nothing").to_owned();
            Err(TraceError::Debugger { engine, binary, reason: format!("it ended with {exit:?} and said: {said}") })
        }
    }
}

#[derive(Serialize)]
struct PlaceQuestion<'a> {
    #[serde(flatten)]
    target: Target<'a>,
    /// Base name of the file and line.
    lines: Vec<(&'a str, u32)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PlaceRecord {
    /// The number of the line that was asked about; address, file and line of each place.
    Places {
        places: (usize, Vec<(u64, Option<String>, u32)>),
    },
    End {
        end: String,
    },
    Error {
        error: String,
    },
}

/// Asks a debugger where it puts breakpoints on lines; the program is not run.
pub(crate) fn places(
    engine: EngineKind,
    tool: &trueline_toolchain::Tool,
    source: &str,
    command: impl FnOnce(Job, &Path) -> Job,
    request: &TraceRequest,
    lines: &[LineKey],
) -> Result<Placements, TraceError> {
    trueline_dwarf::Module::look_for(&request.binary, &request.search)?;
    let system = |source| TraceError::System { what: "cannot write the tracer to a scratch directory".to_owned(), source };
    let failed = |reason: String| TraceError::Debugger { engine, binary: request.binary.clone(), reason };
    let scratch = Scratch::new().map_err(system)?;
    let target = Target::new(&request.binary, &request.launch, &request.user_files, &request.search, Vars::None)?;
    let question = PlaceQuestion { target, lines: lines.iter().map(|l| (l.file.base(), l.line.0)).collect() };
    let config = serde_json::to_string(&question).expect("plain data");
    let limits = trueline_toolchain::Limits { output: usize::MAX, memory: None, ..request.limits.clone() };
    let job = tool.job().env(CONFIG, config).limits(limits).confine(request.launch.confinement(Onlooker::Debugger));
    let (script, job) = install(&scratch, source, job).map_err(system)?;
    let outcome = command(job, &script).run()?;
    let mut found = Placements::new();
    let mut is_over = false;
    for line in outcome.stdout.split(|&b| b == b'\n').filter(|l| l.first() == Some(&b'{')) {
        match serde_json::from_slice(line) {
            Ok(PlaceRecord::Places { places: (number, places) }) => {
                let Some(key) = lines.get(number) else { continue };
                let shown = |file: Option<String>, line: u32| {
                    let file = FileName::new(FileName::new(&file?).base());
                    (line != 0).then_some(LineKey { file, line: Line(line) })
                };
                let placed = places.into_iter().map(|(pc, file, line)| Placement { pc, shown: shown(file, line) });
                found.insert(key.clone(), placed.collect());
            }
            Ok(PlaceRecord::End { end }) => is_over = end == "finished",
            Ok(PlaceRecord::Error { error }) => return Err(failed(error)),
            Err(e) => return Err(failed(format!("its tracer wrote a line that cannot be read: {e}"))),
        }
    }
    match is_over {
        true => Ok(found),
        false => Err(failed(format!("it ended with {:?} before it had answered", outcome.exit))),
    }
}
