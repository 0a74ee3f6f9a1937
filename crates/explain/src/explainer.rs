//! From a finding to its explanation.

use crate::error::ExplainError;
use crate::judge::{BuildJudge, FaultProbe, Looking, Sought};
use crate::readers::{ReaderQuestion, Readers, verdict};
use crate::update::{self, Update};
use crate::versions::Versions;
use std::sync::atomic::{AtomicUsize, Ordering};
use trueline_check::{CheckRun, Reference};
use trueline_model::{Fault, FindingId, Fingerprint, OptLevel, Program, Reading, Verdict, Violation, wording};
use trueline_toolchain::Compiler;
use trueline_triage::{Attribution, CachedProbe, Cluster, KnownBug, KnownBugs, Level, Presence, Setting, cluster, excerpt, fingerprint};

/// A finding to be explained.
pub struct FindingCase {
    /// Its number, when it comes from a store.
    pub id: Option<FindingId>,
    /// The program that shows the fault.
    pub program: Program,
    /// The compiler that it was found with.
    pub compiler: Compiler,
    /// The level that it was found at.
    pub opt: OptLevel,
    /// What is wrong.
    pub fault: Fault,
}

/// Whether a finding can be seen again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steadiness {
    /// Every build and every run shows it.
    Shows,
    /// No build shows it any more.
    Gone,
    /// Some runs show it and others do not.
    Flaky {
        /// Times it showed.
        seen: usize,
        /// Times it was asked.
        of: usize,
    },
}

/// A finding and all that was found out.
pub struct Explained {
    /// The finding that was explained.
    pub case: FindingCase,
    /// Whether it can be seen again; nothing else is known of one that cannot.
    pub steadiness: Steadiness,
    /// The pass, for its own compiler.
    pub attribution: Option<Attribution>,
    /// What each version of the compiler says.
    pub fingerprint: Fingerprint,
    /// What each version said.
    pub levels: Vec<Level>,
    /// What each reader said.
    pub readings: Vec<Reading>,
    /// Whose fault the readers make it, with the reason.
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
        let what = format!("{} ({} {})", wording::identity(&self.case.fault), self.case.compiler.id, self.case.opt);
        match self.steadiness {
            Steadiness::Shows => None,
            Steadiness::Gone => Some(format!("{what}: the program no longer shows it")),
            Steadiness::Flaky { seen, of } => Some(format!("{what}: flaky, it showed {seen} times out of {of}")),
        }
    }
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainStage {
    /// Findings are being explained.
    Explained {
        /// How many are.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// A program is being reduced.
    Reducing {
        /// Lines it has.
        lines: usize,
        /// Lines it had.
        from: usize,
    },
}

/// Explains findings, one after the other, with what they share.
pub struct Explainer<'a> {
    /// How the searches look.
    pub looking: Looking,
    /// The versions of fingerprints.
    pub versions: &'a Versions,
    /// The known bugs that findings are compared with.
    pub known: &'a KnownBugs,
    /// Who is asked whose fault it is; nobody where the user wants nobody asked.
    pub readers: Option<&'a Readers>,
    /// Told how far the work is; may be called from several threads.
    pub progress: &'a (dyn Fn(ExplainStage) + Sync),
}

impl Explainer<'_> {
    /// Explains all of them, in parallel, sharing builds between findings of one program.
    pub fn explain_all(&self, cases: Vec<FindingCase>) -> Result<Vec<Explained>, ExplainError> {
        use rayon::prelude::*;
        let total = cases.len();
        let done = AtomicUsize::new(0);
        // Neighbours of one program, compiler and level share a judge and with it every build.
        let mut groups: Vec<Vec<FindingCase>> = Vec::new();
        for case in cases {
            match groups.last_mut() {
                Some(group) if group[0].program == case.program => group.push(case),
                _ => groups.push(vec![case]),
            }
        }
        let explained: Vec<Vec<Explained>> = groups
            .into_par_iter()
            .map(|group| {
                let judge = BuildJudge::new(group[0].program.clone(), &self.looking)?;
                let explain = |case| {
                    let explained = self.explain(&judge, case);
                    let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                    (self.progress)(ExplainStage::Explained { done: n, total });
                    explained
                };
                group.into_iter().map(explain).collect::<Result<Vec<_>, ExplainError>>()
            })
            .collect::<Result<_, ExplainError>>()?;
        let mut explained: Vec<Explained> = explained.into_iter().flatten().collect();
        number_clusters(&mut explained);
        Ok(explained)
    }

    pub(crate) fn explain(&self, judge: &BuildJudge, case: FindingCase) -> Result<Explained, ExplainError> {
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
            && let Some(readers) = self.readers
            && let Some(run) = judge.build_again(&setting)
        {
            let same = run.violations.iter().find(|v| v.same_as(violation)).unwrap_or(violation);
            explained.dwarf = excerpt(&run.debug, same);
            if let Ok(reference) = judge.reference(&setting.compiler).as_ref() {
                explained.readings = ask_readers(readers, reference, &run, &explained.case.program, violation);
                explained.verdict = verdict(&explained.readings);
            }
        }
        let FindingCase { fault, program, .. } = &explained.case;
        explained.known = self.known.matching(fault, program, &vector, explained.dwarf.as_deref()).cloned();
        explained.update = attribution.as_ref().and_then(|a| update::watch(&explained.case, a));
        explained.attribution = attribution;
        explained.fingerprint = vector;
        explained.levels = levels;
        Ok(explained)
    }
}

/// Looks twice, and five times when the two looks differ or see nothing.
fn steadiness(judge: &BuildJudge, setting: &Setting, sought: &Sought) -> Result<Steadiness, ExplainError> {
    let look = |anew: bool| -> Result<bool, ExplainError> {
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

/// Every reader steps through one build, or looks at the address where steps do not tell.
fn ask_readers(readers: &Readers, reference: &Reference, run: &CheckRun, program: &Program, violation: &Violation) -> Vec<Reading> {
    let of_program = readers.of_program(reference);
    // One finding is explained at a time, and no habit stands for an answer about it.
    let question = ReaderQuestion { violation, class: String::new() };
    of_program.of_build(run, &program.name, vec![question]).step_through(0)
}

fn number_clusters(explained: &mut [Explained]) {
    let shown: Vec<usize> = (0..explained.len()).filter(|i| explained[*i].shows()).collect();
    let vectors: Vec<(Fingerprint, String)> =
        shown.iter().map(|i| (explained[*i].fingerprint.clone(), explained[*i].case.fault.kind().to_owned())).collect();
    let clusters: Vec<Cluster> = cluster(&vectors);
    for cluster in clusters {
        for member in cluster.members {
            explained[shown[member]].cluster = cluster.number;
        }
    }
}
