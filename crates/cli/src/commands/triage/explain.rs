//! From a finding to its explanation.

use super::Versions;
use super::isolation;
use super::update::{self, Update};
use crate::commands::reduce::{Aim, self_contained, shrink};
use crate::fault::{FaultProbe, Judge, Looking, Sought, check_options, describe, kind_of};
use anyhow::Context;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use trueline_check::{CheckRun, Checker};
use trueline_model::{EngineKind, Fault, FindingId, Fingerprint, Language, OptLevel, Policy, Program, Reader, Verdict};
use trueline_reduce::{Progress, ScriptSpec, interesting_script};
use trueline_toolchain::{Compiler, find_compiler};
use trueline_triage::{
    Attribution, CachedProbe, Cluster, Draft, KnownBug, KnownBugs, Level, Presence, Reading, Setting, cluster, excerpt, fingerprint,
    write_draft,
};

/// A finding to be explained.
pub struct Case {
    /// Its number, when it comes from a store.
    pub id: Option<FindingId>,
    /// The program.
    pub program: Program,
    /// The compiler.
    pub compiler: Compiler,
    /// The level.
    pub opt: OptLevel,
    /// What is wrong.
    pub fault: Fault,
}

/// Whether a finding can be seen again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steadiness {
    /// Every time.
    Shows,
    /// Never.
    Gone,
    /// Sometimes.
    Flaky {
        /// Times it showed.
        seen: usize,
        /// Times it was asked.
        of: usize,
    },
}

/// A finding and all that was found out.
pub struct Explained {
    /// The finding.
    pub case: Case,
    /// Whether it can be seen again; nothing else is known of one that cannot.
    pub steadiness: Steadiness,
    /// The pass, for its own compiler.
    pub attribution: Option<Attribution>,
    /// The vector.
    pub fingerprint: Fingerprint,
    /// What each version said.
    pub levels: Vec<Level>,
    /// What each reader said.
    pub readings: Vec<Reading>,
    /// Whose fault.
    pub verdict: Option<(Verdict, String)>,
    /// The wrong debug information.
    pub dwarf: Option<String>,
    /// What the pass did wrong, where it could be watched.
    pub update: Option<Update>,
    /// The known bug that it is.
    pub known: Option<KnownBug>,
    /// Its cluster among what was explained together.
    pub cluster: usize,
}

impl Explained {
    /// True when the finding can be seen again.
    pub fn shows(&self) -> bool {
        self.steadiness == Steadiness::Shows
    }

    /// What a person should know of a finding that cannot be explained.
    pub fn note(&self) -> Option<String> {
        let what = format!("{} ({} {})", describe(&self.case.fault), self.case.compiler.id, self.case.opt);
        match self.steadiness {
            Steadiness::Shows => None,
            Steadiness::Gone => Some(format!("{what}: the program no longer shows it")),
            Steadiness::Flaky { seen, of } => Some(format!("{what}: flaky, it showed {seen} times out of {of}")),
        }
    }
}

/// Explains findings.
pub struct Explainer<'a> {
    /// How the searches look.
    pub looking: Looking,
    /// The versions of fingerprints.
    pub versions: &'a Versions,
    /// Known bugs.
    pub known: &'a KnownBugs,
    /// Whether gdb and lldb are asked.
    pub ask_readers: bool,
    /// Whether progress can be shown.
    pub terminal: bool,
}

impl Explainer<'_> {
    /// Explains all of them, in parallel, sharing builds between findings of one program.
    pub fn explain_all(&self, cases: Vec<Case>) -> anyhow::Result<Vec<Explained>> {
        use rayon::prelude::*;
        let total = cases.len();
        let done = AtomicUsize::new(0);
        // Neighbours of one program, compiler and level share a judge and with it every build.
        let mut groups: Vec<Vec<Case>> = Vec::new();
        for case in cases {
            match groups.last_mut() {
                Some(group) if group[0].program == case.program => group.push(case),
                _ => groups.push(vec![case]),
            }
        }
        let explained: Vec<Vec<Explained>> = groups
            .into_par_iter()
            .map(|group| {
                let judge = Judge::new(group[0].program.clone(), &self.looking)?;
                let explain = |case| {
                    let explained = self.explain(&judge, case);
                    let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if self.terminal {
                        eprint!("\r\x1b[K{n} of {total} explained");
                    }
                    explained
                };
                group.into_iter().map(explain).collect::<anyhow::Result<Vec<_>>>()
            })
            .collect::<anyhow::Result<_>>()?;
        if self.terminal {
            eprint!("\r\x1b[K");
        }
        let mut explained: Vec<Explained> = explained.into_iter().flatten().collect();
        number_clusters(&mut explained);
        Ok(explained)
    }

    fn explain(&self, judge: &Judge, case: Case) -> anyhow::Result<Explained> {
        let setting = Setting { compiler: case.compiler.clone(), opt: case.opt };
        let sought = Sought(case.fault.clone());
        let steadiness = steadiness(judge, &setting, &sought)?;
        let nothing = |case| Explained {
            case,
            steadiness,
            attribution: None,
            fingerprint: Fingerprint::default(),
            levels: Vec::new(),
            readings: Vec::new(),
            verdict: None,
            dwarf: None,
            update: None,
            known: None,
            cluster: 0,
        };
        if steadiness != Steadiness::Shows {
            return Ok(nothing(case));
        }
        let probe = FaultProbe { judge, sought };
        let cached = CachedProbe::new(&probe);
        let (vector, levels) = fingerprint(&cached, &self.versions.settings(&case.compiler, case.opt))?;
        let own = case.compiler.id.to_string();
        let attribution = levels.iter().find(|l| l.version == own).and_then(|l| l.attribution.clone());
        let mut explained = nothing(case);
        if let Fault::Violation(violation) = &explained.case.fault
            && self.ask_readers
            && let Some(run) = judge.build_again(&setting)
        {
            let same = run.violations.iter().find(|v| v.same_as(violation)).unwrap_or(violation);
            explained.dwarf = excerpt(&run.binary, same);
            explained.readings = ask_readers(judge, &setting, &run, &explained.case.fault);
            explained.verdict = trueline_triage::judge(&explained.readings);
        }
        explained.known = self.known.matching(kind_of(&explained.case.fault), &vector).cloned();
        explained.update = attribution.as_ref().and_then(|a| update::watch(&explained.case, a));
        explained.attribution = attribution;
        explained.fingerprint = vector;
        explained.levels = levels;
        Ok(explained)
    }
}

