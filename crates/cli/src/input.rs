//! What commands that compile and trace have in common: `--cc`, `--opt`, `--cflag`, `--engine` and its limits, and reading a
//! program.

pub mod project;

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueline_dwarf::Search;
use trueline_machine::inferior::Follow;
use trueline_model::{Debugger, EngineKind, Language, OptLevel, Origin, Policy, Program};
use trueline_toolchain::{Compiler, Launch, Limits, Permission, find_compiler, quote};
use trueline_trace::{Focus, Landmark, Threads};

/// Compiler, levels and flags as clap reads them.
#[derive(clap::Args, Clone, Debug)]
struct Given {
    /// Compilers, by name or path: gcc, g++-12, clang-16, rustc. A C++ program gets the C++ driver of the compiler, a C
    /// program the C driver. [default: gcc, for C++ programs g++, for Rust programs rustc]
    #[arg(long = "cc", value_name = "CC", value_delimiter = ',')]
    cc: Vec<String>,
    /// Optimization levels: `--opt -O2`, `--opt=-Og,-O2`. [default: -O2]
    #[arg(long = "opt", value_name = "LEVEL", value_delimiter = ',', allow_hyphen_values = true)]
    opt: Vec<OptLevel>,
    /// A flag for every compilation of the program; repeatable.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
}

/// Who chose a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen {
    /// The command line: it is meant, and an error where it does not fit.
    Here,
    /// `trueline.toml`, for a whole project: what does not fit is not meant.
    InFile,
}

/// Compiler, levels and flags.
#[derive(Clone, Debug)]
pub struct BuildFlags {
    cc: Vec<String>,
    chosen: Chosen,
    opt: Vec<OptLevel>,
    opt_chosen: Chosen,
    /// Flags for every compilation.
    pub cflags: Vec<String>,
}

impl clap::FromArgMatches for BuildFlags {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let Given { cc, opt, cflags } = Given::from_arg_matches(matches)?;
        let chosen = |id| match matches.value_source(id) {
            Some(clap::parser::ValueSource::DefaultValue) => Chosen::InFile,
            _ => Chosen::Here,
        };
        Ok(Self { cc, chosen: chosen("cc"), opt, opt_chosen: chosen("opt"), cflags })
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for BuildFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        Given::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Given::augment_args_for_update(command)
    }
}

impl BuildFlags {
    /// The levels asked for.
    pub fn levels(&self) -> Vec<OptLevel> {
        if self.opt.is_empty() { vec![OptLevel::O2] } else { self.opt.clone() }
    }

    /// The one level asked for, of a file's the first.
    pub fn level(&self) -> anyhow::Result<OptLevel> {
        match self.levels()[..] {
            [level] => Ok(level),
            [first, ..] if self.opt_chosen == Chosen::InFile => Ok(first),
            _ => bail!("one level at a time: choose it with --opt"),
        }
    }

    /// The one compiler asked for, of a file's the first that takes the language.
    pub fn compiler(&self, language: Language) -> anyhow::Result<Compiler> {
        let mut fitting = self.compilers(language)?;
        match fitting.len() {
            1 => Ok(fitting.remove(0)),
            _ if self.chosen == Chosen::InFile => Ok(fitting.remove(0)),
            _ => bail!("one compiler at a time: choose it with --cc"),
        }
    }

    /// The compilers that were named, whatever they compile; none when the choice is left open.
    pub fn named_compilers(&self) -> anyhow::Result<Vec<Compiler>> {
        self.cc.iter().map(|name| Ok(find_compiler(name)?)).collect()
    }

    /// Those of the compilers asked for that take the language; an error when none does.
    pub fn compilers_that_take(&self, language: Language) -> anyhow::Result<Vec<Compiler>> {
        Ok(self.sort_by_language(language)?.0)
    }

    /// The compilers asked for, all fit for the language.
    pub fn compilers(&self, language: Language) -> anyhow::Result<Vec<Compiler>> {
        let (fitting, others) = self.sort_by_language(language)?;
        match (others.first(), self.chosen) {
            (Some(other), Chosen::Here) => bail!("{} does not compile {language}; choose another compiler with --cc", other.id),
            _ => Ok(fitting),
        }
    }

    /// The compilers asked for: those that take the language, at least one, and those that do not.
    fn sort_by_language(&self, language: Language) -> anyhow::Result<(Vec<Compiler>, Vec<Compiler>)> {
        let all = self.named_compilers()?;
        let (fitting, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|c| c.takes(language));
        let fitting = drivers(&fitting, language)?;
        match (fitting.is_empty(), self.chosen) {
            (false, _) => Ok((fitting, others)),
            (true, Chosen::Here) if !self.cc.is_empty() => {
                bail!("none of {} compiles {language}; choose another compiler with --cc", self.cc.join(", "))
            }
            (true, _) => Ok((vec![find_compiler(usual_compiler(language))?], others)),
        }
    }
}

