//! Compiling a program: one request, one binary, the exact command beside it.

use crate::tool::{Compiler, ToolError};
use crate::{Exit, Job, JobError, Limits, Outcome, link, parts};
use std::path::PathBuf;
use std::time::Duration;
use trueline_model::{CompilerKind, Language, OptLevel};

/// Whether a build carries debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// Everything a debugger can use: `-g`.
    Full,
    /// None, to compare code with and without.
    None,
}

/// What to build and how.
#[derive(Clone, Debug)]
pub struct CompileRequest {
    /// The source file to compile.
    pub source: PathBuf,
    /// The language it is written in.
    pub language: Language,
    /// The level of optimization.
    pub opt: OptLevel,
    /// With or without debug information.
    pub debug: DebugInfo,
    /// Further flags of the user's and the program's, kept in order.
    pub flags: Vec<String>,
    /// Where the binary goes.
    pub output: PathBuf,
    /// Limits of the compilation.
    pub limits: Limits,
}

impl CompileRequest {
    /// A request with debug information, no further flags and 30 seconds, which is three orders of
    /// magnitude more than programs of this size take; templates may take minutes.
    pub fn new(source: impl Into<PathBuf>, language: Language, opt: OptLevel, output: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            language,
            opt,
            debug: DebugInfo::Full,
            flags: Vec::new(),
            output: output.into(),
            // CPU time tells a hang; by the clock, a compiler on a busy machine looks like one.
            limits: match language {
                Language::Cpp => Limits { wall: Duration::from_secs(480), ..Limits::seconds(120) },
                Language::C | Language::Rust => Limits { wall: Duration::from_secs(120), ..Limits::seconds(30) },
            },
        }
    }

    /// Adds flags behind those that are there.
    pub fn flags<S: Into<String>>(mut self, flags: impl IntoIterator<Item = S>) -> Self {
        self.flags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// Chooses whether to emit debug information.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }
}

/// What a finished compilation left.
#[derive(Clone, Debug)]
pub struct Build {
    /// The binary, or the object where linking was not asked for.
    pub binary: PathBuf,
    /// The command that made it, as a person would type it.
    pub command: String,
    /// CPU time it took.
    pub cpu: Duration,
    /// Largest resident set of the compiler in bytes.
    pub max_rss: u64,
    /// What the compiler printed on standard error (pass bisection reads it).
    pub stderr: String,
}

