//! Every sentence about a fault: what the terminal, pages, SARIF, JUnit and bug drafts say is written here and nowhere else.
//!
//! Pure text from data; nobody reads a sentence back. A sentence may be reworded freely: identity, classes and documents
//! come from the data. Deliberately absent: markup, which is the business of whoever prints.

mod faults;

pub use faults::{clause, details, headline, identity, report, sighting};

use crate::{
    Astray, Breach, CodeDifference, Contradiction, IllFormed, Invariant, LineEffect, Missing, NeverHeld, NeverRun, NotActive, OtherMoment,
    OutOfScope, Recovery, Timing, Violation,
};

/// All that is said about one violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// One line with the place in it, for lists of many files: terminal, SARIF, JUnit.
    pub title: String,
    /// The same where the file is known: pages.
    pub clause: String,
    /// What is shown, beside the line of source; empty where the line says it.
    pub margin: String,
    /// What -O0 has instead; none where the title says it.
    pub reference: Option<String>,
    /// What in the build leads to it, when the oracle can tell.
    pub cause: Option<String>,
    /// For a compiler's bug tracker.
    pub report: ReportWords,
}

/// A bug report's parts that depend on the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportWords {
    /// Its title, without compiler and level.
    pub title: String,
    /// What should be, in Markdown.
    pub expected: String,
    /// What is, in Markdown.
    pub actual: String,
}

/// What an invariant forbids, as the title of a rule.
pub fn rule(invariant: Invariant) -> &'static str {
    match invariant {
        Invariant::Line => "A line is stepped on that never runs",
        Invariant::Backtrace => "A backtrace names a function that was not active there",
        Invariant::Scope => "A variable is visible where it is not in scope",
        Invariant::Parameter => "A parameter shows a value that it never had",
        Invariant::Value => "A variable shows a value that it never had",
        Invariant::Stale => "A variable shows a value of another moment",
        Invariant::Codegen => "-g changes the generated code",
        Invariant::SelfContradiction => "The trace contradicts the source",
        Invariant::Dwarf => "The debug information cannot be evaluated",
        Invariant::Breakpoint => "A breakpoint on a line goes astray",
        Invariant::Lost => "A variable is optimized out although its value is there",
    }
}

/// The words for a violation.
pub fn words(v: &Violation) -> Words {
    match &v.breach {
        Breach::Line(breach) => line(v, breach),
        Breach::Backtrace(breach) => backtrace(v, breach),
        Breach::Scope(breach) => scope(v, breach),
        Breach::Parameter(breach) => value(v, breach, "parameter "),
        Breach::Value(breach) => value(v, breach, ""),
        Breach::Stale(breach) => stale(v, breach),
        Breach::Codegen(breach) => codegen(v, breach),
        Breach::SelfContradiction(breach) => self_contradiction(v, breach),
        Breach::Dwarf(breach) => dwarf(v, breach),
        Breach::Breakpoint(breach) => breakpoint(v, breach),
        Breach::Lost(breach) => lost(v, breach),
    }
}

fn line(v: &Violation, breach: &NeverRun) -> Words {
    let place = place(v);
    let lines: Vec<String> = breach.rows.iter().map(|row| row.map_or("0".to_owned(), |l| l.to_string())).collect();
    let address = v.pc.map_or_else(|| "the address".to_owned(), |pc| format!("{pc:#x}"));
    Words {
        title: format!("{place} is stepped on but never runs"),
        clause: format!("line {} is stepped on but never runs", v.line),
        margin: "never executed at -O0".to_owned(),
        reference: None,
        cause: match &lines[..] {
            [] => None,
            [only] => Some(format!("the line table gives {address} line {only} only")),
            _ => Some(format!("lines {} share {address}; a debugger shows one of them", lines.join(", "))),
        },
        report: ReportWords {
            title: format!("debugger steps on line {} which never runs", v.line),
            expected: format!("Stepping never stops at {place}, because that line is not executed."),
            actual: format!("A debugger stops at {place} in `{}`.", v.function),
        },
    }
}

