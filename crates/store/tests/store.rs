//! The store on real files: crashes, strangers' databases, merging.

use sha2::{Digest, Sha256};
use std::path::Path;
use trueline_model::*;
use trueline_store::*;

fn compiler(version: &str) -> CompilerId {
    CompilerId { path: "/usr/bin/gcc".into(), kind: CompilerKind::Gcc, version: version.to_owned() }
}

fn key(seed: u64) -> ProgramKey {
    ProgramKey { source: "weave".to_owned(), seed, mutation: 0, language: Language::C }
}

fn wanted() -> Vec<(CompilerId, Vec<OptLevel>)> {
    vec![(compiler("12.2.0"), vec![OptLevel::Og, OptLevel::O2]), (compiler("11.3.0"), vec![OptLevel::O2])]
}

fn finding(seed: u64, line: u32) -> NewFinding {
    let origin = Origin::Generated { generator: "weave".to_owned(), seed };
    let program = Program { name: "a.c".into(), language: Language::C, source: format!("int x{seed};"), origin, cflags: vec![] };
    let violation = Violation {
        file: FileName::new("a.c"),
        line: Line(line),
        function: "main".into(),
        frames: vec!["main".into()],
        pc: Some(4096),
        breach: Breach::Line(NeverRun::default()),
    };
    let finding = Finding {
        fault: Fault::Violation(violation),
        compiler: compiler("12.2.0"),
        opt: OptLevel::Og,
        program: String::new(),
        seen_by: vec![Reader::Gdb, Reader::Native(Policy::Gdb)],
        not_seen_by: vec![],
        verdict: Some(Verdict::Compiler),
    };
    let build = BuildRecord::default();
    let evidence =
        FindingEvidence { program, reference: build.clone(), optimized: build, readers: vec![], dwarf: vec!["row".into()], minimal: None };
    NewFinding { finding, class: format!("class {}", line % 2), evidence }
}

fn work(store: &Store, seed: u64) -> Vec<PlannedUnit> {
    match store.claim(&key(seed), &wanted()).unwrap() {
        Claim::Work(units) => units,
        other => panic!("{other:?}"),
    }
}

fn run_all(store: &Store, seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        if let Claim::Work(units) = store.claim(&key(seed), &wanted()).unwrap() {
            for unit in units {
                let found = if unit.opt == OptLevel::Og { vec![finding(seed, 3 + seed as u32)] } else { vec![] };
                store.finish_unit(unit.id, UnitResult { cpu: 0.5, compile_cpu: 0.4, ..UnitResult::default() }, &found).unwrap();
            }
            store.release(&key(seed)).unwrap();
        }
    }
}

#[test]
fn a_finding_comes_back_as_it_was_stored() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("a.db")).unwrap();
    let units = work(&store, 1);
    assert_eq!(units.len(), 3);
    let ids = store.finish_unit(units[0].id, UnitResult::default(), &[finding(1, 5), finding(1, 6), finding(1, 6)]).unwrap();
    assert_eq!(ids.len(), 2, "the same complaint twice is one finding");
    let record = store.finding(ids[0]).unwrap();
    assert_eq!((record.kind(), record.class.as_str(), &record.program), ("line", "class 1", &key(1)));
    let evidence = store.evidence(&record).unwrap().unwrap();
    assert_eq!(evidence, finding(1, 5).evidence);
    assert!(store.blob(&record.finding.program).unwrap().is_some());
    assert!(store.finding(FindingId(99)).unwrap_err().to_string().contains("no finding 99"));
    store.set_triage(ids[0], Some("gcc line -fcrossjumping"), "{}").unwrap();
    assert_eq!(store.finding(ids[0]).unwrap().class, "gcc line -fcrossjumping");
    assert_eq!(store.counts().unwrap().distinct, 2);
}