/// Why there is no build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The compiler refused the program.
    #[error("{compiler} does not compile {source_file}:\n{message}", source_file = source_file.display())]
    Refused {
        /// Family and version of the compiler.
        compiler: String,
        /// The source file that it refused.
        source_file: PathBuf,
        /// The diagnostics that it printed.
        message: String,
    },
    /// The compiler crashed: a finding, not a mistake of the user's.
    #[error("{compiler} crashed on {source_file}: {message}", source_file = source_file.display())]
    Crashed {
        /// Family and version of the compiler.
        compiler: String,
        /// The source file that it crashed on.
        source_file: PathBuf,
        /// The line that identifies the crash.
        message: String,
        /// All it printed on standard error (pass bisection reads it).
        log: String,
    },
    /// The compiler did not come back: a finding too.
    #[error("{compiler} did not finish {source_file} within {seconds} s", source_file = source_file.display())]
    Hung {
        /// Family and version of the compiler.
        compiler: String,
        /// The source file that it hung on.
        source_file: PathBuf,
        /// The CPU time that it was given, in seconds.
        seconds: u64,
        /// What it printed on standard error until then.
        log: String,
    },
    /// The compiler was killed, or ran out of memory or disk: neither its fault nor the program's, and worth another try.
    #[error("{compiler} could not finish {source_file}: {reason}", source_file = source_file.display())]
    Starved {
        /// Family and version of the compiler.
        compiler: String,
        /// The source file that it was given.
        source_file: PathBuf,
        /// The resource that it lacked.
        reason: String,
    },
    /// The level does not exist for this compiler.
    #[error("{compiler} has no level {opt}")]
    NoSuchLevel {
        /// Family and version of the compiler.
        compiler: String,
        /// The level that it does not have.
        opt: OptLevel,
    },
    /// The compiler has no driver for the language here.
    #[error(transparent)]
    NoDriver(#[from] ToolError),
    /// The compiler could not be started.
    #[error(transparent)]
    Job(#[from] JobError),
}

impl Compiler {
    /// The job of a compilation, for callers that add flags of their own to the command line.
    pub fn compile_job(&self, request: &CompileRequest) -> Result<Job, BuildError> {
        let no_such_level = || BuildError::NoSuchLevel { compiler: self.id.to_string(), opt: request.opt };
        let mut job = self.driver(request.language)?.job();
        if self.id.kind == CompilerKind::Rustc {
            let level = request.opt.rustc_value().ok_or_else(no_such_level)?;
            // Checks that only one of the two builds has would make their behaviour differ: fix both.
            job = job.args(["--edition", "2021", "-C", &format!("opt-level={level}"), "-C", "overflow-checks=off"]);
            job = job.args(["-C", "debug-assertions=off", "-C", "codegen-units=1", "-A", "warnings"]);
            if request.debug == DebugInfo::Full {
                job = job.args(["-C", "debuginfo=2"]);
            }
        } else {
            if self.id.kind == CompilerKind::Gcc && request.opt == OptLevel::Oz && self.major() < 12 {
                return Err(no_such_level());
            }
            job = job.arg(request.opt.flag()).arg("-w");
            if request.debug == DebugInfo::Full {
                job = job.arg("-g");
            }
        }
        // What a killed compiler leaves in its temporary directory goes with the build's.
        if let Some(dir) = request.output.parent().filter(|dir| dir.is_absolute()) {
            job = job.env("TMPDIR", dir);
        }
        job = job.args(&request.flags).arg(&request.source).arg("-o").arg(&request.output);
        Ok(job.limits(request.limits.clone()))
    }

    /// Compiles. Crashes and hangs of the compiler come back as errors of their own kind.
    pub fn compile(&self, request: &CompileRequest) -> Result<Build, BuildError> {
        let driver = self.driver(request.language)?;
        if driver != *self {
            return driver.compile(request);
        }
        let job = self.compile_job(request)?;
        let command = job.command_line();
        if link::is_direct(self, request)
            && let Some(half) = self.compile_and_link(request)?
        {
            return Ok(Build { command, ..half });
        }
        let outcome = match parts::compile(self, request)? {
            Some(outcome) => outcome,
            None => job.run()?,
        };
        self.judge(request, &outcome)?;
        let stderr = outcome.stderr_text();
        Ok(Build { binary: request.output.clone(), command, cpu: outcome.cpu, max_rss: outcome.max_rss, stderr })
    }

    /// Compiles to an object and runs the linker itself, in commands that nobody would type; `None` when the link is the driver's to make, or to explain.
    fn compile_and_link(&self, request: &CompileRequest) -> Result<Option<Build>, BuildError> {
        let mut name = request.output.clone().into_os_string();
        name.push(".o");
        let half = CompileRequest { output: name.into(), ..request.clone() }.flags(["-c"]);
        let outcome = match parts::compile(self, &half)? {
            Some(outcome) => outcome,
            None => self.compile_job(&half)?.run()?,
        };
        self.judge(&half, &outcome)?;
        let linked = match link::recipe(self, request, &half.output) {
            Some(recipe) => Some(recipe.run(&half.output, &request.output, &request.limits)?),
            None => None,
        };
        // Nobody needs it any more; a directory that is removed later takes it along if this fails.
        let _ = std::fs::remove_file(&half.output);
        let done = linked.filter(|linked| linked.success() && request.output.exists());
        Ok(done.map(|linked| Build {
            binary: request.output.clone(),
            command: String::new(),
            cpu: outcome.cpu + linked.cpu,
            max_rss: outcome.max_rss.max(linked.max_rss),
            stderr: outcome.stderr_text(),
        }))
    }

    /// What went wrong with a compilation, if something did.
    fn judge(&self, request: &CompileRequest, outcome: &Outcome) -> Result<(), BuildError> {
        let stderr = outcome.stderr_text();
        let compiler = self.id.to_string();
        let source_file = request.source.clone();
        if outcome.exit == Exit::TimedOut {
            let Limits { wall, cpu, .. } = request.limits;
            let limit = if outcome.cpu >= cpu { cpu } else { wall };
            return Err(BuildError::Hung { compiler, source_file, seconds: limit.as_secs(), log: stderr });
        }
        // A driver whose compiler proper ran into the limit lives on to tell.
        let out_of_time = outcome.exit == Exit::Signal(libc::SIGXCPU) || stderr.contains("CPU time limit exceeded");
        if !outcome.success() && out_of_time {
            return Err(BuildError::Hung { compiler, source_file, seconds: request.limits.cpu.as_secs(), log: stderr });
        }
        if let Some(reason) = starvation(&stderr, outcome.exit) {
            return Err(BuildError::Starved { compiler, source_file, reason });
        }
        if let Some(message) = crash_message(&stderr, outcome.exit) {
            return Err(BuildError::Crashed { compiler, source_file, message, log: stderr });
        }
        if !outcome.success() || !request.output.exists() {
            let text = format!("{}{}", stderr, outcome.stdout_text());
            let message = text.lines().take(12).collect::<Vec<_>>().join("\n");
            return Err(BuildError::Refused { compiler, source_file, message });
        }
        Ok(())
    }
}

/// What a compiler lacked when it ended, `None` when it had all it needed. A driver lives on to tell that one of the
/// programs it runs was killed; the limits on time are told apart before.
pub fn starvation(stderr: &str, exit: Exit) -> Option<String> {
    const SIGNS: [&str; 15] = [
        "Terminated signal terminated program",
        "unable to execute command: Terminated",
        "terminated with signal 15",
        "Killed signal terminated program",
        "unable to execute command: Killed",
        "terminated with signal 9",
        "signal: 9 (SIGKILL)",
        "No space left on device",
        "Disk quota exceeded",
        "File size limit exceeded",
        "File too large",
        "out of memory",
        "memory exhausted",
        "Cannot allocate memory",
        "Resource temporarily unavailable",
    ];
    match exit {
        Exit::Code(0) => None,
        Exit::Signal(libc::SIGXFSZ) => Some("it wrote a larger file than it may".to_owned()),
        // No compiler sends itself these: a batch system or a person ended it.
        Exit::Signal(signal @ (libc::SIGTERM | libc::SIGINT | libc::SIGHUP)) => Some(format!("somebody ended it (signal {signal})")),
        Exit::TooMuchOutput => Some("it printed more than it may".to_owned()),
        _ => stderr.lines().find(|line| SIGNS.iter().any(|sign| line.contains(sign))).map(|line| line.trim().to_owned()),
    }
}

/// The line that identifies a compiler crash, `None` when the compiler ended in good order.
pub fn crash_message(stderr: &str, exit: Exit) -> Option<String> {
    const SIGNS: [&str; 6] = [
        "internal compiler error",
        "Assertion `",
        "UNREACHABLE executed",
        "LLVM ERROR",
        "PLEASE submit a bug report",
        "the compiler unexpectedly panicked",
    ];
    let line = stderr.lines().find(|line| SIGNS.iter().any(|sign| line.contains(sign)));
    match (line, exit) {
        // Clang asks for a report whatever happened; where it crashed stands in its stack.
        (Some(line), _) if line.contains("PLEASE submit") => {
            let place = crash_place(stderr);
            Some(if place.is_empty() { line.trim().to_owned() } else { format!("clang crashed in {place}") })
        }
        (Some(line), _) => Some(line.trim().to_owned()),
        // Not of its own making: see `starvation`.
        (None, Exit::Signal(libc::SIGXFSZ | libc::SIGTERM | libc::SIGINT | libc::SIGHUP)) => None,
        (None, Exit::Signal(signal)) => Some(format!("ended by signal {signal}")),
        (None, _) => None,
    }
}

/// The innermost function of clang's stack that is not about crashing, and the pass that ran, as far as it prints them.
fn crash_place(stderr: &str) -> String {
    const ABOUT_CRASHING: [&str; 8] =
        ["PrintStackTrace", "RunSignalHandlers", "SignalHandler", "CrashRecovery", "HandleCrash", "raise", "abort", "__restore_rt"];
    let function_of = |line: &str| {
        let frame = line.trim_start().strip_prefix('#')?;
        let (_, symbol) = frame.split_once(" 0x")?.1.split_once(' ')?;
        let name = symbol.split(['(', '+']).next()?.trim();
        let is_place = !name.is_empty() && !name.starts_with('/') && !ABOUT_CRASHING.iter().any(|word| name.contains(word));
        is_place.then(|| name.to_owned())
    };
    let pass_of = |line: &str| {
        let rest = line.split_once("Running pass ")?.1;
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        rest[1..].split(quote).next().map(|pass| format!("pass {}", pass.split('<').next().unwrap_or(pass)))
    };
    let parts = [stderr.lines().find_map(function_of), stderr.lines().filter_map(pass_of).next_back()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scratch, find_compiler};

    #[test]
    fn a_program_compiles_and_runs() {
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("a.c", "int main(void) { return 7; }\n").unwrap();
        let request = CompileRequest::new(source, Language::C, OptLevel::O2, scratch.join("a"));
        let build = find_compiler("gcc").unwrap().compile(&request).unwrap();
        assert_eq!(Job::new(&build.binary).run().unwrap().exit, Exit::Code(7));
        assert!(build.command.contains("-O2") && build.command.contains("-g"), "{}", build.command);
    }

    #[test]
    fn a_compile_error_shows_the_compilers_message() {
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("a.c", "int main(void) { return x; }\n").unwrap();
        let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("a"));
        let error = find_compiler("gcc").unwrap().compile(&request).unwrap_err();
        assert!(matches!(&error, BuildError::Refused { message, .. } if message.contains("'x' undeclared")), "{error}");
    }

    #[test]
    fn a_compiler_that_lacked_something_is_told_from_one_that_crashed() {
        let killed = "gcc: fatal error: Killed signal terminated program cc1\ncompilation terminated.\n";
        assert_eq!(starvation(killed, Exit::Code(1)).as_deref(), Some("gcc: fatal error: Killed signal terminated program cc1"));
        let full = "/tmp/ccX.s: fatal error: error writing to /tmp/ccX.s: No space left on device\n";
        assert!(starvation(full, Exit::Code(1)).is_some());
        for killed in [
            "collect2: fatal error: ld terminated with signal 9 [Killed]",
            "clang: error: unable to execute command: Killed",
            "error: linking with `cc` failed: signal: 9 (SIGKILL) (core dumped)",
        ] {
            assert_eq!(starvation(killed, Exit::Code(1)).as_deref(), Some(killed));
        }
        assert_eq!(starvation("a.c:1: internal compiler error: Segmentation fault", Exit::Code(1)), None);
        assert_eq!(starvation("", Exit::Signal(libc::SIGSEGV)), None);
        assert_eq!(starvation("", Exit::Signal(libc::SIGTERM)).as_deref(), Some("somebody ended it (signal 15)"));
        assert!(starvation("gcc: fatal error: Terminated signal terminated program cc1", Exit::Code(1)).is_some());
        assert_eq!(starvation("a.c:1: warning: out of memory", Exit::Code(0)), None);
    }

    #[test]
    fn crashes_are_told_from_refusals() {
        let ice = "a.c:1:2: internal compiler error: in foo, at bar.cc:12\n";
        assert_eq!(crash_message(ice, Exit::Code(1)).as_deref(), Some(ice.trim()));
        assert_eq!(crash_message("a.c:1:2: error: no", Exit::Code(1)), None);
        assert_eq!(crash_message("", Exit::Signal(11)).as_deref(), Some("ended by signal 11"));
        let clang = "PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/ and include the crash backtrace.\n\
                     Stack dump:\n0.\tProgram arguments: clang -O2 a.c\n1.\t<eof> parser at end of file\n2.\tOptimizer\n\
                     3.\tRunning pass \"function<eager-inv>(loop-vectorize)\" on module \"a.c\"\n\
                     4.\tRunning pass \"loop-vectorize<no-interleave>\" on function \"main\"\n \
                     #0 0x00007f3a llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) (/usr/lib/libLLVM.so.1+0x1)\n \
                     #1 0x00007f3b llvm::sys::RunSignalHandlers() (/usr/lib/libLLVM.so.1+0x2)\n \
                     #2 0x00007f3c (/lib/libc.so.6+0x3)\n \
                     #3 0x00007f3d llvm::VPlan::execute(llvm::VPTransformState*) (/usr/lib/libLLVM.so.1+0x4)\n";
        let told = crash_message(clang, Exit::Code(1)).unwrap();
        assert_eq!(told, "clang crashed in llvm::VPlan::execute, pass loop-vectorize");
    }
}
