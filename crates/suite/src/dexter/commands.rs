//! Commands in comments: `DexExpectWatchValue('x', 1, 2, on_line=ref('here'))`.

use super::python::{Arg, Args, arguments};
use super::value::Wanted;
use crate::script::{Expected, Question, Test};
use std::collections::HashMap;

/// What a test's commands ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    pub(super) expects: Vec<Expect>,
    /// Where steps are limited to; everywhere where there is none.
    pub(super) limits: Vec<Limit>,
    /// Addresses by the name that is given to them: expression and line.
    pub(super) addresses: Vec<(String, String, u32)>,
    pub(super) finish: Vec<Limit>,
    pub(super) arguments: Vec<String>,
}

/// Lines from one to another, and a condition at the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limit {
    pub from: u32,
    pub to: u32,
    /// An expression that is true there.
    pub condition: Option<String>,
    pub hits: Option<u64>,
}

/// An expectation and the question that it answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expect {
    pub question: usize,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Watch {
        expression: String,
        of: Watched,
        lines: (u32, u32),
        is_ordered: bool,
    },
    Unreachable(u32, u32),
    Kind(StepKind, usize),
    /// The lines of all such commands in the order that they are stepped on.
    Order(Vec<u32>),
    State {
        frames: Vec<Option<u32>>,
        watches: Vec<(String, Wanted)>,
        times: Option<usize>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Watched {
    Value(Vec<Wanted>),
    Type(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Function,
    External,
    Forward,
    Backward,
}

const LAST: u32 = 999_999;

/// One command where it stands.
struct Found<'t> {
    line: u32,
    name: &'t str,
    /// What stands behind its parenthesis.
    rest: &'t str,
}

/// Reads the commands; their questions and what skips the test are added to it.
pub(super) fn read(text: &str, test: &mut Test) -> Commands {
    let found = find(text);
    let mut labels = HashMap::new();
    for command in found.iter().filter(|c| c.name == "DexLabel") {
        if let Ok(mut args) = arguments(command.rest, &HashMap::new())
            && let Some(Arg::Text(name)) = args.plain.first().cloned()
        {
            let line = line_of(args.take("on_line")).unwrap_or(command.line);
            labels.entry(name).or_insert(line);
        }
    }
    let mut commands = Commands::default();
    let mut order: Vec<(i64, u32)> = Vec::new();
    for command in &found {
        let expression: String = command.name.to_owned();
        let mut add = |test: &mut Test, expression: String, expected: String, what: Result<What, String>| {
            let question = test.questions.len();
            let (barrier, line) = (what.as_ref().err().cloned(), command.line);
            test.questions.push(Question { line, expression, expected: Expected::Seen(expected), barrier });
            if let Ok(what) = what {
                commands.expects.push(Expect { question, what });
            }
        };
        let args = match arguments(command.rest, &labels) {
            Ok(args) => args,
            Err(reason) => {
                if is_expectation(command.name) {
                    add(test, expression, String::new(), Err(reason));
                } else {
                    test.skipped.get_or_insert(format!("{expression}: {reason}"));
                }
                continue;
            }
        };
        match command.name {
            "DexLabel" => {}
            "DexExpectWatchValue" | "DexExpectWatchType" => {
                let watched = watch(command.name, args.clone());
                let shown = args.plain.first().map_or(expression, spell);
                let expected: Vec<String> = args.plain.iter().skip(1).map(spell).collect();
                let shown = if command.name == "DexExpectWatchType" { format!("type of {shown}") } else { shown };
                add(test, shown, expected.join(", "), watched);
            }
            "DexUnreachable" => {
                let what = span(args, command.line).map(|(from, to)| What::Unreachable(from, to));
                add(test, expression, "is never stepped on".to_owned(), what);
            }
            "DexExpectStepKind" => {
                let shown = args.plain.iter().map(spell).collect::<Vec<_>>().join(" ");
                add(test, expression, shown, step_kind(&args));
            }
            "DexExpectProgramState" => add(test, expression, "a state".to_owned(), state(args)),
            "DexExpectStepOrder" => {
                let mut args = args;
                let line = line_of(args.take("on_line")).unwrap_or(command.line);
                order.extend(args.plain.iter().filter_map(|a| if let Arg::Whole(n) = a { Some((*n, line)) } else { None }));
            }
            "DexLimitSteps" => match limit(args, command.line) {
                Ok(limit) => commands.limits.push(limit),
                Err(reason) => drop(test.skipped.get_or_insert(format!("DexLimitSteps: {reason}"))),
            },
            "DexFinishTest" => match limit(args, command.line) {
                Ok(limit) => commands.finish.push(limit),
                Err(reason) => drop(test.skipped.get_or_insert(format!("DexFinishTest: {reason}"))),
            },
            "DexDeclareAddress" => match address(args, command.line) {
                Ok(address) => commands.addresses.push(address),
                Err(reason) => drop(test.skipped.get_or_insert(format!("DexDeclareAddress: {reason}"))),
            },
            "DexCommandLine" => match args.plain.first() {
                Some(Arg::List(items)) => commands.arguments = items.iter().map(spell).collect(),
                _ => drop(test.skipped.get_or_insert("DexCommandLine has no list".to_owned())),
            },
            other if is_expectation(other) => add(test, expression, String::new(), Err(format!("`{other}` is not understood"))),
            // The walk would be another.
            other => drop(test.skipped.get_or_insert(format!("`{other}` is not understood"))),
        }
    }
    if !order.is_empty() {
        order.sort_by_key(|o| o.0);
        let lines: Vec<u32> = order.iter().map(|o| o.1).collect();
        let expected = Expected::Seen(lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
        let question = test.questions.len();
        test.questions.push(Question { line: lines[0], expression: "DexExpectStepOrder".to_owned(), expected, barrier: None });
        commands.expects.push(Expect { question, what: What::Order(lines) });
    }
    commands
}

/// Commands in a text; one behind a backslash is only mentioned.
fn find(text: &str) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut counted = 0;
    let mut from = 0;
    while let Some(at) = text[from..].find("Dex").map(|n| from + n) {
        let end = text[at..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(text.len(), |n| at + n);
        let is_word = !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '\\' | '%' | '`'));
        if is_word && text[end..].starts_with('(') && text[at + 3..end].starts_with(|c: char| c.is_uppercase()) {
            line += text[counted..at].matches('\n').count() as u32;
            counted = at;
            found.push(Found { line, name: &text[at..end], rest: &text[end + 1..] });
        }
        from = end;
    }
    found
}