#[test]
fn findings_with_the_same_traces_keep_them_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = Store::open(&path).unwrap();
    let step = |line: u32| Step {
        step: u64::from(line),
        file: Some(FileName::new("a.c")),
        line: Some(Line(line)),
        pc: 0x1000,
        frames: [].into(),
        vars: Vec::new(),
    };
    let trace = |lines: std::ops::Range<u32>| KeptTrace::from(Trace { steps: lines.map(step).collect() });
    let (before, after) = (trace(1..400), trace(1..200));
    let with_traces = |line| {
        let mut new = finding(1, line);
        new.evidence.reference.trace = before.clone();
        new.evidence.optimized.trace = after.clone();
        new
    };
    let unit = work(&store, 1)[0].id;
    let ids = store.finish_unit(unit, UnitResult::default(), &[with_traces(5), with_traces(6), with_traces(7)]).unwrap();
    for (id, line) in ids.iter().zip(5..) {
        let record = store.finding(*id).unwrap();
        assert_eq!(store.evidence(&record).unwrap().unwrap(), with_traces(line).evidence);
    }
    let base = rusqlite::Connection::open(&path).unwrap();
    let large: i64 = base.query_row("SELECT count(*) FROM blobs WHERE size > 5000", [], |r| r.get(0)).unwrap();
    assert_eq!(large, 2, "one blob for each trace, however many findings show it");
}

#[test]
fn evidence_of_the_first_version_is_read_with_its_traces_inside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = Store::open(&path).unwrap();
    let unit = work(&store, 1)[0].id;
    let id = store.finish_unit(unit, UnitResult::default(), &[finding(1, 5)]).unwrap()[0];
    let record = store.finding(id).unwrap();
    // The document as it was: a trace in place of its address.
    let document = String::from_utf8(store.blob(record.evidence.as_deref().unwrap()).unwrap().unwrap()).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&document).unwrap();
    for build in ["reference", "optimized"] {
        assert!(value[build]["trace"].is_string());
        value[build]["trace"] = serde_json::json!({ "steps": [] });
    }
    let bytes = serde_json::to_vec(&value).unwrap();
    let base = rusqlite::Connection::open(&path).unwrap();
    let hash: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    let data = zstd::bulk::compress(&bytes, 3).unwrap();
    base.execute("INSERT INTO blobs (hash, size, data) VALUES (?, ?, ?)", rusqlite::params![hash, bytes.len() as i64, data]).unwrap();
    base.execute("UPDATE findings SET evidence = ?", [&hash]).unwrap();
    let record = store.finding(id).unwrap();
    assert_eq!(store.evidence(&record).unwrap().unwrap(), finding(1, 5).evidence);
}

#[test]
fn a_failed_unit_gets_one_more_try_and_no_third() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("a.db")).unwrap();
    let unit = work(&store, 1)[0].id;
    assert!(store.fail_unit(unit, "the debugger died").unwrap());
    assert!(work(&store, 1).iter().any(|u| u.id == unit));
    assert!(!store.fail_unit(unit, "the debugger died again").unwrap());
    assert!(!work(&store, 1).iter().any(|u| u.id == unit));
    assert_eq!(store.counts().unwrap().units_in("failed"), 1);
}

#[test]
fn a_unit_done_is_never_done_twice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = Store::open(&path).unwrap();
    let unit = work(&store, 1)[0].id;
    assert_eq!(store.finish_unit(unit, UnitResult::default(), &[finding(1, 5)]).unwrap().len(), 1);
    assert_eq!(store.finish_unit(unit, UnitResult::default(), &[finding(1, 7)]).unwrap().len(), 0);
    assert_eq!(store.counts().unwrap().findings, 1);
    store.release(&key(1)).unwrap();
    drop(store);
    // A new start sees two units left.
    assert_eq!(work(&Store::open(&path).unwrap(), 1).len(), 2);
}

#[test]
fn a_living_process_keeps_its_claim_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let first = Store::open(&path).unwrap();
    work(&first, 1);
    // The same process through another connection registers as another worker of a living process.
    let second = Store::open(&path).unwrap();
    assert_eq!(second.claim(&key(1), &wanted()).unwrap(), Claim::Taken);
    assert!(matches!(second.claim(&key(2), &wanted()).unwrap(), Claim::Work(_)));
    first.release(&key(1)).unwrap();
    assert!(matches!(second.claim(&key(1), &wanted()).unwrap(), Claim::Work(_)));
}

#[test]
fn a_rejected_program_loses_its_findings_and_is_not_planned_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("a.db")).unwrap();
    let units = work(&store, 1);
    store.finish_unit(units[0].id, UnitResult::default(), &[finding(1, 5)]).unwrap();
    store.reject(&key(1), "undefined behaviour: overflow").unwrap();
    assert_eq!(store.claim(&key(1), &wanted()).unwrap(), Claim::Done);
    let counts = store.counts().unwrap();
    assert_eq!((counts.findings, counts.rejected, counts.units_in("dropped")), (0, 1, 3));
    assert_eq!(store.rejections().unwrap().get("undefined behaviour"), Some(&1));
}

