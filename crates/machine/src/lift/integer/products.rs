//! Shifts, rotations, products and quotients, with what becomes of the flags.

use crate::algebra::{Bin, Flag, Machine};
use crate::lift::{Lifted, Lifter};
use iced_x86::{Mnemonic, Register};

impl<M: Machine> Lifter<'_, M> {
    /// The shift count as the processor masks it, widened or narrowed to the operand's width.
    pub(super) fn count(&mut self, index: u32, width: u32) -> Lifted<M::V> {
        let raw = if self.i.op_count() > index { self.operand(index)? } else { self.k(8, 1) };
        let raw = self.m.extract(&raw, 0, 8);
        let mask = self.k(8, if width == 64 { 63 } else { 31 });
        let masked = self.bin(Bin::And, &raw, &mask);
        Ok(self.m.zext(&masked, width))
    }

    fn keep_flags_when_zero(&mut self, zero: &M::V, old: &[(Flag, M::V)]) {
        for (flag, old) in old {
            let new = self.flag(*flag);
            let kept = self.m.ite(zero, old, &new);
            self.set_flag(*flag, kept);
        }
    }

    pub(super) fn shift(&mut self) -> Lifted<()> {
        let a = self.operand(0)?;
        let width = self.m.width(&a);
        let count = self.count(1, width)?;
        let zero = self.is_zero(&count);
        let old: Vec<_> = Flag::ALL.iter().map(|f| (*f, self.flag(*f))).collect();
        let one = self.k(width, 1);
        let before = self.bin(Bin::Sub, &count, &one);
        let op = match self.i.mnemonic() {
            Mnemonic::Shr => Bin::Lshr,
            Mnemonic::Sar => Bin::Ashr,
            _ => Bin::Shl,
        };
        let value = self.bin(op, &a, &count);
        let last = self.bin(op, &a, &before);
        let carry = if op == Bin::Shl { self.sign(&last) } else { self.m.extract(&last, 0, 1) };
        self.set_flag(Flag::Cf, carry.clone());
        let top = self.sign(&value);
        let overflow = match op {
            Bin::Shl => self.bin(Bin::Xor, &top, &carry),
            Bin::Lshr => self.sign(&a),
            _ => self.k(1, 0),
        };
        // Defined for a count of one only.
        let is_one = self.bin(Bin::Eq, &count, &one);
        let unknown = self.m.undefined(1);
        let overflow = self.m.ite(&is_one, &overflow, &unknown);
        self.set_flag(Flag::Of, overflow);
        self.set_result_flags(&value);
        self.keep_flags_when_zero(&zero, &old);
        self.write(0, value)
    }

    pub(super) fn rotate(&mut self) -> Lifted<()> {
        let a = self.operand(0)?;
        let width = self.m.width(&a);
        let masked = self.count(1, width)?;
        let zero = self.is_zero(&masked);
        let old: Vec<_> = [Flag::Cf, Flag::Of].iter().map(|f| (*f, self.flag(*f))).collect();
        let modulo = self.k(width, u128::from(width - 1));
        let count = self.bin(Bin::And, &masked, &modulo);
        let back = self.neg(&count);
        let back = self.bin(Bin::And, &back, &modulo);
        let left = self.i.mnemonic() == Mnemonic::Rol;
        let (first, second) = if left { (Bin::Shl, Bin::Lshr) } else { (Bin::Lshr, Bin::Shl) };
        let (x, y) = (self.bin(first, &a, &count), self.bin(second, &a, &back));
        let value = self.bin(Bin::Or, &x, &y);
        let carry = if left { self.m.extract(&value, 0, 1) } else { self.sign(&value) };
        self.set_flag(Flag::Cf, carry);
        self.forget(&[Flag::Of]);
        self.keep_flags_when_zero(&zero, &old);
        self.write(0, value)
    }

    pub(super) fn double_shift(&mut self) -> Lifted<()> {
        let (a, b) = (self.operand(0)?, self.operand(1)?);
        let width = self.m.width(&a);
        if width < 32 {
            return Err(self.unsupported());
        }
        let count = self.count(2, width)?;
        let zero = self.is_zero(&count);
        let old: Vec<_> = Flag::ALL.iter().map(|f| (*f, self.flag(*f))).collect();
        let total = self.k(width, u128::from(width));
        let back = self.bin(Bin::Sub, &total, &count);
        let left = self.i.mnemonic() == Mnemonic::Shld;
        let (first, second) = if left { (Bin::Shl, Bin::Lshr) } else { (Bin::Lshr, Bin::Shl) };
        let (x, y) = (self.bin(first, &a, &count), self.bin(second, &b, &back));
        let joined = self.bin(Bin::Or, &x, &y);
        let value = self.m.ite(&zero, &a, &joined);
        let one = self.k(width, 1);
        let before = self.bin(Bin::Sub, &count, &one);
        let last = self.bin(first, &a, &before);
        let carry = if left { self.sign(&last) } else { self.m.extract(&last, 0, 1) };
        self.set_flag(Flag::Cf, carry);
        self.forget(&[Flag::Of]);
        self.set_result_flags(&value);
        self.keep_flags_when_zero(&zero, &old);
        self.write(0, value)
    }

    pub(super) fn multiply(&mut self) -> Lifted<()> {
        let signed = self.i.mnemonic() == Mnemonic::Imul;
        let width = self.operand_width(0);
        let (a, b) = match self.i.op_count() {
            1 => {
                let accumulator = [Register::AL, Register::AX, Register::EAX, Register::RAX][width.trailing_zeros() as usize - 3];
                (self.register(accumulator)?, self.operand(0)?)
            }
            2 => (self.operand(0)?, self.operand(1)?),
            _ => (self.operand(1)?, self.operand(2)?),
        };
        let (x, y) = if signed {
            (self.m.sext(&a, 2 * width), self.m.sext(&b, 2 * width))
        } else {
            (self.m.zext(&a, 2 * width), self.m.zext(&b, 2 * width))
        };
        let product = self.bin(Bin::Mul, &x, &y);
        let low = self.m.extract(&product, 0, width);
        let back = if signed { self.m.sext(&low, 2 * width) } else { self.m.zext(&low, 2 * width) };
        let fits = self.bin(Bin::Eq, &back, &product);
        let overflow = self.not(&fits);
        self.set_flag(Flag::Cf, overflow.clone());
        self.set_flag(Flag::Of, overflow);
        self.forget(&[Flag::Zf, Flag::Sf, Flag::Pf]);
        if self.i.op_count() > 1 {
            return self.write(0, low);
        }
        if width == 8 {
            return self.set_register(Register::AX, product);
        }
        let high = self.m.extract(&product, width, width);
        let (l, h) = match width {
            16 => (Register::AX, Register::DX),
            32 => (Register::EAX, Register::EDX),
            _ => (Register::RAX, Register::RDX),
        };
        self.set_register(l, low)?;
        self.set_register(h, high)
    }

    pub(super) fn divide(&mut self) -> Lifted<()> {
        let signed = self.i.mnemonic() == Mnemonic::Idiv;
        let divisor = self.operand(0)?;
        let width = self.m.width(&divisor);
        let (l, h) = match width {
            32 => (Register::EAX, Register::EDX),
            64 => (Register::RAX, Register::RDX),
            _ => return Err(self.unsupported()),
        };
        let (low, high) = (self.register(l)?, self.register(h)?);
        let dividend = self.m.concat(&high, &low);
        let wide = if signed { self.m.sext(&divisor, 2 * width) } else { self.m.zext(&divisor, 2 * width) };
        let (div, rem) = if signed { (Bin::Sdiv, Bin::Srem) } else { (Bin::Udiv, Bin::Urem) };
        let (quotient, remainder) = (self.bin(div, &dividend, &wide), self.bin(rem, &dividend, &wide));
        let (q, r) = (self.m.extract(&quotient, 0, width), self.m.extract(&remainder, 0, width));
        self.set_register(l, q)?;
        self.set_register(h, r)?;
        self.forget(&Flag::ALL);
        Ok(())
    }
}
