//! The numbers of the format, and how addresses are made short.

/// What a record is.
pub mod tag {
    pub const HEADER: u8 = 1;
    pub const REFUSED: u8 = 2;
    pub const STACK: u8 = 3;
    pub const LOCATION: u8 = 4;
    pub const SNAPSHOT: u8 = 5;
    pub const PASS_START: u8 = 6;
    pub const PASS_FINISH: u8 = 7;
    pub const PASS_ABANDONED: u8 = 8;
    pub const EVENT: u8 = 9;
    pub const VARIABLE: u8 = 10;
    pub const EXPRESSION: u8 = 11;
    pub const CONSTANT: u8 = 12;
    pub const SCOPE: u8 = 13;
}

/// Flags of an instruction.
pub mod flag {
    pub const VOID: u8 = 1;
    pub const NAMED: u8 = 2;
    pub const CALLEE: u8 = 4;
    /// A type code follows the operands.
    pub const TYPED: u8 = 8;
    /// A predicate and what is known of the result follow.
    pub const PREDICATE: u8 = 16;
    /// Scales follow.
    pub const SCALES: u8 = 32;
    /// A description follows.
    pub const DESCRIBES: u8 = 64;
    /// Records follow.
    pub const RECORDS: u8 = 128;
}

/// Where the body of a block stands.
pub mod body {
    /// Here.
    pub const FOLLOWS: u8 = 0;
    /// Where the block at this address was last written.
    pub const AS_BEFORE: u8 = 1;
}

/// The addresses that the next ones are written relative to; every record begins anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bases {
    pub value: u64,
    pub location: u64,
}

/// Folds a distance to a small number: most are multiples of eight, in either direction. Others must fit 62 bits,
/// which distances between addresses of a process do.
pub fn fold(distance: u64) -> u64 {
    let signed = distance as i64;
    let zigzag = |v: i64| ((v << 1) ^ (v >> 63)) as u64;
    if distance.is_multiple_of(8) { zigzag(signed >> 3) << 1 } else { zigzag(signed) << 1 | 1 }
}

/// The distance that was folded.
pub fn unfold(folded: u64) -> u64 {
    let unzigzag = |v: u64| ((v >> 1) as i64) ^ -((v & 1) as i64);
    if folded & 1 == 0 { (unzigzag(folded >> 1) << 3) as u64 } else { unzigzag(folded >> 1) as u64 }
}
