//! The oracle of equivalence: a variant must do what its seed does. Pure; whoever compiles and runs asks.

use trueline_model::Fault;
use trueline_toolchain::{BuildError, Exit, Outcome};

/// What a program does: what it prints and how it exits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedBehaviour {
    /// What it prints to standard output.
    pub output: Vec<u8>,
    /// The code it exits with.
    pub exit_code: i32,
}

impl ExpectedBehaviour {
    /// The behaviour of a finished run, `None` when it did not exit by itself.
    pub fn of(outcome: &Outcome) -> Option<Self> {
        match outcome.exit {
            Exit::Code(exit_code) => Some(Self { output: outcome.stdout.clone(), exit_code }),
            _ => None,
        }
    }
}

/// Longest excerpt of an output in a fault.
const EXCERPT: usize = 200;

/// Judges one build of a program that must behave as `expected`: the run, or why there is no build. `None`
/// when all is well, and also when the compiler refuses the program or cannot be started, which says nothing
/// about it.
pub fn judge(expected: &ExpectedBehaviour, attempt: Result<&Outcome, &BuildError>) -> Option<Fault> {
    let outcome = match attempt {
        Ok(outcome) => outcome,
        Err(BuildError::Crashed { message, .. }) => return Some(Fault::Crash { message: message.clone() }),
        Err(BuildError::Hung { seconds, .. }) => return Some(Fault::Hang { seconds: *seconds }),
        Err(_) => return None,
    };
    let actual = match outcome.exit {
        Exit::Code(code) if code == expected.exit_code && outcome.stdout == expected.output => return None,
        Exit::Code(code) => format!("{} (exit code {code})", excerpt(&outcome.stdout)),
        Exit::Signal(signal) => format!("{} (signal {signal})", excerpt(&outcome.stdout)),
        Exit::TimedOut => format!("{} (does not end)", excerpt(&outcome.stdout)),
        Exit::TooMuchOutput => "output without end".to_owned(),
        Exit::Stopped => return None,
    };
    Some(Fault::WrongCode { expected: format!("{} (exit code {})", excerpt(&expected.output), expected.exit_code), actual })
}

fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    match text.char_indices().nth(EXCERPT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_toolchain::Job;

    #[test]
    fn the_same_output_and_exit_code_is_no_fault_and_anything_else_is() {
        let run = |script: &str| Job::new("/bin/sh").args(["-c", script]).run().unwrap();
        let expected = ExpectedBehaviour { output: b"7\n".to_vec(), exit_code: 0 };
        assert_eq!(judge(&expected, Ok(&run("echo 7"))), None);
        assert!(matches!(judge(&expected, Ok(&run("echo 8"))), Some(Fault::WrongCode { actual, .. }) if actual.starts_with('8')));
        assert!(matches!(judge(&expected, Ok(&run("echo 7; exit 3"))), Some(Fault::WrongCode { .. })));
        assert!(
            matches!(judge(&expected, Ok(&run("kill -SEGV $$"))), Some(Fault::WrongCode { actual, .. }) if actual.contains("signal 11"))
        );
        let hung = BuildError::Hung { compiler: "gcc 12".to_owned(), source_file: "a.c".into(), seconds: 30, log: String::new() };
        assert_eq!(judge(&expected, Err(&hung)), Some(Fault::Hang { seconds: 30 }));
    }
}
