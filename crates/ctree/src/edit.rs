//! Edits by byte range. Everything outside the ranges stays as it is, byte for byte.

use crate::Span;

/// Why a set of edits cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Two replacements want the same bytes.
    #[error("two edits replace overlapping text at bytes {0} and {1}")]
    Overlap(Span, Span),
    /// An edit lies outside the text or inside a character.
    #[error("an edit at bytes {0} does not fit the text")]
    OutOfBounds(Span),
}

/// Which neighbour an insertion belongs to, when two fall on one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum InsertionSide {
    /// To the text that ends here: comes first.
    After,
    /// To the text that starts here: comes second.
    Before,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TextInsertion {
    offset: usize,
    side: InsertionSide,
    order: usize,
    text: String,
}

/// A set of insertions, replacements and deletions of one text.
///
/// Insertions inside a replaced or deleted range vanish with it; insertions at its borders stay. A
/// replacement that lies inside a larger one vanishes too, and two that partly overlap are an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    insertions: Vec<TextInsertion>,
    replacements: Vec<(Span, String)>,
}

impl Edits {
    /// A list without any edits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// True when nothing would change.
    pub fn is_empty(&self) -> bool {
        self.insertions.is_empty() && self.replacements.is_empty()
    }

    /// Puts `text` in front of what starts at `offset`. Several at one offset come out in the order given.
    pub fn insert_before(&mut self, offset: usize, text: impl Into<String>) -> &mut Self {
        let order = self.insertions.len();
        self.insertions.push(TextInsertion { offset, side: InsertionSide::Before, order, text: text.into() });
        self
    }

    /// Puts `text` behind what ends at `offset`, before anything inserted in front of what starts there.
    pub fn insert_after(&mut self, offset: usize, text: impl Into<String>) -> &mut Self {
        let order = self.insertions.len();
        self.insertions.push(TextInsertion { offset, side: InsertionSide::After, order, text: text.into() });
        self
    }

    /// Replaces a range of bytes by a text.
    pub fn replace(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.replacements.push((span, text.into()));
        self
    }

    /// Deletes a range of bytes.
    pub fn delete(&mut self, span: Span) -> &mut Self {
        self.replace(span, "")
    }

    /// Wraps a range between two texts.
    pub fn wrap(&mut self, span: Span, open: impl Into<String>, close: impl Into<String>) -> &mut Self {
        self.insert_before(span.start, open);
        self.insert_after(span.end, close)
    }

    /// The text with every edit done.
    pub fn apply(&self, text: &str) -> Result<String, EditError> {
        let replacements = self.outermost(text)?;
        let mut insertions: Vec<&TextInsertion> = self.insertions.iter().collect();
        insertions.sort_by_key(|i| (i.offset, i.side, i.order));
        let mut out = String::with_capacity(text.len() + self.insertions.iter().map(|i| i.text.len()).sum::<usize>());
        let mut at = 0;
        let mut pending = insertions.into_iter().peekable();
        let mut copy_until = |out: &mut String, from: usize, to: usize, include_before: bool| -> Result<(), EditError> {
            let mut from = from;
            while let Some(next) = pending.peek() {
                let due = next.offset < to || (next.offset == to && (include_before || next.side == InsertionSide::After));
                if !due {
                    break;
                }
                let insertion = pending.next().expect("peeked");
                if insertion.offset < from {
                    continue; // inside a replaced range
                }
                out.push_str(text.get(from..insertion.offset).ok_or(EditError::OutOfBounds(Span::at(insertion.offset)))?);
                out.push_str(&insertion.text);
                from = insertion.offset;
            }
            out.push_str(text.get(from..to).ok_or(EditError::OutOfBounds(Span::new(from, to)))?);
            Ok(())
        };
        for (span, new) in replacements {
            copy_until(&mut out, at, span.start, true)?;
            out.push_str(new);
            at = span.end;
        }
        copy_until(&mut out, at, text.len(), true)?;
        match pending.next() {
            Some(left) => Err(EditError::OutOfBounds(Span::at(left.offset))),
            None => Ok(out),
        }
    }

    fn outermost(&self, text: &str) -> Result<Vec<(Span, &str)>, EditError> {
        let mut sorted: Vec<(Span, &str)> = self.replacements.iter().map(|(span, new)| (*span, new.as_str())).collect();
        sorted.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        let mut kept: Vec<(Span, &str)> = Vec::with_capacity(sorted.len());
        for (span, new) in sorted {
            if text.get(span.range()).is_none() {
                return Err(EditError::OutOfBounds(span));
            }
            match kept.last() {
                Some((outer, _)) if outer.contains(span) && outer.start < outer.end => {}
                Some((outer, _)) if outer.overlaps(span) => return Err(EditError::Overlap(*outer, span)),
                _ => kept.push((span, new)),
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_outside_the_edits_stays() {
        let text = "int a; /* ü */ int b;";
        let mut edits = Edits::new();
        edits.replace(Span::new(4, 5), "x").insert_before(text.len() - 6, "static ").delete(Span::new(0, 3));
        assert_eq!(edits.apply(text).unwrap(), " x; /* ü */ static int b;");
        assert_eq!(Edits::new().apply(text).unwrap(), text);
    }

    #[test]
    fn what_closes_one_statement_comes_before_what_opens_the_next() {
        let text = "a;b;";
        let mut edits = Edits::new();
        edits.wrap(Span::new(2, 4), "{", "}").wrap(Span::new(0, 2), "[", "]");
        assert_eq!(edits.apply(text).unwrap(), "[a;]{b;}");
    }

    #[test]
    fn an_insertion_inside_a_deleted_range_vanishes_and_one_at_its_border_stays() {
        let mut edits = Edits::new();
        edits.delete(Span::new(2, 6)).insert_before(4, "no").insert_before(2, "yes").insert_before(6, "!").delete(Span::new(3, 4));
        assert_eq!(edits.apply("01234567").unwrap(), "01yes!67");
    }

    #[test]
    fn edits_that_do_not_fit_are_refused() {
        let mut edits = Edits::new();
        edits.replace(Span::new(0, 3), "").replace(Span::new(2, 5), "");
        assert_eq!(edits.apply("0123456"), Err(EditError::Overlap(Span::new(0, 3), Span::new(2, 5))));
        let mut edits = Edits::new();
        edits.insert_before(9, "x");
        assert_eq!(edits.apply("0123"), Err(EditError::OutOfBounds(Span::at(9))));
    }
}