fn is_expectation(name: &str) -> bool {
    name.starts_with("DexExpect") || name == "DexUnreachable"
}

fn line_of(arg: Option<Arg>) -> Option<u32> {
    match arg {
        Some(Arg::Whole(line)) => u32::try_from(line).ok(),
        _ => None,
    }
}

/// The lines that a command is about; `own` where it does not say.
fn lines(args: &mut Args, own: (u32, u32)) -> (u32, u32) {
    if let Some(line) = line_of(args.take("on_line")) {
        return (line, line);
    }
    (line_of(args.take("from_line")).unwrap_or(own.0), line_of(args.take("to_line")).unwrap_or(own.1))
}

fn nothing_left(args: &Args) -> Result<(), String> {
    args.named.first().map_or(Ok(()), |(name, _)| Err(format!("the argument `{name}` is not understood")))
}

fn span(mut args: Args, own: u32) -> Result<(u32, u32), String> {
    let lines = lines(&mut args, (own, own));
    nothing_left(&args).map(|()| lines)
}

fn watch(name: &str, mut args: Args) -> Result<What, String> {
    let lines = lines(&mut args, (1, LAST));
    let is_ordered = args.take("require_in_order") != Some(Arg::Truth(false));
    let range = match args.take("float_range") {
        Some(Arg::Real(range)) => Some(range),
        Some(Arg::Whole(range)) => Some(range as f64),
        _ => None,
    };
    nothing_left(&args)?;
    let mut plain = args.plain.into_iter();
    let Some(Arg::Text(expression)) = plain.next() else { return Err("there is no expression".to_owned()) };
    let of = if name == "DexExpectWatchType" {
        Watched::Type(plain.map(|a| spell(&a)).collect())
    } else {
        Watched::Value(plain.map(|a| wanted(&a, range)).collect::<Result<_, _>>()?)
    };
    Ok(What::Watch { expression, of, lines, is_ordered })
}

