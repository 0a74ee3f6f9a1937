//! Evaluation of DWARF expressions in a frame.
//!
//! The type rules are gdb's: the generic type counts as a signed 64-bit integer, operands of two types are an
//! error, an entry value that cannot be found makes the variable optimized out rather than unreadable.

use super::frame::Frame;
use super::module::{CallSite, CallTarget, FunctionId, Module};
use super::op::{Binary, Op, Unary, ValueType};
use super::value::from_extended;
use std::sync::Arc;

/// Memory of the program.
pub(crate) trait Memory {
    /// Reads exactly; false when any byte is unmapped.
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool;
    /// The base of the thread-local storage.
    fn thread_pointer(&self) -> Option<u64>;
    /// An SSE register of the innermost frame.
    fn sse(&self, register: usize) -> Option<[u8; 16]>;
    /// An AVX register of the innermost frame, which begins with the SSE register of its number.
    fn avx(&self, register: usize) -> Option<[u8; 32]>;
    /// An x87 register of the innermost frame, counted from the top of their stack.
    fn x87(&self, register: usize) -> Option<[u8; 16]>;
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The debug information says so, or an entry value is not known.
    OptimizedOut,
    /// What a register held at the function's entry is not known: optimized out for gdb, an error for lldb.
    NoEntryValue,
    /// Memory or registers could not be read.
    Unreadable(String),
    /// The expression itself is wrong: a finding about the compiler.
    IllFormed(String),
    /// The location may be right; this engine cannot follow it.
    Unsupported(String),
}

/// A typed value on the stack, held in the low bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub ty: ValueType,
    pub bits: u128,
}

/// Where an object, or a piece of one, is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Memory(u64),
    Register(u16),
    Value(Value),
    Implicit(Arc<[u8]>),
    /// A pointer to the object of an entry, so many bytes into it, which has no address.
    ImplicitPointer(usize, i64),
    Nowhere,
}

/// A whole object, or pieces of `(bits, offset within the place)`.
#[derive(Clone, Debug)]
pub(crate) enum Placement {
    Whole(Place),
    Pieces(Vec<(u64, u64, Place)>),
}

/// Where expressions are evaluated.
pub(crate) struct Machine<'m> {
    pub module: &'m Module,
    pub bias: u64,
    pub memory: &'m dyn Memory,
}

/// DWARF's numbers of xmm0 to xmm15.
pub(super) const SSE: std::ops::Range<u16> = 17..33;
/// DWARF's numbers of st(0) to st(7).
pub(super) const X87: std::ops::Range<u16> = 33..41;

const MOST_OPERATIONS: u32 = 10_000;
const DEEPEST: u32 = 16;

fn ill(reason: &str) -> Fault {
    Fault::IllFormed(reason.to_owned())
}