/// Looks twice, and five times when the two looks differ or see nothing.
fn steadiness(judge: &Judge, setting: &Setting, sought: &Sought) -> anyhow::Result<Steadiness> {
    let look = |anew: bool| -> anyhow::Result<bool> {
        let shown = if anew { judge.judge_anew(setting, &[])?.shown } else { judge.judge(setting, &[])?.shown.clone() };
        Ok(sought.presence(&shown) == Presence::Present)
    };
    let first = [look(false)?, look(true)?];
    if first == [true, true] {
        return Ok(Steadiness::Shows);
    }
    let mut seen = first.iter().filter(|s| **s).count();
    for _ in 0..3 {
        seen += usize::from(look(true)?);
    }
    Ok(if seen == 0 { Steadiness::Gone } else { Steadiness::Flaky { seen, of: 5 } })
}

/// Every reader at hand on one binary.
fn ask_readers(judge: &Judge, setting: &Setting, run: &CheckRun, fault: &Fault) -> Vec<Reading> {
    let reference = judge.reference(&setting.compiler);
    let (Ok(reference), Fault::Violation(violation)) = (reference.as_ref(), fault) else { return Vec::new() };
    let readers = [
        (Reader::Native(Policy::Gdb), EngineKind::Native, Policy::Gdb),
        (Reader::Native(Policy::Lldb), EngineKind::Native, Policy::Lldb),
        (Reader::Gdb, EngineKind::Gdb, Policy::Gdb),
        (Reader::Lldb, EngineKind::Lldb, Policy::Lldb),
    ];
    let ask = |engine, policy| -> Result<bool, String> {
        let checker = Checker::new(check_options(&Looking::new(engine, policy))).map_err(|e| e.to_string())?;
        // An engine that stands in for another is no reader of its own.
        if checker.engine().kind() != engine {
            return Err(format!("the {engine} engine is not available"));
        }
        let again = checker.reread(reference).map_err(|e| e.to_string())?;
        let run = checker.recheck(&again, run).map_err(|e| e.to_string())?;
        Ok(run.violations.iter().any(|v| v.same_as(violation)))
    };
    let reading = |(reader, engine, policy)| match ask(engine, policy) {
        Ok(sees) => Reading { reader, sees: Some(sees), reason: None },
        Err(reason) => Reading { reader, sees: None, reason: Some(reason) },
    };
    readers.into_iter().map(reading).collect()
}

fn number_clusters(explained: &mut [Explained]) {
    let shown: Vec<usize> = (0..explained.len()).filter(|i| explained[*i].shows()).collect();
    let vectors: Vec<(Fingerprint, String)> =
        shown.iter().map(|i| (explained[*i].fingerprint.clone(), kind_of(&explained[*i].case.fault).to_owned())).collect();
    let clusters: Vec<Cluster> = cluster(&vectors);
    for cluster in clusters {
        for member in cluster.members {
            explained[shown[member]].cluster = cluster.number;
        }
    }
}

