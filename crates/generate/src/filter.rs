//! The validity filter: what is not defined, not deterministic or not quick enough proves nothing.

use std::fmt;
use std::path::Path;
use std::time::Duration;
use trueline_model::{CompilerKind, Language, OptLevel, Program, SeamError, Validity};
use trueline_toolchain::{
    BuildError, CompileRequest, Compiler, Confinement, Exit, Job, JobError, Limits, Outcome, Scratch, Tool, ToolKind,
};
use trueline_toolchain::{find_compiler, find_tool};

/// Why a program is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It does not build alone.
    DoesNotBuild(String),
    /// A sanitizer (or CompCert's interpreter) complains.
    Undefined {
        /// Which sanitizer or interpreter complains.
        by: &'static str,
        /// The first line of its complaint.
        message: String,
    },
    /// Two runs print different things.
    NotDeterministic,
    /// It crashes without a sanitizer noticing.
    Crashes(String),
    /// It runs longer than the limit.
    TooSlow(Duration),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotBuild(message) => write!(f, "does not build alone: {message}"),
            Self::Undefined { by, message } => write!(f, "undefined behaviour, says {by}: {message}"),
            Self::NotDeterministic => f.write_str("two runs print different things"),
            Self::Crashes(how) => write!(f, "crashes: {how}"),
            Self::TooSlow(limit) => write!(f, "runs longer than {} s", limit.as_secs()),
        }
    }
}

impl Rejection {
    /// One word, for counting.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::DoesNotBuild(_) => "does-not-build",
            Self::Undefined { .. } => "undefined",
            Self::NotDeterministic => "not-deterministic",
            Self::Crashes(_) => "crashes",
            Self::TooSlow(_) => "too-slow",
        }
    }
}

/// The filter with the tools this machine has.
#[derive(Clone, Debug)]
pub struct Filter {
    gcc: Option<Compiler>,
    clang: Option<Compiler>,
    rustc: Option<Compiler>,
    ccomp: Option<Tool>,
    limit: Duration,
    /// The level of the builds that look for uninitialized memory.
    memory_level: OptLevel,
    thoroughness: Thoroughness,
    /// Warnings that refuse a program.
    lints: Vec<&'static str>,
}

/// What clang's sanitizers are asked about programs of a language, one build each. The C++ library is not built for MSan,
/// which takes all that it writes for uninitialized.
pub fn sanitizers_for(language: Language) -> &'static [&'static str] {
    match language {
        Language::C => &["undefined,address", "memory"],
        Language::Cpp => &["undefined,address"],
        Language::Rust => &[],
    }
}

/// How much a filter asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thoroughness {
    /// Every sanitizer of every compiler, two runs each.
    Whole,
    /// One build and one run.
    Quick,
    /// No build: what a front end can tell.
    Unrun,
}

const UBSAN_ASAN: [&str; 3] = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"];
const UBSAN_MSAN: [&str; 2] = ["-fsanitize=undefined,memory", "-fno-sanitize-recover=all"];
const MSAN: [&str; 2] = ["-fsanitize=memory", "-fno-sanitize-recover=all"];

impl Filter {
    /// Looks for compilers with sanitizers; each that is absent is simply not asked.
    pub fn find() -> Self {
        // Debian's default clang has its sanitizer runtime in a package of its own: take one that has it.
        let usable = |compiler: &Compiler| compile_probe(compiler);
        let gcc = ["gcc", "gcc-12", "gcc-11"].iter().filter_map(|n| find_compiler(n).ok()).find(usable);
        let clang = ["clang", "clang-16", "clang-19", "clang-14"].iter().filter_map(|n| find_compiler(n).ok()).find(usable);
        let rustc = find_compiler("rustc").ok().filter(|c| c.id.kind == CompilerKind::Rustc);
        let ccomp = find_tool(ToolKind::Ccomp, None).ok();
        let thoroughness = Thoroughness::Whole;
        Self { gcc, clang, rustc, ccomp, limit: Duration::from_secs(5), memory_level: OptLevel::O1, thoroughness, lints: Vec::new() }
    }

    /// Looks for uninitialized memory in a build without optimization, with a clang that also checks what is passed and
    /// returned (16 or newer, where there is one). What generators make passes either way; a reducer loves programs whose
    /// uninitialized values the optimizer makes disappear before the sanitizer sees them.
    pub fn strict(mut self) -> Self {
        let newer = ["clang-16", "clang-19"].iter().filter_map(|n| find_compiler(n).ok()).find(compile_probe);
        self.clang = newer.or(self.clang);
        self.memory_level = OptLevel::O0;
        self
    }