impl Machine<'_> {
    /// Evaluates an expression that stands for an address (or a frame base, where a register stands for its value).
    pub fn address(&self, frame: &Frame, ops: &[Op], initial: Option<u64>, depth: u32) -> Result<u64, Fault> {
        match self.run(frame, ops, initial, depth)? {
            Placement::Whole(Place::Memory(address)) => Ok(address),
            Placement::Whole(Place::Register(register)) => self.register(frame, register),
            Placement::Whole(Place::Value(value)) => Ok(value.bits as u64),
            _ => Err(ill("an address was expected")),
        }
    }

    /// Evaluates the location of an object.
    pub fn locate(&self, frame: &Frame, ops: &[Op]) -> Result<Placement, Fault> {
        self.run(frame, ops, None, 0)
    }

    /// A register as a base to compute with; of an SSE register debuggers take the low half.
    fn register(&self, frame: &Frame, register: u16) -> Result<u64, Fault> {
        if SSE.contains(&register) {
            return Ok(u128::from_le_bytes(self.sse(frame, register)?) as u64);
        }
        if register >= X87.start {
            return Err(Fault::Unsupported(format!("register {register} as an address")));
        }
        frame.registers.get(register).ok_or_else(|| Fault::Unreadable(format!("register {register} is not known in this frame")))
    }

    fn run(&self, frame: &Frame, ops: &[Op], initial: Option<u64>, depth: u32) -> Result<Placement, Fault> {
        if depth > DEEPEST {
            return Err(ill("expressions nested too deeply"));
        }
        let mut stack: Vec<Value> = Vec::with_capacity(4);
        stack.extend(initial.map(generic));
        let mut pieces: Vec<(u64, u64, Place)> = Vec::new();
        let mut place: Option<Place> = None;
        let mut at = 0;
        let mut budget = MOST_OPERATIONS;
        while let Some(op) = ops.get(at) {
            at += 1;
            budget = budget.checked_sub(1).ok_or_else(|| ill("endless expression"))?;
            if place.is_some() && !matches!(op, Op::Piece { .. } | Op::Nop | Op::Uninitialised) {
                return Err(ill("operations after a register or value"));
            }
            match op {
                Op::Const(value) => stack.push(generic(*value)),
                Op::TypedConst(ty, bits) => stack.push(Value { ty: *ty, bits: *bits }),
                Op::Address(address) => stack.push(generic(address.wrapping_add(self.bias))),
                Op::Register(register) => place = Some(Place::Register(*register)),
                Op::RegisterOffset(register, offset) => stack.push(generic(self.register(frame, *register)?.wrapping_add_signed(*offset))),
                Op::TypedRegister(register, ty) => stack.push(self.typed_register(frame, *register, *ty)?),
                Op::FrameOffset(offset) => stack.push(generic(self.frame_base(frame, depth)?.wrapping_add_signed(*offset))),
                Op::Cfa => stack.push(generic(self.cfa(frame).ok_or_else(|| Fault::Unreadable("no unwinding row here".into()))?)),
                Op::Deref(size) => {
                    let value = self.deref(pop(&mut stack)?, *size)?;
                    stack.push(Value { ty: ValueType::Generic, bits: value });
                }
                Op::TypedDeref(size, ty) => {
                    let bits = self.deref(pop(&mut stack)?, *size)?;
                    stack.push(Value { ty: *ty, bits });
                }
                Op::Drop => drop(pop(&mut stack)?),
                Op::Pick(index) => {
                    let from = stack.len().checked_sub(1 + usize::from(*index)).ok_or_else(|| ill("pick below the stack"))?;
                    stack.push(stack[from]);
                }
                Op::Swap => {
                    let (b, a) = (pop(&mut stack)?, pop(&mut stack)?);
                    stack.extend([b, a]);
                }
                Op::Rot => {
                    let (c, b, a) = (pop(&mut stack)?, pop(&mut stack)?, pop(&mut stack)?);
                    stack.extend([c, a, b]);
                }
                Op::Unary(unary) => {
                    let value = pop(&mut stack)?;
                    stack.push(apply_unary(*unary, value));
                }
                Op::Binary(binary) => {
                    let (second, first) = (pop(&mut stack)?, pop(&mut stack)?);
                    stack.push(apply_binary(*binary, first, second)?);
                }
                Op::PlusConst(amount) => {
                    let value = pop(&mut stack)?;
                    stack.push(wrap(value.ty, value.bits.wrapping_add(u128::from(*amount))));
                }
                Op::Branch(target) => {
                    if pop(&mut stack)?.bits != 0 {
                        at = *target;
                    }
                }
                Op::Skip(target) => at = *target,
                Op::Nop | Op::Uninitialised => {}
                Op::StackValue => place = Some(Place::Value(pop(&mut stack)?)),
                Op::Implicit(bytes) => place = Some(Place::Implicit(Arc::clone(bytes))),
                Op::ImplicitPointer(entry, offset) => place = Some(Place::ImplicitPointer(*entry, *offset)),
                Op::Piece { bits, offset } => {
                    let of = place.take().or_else(|| stack.pop().map(|v| Place::Memory(v.bits as u64))).unwrap_or(Place::Nowhere);
                    pieces.push((*bits, *offset, of));
                }
                Op::EntryValue(inner) => stack.push(self.entry_value(frame, inner, depth)?),
                Op::ParameterRef(die) => stack.push(self.parameter_ref(frame, *die, depth)?),
                Op::Convert(ty) => {
                    let value = pop(&mut stack)?;
                    stack.push(convert(value, *ty));
                }
                Op::Reinterpret(ty) => {
                    let value = pop(&mut stack)?;
                    stack.push(wrap(*ty, value.bits));
                }
                Op::Tls => {
                    let offset = pop(&mut stack)?;
                    stack.push(generic(self.thread_local(offset.bits as u64)?));
                }
                Op::Unsupported(what) => return Err(Fault::Unsupported(format!("{what} is not supported"))),
            }
        }
        if !pieces.is_empty() {
            return Ok(Placement::Pieces(pieces));
        }
        match place {
            Some(place) => Ok(Placement::Whole(place)),
            None => Ok(Placement::Whole(Place::Memory(pop(&mut stack)?.bits as u64))),
        }
    }

    fn typed_register(&self, frame: &Frame, register: u16, ty: ValueType) -> Result<Value, Fault> {
        if SSE.contains(&register) {
            let bytes = self.sse(frame, register)?;
            return Ok(wrap(ty, u128::from_le_bytes(bytes)));
        }
        if X87.contains(&register) {
            return Ok(wrap(ty, u128::from_le_bytes(self.x87(register)?)));
        }
        Ok(wrap(ty, u128::from(self.register(frame, register)?)))
    }

    /// An SSE register; callers' are not saved on this machine, so the innermost frame's are everybody's.
    pub fn sse(&self, _frame: &Frame, register: u16) -> Result<[u8; 16], Fault> {
        self.memory.sse(usize::from(register - SSE.start)).ok_or_else(|| Fault::Unreadable("SSE registers cannot be read".into()))
    }

    /// As much of a vector register as an object of a size takes. gdb takes the rest of what is larger than an AVX register from the
    /// register after it, and lldb knows nothing beyond an SSE register by DWARF's numbers.
    pub fn vector(&self, frame: &Frame, register: u16, size: usize) -> Result<Vec<u8>, Fault> {
        match size {
            0..=16 => Ok(self.sse(frame, register)?.to_vec()),
            17..=32 if self.module.lldb_blocks.is_none() => {
                let bytes = self.memory.avx(usize::from(register - SSE.start)).map(|bytes| bytes.to_vec());
                bytes.ok_or_else(|| Fault::Unreadable("AVX registers cannot be read".into()))
            }
            _ => Err(Fault::Unsupported(format!("{size} bytes in register {register}"))),
        }
    }

    /// An x87 register; no caller's is saved.
    pub fn x87(&self, register: u16) -> Result<[u8; 16], Fault> {
        self.memory.x87(usize::from(register - X87.start)).ok_or_else(|| Fault::Unreadable("x87 registers cannot be read".into()))
    }

    fn deref(&self, address: Value, size: u8) -> Result<u128, Fault> {
        let mut bytes = [0u8; 16];
        let buffer = bytes.get_mut(..usize::from(size)).ok_or_else(|| ill("dereference of more than 16 bytes"))?;
        let address = address.bits as u64;
        if !self.memory.read(address, buffer) {
            return Err(Fault::Unreadable(format!("no memory at {address:#x}")));
        }
        Ok(u128::from_le_bytes(bytes))
    }

    fn thread_local(&self, offset: u64) -> Result<u64, Fault> {
        let (_, size) = self.module.tls.ok_or_else(|| ill("thread-local variable without a thread-local segment"))?;
        let base = self.memory.thread_pointer().ok_or_else(|| Fault::Unreadable("the thread pointer is not known".into()))?;
        Ok(base.wrapping_sub(size).wrapping_add(offset))
    }

    /// What a register or stack slot held when the function was entered, computed in the caller.
    fn entry_value(&self, frame: &Frame, inner: &[Op], depth: u32) -> Result<Value, Fault> {
        let matches = |place: &[Op]| match (place, inner) {
            ([Op::Register(a)], [Op::Register(b)]) => a == b,
            // lldb compares the two as they are written.
            ([Op::Register(a)], [Op::TypedRegister(b, _)]) => a == b && self.module.lldb_blocks.is_none(),
            ([Op::RegisterOffset(a, m)], [Op::RegisterOffset(b, n)] | [Op::RegisterOffset(b, n), Op::Deref(_)]) => a == b && m == n,
            _ => false,
        };
        let (caller, site) = self.call_site(frame, depth)?;
        let param = site.params.iter().find(|p| matches(&p.place)).ok_or(Fault::NoEntryValue)?;
        self.call_value(caller, &param.value, depth)
    }

    fn parameter_ref(&self, frame: &Frame, die: usize, depth: u32) -> Result<Value, Fault> {
        // lldb does not know the operation.
        if self.module.lldb_blocks.is_some() {
            return Err(Fault::NoEntryValue);
        }
        let (caller, site) = self.call_site(frame, depth)?;
        let param = site.params.iter().find(|p| p.parameter == Some(die)).ok_or(Fault::NoEntryValue)?;
        self.call_value(caller, &param.value, depth)
    }

    fn call_value(&self, caller: &Frame, value: &[Op], depth: u32) -> Result<Value, Fault> {
        match self.run(caller, value, None, depth + 1)? {
            Placement::Whole(Place::Memory(bits)) => Ok(generic(bits)),
            Placement::Whole(Place::Value(value)) => Ok(value),
            Placement::Whole(Place::Register(register)) => Ok(generic(self.register(caller, register)?)),
            _ => Err(ill("a call-site value that is not a value")),
        }
    }

    /// The caller and its description of the call that is going on; unknown means optimized out.
    fn call_site<'f>(&self, frame: &'f Frame, depth: u32) -> Result<(&'f Frame, &CallSite), Fault> {
        let caller = self.caller(frame).ok_or(Fault::NoEntryValue)?;
        let function = self.module.function(caller.function);
        let site = function.call_sites.iter().find(|s| s.return_pc == caller.pc && !s.is_tail).ok_or(Fault::NoEntryValue)?;
        // lldb 16 only knows the calls that stand directly in the function.
        if site.is_nested && self.module.lldb_blocks.is_some() {
            return Err(Fault::NoEntryValue);
        }
        let entry = self.module.function(frame.function).entry();
        let target = match &site.target {
            CallTarget::Unknown => None,
            CallTarget::Entry(entry) => Some(*entry),
            CallTarget::Shared(_) if self.module.lldb_blocks.is_none() => None,
            CallTarget::Named(name) | CallTarget::Shared(name) => self.module.function_named(name).map(|f| self.module.function(f).entry()),
            CallTarget::Computed(ops) => {
                let address = self.call_value(caller, ops, depth)?.bits as u64;
                Some(address.wrapping_sub(self.bias))
            }
        };
        if self.calls_itself_by_tail_calls(frame.function) {
            return Err(Fault::NoEntryValue);
        }
        if target == Some(entry) {
            return Ok((caller, site));
        }
        // gdb has a frame for a function that left by a tail call, and takes what it passed on. lldb asks the caller alone.
        let jumper = if self.module.lldb_blocks.is_none() { self.jumper(frame) } else { None };
        let jumper = jumper.ok_or(Fault::NoEntryValue)?;
        let sites = &self.module.function(jumper.function).call_sites;
        let site = sites.iter().find(|s| s.return_pc == jumper.pc && s.is_tail).ok_or(Fault::NoEntryValue)?;
        Ok((jumper, site))
    }

    /// A function that may have been re-entered by tail calls has unreliable entry values.
    fn calls_itself_by_tail_calls(&self, function: FunctionId) -> bool {
        let mut seen = vec![function];
        let mut next = 0;
        while let Some(&id) = seen.get(next) {
            next += 1;
            for site in self.module.function(id).call_sites.iter().filter(|s| s.is_tail) {
                let callee = match &site.target {
                    CallTarget::Entry(entry) => self.module.function_at(*entry),
                    CallTarget::Named(name) | CallTarget::Shared(name) => self.module.function_named(name),
                    CallTarget::Unknown | CallTarget::Computed(_) => None,
                };
                match callee {
                    Some(c) if c == function => return true,
                    Some(c) if !seen.contains(&c) => seen.push(c),
                    _ => {}
                }
            }
        }
        false
    }
}

