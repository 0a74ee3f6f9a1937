//! Runs a stock clang or llc so that it prints every machine function behind each pass that changed it, and reads the text.

use super::metadata::ModuleMetadata;
use super::report::{MirObservation, judge_dumps};
use super::selection::read_ir;
use super::text;
use super::variables::Substitutions;
use crate::report::{Detail, FileReport, ProblemKind};
use crate::runner::Options;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use trueline_model::OptLevel;
use trueline_toolchain::{Compiler, Job, Limits, Scratch};

/// One compilation whose code generation is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Codegen<'a> {
    /// The compiler, a clang.
    pub compiler: &'a Compiler,
    /// The program.
    pub source: &'a Path,
    /// The level.
    pub opt: OptLevel,
    /// Further flags of the program.
    pub cflags: &'a [String],
    /// Limits of each run.
    pub limits: &'a Limits,
}

/// How much text the compiler may print; a large module prints every function behind every pass.
const MOST_OUTPUT: usize = 1 << 30;

impl Codegen<'_> {
    /// Compiles the program to IR once, then generates code from it with every machine function printed.
    pub fn observe(&self) -> Result<MirObservation, String> {
        let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
        let module = scratch.join("module.bc");
        let job = self.compiler.job().arg(self.opt.flag()).args(["-g", "-w", "-c", "-emit-llvm"]).args(self.cflags);
        run(job.arg(self.source).arg("-o").arg(&module), self.limits)?;
        // The optimizer has run: only code generation is left, by the same compiler with the same options.
        let generate = || {
            let job = self.compiler.job().arg(self.opt.flag()).args(["-w", "-Xclang", "-disable-llvm-passes", "-fintegrated-cc1"]);
            job.args(self.cflags.iter().filter(|flag| is_for_codegen(flag)))
        };
        let object = scratch.join("a.o");
        let printed = generate().args(["-c", "-mllvm", "-print-changed=quiet"]).arg(&module).arg("-o").arg(&object);
        let stopped = |pass: &str, name: &str| {
            let path = scratch.join(name);
            let job = generate().args(["-S", "-mllvm"]).arg(format!("-stop-before={pass}")).arg(&module).arg("-o").arg(&path);
            run(job, self.limits).map(|_| std::fs::read_to_string(&path).unwrap_or_default())
        };
        read(&run(printed, self.limits)?, &stopped(ISEL, "ir.mir")?, &stopped("livedebugvalues", "late.mir").unwrap_or_default())
    }
}

/// Instruction selection on the one target that is looked at.
const ISEL: &str = "x86-isel";

/// Flags that choose the machine or how its code is laid out; those of the language are not for a module.
fn is_for_codegen(flag: &str) -> bool {
    flag.starts_with("-m") || flag.starts_with("-f")
}

/// Code generation of a module by `llc`; one without debug information gets made-up locations and variables.
fn observe_module(llc: &Path, file: &Path, options: &Options) -> Result<MirObservation, String> {
    let limits = &options.limits;
    let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
    let bytes = std::fs::read(file).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let has_debug = text.contains("!llvm.dbg.cu") || file.extension().is_some_and(|e| e == "bc");
    let module = if has_debug { file.to_owned() } else { scratch.join("module.bc") };
    if !has_debug {
        let debugify = options.opt.job().args(["-passes=debugify", "-debugify-level=location+variables"]).arg(file);
        run(debugify.arg("-o").arg(&module), limits)?;
    }
    let flags = llc_flags(&text);
    let job = || Job::new(llc).arg(options.level.flag()).args(&flags).arg(&module);
    let printed = run(job().arg("-print-changed=quiet").arg("-o").arg(scratch.join("a.s")), limits)?;
    let stopped = |pass: &str, name: &str| {
        let path = scratch.join(name);
        run(job().arg(format!("-stop-before={pass}")).arg("-o").arg(&path), limits)
            .map(|_| std::fs::read_to_string(&path).unwrap_or_default())
    };
    read(&printed, &stopped(ISEL, "ir.mir")?, &stopped("livedebugvalues", "late.mir").unwrap_or_default())
}

/// What the first `llc` of a test's RUN lines says of the machine.
fn llc_flags(text: &str) -> Vec<String> {
    let run = text.lines().filter_map(|l| l.split_once("RUN:")).map(|(_, run)| run).find(|run| run.split_whitespace().any(|w| w == "llc"));
    let is_kept = |w: &&str| {
        ["-mtriple=", "-mcpu=", "-mattr=", "-relocation-model=", "-code-model="]
            .iter()
            .any(|f| w.trim_start_matches('-').starts_with(f.trim_start_matches('-')))
    };
    run.into_iter().flat_map(str::split_whitespace).filter(is_kept).map(str::to_owned).collect()
}

/// Passes that a file of machine IR names, run on it one after the other.
fn observe_machine_ir(llc: &Path, file: &Path, passes: &[String], limits: &Limits) -> Result<MirObservation, String> {
    let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
    let out = scratch.join("out.mir");
    let runs: Vec<String> = passes.iter().map(|p| format!("-run-pass={p}")).collect();
    let list = passes.join(",");
    let job = Job::new(llc).args(&runs).arg(format!("-print-before={list}")).arg(format!("-print-after={list}"));
    let printed = run(job.arg(file).arg("-o").arg(&out), limits)?;
    let given = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    read(&printed, &given, &std::fs::read_to_string(&out).unwrap_or_default())
}

