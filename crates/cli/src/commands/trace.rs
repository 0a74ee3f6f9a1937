//! `trueline trace`: what a debugger shows, stop by stop.

use crate::exit::CommandEnding;
use crate::input::{BuildFlags, FocusFlags, LaunchFlags, TraceFlags, read_program};
use anyhow::Context;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use trueline_model::{Language, Observation, Policy, Step, StepSink, TraceHeader, VarKind};
use trueline_toolchain::{CompileRequest, Scratch};
use trueline_trace::{TraceRequest, Vars, open_engine};

/// Trace one build from main to its return and print every stop.
#[derive(clap::Args)]
pub struct Args {
    /// A program (compiled first) or a binary with debug information.
    #[arg(value_name = "FILE|BINARY")]
    file: PathBuf,
    /// Arguments of the program.
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    #[command(flatten)]
    build: BuildFlags,
    #[command(flatten)]
    tracing: TraceFlags,
    #[command(flatten)]
    focus: FocusFlags,
    #[command(flatten)]
    launch: LaunchFlags,
    /// Show variables by their members alone: references as addresses, std::string and its kin as they lie in memory.
    #[arg(long)]
    raw: bool,
    /// Print JSON Lines: a header, then one line per stop.
    #[arg(long)]
    json: bool,
}

/// Prints stops as they come.
struct StepPrinter<W: Write> {
    out: W,
    json: bool,
    failure: Option<std::io::Error>,
}

impl<W: Write> StepSink for StepPrinter<W> {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        let written = if self.json {
            serde_json::to_writer(&mut self.out, &step).map_err(std::io::Error::from).and_then(|()| self.out.write_all(b"\n"))
        } else {
            writeln!(self.out, "{}", line_of(&step))
        };
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

fn line_of(step: &Step) -> String {
    let place = step.key().map_or_else(|| "?".to_owned(), |k| k.to_string());
    let stack: Vec<&str> = step.frames.iter().map(|f| &*f.function).collect();
    let vars: Vec<String> = step
        .vars
        .iter()
        .filter(|v| v.kind != VarKind::Global)
        .map(|v| match &v.observation {
            Observation::Value(text) => format!("{}={text}", v.name),
            Observation::OptimizedOut => format!("{}=<optimized out>", v.name),
            Observation::Unreadable => format!("{}=<unreadable>", v.name),
            Observation::NotInScope => format!("{}=<not in scope>", v.name),
        })
        .collect();
    format!("{:>6}  {place:<20} {:#010x}  {:<24} {}", step.step, step.pc, stack.join(" ← "), vars.join(" "))
}

/// Traces one build and prints every stop.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let is_source = Language::of_path(&args.file).is_some();
    let policy = args.tracing.policy()?;
    let scratch = Scratch::new().context("cannot make a scratch directory")?;
    let mut request = TraceRequest::new(std::path::absolute(&args.file)?);
    if is_source {
        let program = read_program(&args.file)?;
        let (compiler, opt) = (args.build.compiler(program.language)?, args.build.level()?);
        let source = scratch.write(&program.name, &program.source).context("cannot write to the scratch directory")?;
        let compile = CompileRequest::new(source, program.language, opt, scratch.join("program"))
            .flags(program.cflags.iter().chain(&args.build.cflags).cloned());
        request.binary = compiler.compile(&compile)?.binary;
        request.user_files = vec![program.own_text().file.to_owned()];
    }
    request.launch = args.launch.launch(&args.args)?;
    request.follow = args.launch.follow();
    request.policy = policy.unwrap_or(Policy::Gdb);
    request.max_steps = args.tracing.max_steps;
    request.focus = args.focus.focus(&args.tracing)?;
    request.threads = args.focus.threads(&args.tracing)?;
    request.limits = args.tracing.limits();
    request.search = args.tracing.search();
    if args.raw {
        request.vars = Vars::Layout;
    }
    let engine = open_engine(args.tracing.engine)?;
    let mut printer = StepPrinter { out: BufWriter::new(std::io::stdout().lock()), json: args.json, failure: None };
    if args.json {
        let header = TraceHeader {
            schema: "trueline.trace/1".to_owned(),
            engine: args.tracing.engine,
            policy,
            binary: args.file.display().to_string(),
        };
        writeln!(printer.out, "{}", serde_json::to_string(&header)?)?;
    }
    let result = engine.trace(&request, &mut printer);
    printer.out.flush()?;
    match printer.failure {
        // A reader that has seen enough (`| head`) is no error.
        Some(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(CommandEnding::Clean),
        Some(error) => return Err(error).context("cannot write the trace"),
        None => {}
    }
    let summary = result?;
    if summary.end == trueline_trace::TraceEnd::CutOff {
        eprintln!("note: cut off after {} steps (--max-steps)", summary.steps);
    }
    Ok(CommandEnding::Clean)
}
