//! Expectations that are given as the text that a debugger prints, where `[...]` stands for anything.

use crate::answer::same_value;

/// Where a pattern's first part may stand in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// At the line's start.
    Start,
    /// Anywhere: what the debugger writes before it does not count.
    Free,
}

/// Whether a line is what a pattern describes; a pattern reaches to the line's end.
pub(crate) fn fits(pattern: &str, line: &str, anchor: Anchor) -> bool {
    let (pattern, line) = (pattern.trim(), line.trim());
    let parts: Vec<&str> = pattern.split("[...]").collect();
    let Some((last, others)) = parts.split_last() else { return false };
    let mut rest = line;
    for (number, part) in others.iter().enumerate() {
        let found = if number == 0 && anchor == Anchor::Start { rest.starts_with(part).then_some(0) } else { rest.find(part) };
        match found {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    if others.is_empty() && anchor == Anchor::Start { rest == *last } else { rest.ends_with(last) }
}

/// A text without the number that gdb and lldb give a value: `$3 = 7` is `7`.
pub(crate) fn without_number(text: &str) -> &str {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('$') else { return text };
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == rest.len() { text } else { digits.strip_prefix(" = ").unwrap_or(text) }
}

/// Whether a canonical text is the value that a debugger's text describes; none where that cannot be told from it: the text says
/// the name of a value, a string, or only a part.
pub(crate) fn is_value(pattern: &str, canonical_text: &str) -> Option<bool> {
    let pattern = value_of(pattern);
    let expected = canonical(pattern)?;
    // A variant that is named must be the one that is shown.
    let names = canonical_text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| w.starts_with(|c: char| c.is_alphabetic()));
    let words: Vec<&str> = pattern.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    if names.clone().any(|name| !words.contains(&name)) {
        return Some(false);
    }
    let shown = if names.count() == 0 { canonical_text.to_owned() } else { canonical(canonical_text)? };
    Some(same_value(&expected, &shown) || expected == shown)
}

/// The value's part of a pattern: what stands before it names the value or its type.
fn value_of(pattern: &str) -> &str {
    let pattern = without_number(pattern);
    let rest = pattern.strip_prefix("[...]").unwrap_or(pattern);
    // lldb: `(type) name = value`, `(type) $0 = value`.
    let after_type = match rest.strip_prefix('(').and_then(|r| r.split_once(") ")) {
        Some((_, named)) => named.split_once(" = ").map(|n| n.1),
        None => rest.strip_prefix('$').and_then(|r| r.split_once(" = ")).map(|n| n.1),
    };
    after_type.unwrap_or(rest).trim()
}

/// A debugger's text of a value without the names of members, the types of structures and the characters beside numbers; none where
/// it holds what has no canonical text.
fn canonical(printed: &str) -> Option<String> {
    if printed.contains("[...]") {
        return None;
    }
    let mut text = String::new();
    let mut rest = printed.trim();
    while let Some(c) = rest.chars().next() {
        let end = word_end(rest);
        let (word, after) = rest.split_at(end);
        match word {
            "true" | "false" => {
                text.push(if word == "true" { '1' } else { '0' });
                rest = after;
            }
            _ if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                // The name of a member or a structure; a name alone is a value's.
                let named = after.trim_start();
                let is_member = named.strip_prefix('=').or_else(|| named.strip_prefix(':'));
                rest = match is_member {
                    Some(value) => value.trim_start(),
                    None if named.starts_with(['{', '(', '[']) => named,
                    None => return None,
                };
            }
            "" if c == '\'' => {
                // A character beside its number.
                let end = rest[1..].find('\'').map_or(rest.len(), |n| n + 2);
                rest = &rest[end..];
                if !text.ends_with(|c: char| c.is_ascii_digit() || c == ' ') {
                    return None;
                }
                text.truncate(text.trim_end().len());
            }
            "" if matches!(c, '"' | '<' | '&') => return None,
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
    Some(text)
}

/// Where the word at the start of a text ends: a path with its generic arguments is one, a member's colon is outside.
fn word_end(text: &str) -> usize {
    let mut depth = 0usize;
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        let is_path = c == ':' && (previous == ':' || text[at + 1..].starts_with(':'));
        let is_inside = match c {
            '<' if at > 0 => {
                depth += 1;
                true
            }
            '>' if depth > 0 => {
                depth -= 1;
                true
            }
            c => depth > 0 || c.is_alphanumeric() || c == '_' || is_path,
        };
        if !is_inside {
            return at;
        }
        previous = c;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_brackets_stand_for_anything() {
        assert!(fits("{x = [...], y = 2}", "{x = 0x7fff, y = 2}", Anchor::Start));
        assert!(!fits("{x = [...], y = 2}", "{x = 0x7fff, y = 3}", Anchor::Start));
        assert!(fits("7", "7", Anchor::Start) && !fits("7", "77", Anchor::Start) && !fits("7", "17", Anchor::Start));
        assert!(fits("[...] 7", "(int) x = 7", Anchor::Start) && !fits("[...] 7", "(int) x = 17", Anchor::Start));
    }

    #[test]
    fn a_line_of_source_counts_whatever_the_debugger_writes_before_it() {
        assert!(fits("let d = 9;", "24\t    let d = 9;", Anchor::Free));
        assert!(!fits("let d = 9;", "24\t    let d = 9; // more", Anchor::Free));
    }

    #[test]
    fn names_of_members_and_characters_beside_numbers_do_not_count() {
        let text = |printed: &str| canonical(printed).unwrap();
        assert_eq!(text("point::Point {x: 10, y: -3}"), "{10, -3}");
        assert_eq!(text("{a = 97 'a', b = true}"), "{97, 1}");
        assert_eq!(text("(1, 2.5)"), "{1, 2.5}");
        assert_eq!(text("[1, 2]"), "{1, 2}");
        assert_eq!(text("{a:9, b:10}"), "{9, 10}");
        assert_eq!(text("t::Pair<(u32, i32)> {x: (8, -8)}"), "{{8, -8}}");
    }

    #[test]
    fn what_has_no_canonical_text_is_not_compared() {
        for (pattern, answer) in [("\"Hello\"", "{0x1, 5}"), ("t::Colour::Red", "0"), ("{x: [...], y: 2}", "{1, 2}"), ("'c'", "99")] {
            assert_eq!(is_value(pattern, answer), None, "{pattern}");
        }
        assert_eq!(is_value("$1 = 5", "5"), Some(true));
        assert_eq!(is_value("(i32) x = 5", "5"), Some(true));
        assert_eq!(is_value("[...]$0 = 5", "6"), Some(false));
        assert_eq!(is_value("core::option::Option<i32>::Some(5)", "Some{5}"), Some(true));
        assert_eq!(is_value("t::Shape::Round(5)", "Square{5}"), Some(false));
    }
}