/// The script that a reducer (or a person) asks about a finding.
pub fn script_of(program: &Program, file: &str, setting: &Setting, kind: &str, pass: Option<&str>) -> String {
    let own = std::env::current_exe().ok().map_or_else(|| "trueline".to_owned(), |p| p.display().to_string());
    let clang = ["clang-16", "clang-19", "clang-14", "clang"].iter().find_map(|n| find_compiler(n).ok());
    let clang = clang.filter(|_| program.language == Language::C);
    let mut arguments: Vec<String> =
        vec!["--cc".to_owned(), setting.compiler.id.path.display().to_string(), format!("--opt={}", setting.opt)];
    arguments.extend(program.cflags.iter().map(|f| format!("--cflag={f}")));
    arguments.extend(["--expect".to_owned(), kind.to_owned()]);
    arguments.extend(pass.into_iter().flat_map(|p| ["--expect-pass".to_owned(), p.to_owned()]));
    interesting_script(&ScriptSpec {
        trueline: own,
        file: file.to_owned(),
        arguments,
        cflags: program.cflags.clone(),
        lints: clang.iter().flat_map(|c| trueline_generate::lints_of(c, program)).map(str::to_owned).collect(),
        clang: clang.map_or_else(String::new, |c| c.id.path.display().to_string()),
        demand: crate::commands::reduce::demand_of(kind),
    })
}

/// A reduced program and what was found out about it anew.
struct Smaller {
    text: String,
    explained: Explained,
}

impl Explainer<'_> {
    /// Writes one directory per finding, with a reduced program when there is time for it.
    pub fn write_drafts(&self, dir: &Path, explained: &[Explained], reduce: Option<Duration>) -> anyhow::Result<()> {
        for (index, finding) in explained.iter().enumerate().filter(|(_, e)| e.shows()) {
            let case = &finding.case;
            let setting = Setting { compiler: case.compiler.clone(), opt: case.opt };
            let kind = kind_of(&case.fault);
            let number = case.id.map_or(index as i64 + 1, |id| id.0);
            let name = format!("{number:03}-{}-{}{}-{kind}", case.compiler.id.kind, case.compiler.major(), case.opt);
            let pass = finding.attribution.as_ref().and_then(|a| a.name.as_ref()).map(|n| n.0.as_str());
            let smaller = match reduce {
                Some(time) => self.reduce(finding, &setting, kind, pass, time).with_context(|| format!("reducing {name}"))?,
                None => None,
            };
            // What the report shows is the smaller program, under the name that its file has in the draft.
            let extension = case.program.language.extension();
            let (stem, shown) = smaller.as_ref().map_or(("program", finding), |s| ("reduced", &s.explained));
            let file = format!("{stem}.{extension}");
            let script = script_of(&shown.case.program, &file, &setting, kind, pass);
            let fault = renamed(&shown.case.fault, &file);
            let update = shown.update.as_ref().map(Update::markdown);
            let next = isolation::markdown(shown, &file);
            let draft = Draft {
                program: &case.program,
                reduced: smaller.as_ref().map(|s| s.text.as_str()),
                fault: &fault,
                compiler: &case.compiler.id,
                opt: case.opt,
                attribution: shown.attribution.as_ref(),
                fingerprint: Some(&finding.fingerprint),
                readings: &shown.readings,
                verdict: shown.verdict.clone(),
                dwarf: shown.dwarf.as_deref(),
                update: update.as_deref(),
                next: Some(&next),
                interesting: &script,
            };
            write_draft(&dir.join(&name), &draft).with_context(|| format!("draft {name}"))?;
        }
        Ok(())
    }

    /// Reduces a finding's program and explains what is left; `None` when it cannot be reduced.
    fn reduce(
        &self,
        finding: &Explained,
        setting: &Setting,
        kind: &str,
        pass: Option<&str>,
        time: Duration,
    ) -> anyhow::Result<Option<Smaller>> {
        if finding.case.program.language != Language::C {
            return Ok(None);
        }
        let whole = self_contained(finding.case.program.clone(), &self.looking, setting, kind, pass)?;
        let aim = Aim { looking: self.looking.clone(), setting: setting.clone(), kind: kind.to_owned(), pass: pass.map(str::to_owned) };
        let started = Instant::now();
        let watch = |progress: &Progress<'_>| {
            if self.terminal {
                eprint!("\r\x1b[Kreducing: {} of {} lines", progress.lines, progress.from);
            }
            if started.elapsed() > time { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let reduced = shrink(&whole, &aim, None, time, &watch)?;
        let program = Program { source: reduced.text.clone(), ..whole };
        let judge = Judge::new(program.clone(), &self.looking)?;
        let faults = super::triage_one(program.clone(), &self.looking, setting)?;
        let Some(fault) = faults.into_iter().find(|f| kind_of(f) == kind) else { return Ok(None) };
        let case = Case { id: finding.case.id, program, compiler: finding.case.compiler.clone(), opt: finding.case.opt, fault };
        let alone = Explainer { versions: &Versions::None, looking: self.looking.clone(), ..*self };
        let explained = alone.explain(&judge, case)?;
        Ok(explained.shows().then_some(Smaller { text: reduced.text, explained }))
    }
}

/// A fault as it shows when the program's file has another name.
pub fn renamed(fault: &Fault, file: &str) -> Fault {
    match fault {
        Fault::Violation(violation) => {
            let mut violation = violation.clone();
            violation.file = trueline_model::FileName::new(file);
            Fault::Violation(violation)
        }
        other => other.clone(),
    }
}
