//! DWARF expressions, decoded once. Branch targets are operation indices, base types are resolved, indexed
//! addresses are looked up.

use gimli::{DieReference, EndianSlice, LittleEndian, Operation, Reader as _, Unit};
use std::sync::Arc;

/// Bytes of a section, read from its file.
pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The type of a stack entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// An address-sized integer of unspecified signedness.
    Generic,
    /// A signed integer of so many bytes.
    Signed(u8),
    /// An unsigned integer of so many bytes.
    Unsigned(u8),
    /// A binary float of 4 or 8 bytes.
    Float(u8),
}

impl ValueType {
    /// How many bytes it has.
    pub fn size(self) -> u8 {
        match self {
            Self::Generic => 8,
            Self::Signed(n) | Self::Unsigned(n) | Self::Float(n) => n,
        }
    }
}

/// One operation of an expression.
#[derive(Clone, Debug)]
pub enum Op {
    /// Pushes a constant.
    Const(u64),
    /// Pushes a constant of a type.
    TypedConst(ValueType, u128),
    /// Pushes a link-time address.
    Address(u64),
    /// The value is in this register.
    Register(u16),
    /// Pushes a register plus an offset.
    RegisterOffset(u16, i64),
    /// Pushes a register as a value of a type.
    TypedRegister(u16, ValueType),
    /// Pushes the frame base plus an offset.
    FrameOffset(i64),
    /// Pushes the canonical frame address.
    Cfa,
    /// Reads so many bytes at the address on top.
    Deref(u8),
    /// Reads a value of a type at the address on top.
    TypedDeref(u8, ValueType),
    /// Drops the entry on top.
    Drop,
    /// Pushes a copy of the entry at a depth.
    Pick(u8),
    /// Swaps the two entries on top.
    Swap,
    /// Rotates the three entries on top.
    Rot,
    /// Replaces the entry on top.
    Unary(Unary),
    /// Replaces the two entries on top.
    Binary(Binary),
    /// Adds a constant to the entry on top.
    PlusConst(u64),
    /// Goes on at an operation when the entry on top is not zero.
    Branch(usize),
    /// Goes on at an operation.
    Skip(usize),
    /// Does nothing at all.
    Nop,
    /// gcc's mark of a value that the source has not given yet.
    Uninitialised,
    /// The entry on top is the value itself.
    StackValue,
    /// These bytes are the value itself.
    Implicit(Arc<[u8]>),
    /// Pointer to a variable (by DIE offset) that has no memory, and a byte offset into it.
    ImplicitPointer(usize, i64),
    /// What was computed so far is one piece of the value.
    Piece {
        /// How many bits it has.
        bits: u64,
        /// The first bit of what was computed.
        offset: u64,
    },
    /// Pushes what this had at the function's entry.
    EntryValue(Arc<[Op]>),
    /// Pushes a parameter's value at the call, by its DIE.
    ParameterRef(usize),
    /// Converts the entry on top.
    Convert(ValueType),
    /// Reads the bits on top as another type.
    Reinterpret(ValueType),
    /// Turns an offset into the address of a thread-local variable.
    Tls,
    /// The expression of another DIE's location is not followed.
    Unsupported(&'static str),
}

/// Operations on one entry of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// The absolute value.
    Abs,
    /// The value with another sign.
    Neg,
    /// The complement of every bit.
    Not,
}

/// Operations on two entries of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// Bits set in both.
    And,
    /// Bits set in either.
    Or,
    /// Bits set in one only.
    Xor,
    /// The sum of both.
    Plus,
    /// The second entry less the top.
    Minus,
    /// The product of both.
    Mul,
    /// The quotient of both, signed.
    Div,
    /// The remainder, unsigned for generic entries.
    Mod,
    /// A shift to the left.
    Shl,
    /// A shift right that fills with zeros.
    Shr,
    /// A shift right that keeps the sign.
    Shra,
    /// One when both are equal.
    Eq,
    /// One when they are not equal.
    Ne,
    /// One when the second is less.
    Lt,
    /// One when the second is not greater.
    Le,
    /// One when the second is greater.
    Gt,
    /// One when the second is not less.
    Ge,
}

