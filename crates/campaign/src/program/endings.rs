//! How work on a program ends early: failed, given up, rejected, doubted.

use super::WorkEnd;
use crate::event::Event;
use crate::run::Campaign;
use trueline_model::Program;
use trueline_store::{PlannedUnit, ProgramKey, StoreError};

impl Campaign<'_> {
    /// Records a failure; true when the unit may be tried again.
    pub(crate) fn fail(&self, program: &str, unit: &PlannedUnit, reason: &str) -> Result<bool, StoreError> {
        let retry = self.patiently(|| self.store.fail_unit(unit.id, reason))?;
        let compiler = self.plan.compilers[unit.compiler].id.clone();
        self.report(&Event::UnitFailed { program: program.to_owned(), compiler, opt: unit.opt, reason: reason.to_owned(), retry });
        Ok(retry)
    }

    /// Records that something all these units need failed twice: both tries are every unit's.
    pub(crate) fn give_up<'u>(
        &self,
        program: &str,
        units: impl IntoIterator<Item = &'u PlannedUnit>,
        reason: &str,
    ) -> Result<(), StoreError> {
        for unit in units {
            while self.fail(program, unit, reason)? {}
        }
        Ok(())
    }

    pub(crate) fn reject(&self, key: &ProgramKey, program: &Program, reason: &str) -> Result<(), StoreError> {
        self.patiently(|| self.store.reject(key, reason))?;
        self.report(&Event::Rejected { program: program.name.clone(), reason: reason.to_owned() });
        Ok(())
    }

    /// Asks whether a program is valid, for the sake of some of its units; how the work on them ends unless it is.
    pub(crate) fn doubt(&self, key: &ProgramKey, program: &Program, units: &[PlannedUnit]) -> Result<Option<WorkEnd>, StoreError> {
        let verdict = self.filter().judge(program).or_else(|_| self.filter().judge(program));
        match verdict {
            Ok(None) => Ok(None),
            Ok(Some(rejection)) => {
                self.reject(key, program, &rejection.to_string())?;
                Ok(Some(WorkEnd::Rejected))
            }
            // Nobody could judge it: better to lose a finding than to publish a false one.
            Err(e) => {
                self.give_up(&program.name, units, &format!("the validity filter failed: {e}"))?;
                Ok(Some(WorkEnd::Done))
            }
        }
    }
}
