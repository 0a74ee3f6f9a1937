//! Documents of version 1, brought to what the types say now.
//!
//! Version 1 kept a violation as optional strings, some of them sentences that held the only copy of a number or a name. This
//! is the one place that reads them: the sentences are those of the last version that wrote them and do not change any
//! more. What cannot be read is left empty; nobody may make a database unreadable by having had another sentence.

use rusqlite::Transaction;
use rusqlite_migration::HookResult;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use trueline_model::{
    Breach, CodeDifference, CodeExtent, Contradiction, FileName, IllFormed, Line, Listed, NeverHeld, NeverRun, NotActive, OutOfScope,
    Violation,
};

/// Entries from which on version 1 may have left some out: sets of functions, values.
const LISTED_SETS: usize = 4;
const LISTED_VALUES: usize = 8;

/// A violation as version 1 wrote it.
#[derive(Deserialize)]
struct Old {
    invariant: String,
    file: FileName,
    line: Line,
    function: Arc<str>,
    frames: Vec<Arc<str>>,
    variable: Option<Arc<str>>,
    value: Option<Arc<str>>,
    expected: Option<String>,
    pc: Option<u64>,
    why: Option<String>,
}

/// The fields of version 1 that are no longer there or mean something else.
const GONE: [&str; 4] = ["variable", "value", "expected", "why"];

/// Rewrites every finding, its class, and what triage kept of it.
pub fn findings(transaction: &Transaction<'_>) -> HookResult {
    let mut rows = transaction.prepare("SELECT id, class, document FROM findings")?;
    let mut change = transaction.prepare("UPDATE findings SET class = ?, document = ? WHERE id = ?")?;
    let all = rows.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?.collect::<Result<Vec<(i64, String, String)>, _>>()?;
    for (id, class, document) in all {
        if let Some((class, document)) = finding(&class, &document) {
            change.execute((class, document, id))?;
        }
    }
    let mut rows = transaction.prepare("SELECT finding, document FROM triage")?;
    let mut change = transaction.prepare("UPDATE triage SET document = ? WHERE finding = ?")?;
    let all = rows.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<Result<Vec<(i64, String)>, _>>()?;
    for (id, document) in all {
        if let Some(document) = explanation(&document) {
            change.execute((document, id))?;
        }
    }
    Ok(())
}

/// The class and the document of a finding; none where there is nothing to change.
fn finding(class: &str, document: &str) -> Option<(String, String)> {
    let mut fields: Map<String, Value> = serde_json::from_str(document).ok()?;
    if fields.get("fault")? != "violation" {
        return None;
    }
    let violation = upgrade(&mut fields)?;
    Some((class_of(class, &violation), serde_json::to_string(&fields).ok()?))
}

/// What triage kept of a finding, with its violation as it is written now.
fn explanation(document: &str) -> Option<String> {
    let mut fields: Map<String, Value> = serde_json::from_str(document).ok()?;
    upgrade(fields.get_mut("violation")?.as_object_mut()?)?;
    serde_json::to_string(&fields).ok()
}

/// The class of a finding before triage: its last part was a sentence without names and numbers, and is a shape now.
fn class_of(class: &str, violation: &Violation) -> String {
    let mut parts: Vec<&str> = class.splitn(4, " · ").take(3).collect();
    if parts.len() < 3 {
        return class.to_owned();
    }
    parts.extend(violation.breach.shape());
    parts.join(" · ")
}

/// Writes the violation among some fields as it is written now.
fn upgrade(fields: &mut Map<String, Value>) -> Option<Violation> {
    let old: Old = serde_json::from_value(Value::Object(fields.clone())).ok()?;
    let violation = violation(old)?;
    GONE.iter().for_each(|name| drop(fields.remove(*name)));
    let Ok(Value::Object(new)) = serde_json::to_value(&violation) else { return None };
    fields.extend(new);
    Some(violation)
}

fn violation(old: Old) -> Option<Violation> {
    let breach = breach(&old)?;
    Some(Violation { file: old.file, line: old.line, function: old.function, frames: old.frames, pc: old.pc, breach })
}

