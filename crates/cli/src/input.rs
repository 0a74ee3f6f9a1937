//! What commands that compile and trace have in common: `--cc`, `--opt`, `--cflag`, `--engine` and its limits, and reading a
//! program.

use anyhow::{Context, bail};
use std::path::Path;
use trueline_model::{CompilerKind, EngineKind, Language, OptLevel, Origin, Policy, Program};
use trueline_toolchain::{Compiler, Limits, find_compiler};

/// Compiler, levels and flags.
#[derive(clap::Args, Clone, Debug)]
pub struct BuildFlags {
    /// Compilers, by name or path: gcc, gcc-12, clang-16, rustc. [default: gcc, for Rust programs rustc]
    #[arg(long = "cc", value_name = "CC", value_delimiter = ',')]
    pub cc: Vec<String>,
    /// Optimization levels: `--opt -O2`, `--opt=-Og,-O2`. [default: -O2]
    #[arg(long = "opt", value_name = "LEVEL", value_delimiter = ',', allow_hyphen_values = true)]
    pub opt: Vec<OptLevel>,
    /// A flag for every compilation of the program; repeatable.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    pub cflags: Vec<String>,
}

impl BuildFlags {
    /// The levels asked for.
    pub fn levels(&self) -> Vec<OptLevel> {
        if self.opt.is_empty() { vec![OptLevel::O2] } else { self.opt.clone() }
    }

    /// Those of the compilers asked for that take the language; an error when none does.
    pub fn compilers_that_take(&self, language: Language) -> anyhow::Result<Vec<Compiler>> {
        if self.cc.is_empty() {
            return self.compilers(language);
        }
        let all = self.cc.iter().map(|name| Ok(find_compiler(name)?)).collect::<anyhow::Result<Vec<_>>>()?;
        let fit = |c: &Compiler| (c.id.kind == CompilerKind::Rustc) == (language == Language::Rust);
        let fitting: Vec<Compiler> = all.into_iter().filter(fit).collect();
        if fitting.is_empty() {
            bail!("none of {} compiles {language:?}; choose another compiler with --cc", self.cc.join(", "));
        }
        Ok(fitting)
    }

    /// The compilers asked for, all fit for the language.
    pub fn compilers(&self, language: Language) -> anyhow::Result<Vec<Compiler>> {
        let default = match language {
            Language::C => "gcc",
            Language::Rust => "rustc",
        };
        let names = if self.cc.is_empty() { vec![default.to_owned()] } else { self.cc.clone() };
        names
            .iter()
            .map(|name| {
                let compiler = find_compiler(name)?;
                let is_rustc = compiler.id.kind == CompilerKind::Rustc;
                if is_rustc != (language == Language::Rust) {
                    bail!("{} does not compile {language:?}; choose another compiler with --cc", compiler.id);
                }
                Ok(compiler)
            })
            .collect()
    }
}

/// Who traces, how, and for how long.
#[derive(clap::Args, Clone, Debug)]
pub struct TraceFlags {
    /// Who traces: native, gdb or lldb.
    #[arg(long, default_value_t = EngineKind::Native)]
    pub engine: EngineKind,
    /// Whose habits the native engine follows in reading line tables: gdb, lldb or standard. [default: gdb]
    #[arg(long)]
    policy: Option<Policy>,
    /// Most steps of one trace.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub max_steps: u64,
    /// Seconds one run of the program may take, traced or not.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time_limit: u64,
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

    /// Limits of each run.
    pub fn limits(&self) -> Limits {
        Limits::seconds(self.time_limit)
    }
}

/// Reads a source file; says clearly what is wrong with it.
pub fn read_program(path: &Path) -> anyhow::Result<Program> {
    let language = Language::of_path(path).with_context(|| {
        format!("{} is neither a C (.c, .i) nor a Rust (.rs) file; for binaries use --reference and --optimized", path.display())
    })?;
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let source = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        _ => bail!("{} is not a text file", path.display()),
    };
    let name = path.file_name().and_then(|n| n.to_str()).with_context(|| format!("{} has no usable file name", path.display()))?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let include = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    // The program is compiled in a scratch directory: headers beside it must still be found.
    let cflags = if language == Language::C { vec![format!("-I{}", include.display())] } else { Vec::new() };
    Ok(Program { name: name.to_owned(), language, source, origin: Origin::File { path: path.to_owned() }, cflags })
}
