//! What a finding on a mutated program needs: most insertions of a variant have nothing to do with it (the paper's 5.4).

use crate::class::{class_of, collapse};
use crate::plan::Minimize;
use crate::program::{Specimen, Trouble, trouble};
use crate::run::Campaign;
use trueline_check::Reference;
use trueline_model::{Answer, Fault, Interesting, OptLevel, Program, SeamError};
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
    fn judge(&self, candidate: &Program) -> Result<Answer, SeamError> {
        if self.campaign.stopping() {
            return Err(SeamError("the campaign ends".to_owned()));
        }
        let same = self.faults(candidate).iter().any(|fault| class_of(fault, &self.compiler.id, candidate) == self.class);
        Ok(if same { Answer::Yes } else { Answer::No })
    }
}

impl Campaign<'_> {
    /// The insertions that a fault of this class needs, when the program is a variant and the plan asks for them.
    pub(crate) fn minimal(&self, specimen: &Specimen<'_>, compiler: &Compiler, opt: OptLevel, class: &str) -> Option<Minimal> {
        let mutator = self.mutator?;
        if specimen.key.mutation == 0 || self.plan.minimize == Minimize::Nothing || self.stopping() {
            return None;
        }
        let same = SameClass { campaign: self, compiler, opt, class };
        // Without an answer the whole variant is kept, as it is anyway.
        mutator.minimal(specimen.original, specimen.key.mutation, &same).ok()
    }
}
