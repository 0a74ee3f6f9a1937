//! Whether an answer is the expected one, and whether two engines gave the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trueline_trace::native::Answer;

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "verdict")]
pub enum Verdict {
    /// The value is the expected one.
    Pass,
    /// It is another one, or there is none.
    Fail,
    /// Nobody can tell.
    Unsupported {
        /// Why not.
        reason: String,
    },
}

/// What an engine said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// An answer where the program stood.
    There(Answer),
    /// The program never came there.
    NotReached(String),
    /// The question was not put.
    NotAsked(String),
}

/// An answer as a script inside a debugger writes it.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "text")]
pub(crate) enum SaidAnswer {
    Value(String),
    OptimizedOut,
    NotInScope,
    Unreadable(String),
    Refused(String),
    Unsupported(String),
    NotReached(String),
}

impl From<SaidAnswer> for Said {
    fn from(said: SaidAnswer) -> Self {
        Self::There(match said {
            SaidAnswer::Value(text) => Answer::Value(text),
            SaidAnswer::OptimizedOut => Answer::OptimizedOut,
            SaidAnswer::NotInScope => Answer::NotInScope,
            SaidAnswer::Unreadable(reason) => Answer::Unreadable(reason),
            SaidAnswer::Refused(reason) => Answer::Refused(reason),
            SaidAnswer::Unsupported(reason) => Answer::Unsupported(reason),
            SaidAnswer::NotReached(reason) => return Self::NotReached(reason),
        })
    }
}

/// What became of a question at one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub said: Said,
    pub verdict: Verdict,
}

impl Told {
    /// A question that was not put.
    pub fn not_asked(reason: &str) -> Self {
        let verdict = Verdict::Unsupported { reason: reason.to_owned() };
        Self { said: Said::NotAsked(reason.to_owned()), verdict }
    }

    /// A question whose place the program never came to.
    pub fn not_reached(reason: &str) -> Self {
        let verdict = Verdict::Unsupported { reason: reason.to_owned() };
        Self { said: Said::NotReached(reason.to_owned()), verdict }
    }

    /// An answer, and whether it is right.
    pub fn there(answer: Answer, is_right: bool) -> Self {
        Self { said: Said::There(answer), verdict: if is_right { Verdict::Pass } else { Verdict::Fail } }
    }

    /// An answer that cannot be compared.
    pub fn open(answer: Answer, reason: &str) -> Self {
        Self { said: Said::There(answer), verdict: Verdict::Unsupported { reason: reason.to_owned() } }
    }
}

/// Judges an answer against the expected value.
pub(crate) fn judge(answer: &Said, expected: &Said) -> Verdict {
    let unsupported = |reason: &str| Verdict::Unsupported { reason: reason.to_owned() };
    match (answer, expected) {
        (Said::NotAsked(reason) | Said::NotReached(reason), _) => unsupported(reason),
        (Said::There(Answer::Unsupported(reason)), _) => unsupported(reason),
        (_, Said::There(Answer::Unsupported(reason))) => unsupported(&format!("the expected value: {reason}")),
        (Said::There(Answer::Value(x)), Said::There(Answer::Value(y))) if same_value(x, y) => Verdict::Pass,
        _ => Verdict::Fail,
    }
}

/// Whether two engines gave one answer to a question and to what was expected. Addresses on the stack depend on how the program
/// was started; for them it counts that both are addresses and stand in the same relation to what is expected.
pub(crate) fn agree(a: (&Said, &Verdict), b: (&Said, &Verdict)) -> Option<bool> {
    Some(match (a.0, b.0) {
        (Said::NotAsked(_), _) | (_, Said::NotAsked(_)) => return None,
        (Said::NotReached(_), Said::NotReached(_)) => true,
        (Said::There(x), Said::There(y)) => match (x, y) {
            (Answer::Value(x), Answer::Value(y)) => {
                // Who cannot compare an answer with what is expected can still give the same one.
                let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Unsupported { .. });
                same_value(&without_addresses(x), &without_addresses(y)) && (a.1 == b.1 || is_open(a.1) || is_open(b.1))
            }
            (Answer::OptimizedOut, Answer::OptimizedOut) | (Answer::NotInScope, Answer::NotInScope) => true,
            (Answer::Unreadable(_), Answer::Unreadable(_)) | (Answer::Refused(_), Answer::Refused(_)) => true,
            (Answer::Unsupported(_), Answer::Unsupported(_)) => return None,
            _ => false,
        },
        _ => false,
    })
}

