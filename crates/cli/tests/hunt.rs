//! `trueline hunt` as a process: killed, resumed, run twice at a time, given bad input.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use trueline_store::Store;

fn trueline() -> Command {
    Command::new(env!("CARGO_BIN_EXE_trueline"))
}

fn hunt(db: &Path, seeds: &str) -> Command {
    let mut command = trueline();
    command
        .args(["hunt", "--cc", "gcc", "--generator", "weave", "--opt=-O1,-O2", "--confirm", "none", "--no-report", "--jobs", "2"])
        .args(["--seeds", seeds, "--db"])
        .arg(db);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn kill_after(mut child: Child, time: Duration) {
    std::thread::sleep(time);
    // Child::kill is SIGKILL: no handler, no goodbye.
    let _ = child.kill();
    let _ = child.wait();
}

fn error_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn killed_at_random_moments_it_loses_nothing_and_does_nothing_twice() {
    // `make bench` sets 200; the default keeps a test run short.
    let kills: u64 = std::env::var("TRUELINE_KILLS").ok().and_then(|k| k.parse().ok()).unwrap_or(20);
    let programs = 4 + kills / 2;
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("hunt.db");
    let seeds = format!("1..{}", programs + 1);
    let mut moment = 0x2545_f491_4f6c_dd1du64;
    for _ in 0..kills {
        moment ^= moment << 13;
        moment ^= moment >> 7;
        moment ^= moment << 17;
        kill_after(hunt(&db, &seeds).spawn().unwrap(), Duration::from_millis(20 + moment % 700));
    }
    assert!(hunt(&db, &seeds).status().unwrap().success());
    let store = Store::open_existing(&db).unwrap();
    assert_eq!(store.integrity().unwrap(), "ok");
    let units = store.units().unwrap();
    let done = units.iter().filter(|u| u.state == "done").count() as u64;
    println!("{kills} kills: {} units planned, {done} done", units.len());
    assert_eq!((units.len() as u64, done), (programs * 2, programs * 2), "{units:?}");
    // What a run without any kill finds.
    let calm = dir.path().join("calm.db");
    assert!(hunt(&calm, &seeds).status().unwrap().success());
    let findings = |store: &Store| {
        let mut all: Vec<String> = store.findings().unwrap().iter().map(|f| format!("{:?} {:?}", f.program, f.finding)).collect();
        all.sort();
        all
    };
    assert_eq!(findings(&store), findings(&Store::open_existing(&calm).unwrap()));
    let report = trueline().args(["report", "--json", "--db"]).arg(&db).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    assert!(String::from_utf8_lossy(&report.stdout).contains("trueline.report/1"));
}

#[test]
fn two_processes_share_one_database() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("hunt.db");
    let mut both: Vec<Child> = (0..2).map(|_| hunt(&db, "1..13").spawn().unwrap()).collect();
    for child in &mut both {
        assert!(child.wait().unwrap().success());
    }
    // A program the other one held at the end is picked up by nobody but the next start.
    assert!(hunt(&db, "1..13").status().unwrap().success());
    let store = Store::open_existing(&db).unwrap();
    let units = store.units().unwrap();
    assert_eq!(units.len(), 24);
    assert!(units.iter().all(|u| u.state == "done"), "{units:?}");
    assert_eq!(store.integrity().unwrap(), "ok");
}

#[test]
fn variants_are_hunted_and_their_findings_know_the_insertions_they_need() {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !has("clang-16") && !has("clang") {
        return println!("skipped: profiling needs clang");
    }
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("a.db");
    let output = trueline()
        .args(["hunt", "--cc", "gcc", "--generator", "weave", "--opt=-O2", "--seeds", "3..5", "--mutate", "2", "--jobs", "1"])
        .args(["--confirm", "none", "--db"])
        .arg(&db)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let store = Store::open(&db).unwrap();
    let counts = store.counts().unwrap();
    assert_eq!((counts.programs, counts.rejected, counts.units_in("done")), (6, 0, 6), "{counts:?}");
    let mut first_seen = std::collections::HashSet::new();
    for record in store.findings().unwrap() {
        let is_first = first_seen.insert(record.class.clone());
        let evidence = store.evidence(&record).unwrap().unwrap();
        match evidence.minimal {
            // Whoever removes one of these loses the fault; they are part of the variant that was tested.
            Some(minimal) => {
                assert!(record.program.mutation > 0 && is_first, "{record:?}");
                assert!(minimal.insertions.iter().all(|i| i.strategy.parse::<trueline_mutate::Strategy>().is_ok()));
                assert!(minimal.program.source.len() <= evidence.program.source.len() + 200);
            }
            None => assert!(record.program.mutation == 0 || !is_first, "{record:?}"),
        }
    }
}

#[test]
fn a_class_seen_often_enough_is_counted_and_the_first_of_each_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("a.db");
    let flags = ["--most-of-class", "2", "--explain", "--explain-share", "60", "--seeds", "1..6", "--jobs", "1", "--confirm", "none"];
    let output = trueline()
        .args(["hunt", "--cc", "gcc", "--generator", "weave", "--opt=-O1,-O2", "--no-report"])
        .args(flags)
        .arg("--db")
        .arg(&db)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let store = Store::open_existing(&db).unwrap();
    let (counts, causes) = (store.counts().unwrap(), store.causes().unwrap());
    let all: u64 = store.class_counts().unwrap().values().sum();
    assert!(counts.repeated > 0, "{counts:?}");
    assert_eq!(all, counts.findings + counts.repeated);
    let mut kept = std::collections::BTreeMap::new();
    for (class, n) in store.class_counts().unwrap() {
        kept.insert(class, n.min(2));
    }
    assert_eq!(counts.findings, kept.values().sum::<u64>(), "two of each class are kept, and no more");
    assert!(causes.iter().any(|c| c.explained), "{causes:?}");
    assert_eq!(causes.iter().map(|c| c.findings).sum::<u64>(), counts.findings, "each finding is listed under one cause");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("best first") && told.contains("counted only"), "{told}");
}

#[test]
fn bad_input_is_told_in_words_with_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let garbage = dir.path().join("garbage.db");
    std::fs::write(&garbage, "not a database".repeat(500)).unwrap();
    let text = error_of(&trueline().args(["hunt", "--cc", "gcc", "--seeds", "1..2", "--db"]).arg(&garbage).output().unwrap());
    assert!(text.contains("not a campaign database or is damaged"), "{text}");
    let newer = dir.path().join("newer.db");
    drop(Store::open(&newer).unwrap());
    let bumped = Command::new("python3")
        .args(["-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA user_version = 99'); c.commit()"])
        .arg(&newer)
        .status();
    if bumped.is_ok_and(|status| status.success()) {
        let text = error_of(&trueline().args(["hunt", "--cc", "gcc", "--seeds", "1..2", "--db"]).arg(&newer).output().unwrap());
        assert!(text.contains("newer"), "{text}");
    }
    let text = error_of(&trueline().args(["report", "--db", "/nonexistent/hunt.db"]).output().unwrap());
    assert!(text.contains("no campaign database"), "{text}");
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let corpus = format!("corpus:{}", empty.display());
    let text =
        error_of(&trueline().args(["hunt", "--cc", "gcc", "--generator", &corpus, "--db"]).arg(dir.path().join("a.db")).output().unwrap());
    assert!(text.contains("holds no C, C++ or Rust program"), "{text}");
    let text = error_of(&trueline().args(["hunt", "--cc", "gcc-77", "--db"]).arg(dir.path().join("a.db")).output().unwrap());
    assert!(text.contains("apt-get install gcc-77"), "{text}");
}