    /// Also refuses what a compiler can tell without running the program (a value that is never returned, a function that is
    /// never declared), as far as the program that a reduction begins with is free of it.
    pub fn linted(mut self, original: &Program) -> Self {
        self.lints = self.clang.as_ref().map_or_else(Vec::new, |clang| lints_of(clang, original));
        self
    }

    /// Asks clang's UBSan and MSan in one build that runs once, where there is a clang: for a reducer that asks at every step
    /// and has the whole filter look at what it keeps.
    pub fn quick(mut self) -> Self {
        self.thoroughness = Thoroughness::Quick;
        self
    }

    /// Runs nothing and asks only what a front end can tell: for programs that crash a compiler, which no program may do, and
    /// which often have no `main`.
    pub fn unrun(mut self) -> Self {
        self.thoroughness = Thoroughness::Unrun;
        self
    }

    /// Sets how long a program may run.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Who is asked, for doctors and reports.
    pub fn judges(&self) -> Vec<String> {
        let mut judges: Vec<String> = Vec::new();
        judges.extend(self.gcc.iter().map(|c| format!("{} UBSan+ASan", c.id)));
        judges.extend(self.clang.iter().map(|c| format!("{} UBSan+ASan, MSan", c.id)));
        judges.extend(self.ccomp.iter().map(|t| format!("ccomp {} -interp", t.version)));
        judges
    }

    /// Judges a program: `None` when it is valid as far as anyone here can tell.
    pub fn judge(&self, program: &Program) -> Result<Option<Rejection>, SeamError> {
        let scratch = Scratch::new().map_err(|e| SeamError(format!("no temporary directory: {e}")))?;
        let source = scratch.write(&program.name, &program.source).map_err(|e| SeamError(format!("cannot write a program: {e}")))?;
        if program.language == Language::Rust {
            if self.thoroughness == Thoroughness::Unrun {
                return Ok(None);
            }
            let Some(rustc) = &self.rustc else { return Ok(None) };
            return self.sanitized(rustc, program, &source, &scratch, "rustc", (&[], OptLevel::O1));
        }
        if let Some(clang) = self.clang.as_ref().filter(|_| !self.lints.is_empty())
            && let Some(line) = complaint_of(clang, program, &source, &self.lints)?
        {
            return Ok(Some(Rejection::DoesNotBuild(line)));
        }
        match (self.thoroughness, &self.clang) {
            (Thoroughness::Unrun, _) => return Ok(None),
            (Thoroughness::Quick, Some(clang)) => {
                let build: (&[&str], _) = match program.language {
                    Language::Cpp => (&UBSAN_ASAN, OptLevel::O1),
                    _ => (&UBSAN_MSAN, self.memory_level),
                };
                return self.sanitized(clang, program, &source, &scratch, "clang", build);
            }
            (Thoroughness::Whole | Thoroughness::Quick, _) => {}
        }
        if let Some(gcc) = &self.gcc
            && let Some(rejection) = self.sanitized(gcc, program, &source, &scratch, "gcc", (&UBSAN_ASAN, OptLevel::O1))?
        {
            return Ok(Some(rejection));
        }
        if let Some(clang) = &self.clang {
            let builds = [("clang", (&UBSAN_ASAN[..], OptLevel::O1)), ("clang's MSan", (&MSAN[..], self.memory_level))];
            for (by, build) in builds.into_iter().take(sanitizers_for(program.language).len()) {
                if let Some(rejection) = self.sanitized(clang, program, &source, &scratch, by, build)? {
                    return Ok(Some(rejection));
                }
            }
        }
        if program.language == Language::C { self.interpreted(program, &source) } else { Ok(None) }
    }

