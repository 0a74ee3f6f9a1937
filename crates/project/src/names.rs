//! Names in the text of a unit: which are its own, and giving them others.

use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::BTreeSet;
use std::path::Path;

/// The names that an object defines: those that only it sees, and the others.
#[derive(Debug, Default)]
pub(crate) struct Defined {
    pub(crate) local: BTreeSet<String>,
    pub(crate) global: BTreeSet<String>,
}

/// Reads an object's symbols; nothing of one that cannot be read.
pub(crate) fn defined_in(object: &Path) -> Defined {
    let mut defined = Defined::default();
    let Ok(bytes) = std::fs::read(object) else { return defined };
    let Ok(file) = object::File::parse(&*bytes) else { return defined };
    for symbol in file.symbols().filter(|s| s.is_definition() && matches!(s.kind(), SymbolKind::Text | SymbolKind::Data)) {
        let Some(name) = symbol.name().ok().and_then(source_name) else { continue };
        if symbol.is_local() {
            defined.local.insert(name)
        } else {
            defined.global.insert(name)
        };
    }
    defined
}

/// The name that a source has for a symbol: a C name, or a C++ name at file level. None for what is inside a function.
fn source_name(symbol: &str) -> Option<String> {
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let Some(mangled) = symbol.strip_prefix("_Z") else { return is_plain(symbol).then(|| symbol.to_owned()) };
    let rest = mangled.strip_prefix("N12_GLOBAL__N_1").or_else(|| mangled.strip_prefix('L')).unwrap_or(mangled);
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = rest[..digits].parse().ok()?;
    rest[digits..].get(..length).map(str::to_owned)
}

/// A text with a name in the place of another one, wherever that is a word of its own: not in a literal or a comment, and not
/// a member behind `.` or `->`.
pub(crate) fn renamed(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let token = &rest[..length];
        let is_member = before == '.' || out.trim_end().ends_with("->");
        out.push_str(if token == from && !is_member { to } else { token });
        if !first.is_whitespace() {
            before = token.chars().next_back().unwrap_or(' ');
        }
        rest = &rest[length..];
    }
    out
}

/// Whether a text has a name as a word of its own.
pub(crate) fn has_word(text: &str, name: &str) -> bool {
    tokens(text).any(|token| token == name)
}

/// Whether a text declares a name at its top level: not a member, a parameter or something inside a function.
pub(crate) fn declares(text: &str, name: &str) -> bool {
    let mut depth = 0_i32;
    for token in tokens(text) {
        match token {
            "{" | "(" => depth += 1,
            "}" | ")" => depth -= 1,
            word if depth == 0 && word == name => return true,
            _ => {}
        }
    }
    false
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (token, behind) = rest.split_at(token_length(rest, first));
        rest = behind;
        Some(token)
    })
}

/// How many bytes the token at the start of a text has.
pub(crate) fn token_length(text: &str, first: char) -> usize {
    let run = |keep: fn(char) -> bool| text.find(|c| !keep(c)).unwrap_or(text.len());
    match first {
        'a'..='z' | 'A'..='Z' | '_' => {
            let word = run(|c| c.is_ascii_alphanumeric() || c == '_');
            raw_literal_length(text, word).unwrap_or(word)
        }
        // C++ may part digits by an apostrophe.
        '0'..='9' => run(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\''),
        '"' | '\'' => literal_length(text, first),
        '/' if text.starts_with("//") => text.find('\n').unwrap_or(text.len()),
        '/' if text.starts_with("/*") => text[2..].find("*/").map_or(text.len(), |at| at + 4),
        other => other.len_utf8(),
    }
}

/// How long a raw literal of C++ is, of which the first word is this long.
fn raw_literal_length(text: &str, word: usize) -> Option<usize> {
    let rest = text[word..].strip_prefix('"').filter(|_| matches!(&text[..word], "R" | "LR" | "uR" | "UR" | "u8R"))?;
    let (delimiter, inside) = rest.split_once('(')?;
    let closing = format!("){delimiter}\"");
    let end = inside.find(&closing)?;
    Some(word + 1 + delimiter.len() + 1 + end + closing.len())
}

fn literal_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_changed_where_it_is_a_word_and_no_member() {
        let text = "static int count; /* count */ char *s = \"count\"; int f(struct x *p) { return p->count + q.count + count + counted; }";
        let expected =
            "static int count_2; /* count */ char *s = \"count\"; int f(struct x *p) { return p->count + q.count + count_2 + counted; }";
        assert_eq!(renamed(text, "count", "count_2"), expected);
        assert!(has_word(text, "counted") && !has_word(text, "coun"));
        assert!(declares("int f(int a);", "f") && !declares("int f(int a);", "a") && !declares("struct s { int count; };", "count"));
    }

    #[test]
    fn symbols_have_the_names_of_the_source() {
        assert_eq!(source_name("count"), Some("count".to_owned()));
        assert_eq!(source_name("count.0"), None, "inside a function");
        assert_eq!(source_name("_ZL5countv"), Some("count".to_owned()));
        assert_eq!(source_name("_ZN12_GLOBAL__N_15thingE"), Some("thing".to_owned()));
        assert_eq!(source_name("_Z4plusii"), Some("plus".to_owned()));
        assert_eq!(source_name("_ZN3one3twoEv"), None);
    }
}
