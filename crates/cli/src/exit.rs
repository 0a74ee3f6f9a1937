//! Exit codes, which are part of the contract: 0 nothing found (or work done), 1 something found,
//! 2 bad use, missing tool or bad input, 3 an internal error. Whoever reads our output may stop when they have seen
//! enough (`| head`): that ends us without a word, with the code of a process that SIGPIPE ended.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a shell shows for a death by SIGPIPE: 128 and the signal's number.
const READER_GONE: u8 = 141;

/// Set when printing failed because nobody reads.
static IS_READER_GONE: AtomicBool = AtomicBool::new(false);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnding {
    /// The work is done, or a linter found nothing.
    Clean,
    /// A linter found something, or `--fail-on-findings` applies.
    Found,
}

/// Runs the work, prints an error for people and gives the process its exit code. Every error that reaches this point
/// says what failed, on what, and what to do next; it is the user's to act on, hence 2. Panics exit with
/// 3 through the hook below.
pub fn report(work: impl FnOnce() -> anyhow::Result<CommandEnding>) -> ExitCode {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(CommandEnding::Clean)) => ExitCode::SUCCESS,
        Ok(Ok(CommandEnding::Found)) => ExitCode::from(1),
        Ok(Err(error)) if is_broken_pipe(&error) => ExitCode::from(READER_GONE),
        Ok(Err(error)) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
        Err(_) if IS_READER_GONE.load(Ordering::Relaxed) => ExitCode::from(READER_GONE),
        Err(panic) => resume_unwind(panic),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe))
}

/// Makes panics exit with 3 and say where to report them; one of `println!` whose reader is gone unwinds in silence, so
/// that temporary files are removed.
pub fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let said = info.payload().downcast_ref::<String>().map_or("", String::as_str);
        if said.starts_with("failed printing to stdout") && said.contains("Broken pipe") {
            IS_READER_GONE.store(true, Ordering::Relaxed);
            return;
        }
        default(info);
        eprintln!("error: this is a bug in trueline; please report it with the command you ran");
        if std::thread::current().name() == Some("main") {
            std::process::exit(3);
        }
    }));
}