/// What was broken; none of the invariants that came after version 1.
fn breach(old: &Old) -> Option<Breach> {
    let variable = || old.variable.clone().unwrap_or_default();
    let (expected, why) = (old.expected.as_deref().unwrap_or(""), old.why.as_deref().unwrap_or(""));
    Some(match old.invariant.as_str() {
        "line" => Breach::Line(NeverRun { rows: rows(why) }),
        "backtrace" => {
            let sets = list(expected, " or ").map(|set| list(set, ", ").map(Arc::from).collect());
            let intruder = between(why, "`", "` is on the stack here").map(Arc::from);
            Breach::Backtrace(NotActive { allowed: maybe_cut(sets.collect(), LISTED_SETS), intruder })
        }
        "scope" => Breach::Scope(OutOfScope {
            variable: variable(),
            owner: between(expected, "` of `", "` (declared").unwrap_or_default().into(),
            declared: Line(between(expected, "(declared on line ", ")").and_then(number).unwrap_or_default()),
        }),
        "parameter" => Breach::Parameter(held(old, expected, why)),
        "value" => Breach::Value(held(old, expected, why)),
        "codegen" => Breach::Codegen(difference(why)),
        "self" => {
            let (first, last) = expected.rsplit_once("lines ").and_then(|(_, lines)| lines.split_once(" to ")).unwrap_or_default();
            let (first, last) = (Line(number(first).unwrap_or_default()), Line(number(last).unwrap_or_default()));
            let depth = between(why, "frame ", ",").and_then(number).unwrap_or_default() as usize;
            Breach::SelfContradiction(match &old.variable {
                Some(variable) => Contradiction::Block { variable: Arc::clone(variable), open: first, close: last },
                None => Contradiction::Frame { depth, first, last },
            })
        }
        "dwarf" => Breach::Dwarf(IllFormed { variable: variable() }),
        _ => return None,
    })
}

fn held(old: &Old, expected: &str, why: &str) -> NeverHeld {
    NeverHeld {
        variable: old.variable.clone().unwrap_or_default(),
        element: between(why, "element ", " of the aggregate").and_then(|n| n.parse().ok()),
        value: old.value.clone().unwrap_or_default(),
        allowed: maybe_cut(list(expected, ", ").map(Arc::from).collect(), LISTED_VALUES),
    }
}

/// `the line table gives 0x113c line 4 only`, or `lines 4, 0 share 0x113c; …`.
fn rows(why: &str) -> Vec<Option<Line>> {
    let only = why.strip_prefix("the line table gives ").and_then(|rest| between(rest, " line ", " only"));
    let lines = only.or_else(|| between(why, "lines ", " share ")).unwrap_or_default();
    list(lines, ", ").filter_map(number).map(|line| (line > 0).then_some(Line(line))).collect()
}

fn difference(why: &str) -> CodeDifference {
    if let Some(message) = why.strip_prefix("gcc -fcompare-debug: ") {
        return CodeDifference::CompareDebug { message: message.into() };
    }
    let section = why.strip_prefix("section ").and_then(|rest| rest.split(' ').next()).unwrap_or_default().into();
    let size = |before, after| between(why, before, after).and_then(|n| n.parse().ok());
    let from = |before, after| between(why, before, after).and_then(|n| u64::from_str_radix(n, 16).ok());
    let with = size(" is ", " bytes").zip(from("different from 0x", " (with -g)"));
    let without = size("with -g and ", " without,").zip(from("(with -g) and 0x", " (without)"));
    match with.zip(without) {
        Some((with, without)) => {
            let extent = |(size, differs_at)| CodeExtent { size, differs_at };
            CodeDifference::Bytes { section, with: extent(with), without: extent(without) }
        }
        None => CodeDifference::ExtraSection { section },
    }
}

/// The entries of a list in one line; none of an empty line.
fn list<'t>(text: &'t str, separator: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(separator).filter(|entry| !entry.is_empty())
}