/// What decoding needs from the unit an expression stands in.
pub(crate) struct ExpressionDecoder<'d, 'a> {
    pub dwarf: &'d gimli::Dwarf<Slice<'a>>,
    pub unit: &'d Unit<Slice<'a>>,
    /// Where the unit's file stands among the others.
    pub place: FilePlace,
}

/// Where one file stands among all that are read together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FilePlace {
    /// The first offset of the file, in the numbering of all files.
    pub base: usize,
    /// What is added to its addresses: nothing in the program's own file.
    pub slide: u64,
}

impl FilePlace {
    /// An address of the file among those of all files.
    pub fn address(self, own: u64) -> u64 {
        own.wrapping_add(self.slide)
    }
}

impl<'a> ExpressionDecoder<'_, 'a> {
    /// Decodes an expression; the error says what is wrong with it.
    pub fn decode(&self, bytes: Slice<'a>) -> Result<Arc<[Op]>, String> {
        self.decode_nested(bytes, 0)
    }

    fn decode_nested(&self, bytes: Slice<'a>, depth: u32) -> Result<Arc<[Op]>, String> {
        if depth > 4 {
            return Err("entry values nested too deeply".into());
        }
        let encoding = self.unit.encoding();
        let whole = bytes;
        let mut rest = bytes;
        let mut ops = Vec::new();
        let mut starts = Vec::new();
        let mut branches = Vec::new();
        while !rest.is_empty() {
            let start = rest.offset_from(whole);
            starts.push(start);
            let op = Operation::parse(&mut rest, encoding).map_err(|e| format!("undecodable operation at byte {start}: {e}"))?;
            let after = rest.offset_from(whole) as i64;
            let op = match op {
                Operation::Bra { target } => {
                    branches.push((ops.len(), after + i64::from(target)));
                    Op::Branch(0)
                }
                Operation::Skip { target } => {
                    branches.push((ops.len(), after + i64::from(target)));
                    Op::Skip(0)
                }
                Operation::EntryValue { expression } => Op::EntryValue(self.decode_nested(expression, depth + 1)?),
                other => self.convert(other)?,
            };
            ops.push(op);
        }
        for (index, target) in branches {
            let to = if target == whole.len() as i64 {
                ops.len()
            } else {
                starts.iter().position(|&s| s as i64 == target).ok_or("branch into the middle of an operation")?
            };
            match &mut ops[index] {
                Op::Branch(t) | Op::Skip(t) => *t = to,
                _ => {}
            }
        }
        Ok(ops.into())
    }

    fn convert(&self, op: Operation<Slice<'a>>) -> Result<Op, String> {
        use Operation as O;
        let no_type = gimli::UnitOffset(0);
        Ok(match op {
            O::Deref { base_type, size, space: false } if base_type == no_type => Op::Deref(size),
            O::Deref { base_type, size, space: false } => Op::TypedDeref(size, self.base_type(base_type)?),
            O::Deref { .. } => Op::Unsupported("address spaces"),
            O::Drop => Op::Drop,
            O::Pick { index } => Op::Pick(index),
            O::Swap => Op::Swap,
            O::Rot => Op::Rot,
            O::Abs => Op::Unary(Unary::Abs),
            O::Neg => Op::Unary(Unary::Neg),
            O::Not => Op::Unary(Unary::Not),
            O::And => Op::Binary(Binary::And),
            O::Or => Op::Binary(Binary::Or),
            O::Xor => Op::Binary(Binary::Xor),
            O::Plus => Op::Binary(Binary::Plus),
            O::Minus => Op::Binary(Binary::Minus),
            O::Mul => Op::Binary(Binary::Mul),
            O::Div => Op::Binary(Binary::Div),
            O::Mod => Op::Binary(Binary::Mod),
            O::Shl => Op::Binary(Binary::Shl),
            O::Shr => Op::Binary(Binary::Shr),
            O::Shra => Op::Binary(Binary::Shra),
            O::Eq => Op::Binary(Binary::Eq),
            O::Ne => Op::Binary(Binary::Ne),
            O::Lt => Op::Binary(Binary::Lt),
            O::Le => Op::Binary(Binary::Le),
            O::Gt => Op::Binary(Binary::Gt),
            O::Ge => Op::Binary(Binary::Ge),
            O::PlusConstant { value } => Op::PlusConst(value),
            O::UnsignedConstant { value } => Op::Const(value),
            O::SignedConstant { value } => Op::Const(value as u64),
            O::Register { register } => Op::Register(register.0),
            O::RegisterOffset { register, offset, base_type } if base_type == no_type => Op::RegisterOffset(register.0, offset),
            O::RegisterOffset { register, base_type, .. } => Op::TypedRegister(register.0, self.base_type(base_type)?),
            O::FrameOffset { offset } => Op::FrameOffset(offset),
            O::Nop => Op::Nop,
            O::TLS if self.place.slide != 0 => Op::Unsupported("thread-local variables of a library"),
            O::TLS => Op::Tls,
            O::CallFrameCFA => Op::Cfa,
            O::Piece { size_in_bits, bit_offset } => Op::Piece { bits: size_in_bits, offset: bit_offset.unwrap_or(0) },
            O::ImplicitValue { data } => Op::Implicit(Arc::from(data.slice())),
            O::StackValue => Op::StackValue,
            O::ImplicitPointer { value, byte_offset } => Op::ImplicitPointer(self.place.base.saturating_add(value.0), byte_offset),
            O::ParameterRef { offset } => Op::ParameterRef(self.unit_start() + offset.0),
            O::Address { address } => Op::Address(self.place.address(address)),
            O::AddressIndex { index } => Op::Address(self.place.address(self.dwarf.address(self.unit, index).map_err(|e| e.to_string())?)),
            O::ConstantIndex { index } => Op::Const(self.dwarf.address(self.unit, index).map_err(|e| e.to_string())?),
            O::TypedLiteral { base_type, value } => {
                let mut bits = [0u8; 16];
                let bytes = value.slice();
                bits.get_mut(..bytes.len()).ok_or("constant of more than 16 bytes")?.copy_from_slice(bytes);
                Op::TypedConst(self.base_type(base_type)?, u128::from_le_bytes(bits))
            }
            O::Convert { base_type } if base_type == no_type => Op::Convert(ValueType::Generic),
            O::Convert { base_type } => Op::Convert(self.base_type(base_type)?),
            O::Reinterpret { base_type } if base_type == no_type => Op::Reinterpret(ValueType::Generic),
            O::Reinterpret { base_type } => Op::Reinterpret(self.base_type(base_type)?),
            O::Call { offset: DieReference::UnitRef(_) | DieReference::DebugInfoRef(_) } => Op::Unsupported("DW_OP_call"),
            O::VariableValue { .. } => Op::Unsupported("DW_OP_GNU_variable_value"),
            O::PushObjectAddress => Op::Unsupported("DW_OP_push_object_address"),
            O::Uninitialized => Op::Uninitialised,
            _ => Op::Unsupported("an operation of another machine"),
        })
    }

    fn unit_start(&self) -> usize {
        self.place.base.saturating_add(self.unit.header.offset().0)
    }

    fn base_type(&self, offset: gimli::UnitOffset) -> Result<ValueType, String> {
        let entry = self.unit.entry(offset).map_err(|e| format!("bad base type: {e}"))?;
        let size = entry.attr_value(gimli::DW_AT_byte_size).and_then(|v| v.udata_value()).ok_or("base type without size")?;
        let size = u8::try_from(size).ok().filter(|&s| s <= 16).ok_or("base type of more than 16 bytes")?;
        Ok(match entry.attr_value(gimli::DW_AT_encoding) {
            Some(gimli::AttributeValue::Encoding(gimli::DW_ATE_signed | gimli::DW_ATE_signed_char)) => ValueType::Signed(size),
            Some(gimli::AttributeValue::Encoding(gimli::DW_ATE_float)) => ValueType::Float(size),
            _ => ValueType::Unsigned(size),
        })
    }
}
