//! Byte ranges of source text.

use std::fmt;
use std::ops::Range;

/// A half-open range of bytes. Unlike [`Range`] it is `Copy`, because every node carries one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of its first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// From `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// An empty span at an offset.
    pub fn at(offset: usize) -> Self {
        Self { start: offset, end: offset }
    }

    /// As a standard range, for slicing.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// How many bytes it covers.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// True for no bytes.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// True when `other` lies inside, equality included.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// True when the offset is one of the bytes.
    pub fn has(self, offset: usize) -> bool {
        self.start <= offset && offset < self.end
    }

    /// True when some byte is in both.
    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