fn backtrace(v: &Violation, breach: &NotActive) -> Words {
    let place = place(v);
    let sets: Vec<String> = breach.allowed.first.iter().map(|set| set.join(", ")).collect();
    let allowed = joined(&sets, " or ", breach.allowed.cut);
    Words {
        title: format!("{place} shows `{}`, never active together on this line", v.frames.join("` in `")),
        clause: format!("the backtrace at line {} reads {}", v.line, v.frames.join(" < ")),
        margin: v.frames.join(" ← "),
        cause: breach.intruder.as_ref().map(|f| format!("`{f}` is on the stack here, and never is on this line at -O0")),
        report: ReportWords {
            title: format!("backtrace at line {} names a function that is not active", v.line),
            expected: format!("At {place} the backtrace holds only functions that are active there{}.", unoptimized(allowed.as_deref())),
            actual: format!("At {place} the backtrace is {}.", v.frames.join(" ← ")),
        },
        reference: allowed,
    }
}

fn scope(v: &Violation, breach: &OutOfScope) -> Words {
    let (place, OutOfScope { variable, owner, declared }) = (place(v), breach);
    let whose = if owner.is_empty() { String::new() } else { format!(" of `{owner}`") };
    let declaration = format!("`{variable}`{whose} (declared on line {declared}) is not in scope on this line");
    Words {
        title: format!("{place} shows `{variable}`, which is not in scope there"),
        clause: format!("{variable} is visible at line {}, outside its scope", v.line),
        margin: format!("{variable} shown"),
        report: ReportWords {
            title: format!("variable {variable} is visible outside its scope at line {}", v.line),
            expected: format!("At {place} `{variable}`{whose}, declared on line {declared}, is not in scope."),
            actual: format!("At {place} in `{}` a debugger lists `{variable}`.", v.function),
        },
        reference: Some(declaration),
        cause: None,
    }
}

fn value(v: &Violation, breach: &NeverHeld, kind: &str) -> Words {
    let (place, NeverHeld { variable, value, .. }) = (place(v), breach);
    let allowed = joined(&breach.allowed.first, ", ", breach.allowed.cut);
    let part = breach.element.map_or(String::new(), |n| format!(" in scalar {n} (counted from 0)"));
    Words {
        title: format!("{place} shows {kind}`{variable}` = {value}{part}, a value it never has"),
        clause: format!("{kind}{variable} is shown as {value}{part}, which it never is"),
        margin: format!("{variable} = {value}"),
        report: ReportWords {
            title: format!("wrong value of {variable} at line {}", v.line),
            expected: format!(
                "At {place} `{variable}` has one of the values that it has in the unoptimized program{}, or is optimized out.",
                unoptimized(allowed.as_deref())
            ),
            actual: format!("At {place} in `{}` a debugger shows `{variable} = {value}`{part}.", v.function),
        },
        reference: allowed.map(|values| format!("only ever {values}")),
        cause: None,
    }
}

fn stale(v: &Violation, breach: &OtherMoment) -> Words {
    let (place, OtherMoment { variable, value, .. }) = (place(v), breach);
    let expected = joined(&breach.expected.first, " or ", breach.expected.cut).unwrap_or_default();
    let part = breach.element.map_or(String::new(), |n| format!(" in scalar {n} (counted from 0)"));
    let assignment = breach.assignment.map(|a| match a.shown {
        Timing::Late => format!("the assignment of line {} is not shown yet", a.line),
        Timing::Early => format!("the assignment of line {} is shown too early", a.line),
    });
    let location = breach.location.as_ref().map(|l| {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let extent = format!("{} on {} from here on", count(l.instructions, "instruction"), count(l.lines, "line"));
        format!("its location on [{:#x}, {:#x}) is {}, for {extent}", l.low, l.high, l.expression)
    });
    let cause = [assignment, location].into_iter().flatten().collect::<Vec<_>>().join("; ");
    Words {
        title: format!("{place} shows `{variable}` = {value}{part}, which is {expected} there"),
        clause: format!("{variable} is shown as {value}{part} and is {expected} at that moment"),
        margin: format!("{variable} = {value}"),
        reference: Some(format!("{variable} is {expected} at every moment that the stop can be in")),
        report: ReportWords {
            title: format!("stale value of {variable} at line {}", v.line),
            expected: format!("At {place} `{variable}` is {expected}, or optimized out."),
            actual: format!("At {place} in `{}` a debugger shows `{variable} = {value}`{part}, a value of another moment.", v.function),
        },
        cause: (!cause.is_empty()).then_some(cause),
    }
}

