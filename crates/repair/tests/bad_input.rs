//! Input that cannot be repaired, or only in part: each with a reason, the other functions still repaired.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueline_machine::image::Image;
use trueline_repair::debug::ImageInfo;
use trueline_repair::mend::Trust;
use trueline_repair::repair::{Proofs, RepairOutcome, Request, repair};
use trueline_toolchain::{Limits, Scratch, find_compiler};

const SOURCE: &str = "#include <setjmp.h>
#include <pthread.h>
int X[512], Y[512], val = 3;
jmp_buf back;
static void *work(void *p) { return p; }
__attribute__((noinline)) void plain(void) {
  int i;
  for (i = 0; i < 512; i++)
    X[i] = Y[i] + val;
}
__attribute__((noinline)) void assembly(void) {
  int i;
  unsigned a = 0, b, c, d;
  for (i = 0; i < 4; i++) {
    __asm__ volatile(\"cpuid\" : \"+a\"(a), \"=b\"(b), \"=c\"(c), \"=d\"(d));
    X[i] = Y[i] + i;
  }
}
__attribute__((noinline)) int jumps(void) {
  int i = 0;
  if (setjmp(back) == 0)
    i = val;
  return i;
}
__attribute__((noinline)) int threads(void) {
  pthread_t t;
  int failed = pthread_create(&t, 0, work, 0);
  if (!failed)
    pthread_join(t, 0);
  return failed;
}
int main(int argc, char **argv) {
  plain();
  assembly();
  val += jumps();
  if (argc > 1)
    val += threads();
  return 0;
}
";

fn build(scratch: &Scratch, cc: &str, flags: &[&str], name: &str) -> Option<PathBuf> {
    let source = scratch.write("bad.c", SOURCE).unwrap();
    let Ok(compiler) = find_compiler(cc) else {
        eprintln!("skipped: no {cc}");
        return None;
    };
    let output = scratch.join(name);
    let outcome = compiler.job().args(flags).arg(&source).arg("-o").arg(&output).limits(Limits::seconds(120)).run().unwrap();
    if !outcome.success() {
        eprintln!("skipped: {cc} {flags:?}: {}", outcome.stderr_text());
        return None;
    }
    Some(output)
}

fn run(binary: &Path, reference: &Path, solver: Option<&str>) -> RepairOutcome {
    let proofs = if solver.is_some() { Proofs::On } else { Proofs::Off };
    let patience = Duration::from_secs(5);
    let trust = Trust::Validated;
    let request = Request { variations: 1, trust, proofs, solver: solver.map(str::to_owned), patience, ..Request::new(binary, reference) };
    repair(&request, &mut |_| {}).unwrap()
}

#[test]
fn what_cannot_be_followed_is_left_alone_with_a_reason_and_the_rest_is_repaired() {
    let scratch = Scratch::new().unwrap();
    let Some(binary) = build(&scratch, "gcc-12", &["-O3", "-g", "-pthread"], "optimized") else { return };
    let Some(reference) = build(&scratch, "gcc-12", &["-O0", "-g", "-pthread"], "reference") else { return };
    let outcome = run(&binary, &reference, None);
    let of = |name: &str| outcome.report.functions.iter().find(|f| f.name == name).unwrap();
    assert!(of("plain").updated > 0 && of("plain").reason.is_none(), "{:?}", of("plain"));
    for (name, says) in [("assembly", "uid"), ("jumps", "setjmp"), ("threads", "pthread_create")] {
        let function = of(name);
        let reason = function.reason.clone().unwrap_or_default();
        assert!(reason.to_lowercase().contains(says), "{name}: {reason}");
        assert_eq!(function.updated, 0, "{name}");
    }
}

#[test]
fn without_a_solver_or_with_one_that_gives_up_nothing_is_called_proved() {
    let scratch = Scratch::new().unwrap();
    let Some(binary) = build(&scratch, "gcc-12", &["-O3", "-g", "-pthread"], "optimized") else { return };
    let Some(reference) = build(&scratch, "gcc-12", &["-O0", "-g", "-pthread"], "reference") else { return };
    // Both say their version and then never an answer.
    let gives_up = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Z3 version 4.8.12'; exit 0; }\n\
        while read -r line; do case \"$line\" in '(check-sat)'*) echo unknown;; esac; done\n";
    let dies = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Z3 version 4.8.12'; exit 0; }\nexit 1\n";
    let mut solvers = vec!["z3-that-is-not-there".to_owned()];
    for (name, text) in [("gives-up", gives_up), ("dies", dies)] {
        let path = scratch.write(name, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        solvers.push(path.display().to_string());
    }
    let proved = run(&binary, &reference, Some("z3")).report.functions.into_iter().find(|f| f.name == "plain").unwrap();
    assert!(proved.proved > 0 && proved.unproved.is_none(), "z3 proves the loop: {proved:?}");
    for solver in solvers {
        let outcome = run(&binary, &reference, Some(&solver));
        let plain = outcome.report.functions.iter().find(|f| f.name == "plain").unwrap();
        assert!(plain.validated > 0, "{solver}: what was missing is still filled");
        // What holds by rewriting needs no solver; the induction does.
        assert!(plain.proved < proved.proved, "{solver}: {} proved, {} with z3", plain.proved, proved.proved);
        // A constant is written only when it is proved.
        assert!(plain.proved + plain.validated <= proved.proved + proved.validated, "{solver}");
        assert!(plain.unproved.is_some(), "{solver}");
    }
}

/// Processes that run a file, by their command line.
fn processes_of(file: &Path) -> usize {
    let wanted = file.as_os_str().as_encoded_bytes();
    let runs = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(wanted.len()).any(|w| w == wanted)
    };
    std::fs::read_dir("/proc").unwrap().flatten().map(runs).filter(|runs| *runs).count()
}

#[test]
fn a_solver_that_hangs_is_given_up_once_and_everything_is_still_repaired() {
    let scratch = Scratch::new().unwrap();
    let Some(binary) = build(&scratch, "gcc-12", &["-O3", "-g", "-pthread"], "optimized") else { return };
    let Some(reference) = build(&scratch, "gcc-12", &["-O0", "-g", "-pthread"], "reference") else { return };
    // It says its version, and then stops for ever.
    let hangs = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Z3 version 4.8.12'; exit 0; }\nkill -STOP $$\n";
    let path = scratch.write("hangs", hangs).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = run(&binary, &reference, Some(&path.display().to_string()));
    let plain = outcome.report.functions.iter().find(|f| f.name == "plain").unwrap();
    assert!(plain.validated > 0 && plain.reason.is_none(), "{plain:?}");
    let repaired = outcome.report.functions.iter().filter(|f| f.updated > 0 && f.validated > 0);
    for function in repaired {
        let reason = function.unproved.clone().unwrap_or_default();
        assert!(reason.contains("did nothing for 5 s"), "{}: {reason}", function.name);
    }
    assert_eq!(processes_of(&path), 0, "the solver is gone");
}

#[test]
fn stripped_foreign_and_split_files_are_refused_with_what_to_do() {
    let scratch = Scratch::new().unwrap();
    if let Some(stripped) = build(&scratch, "gcc-12", &["-O2", "-g", "-s", "-pthread"], "stripped") {
        let error = Image::open(&stripped).unwrap_err().to_string();
        assert!(error.contains("build it with -g"), "{error}");
    }
    if let Some(split) = build(&scratch, "gcc-12", &["-O2", "-g", "-gsplit-dwarf", "-c"], "split") {
        let error = ImageInfo::read(&Image::open(&split).unwrap()).unwrap_err().to_string();
        assert!(error.contains("-gsplit-dwarf"), "{error}");
    }
    if let Some(object) = build(&scratch, "gcc-12", &["-O2", "-g", "-c"], "object") {
        // The machine field of the ELF header: AArch64.
        let mut bytes = std::fs::read(&object).unwrap();
        bytes[18..20].copy_from_slice(&183u16.to_le_bytes());
        let error = Image::parse(&object, bytes).unwrap_err().to_string();
        assert!(error.contains("x86-64"), "{error}");
    }
}
