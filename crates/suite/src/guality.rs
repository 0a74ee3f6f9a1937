//! The format of GCC's guality tests: C files whose comments say `{ dg-final { gdb-test LINE "expression" "value" } }`. The
//! line is a number, `.` for the comment's own with `+n` or `-n` after it, a label that `dg-line` gave, or `@function`.

use crate::script::{Action, Expected, Place, Plan, Question, Run, Test};
use std::collections::HashMap;
use std::path::Path;
use trueline_model::Language;

/// Reads a test; `flags` are those that it is built with, which some tests skip themselves by.
pub(crate) fn parse(path: &Path, text: &str, flags: &[String]) -> Test {
    let mut test = Test {
        path: path.to_owned(),
        language: Language::of_path(path).unwrap_or(Language::C),
        options: Vec::new(),
        sources: Vec::new(),
        skipped: None,
        questions: Vec::new(),
        plan: Plan::Breaks(Vec::new()),
    };
    let mut runs = Vec::new();
    let comments: Vec<(u32, Vec<String>)> = (1..).zip(text.lines().map(words)).collect();
    let labels: HashMap<&str, u32> =
        comments.iter().filter_map(|(line, words)| Some((after(words, "dg-line")?.first()?.as_str(), *line))).collect();
    for (number, words) in &comments {
        if let Some(rest) = after(words, "gdb-test") {
            if let Some((place, question)) = question(*number, rest, &labels) {
                if question.barrier.is_none() {
                    add(&mut runs, place, test.questions.len());
                }
                test.questions.push(question);
            }
        } else if let Some([options, rest @ ..]) = after(words, "dg-options").or_else(|| after(words, "dg-additional-options")) {
            // A selector after the options names the targets that need them.
            if rest.first().is_none_or(|w| w == "}") {
                test.options.extend(options.split_whitespace().map(str::to_owned));
            }
        } else if let Some([sources, ..]) = after(words, "dg-additional-sources") {
            let directory = path.parent().unwrap_or(Path::new("."));
            test.sources.extend(sources.split_whitespace().map(|name| directory.join(name)));
        } else if let Some(rest) = after(words, "dg-skip-if") {
            test.skipped = test.skipped.or_else(|| skip(rest, flags));
        }
    }
    test.plan = Plan::Breaks(runs);
    test
}

/// Questions that follow one another on one line share a run.
fn add(runs: &mut Vec<Run>, place: Place, question: usize) {
    match runs.last_mut() {
        Some(run) if run.breaks[0] == place => run.actions.push(Action::Ask(question)),
        _ => runs.push(Run { breaks: vec![place], actions: vec![Action::Run, Action::Ask(question)] }),
    }
}

fn after<'w>(words: &'w [String], name: &str) -> Option<&'w [String]> {
    words.iter().position(|w| w == name).map(|at| &words[at + 1..])
}

/// Words, braces and quoted texts of a comment.
fn words(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = first.len_utf8();
        if first == '"' {
            let mut text = String::new();
            let mut chars = rest[1..].char_indices();
            let mut end = rest.len();
            while let Some((at, c)) = chars.next() {
                match c {
                    '\\' => text.extend(chars.next().map(|(_, c)| c)),
                    '"' => {
                        end = at + 2;
                        break;
                    }
                    c => text.push(c),
                }
            }
            found.push(text);
            rest = &rest[end..];
        } else if first == '{' || first == '}' {
            found.push(first.to_string());
            rest = &rest[length..];
        } else if first.is_whitespace() {
            rest = &rest[length..];
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | '"')).unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    found
}

fn question(own: u32, words: &[String], labels: &HashMap<&str, u32>) -> Option<(Place, Question)> {
    let [place, expression, expected, rest @ ..] = words else { return None };
    let line = match place.strip_prefix('.') {
        Some("") => Some(own),
        Some(offset) => offset.parse::<i32>().ok().and_then(|n| own.checked_add_signed(n)),
        None => place.parse().ok().or_else(|| labels.get(place.as_str()).copied()),
    };
    let place = match (line, place.strip_prefix('@')) {
        (Some(line), _) => Some(Place::Line(line)),
        (None, Some(function)) => Some(Place::Function(function.to_owned())),
        (None, None) => None,
    };
    let barrier = match &place {
        None => Some("the line is not understood".to_owned()),
        Some(_) if expression.starts_with("type:") => Some("types are not asked for".to_owned()),
        Some(_) if !is_for_us(rest) => Some("the question is for another machine".to_owned()),
        Some(_) => None,
    };
    let (expression, expected) = (expression.clone(), Expected::Expression(expected.clone()));
    Some((place.unwrap_or(Place::Line(0)), Question { line: line.unwrap_or(0), expression, expected, barrier }))
}

