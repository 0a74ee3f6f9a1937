//! What an oracle found wrong in one optimized trace, as data.
//!
//! The table of invariants is here, once: a row gives the module of `trueline-oracle` that looks for it, its name in
//! Rust, what a violation of it carries, and its name in JSON, flags and tables. Everything that depends on which
//! invariant is broken is a match over [`Breach`], so that the compiler lists what a new row needs. Deliberately absent:
//! every sentence (see [`wording`](crate::wording)); nothing may be read back out of one.

use crate::{FileName, Line};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Hands the table of invariants to a macro: `module Variant(Payload) "name"`, in the order that reports list them.
/// The first four are those of "Who's Debugging the Debuggers?", section 3.
#[macro_export]
macro_rules! with_invariants {
    ($then:ident) => {
        $then! {
            /// LI: a line is stepped on that never runs.
            line Line(NeverRun) "line",
            /// BI: a backtrace names a function that was not active there.
            backtrace Backtrace(NotActive) "backtrace",
            /// SI: a variable is visible where it is not in scope.
            scope Scope(OutOfScope) "scope",
            /// PI: a parameter shows a value that it never had.
            parameter Parameter(NeverHeld) "parameter",
            /// A local or global shows a value that it never had.
            value Value(NeverHeld) "value",
            /// A variable shows a value that it has at another moment, not at this one.
            stale Stale(OtherMoment) "stale",
            /// `-g` changed the generated code.
            codegen Codegen(CodeDifference) "codegen",
            /// One trace contradicts the source or itself.
            self_contradiction SelfContradiction(Contradiction) "self",
            /// The debug information is ill-formed: it cannot be evaluated as the standard says.
            dwarf Dwarf(IllFormed) "dwarf",
            /// A breakpoint on a line is not hit where the line runs, or is hit where it does not.
            breakpoint Breakpoint(Astray) "breakpoint",
            /// A variable is shown as optimized out although its value is there.
            lost Lost(Missing) "lost",
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $module:ident $variant:ident($payload:ident) $name:literal,)*) => {
        /// The invariants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum Invariant {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        /// Which invariant is broken, and what was seen of it.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(tag = "invariant")]
        pub enum Breach {
            $($(#[$doc])* #[serde(rename = $name)] $variant($payload),)*
        }

        impl Invariant {
            /// All of them, in the order reports list them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Those that are looked for unless others are asked for: losing a variable, and showing a value of another moment, is
            /// called a fault only on demand.
            pub fn usual() -> impl Iterator<Item = Self> {
                Self::ALL.into_iter().filter(|invariant| !matches!(invariant, Self::Lost | Self::Stale))
            }

            /// The name used in JSON, tables and flags.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl Breach {
            /// The invariant that is broken.
            pub fn invariant(&self) -> Invariant {
                match self {
                    $(Self::$variant(_) => Invariant::$variant,)*
                }
            }
        }
    };
}

with_invariants!(define);

/// A list of which only the first entries may have been kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Listed<T> {
    /// The entries that were kept.
    pub first: Vec<T>,
    /// True when there are more, or may be (documents of version 1 did not say).
    pub cut: bool,
}

impl<T> Listed<T> {
    /// Keeps at most so many entries and says whether that left any out.
    pub fn first_of(all: impl IntoIterator<Item = T>, most: usize) -> Self {
        let mut all = all.into_iter();
        let first: Vec<T> = all.by_ref().take(most).collect();
        Self { first, cut: all.next().is_some() }
    }
}

/// A line that is stepped on and never runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NeverRun {
    /// The lines that rows of the line table give the address of the stop, each once; null for a row without a line.
    pub rows: Vec<Option<Line>>,
}

/// Functions on the stack that are never active together on the line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NotActive {
    /// Sets of functions that are active together on the line at -O0, by name.
    pub allowed: Listed<Vec<Arc<str>>>,
    /// A function that is on the stack here and never is on this line at -O0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intruder: Option<Arc<str>>,
}

/// A variable that is visible where it is not in scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OutOfScope {
    /// The variable's name.
    pub variable: Arc<str>,
    /// The function that it belongs to; empty for a global.
    pub owner: Arc<str>,
    /// The line that declares it.
    pub declared: Line,
}