/// A text with every address that is not small replaced by a word.
fn without_addresses(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        plain.push_str(&rest[..at]);
        let digits = &rest[at + 2..];
        let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        plain.push_str(if length > 8 { "(address)" } else { &rest[at..at + 2 + length] });
        rest = &digits[length..];
    }
    plain + rest
}

pub(crate) fn same_value(x: &str, y: &str) -> bool {
    match (number(x), number(y), complex(x), complex(y)) {
        (Some(x), Some(y), ..) => x == y,
        (.., Some(x), Some(y)) => x == y,
        _ => x == y,
    }
}

/// The two parts of a complex number.
fn complex(text: &str) -> Option<(Number, Number)> {
    let (real, imaginary) = text.strip_suffix('i')?.split_once(" + ")?;
    Some((number(real)?, number(imaginary)?))
}

/// A number as engines write it.
#[derive(PartialEq)]
enum Number {
    Whole(i128),
    Real(f64),
}

fn number(text: &str) -> Option<Number> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let whole = match digits.strip_prefix("0x") {
        Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok(),
        None => digits.parse::<i128>().ok(),
    };
    if let Some(n) = whole {
        return Some(Number::Whole(sign * n));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let real: f64 = digits.parse().ok()?;
    // 5.0 is 5 to whoever compares.
    let is_whole = real.fract() == 0.0 && real.abs() < 1e15;
    Some(if is_whole { Number::Whole(sign * real as i128) } else { Number::Real(sign as f64 * real) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Said {
        Said::There(Answer::Value(text.to_owned()))
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_all_else_as_text() {
        for (x, y) in [("5", "5.0"), ("0x10", "16"), ("{1, 2}", "{1, 2}"), ("1 + 2i", "1.0 + 2.0i")] {
            assert!(same_value(x, y), "{x} {y}");
        }
        for (x, y) in [("5", "6"), ("0x10", "10"), ("{1}", "{1, 2}"), ("-1", "4294967295"), ("0.5", "0"), ("1 + 2i", "1 + 3i")] {
            assert!(!same_value(x, y), "{x} {y}");
        }
    }

    #[test]
    fn addresses_of_two_runs_are_the_same_answer_when_both_are_right_or_both_wrong() {
        let (a, b) = (value("{0x7ffffffde010, 0x0}"), value("{0x7ffffffde450, 0x0}"));
        assert_eq!(agree((&a, &Verdict::Pass), (&b, &Verdict::Pass)), Some(true));
        assert_eq!(agree((&a, &Verdict::Pass), (&b, &Verdict::Fail)), Some(false));
        assert_eq!(agree((&a, &Verdict::Fail), (&value("{0x7ffffffde450, 0x1}"), &Verdict::Fail)), Some(false));
    }

    #[test]
    fn what_was_not_understood_is_neither_right_nor_wrong() {
        assert_eq!(judge(&value("3"), &value("3")), Verdict::Pass);
        assert_eq!(judge(&Said::There(Answer::OptimizedOut), &value("3")), Verdict::Fail);
        let unknown = Said::There(Answer::Unsupported("x".into()));
        assert!(matches!(judge(&value("3"), &unknown), Verdict::Unsupported { .. }));
    }

    #[test]
    fn an_engine_that_does_not_understand_what_another_answers_does_not_agree_with_it() {
        let unknown = Said::There(Answer::Unsupported("x".into()));
        let verdict = Verdict::Unsupported { reason: "x".into() };
        assert_eq!(agree((&unknown, &verdict), (&value("3"), &Verdict::Pass)), Some(false));
        assert_eq!(agree((&unknown, &verdict), (&unknown, &verdict)), None);
    }
}
