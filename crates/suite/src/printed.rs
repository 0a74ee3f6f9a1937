//! Expectations that are given as the text that gdb prints, where `[...]` stands for anything.

use crate::answer::{EngineSaid, same_value};
use trueline_trace::native::Answer;

/// For gdb itself: what is expected, in the words of its answer where the text that it printed fits.
pub(crate) fn in_gdbs_words(pattern: &str, printed: &str, answer: &EngineSaid) -> Answer {
    match answer {
        EngineSaid::There(answer) if fits(pattern, printed) => answer.clone(),
        _ => Answer::Value(pattern.to_owned()),
    }
}

/// For an engine with canonical texts: the same, once the pattern has lost what those leave out.
pub(crate) fn expected(pattern: &str, answer: &Answer) -> Answer {
    let Answer::Value(text) = answer else { return Answer::Value(pattern.to_owned()) };
    let canonical = canonical(pattern);
    if fits(&canonical, text) || same_value(&canonical, text) { answer.clone() } else { Answer::Value(canonical) }
}

/// Whether a text is what a pattern describes.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split("[...]");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// gdb's text of a value without the names of members, the types of structures and the characters beside numbers.
fn canonical(printed: &str) -> String {
    let mut text = String::new();
    let mut rest = printed.trim();
    while let Some(c) = rest.chars().next() {
        let word_end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '<' | '>')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        match word {
            "true" | "false" => {
                text.push(if word == "true" { '1' } else { '0' });
                rest = after;
            }
            // The name of a member or a structure.
            _ if !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()) => {
                rest = after.strip_prefix(" = ").or_else(|| after.strip_prefix(": ")).unwrap_or_else(|| after.trim_start());
            }
            "" if c == '\'' => {
                // A character beside its number.
                let end = rest[1..].find('\'').map_or(rest.len(), |n| n + 2);
                rest = &rest[end..];
                text.truncate(text.trim_end().len());
            }
            "" => {
                text.push(match c {
                    '(' | '[' => '{',
                    ')' | ']' => '}',
                    c => c,
                });
                rest = &rest[c.len_utf8()..];
            }
            number => {
                text.push_str(number);
                rest = after;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_brackets_stand_for_anything() {
        assert!(fits("{x = [...], y = 2}", "{x = 0x7fff, y = 2}"));
        assert!(!fits("{x = [...], y = 2}", "{x = 0x7fff, y = 3}"));
        assert!(fits("7", "7") && !fits("7", "77"));
    }

    #[test]
    fn names_of_members_and_characters_beside_numbers_do_not_count() {
        assert_eq!(canonical("point::Point {x: 10, y: -3}"), "{10, -3}");
        assert_eq!(canonical("{a = 97 'a', b = true}"), "{97, 1}");
        assert_eq!(canonical("(1, 2.5)"), "{1, 2.5}");
        assert_eq!(canonical("[1, 2]"), "{1, 2}");
    }
}
