//! Records of gcov's files. Both kinds are a header and a list of tagged records of 32-bit words; gcc 12
//! counts lengths in bytes and has a checksum in the header, earlier ones count words and pad texts.

use crate::CoverageError;
use std::path::Path;

/// Tags of records, as gcc's gcov-io.h numbers them.
pub(super) mod tag {
    pub const FUNCTION: u32 = 0x0100_0000;
    pub const BLOCKS: u32 = 0x0141_0000;
    pub const ARCS: u32 = 0x0143_0000;
    pub const LINES: u32 = 0x0145_0000;
    pub const ARC_COUNTERS: u32 = 0x01a1_0000;
}

/// Which of the two kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GcovFile {
    Notes,
    Counters,
}

/// How lengths are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    Bytes,
    Words,
}

/// A reader over one file.
pub(super) struct GcovReader<'d> {
    data: &'d [u8],
    at: usize,
    lengths: Lengths,
    path: &'d Path,
    /// Ties counters to the notes of the same compilation.
    pub stamp: u32,
    pub major: u32,
}

/// A record: its tag, and the reader over its content.
pub(super) struct GcovRecord<'d> {
    pub tag: u32,
    /// Length in bytes; negative for counters that are all zero.
    pub length: i64,
    pub body: GcovReader<'d>,
}

impl<'d> GcovReader<'d> {
    /// Reads the header and stands behind it.
    pub fn open(data: &'d [u8], kind: GcovFile, path: &'d Path) -> Result<Self, CoverageError> {
        let mut reader = Self { data, at: 0, lengths: Lengths::Bytes, path, stamp: 0, major: 0 };
        let expected = match kind {
            GcovFile::Notes => u32::from_be_bytes(*b"gcno"),
            GcovFile::Counters => u32::from_be_bytes(*b"gcda"),
        };
        if reader.word()? != expected {
            return Err(reader.bad("not a file of gcov's, or of a machine with another byte order"));
        }
        // `B22*` is gcc 12.2: the letter counts tens from A, then two digits of major and minor.
        let version = reader.word()?.to_be_bytes();
        let digit = |byte: u8| u32::from(byte.wrapping_sub(b'0'));
        reader.major =
            if version[0].is_ascii_uppercase() { u32::from(version[0] - b'A') * 10 + digit(version[1]) } else { digit(version[0]) };
        if reader.major < 9 {
            return Err(reader.bad("written by a gcc older than 9"));
        }
        reader.stamp = reader.word()?;
        if reader.major >= 12 {
            reader.word()?;
        } else {
            reader.lengths = Lengths::Words;
        }
        Ok(reader)
    }

    /// The next record, `None` at the end.
    pub fn record(&mut self) -> Result<Option<GcovRecord<'d>>, CoverageError> {
        if self.at + 8 > self.data.len() {
            return Ok(None);
        }
        let tag = self.word()?;
        if tag == 0 {
            return Ok(None);
        }
        let length = i64::from(self.word()? as i32) * if self.lengths == Lengths::Words { 4 } else { 1 };
        let stored = length.max(0) as usize;
        let end = self.at.checked_add(stored).filter(|&end| end <= self.data.len()).ok_or_else(|| self.bad("cut off"))?;
        let body = Self { data: &self.data[..end], at: self.at, lengths: self.lengths, path: self.path, stamp: 0, major: self.major };
        self.at = end;
        Ok(Some(GcovRecord { tag, length, body }))
    }

    pub fn word(&mut self) -> Result<u32, CoverageError> {
        let bytes = self.data.get(self.at..self.at + 4).ok_or_else(|| self.bad("cut off"))?;
        self.at += 4;
        Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    pub fn counter(&mut self) -> Result<u64, CoverageError> {
        let low = self.word()?;
        Ok(u64::from(low) | u64::from(self.word()?) << 32)
    }

    pub fn string(&mut self) -> Result<String, CoverageError> {
        let length = self.word()? as usize * if self.lengths == Lengths::Words { 4 } else { 1 };
        let bytes = self.data.get(self.at..self.at + length).ok_or_else(|| self.bad("cut off"))?;
        self.at += length;
        Ok(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
    }

    pub fn is_empty(&self) -> bool {
        self.at + 4 > self.data.len()
    }

    pub fn bad(&self, reason: &str) -> CoverageError {
        CoverageError::BadNotes { path: self.path.to_owned(), reason: reason.to_owned() }
    }
}
