//! The format of rustc's tests/debuginfo: Rust files whose comments give commands to gdb and lldb (`gdb-command:`) and lines that
//! these must print (`gdb-check:`). Breakpoints stand on lines with `#break`.

use crate::Asker;
use crate::answer::Told;
use crate::ask::file_name;
use crate::printed::{Anchor, fits, is_value, without_number};
use crate::script::{Expected, Place, Plan, Question, Test};
use crate::seat::{Move, Seat, SeatFrame, Stand};
use std::path::Path;
use trueline_model::{Debugger, Language};
use trueline_trace::native::Answer;

/// What one debugger is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// The debugger that understands the commands.
    pub(crate) debugger: Debugger,
    /// Where the program is stopped.
    pub(crate) breaks: Vec<Place>,
    pub(crate) commands: Vec<Command>,
}

/// A command and the questions that its output answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Command {
    pub text: String,
    pub does: Does,
    pub checks: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Does {
    Move(Move),
    /// Prints the value of an expression.
    Print(String),
    /// Something that only this debugger knows.
    Other,
}

/// Reads a test.
pub(crate) fn parse(path: &Path, text: &str) -> Test {
    let mut test = Test {
        path: path.to_owned(),
        language: Language::Rust,
        options: Vec::new(),
        sources: Vec::new(),
        skipped: None,
        questions: Vec::new(),
        plan: Plan::Transcript(Vec::new()),
    };
    let breaks: Vec<Place> = (1..).zip(text.lines()).filter(|(_, l)| l.contains("#break")).map(|(n, _)| Place::Line(n)).collect();
    let empty = |debugger| Transcript { debugger, breaks: breaks.clone(), commands: Vec::new() };
    let mut transcripts = [empty(Debugger::Gdb), empty(Debugger::Lldb)];
    let mut barriers: [Option<String>; 2] = [None, None];
    for (number, line) in (1..).zip(text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        let comment = comment.strip_prefix('@').unwrap_or(comment).trim();
        if let Some((who, rest)) = spoken(comment, "command") {
            transcripts[who].commands.push(command(rest));
        } else if let Some((who, rest)) = spoken(comment, "check") {
            if let Some(command) = transcripts[who].commands.last_mut() {
                command.checks.push(test.questions.len());
                let (expression, expected) = (command.text.clone(), Expected::Printed(rest.to_owned()));
                test.questions.push(Question { line: number, expression, expected, barrier: None });
            }
        } else {
            directive(comment, &mut test, &mut barriers);
        }
    }
    for (transcript, barrier) in transcripts.iter().zip(barriers) {
        for &question in transcript.commands.iter().flat_map(|c| &c.checks) {
            test.questions[question].barrier.clone_from(&barrier);
        }
    }
    let barred = |t: &Transcript| t.commands.iter().flat_map(|c| &c.checks).any(|&q| test.questions[q].barrier.is_some());
    let asks = |t: &Transcript| t.commands.iter().any(|c| !c.checks.is_empty());
    test.plan = Plan::Transcript(transcripts.into_iter().filter(|t| asks(t) && !barred(t)).collect());
    test
}

/// Whom a comment speaks to, and what it says. gdb has known Rust since 7.12, so that of the old pairs `gdbr-` counts and `gdbg-`
/// does not; lldb does not know it, so that `lldbg-` counts.
fn spoken<'c>(comment: &'c str, what: &str) -> Option<(usize, &'c str)> {
    for (who, names) in [["gdb", "gdbr"], ["lldb", "lldbg"]].iter().enumerate() {
        for name in names {
            let rest = comment.strip_prefix(name).and_then(|r| r.strip_prefix('-')).and_then(|r| r.strip_prefix(what));
            if let Some(rest) = rest.and_then(|r| r.strip_prefix(':')) {
                return Some((who, rest.trim()));
            }
        }
    }
    None
}

fn directive(comment: &str, test: &mut Test, barriers: &mut [Option<String>; 2]) {
    let (name, value) = comment.split_once(':').map_or((comment, ""), |(name, value)| (name, value.trim()));
    let name = name.split_whitespace().next().unwrap_or_default();
    let skip = |test: &mut Test, reason: String| {
        test.skipped.get_or_insert(reason);
    };
    match name {
        "compile-flags" => {
            // The debug information and the level are the runner's.
            let flags = value.split_whitespace().filter(|f| !matches!(*f, "-g" | "-O")).map(str::to_owned);
            test.options.extend(flags);
        }
        "edition" if value != "2021" => skip(test, format!("it is of Rust's edition {value}, and tests are built with 2021")),
        "revisions" => skip(test, "it has several revisions".to_owned()),
        "aux-build" | "aux-crate" | "proc-macro" => skip(test, "it needs another crate".to_owned()),
        "ignore-linux" | "ignore-x86_64" | "ignore-test" | "ignore-64bit" | "only-windows" | "only-msvc" | "only-macos" | "only-apple"
        | "only-32bit" | "only-aarch64" | "only-cdb" => skip(test, format!("the test skips itself here ({name})")),
        "ignore-gdb" | "only-lldb" => barriers[0] = Some(format!("the question is skipped by the test ({name})")),
        "ignore-lldb" | "only-gdb" | "needs-rust-lldb" => {
            barriers[1] = Some(format!("the question is skipped by the test ({name})"));
        }
        _ => {}
    }
}