fn pop(stack: &mut Vec<Value>) -> Result<Value, Fault> {
    stack.pop().ok_or_else(|| ill("the stack is empty"))
}

fn generic(bits: u64) -> Value {
    Value { ty: ValueType::Generic, bits: u128::from(bits) }
}

/// Cuts a result to the size of its type.
fn wrap(ty: ValueType, bits: u128) -> Value {
    let size = u32::from(ty.size()) * 8;
    Value { ty, bits: if size >= 128 { bits } else { bits & ((1 << size) - 1) } }
}

fn is_signed(ty: ValueType) -> bool {
    matches!(ty, ValueType::Generic | ValueType::Signed(_))
}

/// The integer that a value stands for.
fn signed(value: Value) -> i128 {
    let size = u32::from(value.ty.size()) * 8;
    if size == 0 || !is_signed(value.ty) {
        return value.bits as i128;
    }
    (value.bits << (128 - size)) as i128 >> (128 - size)
}

fn float(value: Value) -> f64 {
    match value.ty {
        ValueType::Float(4) => f64::from(f32::from_bits(value.bits as u32)),
        ValueType::Float(8) => f64::from_bits(value.bits as u64),
        ValueType::Float(_) => from_extended(value.bits),
        _ if is_signed(value.ty) => signed(value) as f64,
        _ => value.bits as f64,
    }
}

