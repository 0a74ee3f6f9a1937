//! The searches on real compilers, judged by what gdb shows of real builds.

use std::collections::BTreeSet;
use trueline_model::{Language, OptLevel, PassRole, Trace};
use trueline_toolchain::{BuildError, CompileRequest, Compiler, Job, Scratch, find_compiler};
use trueline_trace::{Engine, GdbEngine, TraceRequest, Vars};
use trueline_triage::{AttributeError, Attribution, CachedProbe, Presence, Probe, ProbeError, Probed, Setting, attribute};

/// What a test takes for the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// gdb stops on the line: the line invariant reduced to what a test needs.
    Stops,
    /// gdb never stops on the line.
    Misses,
}

/// Looks whether gdb stops on a line.
struct StopsOn {
    program: std::path::PathBuf,
    line: u32,
    fault: Fault,
    gdb: GdbEngine,
    scratch: Scratch,
    next: std::sync::atomic::AtomicUsize,
}

impl StopsOn {
    fn new(name: &str, line: u32, fault: Fault) -> Option<Self> {
        let Ok(gdb) = GdbEngine::find() else {
            println!("skipped: no gdb here");
            return None;
        };
        let program = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
        Some(Self { program, line, fault, gdb, scratch: Scratch::new().unwrap(), next: 0.into() })
    }

    fn lines(&self, binary: &std::path::Path) -> BTreeSet<u32> {
        let mut trace = Trace::default();
        let request = TraceRequest { vars: Vars::None, ..TraceRequest::new(binary) };
        self.gdb.trace(&request, &mut trace).unwrap();
        trace.steps.iter().filter_map(|s| s.line).map(|l| l.0).collect()
    }

    fn shows(&self, binary: &std::path::Path) -> bool {
        self.lines(binary).contains(&self.line) == (self.fault == Fault::Stops)
    }
}

impl Probe for StopsOn {
    fn probe(&self, setting: &Setting, flags: &[String]) -> Result<Probed, ProbeError> {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let language = Language::of_path(&self.program).unwrap();
        let request = CompileRequest::new(&self.program, language, setting.opt, self.scratch.join(format!("b{number}"))).flags(flags);
        match setting.compiler.compile(&request) {
            Ok(build) => {
                let presence = if self.shows(&build.binary) { Presence::Present } else { Presence::Absent };
                Ok(Probed { presence, command: build.command, log: build.stderr })
            }
            Err(error @ BuildError::Job(_)) => Err(ProbeError(error.to_string())),
            Err(error) => Ok(Probed { presence: Presence::Unjudged(error.to_string()), command: String::new(), log: String::new() }),
        }
    }
}

fn compiler(name: &str) -> Option<Compiler> {
    let found = find_compiler(name);
    if let Err(error) = &found {
        println!("skipped: {error}");
    }
    found.ok()
}

fn search(program: &str, line: u32, fault: Fault, cc: &str, opt: OptLevel) -> Option<Result<Attribution, AttributeError>> {
    let probe = StopsOn::new(program, line, fault)?;
    let setting = Setting { compiler: compiler(cc)?, opt };
    let cached = CachedProbe::new(&probe);
    let result = attribute(&cached, &setting);
    if let Ok(attribution) = &result {
        println!("{cc} {opt}: {attribution:#?}");
        prove(&probe, attribution);
    }
    Some(result)
}

/// Runs the printed commands as a user would: the first must show the fault, the second must not.
fn prove(probe: &StopsOn, attribution: &Attribution) {
    let shows = |command: &str| {
        let outcome = Job::new("/bin/sh").args(["-c", command]).run().unwrap();
        assert!(outcome.success(), "{command}: {}", outcome.stderr_text());
        let binary = command.rsplit(" -o ").next().unwrap();
        probe.shows(binary.as_ref())
    };
    assert!(shows(&attribution.with.command), "{}", attribution.with.command);
    if let Some(without) = &attribution.without {
        assert!(!shows(without), "{without}");
    }
}

