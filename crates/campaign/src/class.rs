//! What makes two findings "the same" before a pass is known: compiler, invariant, kind of statement, and
//! the shape of the fault in the debug information. Coarser than a pass on purpose: it must not count one
//! bug twice because a number differs.

use trueline_model::{CompilerId, Fault, Invariant, Program, Violation};

/// The class of a fault.
pub fn class_of(fault: &Fault, compiler: &CompilerId, program: &Program) -> String {
    match fault {
        Fault::Violation(v) => {
            // A complaint about a variable is a matter of that variable, wherever it shows first.
            let line = match v.variable().and_then(|name| declaration_of(name, &program.source)) {
                Some(line) => line,
                None => program.source.lines().nth(v.line.0.saturating_sub(1) as usize).unwrap_or(""),
            };
            let shape = v.breach.shape().map_or(String::new(), |shape| format!(" · {shape}"));
            format!("{compiler} · {} · {}{shape}", v.invariant(), statement_kind(line))
        }
        // The message of a crash names its place; two places are two bugs.
        Fault::Crash { message } => format!("{compiler} · crash · {}", outline_of(message)),
        Fault::Hang { .. } => format!("{compiler} · hang"),
        Fault::WrongCode { .. } => format!("{compiler} · wrong code"),
        Fault::Explosion { resource, .. } => format!("{compiler} · explosion · {resource:?}").to_lowercase(),
    }
}

/// One violation per thing that is wrong: a variable that shows where it should not shows on every line
/// there, and the rule that a trace must not contradict the source then says the same once more.
pub fn collapse(violations: &[Violation]) -> Vec<&Violation> {
    let mut kept: Vec<&Violation> = Vec::new();
    for violation in violations {
        let again = |k: &&&Violation| {
            let same_subject = k.variable() == violation.variable() && k.variable().is_some() && k.file.base() == violation.file.base();
            let covered = violation.invariant() == Invariant::SelfContradiction && k.invariant() == Invariant::Scope;
            same_subject && (k.invariant() == violation.invariant() || covered)
        };
        if !kept.iter().any(|k| again(&k)) {
            kept.push(violation);
        }
    }
    kept
}

/// The line that declares a variable, as far as text tells: the first that has its name as a word.
fn declaration_of<'s>(name: &str, source: &'s str) -> Option<&'s str> {
    let is_word = |line: &&str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name);
    source.lines().find(is_word)
}

/// A compiler's message without its numbers and names.
fn outline_of(text: &str) -> String {
    let mut out = String::new();
    let mut in_name = false;
    let mut words = Vec::new();
    for part in text.split('`') {
        if in_name {
            words.push("_".to_owned());
        } else {
            for word in part.split_whitespace() {
                let number = word.chars().any(|c| c.is_ascii_digit());
                words.push(if number { "#".to_owned() } else { word.to_owned() });
            }
        }
        in_name = !in_name;
    }
    words.dedup();
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word);
    }
    out.chars().take(120).collect()
}

/// The kind of statement on a line of C or Rust, as far as one line tells.
pub fn statement_kind(line: &str) -> &'static str {
    let text = line.trim();
    let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).find(|w| !w.is_empty()).unwrap_or("");
    if text.is_empty() {
        return "nothing";
    }
    if text.starts_with('}') || text.starts_with('{') {
        return if text.contains("while") { "do-while" } else { "brace" };
    }
    if text.starts_with('?') || text.starts_with(':') {
        return "ternary arm";
    }
    match word {
        "if" | "else" => return "if",
        "for" => return "for",
        "while" | "loop" => return "while",
        "do" => return "do-while",
        "switch" | "match" => return "switch",
        "case" | "default" => return "case",
        "return" => return "return",
        "break" | "continue" | "goto" => return "jump",
        "let" => return "declaration",
        "static" | "fn" | "unsafe" | "struct" => return "header",
        _ => {}
    }
    if text.ends_with(":;") || (text.ends_with(':') && !text.contains(' ')) {
        return "label";
    }
    if text.ends_with('{') {
        return "header";
    }
    let is_type =
        ["int", "unsigned", "signed", "short", "long", "char", "uint", "int8", "int16", "int32", "int64", "float", "double", "const"];
    if is_type.iter().any(|t| word.starts_with(t)) {
        return "declaration";
    }
    let assigns = text.contains('=') && !text.contains("==");
    match (assigns, text.contains('(')) {
        (true, true) => "assignment with call or group",
        (true, false) => "assignment",
        (false, true) => "call",
        _ if text.ends_with("++;") || text.ends_with("--;") => "assignment",
        _ => "expression",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{Breach, Contradiction, FileName, Line, Listed, NeverHeld, OutOfScope};

    #[test]
    fn statements_are_told_apart() {
        let cases = [
            ("  if (x > 3) {", "if"),
            ("  } else {", "brace"),
            ("  } while (r < 3);", "do-while"),
            ("    ? (a + 1)", "ternary arm"),
            ("  return x;", "return"),
            ("  int v = 3;", "declaration"),
            ("  let mut v: i32 = 3i32;", "declaration"),
            ("  x = y;", "assignment"),
            ("  f(x);", "call"),
            ("  case 3: {", "case"),
            ("out_3:;", "label"),
            ("static int f(int x) {", "header"),
        ];
        for (line, kind) in cases {
            assert_eq!(statement_kind(line), kind, "{line}");
        }
    }

    #[test]
    fn a_variable_out_of_scope_on_ten_lines_is_one_finding() {
        let violation = |line, breach| Violation {
            file: FileName::new("a.c"),
            line: Line(line),
            function: "main".into(),
            frames: Vec::new(),
            pc: None,
            breach,
        };
        let scope = |variable: &str| Breach::Scope(OutOfScope { variable: variable.into(), owner: "main".into(), declared: Line(1) });
        let block = Contradiction::Block { variable: "v".into(), open: Line(1), close: Line(2) };
        let held = NeverHeld { variable: "v".into(), element: None, value: "3".into(), allowed: Listed::default() };
        let mut all: Vec<Violation> = (1..=10).map(|line| violation(line, scope("v"))).collect();
        all.push(violation(3, Breach::SelfContradiction(block)));
        all.push(violation(3, scope("w")));
        all.push(violation(3, Breach::Value(held)));
        let kept: Vec<_> = collapse(&all).iter().map(|v| (v.invariant(), v.variable().map(|name| &**name))).collect();
        assert_eq!(kept, [(Invariant::Scope, Some("v")), (Invariant::Scope, Some("w")), (Invariant::Value, Some("v"))]);
    }

    #[test]
    fn numbers_and_names_do_not_make_a_class() {
        let a = outline_of("internal compiler error: in `foo`, at cse.c:412");
        assert_eq!(a, outline_of("internal compiler error: in `bar`, at cse.c:7"));
        assert_ne!(a, outline_of("internal compiler error: Segmentation fault"));
    }
}
