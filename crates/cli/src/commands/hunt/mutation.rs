//! Fills the campaign's seam for variants in with live-code mutation.

use trueline_campaign::{Mutate, NoProgram, Oracle, SeedBehaviour, VariantSet};
use trueline_model::{Interesting, Language, Program};
use trueline_mutate::{MutateError, MutatedProgram, MutationOptions, Mutator, Strategy};
use trueline_store::{InsertionRecord, Minimal};

/// How hunts mutate.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Mutation")]
pub struct MutationFlags {
    /// Seed of the mutation: the same one makes the same variants.
    #[arg(long, value_name = "S", default_value_t = 1)]
    mutation_seed: u64,
    /// Chance of a program point to be changed in each variant. [default: 0.3, with --oracle wrong-code 0.1]
    #[arg(long, value_name = "P")]
    sampling: Option<f64>,
    /// Points to change in each variant at most. [default: 20, with --oracle wrong-code 40]
    #[arg(long, value_name = "N")]
    most_points: Option<usize>,
    /// Strategies, of fcb, tg, tcb, dead and local; naming one twice doubles its chance.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    strategies: Vec<Strategy>,
    /// Variants build on one another up to this many, then start at the seed again.
    #[arg(long, value_name = "N")]
    chain: Option<usize>,
    /// Variants that rest on one profile; then the last one is profiled again and insertions nest.
    #[arg(long, value_name = "N")]
    generation: Option<usize>,
}

impl MutationFlags {
    fn options(&self, oracle: Oracle) -> anyhow::Result<MutationOptions> {
        let mut options = if oracle == Oracle::WrongCode { MutationOptions::for_wrong_code() } else { MutationOptions::for_hunts() };
        if let Some(sampling) = self.sampling {
            anyhow::ensure!((0.0..=1.0).contains(&sampling), "--sampling {sampling} is not a chance; it goes from 0 to 1");
            options.sampling = sampling;
        }
        if !self.strategies.is_empty() {
            options.strategies.clone_from(&self.strategies);
        }
        options.most_points = self.most_points.unwrap_or(options.most_points);
        options.chain = self.chain.unwrap_or(options.chain);
        options.generation = self.generation.unwrap_or(options.generation);
        Ok(options)
    }
}

/// Live-code mutation of C programs.
pub struct LiveCode {
    mutator: Mutator,
    seed: u64,
}

impl LiveCode {
    /// Finds the compiler that profiles.
    pub fn new(flags: &MutationFlags, oracle: Oracle) -> anyhow::Result<Self> {
        Ok(Self { mutator: Mutator::new(flags.options(oracle)?)?, seed: flags.mutation_seed })
    }
}

impl Mutate for LiveCode {
    fn variants(&self, program: &Program, count: u32) -> Result<VariantSet, NoProgram> {
        if program.language != Language::C {
            return Ok(VariantSet::default());
        }
        // The program's own text decides everything else: one seed can serve all programs.
        let made = self.mutator.variants(program, count as usize, self.seed).map_err(|e| match e {
            MutateError::Unequal { program, .. } => NoProgram::Broken(program),
            e if e.is_passing() => NoProgram::Failed(e.to_string()),
            e => NoProgram::Refused(e.to_string()),
        })?;
        let expected = Some(SeedBehaviour { output: made.expected.output.clone(), exit_code: made.expected.exit_code });
        Ok(VariantSet { programs: made.variants.into_iter().map(|v| v.program).collect(), expected })
    }

    fn minimal(&self, program: &Program, number: u32, interesting: &dyn Interesting) -> Result<Minimal, String> {
        let made = self.mutator.variants(program, number as usize, self.seed).map_err(|e| e.to_string())?;
        let mut variant = made.variants.get(number as usize - 1).ok_or("the variant is not made again")?;
        let mut least = trueline_mutate::minimize(variant, interesting).map_err(|e| e.to_string())?.variant;
        // Nothing of this generation is needed: the one before, whose last variant this one goes into, had it already.
        while least.insertions.is_empty() && variant.seed.source != program.source {
            let is_parent = |v: &&MutatedProgram| v.program.source == variant.seed.source;
            let Some(parent) = made.variants.iter().find(is_parent) else { break };
            variant = parent;
            least = trueline_mutate::minimize(variant, interesting).map_err(|e| e.to_string())?.variant;
        }
        let insertion =
            |i: &trueline_mutate::Insertion| InsertionRecord { strategy: i.strategy.name().to_owned(), line: i.line, text: i.text.clone() };
        Ok(Minimal { insertions: least.insertions.iter().map(insertion).collect(), program: least.program })
    }
}