fn maybe_cut<T>(first: Vec<T>, most: usize) -> Listed<T> {
    Listed { cut: first.len() >= most, first }
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A violation of version 1 with the fields that differ, upgraded, without the fields that do not.
    fn upgraded(fields: &str) -> Value {
        let common = r#""file":"a.c","line":7,"function":"f","frames":["f","main"]"#;
        let mut fields: Map<String, Value> = serde_json::from_str(&format!("{{{common},{fields}}}")).unwrap();
        upgrade(&mut fields).unwrap();
        ["file", "line", "function", "frames"].iter().for_each(|name| drop(fields.remove(*name)));
        Value::Object(fields)
    }

    #[test]
    fn every_sentence_of_version_1_gives_back_what_it_was_made_of() {
        let cases = [
            (
                r#""invariant":"line","expected":"never executed at -O0","pc":64,"why":"lines 7, 0, 9 share 0x40; a debugger shows one of them""#,
                r#"{"invariant":"line","rows":[7,null,9],"pc":64}"#,
            ),
            (r#""invariant":"line","why":"the line table gives 0x40 line 7 only""#, r#"{"invariant":"line","rows":[7]}"#),
            (r#""invariant":"line""#, r#"{"invariant":"line","rows":[]}"#),
            (
                r#""invariant":"backtrace","expected":"f, main or main","why":"`g` is on the stack here, and never is on this line at -O0""#,
                r#"{"invariant":"backtrace","allowed":{"first":[["f","main"],["main"]],"cut":false},"intruder":"g"}"#,
            ),
            (
                r#""invariant":"scope","variable":"x","expected":"`x` of `f` (declared on line 3) is not in scope on this line""#,
                r#"{"invariant":"scope","variable":"x","owner":"f","declared":3}"#,
            ),
            (
                r#""invariant":"parameter","variable":"p","value":"9","expected":"""#,
                r#"{"invariant":"parameter","variable":"p","value":"9","allowed":{"first":[],"cut":false}}"#,
            ),
            (
                r#""invariant":"value","variable":"s","value":"9","expected":"1, 2, 3, 4, 5, 6, 7, 8","why":"element 3 of the aggregate, counted over all its scalars""#,
                r#"{"invariant":"value","variable":"s","element":3,"value":"9","allowed":{"first":["1","2","3","4","5","6","7","8"],"cut":true}}"#,
            ),
            (
                r#""invariant":"codegen","why":"section .text is 16 bytes with -g and 32 without, different from 0x1010 (with -g) and 0x2020 (without) on""#,
                r#"{"invariant":"codegen","difference":"bytes","section":".text","with":{"size":16,"differs_at":4112},"without":{"size":32,"differs_at":8224}}"#,
            ),
            (
                r#""invariant":"codegen","why":"section .fini exists with -g only""#,
                r#"{"invariant":"codegen","difference":"extra-section","section":".fini"}"#,
            ),
            (
                r#""invariant":"codegen","why":"gcc -fcompare-debug: failure""#,
                r#"{"invariant":"codegen","difference":"compare-debug","message":"failure"}"#,
            ),
            (
                r#""invariant":"self","expected":"`f` is lines 1 to 5","why":"frame 2, `f`, is said to call from line 7""#,
                r#"{"invariant":"self","contradiction":"frame","depth":2,"first":1,"last":5}"#,
            ),
            (
                r#""invariant":"self","variable":"x","expected":"`x` lives in the block of lines 2 to 4","why":"line 7 is outside that block""#,
                r#"{"invariant":"self","contradiction":"block","variable":"x","open":2,"close":4}"#,
            ),
            (
                r#""invariant":"dwarf","variable":"x","expected":"a location that can be followed, or none","why":"its location at this address cannot be evaluated or read""#,
                r#"{"invariant":"dwarf","variable":"x"}"#,
            ),
        ];
        for (old, new) in cases {
            assert_eq!(upgraded(old), serde_json::from_str::<Value>(new).unwrap(), "{old}");
        }
    }

    #[test]
    fn a_class_keeps_what_was_no_sentence() {
        let old = r#"{"fault":"violation","invariant":"value","file":"a.c","line":7,"function":"f","frames":[],"variable":"s","value":"9",
            "expected":"1","why":"element 3 of the aggregate, counted over all its scalars"}"#;
        let class = "gcc 12.2.0 · value · declaration · element # of the aggregate, counted over all its scalars";
        assert_eq!(finding(class, old).unwrap().0, "gcc 12.2.0 · value · declaration · part of an aggregate");
        assert_eq!(finding("mine", old).unwrap().0, "mine");
        assert_eq!(finding("gcc 12.2.0 · hang", r#"{"fault":"hang","seconds":3}"#), None);
    }
}