/// Whether a selector lets x86-64 through. What GCC expects to fail (`xfail`) is asked like anything else.
fn is_for_us(words: &[String]) -> bool {
    let Some(target) = after(words, "target") else { return true };
    let mut depth = 0;
    let mut names: Vec<&str> = Vec::new();
    for word in target {
        match word.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "xfail" => break,
            word => names.push(word),
        }
        if depth < 0 {
            break;
        }
    }
    let is_negated = names.first() == Some(&"!");
    let is_named = names.iter().any(|n| is_this_machine(n) || matches!(*n, "lp64" | "fpic" | "native"));
    is_named != is_negated
}

fn is_this_machine(triple: &str) -> bool {
    matches!(triple, "*-*-*" | "*-*-linux*" | "*-*-gnu*") || triple.starts_with("x86_64")
}

/// `"comment" { targets } { flags that are meant } { flags that are not }`.
fn skip(words: &[String], flags: &[String]) -> Option<String> {
    let mut lists: Vec<Vec<&str>> = Vec::new();
    let mut depth = 0;
    for word in words.get(1..)? {
        match word.as_str() {
            "{" => {
                depth += 1;
                lists.push(Vec::new());
            }
            "}" => depth -= 1,
            word if depth > 0 => lists.last_mut()?.push(word),
            _ => {}
        }
        if depth < 0 {
            break;
        }
    }
    let targets = lists.first()?;
    let here = targets.iter().any(|t| is_this_machine(t));
    let matches = |list: &[&str]| list.iter().any(|&p| !p.is_empty() && (p == "*" || flags.iter().any(|f| f == p)));
    let is_meant = lists.get(1).is_none_or(|meant| matches(meant)) && !lists.get(2).is_some_and(|others| matches(others));
    (here && is_meant).then(|| "the test skips itself here (dg-skip-if)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "/* { dg-do run } */\n/* { dg-options \"-g -fno-inline\" } */\nint main (void) {\n  int x = 3; /* { dg-line here } */\n  \
                        x++; /* { dg-final { gdb-test . \"x\" \"3\" } } */\n/* { dg-final { gdb-test .-1 \"s.a\\[1\\]\" \"(char) 23\" { xfail *-*-* } } } */\n\
                        /* { dg-final { gdb-test here \"c\" \"'a'\" { target { i?86-*-* && ilp32 } } } } */\n\
                        /* { dg-final { gdb-test @main \"type:c\" \"int\" } } */\n/* { dg-final { gdb-test 4 \"y\" \"1\" { target { ! \"s390*-*-*\" } } } } */\n}\n";

    #[test]
    fn lines_count_from_the_comment_from_the_start_or_by_a_label() {
        let test = parse(Path::new("t.c"), TEXT, &[]);
        let asked: Vec<(u32, &str, bool)> = test.questions.iter().map(|q| (q.line, q.expression.as_str(), q.barrier.is_some())).collect();
        assert_eq!(asked, [(5, "x", false), (5, "s.a[1]", false), (4, "c", true), (0, "type:c", true), (4, "y", false)]);
        assert_eq!(test.options, ["-g", "-fno-inline"]);
    }

    #[test]
    fn questions_on_one_line_share_a_run() {
        let test = parse(Path::new("t.c"), TEXT, &[]);
        let run = |line, asks: &[usize]| Run {
            breaks: vec![Place::Line(line)],
            actions: std::iter::once(Action::Run).chain(asks.iter().map(|&n| Action::Ask(n))).collect(),
        };
        assert_eq!(test.plan, Plan::Breaks(vec![run(5, &[0, 1]), run(4, &[4])]));
    }

    #[test]
    fn a_test_skips_itself_by_the_flags_it_is_built_with() {
        let text = "/* { dg-skip-if \"\" { *-*-* } { \"*\" } { \"-DPREVENT\" } } */\n/* { dg-final { gdb-test 1 \"x\" \"1\" } } */\n";
        let skipped = |flags: &[&str]| parse(Path::new("t.c"), text, &flags.iter().map(|&f| f.to_owned()).collect::<Vec<_>>()).skipped;
        assert!(skipped(&["-O2"]).is_some());
        assert_eq!(skipped(&["-O2", "-DPREVENT"]), None);
        let other = parse(Path::new("t.c"), "/* { dg-skip-if \"hangs\" { hppa*-*-linux* } } */\n", &[]);
        assert_eq!(other.skipped, None);
    }
}
