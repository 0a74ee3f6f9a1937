//! Moves between vector registers, and between them and memory.

use crate::algebra::Machine;
use crate::lift::{Lifted, Lifter};
use iced_x86::Mnemonic;

impl<M: Machine> Lifter<'_, M> {
    pub(super) fn vector_move(&mut self) -> Lifted<bool> {
        use Mnemonic as N;
        match self.i.mnemonic() {
            N::Movaps | N::Movapd | N::Movups | N::Movupd | N::Movdqa | N::Movdqu | N::Lddqu | N::Movntps | N::Movntdq | N::Movntpd => {
                let value = self.low(1, 128)?;
                self.write(0, value)?;
            }
            N::Movss | N::Movsd if self.i.op_count() == 2 => {
                let bits = if self.i.mnemonic() == N::Movss { 32 } else { 64 };
                let value = self.low(1, bits)?;
                if self.is_xmm(0) && self.is_xmm(1) {
                    self.write_low(&value)?;
                } else if self.is_xmm(0) {
                    let wide = self.m.zext(&value, 128);
                    self.write(0, wide)?;
                } else {
                    self.write(0, value)?;
                }
            }
            N::Movd | N::Movq => {
                let width =
                    if self.i.mnemonic() == N::Movq || self.operand_width(0) == 64 || self.operand_width(1) == 64 { 64 } else { 32 };
                if self.i.op0_register().is_mm() || self.i.op1_register().is_mm() {
                    return Err(self.unsupported());
                }
                let value = self.low(1, width)?;
                let value = if self.is_xmm(0) { self.m.zext(&value, 128) } else { value };
                self.write(0, value)?;
            }
            N::Movlps | N::Movlpd | N::Movhps | N::Movhpd => {
                let high = matches!(self.i.mnemonic(), N::Movhps | N::Movhpd);
                if self.is_xmm(0) {
                    let new = self.low(1, 64)?;
                    let old = self.xmm(0)?;
                    let kept = self.m.extract(&old, if high { 0 } else { 64 }, 64);
                    let value = if high { self.m.concat(&new, &kept) } else { self.m.concat(&kept, &new) };
                    self.write(0, value)?;
                } else {
                    let source = self.xmm(1)?;
                    let half = self.m.extract(&source, if high { 64 } else { 0 }, 64);
                    self.write(0, half)?;
                }
            }
            N::Movhlps | N::Movlhps => {
                let (a, b) = (self.xmm(0)?, self.xmm(1)?);
                let value = if self.i.mnemonic() == N::Movhlps {
                    let (h, l) = (self.m.extract(&a, 64, 64), self.m.extract(&b, 64, 64));
                    self.m.concat(&h, &l)
                } else {
                    let (h, l) = (self.m.extract(&b, 0, 64), self.m.extract(&a, 0, 64));
                    self.m.concat(&h, &l)
                };
                self.write(0, value)?;
            }
            N::Movddup | N::Movshdup | N::Movsldup => {
                let source = if self.i.mnemonic() == N::Movddup { self.low(1, 64)? } else { self.low(1, 128)? };
                let lanes = self.lanes(&source, if self.i.mnemonic() == N::Movddup { 64 } else { 32 });
                let picked: Vec<_> = match self.i.mnemonic() {
                    N::Movddup => vec![lanes[0].clone(), lanes[0].clone()],
                    N::Movshdup => [1, 1, 3, 3].map(|n: usize| lanes[n].clone()).to_vec(),
                    _ => [0, 0, 2, 2].map(|n: usize| lanes[n].clone()).to_vec(),
                };
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Movmskps | N::Movmskpd | N::Pmovmskb => {
                let width = match self.i.mnemonic() {
                    N::Movmskps => 32,
                    N::Movmskpd => 64,
                    _ => 8,
                };
                let source = self.xmm(1)?;
                let lanes = self.lanes(&source, width);
                let signs: Vec<_> = lanes.iter().map(|l| self.sign(l)).collect();
                let mask = self.join(&signs);
                let wide = self.m.zext(&mask, self.operand_width(0));
                self.write(0, wide)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