/// A value that a variable never has at -O0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NeverHeld {
    /// The variable's name.
    pub variable: Arc<str>,
    /// Which scalar of an aggregate is wrong, counted from 0 over all of them; none where the variable is one scalar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<usize>,
    /// What is shown for it.
    pub value: Arc<str>,
    /// What it is at -O0.
    pub allowed: Listed<Arc<str>>,
}

/// A value that a variable has at another moment of the run, and at none that the stop can be in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OtherMoment {
    /// The variable's name.
    pub variable: Arc<str>,
    /// Which scalar of an aggregate is wrong, counted from 0 over all of them; none where the variable is one scalar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<usize>,
    /// What is shown for it.
    pub value: Arc<str>,
    /// What it is at -O0 at the moments that the stop can be in.
    pub expected: Listed<Arc<str>>,
    /// The assignment that is not shown yet, or shown too early, where one is to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assignment>,
    /// The location behind the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationSpan>,
}

/// An assignment that is shown at the wrong time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Assignment {
    /// Its line.
    pub line: Line,
    /// In which direction it is wrong.
    pub shown: Timing,
}

/// How an assignment is misplaced in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// It was made, and is not shown yet.
    Late,
    /// It is shown, and was not made yet.
    Early,
}

/// The part of a variable's location that holds at a stop.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LocationSpan {
    /// The first address that it holds at.
    pub low: u64,
    /// The first address that it no longer holds at.
    pub high: u64,
    /// The expression, as DWARF spells it.
    pub expression: Arc<str>,
    /// Instructions from the stop on that it holds at.
    pub instructions: usize,
    /// Lines that these instructions have.
    pub lines: usize,
}

/// A wrong value, whatever is wrong about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongValue<'v> {
    /// Which scalar of an aggregate it is; none where the variable is one scalar.
    pub element: Option<usize>,
    /// What is shown for it.
    pub value: &'v Arc<str>,
    /// What it may be.
    pub allowed: &'v Listed<Arc<str>>,
}

/// How the code differs with and without `-g`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "difference", rename_all = "kebab-case")]
pub enum CodeDifference {
    /// An executable section exists with `-g` only.
    ExtraSection {
        /// The section's name.
        section: Arc<str>,
    },
    /// The bytes of an executable section differ.
    Bytes {
        /// The section's name.
        section: Arc<str>,
        /// The section in the build with `-g`.
        with: CodeExtent,
        /// The section in the build without.
        without: CodeExtent,
    },
    /// gcc's own comparison of its final intermediate code fails.
    CompareDebug {
        /// The first line of what gcc says.
        message: Arc<str>,
    },
}

/// One of two differing sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CodeExtent {
    /// Its size in bytes.
    pub size: u64,
    /// The address from which on it differs.
    pub differs_at: u64,
}

/// What one trace shows against the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "contradiction", rename_all = "kebab-case")]
pub enum Contradiction {
    /// A frame stands on the violation's line, or calls from it, and the line is outside the frame's function.
    Frame {
        /// How many frames are inside of it; 0 stands on the line, others call from it.
        depth: usize,
        /// The first line of the function.
        first: Line,
        /// The last line of the function.
        last: Line,
    },
    /// A variable shows outside the block that declares it.
    Block {
        /// The variable's name.
        variable: Arc<str>,
        /// The line that opens the block.
        open: Line,
        /// The line that closes the block.
        close: Line,
    },
}

/// A location that cannot be evaluated or read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IllFormed {
    /// The name of the variable whose location it is.
    pub variable: Arc<str>,
}

/// How a breakpoint on a line goes astray.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "astray", rename_all = "kebab-case")]
pub enum Astray {
    /// What the line does happens, and no place of the breakpoint is hit before it.
    NeverHit {
        /// What the line does.
        effect: LineEffect,
        /// The places that the debugger chooses.
        places: Vec<u64>,
    },
    /// What the line does happens, and the debugger has moved the breakpoint to other lines, where it is not hit before it
    /// in the line's function; no lines where the debugger finds no place at all.
    Moved {
        /// What the line does.
        effect: LineEffect,
        /// The lines that the debugger shows where it put the breakpoint.
        to: Vec<Line>,
    },
    /// It is hit, and the line never runs.
    NotRun {
        /// The places that are hit.
        places: Vec<u64>,
    },
}

