//! What is said about a fault of any kind, in one line, in one clause, and as a report.

use super::{ReportWords, place, words};
use crate::{Breach, Fault, Resource, Violation};

/// What a reader that agrees with a violation shows.
pub fn sighting(v: &Violation) -> String {
    let at = format!("line {} in {}", v.line, v.frames.join(" < "));
    if let Breach::Breakpoint(_) | Breach::Lost(_) = v.breach {
        return format!("line {}: {}", v.line, words(v).margin);
    }
    match (v.variable(), v.breach.wrong_value()) {
        (Some(variable), Some(held)) => format!("{at}: {variable} = {}", held.value),
        (Some(variable), None) => format!("{at}: {variable} is visible"),
        (None, _) => at,
    }
}

/// A fault in one line with all that identifies it: `value a.c:7 in main x = 3`.
pub fn identity(fault: &Fault) -> String {
    match fault {
        Fault::Violation(v) => {
            let variable = v.variable().map_or(String::new(), |n| format!(" {n}"));
            let value = v.breach.wrong_value().map_or(String::new(), |held| format!(" = {}", held.value));
            format!("{} {} in {}{variable}{value}", v.invariant(), place(v), v.function)
        }
        Fault::Crash { message } => format!("crash {message}"),
        Fault::Hang { seconds } => format!("hang, more than {seconds} s"),
        Fault::WrongCode { expected, actual } => format!("wrong code: {actual} instead of {expected}"),
        Fault::Explosion { resource, used, neighbour } => explosion(*resource, *used, *neighbour),
    }
}

pub(super) fn explosion(resource: Resource, used: u64, neighbour: u64) -> String {
    format!("{} where its neighbours take {} at most", resource.amount(used), resource.amount(neighbour))
}

/// A fault in a few words, for a line of progress.
pub fn headline(fault: &Fault) -> String {
    match fault {
        Fault::Violation(v) => {
            let what = v.variable().map_or(String::new(), |name| format!(" `{name}`"));
            format!("{}{what} at line {}", v.invariant(), v.line)
        }
        Fault::Crash { message } => format!("compiler crash: {message}"),
        Fault::Hang { seconds } => format!("compiler hang ({seconds} s)"),
        Fault::WrongCode { expected, actual } => format!("wrong code: {actual} instead of {expected}"),
        Fault::Explosion { resource, used, neighbour } => explosion(*resource, *used, *neighbour),
    }
}

/// What is wrong as half a sentence, where the file is known.
pub fn clause(fault: &Fault) -> String {
    match fault {
        Fault::Violation(v) => words(v).clause,
        Fault::Crash { message } => format!("the compiler crashes: {message}"),
        Fault::Hang { seconds } => format!("the compiler does not finish within {seconds} s"),
        Fault::WrongCode { expected, actual } => format!("the program ends with {actual}; at -O0 with {expected}"),
        Fault::Explosion { resource, used, neighbour } => format!("the compiler takes {}", explosion(*resource, *used, *neighbour)),
    }
}

/// What else is known about a fault, in sentences.
pub fn details(fault: &Fault) -> String {
    let Fault::Violation(v) = fault else { return String::new() };
    let words = words(v);
    let at_o0 = words.reference.map(|reference| format!("At -O0: {reference}."));
    let cause = words.cause.map(|cause| format!("Cause: {cause}."));
    let first = v.pc.map(|pc| format!("First seen at {pc:#x}."));
    [at_o0, cause, first].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The parts of a bug report.
pub fn report(fault: &Fault) -> ReportWords {
    let of = |title: &str, expected: String, actual: String| ReportWords { title: title.to_owned(), expected, actual };
    match fault {
        Fault::Violation(v) => words(v).report,
        Fault::Crash { message } => of("compiler crashes", "The program compiles.".to_owned(), format!("```\n{message}\n```")),
        Fault::Hang { seconds } => {
            of("compiler does not terminate", "The program compiles.".to_owned(), format!("No end within {seconds} s."))
        }
        Fault::WrongCode { expected, actual } => of("wrong code", format!("```\n{expected}\n```"), format!("```\n{actual}\n```")),
        Fault::Explosion { resource, used, neighbour } => {
            let (expected, actual) = (format!("About {}.", resource.amount(*neighbour)), format!("{}.", resource.amount(*used)));
            of("compiler takes many times what neighbouring levels take", expected, actual)
        }
    }
}
