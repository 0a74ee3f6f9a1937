//! Bad input to `check`: a clear error, exit code 2, and nothing left behind.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory for one test: the program's place and, apart from it, the temporary directory.
struct TestPlace {
    dir: tempfile::TempDir,
}

impl TestPlace {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tmp")).unwrap();
        Self { dir }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    fn check(&self, args: &[&str]) -> Output {
        self.check_with(args, &[])
    }

    fn check_with(&self, args: &[&str], env: &[(&str, &Path)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
        command.arg("check").args(args).args(["--invariant", "line", "--time-limit", "5"]).env("TMPDIR", self.tmp());
        command.envs(env.iter().map(|(k, v)| (k, v)));
        command.output().unwrap()
    }

    /// Compiles a program with gcc.
    fn build(&self, source: &str, flags: &[&str]) -> PathBuf {
        let file = self.write("built.c", source);
        let binary = self.dir.path().join("built");
        let done = Command::new("gcc").args(flags).arg(&file).arg("-o").arg(&binary).status().unwrap();
        assert!(done.success());
        binary
    }

    /// Asserts the error's words and that neither a file nor a process is left.
    fn assert_refused(&self, output: &Output, words: &[&str]) {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}{}", String::from_utf8_lossy(&output.stdout));
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
        let left: Vec<_> = std::fs::read_dir(self.tmp()).unwrap().flatten().map(|e| e.path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        let root = self.dir.path().to_string_lossy().into_owned();
        let alive = || {
            let exe = |entry: std::fs::DirEntry| std::fs::read_link(entry.path().join("exe"));
            std::fs::read_dir("/proc").unwrap().flatten().any(|e| exe(e).is_ok_and(|p| p.to_string_lossy().starts_with(&root)))
        };
        // Killed processes take a moment to go.
        let stays = (0..100).all(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            alive()
        });
        assert!(!stays, "a process of {root} is still running");
    }

    fn refuse_program(&self, source: &str, words: &[&str]) {
        let file = self.write("program.c", source);
        self.assert_refused(&self.check(&[file.to_str().unwrap()]), words);
    }
}

const FINE: &str = "int main(void) {\n  return 0;\n}\n";

#[test]
fn a_file_that_is_not_a_program() {
    let place = TestPlace::new();
    let text = place.write("notes.txt", "hello");
    place.assert_refused(&place.check(&[text.to_str().unwrap()]), &["is no C (.c, .i), C++ (.cpp"]);
    let binary = place.write("data.c", b"\x00\x01\x02");
    place.assert_refused(&place.check(&[binary.to_str().unwrap()]), &["not a text file"]);
    let missing = place.dir.path().join("missing.c");
    place.assert_refused(&place.check(&[missing.to_str().unwrap()]), &["cannot read", "missing.c"]);
    let directory = place.dir.path().join("folder.c");
    std::fs::create_dir(&directory).unwrap();
    place.assert_refused(&place.check(&[directory.to_str().unwrap()]), &["or Rust (.rs) program that the compilers take", "folder.c"]);
}

#[test]
fn a_compile_error_shows_the_compilers_message() {
    TestPlace::new().refuse_program("int main(void) { return x; }\n", &["does not compile", "'x' undeclared"]);
}

#[test]
fn a_program_that_crashes() {
    TestPlace::new().refuse_program("int main(void) {\n  int *p = 0;\n  return *p;\n}\n", &["SIGSEGV"]);
}

#[test]
fn a_program_that_hangs() {
    TestPlace::new().refuse_program("int main(void) {\n  for (;;)\n    ;\n}\n", &["did not finish within 5 s"]);
}

#[test]
fn a_program_that_forks() {
    let source = "#include <unistd.h>\nint main(void) {\n  if (fork() == 0)\n    sleep(100);\n  return 0;\n}\n";
    TestPlace::new().refuse_program(source, &["another process"]);
}

#[test]
fn a_program_that_reads_its_input() {
    TestPlace::new().refuse_program("#include <stdio.h>\nint main(void) {\n  return getchar() == 'x';\n}\n", &["standard input"]);
}

#[test]
fn a_program_that_prints_a_gigabyte() {
    let source =
        "#include <stdio.h>\nint main(void) {\n  for (long i = 0; i < 1L << 26; i++)\n    puts(\"0123456789abcde\");\n  return 0;\n}\n";
    TestPlace::new().refuse_program(source, &["prints more than"]);
}

#[test]
fn a_program_that_traps() {
    TestPlace::new().refuse_program("#include <signal.h>\nint main(void) {\n  raise(SIGTRAP);\n  return 0;\n}\n", &["SIGTRAP"]);
}

#[test]
fn a_missing_compiler_or_debugger_names_its_package() {
    let place = TestPlace::new();
    let file = place.write("program.c", FINE);
    let file = file.to_str().unwrap();
    place.assert_refused(&place.check(&[file, "--cc", "clang-77"]), &["apt-get install clang-77"]);
    let nowhere = place.dir.path().join("nowhere");
    for (engine, package) in [("gdb", "apt-get install gdb"), ("lldb", "apt-get install lldb")] {
        place.assert_refused(
            &place.check_with(&[file, "--engine", engine], &[("PATH", &nowhere), ("TRUELINE_TOOLCHAINS", &nowhere)]),
            &[package],
        );
    }
}

#[test]
fn binaries_that_cannot_be_read() {
    let place = TestPlace::new();
    let refuse = |binary: &Path, words: &[&str]| {
        let name = binary.to_str().unwrap();
        place.assert_refused(&place.check(&["--reference", name, "--optimized", name]), words);
    };
    refuse(&place.write("text", "not a binary"), &["ELF"]);
    refuse(&place.build(FINE, &["-g0"]), &["no debug information"]);
    let good = std::fs::read(place.build(FINE, &["-g"])).unwrap();
    let mut other = good.clone();
    other[18..20].copy_from_slice(&183u16.to_le_bytes());
    refuse(&place.write("arm", &other), &["Aarch64"]);
    refuse(&place.write("cut", &good[..good.len() * 2 / 3]), &["cannot check"]);
    refuse(&place.write("garbage", scrambled(&good)), &["cannot check"]);
}

/// The binary with its .debug_info overwritten; found by the string table's names would need a parser, so the
/// section is copied out and back by objcopy.
fn scrambled(good: &[u8]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (from, noise, to) = (dir.path().join("from"), dir.path().join("noise"), dir.path().join("to"));
    std::fs::write(&from, good).unwrap();
    std::fs::set_permissions(&from, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(&noise, (0..200u32).map(|i| ((i * 7919) >> 3) as u8).collect::<Vec<_>>()).unwrap();
    let update = format!(".debug_info={}", noise.display());
    assert!(Command::new("objcopy").args(["--update-section", &update]).arg(&from).arg(&to).status().unwrap().success());
    std::fs::read(to).unwrap()
}

#[test]
fn a_full_disk() {
    let place = TestPlace::new();
    let file = place.write("program.c", FINE);
    let mount = |args: &[&str]| Command::new("mount").args(args).arg(place.tmp()).output().is_ok_and(|o| o.status.success());
    if !mount(&["-t", "tmpfs", "-o", "size=8k", "none"]) {
        return eprintln!("skipped: cannot mount a small file system");
    }
    let output = place.check(&[file.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let left = std::fs::read_dir(place.tmp()).unwrap().count();
    assert!(Command::new("umount").arg(place.tmp()).status().unwrap().success());
    assert_eq!((output.status.code(), left), (Some(2), 0), "{text}");
    assert!(text.to_lowercase().contains("space"), "{text}");
}
