//! `trueline suite`: other people's debugger tests on our engines and theirs.

use crate::exit::CommandEnding;
use crate::input::BuildFlags;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueline_model::{EngineKind, OptLevel, Policy};
use trueline_suite::{Agreement, Asker, Format, Tally, TestOutcome, Verdict, agreement, read, reasons, run_test, tally};

/// Run other people's debugger tests on each engine and compare the engines.
#[derive(clap::Args)]
pub struct Args {
    /// Whose tests they are.
    #[arg(value_name = "SUITE", value_enum)]
    suite: Suite,
    /// Directories of tests, or single ones.
    #[arg(value_name = "DIR|FILE", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    build: BuildFlags,
    /// Who is asked: native, gdb, lldb (not guality), or a release such as gdb-18.
    #[arg(long = "engine", value_name = "ENGINE", value_delimiter = ',', default_value = "native,gdb")]
    engines: Vec<EngineKind>,
    /// Whose habits the native engine has.
    #[arg(long, value_name = "POLICY", default_value = "gdb")]
    policy: Policy,
    /// Print every question with its answers, not only those that engines disagree on.
    #[arg(long)]
    all: bool,
    /// Print one JSON document with every answer.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Suite {
    /// GCC's gcc.dg/guality: `gdb-test` in comments.
    Guality,
    /// rustc's tests/debuginfo: `gdb-command:` and `gdb-check:` in comments.
    Rustc,
    /// LLVM's Dexter tests: `DexExpect…` commands or a `!where` script in comments.
    Dexter,
}

/// What `trueline suite --json` prints.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Suite")]
pub struct Document<'a> {
    /// `trueline.suite/1`.
    schema: &'static str,
    /// Whose tests they are.
    suite: &'static str,
    /// The verdicts of each engine.
    engines: Vec<EngineTally>,
    /// How often the engines gave one answer.
    agreement: Agreement,
    /// Every test at every level.
    tests: &'a [TestOutcome],
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct EngineTally {
    engine: String,
    #[serde(flatten)]
    tally: Tally,
    /// How many questions are open for each reason.
    reasons: BTreeMap<String, usize>,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let format = match args.suite {
        Suite::Guality => Format::Guality,
        Suite::Rustc => Format::Rustc,
        Suite::Dexter => Format::Dexter,
    };
    let askers = args.engines.iter().map(|&e| Asker::find(e, format, args.policy)).collect::<Result<Vec<_>, _>>()?;
    let mut outcomes = Vec::new();
    for level in args.build.levels() {
        let flags = flags(&args, level);
        let mut with_level = flags.clone();
        with_level.push(level.flag().to_owned());
        for test in read(format, &args.paths, &with_level)? {
            for compiler in args.build.compilers_that_take(test.language)? {
                outcomes.push(run_test(&test, &compiler, level, &flags, &askers));
            }
        }
    }
    let of = |engine: String| EngineTally { tally: tally(&outcomes, &engine), reasons: reasons(&outcomes, &engine), engine };
    let engines: Vec<EngineTally> = askers.iter().map(|a| of(a.name())).collect();
    let agreement = agreement(&outcomes);
    if args.json {
        let document = Document { schema: "trueline.suite/1", suite: format.name(), engines, agreement, tests: &outcomes };
        println!("{}", serde_json::to_string_pretty(&document)?);
    } else {
        print(&args, &outcomes, &engines, agreement);
    }
    let judged = outcomes.iter().flat_map(|t| &t.asked).flat_map(|a| &a.outcomes);
    let mut judged = judged.filter(|o| !matches!(o.verdict, Verdict::Unsupported { .. })).peekable();
    if judged.peek().is_none() {
        anyhow::bail!("no question could be asked; --all says why");
    }
    let is_clean = agreement.same == agreement.of;
    Ok(if is_clean { CommandEnding::Clean } else { CommandEnding::Found })
}

/// What tests are built with besides the level: GCC's own runner defines the macro above -O0, and tests rely on it.
fn flags(args: &Args, level: OptLevel) -> Vec<String> {
    let mut flags = args.build.cflags.clone();
    if matches!(args.suite, Suite::Guality) && level != OptLevel::O0 {
        flags.push("-DPREVENT_OPTIMIZATION".to_owned());
    }
    flags
}

fn print(args: &Args, outcomes: &[TestOutcome], engines: &[EngineTally], agreement: Agreement) {
    for test in outcomes {
        let name = test.test.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        for asked in test.asked.iter().filter(|a| args.all || a.same == Some(false)) {
            let said: Vec<String> = asked.outcomes.iter().map(|o| format!("{} {}", o.engine, o.said)).collect();
            let place = format!("{name}:{}", asked.line);
            println!("{place} {} {}: {} (expected {}): {}", test.compiler, test.level, asked.expression, asked.expected, said.join(", "));
        }
    }
    println!("{:<10} {:>6} {:>6} {:>12}", "engine", "pass", "fail", "unsupported");
    for EngineTally { engine, tally, .. } in engines {
        println!("{engine:<10} {:>6} {:>6} {:>12}", tally.pass, tally.fail, tally.unsupported);
    }
    for EngineTally { engine, reasons, .. } in engines {
        for (reason, count) in reasons {
            println!("{engine}: {count} unsupported: {reason}");
        }
    }
    if agreement.of > 0 {
        let share = 100.0 * agreement.same as f64 / agreement.of as f64;
        println!("the engines give one answer to {} of {} questions ({share:.1} %)", agreement.same, agreement.of);
    }
}