fn codegen(v: &Violation, breach: &CodeDifference) -> Words {
    let difference = match breach {
        CodeDifference::ExtraSection { section } => format!("section {section} exists with -g only"),
        CodeDifference::Bytes { section, with, without } => format!(
            "section {section} is {} bytes with -g and {} without, different from {:#x} (with -g) and {:#x} (without) on",
            with.size, without.size, with.differs_at, without.differs_at
        ),
        CodeDifference::CompareDebug { message } => format!("gcc -fcompare-debug: {message}"),
    };
    Words {
        title: format!("{}: the code differs with and without -g", v.file.base()),
        clause: "the code differs with and without -g".to_owned(),
        margin: String::new(),
        reference: None,
        report: ReportWords {
            title: "-g changes the generated code".to_owned(),
            expected: "The same code with and without -g.".to_owned(),
            actual: format!("The code differs: {difference}."),
        },
        cause: Some(difference),
    }
}

fn self_contradiction(v: &Violation, breach: &Contradiction) -> Words {
    let place = place(v);
    let (title, clause, reference, cause) = match breach {
        Contradiction::Frame { depth, first, last } => {
            let does = if *depth == 0 { "stands on" } else { "is said to call from" };
            (
                format!(
                    "{place} is not in `{}`, whose frame {}",
                    v.function,
                    if *depth == 0 { "stands there" } else { "calls from there" }
                ),
                format!("a frame of {} {does} line {}, outside the function", v.function, v.line),
                format!("`{}` is lines {first} to {last}", v.function),
                format!("frame {depth}, `{}`, {does} line {}", v.function, v.line),
            )
        }
        Contradiction::Block { variable, open, close } => (
            format!("{place} shows `{variable}` outside of its block"),
            format!("{variable} is visible at line {}, outside its block", v.line),
            format!("`{variable}` lives in the block of lines {open} to {close}"),
            format!("line {} is outside that block", v.line),
        ),
    };
    let actual = match breach {
        Contradiction::Frame { depth, .. } => {
            let does = if *depth == 0 { "stands on" } else { "calls from" };
            format!("Frame {depth}, `{}`, {does} {place}, outside the function; the backtrace is {}.", v.function, v.frames.join(" ← "))
        }
        Contradiction::Block { variable, .. } => format!("At {place} in `{}` a debugger lists `{variable}`.", v.function),
    };
    Words {
        title,
        clause,
        margin: String::new(),
        report: ReportWords {
            title: format!("contradictory debug information at line {}", v.line),
            expected: format!("What a debugger shows at {place} agrees with the source: {reference}."),
            actual,
        },
        reference: Some(reference),
        cause: Some(cause),
    }
}

fn dwarf(v: &Violation, IllFormed { variable }: &IllFormed) -> Words {
    let (place, cause) = (place(v), "its location at this address cannot be evaluated or read");
    Words {
        title: format!("{place} gives `{variable}` a location that cannot be followed"),
        clause: format!("the location of {variable} at line {} is ill-formed", v.line),
        margin: String::new(),
        reference: None,
        report: ReportWords {
            title: format!("ill-formed debug information for {variable}"),
            expected: format!("At {place} `{variable}` has a location that can be evaluated as DWARF says, or none."),
            actual: format!("At {place} in `{}` the location of `{variable}` cannot be evaluated or read.", v.function),
        },
        cause: Some(cause.to_owned()),
    }
}

/// What a line does, with the line as the subject.
fn doing(effect: &LineEffect) -> String {
    match effect {
        LineEffect::Call { callee } if &**callee == "output" => "prints".to_owned(),
        LineEffect::Call { callee } => format!("calls `{callee}`"),
        LineEffect::Store { object } => format!("stores to `{object}`"),
    }
}

fn addresses(places: &[u64]) -> String {
    let list: Vec<String> = places.iter().map(|pc| format!("{pc:#x}")).collect();
    list.join(", ")
}

