//! Scripts of nodes: which states of the program are looked at, and what is expected there.

use super::value::{Wanted, expand};
use super::yaml::{Kind, Node, read as read_yaml};
use crate::script::{Expected, Question};
use std::collections::HashMap;

/// A frame that is waited for, and what is expected in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Its number among the script's.
    pub(super) number: usize,
    /// Whether it is about its parent's frame; otherwise about one called from there.
    pub(super) is_and: bool,
    pub(super) function: Option<String>,
    pub(super) file: Option<String>,
    /// The first and the last line.
    pub(super) lines: Option<(u32, u32)>,
    pub(super) condition: Option<String>,
    pub(super) for_hits: Option<u64>,
    pub(super) after_hits: u64,
    pub(super) then: Option<Then>,
    pub(super) expects: Vec<Expect>,
    pub(super) states: Vec<State>,
}

/// What is done where a state is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Finish,
    StepOut,
}

/// An expectation and the question that it answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expect {
    pub question: usize,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// An expression has each of these values, and no others.
    Value(String, Vec<Wanted>),
    Type(String, Vec<String>),
    /// Lines that are stepped on.
    Steps(Order, Vec<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Exactly,
    AtLeast,
    Never,
}

/// The lines of the first script in a file: between `---` and `...`.
pub(super) fn document(text: &str) -> Option<Vec<&str>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut from = 0;
    while let Some(start) = lines[from..].iter().position(|l| l.trim() == "---").map(|n| from + n + 1) {
        let end = lines[start..].iter().position(|l| l.trim() == "...").map_or(lines.len(), |n| start + n);
        if lines[start..end].iter().any(|l| l.contains("!where")) {
            return Some(lines[start..end].to_vec());
        }
        from = end;
    }
    None
}

/// A script that is not understood asks one question that nobody answers, so that it is counted.
pub(super) fn refuse(lines: &[&str], reason: &str, questions: &mut Vec<Question>) {
    questions.clear();
    let expression = lines.iter().map(|l| l.trim()).find(|l| !l.is_empty()).unwrap_or_default().to_owned();
    questions.push(open(0, expression, String::new(), format!("the script is not understood: {reason}")));
}

fn open(line: u32, expression: String, expected: String, reason: String) -> Question {
    Question { line, expression, expected: Expected::Seen(expected), barrier: Some(reason) }
}

/// Reads a script. Expectations that are not understood become questions with a barrier; a state that is not understood is an error,
/// as the walk would be another.
pub(super) fn read(lines: &[&str], labels: &HashMap<String, u32>, questions: &mut Vec<Question>) -> Result<Vec<State>, String> {
    let node = read_yaml(lines)?;
    let Kind::Map(entries) = node.kind else { return Err("it is no mapping".to_owned()) };
    let mut reader = Reader { labels, questions, states: 0 };
    let mut states = Vec::new();
    for (key, inside) in entries {
        if key.tag != "!where" {
            return Err(format!("`{}` stands at the root", key.tag));
        }
        states.push(reader.state(&key, inside)?);
    }
    Ok(states)
}

struct Reader<'r> {
    labels: &'r HashMap<String, u32>,
    questions: &'r mut Vec<Question>,
    states: usize,
}

