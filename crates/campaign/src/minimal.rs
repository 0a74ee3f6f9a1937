//! What a finding on a mutated program needs: most insertions of a variant have nothing to do with it (the paper's 5.4).

use crate::class::{class_of, collapse};
use crate::plan::Minimize;
use crate::program::{Specimen, Trouble, trouble};
use crate::run::Campaign;
use trueline_check::{Behaviour, Reference};
use trueline_model::{Fault, Interesting, OptLevel, Program, SeamError, StillShows};
use trueline_store::Minimal;
use trueline_toolchain::Compiler;

/// Shows a fault of the same class with the same compiler at the same level. Lines move when insertions go, so nothing
/// narrower can be asked for.
struct SameClass<'a> {
    campaign: &'a Campaign<'a>,
    compiler: &'a Compiler,
    opt: OptLevel,
    class: &'a str,
}

impl SameClass<'_> {
    fn faults(&self, candidate: &Program) -> Vec<Fault> {
        let check =
            |reference: Reference| self.campaign.checker.check(candidate, &reference, self.compiler, self.opt, &[]).map_err(trouble);
        match self.campaign.reference(candidate, self.compiler).and_then(check) {
            Ok(run) => collapse(&run.violations).into_iter().cloned().map(Fault::Violation).collect(),
            Err(Trouble::Fault(fault)) => vec![*fault],
            Err(_) => Vec::new(),
        }
    }
}

impl Interesting for SameClass<'_> {
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        if self.campaign.stopping() {
            return Err(SeamError("the campaign ends".to_owned()));
        }
        let same = self.faults(candidate).iter().any(|fault| class_of(fault, &self.compiler.id, candidate) == self.class);
        Ok(if same { StillShows::Yes } else { StillShows::No })
    }
}

/// Shows a fault of the same class by its code alone.
struct SameCodeClass<'a> {
    campaign: &'a Campaign<'a>,
    compiler: &'a Compiler,
    opt: OptLevel,
    class: &'a str,
    truth: Option<&'a Behaviour>,
}

impl Interesting for SameCodeClass<'_> {
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        if self.campaign.stopping() {
            return Err(SeamError("the campaign ends".to_owned()));
        }
        let same = match self.campaign.code_attempt(candidate, self.compiler, self.opt, self.truth) {
            Err(Trouble::Fault(fault)) => class_of(&fault, &self.compiler.id, candidate) == self.class,
            _ => false,
        };
        Ok(if same { StillShows::Yes } else { StillShows::No })
    }
}

impl Campaign<'_> {
    /// The insertions that a fault of the code needs.
    pub(crate) fn minimal_code(
        &self,
        specimen: &Specimen<'_>,
        compiler: &Compiler,
        opt: OptLevel,
        class: &str,
        truth: Option<&Behaviour>,
    ) -> Option<Minimal> {
        let mutator = self.mutator.filter(|_| self.wants_minimal(specimen))?;
        let same = SameCodeClass { campaign: self, compiler, opt, class, truth };
        mutator.minimal(specimen.original, specimen.key.mutation, &same).ok()
    }

    fn wants_minimal(&self, specimen: &Specimen<'_>) -> bool {
        specimen.key.mutation > 0 && self.plan.minimize != Minimize::Nothing && !self.stopping()
    }

    /// The insertions that a fault of this class needs, when the program is a variant and the plan asks for them.
    pub(crate) fn minimal(&self, specimen: &Specimen<'_>, compiler: &Compiler, opt: OptLevel, class: &str) -> Option<Minimal> {
        let mutator = self.mutator.filter(|_| self.wants_minimal(specimen))?;
        let same = SameClass { campaign: self, compiler, opt, class };
        // Without an answer the whole variant is kept, as it is anyway.
        mutator.minimal(specimen.original, specimen.key.mutation, &same).ok()
    }
}