/// The drivers of compilers for a language, each once: `gcc-12,g++-12` is one compiler for C++.
pub fn drivers(compilers: &[Compiler], language: Language) -> anyhow::Result<Vec<Compiler>> {
    let mut drivers: Vec<Compiler> = Vec::new();
    for compiler in compilers {
        let driver = compiler.driver(language)?;
        if !drivers.contains(&driver) {
            drivers.push(driver);
        }
    }
    Ok(drivers)
}

fn usual_compiler(language: Language) -> &'static str {
    match language {
        Language::C => "gcc",
        Language::Cpp => "g++",
        Language::Rust => "rustc",
    }
}

/// Who traces, how, and for how long.
#[derive(clap::Args, Clone, Debug)]
pub struct TraceFlags {
    /// Who traces: native, gdb, lldb, or a release of a debugger such as gdb-18.
    #[arg(long, default_value_t = EngineKind::Native)]
    pub engine: EngineKind,
    /// Whose habits the native engine follows in reading line tables: gdb (13), gdb-16, gdb-18, lldb or standard. [default: gdb]
    #[arg(long)]
    policy: Option<Policy>,
    /// Most steps of one trace.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub max_steps: u64,
    /// Seconds one run of the program may take, traced or not.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time_limit: u64,
    /// A directory of debug files, as /usr/lib/debug is one; may be repeated.
    #[arg(long = "debug-dir", value_name = "DIR")]
    debug_dirs: Vec<PathBuf>,
}

impl TraceFlags {
    /// The policy of the native engine; none with a debugger, which reads in its own way.
    pub fn policy(&self) -> anyhow::Result<Option<Policy>> {
        match (self.engine, self.policy) {
            (EngineKind::Native, policy) => Ok(Some(policy.unwrap_or(Policy::Gdb))),
            (_, None) => Ok(None),
            (engine, Some(_)) => bail!("--policy is a choice of the native engine only; {engine} reads line tables in its own way"),
        }
    }

    /// Where debug files outside the binaries are looked for.
    pub fn search(&self) -> Search {
        Search::with(&self.debug_dirs)
    }

    /// Limits of each run.
    pub fn limits(&self) -> Limits {
        Limits::seconds(self.time_limit)
    }
}

/// Which part of a long run is looked at.
#[derive(clap::Args, Clone, Debug)]
pub struct FocusFlags {
    /// Look at functions of these names only, `*` and `?` allowed; may be repeated.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    functions: Vec<glob::Pattern>,
    /// Look at code of these files only, by base name, `*` and `?` allowed; may be repeated.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    files: Vec<glob::Pattern>,
    /// Look at nothing before this moment: FUNCTION, FUNCTION#N (its N-th call) or FILE:LINE.
    #[arg(long, value_name = "EVENT")]
    after: Option<Landmark>,
    /// Whose stops are looked at: those of the first thread, or of all, one after the other.
    #[arg(long, value_name = "WHICH", value_parser = parse_threads, default_value = "first")]
    threads: Threads,
}

impl FocusFlags {
    /// What is looked at; only the native engine has the choice, in gdb's and the standard's reading.
    pub fn focus(&self, tracing: &TraceFlags) -> anyhow::Result<Focus> {
        let focus = Focus { functions: self.functions.clone(), files: self.files.clone(), after: self.after.clone() };
        if focus != Focus::default()
            && (tracing.engine != EngineKind::Native || tracing.policy.is_some_and(|p| p.debugger() == Some(Debugger::Lldb)))
        {
            bail!("--functions, --files and --after need the native engine with the policy gdb or standard");
        }
        Ok(focus)
    }

    /// Whose stops are looked at; only the native engine has the choice, and only from the start of each thread on.
    pub fn threads(&self, tracing: &TraceFlags) -> anyhow::Result<Threads> {
        if self.threads == Threads::Each && tracing.engine != EngineKind::Native {
            bail!("--threads all needs the native engine");
        }
        if self.threads == Threads::Each && self.after.is_some() {
            bail!("--threads all and --after exclude one another: a moment is one of the first thread");
        }
        Ok(self.threads)
    }
}

