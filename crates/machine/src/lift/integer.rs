//! Integer instructions: moves, arithmetic, logic, shifts, multiplication and division, the stack.

mod products;

use super::{Lifted, Lifter};
use crate::algebra::{Bin, Flag, Machine, Place, RBP, RSP};
use iced_x86::{ConditionCode, Mnemonic, OpKind, Register};

impl<M: Machine> Lifter<'_, M> {
    /// Executes an integer instruction; false when it is none.
    pub(super) fn integer(&mut self) -> Lifted<bool> {
        use Mnemonic as N;
        let code = self.i.condition_code();
        match self.i.mnemonic() {
            N::Nop | N::Endbr64 | N::Pause | N::Prefetcht0 | N::Prefetcht1 | N::Prefetcht2 | N::Prefetchnta | N::Prefetchw | N::Sfence => {}
            N::Mov if self.i.op0_register().is_segment_register() || self.i.op1_register().is_segment_register() => {
                return Err(self.unsupported());
            }
            N::Mov => {
                let value = self.operand(1)?;
                self.write(0, value)?;
            }
            N::Movzx | N::Movsx | N::Movsxd => {
                let value = self.operand(1)?;
                let width = self.operand_width(0);
                let wide = if self.i.mnemonic() == N::Movzx { self.m.zext(&value, width) } else { self.m.sext(&value, width) };
                self.write(0, wide)?;
            }
            N::Lea => {
                let width = self.operand_width(0);
                let address = self.address()?;
                let value = self.m.extract(&address, 0, width);
                self.write(0, value)?;
            }
            N::Add | N::Adc => {
                let (a, b) = (self.operand(0)?, self.operand(1)?);
                let carry = (self.i.mnemonic() == N::Adc).then(|| self.flag(Flag::Cf));
                let sum = self.add_flags(&a, &b, carry);
                self.write(0, sum)?;
            }
            N::Sub | N::Sbb | N::Cmp => {
                let (a, b) = (self.operand(0)?, self.operand(1)?);
                let borrow = (self.i.mnemonic() == N::Sbb).then(|| self.flag(Flag::Cf));
                let difference = self.sub_flags(&a, &b, borrow);
                if self.i.mnemonic() != N::Cmp {
                    self.write(0, difference)?;
                }
            }
            N::Inc | N::Dec => {
                let carry = self.flag(Flag::Cf);
                let a = self.operand(0)?;
                let width = self.m.width(&a);
                let one = self.k(width, 1);
                let value = if self.i.mnemonic() == N::Inc { self.add_flags(&a, &one, None) } else { self.sub_flags(&a, &one, None) };
                self.set_flag(Flag::Cf, carry);
                self.write(0, value)?;
            }
            N::Neg => {
                let a = self.operand(0)?;
                let width = self.m.width(&a);
                let zero = self.k(width, 0);
                let value = self.sub_flags(&zero, &a, None);
                self.write(0, value)?;
            }
            N::Not => {
                let a = self.operand(0)?;
                let value = self.not(&a);
                self.write(0, value)?;
            }
            N::And | N::Or | N::Xor | N::Test => {
                let (a, b) = (self.operand(0)?, self.operand(1)?);
                let op = match self.i.mnemonic() {
                    N::Or => Bin::Or,
                    N::Xor => Bin::Xor,
                    _ => Bin::And,
                };
                let same = self.i.op0_kind() == OpKind::Register
                    && self.i.op1_kind() == OpKind::Register
                    && self.i.op0_register() == self.i.op1_register();
                let value = if same && op == Bin::Xor {
                    let width = self.m.width(&a);
                    self.k(width, 0)
                } else {
                    self.bin(op, &a, &b)
                };
                self.set_result_flags(&value);
                self.clear(&[Flag::Cf, Flag::Of]);
                if self.i.mnemonic() != N::Test {
                    self.write(0, value)?;
                }
            }
            N::Shl | N::Sal | N::Shr | N::Sar => self.shift()?,
            N::Rol | N::Ror => self.rotate()?,
            N::Shld | N::Shrd => self.double_shift()?,
            N::Imul | N::Mul => self.multiply()?,
            N::Div | N::Idiv => self.divide()?,
            N::Cbw | N::Cwde | N::Cdqe => {
                let (from, to) = match self.i.mnemonic() {
                    N::Cbw => (Register::AL, Register::AX),
                    N::Cwde => (Register::AX, Register::EAX),
                    _ => (Register::EAX, Register::RAX),
                };
                let value = self.register(from)?;
                let wide = self.m.sext(&value, to.size() as u32 * 8);
                self.set_register(to, wide)?;
            }
            N::Cwd | N::Cdq | N::Cqo => {
                let (from, to) = match self.i.mnemonic() {
                    N::Cwd => (Register::AX, Register::DX),
                    N::Cdq => (Register::EAX, Register::EDX),
                    _ => (Register::RAX, Register::RDX),
                };
                let value = self.register(from)?;
                let width = self.m.width(&value);
                let count = self.k(width, u128::from(width - 1));
                let high = self.bin(Bin::Ashr, &value, &count);
                self.set_register(to, high)?;
            }
            N::Push => {
                let value = self.operand(0)?;
                let value = self.m.sext(&value, 64);
                self.push(value)?;
            }
            N::Pop => {
                let value = self.pop()?;
                self.write(0, value)?;
            }
            N::Leave => {
                let frame = self.m.get(Place::Gpr(RBP));
                self.m.set(Place::Gpr(RSP), frame);
                let saved = self.pop()?;
                self.m.set(Place::Gpr(RBP), saved);
            }
            N::Xchg => {
                let (a, b) = (self.operand(0)?, self.operand(1)?);
                self.write(0, b)?;
                self.write(1, a)?;
            }
            N::Bt => {
                let (a, b) = (self.operand(0)?, self.operand(1)?);
                if self.i.op0_kind() == OpKind::Memory {
                    return Err(self.unsupported());
                }
                let width = self.m.width(&a);
                let b = if self.m.width(&b) < width { self.m.zext(&b, width) } else { self.m.extract(&b, 0, width) };
                let mask = self.k(width, u128::from(width - 1));
                let count = self.bin(Bin::And, &b, &mask);
                let shifted = self.bin(Bin::Lshr, &a, &count);
                let bit = self.m.extract(&shifted, 0, 1);
                self.set_flag(Flag::Cf, bit);
                self.forget(&[Flag::Of, Flag::Sf, Flag::Pf]);
            }
            // The manual leaves the result undefined, and processors clear it rather than swap.
            N::Bswap if self.operand_width(0) == 16 => return Err(self.unsupported()),
            N::Bswap => {
                let a = self.operand(0)?;
                let bytes = self.m.width(&a) / 8;
                let mut value = self.m.extract(&a, 0, 8);
                for index in 1..bytes {
                    let byte = self.m.extract(&a, index * 8, 8);
                    value = self.m.concat(&value, &byte);
                }
                self.write(0, value)?;
            }
            N::Popcnt => {
                let a = self.operand(1)?;
                let width = self.m.width(&a);
                let mut sum = self.k(width, 0);
                for index in 0..width {
                    let bit = self.m.extract(&a, index, 1);
                    let bit = self.m.zext(&bit, width);
                    sum = self.bin(Bin::Add, &sum, &bit);
                }
                let zero = self.is_zero(&a);
                self.set_flag(Flag::Zf, zero);
                self.clear(&[Flag::Cf, Flag::Of, Flag::Sf, Flag::Pf]);
                self.write(0, sum)?;
            }
            _ if code != ConditionCode::None && self.i.op_count() == 1 => {
                let bit = self.condition(code);
                let byte = self.m.zext(&bit, 8);
                self.write(0, byte)?;
            }
            _ if code != ConditionCode::None && self.i.op_count() == 2 => {
                let condition = self.condition(code);
                let (old, new) = (self.operand(0)?, self.operand(1)?);
                let value = self.m.ite(&condition, &new, &old);
                self.write(0, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn clear(&mut self, flags: &[Flag]) {
        for flag in flags {
            let zero = self.k(1, 0);
            self.set_flag(*flag, zero);
        }
    }

    fn forget(&mut self, flags: &[Flag]) {
        for flag in flags {
            let unknown = self.m.undefined(1);
            self.set_flag(*flag, unknown);
        }
    }

    pub(super) fn push(&mut self, value: M::V) -> Lifted<()> {
        let top = self.m.get(Place::Gpr(RSP));
        let eight = self.k(64, 8);
        let top = self.bin(Bin::Sub, &top, &eight);
        self.m.store(&top, &value)?;
        self.m.set(Place::Gpr(RSP), top);
        Ok(())
    }

    fn pop(&mut self) -> Lifted<M::V> {
        let top = self.m.get(Place::Gpr(RSP));
        let value = self.m.load(&top, 8)?;
        let eight = self.k(64, 8);
        let top = self.bin(Bin::Add, &top, &eight);
        self.m.set(Place::Gpr(RSP), top);
        Ok(value)
    }

    fn add_flags(&mut self, a: &M::V, b: &M::V, carry: Option<M::V>) -> M::V {
        let width = self.m.width(a);
        let mut sum = self.bin(Bin::Add, a, b);
        let mut carry_out = self.bin(Bin::Ult, &sum, a);
        if let Some(carry) = carry {
            let wide = self.m.zext(&carry, width);
            let total = self.bin(Bin::Add, &sum, &wide);
            let again = self.bin(Bin::Ult, &total, &sum);
            carry_out = self.bin(Bin::Or, &carry_out, &again);
            sum = total;
        }
        self.set_flag(Flag::Cf, carry_out);
        let (x, y) = (self.bin(Bin::Xor, a, &sum), self.bin(Bin::Xor, b, &sum));
        let both = self.bin(Bin::And, &x, &y);
        let overflow = self.sign(&both);
        self.set_flag(Flag::Of, overflow);
        self.set_result_flags(&sum);
        sum
    }

    fn sub_flags(&mut self, a: &M::V, b: &M::V, borrow: Option<M::V>) -> M::V {
        let width = self.m.width(a);
        let mut difference = self.bin(Bin::Sub, a, b);
        let mut borrow_out = self.bin(Bin::Ult, a, b);
        let plain = borrow.is_none();
        if let Some(borrow) = borrow {
            let wide = self.m.zext(&borrow, width);
            let again = self.bin(Bin::Ult, &difference, &wide);
            difference = self.bin(Bin::Sub, &difference, &wide);
            borrow_out = self.bin(Bin::Or, &borrow_out, &again);
        }
        self.set_flag(Flag::Cf, borrow_out);
        self.set_result_flags(&difference);
        let overflow = if plain {
            // The comparison itself, so that `less` (sign and overflow differ) is one term again.
            let (less, sign) = (self.bin(Bin::Slt, a, b), self.flag(Flag::Sf));
            self.bin(Bin::Xor, &sign, &less)
        } else {
            let (x, y) = (self.bin(Bin::Xor, a, b), self.bin(Bin::Xor, a, &difference));
            let both = self.bin(Bin::And, &x, &y);
            self.sign(&both)
        };
        self.set_flag(Flag::Of, overflow);
        difference
    }
}
