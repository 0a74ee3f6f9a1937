//! Exit codes, which are part of the contract: 0 nothing found (or work done), 1 something found,
//! 2 bad use, missing tool or bad input, 3 an internal error.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The work is done, or a linter found nothing.
    Clean,
    /// A linter found something, or `--fail-on-findings` applies.
    #[allow(dead_code, reason = "constructed by the linters, which land next")]
    Found,
}

/// Prints an error for people and gives the process its exit code. Every error that reaches this point
/// says what failed, on what, and what to do next; it is the user's to act on, hence 2. Panics exit with
/// 3 through the hook below.
pub fn report(result: anyhow::Result<Ending>) -> ExitCode {
    match result {
        Ok(Ending::Clean) => ExitCode::SUCCESS,
        Ok(Ending::Found) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Makes panics exit with 3 and say where to report them.
pub fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        eprintln!("error: this is a bug in trueline; please report it with the command you ran");
        if std::thread::current().name() == Some("main") {
            std::process::exit(3);
        }
    }));
}
