//! `trueline hunt --oracle wrong-code`. Stock compilers do not miscompile on demand, so the faults are planted: a script that is gcc, but
//! for some calls, where it defines a macro that changes what the program prints, says that it crashed, or burns CPU time.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trueline_model::{Fault, OptLevel, Resource};
use trueline_store::{FindingRecord, Store};

/// A program of 600,000 steps, far more than is traced, whose last digit a macro changes.
const LONG: &str = "extern int printf(const char *, ...);
unsigned total = 7;
int main(void) {
    int i;
    for (i = 0; i < 300000; i++)
        total = total * 31 + i;
    if (total == 0)
        printf(\"zero\\n\");
#ifdef PLANTED
    total++;
#endif
    printf(\"%u\\n\", total);
    return 0;
}
";

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("corpus")).unwrap();
        std::fs::write(dir.path().join("corpus/long.c"), LONG).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// gcc, but for what is done first when a word of the call matches a pattern of the shell.
    fn compiler(&self, pattern: &str, fault: &str) -> PathBuf {
        let path = self.path("cc");
        let text = format!(
            "#!/bin/bash\ncase \"$*\" in *--version*|*-v) exec gcc --version;; esac\nmore=\n\
             case \" $* \" in {pattern}) {fault};; esac\nexec gcc $more \"$@\"\n"
        );
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn hunt(&self, compilers: &[&Path], flags: &[&str]) -> Output {
        let names: Vec<String> = compilers.iter().map(|c| c.display().to_string()).collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
        command.args(["hunt", "--no-report", "--jobs", "1", "--cc", &names.join(",")]).args(flags);
        if !flags.iter().any(|flag| flag.starts_with("--opt")) {
            command.arg("--opt=-O1,-O2");
        }
        command.arg("--generator").arg(format!("corpus:{}", self.path("corpus").display())).arg("--db").arg(self.path("a.db"));
        command.output().unwrap()
    }

    /// The findings and the number of units that are done, of a hunt that went well.
    fn found(&self, compilers: &[&Path], flags: &[&str]) -> (Vec<FindingRecord>, u64) {
        let output = self.hunt(compilers, flags);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let store = Store::open_existing(&self.path("a.db")).unwrap();
        let counts = store.counts().unwrap();
        assert_eq!((counts.rejected, counts.units_in("failed")), (0, 0), "{counts:?} {:?}", store.rejections());
        (store.findings().unwrap(), counts.units_in("done"))
    }
}

fn can_profile() -> bool {
    let can = trueline_mutate::Mutator::new(trueline_mutate::MutationOptions::default()).is_ok();
    if !can {
        println!("skipped: profiling needs clang with MemorySanitizer");
    }
    can
}

#[test]
fn wrong_code_of_a_long_program_and_of_its_variants_is_found_without_tracing() {
    if !can_profile() {
        return;
    }
    let place = Place::new();
    let cc = place.compiler("*\" -O2 \"*", "more=-DPLANTED");
    let (found, done) = place.found(&[&cc], &["--oracle", "wrong-code", "--mutate", "3", "--sampling", "1"]);
    assert_eq!(done, 8, "four programs at two levels");
    assert_eq!(found.len(), 4, "each of them at -O2: {found:?}");
    for record in &found {
        assert_eq!(record.finding.opt, OptLevel::O2);
        assert!(matches!(&record.finding.fault, Fault::WrongCode { .. }), "{record:?}");
        assert_eq!(record.program.source, format!("corpus:{} (wrong code)", place.path("corpus").display()));
    }
    // The same units are not done again, and those of the other oracle are units of their own.
    assert_eq!(place.found(&[&cc], &["--oracle", "wrong-code", "--mutate", "3", "--sampling", "1"]).1, 8);
    let (found, done) = place.found(&[&cc], &["--confirm", "none"]);
    assert_eq!((found.len(), done), (5, 10), "too long to be traced, the program is judged by its code");
}

#[test]
fn crashes_are_told_apart_by_their_signature() {
    let place = Place::new();
    let message = "echo \"long.c:3:5: internal compiler error: in $place, at $place.cc:12\" >&2; exit 1";
    let cc = place.compiler("*\" -O\"[12]\" \"*", &format!("place=fold_one; case \"$*\" in *-O2*) place=expand_two;; esac; {message}"));
    let (found, _) = place.found(&[&cc], &["--oracle", "wrong-code", "--mutate", "0"]);
    let classes: Vec<String> = found.iter().map(|f| f.class.split(" · ").skip(1).collect::<Vec<_>>().join(" · ")).collect();
    assert_eq!(classes.len(), 2, "{classes:?}");
    assert!(classes[0].contains("fold_one") && classes[1].contains("expand_two"), "{classes:?}");
}

#[test]
fn a_level_that_burns_time_is_an_explosion_where_others_do_not() {
    let place = Place::new();
    let burn = "python3 -c 'import time\nwhile time.process_time() < 6: pass'";
    let cc = place.compiler("*\" -O2 \"*", burn);
    let (found, done) = place.found(&[&cc, Path::new("gcc")], &["--oracle", "wrong-code", "--mutate", "0"]);
    assert_eq!((found.len(), done), (1, 4), "{found:?}");
    let Fault::Explosion { resource, used, neighbour } = &found[0].finding.fault else { panic!("{found:?}") };
    assert_eq!((*resource, found[0].finding.opt), (Resource::Time, OptLevel::O2));
    assert!(*used >= 6000 && *used >= 20 * neighbour, "{used} {neighbour}");
}

#[test]
fn a_variant_that_no_compiler_runs_as_its_seed_stops_the_hunt_and_is_kept() {
    if !can_profile() {
        return;
    }
    let place = Place::new();
    let cc = place.compiler("*-v001.c*", "more=-DPLANTED");
    let output = place.hunt(&[&cc], &["--oracle", "wrong-code", "--mutate", "3", "--sampling", "1"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("the mutation is at fault: long-v001.c does not do what its seed long.c does"), "{told}");
    assert_eq!(std::fs::read_to_string(place.path("a-bad-mutation/long.c")).unwrap(), LONG);
    let kept = std::fs::read_to_string(place.path("a-bad-mutation/long-v001.c")).unwrap();
    assert!(kept.contains("PLANTED") && kept != LONG);
}

#[test]
fn what_one_compiler_alone_gets_wrong_at_o0_is_wrong_code_of_that_compiler() {
    if !can_profile() {
        return;
    }
    let place = Place::new();
    let cc = place.compiler("*\" -O0 \"*-v001.c*", "more=-DPLANTED");
    let (found, done) = place.found(&[&cc, Path::new("gcc")], &["--oracle", "wrong-code", "--mutate", "3", "--sampling", "1"]);
    assert_eq!((found.len(), done), (1, 16), "{found:?}");
    assert_eq!(found[0].finding.opt, OptLevel::O0);
    assert_eq!(found[0].finding.compiler.path, cc);
    assert_eq!(found[0].program.mutation, 2);
}

#[test]
fn a_variant_that_a_compiler_refuses_while_it_takes_the_seed_stops_the_hunt_too() {
    if !can_profile() {
        return;
    }
    let place = Place::new();
    let cc = place.compiler("*-v001.c*", "echo \"long-v001.c:3:1: error: no such statement\" >&2; exit 1");
    for oracle in ["wrong-code", "both"] {
        std::fs::remove_file(place.path("a.db")).ok();
        let output = place.hunt(&[Path::new("gcc"), &cc], &["--oracle", oracle, "--mutate", "3", "--sampling", "1"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{oracle}: {told}");
        assert!(told.contains("long-v001.c is refused by") && told.contains("which compiles its seed long.c"), "{oracle}: {told}");
        assert_eq!(std::fs::read_to_string(place.path("a-bad-mutation/long.c")).unwrap(), LONG);
    }
}

#[test]
fn a_compiler_that_does_not_come_back_hangs_and_one_that_only_waits_does_not() {
    let place = Place::new();
    // The signal that the limit on CPU time sends, without the half minute before it.
    let cc = place.compiler("*\" -O2 \"*", "kill -XCPU $$");
    let (found, done) = place.found(&[&cc], &["--oracle", "wrong-code", "--mutate", "0"]);
    assert_eq!((found.len(), done), (1, 2), "{found:?}");
    assert!(matches!(found[0].finding.fault, Fault::Hang { .. }) && found[0].finding.opt == OptLevel::O2, "{found:?}");
    assert!(found[0].class.ends_with("hang"), "{}", found[0].class);
    let patient = Place::new();
    let cc = patient.compiler("*\" -O2 \"*", "sleep 3");
    assert_eq!(patient.found(&[&cc], &["--oracle", "wrong-code", "--mutate", "0"]).0.len(), 0, "waiting costs no CPU time");
}

#[test]
fn a_level_that_takes_much_memory_is_an_explosion_where_others_do_not() {
    let place = Place::new();
    let cc = place.compiler("*\" -O2 \"*", "python3 -c 'x = b\"x\" * (1200 << 20)'");
    let (found, done) = place.found(&[&cc, Path::new("gcc")], &["--oracle", "wrong-code", "--mutate", "0"]);
    assert_eq!((found.len(), done), (1, 4), "{found:?}");
    let Fault::Explosion { resource, used, neighbour } = &found[0].finding.fault else { panic!("{found:?}") };
    assert_eq!((*resource, found[0].finding.opt), (Resource::Memory, OptLevel::O2));
    assert!(*used >= 1 << 20 && *used >= 20 * neighbour, "{used} KiB, {neighbour} KiB");
}

#[test]
fn levels_that_a_program_did_not_draw_are_still_its_neighbours() {
    let heavy = "python3 -c 'x = b\"x\" * (1200 << 20)'";
    let drawn = ["--opt=-O2,-O1", "--levels-per-program", "1", "--oracle", "wrong-code", "--mutate", "0"];
    let place = Place::new();
    let cc = place.compiler("*\" -O2 \"*", heavy);
    let (found, done) = place.found(&[&cc], &drawn);
    assert_eq!((found.len(), done), (1, 1), "the program draws -O2: {found:?}");
    assert_eq!(found[0].finding.opt, OptLevel::O2);
    // Where the level below takes as much, that one is to be reported: by a program that draws it.
    let place = Place::new();
    let cc = place.compiler("*\" -O\"[12]\" \"*", heavy);
    let (found, done) = place.found(&[&cc], &drawn);
    assert_eq!((found.len(), done), (0, 1), "{found:?}");
}