fn wanted(arg: &Arg, range: Option<f64>) -> Result<Wanted, String> {
    Ok(match (arg, range) {
        (Arg::Address(name, offset), _) => Wanted::Address(name.clone(), *offset),
        (arg, Some(range)) => Wanted::Near(spell(arg).parse().map_err(|_| "a value is no number".to_owned())?, range),
        (arg, None) => Wanted::Text(spell(arg)),
    })
}

fn step_kind(args: &Args) -> Result<What, String> {
    let [Arg::Text(kind), Arg::Whole(times)] = &args.plain[..] else { return Err("a kind and a count are needed".to_owned()) };
    let kind = match kind.as_str() {
        "FUNC" => StepKind::Function,
        "FUNC_EXTERNAL" => StepKind::External,
        "VERTICAL_FORWARD" => StepKind::Forward,
        "VERTICAL_BACKWARD" => StepKind::Backward,
        "HORIZONTAL_FORWARD" | "HORIZONTAL_BACKWARD" | "SAME" => return Err("columns are not compared".to_owned()),
        other => return Err(format!("`{other}` is not understood")),
    };
    Ok(What::Kind(kind, usize::try_from(*times).map_err(|_| "the count is negative".to_owned())?))
}

fn limit(mut args: Args, own: u32) -> Result<Limit, String> {
    let (from, to) = lines(&mut args, (own, own));
    let hits = match args.take("hit_count") {
        Some(Arg::Whole(hits)) => u64::try_from(hits).ok(),
        _ => None,
    };
    nothing_left(&args)?;
    let mut texts = args.plain.iter().map(spell);
    let condition = texts.next().map(|expression| {
        let any: Vec<String> = texts.map(|value| format!("(({expression}) == ({value}))")).collect();
        any.join(" || ")
    });
    Ok(Limit { from, to, condition: condition.filter(|c| !c.is_empty()), hits })
}

fn address(mut args: Args, own: u32) -> Result<(String, String, u32), String> {
    let line = line_of(args.take("on_line")).unwrap_or(own);
    nothing_left(&args)?;
    match &args.plain[..] {
        [Arg::Text(name), Arg::Text(expression)] => Ok((name.clone(), expression.clone(), line)),
        _ => Err("a name and an expression are needed".to_owned()),
    }
}

