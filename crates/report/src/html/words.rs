//! Findings in words.

use trueline_model::{Fault, Invariant, Policy, Reader, Verdict, Violation};
use trueline_store::FindingRecord;

/// What a debugger shows, in half a sentence.
pub fn what(fault: &Fault) -> String {
    match fault {
        Fault::Violation(v) => violation(v),
        Fault::Crash { message } => format!("the compiler crashes: {message}"),
        Fault::Hang { seconds } => format!("the compiler does not finish within {seconds} s"),
        Fault::WrongCode { expected, actual } => format!("the program ends with {actual}; at -O0 with {expected}"),
    }
}

fn violation(v: &Violation) -> String {
    let variable = v.variable.as_deref().unwrap_or("a variable");
    let value = v.value.as_deref().unwrap_or("a value");
    match v.invariant {
        Invariant::Line => format!("line {} is stepped on but never runs", v.line),
        Invariant::Backtrace => format!("the backtrace at line {} reads {}", v.line, v.frames.join(" < ")),
        Invariant::Scope => format!("{variable} is visible at line {}, outside its scope", v.line),
        Invariant::Parameter => format!("parameter {variable} is shown as {value}, which it never is"),
        Invariant::Value => format!("{variable} is shown as {value}, which it never is"),
        Invariant::Codegen => "the code differs with and without -g".to_owned(),
        Invariant::Consistency => format!("what is shown at line {} contradicts the source", v.line),
        Invariant::Dwarf => format!("the location of {variable} at line {} is ill-formed", v.line),
    }
}

/// Everything there is to say about the fault, in sentences.
pub fn sentence(fault: &Fault) -> String {
    let Fault::Violation(v) = fault else { return String::new() };
    let mut text = Vec::new();
    if let Some(expected) = v.expected.as_deref() {
        text.push(format!("At -O0: {expected}."));
    }
    if let Some(why) = v.why.as_deref() {
        text.push(format!("Cause: {why}."));
    }
    if let Some(pc) = v.pc {
        text.push(format!("First seen at {pc:#x}."));
    }
    text.join(" ")
}

/// `file:line`, or the program's name where there is no line.
pub fn place(record: &FindingRecord) -> String {
    match &record.finding.fault {
        Fault::Violation(v) => format!("{}:{} {}", v.file.base(), v.line, v.function),
        _ => format!("{} {}", record.program.source, record.program.seed),
    }
}

/// A verdict's name; `unjudged` where fewer than two readers were asked.
pub fn verdict(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Compiler) => "compiler",
        Some(Verdict::Debugger) => "debugger",
        Some(Verdict::Ambiguous) => "ambiguous",
        None => "unjudged",
    }
}

/// What a verdict means.
pub fn verdict_sentence(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Compiler) => "All readers see it: the debug information is wrong, and the compiler wrote it.",
        Some(Verdict::Debugger) => "A debugger shows it although the debug information, read by that debugger's own rules, does not.",
        Some(Verdict::Ambiguous) => "Not all readers see it: the debug information can be read both ways.",
        None => "Only one reader was asked, or only one could answer.",
    }
}

/// The name of a reader, as people know it.
pub fn reader(reader: Reader) -> String {
    match reader {
        Reader::Native(Policy::Gdb) => "native, by gdb's rules".to_owned(),
        Reader::Native(Policy::Lldb) => "native, by lldb's rules".to_owned(),
        Reader::Native(Policy::Standard) => "native, by the standard".to_owned(),
        Reader::Gdb => "gdb".to_owned(),
        Reader::Lldb => "lldb".to_owned(),
    }
}
