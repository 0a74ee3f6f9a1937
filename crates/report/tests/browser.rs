//! The report in a real browser: filters work, a finding opens, both traces step, nothing of a program runs.

use std::path::Path;
use trueline_model::*;
use trueline_store::*;
use trueline_toolchain::{Job, Limits};

const EVIL: &str = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";

fn step(number: u64, line: u32, value: &str) -> Step {
    let variable = Variable {
        name: EVIL.into(),
        kind: VarKind::Param,
        decl_line: 1,
        type_name: "int".into(),
        holds_pointer: false,
        observation: Observation::Value(value.into()),
    };
    let frame = Frame { function: EVIL.into(), kind: FrameKind::Inlined, file: None, line: Some(Line(line)) };
    Step {
        step: number,
        file: Some(FileName::new("a.c")),
        line: Some(Line(line)),
        pc: 0x1000 + number,
        frames: vec![frame].into(),
        vars: vec![variable],
    }
}

fn campaign(dir: &Path) -> Store {
    let store = Store::open(&dir.join("<b>hunt</b>.db")).unwrap();
    store.set_meta("generator", EVIL).unwrap();
    let compiler = |kind, version: &str| CompilerId { path: "/usr/bin/cc".into(), kind, version: version.to_owned() };
    let compilers = [compiler(CompilerKind::Gcc, "12.2.0"), compiler(CompilerKind::Clang, "16.0.6")];
    for (index, id) in compilers.iter().enumerate() {
        let key = ProgramKey { source: "weave".into(), seed: index as u64, mutation: 0, language: Language::C };
        let Claim::Work(units) = store.claim(&key, &[(id.clone(), vec![OptLevel::Og])]).unwrap() else { panic!("nothing to do") };
        let violation = Violation {
            file: FileName::new("a.c"),
            // The first is far down: a box must scroll to show it.
            line: Line(if index == 0 { 100 } else { 3 }),
            function: EVIL.into(),
            frames: vec![EVIL.into()],
            pc: Some(0x1001),
            breach: if index == 0 {
                Breach::Line(NeverRun { rows: vec![Some(Line(2)), Some(Line(3))] })
            } else {
                let allowed = Listed { first: vec![EVIL.into()], cut: false };
                Breach::Parameter(NeverHeld { variable: EVIL.into(), element: None, value: "9".into(), allowed })
            },
        };
        let origin = Origin::Generated { generator: "weave".into(), seed: 1 };
        let tail = "/* filler */\n".repeat(120);
        let source = format!("int g;\nint f(int p) {{\n  return p; /* {EVIL} */\n}}\nint main(void) {{ return f(1); }}\n{tail}int last;\n");
        let program = Program { name: format!("{EVIL}.c"), language: Language::C, source, origin, cflags: vec![] };
        let build = |steps: Vec<Step>| BuildRecord { command: format!("cc -g {EVIL}"), trace: Trace { steps }.into(), shortened: false };
        let evidence = FindingEvidence {
            program,
            reference: build(vec![step(0, 2, "1"), step(1, 3, "2"), step(2, 4, "3")]),
            optimized: build(vec![step(0, 2, "7"), step(1, 3, "9")]),
            readers: vec![ReaderRecord { reader: Reader::Gdb, sees: true, detail: EVIL.into() }],
            dwarf: vec![format!("row 0x1001 {EVIL}")],
            minimal: None,
        };
        let finding = Finding {
            fault: Fault::Violation(violation),
            compiler: id.clone(),
            opt: OptLevel::Og,
            program: String::new(),
            seen_by: vec![Reader::Gdb],
            not_seen_by: vec![],
            verdict: Some(Verdict::Compiler),
        };
        let class = format!("class {index} {EVIL}");
        store.finish_unit(units[0].id, UnitResult::default(), &[NewFinding { finding, class, evidence }]).unwrap();
    }
    store
}

/// Loads a page with a script at its end and returns the page as the browser then has it.
fn after(browser: &Path, page: &Path, script: &str) -> Option<String> {
    let text = std::fs::read_to_string(page).unwrap();
    // The driver runs inside the page: what it clicks is what a person would click.
    let driven = page.with_file_name("driven.html");
    std::fs::write(&driven, text.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let limits = Limits { memory: None, ..Limits::seconds(120) };
    let job = Job::new(browser).args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ]);
    let job = job.arg(format!("--user-data-dir={}", profile.path().display())).arg(format!("file://{}", driven.display()));
    let outcome = job.env("XDG_RUNTIME_DIR", profile.path()).limits(limits).run().ok()?;
    let dom = outcome.stdout_text();
    dom.contains("</html>").then_some(dom)
}