fn from_float(ty: ValueType, number: f64) -> Value {
    match ty {
        ValueType::Float(4) => Value { ty, bits: u128::from((number as f32).to_bits()) },
        ValueType::Float(8) => Value { ty, bits: u128::from(number.to_bits()) },
        ValueType::Float(_) => Value { ty, bits: to_extended(number) },
        _ if is_signed(ty) => wrap(ty, number as i128 as u128),
        _ => wrap(ty, number as u128),
    }
}

/// A double as an x87 extended float, which holds it exactly.
fn to_extended(number: f64) -> u128 {
    let sign = u128::from(number.is_sign_negative()) << 79;
    if number == 0.0 {
        return sign;
    }
    if !number.is_finite() {
        let mantissa: u64 = if number.is_nan() { 0b11 << 62 } else { 1 << 63 };
        return sign | 0x7fff << 64 | u128::from(mantissa);
    }
    let (bits, fraction_bits, bias) = (number.to_bits(), 52, 1023);
    let fraction = bits & ((1 << fraction_bits) - 1);
    let (mantissa, exponent) = match (bits >> fraction_bits & 0x7ff) as i32 {
        0 => (fraction, 1 - bias),
        e => (fraction | 1 << fraction_bits, e - bias),
    };
    let shift = mantissa.leading_zeros();
    let exponent = exponent + 11 - shift as i32 + 16383;
    sign | (exponent as u128) << 64 | u128::from(mantissa << shift)
}