/// How the program is started, and what it may do.
#[derive(clap::Args, Clone, Debug)]
pub struct LaunchFlags {
    /// File on the program's standard input, which is empty otherwise.
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// A variable of the program's environment, which is empty otherwise; may be repeated.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// What the program is told its own name is. [default: the same for every build]
    #[arg(long, value_name = "NAME")]
    argv0: Option<String>,
    /// The program's working directory; with `--allow write` each run works in a copy of it.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Which process is traced when the program forks: parent or child.
    #[arg(long, value_name = "WHICH", value_parser = parse_follow, default_value = "parent")]
    follow: Follow,
    /// What the program may do beyond computing: net, exec, fork, write. [default: nothing]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    allow: Vec<Permission>,
}

impl LaunchFlags {
    /// The launch of a program with these arguments.
    pub fn launch(&self, args: &[String]) -> anyhow::Result<Launch> {
        let absolute = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
        let mut launch = Launch::with_args(args);
        launch.name.clone_from(&self.argv0);
        launch.stdin = absolute(&self.stdin)?;
        launch.directory = absolute(&self.directory)?;
        if let Some(path) = &launch.stdin {
            std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        }
        if let Some(path) = launch.directory.as_ref().filter(|path| !path.is_dir()) {
            bail!("{} is not a directory", path.display());
        }
        launch.allowed = self.allow.iter().copied().collect();
        for pair in &self.env {
            let (name, value) = pair.split_once('=').with_context(|| format!("--env takes NAME=VALUE, not `{pair}`"))?;
            launch.env.push((name.to_owned(), value.to_owned()));
        }
        launch.set_stage().context("cannot make a directory for the program to write in")
    }

    /// The same start, as flags for another command; what the program may do is asked of nobody else.
    pub fn words(&self) -> String {
        let file = |flag: &str, path: &Option<PathBuf>| path.iter().map(|p| format!(" {flag} {}", quote(p))).collect::<String>();
        let env: String = self.env.iter().map(|pair| format!(" --env {}", quote(pair))).collect();
        let name: String = self.argv0.iter().map(|name| format!(" --argv0 {}", quote(name))).collect();
        format!("{}{}{env}{name}", file("--stdin", &self.stdin), file("--directory", &self.directory))
    }

    /// Which process is traced after a fork.
    pub fn follow(&self) -> Follow {
        self.follow
    }

    /// Whether runs share a place and must come one after the other.
    pub fn is_alone(&self) -> bool {
        self.allow.contains(&Permission::Write)
    }
}

fn parse_threads(text: &str) -> Result<Threads, String> {
    match text {
        "first" => Ok(Threads::First),
        "all" => Ok(Threads::Each),
        _ => Err("use first or all".to_owned()),
    }
}

fn parse_follow(text: &str) -> Result<Follow, String> {
    match text {
        "parent" => Ok(Follow::Parent),
        "child" => Ok(Follow::Child),
        _ => Err("use parent or child".to_owned()),
    }
}

/// Reads a length of time: `90s`, `10m`, `2h`, or seconds without a unit.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is not a time; write it as 90s, 10m or 2h");
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let number: u64 = number.parse().map_err(|_| bad())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(bad()),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// The files that commands take for programs, as messages name them.
pub const SOURCES: &str = "C (.c, .i), C++ (.cpp, .cc, .cxx, .C, .ii) or Rust (.rs)";

/// Reads a source file; says clearly what is wrong with it.
pub fn read_program(path: &Path) -> anyhow::Result<Program> {
    let language = Language::of_path(path)
        .with_context(|| format!("{} is no {SOURCES} file; for binaries use --reference and --optimized", path.display()))?;
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let source = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        _ => bail!("{} is not a text file", path.display()),
    };
    let name = path.file_name().and_then(|n| n.to_str()).with_context(|| format!("{} has no usable file name", path.display()))?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let include = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    // The program is compiled in a scratch directory: headers beside it must still be found.
    let cflags = if language.is_preprocessed() { vec![format!("-I{}", include.display())] } else { Vec::new() };
    Ok(Program { name: name.to_owned(), language, source, origin: Origin::File { path: path.to_owned() }, cflags })
}

/// Reads a program to be explained, with further flags of its own. Headers beside it are found although it is compiled
/// from a copy; a program without such headers needs no flag for them.
pub fn read_with_flags(path: &Path, cflags: &[String]) -> anyhow::Result<Program> {
    if Language::of_path(path).is_none() {
        bail!("{}: a program to be explained is a {SOURCES} file", path.display());
    }
    let mut program = read_program(path)?;
    if !program.source.contains("#include \"") {
        program.cflags.clear();
    }
    program.cflags.extend(cflags.iter().cloned());
    Ok(program)
}