fn browser() -> Option<std::path::PathBuf> {
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .iter()
        .map(Into::into)
        .find(|p: &std::path::PathBuf| p.exists())
}

#[test]
fn nothing_of_a_program_reaches_a_page_unescaped() {
    let dir = tempfile::tempdir().unwrap();
    let store = campaign(dir.path());
    let index = trueline_report::write_html(&store, &dir.path().join("report")).unwrap();
    let pages = [index.clone(), index.with_file_name("findings").join("1.html"), index.with_file_name("findings").join("2.html")];
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(!text.contains("<script>document.title"), "{}", page.display());
        assert!(!text.contains("<img"), "{}", page.display());
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("//cdn"), "{} loads something", page.display());
    }
}

#[test]
fn filters_findings_and_traces_work_in_a_browser() {
    let Some(browser) = browser() else { return println!("skipped: Chromium is not installed") };
    let dir = tempfile::tempdir().unwrap();
    let store = campaign(dir.path());
    let index = trueline_report::write_html(&store, &dir.path().join("report")).unwrap();
    let script = "const s = document.getElementById('f-kind'); s.value = 'parameter'; s.dispatchEvent(new Event('change'));
        document.body.dataset.rows = Array.from(document.querySelectorAll('#list tbody tr')).map((r) => r.hidden).join();
        document.body.dataset.count = document.getElementById('shown').textContent;
        document.body.dataset.link = document.querySelector('#list tbody tr:not([hidden]) a').getAttribute('href');";
    let Some(dom) = after(&browser, &index, script) else { return println!("skipped: Chromium does not start here") };
    assert!(dom.contains("data-rows=\"true,false\""), "the filter hides the other kind");
    assert!(dom.contains("data-count=\"1 of 2\""));
    assert!(dom.contains("data-link=\"findings/2.html\""));
    assert!(!dom.contains("<title>owned"), "a program's text ran");

    let page = index.with_file_name("findings").join("1.html");
    let script = "document.body.dataset.seen = Array.from(document.querySelectorAll('.src')).map((box) => {
        const at = box.querySelector('.fault').getBoundingClientRect(), frame = box.getBoundingClientRect();
        return box.scrollTop > 0 && at.top >= frame.top && at.bottom <= frame.bottom;
    }).join();";
    let dom = after(&browser, &page, script).expect("the browser started once already");
    assert!(dom.contains("data-seen=\"true,true\""), "both boxes scroll to the faulty line");

    let page = index.with_file_name("findings").join("2.html");
    let script = "const at = (id) => document.querySelector('#' + id + ' .pos').textContent;
        const vars = (id) => document.querySelector('#' + id + ' .vars').textContent;
        const d = document.body.dataset;
        d.start = at('ref') + '|' + at('opt');
        d.value = vars('opt').includes('= 9');
        document.getElementById('both-back').click();
        d.back = at('ref') + '|' + at('opt');
        document.querySelector('#ref .next').click(); document.querySelector('#ref .next').click();
        d.next = at('ref') + '|' + at('opt');
        d.now = document.querySelector('#ref .now').dataset.line;";
    let dom = after(&browser, &page, script).expect("the browser started once already");
    assert!(dom.contains("data-start=\"stop 2 of 3 · line 3 · 0x1001|stop 2 of 2 · line 3 · 0x1001\""), "both start at the fault");
    assert!(dom.contains("data-value=\"true\""), "the variables of the stop are shown");
    assert!(dom.contains("data-back=\"stop 1 of 3 · line 2 · 0x1000|stop 1 of 2 · line 2 · 0x1000\""), "both step back");
    assert!(dom.contains("data-next=\"stop 3 of 3 · line 4 · 0x1002|stop 1 of 2 · line 2 · 0x1000\""), "one steps alone");
    assert!(dom.contains("data-now=\"4\""), "the line is marked");
    assert!(!dom.contains("<title>owned"), "a program's text ran");
}