fn command(text: &str) -> Command {
    let (word, rest) = text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()));
    let does = match (word, rest) {
        ("run" | "r" | "continue" | "c", "") => Does::Move(Move::Go),
        ("next" | "n" | "thread step-over", "") => Does::Move(Move::Over),
        ("step" | "s" | "thread step-in", "") => Does::Move(Move::Into),
        ("finish" | "fin" | "thread step-out", "") => Does::Move(Move::Out),
        ("print" | "p" | "print/d" | "print/x" | "v" | "expr" | "expression" | "dwim-print", rest) if !rest.is_empty() => {
            Does::Print(rest.to_owned())
        }
        ("frame", rest) if rest.starts_with("variable ") => Does::Print(rest["variable ".len()..].trim().to_owned()),
        _ => Does::Other,
    };
    Command { text: text.to_owned(), does, checks: Vec::new() }
}

/// Gives the commands to an engine. The native one follows what every debugger knows, of both debuggers' transcripts.
pub(crate) fn follow(asker: &Asker, binary: &Path, test: &Test, transcripts: &[Transcript]) -> Result<Vec<(usize, Told)>, String> {
    let source = std::fs::read_to_string(&test.path).map_err(|e| format!("cannot read {}: {e}", test.path.display()))?;
    let mut told = Vec::new();
    for transcript in transcripts {
        if asker.debugger().is_some_and(|d| d != transcript.debugger) {
            let reason = format!("the question is for {}", spell(transcript.debugger));
            let checks = transcript.commands.iter().flat_map(|c| &c.checks);
            told.extend(checks.map(|&question| (question, Told::not_asked(&reason))));
            continue;
        }
        let mut seat = asker.seat(binary, &file_name(test), &[])?;
        for place in &transcript.breaks {
            seat.place(place)?;
        }
        let mut way = Way { seat: seat.as_mut(), test, source: &source, is_native: asker.debugger().is_none(), trouble: None };
        way.trouble = Some("the program was not started".to_owned());
        for command in &transcript.commands {
            way.obey(command, &mut told)?;
        }
    }
    Ok(told)
}

fn spell(debugger: Debugger) -> &'static str {
    match debugger {
        Debugger::Gdb => "gdb",
        Debugger::Lldb => "lldb",
    }
}

struct Way<'w> {
    seat: &'w mut dyn Seat,
    test: &'w Test,
    source: &'w str,
    is_native: bool,
    /// Why the program does not stand anywhere.
    trouble: Option<String>,
}