fn snapshot(path: &Path) -> (Vec<UnitRecord>, Vec<String>) {
    let store = Store::open_existing(path).unwrap();
    assert_eq!(store.integrity().unwrap(), "ok");
    let mut findings: Vec<String> = store.findings().unwrap().iter().map(|f| format!("{:?} {:?}", f.program, f.finding)).collect();
    findings.sort();
    (store.units().unwrap(), findings)
}

#[test]
fn merging_is_idempotent_and_does_not_depend_on_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    run_all(&Store::open(&path("whole.db")).unwrap(), 0..9);
    for shard in 0..3 {
        let store = Store::open(&path(&format!("{shard}.db"))).unwrap();
        run_all(&store, (0..9).filter(|s| s % 3 == shard));
        // One shard also began what another one finished.
        if shard == 2 {
            work(&store, 0);
        }
    }
    for (out, order) in [("forward.db", [0, 1, 2, 2]), ("backward.db", [2, 1, 0, 1])] {
        let merged = Store::open(&path(out)).unwrap();
        for shard in order {
            merged.merge_from(&path(&format!("{shard}.db"))).unwrap();
        }
        assert_eq!(merged.merge_from(&path("1.db")).unwrap(), MergeSummary::default());
        assert_eq!(merged.merge_from(&path(out)).unwrap(), MergeSummary::default());
        drop(merged);
        assert_eq!(snapshot(&path(out)), snapshot(&path("whole.db")), "{out}");
    }
}

#[test]
fn strangers_files_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let garbage = dir.path().join("garbage.db");
    std::fs::write(&garbage, "this is not a database, not even close to one".repeat(200)).unwrap();
    let error = Store::open(&garbage).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");

    let newer = dir.path().join("newer.db");
    drop(Store::open(&newer).unwrap());
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let error = Store::open(&newer).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");

    let error = Store::open_existing(&dir.path().join("nowhere.db")).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
}

#[test]
fn a_damaged_page_is_an_error_and_not_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    run_all(&Store::open(&path).unwrap(), 0..40);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    for at in (8192..bytes.len()).step_by(977) {
        bytes[at] ^= 0x5a;
    }
    std::fs::write(&path, bytes).unwrap();
    let damaged = match Store::open(&path) {
        Ok(store) => store.findings().is_err() || store.integrity().map_or(true, |text| text != "ok"),
        Err(_) => true,
    };
    assert!(damaged);
}

#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = Store::open(&path).unwrap();
    run_all(&store, 0..3);
    let before = store.counts().unwrap();
    drop(store);
    // SQLite's own page limit answers as a full disk does.
    let store = Store::open(&path).unwrap();
    store.limit_pages_for_test();
    let error = (100..2000).find_map(|seed| store.claim(&key(seed), &wanted()).err()).expect("the limit is reached");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.integrity().unwrap(), "ok");
    assert_eq!(store.counts().unwrap().findings, before.findings);
}

#[test]
fn many_may_make_one_database_at_the_same_moment() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("hunt.db");
        let start = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            let open = || {
                start.wait();
                Store::open(&db).map(drop)
            };
            let all: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
            for one in all {
                one.join().unwrap().unwrap();
            }
        });
        assert_eq!(Store::open_existing(&db).unwrap().integrity().unwrap(), "ok");
    }
}

#[test]
fn a_database_with_views_or_triggers_is_refused() {
    let hostile = [
        "DROP TABLE triage; CREATE VIEW triage AS WITH RECURSIVE n(finding) AS (SELECT 1 UNION ALL SELECT finding + 1 FROM n)
             SELECT finding, NULL AS class, '' AS document FROM n",
        "CREATE TRIGGER t AFTER UPDATE ON units BEGIN DELETE FROM findings; END",
    ];
    for sql in hostile {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("theirs.db");
        run_all(&Store::open(&path).unwrap(), 0..3);
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = Store::open_existing(&path).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        let ours = Store::open(&dir.path().join("ours.db")).unwrap();
        assert!(matches!(ours.merge_from(&path).unwrap_err(), StoreError::Corrupt { .. }));
        assert_eq!(ours.counts().unwrap().programs, 0);
    }
}

