//! One run without any debugger: does the program end by itself, what does it print, what does it read?
//!
//! It costs a millisecond and refuses early what tracing would only trip over: crashes, endless loops,
//! floods of output, programs that read their input. Comparing the behaviour of both builds tells wrong code
//! from wrong debug information.

use crate::CheckError;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;
use trueline_toolchain::{Exit, Launch, Limits, Onlooker};

/// Most output a program may print.
const MOST_OUTPUT: usize = 16 << 20;
/// What stands on standard input; a closed program leaves it there.
const BAIT: &[u8] = b"trueline\n";

/// How a program ended and what it printed.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Its exit code.
    pub code: i32,
    /// Its standard output.
    pub output: Vec<u8>,
    /// CPU time it took, which is no part of the comparison.
    pub cpu: Duration,
    /// How it was started.
    pub(crate) launch: Launch,
}

impl Behaviour {
    /// Whether two runs end and print the same.
    pub fn same_as(&self, other: &Self) -> bool {
        (self.code, &self.output) == (other.code, &other.output)
    }

    /// For people: the exit code and the first line.
    pub fn summary(&self) -> String {
        let text = String::from_utf8_lossy(&self.output);
        let line: String = text.lines().next().unwrap_or("").chars().take(60).collect();
        format!("exit code {} and `{line}`", self.code)
    }

    /// For people: the exit code, and the first line that is not the other run's.
    pub fn summary_beside(&self, other: &Self) -> String {
        let (mine, theirs) = (String::from_utf8_lossy(&self.output), String::from_utf8_lossy(&other.output));
        let mut others = theirs.lines();
        let differing = mine.lines().enumerate().find(|(_, line)| others.next() != Some(line));
        match differing {
            Some((number, line)) if number > 0 => {
                let line: String = line.chars().take(60).collect();
                format!("exit code {} and `{line}` on line {} of the output", self.code, number + 1)
            }
            _ => self.summary(),
        }
    }

    /// Runs a program once and observes it.
    pub(crate) fn observe(binary: &Path, launch: &Launch, limits: &Limits) -> Result<Self, CheckError> {
        let limits = Limits { output: MOST_OUTPUT, ..limits.clone() };
        let bad = |reason: String| CheckError::BadProgram { reason };
        let (mut left, mut bait) = std::io::pipe().map_err(CheckError::io("cannot make a pipe"))?;
        bait.write_all(BAIT).map_err(CheckError::io("cannot fill a pipe"))?;
        drop(bait);
        let handle = left.try_clone().map_err(CheckError::io("cannot share a pipe"))?;
        let mut job = launch.job(binary, Onlooker::None, &limits).map_err(CheckError::io("cannot prepare a run"))?;
        if launch.stdin.is_none() {
            job = job.stdin_from(handle);
        }
        let outcome = job.run().map_err(|e| CheckError::Trace(e.into()))?;
        let mut rest = Vec::new();
        left.read_to_end(&mut rest).map_err(CheckError::io("cannot read a pipe back"))?;
        let read = rest != BAIT;
        match outcome.exit {
            _ if read => Err(bad("reads its standard input; give it one with --stdin".to_owned())),
            Exit::Code(code) => Ok(Self { code, output: outcome.stdout, cpu: outcome.cpu, launch: launch.clone() }),
            Exit::Signal(signal) => Err(bad(format!("is ended by signal {signal} ({})", signal_name(signal)))),
            Exit::TimedOut => Err(bad(format!("did not finish within {} s", limits.wall.min(limits.cpu).as_secs()))),
            Exit::TooMuchOutput | Exit::Stopped => Err(bad(format!("prints more than {} MB", MOST_OUTPUT >> 20))),
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => "SIGILL, an illegal instruction",
        5 => "SIGTRAP, a trap",
        6 => "SIGABRT, abort",
        7 => "SIGBUS, a bus error",
        8 => "SIGFPE, an arithmetic error",
        11 => "SIGSEGV, a bad memory access",
        25 => "SIGXFSZ, too large a file",
        31 => "SIGSYS: it tried to start another process, open a socket or leave its group; a closed program does none of that",
        _ => "see signal(7)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_toolchain::JobError;
    use trueline_trace::TraceError;

    #[test]
    fn a_program_that_is_killed_is_not_called_bad_and_one_that_aborts_is() {
        let run = |signal: &str| {
            let launch = Launch::with_args(&["-c".to_owned(), format!("kill -{signal} $$")]);
            Behaviour::observe(Path::new("/bin/sh"), &launch, &Limits::default())
        };
        assert!(matches!(run("KILL"), Err(CheckError::Trace(TraceError::Job(JobError::Killed { .. })))));
        assert!(matches!(run("ABRT"), Err(CheckError::BadProgram { .. })));
    }
}
