//! `trueline dap`: the small debugger for editors, over the Debug Adapter Protocol.

use crate::exit::CommandEnding;
use crate::input::LaunchFlags;
use anyhow::Context;
use std::io::BufReader;
use std::path::PathBuf;
use trueline_debug::{ProgramDebugger, ReferenceValues, dap::wire};
use trueline_dwarf::Search;
use trueline_model::Policy;
use trueline_toolchain::Limits;
use trueline_trace::TraceRequest;

/// Speak the Debug Adapter Protocol on standard input and output: an editor's view of an optimized program, with the values
/// that the source never has marked.
#[derive(clap::Args)]
pub struct Args {
    /// Whose habits are followed: gdb, lldb or standard.
    #[arg(long, default_value = "gdb", value_name = "POLICY")]
    policy: Policy,
    /// Seconds that the program may run.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    timeout: u64,
    /// A directory of debug files, as /usr/lib/debug is one; may be repeated.
    #[arg(long = "debug-dir", value_name = "DIR")]
    debug_dirs: Vec<PathBuf>,
    #[command(flatten)]
    launch: LaunchFlags,
}

/// What a client's launch request says of the program.
#[derive(serde::Deserialize)]
struct LaunchRequest {
    /// The binary.
    program: PathBuf,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// A build of the same source without optimization.
    reference: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let request = |binary: &PathBuf, program_args: &[String]| -> anyhow::Result<TraceRequest> {
        let mut request = TraceRequest::new(std::path::absolute(binary)?);
        request.policy = args.policy;
        request.launch = args.launch.launch(program_args)?;
        request.follow = args.launch.follow();
        request.limits = Limits::seconds(args.timeout);
        request.search = Search::with(&args.debug_dirs);
        Ok(request)
    };
    let start = |arguments: &serde_json::Value| -> anyhow::Result<ProgramDebugger> {
        let asked: LaunchRequest = serde_json::from_value(arguments.clone()).context("the launch request needs `program`")?;
        let reference =
            asked.reference.as_ref().map(|binary| Ok::<_, anyhow::Error>(ReferenceValues::record(&request(binary, &asked.args)?)?));
        Ok(ProgramDebugger::new(request(&asked.program, &asked.args)?, reference.transpose()?))
    };
    let launch = |arguments: &serde_json::Value| start(arguments).map_err(|e| format!("{e:#}"));
    wire::serve(&mut BufReader::new(std::io::stdin()), &mut std::io::stdout(), &launch)?;
    Ok(CommandEnding::Clean)
}
