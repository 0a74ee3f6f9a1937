//! A program and its variants: made together, judged one after the other, and how a variant that is no variant is told.

use crate::plan::{CampaignPlan, NoProgram, VariantSet};
use crate::program::MutationFault;
use crate::run::Campaign;
use trueline_generate::SourceError;
use trueline_model::Program;
use trueline_store::ProgramKey;

/// A program and its variants, made when first needed.
#[derive(Default)]
pub(crate) struct Family {
    pub original: Option<Program>,
    pub variants: Option<Result<VariantSet, String>>,
    /// Whether one of them passed the filter.
    pub validated: bool,
}

impl Campaign<'_> {
    /// Makes a program, at the second try where the first fails for reasons outside it.
    pub(crate) fn make(&self, key: &ProgramKey, family: &mut Family) -> Result<Option<Program>, NoProgram> {
        match self.try_to_make(key, family) {
            Err(NoProgram::Failed(_)) => self.try_to_make(key, family),
            other => other,
        }
    }

    fn try_to_make(&self, key: &ProgramKey, family: &mut Family) -> Result<Option<Program>, NoProgram> {
        if family.original.is_none() {
            family.original = self.source.program(key.seed, key.language).map_err(|e| match e {
                SourceError::Job(_) => NoProgram::Failed(e.to_string()),
                _ => NoProgram::Refused(e.to_string()),
            })?;
        }
        let Some(program) = &family.original else { return Ok(None) };
        let Some(number) = key.mutation.checked_sub(1) else { return Ok(Some(program.clone())) };
        let Some(mutator) = self.mutator else { return Ok(None) };
        // All variants rest on one profile of the program: they are made together.
        if family.variants.is_none() {
            family.variants = Some(match mutator.variants(program, self.plan.mutants) {
                Err(error @ (NoProgram::Failed(_) | NoProgram::Broken(_))) => return Err(error),
                Err(NoProgram::Refused(reason)) => Err(reason),
                Ok(variants) => Ok(variants),
            });
        }
        match family.variants.as_ref().expect("made above") {
            Ok(set) => Ok(set.programs.get(number as usize).cloned()),
            Err(reason) => Err(NoProgram::Refused(format!("cannot be mutated: {reason}"))),
        }
    }
}

/// What a variant does otherwise than its seed, as a sentence goes on after its name.
pub(crate) fn how_it_differs(fault: MutationFault, seed: &Program, plan: &CampaignPlan) -> String {
    match fault {
        MutationFault::Behaviour => format!("does not do what its seed {} does, whoever compiles it at -O0", seed.name),
        MutationFault::Refused(index) => {
            format!("is refused by {} at -O0, which compiles its seed {}", plan.compilers[index].id, seed.name)
        }
    }
}
