//! What a check did not see or left out, to be said beside its result: silence would read as "all is well".

use crate::steady::LeftOut;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use trueline_machine::inferior::Refusal;
use trueline_model::LineKey;
use trueline_oracle::{Digest, Unsteady};
use trueline_toolchain::Permission;
use trueline_trace::{Threads, TraceEnd, TraceSummary};

/// The share of the executed lines that a trace must have come to, below which that is said. What stays below it on programs
/// that people ship is threads, callbacks of libraries and handlers of signals.
pub const LEAST_SEEN: f64 = 0.5;

/// One thing to know about a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Note {
    /// Two runs at -O0 differ; what differs was left out.
    Unsteady {
        /// Lines left out.
        lines: usize,
        /// Scalars of variables left out.
        scalars: usize,
    },
    /// The program prints something else each time at -O0: what differs was not compared with what the other build prints.
    UnsteadyOutput {
        /// Lines of the output that were left out; none where all of it was.
        lines: Option<usize>,
    },
    /// System calls were refused: what the program did then is its error path.
    Refused {
        /// The permission that the program lacked, as `--allow` names it.
        permission: String,
        /// The calls, each once.
        calls: Vec<String>,
    },
    /// The -O0 build describes no variable and the optimized one does: nothing was said about variables.
    NoVariables,
    /// The code of a shared library was not compared.
    Library {
        /// The file's name.
        name: String,
        /// Why it was not.
        gap: LibraryGap,
    },
    /// The trace came to few of the lines that ran.
    FewSeen {
        /// Lines that ran.
        executed: usize,
        /// Those among them that the trace came to.
        seen: usize,
    },
    /// The program has threads whose stops were not looked at.
    Threads {
        /// Threads that were started beside the first.
        started: u32,
        /// Those among them whose stops were looked at.
        followed: u32,
        /// True when all of them were asked for.
        wanted: bool,
    },
    /// What lines do could not be watched in both runs, so that no breakpoint was judged.
    BreakpointsUnjudged,
    /// The -O0 build, which the other is held against, contradicts the source: a frame is on a line of another function.
    ReferenceContradicts {
        /// The frame's function.
        function: Arc<str>,
        /// The line that it is on.
        line: u32,
        /// The function's first line.
        first: u32,
        /// Its last line.
        last: u32,
    },
    /// The traces looked at a part of the run: as much as was asked for, or as there was time for.
    Partial {
        /// Lines that ran at -O0.
        executed: usize,
        /// Those among them that the -O0 trace came to.
        seen: usize,
        /// Addresses of the user's code that ran at -O0.
        executed_addresses: u64,
        /// Those among them that the -O0 trace looked at.
        seen_addresses: u64,
        /// Addresses that showed nothing new for so long that they were no longer stopped at, in both builds.
        given_up: u64,
        /// Candidates that were not judged because of what was not seen.
        left_out: usize,
        /// True when a trace was over before the program was.
        cut_off: bool,
    },
}

/// How much of a run a trace looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Addresses that ran.
    pub executed: u64,
    /// Threads beside the first that were followed.
    pub followed: u32,
    threads: u32,
    addresses: u64,
    given_up: u64,
    end: TraceEnd,
}

impl Seen {
    pub(crate) fn of(summary: &TraceSummary, executed: u64) -> Self {
        let &TraceSummary { end, threads, followed, addresses, given_up, .. } = summary;
        Self { executed, followed, threads, addresses, given_up, end }
    }

    /// True when the trace went to the program's end.
    pub(crate) fn is_finished(&self) -> bool {
        self.end == TraceEnd::Finished
    }

    /// True when every stop was made.
    pub(crate) fn is_whole(&self) -> bool {
        self.given_up == 0 && self.end == TraceEnd::Finished
    }
}

/// Why the code of a library was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LibraryGap {
    /// It has no debug information in one of the builds.
    NoDebugInformation,
    /// The optimized build did not load it.
    NotLoaded,
    /// The -O0 build did not load it.
    OnlyOptimized,
    /// Both builds load the same file, so there is nothing to compare.
    SameFile,
}

impl Note {
    /// What two runs do not agree on, when there is any.
    pub(crate) fn unsteady(unsteady: &Unsteady) -> Option<Self> {
        (!unsteady.is_empty()).then_some(Self::Unsteady { lines: unsteady.lines.len(), scalars: unsteady.scalars.len() })
    }

    /// What of the output was left out.
    pub(crate) fn unsteady_output(left_out: LeftOut) -> Self {
        let lines = match left_out {
            LeftOut::Lines(lines) => Some(lines),
            LeftOut::Everything => None,
        };
        Self::UnsteadyOutput { lines }
    }

