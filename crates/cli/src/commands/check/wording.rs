//! What each output says of each invariant, side by side, as snapshots. `INSTA_UPDATE=always cargo test -p trueline wording`
//! writes them anew; a diff of them shows a reworded sentence everywhere that it is read.

use super::batch::Checked;
use super::json::RunDocument;
use super::{junit, sarif, text};
use crate::style::Style;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use trueline_model::*;
use trueline_store::{BuildRecord, Claim, FindingEvidence, NewFinding, ProgramKey, Store, UnitResult};
use trueline_triage::{Draft, write_draft};

/// Violations of an invariant, one for each way in which it is worded.
fn examples(invariant: Invariant) -> Vec<(&'static str, Breach)> {
    let name = |text: &str| -> std::sync::Arc<str> { text.into() };
    let list = |values: &[&str], cut| Listed { first: values.iter().map(|v| name(v)).collect(), cut };
    let held = |element, cut| NeverHeld { variable: name("v"), element, value: name("9"), allowed: list(&["1", "2"], cut) };
    let (open, close) = (Line(2), Line(4));
    match invariant {
        Invariant::Line => vec![
            ("one-row", Breach::Line(NeverRun { rows: vec![Some(Line(7))] })),
            ("several-rows", Breach::Line(NeverRun { rows: vec![Some(Line(7)), None, Some(Line(9))] })),
        ],
        Invariant::Backtrace => {
            let sets = Listed { first: vec![vec![name("g"), name("main")], vec![name("main")]], cut: false };
            vec![("intruder", Breach::Backtrace(NotActive { allowed: sets, intruder: Some(name("f")) }))]
        }
        Invariant::Scope => vec![("local", Breach::Scope(OutOfScope { variable: name("v"), owner: name("f"), declared: Line(3) }))],
        Invariant::Parameter => vec![("scalar", Breach::Parameter(held(None, true)))],
        Invariant::Value => vec![("scalar", Breach::Value(held(None, false))), ("element", Breach::Value(held(Some(3), false)))],
        Invariant::Stale => {
            let location = LocationSpan { low: 0x1130, high: 0x1150, expression: name("reg5"), instructions: 5, lines: 1 };
            let stale = |element, assignment, location| OtherMoment {
                variable: name("v"),
                element,
                value: name("9"),
                expected: list(&["1", "2"], false),
                assignment,
                location,
            };
            let late = Assignment { line: Line(5), shown: Timing::Late };
            let early = Assignment { line: Line(8), shown: Timing::Early };
            vec![
                ("late", Breach::Stale(stale(None, Some(late), Some(location)))),
                ("early", Breach::Stale(stale(Some(3), Some(early), None))),
                ("bare", Breach::Stale(stale(None, None, None))),
            ]
        }
        Invariant::Codegen => {
            let (with, without) = (CodeExtent { size: 64, differs_at: 4112 }, CodeExtent { size: 48, differs_at: 4100 });
            vec![
                ("bytes", Breach::Codegen(CodeDifference::Bytes { section: name(".text"), with, without })),
                ("extra-section", Breach::Codegen(CodeDifference::ExtraSection { section: name(".fini") })),
                ("compare-debug", Breach::Codegen(CodeDifference::CompareDebug { message: name("a.c: failure (length)") })),
            ]
        }
        Invariant::SelfContradiction => vec![
            ("stands", Breach::SelfContradiction(Contradiction::Frame { depth: 0, first: open, last: close })),
            ("calls", Breach::SelfContradiction(Contradiction::Frame { depth: 1, first: open, last: close })),
            ("block", Breach::SelfContradiction(Contradiction::Block { variable: name("v"), open, close })),
        ],
        Invariant::Dwarf => vec![("unreadable", Breach::Dwarf(IllFormed { variable: name("v") }))],
        Invariant::Breakpoint => {
            let effect = || LineEffect::Call { callee: name("output") };
            let store = LineEffect::Store { object: name("total") };
            vec![
                ("never-hit", Breach::Breakpoint(Astray::NeverHit { effect: effect(), places: vec![0x1150] })),
                ("moved", Breach::Breakpoint(Astray::Moved { effect: store, to: vec![Line(9)] })),
                ("not-run", Breach::Breakpoint(Astray::NotRun { places: vec![0x1140, 0x1150] })),
            ]
        }
        Invariant::Lost => {
            let lost = |evidence| Breach::Lost(Missing { variable: name("v"), evidence });
            vec![
                ("argument", lost(Recovery::Argument { callee: name("output"), place: name("esi") })),
                ("stored", lost(Recovery::Stored { object: name("total"), place: name("the constant 5") })),
                ("returns", lost(Recovery::Returns { value: name("5"), back_on: Line(9) })),
                ("setting", lost(Recovery::OtherSetting { flag: name("-gdwarf-4"), value: name("5") })),
                ("relation", lost(Recovery::Relation { expression: name("(rax - 16) / 4") })),
            ]
        }
    }
}