fn run(job: Job, limits: &Limits) -> Result<String, String> {
    let outcome = job.limits(Limits { output: MOST_OUTPUT, ..limits.clone() }).run().map_err(|e| e.to_string())?;
    if outcome.success() {
        return Ok(outcome.stderr_text());
    }
    let stderr = outcome.stderr_text();
    let first = stderr.lines().find(|l| l.contains("rror") || l.contains("nknown")).unwrap_or("it printed no error");
    Err(first.to_owned())
}

fn read(printed: &str, module: &str, late: &str) -> Result<MirObservation, String> {
    let mut metadata = ModuleMetadata::read(module);
    let ir = read_ir(module, &mut metadata);
    let dumps = text::read(printed, &mut metadata);
    if dumps.is_empty() && (ir.is_empty() || printed.is_empty()) {
        return Err(
            "no machine function was printed: the file has no function, or this LLVM does not print them (15 and later do)".to_owned()
        );
    }
    Ok(MirObservation { metadata, ir, dumps, substitutions: substitutions(late) })
}

/// The tables `debugValueSubstitutions` of a file of machine IR, by function.
fn substitutions(mir: &str) -> HashMap<String, Substitutions> {
    let mut all: HashMap<String, Substitutions> = HashMap::new();
    let mut name = String::new();
    for line in mir.lines() {
        if let Some(rest) = line.strip_prefix("name:") {
            rest.trim().trim_matches(['\'', '"']).clone_into(&mut name);
        } else if let Some(rest) = line.trim_start().strip_prefix("- { srcinst: ") {
            let numbers: Vec<u32> = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
            if let [instruction, operand, to, to_operand, ..] = numbers.as_slice() {
                all.entry(name.clone()).or_default().insert((*instruction, *operand), (*to, *to_operand));
            }
        }
    }
    all
}

/// Analyses code generation of one file: C and C++ by the clang of the version of `opt`, IR and machine IR by the `llc` beside it.
pub fn analyze_codegen(file: &Path, options: &Options) -> FileReport {
    let mut report = FileReport::new(file, "");
    let observed = match file.extension().and_then(|e| e.to_str()) {
        Some("ll" | "bc") => llc_of(options).and_then(|llc| {
            report.tool = format!("{} {}", llc.display(), options.opt.version);
            observe_module(&llc, file, options)
        }),
        Some("mir") => llc_of(options).and_then(|llc| {
            report.tool = format!("{} {}", llc.display(), options.opt.version);
            let passes = machine_passes(file, options);
            if passes.is_empty() {
                Err("no machine pass to run: name some with --passes".to_owned())
            } else {
                observe_machine_ir(&llc, file, &passes, &options.limits)
            }
        }),
        _ => {
            let name = options.cc.clone().unwrap_or_else(|| format!("clang-{}", options.opt.major()));
            trueline_toolchain::find_compiler(&name).map_err(|e| e.to_string()).and_then(|compiler| {
                report.tool = format!("{} {}", compiler.id.path.display(), compiler.id.version);
                let codegen =
                    Codegen { compiler: &compiler, source: file, opt: options.level, cflags: &options.cflags, limits: &options.limits };
                codegen.observe()
            })
        }
    };
    match observed {
        Ok(seen) => {
            report.analysed = 1;
            report.pass = options.passes.clone().unwrap_or_else(|| "code generation".to_owned());
            let names: Vec<String> = options.passes.iter().flat_map(|p| p.split(',')).map(|p| p.trim().to_owned()).collect();
            let detail = Detail { pictures: false, ..options.detail };
            report.report = judge_dumps(&seen, detail, options.opt.major(), |dump| names.is_empty() || names.contains(&dump.pass));
        }
        Err(reason) => report.problem(ProblemKind::Refused, format!("{}: {reason}", file.display())),
    }
    report
}

/// The `llc` that stands beside `opt`.
fn llc_of(options: &Options) -> Result<PathBuf, String> {
    let real = std::fs::canonicalize(&options.opt.path).unwrap_or_else(|_| options.opt.path.clone());
    let beside = real.with_file_name("llc");
    let named = options.opt.path.file_name().map(|n| n.to_string_lossy().replace("opt", "llc")).map(|n| options.opt.path.with_file_name(n));
    let found = named.into_iter().chain([beside]).find(|p| p.is_file());
    found.ok_or_else(|| format!("no llc stands beside {}", options.opt.path.display()))
}

/// The passes given, or those that the file's RUN lines run.
fn machine_passes(file: &Path, options: &Options) -> Vec<String> {
    if let Some(passes) = &options.passes {
        return passes.split(',').map(|p| p.trim().to_owned()).collect();
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let runs = text.lines().filter(|l| l.contains("RUN:")).flat_map(str::split_whitespace);
    let mut passes: Vec<String> =
        runs.filter_map(|w| w.trim_start_matches('-').strip_prefix("run-pass=")).flat_map(|p| p.split(',')).map(str::to_owned).collect();
    passes.dedup();
    passes
}
