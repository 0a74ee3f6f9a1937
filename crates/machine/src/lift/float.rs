//! SSE floating point, lane by lane; the lanes themselves are the machine's business.

use super::{Lifted, Lifter};
use crate::algebra::{Bin, Flag, Float, Machine};
use iced_x86::{Mnemonic, OpKind};

impl<M: Machine> Lifter<'_, M> {
    /// Executes a floating-point instruction; false when it is none.
    pub(super) fn floating(&mut self) -> Lifted<bool> {
        use Mnemonic as N;
        let (op, width, packed) = match self.i.mnemonic() {
            N::Addss => (Float::Add, 32, false),
            N::Addsd => (Float::Add, 64, false),
            N::Addps => (Float::Add, 32, true),
            N::Addpd => (Float::Add, 64, true),
            N::Subss => (Float::Sub, 32, false),
            N::Subsd => (Float::Sub, 64, false),
            N::Subps => (Float::Sub, 32, true),
            N::Subpd => (Float::Sub, 64, true),
            N::Mulss => (Float::Mul, 32, false),
            N::Mulsd => (Float::Mul, 64, false),
            N::Mulps => (Float::Mul, 32, true),
            N::Mulpd => (Float::Mul, 64, true),
            N::Divss => (Float::Div, 32, false),
            N::Divsd => (Float::Div, 64, false),
            N::Divps => (Float::Div, 32, true),
            N::Divpd => (Float::Div, 64, true),
            N::Minss => (Float::Min, 32, false),
            N::Minsd => (Float::Min, 64, false),
            N::Minps => (Float::Min, 32, true),
            N::Minpd => (Float::Min, 64, true),
            N::Maxss => (Float::Max, 32, false),
            N::Maxsd => (Float::Max, 64, false),
            N::Maxps => (Float::Max, 32, true),
            N::Maxpd => (Float::Max, 64, true),
            N::Sqrtss => (Float::Sqrt, 32, false),
            N::Sqrtsd => (Float::Sqrt, 64, false),
            N::Sqrtps => (Float::Sqrt, 32, true),
            N::Sqrtpd => (Float::Sqrt, 64, true),
            N::Roundss => (Float::Round, 32, false),
            N::Roundsd => (Float::Round, 64, false),
            N::Roundps => (Float::Round, 32, true),
            N::Roundpd => (Float::Round, 64, true),
            _ => return self.comparison(),
        };
        let (a, b) = (self.xmm(0)?, self.low(1, if packed { 128 } else { width })?);
        let (xs, ys) = (self.lanes(&a, width), self.lanes(&b, width));
        let mut lanes = Vec::new();
        for (x, y) in xs.iter().zip(&ys) {
            let args = match op {
                Float::Sqrt => vec![y.clone()],
                Float::Round => vec![y.clone(), self.k(8, u128::from(self.i.immediate8()))],
                _ => vec![x.clone(), y.clone()],
            };
            lanes.push(self.m.float(op, width, &args));
        }
        let value = self.join(&lanes);
        if packed {
            self.write(0, value)?;
        } else {
            self.write_low(&value)?;
        }
        Ok(true)
    }

    fn comparison(&mut self) -> Lifted<bool> {
        use Mnemonic as N;
        match self.i.mnemonic() {
            N::Ucomiss | N::Comiss | N::Ucomisd | N::Comisd => {
                let width = if matches!(self.i.mnemonic(), N::Ucomiss | N::Comiss) { 32 } else { 64 };
                let (a, b) = (self.low(0, width)?, self.low(1, width)?);
                let args = [a, b];
                let unordered = self.m.float(Float::Unordered, 1, &args);
                let (equal, less) = (self.m.float(Float::Eq, 1, &args), self.m.float(Float::Lt, 1, &args));
                let zero = self.bin(Bin::Or, &equal, &unordered);
                let carry = self.bin(Bin::Or, &less, &unordered);
                self.set_flag(Flag::Zf, zero);
                self.set_flag(Flag::Cf, carry);
                self.set_flag(Flag::Pf, unordered);
                for flag in [Flag::Of, Flag::Sf] {
                    let off = self.k(1, 0);
                    self.set_flag(flag, off);
                }
            }
            N::Cmpss | N::Cmpsd | N::Cmpps | N::Cmppd if self.i.op_count() == 3 => {
                let width = if matches!(self.i.mnemonic(), N::Cmpss | N::Cmpps) { 32 } else { 64 };
                let packed = matches!(self.i.mnemonic(), N::Cmpps | N::Cmppd);
                let (a, b) = (self.xmm(0)?, self.low(1, if packed { 128 } else { width })?);
                let predicate = self.i.immediate8();
                if predicate > 7 {
                    return Err(self.unsupported());
                }
                let (xs, ys) = (self.lanes(&a, width), self.lanes(&b, width));
                let mut lanes = Vec::new();
                for (x, y) in xs.iter().zip(&ys) {
                    let args = [x.clone(), y.clone()];
                    let bit = match predicate & 3 {
                        0 => self.m.float(Float::Eq, 1, &args),
                        1 => self.m.float(Float::Lt, 1, &args),
                        2 => {
                            let (l, e) = (self.m.float(Float::Lt, 1, &args), self.m.float(Float::Eq, 1, &args));
                            self.bin(Bin::Or, &l, &e)
                        }
                        _ => self.m.float(Float::Unordered, 1, &args),
                    };
                    let bit = if predicate & 4 != 0 { self.not(&bit) } else { bit };
                    lanes.push(self.m.sext(&bit, width));
                }
                let value = self.join(&lanes);
                if packed { self.write(0, value)? } else { self.write_low(&value)? }
            }
            N::Haddps | N::Haddpd => {
                let width = if self.i.mnemonic() == N::Haddps { 32 } else { 64 };
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let mut lanes = self.lanes(&a, width);
                lanes.extend(self.lanes(&b, width));
                let sums: Vec<_> = lanes.chunks(2).map(|p| self.m.float(Float::Add, width, p)).collect();
                let value = self.join(&sums);
                self.write(0, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Executes a floating-point instruction; false when it is none.
    pub(super) fn conversion(&mut self) -> Lifted<bool> {
        use Mnemonic as N;
        match self.i.mnemonic() {
            N::Cvtsi2ss | N::Cvtsi2sd => {
                let width = if self.i.mnemonic() == N::Cvtsi2ss { 32 } else { 64 };
                let bits = if self.i.op1_kind() == OpKind::Memory { self.memory_bits() } else { self.operand_width(1) };
                let source = self.low(1, bits)?;
                let value = self.m.float(Float::FromInt, width, &[source]);
                self.write_low(&value)?;
            }
            N::Cvttss2si | N::Cvttsd2si | N::Cvtss2si | N::Cvtsd2si => {
                let width = if matches!(self.i.mnemonic(), N::Cvttss2si | N::Cvtss2si) { 32 } else { 64 };
                let op = if matches!(self.i.mnemonic(), N::Cvttss2si | N::Cvttsd2si) { Float::ToIntTruncate } else { Float::ToIntRound };
                let source = self.low(1, width)?;
                let value = self.m.float(op, self.operand_width(0), &[source]);
                self.write(0, value)?;
            }
            N::Cvtss2sd | N::Cvtsd2ss => {
                let (from, to) = if self.i.mnemonic() == N::Cvtss2sd { (32, 64) } else { (64, 32) };
                let source = self.low(1, from)?;
                let value = self.m.float(Float::Convert, to, &[source]);
                self.write_low(&value)?;
            }
            N::Cvtdq2ps | N::Cvttps2dq | N::Cvtps2dq => {
                let op = match self.i.mnemonic() {
                    N::Cvtdq2ps => Float::FromInt,
                    N::Cvttps2dq => Float::ToIntTruncate,
                    _ => Float::ToIntRound,
                };
                let source = self.low(1, 128)?;
                let lanes = self.lanes(&source, 32);
                let lanes: Vec<_> = lanes.into_iter().map(|l| self.m.float(op, 32, &[l])).collect();
                let value = self.join(&lanes);
                self.write(0, value)?;
            }
            N::Cvtdq2pd | N::Cvtps2pd => {
                let op = if self.i.mnemonic() == N::Cvtdq2pd { Float::FromInt } else { Float::Convert };
                let source = self.low(1, 64)?;
                let lanes = self.lanes(&source, 32);
                let lanes: Vec<_> = lanes.into_iter().map(|l| self.m.float(op, 64, &[l])).collect();
                let value = self.join(&lanes);
                self.write(0, value)?;
            }
            N::Cvtpd2ps | N::Cvttpd2dq | N::Cvtpd2dq => {
                let op = match self.i.mnemonic() {
                    N::Cvtpd2ps => Float::Convert,
                    N::Cvttpd2dq => Float::ToIntTruncate,
                    _ => Float::ToIntRound,
                };
                let source = self.low(1, 128)?;
                let lanes = self.lanes(&source, 64);
                let lanes: Vec<_> = lanes.into_iter().map(|l| self.m.float(op, 32, &[l])).collect();
                let low = self.join(&lanes);
                let value = self.m.zext(&low, 128);
                self.write(0, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