#[test]
fn a_lock_that_another_program_holds_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = Store::open(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let claim = scope.spawn(|| store.claim(&key(1), &wanted()).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!claim.is_finished(), "the lock was ignored");
        other.execute_batch("COMMIT").unwrap();
        assert!(matches!(claim.join().unwrap(), Claim::Work(_)));
    });
}

#[test]
fn a_database_that_may_not_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    run_all(&Store::open(&path).unwrap(), 0..1);
    // Permissions do not stop root, a file system without the file's directory does.
    let missing = Path::new("/proc/trueline/a.db");
    let error = Store::open(missing).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

#[test]
fn a_program_outlives_two_hundred_killed_processes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = Store::open(&path).unwrap();
    let units = work(&store, 1).len();
    // What a killed process leaves behind: its claim, under a number that nobody has any more.
    let dead = rusqlite::Connection::open(&path).unwrap();
    dead.execute("INSERT INTO processes (host, pid, birth, started_at) SELECT host, 999999999, 'x', 0 FROM processes LIMIT 1", []).unwrap();
    let ghost = dead.last_insert_rowid();
    for kill in 0..200 {
        dead.execute("UPDATE programs SET claimed_by = ?", [ghost]).unwrap();
        let Claim::Work(again) = store.claim(&key(1), &wanted()).unwrap() else { panic!("given up after {kill} kills") };
        assert_eq!(again.len(), units);
    }
    assert_eq!(store.units().unwrap().len(), units);
}

/// `tests/data/version-1.db.zst` was made by the last version whose violations were strings: four hunts of one program each
/// (gcc 12.2.0 and clang 16.0.6) and one finding explained by `triage`.
#[test]
fn a_database_of_version_1_is_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("campaign.db");
    let packed = include_bytes!("data/version-1.db.zst");
    std::fs::write(&path, zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let raw = |sql: &str| -> Vec<String> {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let keys = "SELECT unit || ' ' || kind || ' ' || key FROM findings ORDER BY id";
    let before = raw(keys);
    let old: Vec<serde_json::Value> =
        raw("SELECT document FROM findings ORDER BY id").iter().map(|d| serde_json::from_str(d).unwrap()).collect();

    let store = Store::open_existing(&path).unwrap();
    let findings = store.findings().unwrap();
    assert_eq!(findings.len(), 12);
    assert_eq!(raw(keys), before, "what identifies a finding stays");
    for (record, old) in findings.iter().zip(&old) {
        let Fault::Violation(v) = &record.finding.fault else { panic!("{record:?}") };
        assert_eq!(v.invariant().name(), old["invariant"]);
        assert_eq!(v.variable().map(|name| &**name), old["variable"].as_str());
        assert_eq!((u64::from(v.line.0), v.pc), (old["line"].as_u64().unwrap(), old["pc"].as_u64()));
        assert!(store.evidence(record).unwrap().is_some());
    }
    let classes: std::collections::BTreeSet<&str> = findings.iter().map(|f| f.class.as_str()).collect();
    assert!(classes.contains("gcc 12.2.0 · value · header · part of an aggregate"), "{classes:#?}");
    assert!(classes.contains("gcc 12.2.0 · self · header · stands outside the function"), "{classes:#?}");
    assert!(!classes.iter().any(|class| class.contains('#')), "{classes:#?}");
    let held = findings.iter().find_map(|f| match &f.finding.fault {
        Fault::Violation(v) => v.breach.wrong_value().filter(|held| held.element.is_some()),
        _ => None,
    });
    let held = held.expect("a value in an aggregate");
    assert!(!held.allowed.first.is_empty(), "{held:?}");
    let explained: Vec<&str> = findings.iter().filter_map(|f| f.triage.as_deref()).collect();
    let document: serde_json::Value = serde_json::from_str(explained[0]).unwrap();
    assert!(document["violation"]["rows"].is_array() && document["violation"]["why"].is_null(), "{document:#}");

    // Once is enough, and another database takes it over as it takes any.
    drop(store);
    let again = Store::open_existing(&path).unwrap().findings().unwrap();
    assert_eq!(again.iter().map(|f| &f.finding).collect::<Vec<_>>(), findings.iter().map(|f| &f.finding).collect::<Vec<_>>());
    let target = Store::open(&dir.path().join("other.db")).unwrap();
    assert_eq!(target.merge_from(&path).unwrap().findings, 12);
}
