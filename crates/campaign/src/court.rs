//! Who sees a violation: asks as many readers as the plan wants, and no more than the answers so far require.

use crate::confirm::{Hearing, Testimony, confirmed};
use crate::glance::{Charge, Glances, Scene};
use crate::ledger::Advice;
use crate::plan::Confirm;
use crate::run::Campaign;
use std::cell::OnceCell;
use trueline_check::CheckRun;
use trueline_model::{EngineKind, Program, Violation};
use trueline_store::ReaderRecord;

/// The hearing of one build; everything is asked once, and only when needed.
pub(crate) struct Court<'c, 'r> {
    campaign: &'c Campaign<'c>,
    program: &'c Program,
    hearing: &'c Hearing<'r>,
    run: &'c CheckRun,
    glances: OnceCell<Glances>,
    natives: OnceCell<Vec<Testimony>>,
    all: OnceCell<Vec<Testimony>>,
}

impl<'c, 'r> Court<'c, 'r> {
    /// A court for one build.
    pub(crate) fn new(campaign: &'c Campaign<'c>, program: &'c Program, hearing: &'c Hearing<'r>, run: &'c CheckRun) -> Self {
        Self { campaign, program, hearing, run, glances: OnceCell::new(), natives: OnceCell::new(), all: OnceCell::new() }
    }

    /// What the readers say about one of the build's violations; `None` when the debuggers that were asked do not see it.
    pub(crate) fn hear(&self, charges: &[Charge<'_>], index: usize) -> Option<Vec<ReaderRecord>> {
        let Charge { violation, class } = &charges[index];
        let readers = &self.campaign.readers;
        match (self.campaign.plan.confirm, self.campaign.ledger.advice(class)) {
            (Confirm::Nothing, _) => Some(vec![readers.screening(violation)]),
            (Confirm::All, _) | (Confirm::Distinct, Advice::Ask) => self.step_through(violation, class),
            (Confirm::Distinct, Advice::Accept) => {
                let detail = "the screening engine; others of this class were confirmed".to_owned();
                Some(vec![ReaderRecord { detail, ..readers.screening(violation) }])
            }
            (Confirm::Distinct | Confirm::Spot, Advice::Drop) => None,
            (Confirm::Spot, _) => self.look(charges, index),
        }
    }

    /// Every reader steps through the build.
    fn step_through(&self, violation: &Violation, class: &str) -> Option<Vec<ReaderRecord>> {
        let testimonies = self.all.get_or_init(|| self.hearing.ask(self.run));
        for (reader, reason) in self.campaign.readers.silent(testimonies) {
            self.campaign.warn_once(&format!("{reader:?} could not be asked: {reason}"));
        }
        let records = self.campaign.readers.records(violation, testimonies);
        let yes = confirmed(&records, self.campaign.plan.engine != EngineKind::Native);
        self.campaign.ledger.answer(class, yes);
        yes.then_some(records)
    }

    /// The debuggers look at the address; where they disagree, the other native readings are added; where none
    /// of them sees it, everybody steps through the build.
    fn look(&self, charges: &[Charge<'_>], index: usize) -> Option<Vec<ReaderRecord>> {
        let Charge { violation, class } = &charges[index];
        let readers = &self.campaign.readers;
        let scene = Scene { binary: &self.run.binary, user_files: std::slice::from_ref(&self.program.name), charges };
        let glances = self.glances.get_or_init(|| readers.posts().look(&scene));
        for (reader, reason) in &glances.silent {
            self.campaign.warn_once(&format!("{reader:?} could not be asked: {reason}"));
        }
        let seen = &glances.records[index];
        if !seen.is_empty() && !seen.iter().any(|r| r.sees) && self.campaign.plan.engine == EngineKind::Native {
            // Stepping costs what ten units cost: once it has agreed with the glance about a class, the glance is enough.
            return if self.campaign.ledger.was_refuted(class) { None } else { self.step_through(violation, class) };
        }
        self.campaign.ledger.answer(class, true);
        let mut records = vec![readers.screening(violation)];
        records.extend(seen.iter().cloned());
        if seen.iter().any(|r| !r.sees) {
            let natives = self.natives.get_or_init(|| self.hearing.ask_natives(self.run));
            records.extend(readers.records(violation, natives).into_iter().skip(1));
        }
        Some(records)
    }
}
