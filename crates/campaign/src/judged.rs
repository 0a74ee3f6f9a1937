//! From violations to findings: what the readers say about a build, and the evidence that is kept of it. Levels at
//! which a compiler made the same file share all that was found out about it; each has its findings all the same.

use crate::class::{class_of, collapse};
use crate::program::{Specimen, Trial};
use crate::run::Campaign;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use trueline_check::CheckRun;
use trueline_dwarf::Module;
use trueline_explain::{ReaderQuestion, verdict};
use trueline_model::{Fault, Finding, OptLevel, Program, Reader, Reading, Trace, Violation};
use trueline_store::{BuildRecord, FindingEvidence, NewFinding, ReaderRecord};
use trueline_toolchain::{Compiler, Limits};
use trueline_trace::{TraceRequest, Vars};

/// Stops kept of a trace for a finding's page; programs here make a few hundred.
const KEPT_STEPS: u64 = 1500;

/// A build with all that was found out about it.
pub(crate) struct JudgedBuild {
    /// What the screening engine found; keeps the file.
    pub run: CheckRun,
    confirmed: Vec<Confirmed>,
    /// The build as pages show it, when one does.
    record: OnceCell<BuildRecord>,
}

/// A violation and what the readers say of it.
struct Confirmed {
    violation: Violation,
    class: String,
    answer: Answered,
}

/// What became of the question who sees a violation.
enum Answered {
    /// These readers see it or do not.
    Seen(Vec<Reading>),
    /// The debuggers that were asked do not see it.
    Unseen,
    /// Nobody was asked: its class was found often enough.
    Familiar,
}

/// What a unit brings into the store.
#[derive(Default)]
pub(crate) struct Harvest {
    /// Findings that are kept.
    pub findings: Vec<NewFinding>,
    /// How many more there were of classes that were found often enough.
    pub repeats: BTreeMap<String, u64>,
}

impl From<Vec<NewFinding>> for Harvest {
    fn from(findings: Vec<NewFinding>) -> Self {
        Self { findings, repeats: BTreeMap::new() }
    }
}

impl Campaign<'_> {
    /// Turns violations into findings: asks the other readers where the plan wants it and nobody did before, keeps the evidence.
    pub(crate) fn findings(
        &self,
        specimen: &Specimen<'_>,
        trial: &Trial<'_>,
        opt: OptLevel,
        run: &CheckRun,
        twin: Option<Rc<JudgedBuild>>,
    ) -> Harvest {
        let program = specimen.program;
        let Trial { compiler, reference, .. } = *trial;
        let judged = twin.unwrap_or_else(|| {
            let judged = Rc::new(self.ask_readers(program, trial, run));
            trial.judged.borrow_mut().push(Rc::clone(&judged));
            judged
        });
        let mut harvest = Harvest::default();
        for Confirmed { violation, class, answer } in &judged.confirmed {
            let readings = match answer {
                Answered::Unseen => {
                    self.count_unconfirmed();
                    continue;
                }
                Answered::Seen(readings) if !self.tally.is_familiar(class, self.plan.most_of_class) => readings,
                Answered::Seen(_) | Answered::Familiar => {
                    self.tally.keep(class);
                    *harvest.repeats.entry(class.clone()).or_default() += 1;
                    continue;
                }
            };
            let (is_first, keep) = self.tally.keep(class);
            let (before, after) = if keep {
                let before = trial.record.get_or_init(|| self.record(reference.binary(), reference.debug(), program));
                let after = judged.record.get_or_init(|| self.record(&run.binary, &run.debug, program));
                (before.clone(), after.clone())
            } else {
                (BuildRecord::default(), BuildRecord::default())
            };
            let dwarf = match (keep, violation.pc) {
                (true, Some(pc)) => run.debug.excerpt(Some(pc), violation.variable().map(|name| &**name)).into_lines(),
                _ => Vec::new(),
            };
            let minimal = if is_first { self.minimal(specimen, compiler, opt, class) } else { None };
            let evidence = FindingEvidence {
                program: program.clone(),
                reference: BuildRecord { command: reference.commands.join("\n"), ..before },
                optimized: BuildRecord { command: run.commands.join("\n"), ..after },
                readers: readings.iter().filter_map(ReaderRecord::of).collect(),
                dwarf,
                minimal,
            };
            let finding = finding_of(Fault::Violation(violation.clone()), compiler, opt, readings);
            harvest.findings.push(NewFinding { finding, class: class.clone(), evidence });
        }
        harvest
    }

    /// Asks the readers about every violation of a build.
    fn ask_readers(&self, program: &Program, trial: &Trial<'_>, run: &CheckRun) -> JudgedBuild {
        let class_of = |v: &Violation| class_of(&Fault::Violation(v.clone()), &trial.compiler.id, program);
        let question = |violation| ReaderQuestion { violation, class: class_of(violation) };
        let questions = collapse(&run.violations).into_iter().map(question).collect();
        let build = trial.readers.of_build(run, &program.name, questions);
        let confirmed = |(index, question): (usize, &ReaderQuestion<'_>)| Confirmed {
            violation: question.violation.clone(),
            class: question.class.clone(),
            answer: match self.tally.is_familiar(&question.class, self.plan.most_of_class) {
                true => Answered::Familiar,
                false => self.confirm(&build, index).map_or(Answered::Unseen, Answered::Seen),
            },
        };
        JudgedBuild { confirmed: build.questions().iter().enumerate().map(confirmed).collect(), run: run.clone(), record: OnceCell::new() }
    }

    /// The trace of one build, for the finding's page. No trace is not worth losing the finding for.
    fn record(&self, binary: &Path, debug: &Arc<Module>, program: &Program) -> BuildRecord {
        let mut trace = Trace::default();
        let request = TraceRequest {
            user_files: vec![program.own_text().file.to_owned()],
            policy: self.plan.policy,
            vars: Vars::All,
            max_steps: KEPT_STEPS,
            limits: Limits::seconds(30),
            debug: Some(Arc::clone(debug)),
            ..TraceRequest::new(binary)
        };
        let traced = self.checker.engine().trace(&request, &mut trace);
        if let Err(e) = &traced {
            self.warn_once(&format!("no trace kept: {e}"));
        }
        let shortened = trace.steps.len() as u64 >= KEPT_STEPS;
        BuildRecord { trace: trace.into(), shortened, ..BuildRecord::default() }
    }
}

/// A finding with the verdict that its readers' answers lead to.
pub(crate) fn finding_of(fault: Fault, compiler: &Compiler, opt: OptLevel, readings: &[Reading]) -> Finding {
    let readers = |sees: bool| -> Vec<Reader> { readings.iter().filter(|r| r.sees == Some(sees)).map(|r| r.reader).collect() };
    Finding {
        fault,
        compiler: compiler.id.clone(),
        opt,
        program: String::new(),
        seen_by: readers(true),
        not_seen_by: readers(false),
        verdict: verdict(readings).map(|(verdict, _)| verdict),
    }
}
