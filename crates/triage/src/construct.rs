//! What a fault looks like in its program, beyond the pass behind it. One pass can be behind many bugs: a known bug says
//! by its construct which of them it is.
//!
//! Programs are read as text here. What text cannot tell does not match, so that the error is to call a known bug new.

use serde::{Deserialize, Serialize};
use trueline_model::{Fault, Language, Program, Violation};

/// Conditions on a fault and its program; those that are given must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Construct {
    /// The first word of the violated line: `return`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Whether the violated line's statement stands on another line of the program, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<bool>,
    /// How wide the variable's type is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<Width>,
    /// Where the variable is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<DeclaredIn>,
    /// How the value that is shown relates to those that -O0 allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueShown>,
    /// Operators that the variable's location has, in this order and with others between them: `convert`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub location: Vec<String>,
    /// A text that the message of a crash contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How wide an integer type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// Narrower than `int`, to which it is promoted wherever it is used.
    Narrow,
    /// As wide as `int` or wider.
    Wide,
}

/// Where a variable is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredIn {
    /// In a function's head or its outermost block.
    Function,
    /// In a block inside a function.
    InnerBlock,
}

/// How a wrong value relates to the right ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ValueShown {
    /// It is what the low bits of a right one make.
    LowBits,
}

impl Construct {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a fault of a program looks like this.
    pub fn fits(&self, fault: &Fault, program: &Program, location: Option<&str>) -> bool {
        match fault {
            Fault::Violation(violation) => {
                self.message.is_none() && self.fits_violation(violation, program) && self.fits_location(location)
            }
            Fault::Crash { message } => self.is_of_crash() && self.message.as_ref().is_some_and(|part| message.contains(part)),
            Fault::Hang { .. } | Fault::WrongCode { .. } | Fault::Explosion { .. } => self.is_empty(),
        }
    }

    fn is_of_crash(&self) -> bool {
        Self { message: None, ..self.clone() }.is_empty()
    }

    fn fits_location(&self, location: Option<&str>) -> bool {
        let mut said = location.into_iter().flat_map(words);
        self.location.iter().all(|wanted| said.any(|word| word.trim_start_matches("DW_OP_") == wanted))
    }

    fn fits_violation(&self, violation: &Violation, program: &Program) -> bool {
        let index = violation.line.0.saturating_sub(1) as usize;
        let line = program.source.lines().nth(index).unwrap_or("").trim();
        let is_repeated = || program.source.lines().enumerate().any(|(i, other)| i != index && other.trim() == line);
        let declaration = || violation.variable().and_then(|name| Declaration::above(program, name, index));
        self.statement.as_deref().is_none_or(|word| words(line).next() == Some(word))
            && self.repeated.is_none_or(|wanted| !line.is_empty() && is_repeated() == wanted)
            && self.width.is_none_or(|wanted| declaration().is_some_and(|d| d.width == wanted))
            && self.value.is_none_or(|ValueShown::LowBits| shows_low_bits(violation))
            && self.declared.is_none_or(|wanted| declaration().is_some_and(|d| d.declared == wanted))
    }
}

/// Whether the value shown is what some of the low bits of an allowed one make.
fn shows_low_bits(violation: &Violation) -> bool {
    let number = |text: &str| text.parse::<i128>().ok();
    let Some(held) = violation.breach.wrong_value() else { return false };
    let Some(shown) = number(held.value) else { return false };
    let mut allowed = held.allowed.first.iter().filter_map(|right| number(right));
    allowed.any(|right| right != shown && (1..64).any(|bits| right & ((1 << bits) - 1) == shown))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Integer types as C and Rust spell them.
const NARROW: [&str; 12] = ["char", "short", "_Bool", "bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "i8", "u8", "i16", "u16"];
const WIDE: [&str; 14] =
    ["int", "unsigned", "long", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t", "i32", "u32", "i64", "u64", "isize", "usize"];

/// What a declaration says of an integer variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Declaration {
    width: Width,
    declared: DeclaredIn,
}

impl Declaration {
    /// The declaration of `name` that is nearest to a line, looking up first: a variable may be shown outside its block.
    fn above(program: &Program, name: &str, index: usize) -> Option<Self> {
        let lines: Vec<&str> = program.source.lines().collect();
        let (before, after) = lines.split_at((index + 1).min(lines.len()));
        let mut order = before.iter().enumerate().rev().chain(after.iter().enumerate().map(|(i, l)| (i + before.len(), l)));
        order.find_map(|(at, line)| {
            let width = width_in(line, name, program.language)?;
            let open = lines[..at].concat();
            let depth = open.matches('{').count() as i64 - open.matches('}').count() as i64;
            Some(Self { width, declared: if depth > 1 { DeclaredIn::InnerBlock } else { DeclaredIn::Function } })
        })
    }
}

/// The width of the type with which a line declares `name`, if it does.
fn width_in(line: &str, name: &str, language: Language) -> Option<Width> {
    let kind = |word: &str| match word {
        word if NARROW.contains(&word) => Some(Width::Narrow),
        word if WIDE.contains(&word) => Some(Width::Wide),
        _ => None,
    };
    // `char a, b` declares both: the type is the nearest before the name that no bracket or statement ends.
    for part in line.split(['(', ';', '{', '}']) {
        let listed: Vec<&str> = words(part).collect();
        let Some(at) = listed.iter().position(|word| *word == name) else { continue };
        let width = match language {
            Language::Rust => listed.get(at + 1).and_then(|word| kind(word)),
            Language::C | Language::Cpp if part.contains('*') => None,
            Language::C | Language::Cpp => {
                let types: Vec<Width> = listed[..at].iter().rev().skip_while(|w| kind(w).is_none()).map_while(|w| kind(w)).collect();
                // `short int` and `unsigned char` are narrow.
                types.first().map(|_| if types.contains(&Width::Narrow) { Width::Narrow } else { Width::Wide })
            }
        };
        if width.is_some() {
            return width;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_of_a_declared_variable_is_read_from_its_line() {
        let c = |line| width_in(line, "p", Language::C);
        assert_eq!(c("static unsigned mask(unsigned char p, unsigned q) {"), Some(Width::Narrow));
        assert_eq!(c("static unsigned mask(unsigned char q, unsigned p) {"), Some(Width::Wide));
        assert_eq!(c("  short int n = 1, p = 2;"), Some(Width::Narrow));
        assert_eq!(c("  for (int p = 0; p < 3; p++)"), Some(Width::Wide));
        assert_eq!(c("  unsigned char *p = q;"), None);
        assert_eq!(c("  use(p);"), None);
        assert_eq!(width_in("fn f(p: u8, q: u32) {", "p", Language::Rust), Some(Width::Narrow));
    }
}
