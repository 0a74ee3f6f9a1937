//! Causes on the fly: the first finding of each class is explained between programs, as long as that takes no more than its share of
//! the campaign's time. What is explained when depends on the clock; what is found does not.

use crate::event::Event;
use crate::run::Campaign;
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trueline_explain::{FindingCase, Looking, explain_one};
use trueline_store::StoreError;

/// The findings that wait for an explanation, and what explaining took so far.
pub(crate) struct ExplainDesk {
    waiting: Mutex<VecDeque<FindingCase>>,
    spent: AtomicU64,
    /// Classes that an earlier run explained.
    explained: BTreeSet<String>,
}

impl ExplainDesk {
    /// A desk that knows which classes need no explanation any more.
    pub fn new(explained: BTreeSet<String>) -> Self {
        Self { waiting: Mutex::default(), spent: AtomicU64::new(0), explained }
    }
}

impl Campaign<'_> {
    /// Puts the first finding of a class in line.
    pub(crate) fn ask_for_cause(&self, class: &str, case: FindingCase) {
        if self.plan.explain_share.is_some() && !self.desk.explained.contains(class) {
            self.desk.waiting.lock().push_back(case);
        }
    }

    /// Explains what waits, within the share.
    pub(crate) fn explain_some(&self) -> Result<(), StoreError> {
        let Some(share) = self.plan.explain_share else { return Ok(()) };
        loop {
            let all = self.started.elapsed().mul_f64(self.plan.jobs.max(1) as f64);
            let spent = Duration::from_micros(self.desk.spent.load(Ordering::SeqCst));
            if self.stopping() || spent >= all.mul_f64(share) {
                return Ok(());
            }
            let Some(case) = self.desk.waiting.lock().pop_front() else { return Ok(()) };
            let begun = Instant::now();
            let explained = self.explain(case);
            self.desk.spent.fetch_add(begun.elapsed().as_micros() as u64, Ordering::SeqCst);
            explained?;
        }
    }

    fn explain(&self, case: FindingCase) -> Result<(), StoreError> {
        let Some(id) = case.id else { return Ok(()) };
        let looking = Looking::new(self.plan.engine, self.plan.policy);
        let explained = match explain_one(case, looking) {
            Ok(explained) => explained,
            Err(error) => {
                self.warn_once(&format!("finding {} cannot be explained: {error}", id.0));
                return Ok(());
            }
        };
        let cause = explained.cause();
        if let Ok(document) = serde_json::to_string(&explained.explanation()) {
            self.patiently(|| self.store.set_triage(id, cause.as_deref(), &document))?;
        }
        self.report(&Event::Explained { id, cause });
        Ok(())
    }
}