fn violation(breach: Breach) -> Violation {
    let of_build = breach.invariant() == Invariant::Codegen;
    Violation {
        file: FileName::new("src/a.c"),
        line: Line(7),
        function: "f".into(),
        frames: vec!["f".into(), "main".into()],
        pc: (!of_build).then_some(0x1140),
        breach,
    }
}

fn compiler() -> CompilerId {
    CompilerId { path: "/usr/bin/gcc-12".into(), kind: CompilerKind::Gcc, version: "12.2.0".into() }
}

fn program() -> Program {
    let origin = Origin::Generated { generator: "weave".into(), seed: 1 };
    Program { name: "a.c".into(), language: Language::C, source: "int main(void) { return 0; }\n".into(), origin, cflags: Vec::new() }
}

fn terminal(v: &Violation) -> String {
    let words = wording::words(v);
    let margin = if words.margin.is_empty() { String::new() } else { format!("      beside the line: {}\n", words.margin) };
    format!("{}\n{margin}{}", text::heading(v, &words, Style::Plain), text::facts(&words, Style::Plain))
}

/// The finding's page: its heading and first paragraph, as the file has them.
fn page(v: &Violation, dir: &Path) -> String {
    let store = Store::open(&dir.join("campaign.db")).unwrap();
    let key = ProgramKey { source: "weave".into(), seed: 1, mutation: 0, language: Language::C };
    let Claim::Work(units) = store.claim(&key, &[(compiler(), vec![OptLevel::O2])]).unwrap() else { panic!("nothing to do") };
    let fault = Fault::Violation(v.clone());
    let (seen_by, not_seen_by) = (vec![Reader::Gdb], Vec::new());
    let finding = Finding { fault, compiler: compiler(), opt: OptLevel::O2, program: String::new(), seen_by, not_seen_by, verdict: None };
    let (reference, optimized) = (BuildRecord::default(), BuildRecord::default());
    let evidence = FindingEvidence { program: program(), reference, optimized, readers: Vec::new(), dwarf: Vec::new(), minimal: None };
    store.finish_unit(units[0].id, UnitResult::default(), &[NewFinding { finding, class: "class".into(), evidence }]).unwrap();
    trueline_report::write_html(&store, &dir.join("report")).unwrap();
    let page = std::fs::read_to_string(dir.join("report/findings/1.html")).unwrap();
    let lead = page.lines().filter(|line| line.starts_with("<h1>") || line.starts_with("<p class=\"lead\"><span"));
    lead.map(|line| line.to_owned() + "\n").collect()
}

/// What a bug draft says of the fault, and what its script is told.
fn draft(v: &Violation, dir: &Path) -> String {
    let (program, compiler, fault) = (program(), compiler(), Fault::Violation(v.clone()));
    let draft = Draft {
        program: &program,
        reduced: None,
        fault: &fault,
        compiler: &compiler,
        opt: OptLevel::O2,
        attribution: None,
        fingerprint: None,
        readings: &[],
        verdict: None,
        dwarf: None,
        update: None,
        next: None,
        interesting: "",
    };
    write_draft(dir, &draft).unwrap();
    let report = std::fs::read_to_string(dir.join("report.md")).unwrap();
    let (title, rest) = report.split_once('\n').unwrap();
    let fault = rest.split_once("## Expected").unwrap().1;
    let script = std::fs::read_to_string(dir.join("reproduce.sh")).unwrap();
    let told = script.lines().filter(|line| ["KIND=", "VARIABLE=", "VALUE=", "ALLOWED=", "ELEMENT="].iter().any(|n| line.starts_with(n)));
    format!("{title}\n## Expected{}\n{}\n", fault.trim_end(), told.collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_output_says_the_same_of_every_invariant() {
    for invariant in Invariant::ALL {
        for (name, breach) in examples(invariant) {
            assert_eq!(breach.invariant(), invariant);
            let (v, dir) = (violation(breach), tempfile::tempdir().unwrap());
            let run = RunDocument::of_violations("src/a.c", vec![v.clone()]);
            let checked =
                [Checked { program: "src/a.c".into(), text: String::new(), runs: vec![run], lines: BTreeMap::new(), pages: Vec::new() }];
            let log: Value = serde_json::from_str(&sarif::log(&checked).unwrap()).unwrap();
            let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
            let rule = rules.iter().find(|rule| rule["id"] == invariant.name()).unwrap();
            let all = [
                ("terminal", terminal(&v)),
                ("HTML", page(&v, dir.path())),
                ("SARIF", format!("{:#}\n{:#}\n", rule, log["runs"][0]["results"][0])),
                ("JUnit", junit::report(&checked)),
                ("bug draft", draft(&v, &dir.path().join("draft"))),
                ("a line of progress", wording::headline(&Fault::Violation(v.clone())) + "\n"),
                ("triage", wording::identity(&Fault::Violation(v.clone())) + "\n"),
                ("a reader that agrees", wording::sighting(&v) + "\n"),
                ("class", v.breach.shape().unwrap_or("none").to_owned() + "\n"),
            ];
            let side_by_side: String = all.iter().map(|(output, said)| format!("== {output}\n{said}\n")).collect();
            insta::assert_snapshot!(format!("{invariant}-{name}"), side_by_side);
        }
    }
}