impl Reader<'_> {
    fn state(&mut self, key: &Node, inside: Node) -> Result<State, String> {
        let mut state = State { number: self.states, is_and: key.tag == "!and", ..State::default() };
        self.states += 1;
        let args: &[(Node, Node)] = match &key.kind {
            Kind::Map(args) => args,
            Kind::Nothing => &[],
            _ => return Err(format!("`{}` has no arguments", key.tag)),
        };
        for (name, value) in args {
            match (text(name)?, value) {
                ("function", value) => state.function = Some(text(value)?.to_owned()),
                ("file", value) => state.file = Some(text(value)?.to_owned()),
                ("lines", value) => state.lines = Some(self.range(value)?),
                ("conditions" | "condition", value) => state.condition = Some(text(value)?.to_owned()),
                ("for_hit_count", value) => state.for_hits = Some(number(value)?),
                ("after_hit_count", value) => state.after_hits = number(value)?,
                (other, _) => return Err(format!("the argument `{other}` of `{}` is not understood", key.tag)),
            }
        }
        let line = state.lines.map_or(0, |l| l.0);
        let entries = match inside.kind {
            Kind::Map(entries) => entries,
            // `!and {…}: !then finish`
            Kind::Scalar(word) if inside.tag == "!then" => {
                state.then = Some(then(&word)?);
                return Ok(state);
            }
            Kind::Nothing => Vec::new(),
            _ => return Err("a state holds no mapping".to_owned()),
        };
        for (key, value) in entries {
            match key.tag.as_str() {
                "!where" | "!and" => state.states.push(self.state(&key, value)?),
                "!then" => state.then = Some(then(text(&key)?)?),
                _ => self.expect(&mut state, line, &key, &value),
            }
        }
        Ok(state)
    }

    fn expect(&mut self, state: &mut State, line: u32, key: &Node, value: &Node) {
        let expression = text(key).unwrap_or("?").to_owned();
        let expected = spell(value);
        let name = if key.tag == "!value" { expression.clone() } else { format!("{} {expression}", key.tag) };
        let question = self.questions.len();
        match self.what(&key.tag, expression, value) {
            Ok(what) => {
                self.questions.push(Question { line, expression: name, expected: Expected::Seen(expected), barrier: None });
                state.expects.push(Expect { question, what });
            }
            Err(reason) => self.questions.push(open(line, name, expected, reason)),
        }
    }

    fn what(&self, tag: &str, expression: String, value: &Node) -> Result<What, String> {
        if value.kind == Kind::Nothing {
            return Err(format!("`{tag}` has no expected value"));
        }
        match tag {
            "!value" => Ok(What::Value(expression, Self::wanted(value)?)),
            "!type" => match &value.kind {
                Kind::List(items) => {
                    Ok(What::Type(expression, items.iter().map(|i| text(i).map(str::to_owned)).collect::<Result<_, _>>()?))
                }
                Kind::Scalar(text) => Ok(What::Type(expression, vec![text.clone()])),
                _ => Err("types of members are not compared".to_owned()),
            },
            "!step" => {
                let order = match expression.as_str() {
                    "exactly" => Order::Exactly,
                    "at_least" => Order::AtLeast,
                    "never" => Order::Never,
                    other => return Err(format!("`!step {other}` is not understood")),
                };
                let Kind::List(items) = &value.kind else { return Err("`!step` has no list of lines".to_owned()) };
                Ok(What::Steps(order, items.iter().map(|i| self.line(i)).collect::<Result<_, _>>()?))
            }
            other => Err(format!("`{other}` is not understood")),
        }
    }

    fn wanted(node: &Node) -> Result<Vec<Wanted>, String> {
        match (&node.kind, node.tag.as_str()) {
            (Kind::List(items), "") => {
                let mut all = Vec::new();
                for item in items {
                    all.extend(Self::wanted(item)?);
                }
                Ok(all)
            }
            (Kind::Map(entries), "") => {
                let members = entries.iter().map(|(name, value)| Ok((text(name)?.to_owned(), Self::wanted(value)?)));
                expand(members.collect::<Result<_, String>>()?)
            }
            (Kind::Scalar(text), "") => Ok(vec![Wanted::Text(text.clone())]),
            (Kind::Scalar(text), "!float") => {
                let (value, range) = text.split_once("+-").unwrap_or((text, "0"));
                let read = |t: &str| t.trim().parse::<f64>().map_err(|_| format!("`{text}` is no number"));
                Ok(vec![Wanted::Near(read(value)?, read(range)?)])
            }
            (Kind::Scalar(text), "!address") => {
                let compact: String = text.split_whitespace().collect();
                let at = compact.find(['+', '-']).unwrap_or(compact.len());
                let (name, offset) = compact.split_at(at);
                let offset = if offset.is_empty() { 0 } else { offset.parse().map_err(|_| format!("`{text}` is no address"))? };
                Ok(vec![Wanted::Address(name.to_owned(), offset)])
            }
            (_, "") => Err("a value is missing".to_owned()),
            (_, tag) => Err(format!("`{tag}` is not understood")),
        }
    }

    fn range(&self, node: &Node) -> Result<(u32, u32), String> {
        match (&node.kind, node.tag.as_str()) {
            (Kind::List(ends), "!range") => match &ends[..] {
                [first, last] => Ok((self.line(first)?, self.line(last)?)),
                _ => Err("a range has two ends".to_owned()),
            },
            _ => self.line(node).map(|line| (line, line)),
        }
    }

    fn line(&self, node: &Node) -> Result<u32, String> {
        let text = text(node)?;
        let compact: String = text.split_whitespace().collect();
        match node.tag.as_str() {
            "" => compact.parse().map_err(|_| format!("`{text}` is no line")),
            "!label" => {
                // A label's name may hold a minus.
                if let Some(&line) = self.labels.get(&compact) {
                    return Ok(line);
                }
                let at = compact.rfind(['+', '-']).unwrap_or(compact.len());
                let (name, offset) = compact.split_at(at);
                let line = self.labels.get(name).ok_or_else(|| format!("there is no label `{name}` in the file"))?;
                let offset: i32 = if offset.is_empty() { 0 } else { offset.parse().map_err(|_| format!("`{text}` is no line"))? };
                line.checked_add_signed(offset).ok_or_else(|| format!("`{text}` is no line"))
            }
            tag => Err(format!("`{tag}` is no line")),
        }
    }
}

