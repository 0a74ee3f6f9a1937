//! Bug drafts: a directory per finding with its program, reduced where there is time, and what was found out.

use crate::aim::{Aim, demand_of, self_contained, shrink};
use crate::error::ExplainError;
use crate::expectation::faults_of;
use crate::explainer::{ExplainStage, Explained, Explainer, FindingCase};
use crate::isolation;
use crate::judge::BuildJudge;
use crate::update::Update;
use crate::versions::Versions;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};
use trueline_model::{Fault, Language, Program};
use trueline_reduce::{ReduceProgress, ScriptSpec, interesting_script};
use trueline_toolchain::find_compiler;
use trueline_triage::{Draft, Setting, write_draft};

/// The script that a reducer (or a person) asks about a finding.
pub fn script_of(program: &Program, file: &str, setting: &Setting, kind: &str, pass: Option<&str>) -> String {
    let own = std::env::current_exe().ok().map_or_else(|| "trueline".to_owned(), |p| p.display().to_string());
    let clang = ["clang-16", "clang-19", "clang-14", "clang"].iter().find_map(|n| find_compiler(n).ok());
    let clang = clang.filter(|_| program.language != Language::Rust).and_then(|c| c.driver(program.language).ok());
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
        demand: demand_of(kind),
        sanitizers: trueline_generate::sanitizers_for(program.language),
    })
}

/// A reduced program and what was found out about it anew.
struct Smaller {
    text: String,
    explained: Explained,
}

impl Explainer<'_> {
    /// Writes one directory per finding, with a reduced program when there is time for it.
    pub fn write_drafts(&self, dir: &Path, explained: &[Explained], reduce: Option<Duration>) -> Result<(), ExplainError> {
        for (index, finding) in explained.iter().enumerate().filter(|(_, e)| e.shows()) {
            let case = &finding.case;
            let setting = Setting { compiler: case.compiler.clone(), opt: case.opt };
            let kind = case.fault.kind();
            let number = case.id.map_or(index as i64 + 1, |id| id.0);
            let name = format!("{number:03}-{}-{}{}-{kind}", case.compiler.id.kind, case.compiler.major(), case.opt);
            let pass = finding.attribution.as_ref().and_then(|a| a.name.as_ref()).map(|n| n.0.as_str());
            let smaller = match reduce {
                Some(time) => self.reduce(finding, &setting, kind, pass, time, &name)?,
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
            write_draft(&dir.join(&name), &draft).map_err(|source| ExplainError::Draft { name, source })?;
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
        name: &str,
    ) -> Result<Option<Smaller>, ExplainError> {
        let whole = self_contained(finding.case.program.clone(), &self.looking, setting, kind, pass)?;
        let aim = Aim { looking: self.looking.clone(), setting: setting.clone(), kind: kind.to_owned(), pass: pass.map(str::to_owned) };
        let started = Instant::now();
        let watch = |progress: &ReduceProgress<'_>| {
            (self.progress)(ExplainStage::Reducing { lines: progress.lines, from: progress.from });
            if started.elapsed() > time { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let reduced = shrink(&whole, &aim, None, time, &watch).map_err(|source| ExplainError::Reduce { name: name.to_owned(), source })?;
        let program = Program { source: reduced.text.clone(), ..whole };
        let judge = BuildJudge::new(program.clone(), &self.looking)?;
        let faults = faults_of(program.clone(), &self.looking, setting)?;
        let Some(fault) = faults.into_iter().find(|f| f.kind() == kind) else { return Ok(None) };
        let case = FindingCase { id: finding.case.id, program, compiler: finding.case.compiler.clone(), opt: finding.case.opt, fault };
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
