//! What a check did not see or left out, to be said beside its result: silence would read as "all is well".

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use trueline_machine::inferior::Refusal;
use trueline_model::LineKey;
use trueline_oracle::{Digest, Unsteady};
use trueline_toolchain::Permission;

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
    /// What lines do could not be watched in both runs, so that no breakpoint was judged.
    BreakpointsUnjudged,
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
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsteady { lines, scalars } => {
                write!(f, "two runs at -O0 differ on {lines} lines and in {scalars} scalars of variables; these were left out")
            }
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
            Self::BreakpointsUnjudged => {
                f.write_str("breakpoints were not judged: the program runs too long, or does what cannot be watched")
            }
            Self::FewSeen { executed, seen } => write!(
                f,
                "of {executed} lines that ran at -O0 only {seen} were seen: a debugger steps through the first thread from main, \
                 not through what libraries call back"
            ),
        }
    }
}
