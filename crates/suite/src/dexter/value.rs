//! What a value must be, and whether it is.

use crate::answer::same_value;
use crate::seat::{Seat, Seen};
use std::collections::HashMap;
use trueline_trace::native::Answer;

/// A value that is expected.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    /// As a debugger writes it.
    Text(String),
    /// A number, and how far from it one may be.
    Near(f64, f64),
    /// An address by its name, and how far behind it. The first that is seen gives the name its value.
    Address(String, i64),
    /// Of an aggregate: its members. `*` is what a pointer leads to.
    Members(Vec<(String, Wanted)>),
}

/// Whether a value is the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Yes,
    No,
    /// That cannot be told.
    Open(String),
}

/// What is seen of an expression at one stop, with its members.
pub(super) struct Look<'s> {
    pub seat: &'s mut dyn Seat,
    /// What was looked at already.
    pub seen: HashMap<String, Seen>,
    pub addresses: &'s mut HashMap<String, u64>,
}

impl Look<'_> {
    pub fn at(&mut self, expression: &str) -> Result<Seen, String> {
        if let Some(seen) = self.seen.get(expression) {
            return Ok(seen.clone());
        }
        let seen = self.seat.look(expression, None)?;
        self.seen.insert(expression.to_owned(), seen.clone());
        Ok(seen)
    }

    /// Whether an expression is true here; what has no value is not.
    pub fn is_true(&mut self, expression: &str) -> Result<bool, String> {
        Ok(matches!(self.at(expression)?.answer, Answer::Value(text) if text != "0" && text != "false"))
    }

    /// Whether an expression is the wanted one here.
    pub fn fits(&mut self, expression: &str, wanted: &Wanted) -> Result<Fit, String> {
        if let Wanted::Members(members) = wanted {
            for (name, wanted) in members {
                match self.fits(&member(expression, name), wanted)? {
                    Fit::Yes => {}
                    other => return Ok(other),
                }
            }
            return Ok(Fit::Yes);
        }
        let seen = self.at(expression)?;
        let text = match &seen.answer {
            Answer::Value(text) => text.as_str(),
            Answer::Unsupported(reason) => return Ok(Fit::Open(reason.clone())),
            _ => return Ok(Fit::No),
        };
        let told = |is_it: bool| if is_it { Fit::Yes } else { Fit::No };
        Ok(match wanted {
            Wanted::Text(wanted) => match is_text(wanted, text, seen.printed.as_deref()) {
                Some(is_it) => told(is_it),
                None => Fit::Open(format!("`{wanted}` is a debugger's own word")),
            },
            Wanted::Near(wanted, range) => told(text.parse::<f64>().is_ok_and(|value| (value - wanted).abs() <= *range)),
            Wanted::Address(name, offset) => {
                let address = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
                match address {
                    Some(address) => {
                        let base = address.wrapping_add_signed(-offset);
                        told(*self.addresses.entry(name.clone()).or_insert(base) == base)
                    }
                    None => Fit::No,
                }
            }
            Wanted::Members(_) => Fit::No,
        })
    }

    /// What is seen of the expression, as far as it is wanted.
    pub fn spell(&mut self, expression: &str, wanted: &Wanted) -> Result<String, String> {
        if let Wanted::Members(members) = wanted {
            let mut parts = Vec::new();
            for (name, wanted) in members {
                parts.push(format!("{name} {}", self.spell(&member(expression, name), wanted)?));
            }
            return Ok(parts.join(" "));
        }
        Ok(spell(&self.at(expression)?.answer))
    }
}

/// An answer in a few words.
pub(super) fn spell(answer: &Answer) -> String {
    match answer {
        Answer::Value(text) => text.clone(),
        Answer::OptimizedOut => "<optimized out>".to_owned(),
        Answer::NotInScope => "<not in scope>".to_owned(),
        Answer::Unreadable(_) => "<unreadable>".to_owned(),
        Answer::Refused(_) => "<refused>".to_owned(),
        Answer::Unsupported(_) => "<not understood>".to_owned(),
    }
}

fn member(expression: &str, name: &str) -> String {
    match name {
        "*" => format!("*({expression})"),
        index if index.starts_with('[') => format!("({expression}){index}"),
        name => format!("({expression}).{name}"),
    }
}

/// Whether a value is one that a debugger writes so; none where only the debugger's own words could tell.
pub(super) fn is_text(wanted: &str, canonical: &str, printed: Option<&str>) -> Option<bool> {
    if same_value(wanted, canonical) {
        return Some(true);
    }
    if let Some(is_true) = (wanted == "true").then_some(true).or_else(|| (wanted == "false").then_some(false))
        && matches!(canonical, "0" | "1")
    {
        return Some((canonical == "1") == is_true);
    }
    if let Some(code) = character(wanted) {
        return Some(same_value(&code.to_string(), canonical));
    }
    let is_number = wanted.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    match printed.map(str::trim) {
        // gdb writes a character's number, a string's address and the scope of an enumerator before it.
        Some(printed) => {
            Some(printed == wanted || printed.ends_with(&format!(" {wanted}")) || (!is_number && printed.ends_with(&format!("::{wanted}"))))
        }
        None if is_number => Some(false),
        None => None,
    }
}

fn character(text: &str) -> Option<u32> {
    let inside = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut chars = inside.chars();
    match (chars.next()?, chars.next()) {
        (c, None) => Some(u32::from(c)),
        _ => None,
    }
}

/// Every way to have the members that are wanted, where members have several values. Only one member may: with two it is not said
/// which values go together.
pub(super) fn expand(members: Vec<(String, Vec<Wanted>)>) -> Result<Vec<Wanted>, String> {
    if members.iter().filter(|m| m.1.len() != 1).count() > 1 {
        return Err("several members with several values".to_owned());
    }
    let most = members.iter().map(|m| m.1.len()).max().unwrap_or_default();
    let one = |number: usize| {
        let of = |(name, wanted): &(String, Vec<Wanted>)| (name.clone(), wanted[number.min(wanted.len() - 1)].clone());
        Wanted::Members(members.iter().map(of).collect())
    };
    Ok((0..most).map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_however_they_are_written() {
        for (wanted, canonical, printed) in [
            ("0x10", "16", None),
            ("true", "1", None),
            ("'a'", "97", None),
            ("Red", "1", Some("t::Red")),
            ("\"hi\"", "0x5", Some("0x5 \"hi\"")),
        ] {
            assert_eq!(is_text(wanted, canonical, printed), Some(true), "{wanted}");
        }
        for (wanted, canonical, printed) in
            [("16", "17", None), ("false", "1", None), ("'a'", "98", None), ("Red", "1", Some("t::Infrared"))]
        {
            assert_eq!(is_text(wanted, canonical, printed), Some(false), "{wanted}");
        }
        assert_eq!(is_text("Red", "1", None), None);
        assert_eq!(is_text("5", "25", Some("25")), Some(false));
    }

    #[test]
    fn one_member_with_several_values_is_several_wanted_values() {
        let text = |t: &str| Wanted::Text(t.to_owned());
        let members = vec![("x".to_owned(), vec![text("4")]), ("y".to_owned(), vec![text("8"), text("10")])];
        assert_eq!(expand(members.clone()).unwrap().len(), 2);
        let both = vec![("x".to_owned(), members[1].1.clone()), members[1].clone()];
        assert!(expand(both).is_err());
    }
}
