//! Findings in words, as far as they are more than their fault (see `trueline_model::wording`).

use trueline_model::{Fault, Policy, Reader, Verdict};
use trueline_store::FindingRecord;

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
        Reader::Native(Policy::Standard) => "native, by the standard".to_owned(),
        Reader::Native(policy) => format!("native, by {policy}'s rules"),
        Reader::Gdb => "gdb".to_owned(),
        Reader::Lldb => "lldb".to_owned(),
    }
}