fn breakpoint(v: &Violation, breach: &Astray) -> Words {
    let place = place(v);
    let at = v.pc.map_or_else(String::new, |pc| format!(" at {pc:#x}"));
    let (title, clause, margin, reference, cause, actual) = match breach {
        Astray::NeverHit { effect, places } => (
            format!("a breakpoint on {place} is never hit, and the line runs"),
            format!("a breakpoint on line {} is never hit", v.line),
            "break: never hit".to_owned(),
            format!("the line {}, and a breakpoint on it is hit before", doing(effect)),
            format!("the line {}{at}; its breakpoint goes to {}", doing(effect), addresses(places)),
            format!("`break {place}` is never hit in `{}`, although the line {}{at}.", v.function, doing(effect)),
        ),
        Astray::Moved { effect, to } => {
            let lines: Vec<String> = to.iter().map(ToString::to_string).collect();
            let moved = match &lines[..] {
                [] => "the debugger finds no place for it".to_owned(),
                [line] => format!("the debugger moves it to line {line}"),
                lines => format!("the debugger moves it to lines {}", lines.join(", ")),
            };
            (
                format!("a breakpoint on {place} goes elsewhere, and the line runs"),
                format!("a breakpoint on line {} goes elsewhere", v.line),
                "break: moved".to_owned(),
                format!("the line {}, and a breakpoint on it is hit before", doing(effect)),
                format!("the line {}{at}; {moved}", doing(effect)),
                format!("The line {}{at}; of `break {place}` {moved}, and it is not hit in `{}` before that.", doing(effect), v.function),
            )
        }
        Astray::NotRun { places } => (
            format!("a breakpoint on {place} is hit, and the line never runs"),
            format!("a breakpoint on line {} is hit, and the line never runs", v.line),
            "break: hit".to_owned(),
            "the line has code that never runs".to_owned(),
            format!("hit at {}", addresses(places)),
            format!("`break {place}` is hit at {}, although the line never runs.", addresses(places)),
        ),
    };
    Words {
        title,
        clause,
        margin,
        report: ReportWords {
            title: format!("breakpoint on line {} goes astray", v.line),
            expected: match breach {
                Astray::NotRun { .. } => format!("`break {place}` is not hit, because the line is not executed."),
                _ => format!("`break {place}` is hit in `{}` each time before the line does what it does.", v.function),
            },
            actual,
        },
        reference: Some(reference),
        cause: Some(cause),
    }
}

fn lost(v: &Violation, Missing { variable, evidence }: &Missing) -> Words {
    let place = place(v);
    let at = v.pc.map_or_else(String::new, |pc| format!(" at {pc:#x}"));
    let cause = match evidence {
        Recovery::Argument { callee, place } => format!("it is passed to `{callee}`{at}, so its value is {place}"),
        Recovery::Stored { object, place } => format!("it is stored to `{object}`{at}, so its value is {place}"),
        Recovery::Returns { value, back_on } => format!("it is shown before and, on line {back_on}, after, always as {value}"),
        Recovery::OtherSetting { flag, value } => format!("the same code compiled with {flag} shows {value}"),
        Recovery::Relation { expression } => format!("it is {expression}{at}"),
    };
    Words {
        title: format!("{place} shows `{variable}` as optimized out, and its value is there"),
        clause: format!("{variable} is optimized out at line {}, and its value is there", v.line),
        margin: format!("{variable} optimized out"),
        report: ReportWords {
            title: format!("variable {variable} is optimized out at line {} although its value is available", v.line),
            expected: format!("At {place} a debugger can show `{variable}`: {cause}."),
            actual: format!("At {place} in `{}` a debugger shows `{variable}` as optimized out.", v.function),
        },
        reference: Some(format!("`{variable}` has a value on this line")),
        cause: Some(cause),
    }
}

/// `file:line`, as a person calls it.
fn place(v: &Violation) -> String {
    format!("{}:{}", v.file.base(), v.line)
}

fn unoptimized(allowed: Option<&str>) -> String {
    allowed.map_or(String::new(), |list| format!(" (unoptimized: {list})"))
}

/// The entries in one line, with a sign that some were left out; none where there are none.
fn joined<T: AsRef<str>>(entries: &[T], between: &str, cut: bool) -> Option<String> {
    let list: Vec<&str> = entries.iter().map(AsRef::as_ref).chain(cut.then_some("…")).collect();
    (!list.is_empty()).then(|| list.join(between))
}
