//! DWARF expressions, decoded once. Branch targets are operation indices, base types are resolved, indexed
//! addresses are looked up.

use gimli::{DieReference, EndianSlice, LittleEndian, Operation, Reader as _, Unit};
use std::sync::Arc;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The type of a stack entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
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
    pub fn size(self) -> u8 {
        match self {
            Self::Generic => 8,
            Self::Signed(n) | Self::Unsigned(n) | Self::Float(n) => n,
        }
    }
}

/// One operation of a DWARF expression.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Const(u64),
    TypedConst(ValueType, u128),
    /// An address as the linker gave it.
    Address(u64),
    Register(u16),
    RegisterOffset(u16, i64),
    TypedRegister(u16, ValueType),
    FrameOffset(i64),
    Cfa,
    Deref(u8),
    TypedDeref(u8, ValueType),
    Drop,
    Pick(u8),
    Swap,
    Rot,
    Unary(Unary),
    Binary(Binary),
    PlusConst(u64),
    Branch(usize),
    Skip(usize),
    Nop,
    /// gcc's mark of a value that the source has not given yet.
    Uninitialised,
    StackValue,
    Implicit(Arc<[u8]>),
    /// Pointer to a variable (by DIE offset) that has no memory, and a byte offset into it.
    ImplicitPointer(usize, i64),
    Piece {
        bits: u64,
        offset: u64,
    },
    EntryValue(Arc<[Op]>),
    ParameterRef(usize),
    Convert(ValueType),
    Reinterpret(ValueType),
    Tls,
    /// The expression of another DIE's location is not followed.
    Unsupported(&'static str),
}

/// Operations on one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Abs,
    Neg,
    Not,
}

/// Operations on two entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    And,
    Or,
    Xor,
    Plus,
    Minus,
    Mul,
    Div,
    Mod,
    Shl,
    Shr,
    Shra,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// What decoding needs from the unit an expression stands in.
pub(crate) struct Decoder<'d, 'a> {
    pub dwarf: &'d gimli::Dwarf<Slice<'a>>,
    pub unit: &'d Unit<Slice<'a>>,
}

impl<'a> Decoder<'_, 'a> {
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
            O::TLS => Op::Tls,
            O::CallFrameCFA => Op::Cfa,
            O::Piece { size_in_bits, bit_offset } => Op::Piece { bits: size_in_bits, offset: bit_offset.unwrap_or(0) },
            O::ImplicitValue { data } => Op::Implicit(Arc::from(data.slice())),
            O::StackValue => Op::StackValue,
            O::ImplicitPointer { value, byte_offset } => Op::ImplicitPointer(value.0, byte_offset),
            O::ParameterRef { offset } => Op::ParameterRef(self.unit_start() + offset.0),
            O::Address { address } => Op::Address(address),
            O::AddressIndex { index } => Op::Address(self.dwarf.address(self.unit, index).map_err(|e| e.to_string())?),
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
        self.unit.header.debug_info_offset().map_or(0, |o| o.0)
    }

    fn base_type(&self, offset: gimli::UnitOffset) -> Result<ValueType, String> {
        let entry = self.unit.entry(offset).map_err(|e| format!("bad base type: {e}"))?;
        let size = entry.attr_value(gimli::DW_AT_byte_size).and_then(|v| v.udata_value()).ok_or("base type without size")?;
        let size = u8::try_from(size).ok().filter(|&s| s <= 16).ok_or("base type of more than 16 bytes")?;
        Ok(match entry.attr_value(gimli::DW_AT_encoding) {
            Some(gimli::AttributeValue::Encoding(gimli::DW_ATE_signed | gimli::DW_ATE_signed_char)) => ValueType::Signed(size),
            Some(gimli::AttributeValue::Encoding(gimli::DW_ATE_float)) if size <= 8 => ValueType::Float(size),
            Some(gimli::AttributeValue::Encoding(gimli::DW_ATE_float)) => return Err("floats of more than 8 bytes in expressions".into()),
            _ => ValueType::Unsigned(size),
        })
    }
}
