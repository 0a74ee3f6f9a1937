//! Code in shared libraries is checked like the program's own, whether they are linked or opened later; what could not be
//! compared is said.

use std::path::{Path, PathBuf};
use trueline_check::{CheckOptions, CheckRun, Checker, LibraryGap, Note};
use trueline_model::{Invariant, Line};
use trueline_toolchain::{Job, Limits, Scratch, find_compiler};

/// Lines 4 and 6 become one instruction in gcc's builds, and the line table keeps 6 (GCC PR95865).
const LIBRARY: &str = "\
int chosen = 3, spare;
int *choose(int by) {
  if (chosen)
    return &chosen;
  spare = by;
  return &chosen;
}
";
const LINKED: &str = "\
int *choose(int by);
int main(void) {
  int *which = choose(2);
  return *which - 3;
}
";
const OPENED: &str = "\
#include <dlfcn.h>
int main(void) {
  int total = 0;
  for (int i = 0; i < 2; i++) {
    void *library = dlopen(\"libchoice.so\", RTLD_NOW);
    int *(*choose)(int) = (int *(*)(int))dlsym(library, \"choose\");
    total += *choose(i);
    dlclose(library);
  }
  return total - 6;
}
";

/// The two builds of a program and its library, each in a directory of its own.
struct Builds {
    scratch: Scratch,
    cc: &'static str,
}

impl Builds {
    fn new(cc: &'static str, program: &str) -> Option<Self> {
        find_compiler(cc).ok()?;
        let scratch = Scratch::new().unwrap();
        scratch.write("choice.c", LIBRARY).unwrap();
        scratch.write("program.c", program).unwrap();
        Some(Self { scratch, cc })
    }

    fn compile(&self, args: &[&str]) {
        let compiler = find_compiler(self.cc).unwrap().id.path;
        let outcome = Job::new(compiler).args(args).cwd(self.scratch.path()).limits(Limits::seconds(60)).run().unwrap();
        assert!(outcome.success(), "{args:?}: {}", outcome.stderr_text());
    }

    /// Builds the library and then the program into a directory.
    fn build(&self, directory: &str, opt: &str, library_flags: &[&str], program_flags: &[&str]) -> PathBuf {
        std::fs::create_dir_all(self.scratch.join(directory)).unwrap();
        let (library, program) = (format!("{directory}/libchoice.so"), format!("{directory}/program"));
        self.compile(&[&["-shared", "-fPIC", opt, "choice.c", "-o", &library], library_flags].concat());
        self.compile(&[&["-g", opt, "program.c", "-o", &program], program_flags].concat());
        self.scratch.join(&program)
    }

    fn check(&self, reference: &Path, optimized: &Path) -> CheckRun {
        Checker::new(CheckOptions::default()).unwrap().check_pair(reference, optimized, &[]).unwrap()
    }
}

/// How gcc -Og and clang -O2 build the library: gcc's tells a line that never runs, clang's is clean.
fn levels(cc: &str) -> &'static str {
    if cc.starts_with("gcc") { "-Og" } else { "-O2" }
}

fn expect_the_librarys_fault(cc: &str, run: &CheckRun) {
    let lines: Vec<u32> = run.optimized.lines.keys().filter(|k| k.file.as_str() == "choice.c").map(|k| k.line.0).collect();
    assert!(lines.len() >= 2, "{cc}: the library was stepped on {lines:?}");
    let told: Vec<_> = run.violations.iter().filter(|v| v.invariant() == Invariant::Line).map(|v| (v.file.as_str(), v.line)).collect();
    let expected: &[_] = if cc.starts_with("gcc") { &[("choice.c", Line(6))] } else { &[] };
    assert_eq!(told, expected, "{cc}: {:?}", run.violations);
    // Addresses are those that the library's own file has.
    assert!(run.violations.iter().all(|v| v.pc.is_none_or(|pc| pc < 0x10_0000)), "{cc}: {:?}", run.violations);
}

#[test]
fn the_code_of_a_linked_library_is_checked_with_its_own_files() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(builds) = Builds::new(cc, LINKED) else { continue };
        let [reference, optimized] = [("plain", "-O0"), ("fast", levels(cc))].map(|(directory, opt)| {
            let beside = format!("-L{directory}");
            builds.build(directory, opt, &["-g"], &[&beside, "-lchoice", "-Wl,-rpath,$ORIGIN"])
        });
        let run = builds.check(&reference, &optimized);
        expect_the_librarys_fault(cc, &run);
        assert_eq!(run.notes, [Note::BreakpointsUnjudged], "{cc}: what lines of libraries do is not watched");
    }
}

#[test]
fn a_library_that_is_opened_and_closed_while_the_program_runs_is_checked() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(builds) = Builds::new(cc, OPENED) else { continue };
        let [reference, optimized] = [("plain", "-O0"), ("fast", levels(cc))]
            .map(|(directory, opt)| builds.build(directory, opt, &["-g"], &["-ldl", "-Wl,-rpath,$ORIGIN"]));
        let run = builds.check(&reference, &optimized);
        expect_the_librarys_fault(cc, &run);
        assert_eq!(run.notes, [Note::BreakpointsUnjudged], "{cc}: what lines of libraries do is not watched");
    }
}

#[test]
fn a_library_that_both_builds_load_from_one_file_is_named_in_a_note() {
    let Some(builds) = Builds::new("gcc-12", LINKED) else { return };
    let [reference, optimized] = [("plain", "-O0"), ("fast", "-O2")]
        .map(|(directory, opt)| builds.build(directory, opt, &["-g"], &["-Lplain", "-lchoice", "-Wl,-rpath,$ORIGIN/../plain"]));
    let run = builds.check(&reference, &optimized);
    assert_eq!(run.notes, [Note::BreakpointsUnjudged, Note::Library { name: "libchoice.so".into(), gap: LibraryGap::SameFile }]);
}

#[test]
fn a_library_without_debug_information_is_named_in_a_note() {
    let Some(builds) = Builds::new("gcc-12", LINKED) else { return };
    let build = |directory: &str, opt: &str, flags: &[&str]| {
        let beside = format!("-L{directory}");
        builds.build(directory, opt, flags, &[&beside, "-lchoice", "-Wl,-rpath,$ORIGIN"])
    };
    let (reference, optimized) = (build("plain", "-O0", &["-g"]), build("fast", "-O2", &[]));
    let run = builds.check(&reference, &optimized);
    assert_eq!(run.notes, [Note::BreakpointsUnjudged, Note::Library { name: "libchoice.so".into(), gap: LibraryGap::NoDebugInformation }]);
}
