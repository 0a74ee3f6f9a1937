//! What the command says in the end.

use super::{Args, GuiltyPass, LevelKind, SearchKind};
use serde::Serialize;
use std::time::Duration;
use trueline_explain::{FailingCase, PassingPrograms, Soundness};
use trueline_isolate::{SearchOutcome, Suspect, SwitchWitness, diff};
use trueline_model::{CompilerId, OptLevel, Program};
use trueline_toolchain::Compiler;

/// Everything a report is made of.
pub struct IsolateOutcome<'a> {
    pub args: &'a Args,
    pub compiler: &'a Compiler,
    pub case: &'a FailingCase,
    pub found: &'a SearchOutcome,
    pub switches: &'a [SwitchWitness],
    /// For each switch the files that ask its debug counter.
    pub counter_files: &'a [Vec<String>],
    pub guilty: &'a [GuiltyPass],
    pub ranking: &'a [Suspect],
    pub given: &'a PassingPrograms,
    pub cpu: Duration,
    pub wall: Duration,
}

/// What `trueline isolate --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Isolate")]
pub struct Document<'a> {
    schema: &'static str,
    program: String,
    compiler: &'a CompilerId,
    failure: FailureView<'a>,
    search: &'static str,
    seed: u64,
    witnesses: Vec<WitnessView>,
    switches: Vec<&'a str>,
    guilty_passes: &'a [GuiltyPass],
    mutants: MutantView,
    /// Programs of `--passing`.
    given: GivenView,
    /// Why witnesses were not sanitized, where the failing program is not clean itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    unclean: Option<&'a str>,
    ranking: &'a [Suspect],
    cpu_seconds: f64,
    wall_seconds: f64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct FailureView<'a> {
    kind: &'static str,
    level: OptLevel,
    flags: &'a [String],
    message: &'a str,
}

#[derive(Serialize, schemars::JsonSchema)]
struct WitnessView {
    rules: Vec<String>,
    distance: f64,
    diff: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct MutantView {
    judged: usize,
    failing: usize,
    unjudged: usize,
    /// Those that pass and are not valid programs.
    invalid: usize,
    order: usize,
    exhausted: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct GivenView {
    /// Those that compile and pass.
    passing: usize,
    /// Those that do not.
    refused: usize,
    /// Those there was no time for.
    left: usize,
}

impl IsolateOutcome<'_> {
    /// One JSON document.
    pub fn print_json(&self) -> anyhow::Result<()> {
        let Self { args, case, found, .. } = self;
        let witness = |w: &trueline_isolate::WitnessProgram| WitnessView {
            rules: w.rules.iter().map(ToString::to_string).collect(),
            distance: w.distance,
            diff: diff(&case.program.source, &w.program.source),
        };
        let document = Document {
            schema: "trueline.isolate/1",
            program: args.file.display().to_string(),
            compiler: &self.compiler.id,
            failure: FailureView { kind: case.kind, level: case.setting.opt, flags: &case.setting.flags, message: &case.message },
            search: if args.search == SearchKind::Guided { "guided" } else { "random" },
            seed: args.seed,
            witnesses: found.nearest().into_iter().map(witness).collect(),
            switches: self.switches.iter().map(|s| s.flag.as_str()).collect(),
            guilty_passes: self.guilty,
            mutants: MutantView {
                judged: found.judged,
                failing: found.failing_mutants,
                unjudged: found.unjudged,
                invalid: found.invalid,
                order: found.order,
                exhausted: found.exhausted,
            },
            given: GivenView { passing: self.given.covered.len(), refused: self.given.refused.len(), left: self.given.left },
            unclean: self.unclean(),
            ranking: self.ranking,
            cpu_seconds: self.cpu.as_secs_f64(),
            wall_seconds: self.wall.as_secs_f64(),
        };
        println!("{}", serde_json::to_string_pretty(&document)?);
        Ok(())
    }

    fn unclean(&self) -> Option<&str> {
        match &self.case.soundness {
            Soundness::Unclean(reason) => Some(reason),
            Soundness::Irrelevant | Soundness::Sanitized(_) => None,
        }
    }

    /// The report for people.
    pub fn print(&self) {
        let Self { args, case, found, .. } = self;
        let program: &Program = &case.program;
        println!("{} {} on {} · {}", self.compiler.id, case.setting.opt, program.name, case.kind);
        println!("{}\n", case.message);
        if !self.ranking.is_empty() {
            println!("rank  score   blocks  {}", if args.level == LevelKind::File { "file" } else { "function" });
        }
        for suspect in self.ranking.iter().take(args.top) {
            let name = match &suspect.function {
                Some(function) if function.is_empty() => format!("(unnamed) in {}", suspect.file),
                Some(function) => format!("{function} in {}", suspect.file),
                None => suspect.file.clone(),
            };
            println!("{:>4}  {:.4}  {:>6}  {name}", suspect.rank, suspect.score, suspect.statements);
        }
        for guilty in self.guilty {
            let rank = self.ranking.iter().find(|s| Some(&s.file) == guilty.file.as_ref()).map(|s| format!(" (rank {})", s.rank));
            let file = guilty.file.as_deref().unwrap_or("a file that the binary does not name");
            println!("\nPass {} lives in {file}{}", guilty.pass, rank.unwrap_or_default());
        }
        if !self.switches.is_empty() {
            println!("\nIt passes with any one of these:");
            for (switch, files) in self.switches.iter().zip(self.counter_files) {
                let asked = if files.is_empty() { String::new() } else { format!("  (asked in {})", files.join(", ")) };
                println!("  {}{asked}", switch.flag);
            }
        }
        if found.witnesses.is_empty() && !self.ranking.is_empty() {
            println!("\nNo mutation makes it pass: the ranking compares it with switches, other levels and passing programs alone.");
        }
        for witness in found.nearest().into_iter().take(3) {
            let rules = witness.rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            println!("\nIt passes after `{rules}` (distance {:.4}):", witness.distance);
            print!("{}", diff(&program.source, &witness.program.source));
        }
        if let Some(reason) = self.unclean() {
            println!("\nWitnesses were not sanitized, since the program itself is refused: {reason}");
        }
        if self.args.passing.is_some() {
            let PassingPrograms { covered, refused, left } = self.given;
            println!("\n{} given programs pass, {} do not, {left} were left for lack of time", covered.len(), refused.len());
        }
        let invalid = if found.invalid == 0 { String::new() } else { format!(", {} pass and are not valid", found.invalid) };
        println!(
            "\n{} witnesses of {} mutants up to order {} ({} still fail, {} tell nothing{invalid}) · {:.0} s CPU, {:.0} s",
            found.witnesses.len(),
            found.judged,
            found.order,
            found.failing_mutants,
            found.unjudged,
            self.cpu.as_secs_f64(),
            self.wall.as_secs_f64()
        );
    }
}
