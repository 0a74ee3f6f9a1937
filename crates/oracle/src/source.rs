//! The blocks of a source text, by its braces alone: enough to say whether a line is inside the block of
//! a declaration, in C and in Rust. Where braces do not match (macros) there is no answer.

use crate::facts::Block;

/// The `{…}` blocks of `text` in the order they open; empty when they do not match.
pub fn blocks_of(text: &str) -> Vec<Block> {
    let bytes = text.as_bytes();
    let mut open: Vec<usize> = Vec::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let skip = match rest[0] {
            b'/' if rest.starts_with(b"//") => rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => find(rest, b"*/").map_or(rest.len(), |n| n + 2),
            b'"' => quoted(rest, b'"'),
            // A character literal, not one of Rust's lifetimes.
            b'\'' if rest.get(1) == Some(&b'\\') || rest.get(2) == Some(&b'\'') => quoted(rest, b'\''),
            b'{' => {
                open.push(blocks.len());
                blocks.push(Block { open: line, close: 0, depth: open.len() as u32 });
                1
            }
            b'}' => {
                let Some(index) = open.pop() else { return Vec::new() };
                blocks[index].close = line;
                1
            }
            _ => 1,
        };
        line += rest[..skip.min(rest.len())].iter().filter(|&&b| b == b'\n').count() as u32;
        at += skip.max(1);
    }
    if open.is_empty() { blocks } else { Vec::new() }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

/// Length of the literal at the front, its quotes included.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b if b == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SourceFacts;

    #[test]
    fn blocks_nest_and_literals_do_not_count() {
        let text = "int f() { // {\n  char c = '{';\n  if (c) {\n    c = \"}\"[0];\n  }\n  /* } */\n}\n";
        let blocks = blocks_of(text);
        assert_eq!(blocks, [Block { open: 1, close: 7, depth: 1 }, Block { open: 3, close: 5, depth: 2 }]);
        let facts = SourceFacts { file: "a.c".into(), blocks, lines: Vec::new() };
        assert_eq!(facts.block_of(4).map(|b| b.open), Some(3));
        assert_eq!(facts.block_of(2).map(|b| b.open), Some(1));
    }

    #[test]
    fn unbalanced_text_has_no_blocks() {
        assert!(blocks_of("#define BEGIN {\nint x;\n").is_empty());
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(blocks_of("fn f<'a>(x: &'a str) {\n}\n").len(), 1);
    }
}