/// Something a line does that everybody can see: its value outlives the function, or it leaves the function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LineEffect {
    /// It calls a function that is still called in the optimized build.
    Call {
        /// The function's name; `output` for all that print, since compilers turn one of them into another.
        callee: Arc<str>,
    },
    /// It stores to a global variable.
    Store {
        /// The variable's symbol.
        object: Arc<str>,
    },
}

/// A variable that has no location where its value is at hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Missing {
    /// The variable's name.
    pub variable: Arc<str>,
    /// Why it could be shown.
    pub evidence: Recovery,
}

/// Why a variable that is not shown could be. The first three are after the conjectures of Assaiante et al., "Where Did My
/// Variable Go?".
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum Recovery {
    /// It is an argument of a call that the optimizer cannot see through: its value is where the callee expects it.
    Argument {
        /// Who is called.
        callee: Arc<str>,
        /// The register that holds it.
        place: Arc<str>,
    },
    /// It is stored to a global variable: its value is what is stored.
    Stored {
        /// The symbol of the global variable.
        object: Arc<str>,
        /// The register or the constant that is stored.
        place: Arc<str>,
    },
    /// It is shown before and after with the same value, and is not assigned in between.
    Returns {
        /// The value that it keeps.
        value: Arc<str>,
        /// A line where it is shown again.
        back_on: Line,
    },
    /// The same machine code under another setting of the debug information has it.
    OtherSetting {
        /// The flag that makes the difference.
        flag: Arc<str>,
        /// What is shown with it.
        value: Arc<str>,
    },
    /// A proved relation to the state of the machine.
    Relation {
        /// The variable in terms of registers and memory.
        expression: Arc<str>,
    },
}

impl Breach {
    /// The variable that it is about, if it is about one.
    pub fn variable(&self) -> Option<&Arc<str>> {
        match self {
            Self::Scope(OutOfScope { variable, .. })
            | Self::Parameter(NeverHeld { variable, .. })
            | Self::Value(NeverHeld { variable, .. })
            | Self::Stale(OtherMoment { variable, .. })
            | Self::SelfContradiction(Contradiction::Block { variable, .. })
            | Self::Dwarf(IllFormed { variable })
            | Self::Lost(Missing { variable, .. }) => Some(variable),
            Self::Breakpoint(_) => None,
            Self::Line(_) | Self::Backtrace(_) | Self::Codegen(_) | Self::SelfContradiction(Contradiction::Frame { .. }) => None,
        }
    }

    /// The value that is shown and wrong, for violations of values.
    pub fn wrong_value(&self) -> Option<WrongValue<'_>> {
        match self {
            Self::Parameter(NeverHeld { element, value, allowed, .. })
            | Self::Value(NeverHeld { element, value, allowed, .. })
            | Self::Stale(OtherMoment { element, value, expected: allowed, .. }) => Some(WrongValue { element: *element, value, allowed }),
            _ => None,
        }
    }

    /// What tells kinds of one invariant's violations apart before a pass is known: part of a finding's class, and kept
    /// in stores. It says nothing of names and numbers.
    pub fn shape(&self) -> Option<&'static str> {
        match self {
            Self::Line(NeverRun { rows }) => match rows.len() {
                0 => None,
                1 => Some("one row at the address"),
                _ => Some("several rows at the address"),
            },
            Self::Backtrace(active) => active.intruder.is_some().then_some("a function that never is on the line"),
            Self::Scope(_) => None,
            Self::Parameter(held) | Self::Value(held) => held.element.is_some().then_some("part of an aggregate"),
            Self::Stale(stale) => match stale.assignment.map(|a| a.shown) {
                Some(Timing::Late) => Some("an assignment not shown yet"),
                Some(Timing::Early) => Some("an assignment shown too early"),
                None => None,
            },
            Self::Codegen(CodeDifference::ExtraSection { .. }) => Some("a section more"),
            Self::Codegen(CodeDifference::Bytes { .. }) => Some("other bytes"),
            Self::Codegen(CodeDifference::CompareDebug { .. }) => Some("-fcompare-debug"),
            Self::SelfContradiction(Contradiction::Frame { depth: 0, .. }) => Some("stands outside the function"),
            Self::SelfContradiction(Contradiction::Frame { .. }) => Some("calls from outside the function"),
            Self::SelfContradiction(Contradiction::Block { .. }) => Some("outside the block"),
            Self::Dwarf(_) => None,
            Self::Breakpoint(Astray::NeverHit { .. }) => Some("never hit"),
            Self::Breakpoint(Astray::Moved { .. }) => Some("moved to another line"),
            Self::Breakpoint(Astray::NotRun { .. }) => Some("hit where the line does not run"),
            Self::Lost(Missing { evidence, .. }) => Some(match evidence {
                Recovery::Argument { .. } => "an argument of a call",
                Recovery::Stored { .. } => "stored to a global",
                Recovery::Returns { .. } => "comes back without an assignment",
                Recovery::OtherSetting { .. } => "has a location under another setting",
                Recovery::Relation { .. } => "has a proved relation",
            }),
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Invariant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|i| i.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|i| i.name()).collect();
            format!("unknown invariant `{text}`; there are {}", names.join(", "))
        })
    }
}

