//! `trueline debug`: the native engine as a small debugger.

use crate::exit::CommandEnding;
use crate::input::LaunchFlags;
use anyhow::Context;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use trueline_debug::{Mark, ProgramDebugger, ReferenceValues, Reply, ShownFrame, ShownVariable, parse};
use trueline_dwarf::Search;
use trueline_model::Policy;
use trueline_toolchain::Limits;
use trueline_trace::TraceRequest;

/// Look at a program where it stands: breakpoints, steps, frames, variables, expressions.
#[derive(clap::Args)]
pub struct Args {
    /// A binary with debug information.
    #[arg(value_name = "BINARY")]
    binary: PathBuf,
    /// Arguments of the program.
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    /// Read commands from a file; without it, from standard input.
    #[arg(short = 'x', long = "commands", value_name = "FILE")]
    commands: Option<PathBuf>,
    /// Whose habits are followed: gdb, lldb or standard.
    #[arg(long, default_value = "gdb", value_name = "POLICY")]
    policy: Policy,
    /// A build of the same source without optimization: values that the source never has on a line are marked, and lost ones.
    #[arg(long, value_name = "BINARY")]
    reference: Option<PathBuf>,
    /// Seconds that the program may run.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    timeout: u64,
    /// A directory of debug files, as /usr/lib/debug is one; may be repeated.
    #[arg(long = "debug-dir", value_name = "DIR")]
    debug_dirs: Vec<PathBuf>,
    #[command(flatten)]
    launch: LaunchFlags,
    /// Print JSON Lines: a reply for each command.
    #[arg(long)]
    json: bool,
}

/// One line of `trueline debug --json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Debug")]
pub struct Document<'a> {
    /// `trueline.debug/1`.
    schema: &'static str,
    /// The command, as it was given.
    command: &'a str,
    /// What it comes to.
    #[serde(flatten)]
    reply: &'a Reply,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let request = |binary: &PathBuf| -> anyhow::Result<TraceRequest> {
        let mut request = TraceRequest::new(std::path::absolute(binary)?);
        request.policy = args.policy;
        request.launch = args.launch.launch(&args.args)?;
        request.follow = args.launch.follow();
        request.limits = Limits::seconds(args.timeout);
        request.search = Search::with(&args.debug_dirs);
        Ok(request)
    };
    let reference = match &args.reference {
        Some(binary) => Some(ReferenceValues::record(&request(binary)?)?),
        None => None,
    };
    if reference.as_ref().is_some_and(|r| !r.is_whole) {
        eprintln!("note: the reference was not seen to its end; only lost variables are marked");
    }
    let mut debugger = ProgramDebugger::new(request(&args.binary)?, reference);
    let input: Box<dyn BufRead> = match &args.commands {
        Some(file) => {
            let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            Box::new(std::io::Cursor::new(text))
        }
        None => Box::new(std::io::stdin().lock()),
    };
    let is_prompted = args.commands.is_none() && std::io::stdin().is_terminal() && !args.json;
    let mut has_failed = false;
    let mut lines = input.lines();
    loop {
        if is_prompted {
            print!("(trueline) ");
            std::io::stdout().flush()?;
        }
        let Some(line) = lines.next().transpose().context("cannot read commands")? else { break };
        let reply = match parse(&line) {
            Ok(None) => continue,
            Ok(Some(command)) => debugger.obey(&command)?,
            Err(reason) => Reply::Failed { reason },
        };
        if reply == Reply::Quit {
            break;
        }
        has_failed |= matches!(reply, Reply::Failed { .. });
        if args.json {
            println!("{}", serde_json::to_string(&Document { schema: "trueline.debug/1", command: line.trim(), reply: &reply })?);
        } else {
            print_reply(&reply);
        }
    }
    // A script with a command that could not be done is bad input; a person has read the answer.
    if has_failed && !is_prompted {
        anyhow::bail!("some commands could not be done");
    }
    Ok(CommandEnding::Clean)
}

fn print_reply(reply: &Reply) {
    match reply {
        Reply::Breakpoints { addresses } => {
            let addresses: Vec<String> = addresses.iter().map(|a| format!("{a:#x}")).collect();
            println!("breakpoint at {}", addresses.join(", "));
        }
        Reply::Stopped { at: Some(frame), .. } => println!("{}", place(frame)),
        Reply::Stopped { at: None, .. } => println!("in code without debug information"),
        Reply::Ended { how } => println!("the program {how}"),
        Reply::Backtrace { frames } => frames.iter().enumerate().for_each(|(n, frame)| println!("#{n}  {}", place(frame))),
        Reply::Variables { variables } if variables.is_empty() => println!("none"),
        Reply::Variables { variables } => variables.iter().for_each(|v| println!("{}", variable(v))),
        Reply::Value { value: Some(value), .. } => println!("{value}"),
        Reply::Value { absent, .. } => println!("<{}>", absent.as_deref().unwrap_or("no value")),
        Reply::Failed { reason } => println!("{reason}"),
        Reply::Quit => {}
    }
}

fn place(frame: &ShownFrame) -> String {
    let inlined = if frame.inlined { " (inlined)" } else { "" };
    let file = frame.file.as_deref().and_then(|f| f.rsplit('/').next()).unwrap_or("?");
    let line = frame.line.map_or_else(|| "?".to_owned(), |l| l.to_string());
    format!("{}{inlined} at {file}:{line}  [{:#x}]", frame.function, frame.pc)
}

fn variable(shown: &ShownVariable) -> String {
    let value = match (&shown.value, &shown.absent) {
        (Some(value), _) => value.clone(),
        (None, absent) => format!("<{}>", absent.as_deref().unwrap_or("no value")),
    };
    let mark = match &shown.mark {
        None => String::new(),
        Some(Mark::NotTheSources { source }) => format!("   ! source has {}", source.join(" or ")),
        Some(Mark::Lost { source }) => format!("   ! lost: source has {}", source.join(" or ")),
    };
    format!("{} = {value}{mark}", shown.name)
}