    /// The refused calls, by the permission that was missing.
    pub(crate) fn refused(refusals: &[Refusal]) -> Vec<Self> {
        let mut calls: BTreeMap<Permission, Vec<String>> = BTreeMap::new();
        for refusal in refusals {
            calls.entry(refusal.permission).or_default().push(refusal.to_string());
        }
        calls.into_iter().map(|(permission, calls)| Self::Refused { permission: permission.to_string(), calls }).collect()
    }

    /// How few of the executed lines a trace came to, when it is few.
    pub(crate) fn few_seen(executed: &BTreeSet<LineKey>, digest: &Digest) -> Option<Self> {
        let seen = executed.iter().filter(|l| digest.lines.contains_key(l) || digest.passed.contains_key(l)).count();
        let few = (seen as f64) < executed.len() as f64 * LEAST_SEEN;
        few.then_some(Self::FewSeen { executed: executed.len(), seen })
    }

    /// Which threads were not looked at, where there are any.
    pub(crate) fn threads(wanted: Threads, reference: &Seen, optimized: &Seen) -> Option<Self> {
        let started = reference.threads.max(optimized.threads);
        let followed = reference.followed.min(optimized.followed);
        (followed < started).then_some(Self::Threads { started, followed, wanted: wanted == Threads::Each })
    }

    /// What part of the run was looked at.
    pub(crate) fn partial(executed: &BTreeSet<LineKey>, digest: &Digest, reference: &Seen, optimized: &Seen, left_out: usize) -> Self {
        Self::Partial {
            executed: executed.len(),
            seen: executed.iter().filter(|l| digest.lines.contains_key(l) || digest.passed.contains_key(l)).count(),
            executed_addresses: reference.executed,
            seen_addresses: reference.addresses.min(reference.executed),
            given_up: reference.given_up + optimized.given_up,
            left_out,
            cut_off: reference.end != TraceEnd::Finished || optimized.end != TraceEnd::Finished,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsteady { lines, scalars } => {
                write!(f, "two runs at -O0 differ on {lines} lines and in {scalars} scalars of variables; these were left out")
            }
            Self::UnsteadyOutput { lines: Some(lines) } => {
                write!(f, "the program prints something else each time: {lines} lines of its output were not compared")
            }
            Self::UnsteadyOutput { lines: None } => f.write_str("the program prints something else each time: its output was not compared"),
            Self::Refused { permission, calls } => write!(
                f,
                "the program was refused {}: its error path was checked; --allow {permission} lets it",
                calls.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
            ),
            Self::NoVariables => {
                write!(
                    f,
                    "the -O0 build describes no variables (line tables only?): scope, parameter and value were not judged; build it with -g"
                )
            }
            Self::Library { name, gap } => {
                let why = match gap {
                    LibraryGap::NoDebugInformation => "has no debug information in one of the builds; compile it with -g",
                    LibraryGap::NotLoaded => "is loaded by the -O0 build only",
                    LibraryGap::OnlyOptimized => "is loaded by the optimized build only",
                    LibraryGap::SameFile => "is the same file in both builds",
                };
                write!(f, "the code of {name} was not checked: it {why}")
            }
            Self::Threads { started, followed, wanted: true } => {
                write!(f, "of {started} threads beside the first {followed} were followed in both builds")
            }
            Self::Threads { started, .. } => {
                write!(f, "{started} more threads ran, whose stops were not looked at; --threads all looks at them")
            }
            Self::BreakpointsUnjudged => {
                f.write_str("breakpoints were not judged: the program runs too long, or does what cannot be watched")
            }
            Self::ReferenceContradicts { function, line, first, last } => write!(
                f,
                "the -O0 build contradicts the source: a frame of {function} (lines {first} to {last}) is on line {line}; \
                 --opt=-O0 shows all that it says so"
            ),
            Self::FewSeen { executed, seen } => write!(
                f,
                "of {executed} lines that ran at -O0 only {seen} were seen: a debugger steps through the first thread from main, \
                 not through what libraries call back"
            ),
            Self::Partial { executed, seen, executed_addresses, seen_addresses, given_up, left_out, cut_off } => {
                let share = |part: u64, of: u64| (part * 100).checked_div(of).unwrap_or(100);
                write!(
                    f,
                    "{}of what ran at -O0 {} % of the lines ({seen} of {executed}) and {} % of the addresses were seen",
                    if *cut_off { "a trace was over before the program: " } else { "" },
                    share(*seen as u64, *executed as u64),
                    share(*seen_addresses, *executed_addresses)
                )?;
                if *given_up > 0 {
                    write!(f, "; {given_up} addresses were given up after they showed nothing new (--visits)")?;
                }
                if *left_out > 0 {
                    write!(f, "; {left_out} candidates depend on what was not seen and were left out")?;
                }
                Ok(())
            }
        }
    }
}