fn convert(value: Value, ty: ValueType) -> Value {
    match (value.ty, ty) {
        (ValueType::Float(_), _) | (_, ValueType::Float(_)) => from_float(ty, float(value)),
        _ => wrap(ty, signed(value) as u128),
    }
}

fn apply_unary(op: Unary, value: Value) -> Value {
    if let ValueType::Float(_) = value.ty {
        let number = float(value);
        return from_float(value.ty, if op == Unary::Abs { number.abs() } else { -number });
    }
    match op {
        Unary::Abs if signed(value) < 0 => wrap(value.ty, value.bits.wrapping_neg()),
        Unary::Abs => value,
        Unary::Neg => wrap(value.ty, value.bits.wrapping_neg()),
        Unary::Not => wrap(value.ty, !value.bits),
    }
}

fn same_type(a: ValueType, b: ValueType) -> bool {
    let plain = |t| if t == ValueType::Generic { ValueType::Signed(8) } else { t };
    plain(a) == plain(b)
}

fn apply_binary(op: Binary, a: Value, b: Value) -> Result<Value, Fault> {
    use Binary as B;
    let is_shift = matches!(op, B::Shl | B::Shr | B::Shra);
    if !same_type(a.ty, b.ty) && !is_shift {
        return Err(Fault::IllFormed(format!("operands of two types, {:?} and {:?}", a.ty, b.ty)));
    }
    let truth = |yes: bool| Ok(generic(u64::from(yes)));
    if let ValueType::Float(9..) = a.ty {
        return Err(Fault::Unsupported("arithmetic on floats of more than 8 bytes".into()));
    }
    if let ValueType::Float(_) = a.ty {
        let (x, y) = (float(a), float(b));
        return match op {
            B::Plus => Ok(from_float(a.ty, x + y)),
            B::Minus => Ok(from_float(a.ty, x - y)),
            B::Mul => Ok(from_float(a.ty, x * y)),
            B::Div => Ok(from_float(a.ty, x / y)),
            B::Eq => truth(x == y),
            B::Ne => truth(x != y),
            B::Lt => truth(x < y),
            B::Le => truth(x <= y),
            B::Gt => truth(x > y),
            B::Ge => truth(x >= y),
            _ => Err(ill("integer operation on floats")),
        };
    }
    let bits = u32::from(a.ty.size()) * 8;
    let amount = u32::try_from(b.bits).unwrap_or(u32::MAX);
    let (x, y) = (signed(a), signed(b));
    let result = match op {
        B::And => a.bits & b.bits,
        B::Or => a.bits | b.bits,
        B::Xor => a.bits ^ b.bits,
        B::Plus => a.bits.wrapping_add(b.bits),
        B::Minus => a.bits.wrapping_sub(b.bits),
        B::Mul => a.bits.wrapping_mul(b.bits),
        B::Div | B::Mod if b.bits == 0 => return Err(Fault::Unreadable("division by zero".into())),
        B::Div if is_signed(a.ty) => x.wrapping_div(y) as u128,
        B::Div => a.bits / b.bits,
        // The generic type's remainder is unsigned.
        B::Mod if a.ty == ValueType::Generic || !is_signed(a.ty) => a.bits % b.bits,
        B::Mod => x.wrapping_rem(y) as u128,
        B::Shl => a.bits.checked_shl(amount).filter(|_| amount < bits).unwrap_or(0),
        B::Shr => a.bits.checked_shr(amount).filter(|_| amount < bits).unwrap_or(0),
        B::Shra => (x >> amount.min(127)) as u128,
        B::Eq => return truth(x == y),
        B::Ne => return truth(x != y),
        B::Lt => return truth(x < y),
        B::Le => return truth(x <= y),
        B::Gt => return truth(x > y),
        B::Ge => return truth(x >= y),
    };
    Ok(wrap(a.ty, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(ty: ValueType, bits: u128) -> Value {
        Value { ty, bits }
    }

    #[test]
    fn generic_division_is_signed_and_remainder_unsigned() {
        let minus_seven = generic(-7i64 as u64);
        assert_eq!(apply_binary(Binary::Div, minus_seven, generic(2)).unwrap(), generic(-3i64 as u64));
        assert_eq!(apply_binary(Binary::Mod, minus_seven, generic(4)).unwrap(), generic((-7i64 as u64) % 4));
    }

    #[test]
    fn operands_of_two_types_are_ill_formed_unless_one_is_generic_and_the_other_a_long() {
        let int = typed(ValueType::Signed(4), 1);
        assert!(matches!(apply_binary(Binary::Plus, int, generic(1)), Err(Fault::IllFormed(_))));
        let long = typed(ValueType::Signed(8), 1);
        assert!(apply_binary(Binary::Plus, long, generic(1)).is_ok());
    }

    #[test]
    fn doubles_become_extended_floats_and_back_exactly() {
        for number in [0.0, -0.0, 1.0, -2.5, 0.1, 1e300, -1e-300, 5e-324, f64::INFINITY] {
            assert_eq!(from_extended(to_extended(number)).to_bits(), number.to_bits(), "{number}");
        }
        assert_eq!(to_extended(1.0), 0x3fff_8000_0000_0000_0000);
        assert!(from_extended(to_extended(f64::NAN)).is_nan());
    }

    #[test]
    fn conversions_extend_by_the_sign_of_the_source() {
        let minus_one = typed(ValueType::Signed(1), 0xff);
        assert_eq!(convert(minus_one, ValueType::Unsigned(4)).bits, 0xffff_ffff);
        let byte = typed(ValueType::Unsigned(1), 0xff);
        assert_eq!(convert(byte, ValueType::Signed(4)).bits, 0xff);
        assert_eq!(convert(typed(ValueType::Float(8), u128::from(2.9f64.to_bits())), ValueType::Signed(4)).bits, 2);
    }
}