impl Way<'_> {
    fn obey(&mut self, command: &Command, told: &mut Vec<(usize, Told)>) -> Result<(), String> {
        if let Does::Move(how) = command.does {
            let has_started = self.trouble.as_deref() != Some("the program was not started");
            if self.trouble.is_none() || (!has_started && how == Move::Go) {
                let stand = self.seat.go(how)?;
                self.moved(&stand, command, told);
                return Ok(());
            }
        }
        if let Some(reason) = &self.trouble {
            // Settings come before the start; they ask nothing.
            if command.checks.is_empty() && command.does == Does::Other {
                self.seat.say(&command.text)?;
            }
            told.extend(command.checks.iter().map(|&question| (question, Told::not_reached(reason))));
            return Ok(());
        }
        match &command.does {
            Does::Print(expression) if !command.checks.is_empty() => self.print(expression, command, told),
            _ => {
                let text = self.seat.say(&command.text)?;
                let reason = format!("the native engine does not take `{}`", command.text.split(' ').next().unwrap_or_default());
                match text {
                    Some(text) => told.extend(self.compare(command, &text)),
                    None => told.extend(command.checks.iter().map(|&question| (question, Told::not_asked(&reason)))),
                }
                Ok(())
            }
        }
    }

    fn moved(&mut self, stand: &Stand, command: &Command, told: &mut Vec<(usize, Told)>) {
        match stand {
            Stand::Over(how) => {
                self.trouble = Some(how.clone());
                told.extend(command.checks.iter().map(|&question| (question, Told::not_reached(how))));
            }
            Stand::At { frames, .. } => {
                self.trouble = None;
                let line = self.line_of(frames.first());
                told.extend(self.compare(command, &line));
            }
        }
    }

    /// The line of the source that a debugger shows where it stands.
    fn line_of(&self, frame: Option<&SeatFrame>) -> String {
        let here = frame.filter(|f| f.file.as_deref() == Some(&file_name(self.test)) && f.line > 0);
        let text = here.and_then(|f| self.source.lines().nth(f.line as usize - 1));
        text.map_or_else(|| "(another file)".to_owned(), |t| t.trim().to_owned())
    }

    /// Checks fit lines of the output, in order.
    fn compare(&self, command: &Command, text: &str) -> Vec<(usize, Told)> {
        let lines: Vec<&str> = text.lines().collect();
        let mut from = 0;
        let mut found = Vec::new();
        for &question in &command.checks {
            let pattern = self.test.questions[question].expected.text();
            let at = lines[from..].iter().position(|line| fits(pattern, line, Anchor::Free));
            found.push((question, Told::there(Answer::Value(text.trim().to_owned()), at.is_some())));
            from += at.map_or(0, |at| at + 1);
        }
        found
    }

    fn print(&mut self, expression: &str, command: &Command, told: &mut Vec<(usize, Told)>) -> Result<(), String> {
        let seen = self.seat.look(expression, (!self.is_native).then_some(&command.text))?;
        for &question in &command.checks {
            let pattern = self.test.questions[question].expected.text();
            let verdict = match (&seen.printed, &seen.answer) {
                (Some(printed), answer) => {
                    let mut lines = std::iter::once(printed.as_str()).chain(printed.lines());
                    let is_right = lines.any(|line| fits(without_number(pattern), without_number(line), Anchor::Start));
                    Told::there(answer.clone(), is_right)
                }
                (None, Answer::Unsupported(reason)) => Told::open(seen.answer.clone(), reason),
                (None, Answer::Value(text)) => match is_value(pattern, text) {
                    Some(is_right) => Told::there(seen.answer.clone(), is_right),
                    None => Told::open(seen.answer.clone(), "the value is expected in a debugger's own words"),
                },
                (None, _) => Told::there(seen.answer.clone(), false),
            };
            told.push((question, verdict));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//@ compile-flags:-g -Zfoo\n//@ gdb-command:run\n//@ gdb-command:print a\n//@ gdb-check:$1 = 5\n//@ gdb-command: next\n\
                        //@ gdb-check:    let b = 6;\n// lldb-command:run\n// lldb-command:v a\n// lldbg-check:[...] 5\n// lldbr-check:(i32) a = 5\n\
                        // gdbg-check:$2 = 7\nfn main() {\n    let a = 5;\n    zzz(); // #break\n}\n";

    #[test]
    fn commands_and_checks_belong_to_their_debugger() {
        let test = parse(Path::new("t.rs"), TEXT);
        assert_eq!(test.options, ["-Zfoo"]);
        let asked: Vec<(u32, &str, &str)> = test.questions.iter().map(|q| (q.line, q.expression.as_str(), q.expected.text())).collect();
        assert_eq!(asked, [(4, "print a", "$1 = 5"), (6, "next", "let b = 6;"), (9, "v a", "[...] 5")]);
        let Plan::Transcript(transcripts) = &test.plan else { panic!("{:?}", test.plan) };
        assert_eq!(transcripts[0].breaks, [Place::Line(14)]);
        let does: Vec<&Does> = transcripts[0].commands.iter().map(|c| &c.does).collect();
        assert_eq!(does, [&Does::Move(Move::Go), &Does::Print("a".into()), &Does::Move(Move::Over)]);
        assert_eq!(transcripts[1].commands[1].checks, [2]);
    }

    #[test]
    fn a_test_for_another_system_or_with_other_crates_is_skipped_with_its_reason() {
        let skipped = |line: &str| parse(Path::new("t.rs"), &format!("{line}\n{TEXT}")).skipped;
        assert!(skipped("//@ ignore-linux").unwrap().contains("ignore-linux"));
        assert!(skipped("//@ aux-build: other.rs").unwrap().contains("crate"));
        assert_eq!(skipped("//@ ignore-windows"), None);
        let one = parse(Path::new("t.rs"), &format!("//@ ignore-gdb\n{TEXT}"));
        let barred: Vec<bool> = one.questions.iter().map(|q| q.barrier.is_some()).collect();
        assert_eq!(barred, [true, true, false]);
    }
}
