//! What the lifter needs of a machine: bit-vector arithmetic, registers, flags and memory.
//!
//! The lifter is written once against [`Machine`]; the emulator fills it in with numbers and the prover
//! with terms, so both read every instruction the same way. Deliberately absent: any idea of paths.

/// A two-operand operation on bit vectors of one width; comparisons give one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bin {
    /// The sum of both, modulo 2^w.
    Add,
    /// The difference of both, modulo 2^w.
    Sub,
    /// The product of both, modulo 2^w.
    Mul,
    /// Unsigned quotient (the divisor is not zero).
    Udiv,
    /// The remainder of unsigned numbers.
    Urem,
    /// The quotient of signed numbers, truncated.
    Sdiv,
    /// The remainder of signed numbers.
    Srem,
    /// The bits that both have.
    And,
    /// The bits that either has.
    Or,
    /// The bits that exactly one has.
    Xor,
    /// Left shift; zero when the count reaches the width.
    Shl,
    /// Right shift that brings zeroes in.
    Lshr,
    /// Right shift that brings the sign in.
    Ashr,
    /// Whether both are equal, one bit.
    Eq,
    /// Whether the first is less, as unsigned numbers.
    Ult,
    /// Whether the first is less, as signed numbers.
    Slt,
}

/// A floating-point operation on one lane. The prover leaves all of them uninterpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Float {
    /// The sum of two floats.
    Add,
    /// The difference of two floats.
    Sub,
    /// The product of two floats.
    Mul,
    /// The quotient of two floats.
    Div,
    /// SSE minimum: the second operand when unordered or equal.
    Min,
    /// SSE maximum: the second operand when unordered or equal.
    Max,
    /// The square root of one float.
    Sqrt,
    /// Less-than, one bit, false when unordered.
    Lt,
    /// Equality, one bit, false when unordered.
    Eq,
    /// Whether one of both is no number, one bit.
    Unordered,
    /// Signed integer to float.
    FromInt,
    /// Float to signed integer, truncating; the integer indefinite value when out of range.
    ToIntTruncate,
    /// Float to signed integer, rounding to nearest even.
    ToIntRound,
    /// The same number in another width.
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

/// A flag of the processor that instructions set and test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flag {
    /// The carry out of an addition or subtraction.
    Cf,
    /// Parity of the low byte.
    Pf,
    /// Whether the result is zero.
    Zf,
    /// The sign bit of the result.
    Sf,
    /// Whether a signed result did not fit.
    Of,
}

impl Flag {
    /// All flags, in the order of their bits.
    pub const ALL: [Self; 5] = [Self::Cf, Self::Pf, Self::Zf, Self::Sf, Self::Of];
}

/// A place in the register state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A 64-bit general register, numbered as the processor encodes it (rax 0, rcx 1, … r15 15).
    Gpr(u8),
    /// A 128-bit vector register.
    Xmm(u8),
    /// A flag, one bit wide.
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
pub struct AccessFault {
    /// The address that was accessed.
    pub address: u64,
}

/// A state that instructions can be executed on.
pub trait Machine {
    /// A bit vector that knows its width.
    type V: Clone;

    /// A form or term that is a constant.
    fn constant(&mut self, width: u32, value: u128) -> Self::V;
    /// A value that the architecture leaves undefined.
    fn undefined(&mut self, width: u32) -> Self::V;
    /// The width of a value in bits.
    fn width(&self, value: &Self::V) -> u32;
    /// A binary operation, simplified where that is possible.
    fn bin(&mut self, op: Bin, a: &Self::V, b: &Self::V) -> Self::V;
    /// `width` bits from bit `low`.
    fn extract(&mut self, value: &Self::V, low: u32, width: u32) -> Self::V;
    /// Both joined, `high` above `low`.
    fn concat(&mut self, high: &Self::V, low: &Self::V) -> Self::V;
    /// Zero extension (or the same value).
    fn zext(&mut self, value: &Self::V, width: u32) -> Self::V;
    /// Sign extension (or the same value).
    fn sext(&mut self, value: &Self::V, width: u32) -> Self::V;
    /// `a` where the one-bit condition holds, else `b`.
    fn ite(&mut self, condition: &Self::V, a: &Self::V, b: &Self::V) -> Self::V;
    /// A floating-point operation with a result of `width` bits.
    fn float(&mut self, op: Float, width: u32, args: &[Self::V]) -> Self::V;
    /// Reads a register or flag.
    fn get(&mut self, place: Place) -> Self::V;
    /// Writes a register or flag.
    fn set(&mut self, place: Place, value: Self::V);
    /// Reads some bytes of memory.
    fn load(&mut self, address: &Self::V, bytes: u32) -> Result<Self::V, AccessFault>;
    /// Writes a value to memory.
    fn store(&mut self, address: &Self::V, value: &Self::V) -> Result<(), AccessFault>;
    /// The address that an operand of the form `[rip+x]` names, given at link time.
    fn link_address(&mut self, address: u64) -> Self::V;
    /// A number in the code that may be the address of something, as code that is linked to fixed addresses has it.
    fn absolute(&mut self, width: u32, value: u64) -> Self::V {
        self.constant(width, u128::from(value))
    }
    /// The base of the thread's own storage.
    fn thread_base(&mut self) -> Self::V;
}
