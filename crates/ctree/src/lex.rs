//! Tokens of C text: just enough lexing to find operators, semicolons and specifiers by their bytes.

use crate::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An identifier or keyword.
    Word,
    /// A number, integer or floating, with its suffix.
    Number,
    /// A string or character literal.
    Quoted,
    /// An operator or punctuator.
    Punct,
}

/// A token of C and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// What sort of token it is.
    pub kind: TokenKind,
    /// Its bytes as they are written.
    pub text: &'t str,
    /// Where it is in the text.
    pub span: Span,
}

/// The tokens of a part of a text. Comments, white space and preprocessor lines are skipped.
pub fn tokens(text: &str, within: Span) -> impl Iterator<Item = Token<'_>> {
    let end = within.end.min(text.len());
    let mut at = within.start;
    std::iter::from_fn(move || {
        at = skip_blank(text, at, end);
        if at >= end {
            return None;
        }
        let (kind, length) = measure(&text[at..end]);
        let span = Span::new(at, at + length);
        at = span.end;
        Some(Token { kind, text: &text[span.range()], span })
    })
}

/// The first token at or after an offset.
pub(crate) fn token_at(text: &str, offset: usize) -> Option<Token<'_>> {
    tokens(text, Span::new(offset, text.len())).next()
}

/// The offset of the first byte at or after `at` that is neither white space, comment nor preprocessor line.
fn skip_blank(text: &str, mut at: usize, end: usize) -> usize {
    let bytes = text.as_bytes();
    while at < end {
        match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => at += 1,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = text[at + 2..].find("*/").map_or(end, |n| at + n + 4),
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = text[at..].find('\n').map_or(end, |n| at + n),
            b'#' if text[..at].trim_end_matches([' ', '\t']).ends_with('\n') || text[..at].trim().is_empty() => {
                // A directive runs to the end of its line, continuation lines included.
                loop {
                    let line = text[at..].find('\n').map_or(end, |n| at + n);
                    let continued = line < end && text[..line].ends_with('\\');
                    at = (line + usize::from(line < end)).min(end);
                    if !continued {
                        break;
                    }
                }
            }
            _ => break,
        }
    }
    at.min(end)
}

/// Longest first, so that the first match is the token.
const PUNCTUATORS: [&str; 22] =
    ["<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|="];

fn measure(rest: &str) -> (TokenKind, usize) {
    let bytes = rest.as_bytes();
    let first = bytes[0];
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80;
    if first == b'"' || first == b'\'' {
        let mut i = 1;
        while i < bytes.len() && bytes[i] != first && bytes[i] != b'\n' {
            i += if bytes[i] == b'\\' { 2 } else { 1 };
        }
        return (TokenKind::Quoted, (i + 1).min(bytes.len()));
    }
    if first.is_ascii_digit() || (first == b'.' && bytes.get(1).is_some_and(u8::is_ascii_digit)) {
        let mut i = 1;
        while i < bytes.len() {
            let exponent = matches!(bytes[i], b'+' | b'-') && matches!(bytes[i - 1], b'e' | b'E' | b'p' | b'P');
            // `0xE+1` is three tokens for every compiler that matters only when 'e' is not a hex digit.
            let exponent = exponent && (!rest.starts_with("0x") && !rest.starts_with("0X") || matches!(bytes[i - 1], b'p' | b'P'));
            if !(word(bytes[i]) || bytes[i] == b'.' || exponent) {
                break;
            }
            i += 1;
        }
        return (TokenKind::Number, i);
    }
    if word(first) {
        return (TokenKind::Word, bytes.iter().position(|&b| !word(b)).unwrap_or(bytes.len()));
    }
    let length = PUNCTUATORS.iter().find(|p| rest.starts_with(**p)).map_or(1, |p| p.len());
    (TokenKind::Punct, length)
}

/// The suffix of an integer literal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LiteralSuffix {
    /// Whether the suffix has a `u`.
    pub unsigned: bool,
    /// Number of `l`s, 0 to 2.
    pub longs: u8,
}

/// An integer literal read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerLiteral {
    /// The value that the digits give.
    pub value: u64,
    /// 2, 8, 10 or 16.
    pub base: u32,
    /// The suffix behind the digits.
    pub suffix: LiteralSuffix,
}

/// Reads an integer literal, `None` for anything else.
pub fn read_integer(text: &str) -> Option<IntegerLiteral> {
    let digits_end = text.trim_end_matches(['u', 'U', 'l', 'L']).len();
    let (digits, tail) = text.split_at(digits_end);
    let tail = tail.to_ascii_lowercase();
    let suffix = LiteralSuffix { unsigned: tail.contains('u'), longs: tail.matches('l').count() as u8 };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    let value = u64::from_str_radix(digits, base).ok()?;
    (suffix.longs <= 2 && tail.matches('u').count() <= 1).then_some(IntegerLiteral { value, base, suffix })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text, Span::new(0, text.len())).map(|t| t.text).collect()
    }

    #[test]
    fn tokens_are_found_between_comments_and_directives() {
        let text = "# 1 \"a.c\"\n#define X \\\n 3\nint a/*;*/=b<<=2; // x\nc->d+++e; \"a\\\"b\" 'x' 0x1.8p+3 1e-5 0xE+1";
        let expected = [
            "int",
            "a",
            "=",
            "b",
            "<<=",
            "2",
            ";",
            "c",
            "->",
            "d",
            "++",
            "+",
            "e",
            ";",
            "\"a\\\"b\"",
            "'x'",
            "0x1.8p+3",
            "1e-5",
            "0xE",
            "+",
            "1",
        ];
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn integer_literals_are_read_in_every_base() {
        let read = |t: &str| read_integer(t).map(|l| (l.value, l.base, l.suffix.unsigned, l.suffix.longs));
        assert_eq!(read("0xFFuLL"), Some((255, 16, true, 2)));
        assert_eq!(read("0"), Some((0, 10, false, 0)));
        assert_eq!(read("017L"), Some((15, 8, false, 1)));
        assert_eq!(read("0b101"), Some((5, 2, false, 0)));
        assert_eq!(read("18446744073709551615UL"), Some((u64::MAX, 10, true, 1)));
        assert_eq!(read("1.5"), None);
        assert_eq!(read("0x"), None);
    }
}