fn then(word: &str) -> Result<Then, String> {
    match word {
        "finish" => Ok(Then::Finish),
        "step_out" => Ok(Then::StepOut),
        other => Err(format!("`!then {other}` is not understood")),
    }
}

fn text(node: &Node) -> Result<&str, String> {
    match &node.kind {
        Kind::Scalar(text) => Ok(text),
        _ => Err("a name or a number is missing".to_owned()),
    }
}

fn number(node: &Node) -> Result<u64, String> {
    text(node)?.parse().map_err(|_| "a count is no number".to_owned())
}

/// What is expected, as it is written.
fn spell(node: &Node) -> String {
    let tag = if node.tag.is_empty() { String::new() } else { format!("{} ", node.tag) };
    match &node.kind {
        Kind::Nothing => String::new(),
        Kind::Scalar(text) => format!("{tag}{text}"),
        Kind::List(items) => items.iter().map(spell).collect::<Vec<_>>().join(", "),
        Kind::Map(entries) => {
            let members: Vec<String> = entries.iter().map(|(name, value)| format!("{}: {}", spell(name), spell(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "int f(int a) { // !dex_label start\n  return a; // !dex_label end\n}\n/*\n---\n!where {function: f}:\n  !value a: [1, 2]\n  \
                        !and {lines: !range [!label start, !label end], after_hit_count: 2}:\n    !value 'a == 1': true\n    !frobnicate a: 1\n  \
                        ? !value b\n  !step never: [!label end + 1]\n...\n*/\n";

    #[test]
    fn a_script_becomes_states_and_what_is_not_understood_becomes_open_questions() {
        let lines = document(TEXT).unwrap();
        let mut questions = Vec::new();
        let labels = super::super::labels(TEXT, "!dex_label");
        let states = read(&lines, &labels, &mut questions).unwrap();
        let asked: Vec<(&str, &str, bool)> =
            questions.iter().map(|q| (q.expression.as_str(), q.expected.text(), q.barrier.is_some())).collect();
        assert_eq!(
            asked,
            [
                ("a", "1, 2", false),
                ("a == 1", "true", false),
                ("!frobnicate a", "1", true),
                ("b", "", true),
                ("!step never", "!label end + 1", false)
            ]
        );
        let inner = &states[0].states[0];
        assert_eq!((inner.lines, inner.after_hits, inner.is_and), (Some((1, 2)), 2, true));
        assert_eq!(states[0].expects[1].what, What::Steps(Order::Never, vec![3]));
    }

    #[test]
    fn a_state_that_is_not_understood_refuses_the_script() {
        let lines = ["!where {column: 3}:", "  !value a: 1"];
        assert!(read(&lines, &HashMap::new(), &mut Vec::new()).unwrap_err().contains("column"));
        assert!(document("int main() {}\n---\nno script\n...\n").is_none());
    }
}