#[test]
fn no_single_pass_hides_merged_returns_at_og_and_only_the_profile_does_at_o2() {
    if let Some(result) = search("merged-return.c", 6, Fault::Stops, "gcc-12", OptLevel::Og) {
        let attribution = result.unwrap();
        assert_eq!(attribution.role, PassRole::Set);
        assert!(attribution.name.unwrap().0.contains("tree-ccp1+"), "constant propagation merges the returns");
        assert!(attribution.builds <= 80, "{}", attribution.builds);
    }
    if let Some(result) = search("merged-return.c", 6, Fault::Stops, "gcc-12", OptLevel::O2) {
        let attribution = result.unwrap();
        assert_eq!(attribution.role, PassRole::Enabling);
        assert_eq!(attribution.name.unwrap().0, "tree-profile_estimate");
        assert!(attribution.builds <= 80, "{}", attribution.builds);
    }
}

#[test]
fn a_fault_that_is_not_there_is_said_to_be_gone() {
    if let Some(result) = search("merged-return.c", 5, Fault::Stops, "gcc-12", OptLevel::O2) {
        assert!(matches!(result, Err(AttributeError::NotPresent { .. })), "{result:?}");
    }
}

#[test]
fn the_pass_that_takes_a_loop_from_the_line_table_of_a_rust_program_is_found_within_the_limit() {
    if let Some(result) = search("triangle.rs", 8, Fault::Misses, "rustc", OptLevel::O2) {
        let attribution = result.unwrap();
        assert_eq!(attribution.role, PassRole::Guilty);
        assert!(attribution.name.as_ref().unwrap().0.ends_with("Pass"), "{attribution:?}");
        assert!(attribution.function.as_ref().unwrap().contains("triangle"), "{attribution:?}");
        assert!(attribution.builds as f64 <= 2.0 * (attribution.of as f64).log2() + 4.0, "{} of {}", attribution.builds, attribution.of);
    }
}

#[test]
fn the_pass_that_copies_a_line_into_another_case_is_found_in_both_clangs() {
    for cc in ["clang-14", "clang-16"] {
        if let Some(result) = search("tail-recursion.c", 6, Fault::Stops, cc, OptLevel::O2) {
            let attribution = result.unwrap();
            assert_eq!((attribution.role, attribution.name.unwrap().0.as_str()), (PassRole::Guilty, "TailCallElimPass"));
            assert!(attribution.builds as f64 <= 2.0 * (attribution.of as f64).log2() + 4.0);
        }
    }
}

/// Looks whether a function of `tail-calls.c` jumps to another instead of calling it.
struct JumpsIn {
    function: &'static str,
    scratch: Scratch,
    next: std::sync::atomic::AtomicUsize,
}

impl Probe for JumpsIn {
    fn probe(&self, setting: &Setting, flags: &[String]) -> Result<Probed, ProbeError> {
        let program = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/tail-calls.c");
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let request = CompileRequest::new(program, Language::C, setting.opt, self.scratch.join(format!("b{number}"))).flags(flags);
        let build = setting.compiler.compile(&request).map_err(|e| ProbeError(e.to_string()))?;
        let command = format!("objdump -d --disassemble={} {}", self.function, build.binary.display());
        let listing = Job::new("/bin/sh").args(["-c", &command]).run().map_err(|e| ProbeError(e.to_string()))?.stdout_text();
        let presence = if listing.contains("jmp") { Presence::Present } else { Presence::Absent };
        Ok(Probed { presence, command: build.command, log: build.stderr })
    }

    fn functions(&self) -> Vec<String> {
        vec!["main".to_owned(), self.function.to_owned()]
    }
}

#[test]
fn a_debug_counter_of_gcc_names_the_change_inside_the_pass_and_the_switch_its_function() {
    let Some(compiler) = compiler("gcc-12") else { return };
    let setting = Setting { compiler, opt: OptLevel::O2 };
    for function in ["first", "third"] {
        let probe = JumpsIn { function, scratch: Scratch::new().unwrap(), next: 0.into() };
        let cached = CachedProbe::new(&probe);
        let found = attribute(&cached, &setting).unwrap();
        assert_eq!((found.role, found.name.as_ref().unwrap().0.as_str()), (PassRole::Guilty, "tree-tailc"), "{found:#?}");
        assert_eq!(found.function.as_deref(), Some(function), "{found:#?}");
        // The counter lets the first changes through: with this one it is there, with one less it is not.
        let change = found.execution.unwrap();
        assert!(change <= found.of && found.evidence.contains(&format!("-fdbg-cnt=tail_call:1-{change}")), "{found:#?}");
        let with = |last: u64| cached.probe(&setting, &[format!("-fdbg-cnt=tail_call:1-{last}")]).unwrap().presence;
        assert_eq!((with(change), with(change - 1)), (Presence::Present, Presence::Absent));
    }
}