    /// Builds with a sanitizer and runs twice; addresses are randomised between the runs.
    fn sanitized(
        &self,
        compiler: &Compiler,
        program: &Program,
        source: &Path,
        scratch: &Scratch,
        by: &'static str,
        (flags, level): (&[&str], OptLevel),
    ) -> Result<Option<Rejection>, SeamError> {
        let binary = scratch.join("sanitized");
        let mut request = CompileRequest::new(source, program.language, level, &binary);
        request = request.flags(flags.iter().copied()).flags(program.cflags.iter().cloned());
        request.limits = Limits { memory: None, ..Limits::seconds(60) };
        match compiler.compile(&request) {
            Ok(_) => {}
            Err(e @ (BuildError::Job(_) | BuildError::Starved { .. })) => return Err(SeamError(e.to_string())),
            // A compiler that crashes with a sanitizer, or has no driver for the language, says nothing about the program.
            Err(BuildError::Crashed { .. } | BuildError::Hung { .. } | BuildError::NoSuchLevel { .. } | BuildError::NoDriver(_)) => {
                return Ok(None);
            }
            Err(BuildError::Refused { message, .. }) => {
                let line = message.lines().find(|l| l.contains("error")).or(message.lines().next());
                return Ok(Some(Rejection::DoesNotBuild(line.unwrap_or("").to_owned())));
            }
        }
        let run = || -> Result<Outcome, JobError> {
            let limits = Limits { wall: self.limit, cpu: self.limit, memory: None, output: 1 << 20, ..Limits::default() };
            Job::new(&binary)
                .env("ASAN_OPTIONS", "detect_leaks=0")
                .limits(limits)
                .inside(scratch.path())
                .confine(Confinement::traced())
                .run()
        };
        let seam = |e: JobError| SeamError(e.to_string());
        let first = run().map_err(seam)?;
        let complaint = verdict(&first, by, self.limit);
        if complaint.is_some() || self.thoroughness == Thoroughness::Quick {
            return Ok(complaint);
        }
        let second = run().map_err(seam)?;
        let same = first.stdout == second.stdout && first.exit == second.exit;
        Ok((!same).then_some(Rejection::NotDeterministic))
    }

    fn interpreted(&self, program: &Program, source: &Path) -> Result<Option<Rejection>, SeamError> {
        let Some(ccomp) = &self.ccomp else { return Ok(None) };
        // A program with a runtime object cannot be interpreted.
        if program.cflags.iter().any(|f| f.ends_with(".o")) {
            return Ok(None);
        }
        let job = ccomp.job().args(["-interp", "-quiet", "-fall"]).args(&program.cflags).arg(source).limits(Limits::seconds(60));
        let outcome = job.run().map_err(|e| SeamError(e.to_string()))?;
        let text = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
        let undefined = text.lines().find(|l| l.contains("Undefined behavior") || l.contains("Stuck state"));
        Ok(undefined.map(|line| Rejection::Undefined { by: "ccomp", message: line.trim().to_owned() }))
    }
}

fn verdict(run: &Outcome, by: &'static str, limit: Duration) -> Option<Rejection> {
    let text = run.stderr_text();
    let complaint = text.lines().find(|l| l.contains("runtime error:") || l.contains("Sanitizer:"));
    if let Some(line) = complaint {
        return Some(Rejection::Undefined { by, message: line.trim().to_owned() });
    }
    match run.exit {
        Exit::TimedOut | Exit::TooMuchOutput | Exit::Stopped => Some(Rejection::TooSlow(limit)),
        Exit::Signal(signal) => Some(Rejection::Crashes(format!("signal {signal}"))),
        Exit::Code(_) => None,
    }
}

/// clang's warnings about programs that cannot mean what they say.
const LINTS: [&str; 6] =
    ["return-type", "uninitialized", "implicit-function-declaration", "implicit-int", "int-conversion", "incompatible-pointer-types"];

/// Those of the warnings that a program gives no reason for: a smaller one must not either.
pub fn lints_of(clang: &Compiler, program: &Program) -> Vec<&'static str> {
    let Ok(scratch) = Scratch::new() else { return Vec::new() };
    let Ok(source) = scratch.write(&program.name, &program.source) else { return Vec::new() };
    let is_free = |lint: &&str| matches!(complaint_of(clang, program, &source, &[lint]), Ok(None));
    LINTS.into_iter().filter(is_free).collect()
}

/// The first complaint of a program's syntax check with these warnings as errors. `-w` would silence them.
fn complaint_of(clang: &Compiler, program: &Program, source: &Path, lints: &[&str]) -> Result<Option<String>, SeamError> {
    let clang = clang.driver(program.language).map_err(|e| SeamError(e.to_string()))?;
    let job = clang.job().args(["-fsyntax-only", "-Wno-everything"]).args(lints.iter().map(|l| format!("-Werror={l}")));
    let outcome = job.args(&program.cflags).arg(source).limits(Limits::seconds(20)).run().map_err(|e| SeamError(e.to_string()))?;
    let text = outcome.stderr_text();
    Ok(text.lines().find(|l| l.contains("error:")).map(|l| l.trim().to_owned()))
}

fn compile_probe(compiler: &Compiler) -> bool {
    let Ok(scratch) = Scratch::new() else { return false };
    let Ok(source) = scratch.write("probe.c", "int main(void) { return 0; }\n") else { return false };
    let mut request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("probe")).flags(UBSAN_ASAN);
    request.limits = Limits { memory: None, ..Limits::seconds(20) };
    compiler.compile(&request).is_ok()
}

impl Validity for Filter {
    fn reject(&self, candidate: &Program) -> Result<Option<String>, SeamError> {
        Ok(self.judge(candidate)?.map(|r| r.to_string()))
    }
}