fn state(mut args: Args) -> Result<What, String> {
    let times = match args.take("times") {
        Some(Arg::Whole(times)) => usize::try_from(times).ok(),
        _ => None,
    };
    nothing_left(&args)?;
    let [Arg::Dict(entries)] = &args.plain[..] else { return Err("there is no state".to_owned()) };
    let Some((_, Arg::List(shown))) = entries.iter().find(|e| e.0 == "frames") else { return Err("the state has no frames".to_owned()) };
    let (mut frames, mut watches) = (Vec::new(), Vec::new());
    for (number, frame) in shown.iter().enumerate() {
        let Arg::Dict(entries) = frame else { return Err("a frame is no dictionary".to_owned()) };
        let mut line = None;
        for (name, value) in entries {
            match (name.as_str(), value) {
                // Dexter does not compare these.
                ("function" | "is_inlined", _) => {}
                ("location", Arg::Dict(place)) => {
                    for (name, value) in place {
                        match (name.as_str(), value) {
                            ("lineno", Arg::Whole(n)) => line = u32::try_from(*n).ok(),
                            (other, _) => return Err(format!("the frame's `{other}` is not compared")),
                        }
                    }
                }
                ("watches", Arg::Dict(shown)) if number == 0 => {
                    for (expression, value) in shown {
                        match value {
                            Arg::Dict(_) => return Err("a watch is only compared with a value".to_owned()),
                            value => watches.push((expression.clone(), wanted(value, None)?)),
                        }
                    }
                }
                ("watches", _) => return Err("values of outer frames are not looked at".to_owned()),
                (other, _) => return Err(format!("the frame's `{other}` is not understood")),
            }
        }
        frames.push(line);
    }
    Ok(What::State { frames, watches, times })
}

/// An argument as a text.
fn spell(arg: &Arg) -> String {
    match arg {
        Arg::Text(text) => text.clone(),
        Arg::Whole(n) => n.to_string(),
        Arg::Real(n) => n.to_string(),
        Arg::Truth(is_true) => is_true.to_string(),
        Arg::List(items) => items.iter().map(spell).collect::<Vec<_>>().join(", "),
        Arg::Dict(_) => "{…}".to_owned(),
        Arg::Address(name, 0) => format!("address {name}"),
        Arg::Address(name, offset) => format!("address {name} {offset:+}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dexter::{Script, parse};
    use crate::script::Plan;
    use std::path::Path;

    fn of(text: &str) -> (Commands, Test) {
        let test = parse(Path::new("t.c"), text);
        let Plan::Walk(Script::Commands(commands)) = &test.plan else { panic!("{:?}", test.plan) };
        (commands.clone(), test)
    }

    #[test]
    fn commands_speak_of_lines_by_number_label_or_where_they_stand() {
        let text = "int f(void) {\n  return 1; // DexLabel('end')\n  g(); // DexUnreachable()\n}\n\
                    // DexExpectWatchValue('x', 1, '2', on_line=ref('end') - 1)\n// Check that \\DexExpectStepKind counts.\n\
                    // DexExpectStepKind('FUNC', 2)\n// DexExpectStepOrder(2, on_line=1)\n// DexExpectStepOrder(1, on_line=2)\n";
        let (commands, test) = of(text);
        let lines: Vec<u32> = test.questions.iter().map(|q| q.line).collect();
        assert_eq!(lines, [3, 5, 7, 2]);
        let Some(What::Watch { lines, of: Watched::Value(values), .. }) = commands.expects.iter().map(|e| &e.what).nth(1) else { panic!() };
        assert_eq!((*lines, values.len()), ((1, 1), 2));
        assert_eq!(commands.expects[3].what, What::Order(vec![2, 1]));
    }

    #[test]
    fn what_is_not_understood_is_counted_and_what_leads_elsewhere_skips_the_test() {
        let (commands, test) = of("// DexExpectStepKind('SAME', 1)\n// DexExpectWatchValue('x', range(3))\n");
        assert_eq!(commands.expects, []);
        assert!(test.questions.iter().all(|q| q.barrier.is_some()));
        assert_eq!(test.skipped, None);
        let (_, test) = of("// DexStepFunction('f')\n// DexExpectWatchValue('x', 1)\n");
        assert!(test.skipped.unwrap().contains("DexStepFunction"));
    }

    #[test]
    fn conditions_of_limits_are_expressions() {
        let (commands, _) = of("// DexLimitSteps('i', 0, 'j', from_line=3, to_line=5, hit_count=2)\n");
        let limit = Limit { from: 3, to: 5, condition: Some("((i) == (0)) || ((i) == (j))".into()), hits: Some(2) };
        assert_eq!(commands.limits, [limit]);
    }
}