/// One broken invariant at one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Violation {
    /// File of the stop.
    pub file: FileName,
    /// Line of the stop.
    pub line: Line,
    /// The function that it is about: the innermost one shown there, or the one that contradicts the source.
    pub function: Arc<str>,
    /// The frames shown there, innermost first, names only.
    pub frames: Vec<Arc<str>>,
    /// Link-time address of the first stop that shows it; none where the build as a whole does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pc: Option<u64>,
    /// Which invariant, and what was seen.
    #[serde(flatten)]
    pub breach: Breach,
}

impl Violation {
    /// Which invariant is broken.
    pub fn invariant(&self) -> Invariant {
        self.breach.invariant()
    }

    /// The variable that it is about, if it is about one.
    pub fn variable(&self) -> Option<&Arc<str>> {
        self.breach.variable()
    }

    /// True when `other` is the same complaint, whatever the addresses and the other facts of the build:
    /// this is what a bisection, a reduction step or another reader compares.
    pub fn same_as(&self, other: &Self) -> bool {
        self.complaint() == other.complaint()
    }

    /// The part of it that other builds and readers can share.
    pub fn complaint(&self) -> Complaint {
        let base = self.file.base();
        let file = if base.len() == self.file.0.len() { self.file.clone() } else { FileName::new(base) };
        Complaint { invariant: self.invariant(), file, line: self.line, variable: self.variable().cloned() }
    }
}

/// A violation without the facts of the build that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Complaint {
    invariant: Invariant,
    /// The last component of the file's name.
    file: FileName,
    line: Line,
    variable: Option<Arc<str>>,
}

/// The text that stores make their keys of: it must never change.
impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {:?}", self.invariant, self.file, self.line, self.variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(document: &str) -> Violation {
        serde_json::from_str(document).unwrap()
    }

    #[test]
    fn a_violation_survives_its_document_as_it_is() {
        let documents = [
            r#"{"file":"a.c","line":7,"function":"f","frames":["f","main"],"pc":64,"invariant":"line","rows":[7,null]}"#,
            r#"{"file":"a.c","line":7,"function":"f","frames":["f"],"pc":64,"invariant":"value","variable":"s","element":3,"value":"5","allowed":{"first":["1"],"cut":true}}"#,
            r#"{"file":"a.c","line":7,"function":"f","frames":["f"],"pc":64,"invariant":"self","contradiction":"frame","depth":1,"first":1,"last":5}"#,
            r#"{"file":"a.c","line":1,"function":"","frames":[],"invariant":"codegen","difference":"extra-section","section":".text"}"#,
        ];
        for document in documents {
            assert_eq!(serde_json::to_string(&read(document)).unwrap(), document);
        }
    }

    #[test]
    fn what_a_build_shows_of_a_complaint_does_not_change_it() {
        let of = |value: &str, element: usize, pc: u64| {
            read(&format!(
                r#"{{"file":"/tmp/x/a.c","line":7,"function":"f","frames":["f"],"pc":{pc},"invariant":"value","variable":"s",
                    "element":{element},"value":"{value}","allowed":{{"first":[],"cut":false}}}}"#
            ))
        };
        assert!(of("1", 0, 64).same_as(&of("2", 5, 80)));
        assert_eq!(of("1", 0, 64).complaint().to_string(), "value a.c 7 Some(\"s\")");
    }

    #[test]
    fn a_list_says_whether_it_was_cut() {
        assert_eq!(Listed::first_of(1..=3, 3), Listed { first: vec![1, 2, 3], cut: false });
        assert_eq!(Listed::first_of(1..=4, 3), Listed { first: vec![1, 2, 3], cut: true });
    }
}
