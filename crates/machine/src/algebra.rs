//! What the lifter needs of a machine: bit-vector arithmetic, registers, flags and memory.
//!
//! The lifter is written once against [`Machine`]; the emulator fills it in with numbers and the prover
//! with terms, so both read every instruction the same way. Deliberately absent: any idea of paths.

/// A two-operand operation on bit vectors of one width; comparisons give one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bin {
    /// Sum modulo 2^w.
    Add,
    /// Difference modulo 2^w.
    Sub,
    /// Product modulo 2^w.
    Mul,
    /// Unsigned quotient (the divisor is not zero).
    Udiv,
    /// Unsigned remainder.
    Urem,
    /// Signed quotient, truncated.
    Sdiv,
    /// Signed remainder.
    Srem,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift; zero when the count reaches the width.
    Shl,
    /// Logical right shift.
    Lshr,
    /// Arithmetic right shift.
    Ashr,
    /// Equality.
    Eq,
    /// Unsigned less-than.
    Ult,
    /// Signed less-than.
    Slt,
}

/// A floating-point operation on one lane. The prover leaves all of them uninterpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Float {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
    /// SSE minimum: the second operand when unordered or equal.
    Min,
    /// SSE maximum: the second operand when unordered or equal.
    Max,
    /// Square root.
    Sqrt,
    /// Less-than, one bit, false when unordered.
    Lt,
    /// Equality, one bit, false when unordered.
    Eq,
    /// Unordered, one bit.
    Unordered,
    /// Signed integer to float.
    FromInt,
    /// Float to signed integer, truncating; the integer indefinite value when out of range.
    ToIntTruncate,
    /// Float to signed integer, rounding to nearest even.
    ToIntRound,
    /// Between float widths.
    Convert,
    /// Round to an integral float; the second operand is SSE4.1's mode.
    Round,
}

impl Float {
    /// The name used for the uninterpreted function.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "fadd",
            Self::Sub => "fsub",
            Self::Mul => "fmul",
            Self::Div => "fdiv",
            Self::Min => "fmin",
            Self::Max => "fmax",
            Self::Sqrt => "fsqrt",
            Self::Lt => "flt",
            Self::Eq => "feq",
            Self::Unordered => "funord",
            Self::FromInt => "ffromint",
            Self::ToIntTruncate => "ftrunc",
            Self::ToIntRound => "fround",
            Self::Convert => "fconv",
            Self::Round => "frint",
        }
    }
}

/// A processor flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flag {
    /// Carry.
    Cf,
    /// Parity of the low byte.
    Pf,
    /// Zero.
    Zf,
    /// Sign.
    Sf,
    /// Overflow.
    Of,
}

impl Flag {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cf, Self::Pf, Self::Zf, Self::Sf, Self::Of];
}

/// A place in the register state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A 64-bit general register, numbered as the processor encodes it (rax 0, rcx 1, … r15 15).
    Gpr(u8),
    /// A 128-bit vector register.
    Xmm(u8),
    /// A one-bit flag.
    Flag(Flag),
}

/// Names of the general registers by number.
pub const GPR_NAMES: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// DWARF numbers of the general registers by processor number.
pub const GPR_DWARF: [u16; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// The number of the stack pointer.
pub const RSP: u8 = 4;
/// The number of the frame pointer.
pub const RBP: u8 = 5;

/// Why an access could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("memory at {address:#x} is not mapped")]
pub struct Fault {
    /// The address.
    pub address: u64,
}

/// A state that instructions can be executed on.
pub trait Machine {
    /// A bit vector that knows its width.
    type V: Clone;

    /// A constant.
    fn constant(&mut self, width: u32, value: u128) -> Self::V;
    /// A value that the architecture leaves undefined.
    fn undefined(&mut self, width: u32) -> Self::V;
    /// The width of a value in bits.
    fn width(&self, value: &Self::V) -> u32;
    /// A binary operation.
    fn bin(&mut self, op: Bin, a: &Self::V, b: &Self::V) -> Self::V;
    /// `width` bits from bit `low`.
    fn extract(&mut self, value: &Self::V, low: u32, width: u32) -> Self::V;
    /// `high` above `low`.
    fn concat(&mut self, high: &Self::V, low: &Self::V) -> Self::V;
    /// Zero extension (or the same value).
    fn zext(&mut self, value: &Self::V, width: u32) -> Self::V;
    /// Sign extension (or the same value).
    fn sext(&mut self, value: &Self::V, width: u32) -> Self::V;
    /// `a` where the one-bit condition holds, else `b`.
    fn ite(&mut self, condition: &Self::V, a: &Self::V, b: &Self::V) -> Self::V;
    /// A floating-point operation with a result of `width` bits.
    fn float(&mut self, op: Float, width: u32, args: &[Self::V]) -> Self::V;
    /// Reads a register.
    fn get(&mut self, place: Place) -> Self::V;
    /// Writes a register.
    fn set(&mut self, place: Place, value: Self::V);
    /// Reads memory.
    fn load(&mut self, address: &Self::V, bytes: u32) -> Result<Self::V, Fault>;
    /// Writes memory.
    fn store(&mut self, address: &Self::V, value: &Self::V) -> Result<(), Fault>;
    /// The address that an operand of the form `[rip+x]` names, given at link time.
    fn link_address(&mut self, address: u64) -> Self::V;
    /// The base of the thread's own storage.
    fn thread_base(&mut self) -> Self::V;
}
