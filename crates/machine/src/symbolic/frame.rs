//! The words of one function's own frame, by their distance from the canonical frame address.

use crate::term::{Term, Terms};
use std::collections::{BTreeMap, BTreeSet};

/// Known words, and what was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    side: &'static str,
    words: BTreeMap<i64, Term>,
    /// Bytes that were stored to: what was there at the start is gone.
    written: BTreeSet<i64>,
    /// Ranges that something may have overwritten, in order, each with a number given once.
    lost: Vec<(i64, i64, u32)>,
}

impl Frame {
    /// A frame of which nothing is known.
    pub fn new(side: &'static str) -> Self {
        Self { side, words: BTreeMap::new(), written: BTreeSet::new(), lost: Vec::new() }
    }

    /// A word's value; the same unknown again where nothing was stored.
    pub fn read(&mut self, terms: &mut Terms, offset: i64, bytes: u32) -> Term {
        let value = self.peek(terms, offset, bytes);
        let end = offset + i64::from(bytes);
        if self.covering(terms, offset, bytes).is_none() && !self.is_touched(terms, offset, end) {
            self.words.insert(offset, value);
        }
        value
    }

    fn covering(&self, terms: &Terms, offset: i64, bytes: u32) -> Option<(i64, Term)> {
        let (at, v) = self.words.range(..=offset).next_back()?;
        ((offset - at) as u64 * 8 + u64::from(bytes) * 8 <= u64::from(terms.width(*v))).then_some((*at, *v))
    }

    fn is_touched(&self, terms: &Terms, offset: i64, end: i64) -> bool {
        let overlaps = self.words.range(offset - 64..end).any(|(at, v)| at + i64::from(terms.width(*v) / 8) > offset);
        overlaps || self.written.range(offset..end).next().is_some()
    }

    fn peek(&self, terms: &mut Terms, offset: i64, bytes: u32) -> Term {
        if let Some((at, v)) = self.covering(terms, offset, bytes) {
            return terms.extract(v, (offset - at) as u32 * 8, bytes * 8);
        }
        let end = offset + i64::from(bytes);
        if self.is_touched(terms, offset, end) {
            // Partly stored: nothing is known of the whole.
            return terms.fresh(bytes * 8);
        }
        let last = self.lost.iter().rev().find(|(low, high, _)| *low < end && *high > offset);
        let name = match last {
            None => format!("frame_{}_{offset}_{bytes}", self.side),
            Some((.., number)) => format!("frame_{}_{offset}_{bytes}_{number}", self.side),
        };
        terms.var(bytes * 8, &name)
    }

    /// Stores a word; one that is only partly overwritten keeps its other bytes.
    pub fn write(&mut self, terms: &mut Terms, offset: i64, value: Term) {
        let end = offset + i64::from(terms.width(value) / 8);
        self.clear(terms, offset, end);
        self.written.extend(offset..end);
        self.words.insert(offset, value);
    }

    /// Takes what is known of a range away.
    fn clear(&mut self, terms: &mut Terms, low: i64, high: i64) {
        let reach = low.saturating_sub(64)..high;
        let stale: Vec<(i64, Term)> =
            self.words.range(reach).filter(|(at, v)| *at + i64::from(terms.width(**v) / 8) > low).map(|(at, v)| (*at, *v)).collect();
        for (at, v) in stale {
            self.words.remove(&at);
            let end = at + i64::from(terms.width(v) / 8);
            if at < low {
                let rest = terms.extract(v, 0, (low - at) as u32 * 8);
                self.words.insert(at, rest);
            }
            if end > high {
                let rest = terms.extract(v, (high - at) as u32 * 8, (end - high) as u32 * 8);
                self.words.insert(high, rest);
            }
        }
    }

    /// Something may have been stored anywhere in a range.
    pub fn lose(&mut self, terms: &mut Terms, low: i64, high: i64) {
        self.clear(terms, low, high);
        self.written.retain(|at| *at < low || *at >= high);
        self.lost.push((low, high, terms.unique()));
    }

    /// The frame where two paths meet: the other's words under the condition, ours else.
    pub fn join(&mut self, terms: &mut Terms, condition: Term, other: &Self) {
        let offsets: BTreeSet<i64> = self.words.keys().chain(other.words.keys()).copied().collect();
        let mut words = BTreeMap::new();
        let mut end = i64::MIN;
        for offset in offsets {
            if offset < end {
                continue;
            }
            let width = |f: &Self| f.words.get(&offset).map(|v| terms.width(*v));
            let bytes = width(self).into_iter().chain(width(other)).min().unwrap_or(64) / 8;
            let (a, b) = (self.peek(terms, offset, bytes), other.peek(terms, offset, bytes));
            words.insert(offset, terms.ite(condition, b, a));
            end = offset + i64::from(bytes);
        }
        // What is dropped here (the rest of a word that is longer on one path) was written or read: it must not look new.
        let end = |at: i64, v: Term| at + i64::from(terms.width(v) / 8);
        let whole = |at: i64, v: Term| words.range(..=at).next_back().is_some_and(|(s, w): (&i64, &Term)| end(*s, *w) >= end(at, v));
        let cut: Vec<(i64, i64)> =
            self.words.iter().chain(&other.words).filter(|(at, v)| !whole(**at, **v)).map(|(at, v)| (*at, end(*at, *v))).collect();
        for (low, high) in cut {
            self.written.extend(low..high);
        }
        self.words = words;
        self.written.extend(&other.written);
        if self.lost != other.lost {
            let common = self.lost.iter().zip(&other.lost).take_while(|(a, b)| a == b).count();
            let differing: BTreeSet<(i64, i64)> =
                self.lost[common..].iter().chain(&other.lost[common..]).map(|(low, high, _)| (*low, *high)).collect();
            self.lost.truncate(common);
            for (low, high) in differing {
                self.lost.push((low, high, terms.unique()));
            }
        }
    }
}
