//! Fills the campaign's seam for variants in with live-code mutation.

use trueline_campaign::{Mutate, NoProgram};
use trueline_model::{Interesting, Language, Program};
use trueline_mutate::{Mutator, Options};
use trueline_store::{InsertionRecord, Minimal};

/// Live-code mutation of C programs.
pub struct LiveCode(Mutator);

impl LiveCode {
    /// Finds the compiler that profiles.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self(Mutator::new(Options::for_hunts())?))
    }
}

impl Mutate for LiveCode {
    fn variants(&self, program: &Program, count: u32) -> Result<Vec<Program>, NoProgram> {
        if program.language != Language::C {
            return Ok(Vec::new());
        }
        // The program's own text decides everything else: the seed of the mutation can be fixed.
        let made = self.0.variants(program, count as usize, 1).map_err(|e| match e.is_passing() {
            true => NoProgram::Failed(e.to_string()),
            false => NoProgram::Refused(e.to_string()),
        })?;
        Ok(made.variants.into_iter().map(|v| v.program).collect())
    }

    fn minimal(&self, program: &Program, number: u32, interesting: &dyn Interesting) -> Result<Minimal, String> {
        let made = self.0.variants(program, number as usize, 1).map_err(|e| e.to_string())?;
        let variant = made.variants.get(number as usize - 1).ok_or("the variant is not made again")?;
        let least = trueline_mutate::minimize(variant, interesting).map_err(|e| e.to_string())?.variant;
        let insertion =
            |i: &trueline_mutate::Insertion| InsertionRecord { strategy: i.strategy.name().to_owned(), line: i.line, text: i.text.clone() };
        Ok(Minimal { insertions: least.insertions.iter().map(insertion).collect(), program: least.program })
    }
}
