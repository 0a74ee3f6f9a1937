//! SSE instructions up to SSE4.2: moves, shuffles and packed integers, all exact.

mod moves;
mod shuffle;

use super::{Lifted, Lifter, xmm_number};
use crate::algebra::{Bin, Flag, Machine, Place};
use iced_x86::{Mnemonic, OpKind};

/// How a packed integer operation combines two lanes.
#[derive(Clone, Copy)]
enum Lane {
    Op(Bin),
    /// All ones where the comparison holds.
    Equal,
    Greater,
    Min {
        signed: bool,
    },
    Max {
        signed: bool,
    },
    AndNot,
    MulHigh {
        signed: bool,
    },
    Average,
    AddSaturate {
        signed: bool,
    },
    SubSaturate {
        signed: bool,
    },
}

impl<M: Machine> Lifter<'_, M> {
    /// Executes an SSE instruction; false when it is none.
    pub(super) fn vector(&mut self) -> Lifted<bool> {
        Ok(self.vector_move()? || self.packed_integer()? || self.shuffle()? || self.floating()? || self.conversion()?)
    }

    pub(super) fn lanes(&mut self, value: &M::V, width: u32) -> Vec<M::V> {
        let total = self.m.width(value);
        (0..total / width).map(|n| self.m.extract(value, n * width, width)).collect()
    }

    /// Joins lanes, the first lowest.
    pub(super) fn join(&mut self, lanes: &[M::V]) -> M::V {
        let mut value = lanes[0].clone();
        for lane in &lanes[1..] {
            value = self.m.concat(lane, &value);
        }
        value
    }

    pub(super) fn xmm(&mut self, index: u32) -> Lifted<M::V> {
        match xmm_number(self.i.op_register(index)) {
            Some(number) if self.i.op_kind(index) == OpKind::Register => Ok(self.m.get(Place::Xmm(number))),
            _ => Err(self.unsupported()),
        }
    }

    /// Replaces the low `bits` of the destination register and keeps the rest.
    pub(super) fn write_low(&mut self, value: &M::V) -> Lifted<()> {
        let bits = self.m.width(value);
        let old = self.xmm(0)?;
        let high = self.m.extract(&old, bits, 128 - bits);
        let full = self.m.concat(&high, value);
        self.write(0, full)
    }

    fn is_xmm(&self, index: u32) -> bool {
        self.i.op_kind(index) == OpKind::Register && self.i.op_register(index).is_xmm()
    }

    fn packed_integer(&mut self) -> Lifted<bool> {
        use Lane as L;
        use Mnemonic as N;
        let (width, lane) = match self.i.mnemonic() {
            N::Paddb => (8, L::Op(Bin::Add)),
            N::Paddw => (16, L::Op(Bin::Add)),
            N::Paddd => (32, L::Op(Bin::Add)),
            N::Paddq => (64, L::Op(Bin::Add)),
            N::Psubb => (8, L::Op(Bin::Sub)),
            N::Psubw => (16, L::Op(Bin::Sub)),
            N::Psubd => (32, L::Op(Bin::Sub)),
            N::Psubq => (64, L::Op(Bin::Sub)),
            N::Pmullw => (16, L::Op(Bin::Mul)),
            N::Pmulld => (32, L::Op(Bin::Mul)),
            N::Pmulhw => (16, L::MulHigh { signed: true }),
            N::Pmulhuw => (16, L::MulHigh { signed: false }),
            N::Pand | N::Andps | N::Andpd => (128, L::Op(Bin::And)),
            N::Por | N::Orps | N::Orpd => (128, L::Op(Bin::Or)),
            N::Pxor | N::Xorps | N::Xorpd => (128, L::Op(Bin::Xor)),
            N::Pandn | N::Andnps | N::Andnpd => (128, L::AndNot),
            N::Pcmpeqb => (8, L::Equal),
            N::Pcmpeqw => (16, L::Equal),
            N::Pcmpeqd => (32, L::Equal),
            N::Pcmpeqq => (64, L::Equal),
            N::Pcmpgtb => (8, L::Greater),
            N::Pcmpgtw => (16, L::Greater),
            N::Pcmpgtd => (32, L::Greater),
            N::Pcmpgtq => (64, L::Greater),
            N::Pminsb => (8, L::Min { signed: true }),
            N::Pminsw => (16, L::Min { signed: true }),
            N::Pminsd => (32, L::Min { signed: true }),
            N::Pminub => (8, L::Min { signed: false }),
            N::Pminuw => (16, L::Min { signed: false }),
            N::Pminud => (32, L::Min { signed: false }),
            N::Pmaxsb => (8, L::Max { signed: true }),
            N::Pmaxsw => (16, L::Max { signed: true }),
            N::Pmaxsd => (32, L::Max { signed: true }),
            N::Pmaxub => (8, L::Max { signed: false }),
            N::Pmaxuw => (16, L::Max { signed: false }),
            N::Pmaxud => (32, L::Max { signed: false }),
            N::Pavgb => (8, L::Average),
            N::Pavgw => (16, L::Average),
            N::Paddsb => (8, L::AddSaturate { signed: true }),
            N::Paddsw => (16, L::AddSaturate { signed: true }),
            N::Paddusb => (8, L::AddSaturate { signed: false }),
            N::Paddusw => (16, L::AddSaturate { signed: false }),
            N::Psubsb => (8, L::SubSaturate { signed: true }),
            N::Psubsw => (16, L::SubSaturate { signed: true }),
            N::Psubusb => (8, L::SubSaturate { signed: false }),
            N::Psubusw => (16, L::SubSaturate { signed: false }),
            _ => return self.packed_special(),
        };
        let a = self.xmm(0)?;
        let same = self.is_xmm(1) && self.i.op0_register() == self.i.op1_register();
        if same && matches!(lane, L::Op(Bin::Xor | Bin::Sub)) {
            let zero = self.k(128, 0);
            self.write(0, zero)?;
            return Ok(true);
        }
        let b = self.low(1, 128)?;
        let (xs, ys) = (self.lanes(&a, width), self.lanes(&b, width));
        let lanes: Vec<_> = xs.iter().zip(&ys).map(|(x, y)| self.lane(lane, x, y)).collect();
        let value = self.join(&lanes);
        self.write(0, value)?;
        Ok(true)
    }

    fn lane(&mut self, lane: Lane, x: &M::V, y: &M::V) -> M::V {
        let width = self.m.width(x);
        match lane {
            Lane::Op(op) => self.bin(op, x, y),
            Lane::AndNot => {
                let x = self.not(x);
                self.bin(Bin::And, &x, y)
            }
            Lane::Equal => {
                let bit = self.bin(Bin::Eq, x, y);
                self.m.sext(&bit, width)
            }
            Lane::Greater => {
                let bit = self.bin(Bin::Slt, y, x);
                self.m.sext(&bit, width)
            }
            Lane::Min { signed } | Lane::Max { signed } => {
                let less = self.bin(if signed { Bin::Slt } else { Bin::Ult }, x, y);
                if matches!(lane, Lane::Min { .. }) { self.m.ite(&less, x, y) } else { self.m.ite(&less, y, x) }
            }
            Lane::MulHigh { signed } => {
                let (a, b) = (self.extend(x, 2 * width, signed), self.extend(y, 2 * width, signed));
                let product = self.bin(Bin::Mul, &a, &b);
                self.m.extract(&product, width, width)
            }
            Lane::Average => {
                let (a, b) = (self.m.zext(x, width + 1), self.m.zext(y, width + 1));
                let one = self.k(width + 1, 1);
                let sum = self.bin(Bin::Add, &a, &b);
                let sum = self.bin(Bin::Add, &sum, &one);
                self.m.extract(&sum, 1, width)
            }
            Lane::AddSaturate { signed } | Lane::SubSaturate { signed } => {
                let (a, b) = (self.extend(x, width + 2, signed), self.extend(y, width + 2, signed));
                let op = if matches!(lane, Lane::AddSaturate { .. }) { Bin::Add } else { Bin::Sub };
                let exact = self.bin(op, &a, &b);
                self.saturate(&exact, width, signed)
            }
        }
    }

    fn extend(&mut self, value: &M::V, width: u32, signed: bool) -> M::V {
        if signed { self.m.sext(value, width) } else { self.m.zext(value, width) }
    }

    /// Clamps a wider signed value into `width` bits.
    fn saturate(&mut self, exact: &M::V, width: u32, signed: bool) -> M::V {
        let wide = self.m.width(exact);
        let mask = |w: u32| (1u128 << w) - 1;
        let (min, max) = if signed { ((!0u128 << (width - 1)) & mask(wide), mask(width - 1)) } else { (0, mask(width)) };
        let (low, high) = (self.k(wide, min), self.k(wide, max));
        let below = self.bin(Bin::Slt, exact, &low);
        let above = self.bin(Bin::Slt, &high, exact);
        let value = self.m.ite(&below, &low, exact);
        let value = self.m.ite(&above, &high, &value);
        self.m.extract(&value, 0, width)
    }

    fn packed_special(&mut self) -> Lifted<bool> {
        use Mnemonic as N;
        match self.i.mnemonic() {
            N::Pmuludq | N::Pmuldq => {
                let signed = self.i.mnemonic() == N::Pmuldq;
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let lanes: Vec<_> = [0u32, 64]
                    .map(|at| {
                        let (x, y) = (self.m.extract(&a, at, 32), self.m.extract(&b, at, 32));
                        let (x, y) = (self.extend(&x, 64, signed), self.extend(&y, 64, signed));
                        self.bin(Bin::Mul, &x, &y)
                    })
                    .to_vec();
                let value = self.join(&lanes);
                self.write(0, value)?;
            }
            N::Pmaddwd => {
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let (xs, ys) = (self.lanes(&a, 16), self.lanes(&b, 16));
                let products: Vec<_> = xs
                    .iter()
                    .zip(&ys)
                    .map(|(x, y)| {
                        let (x, y) = (self.m.sext(x, 32), self.m.sext(y, 32));
                        self.bin(Bin::Mul, &x, &y)
                    })
                    .collect();
                let sums: Vec<_> = products.chunks(2).map(|p| self.bin(Bin::Add, &p[0], &p[1])).collect();
                let value = self.join(&sums);
                self.write(0, value)?;
            }
            N::Pabsb | N::Pabsw | N::Pabsd => {
                let width = match self.i.mnemonic() {
                    N::Pabsb => 8,
                    N::Pabsw => 16,
                    _ => 32,
                };
                let source = self.low(1, 128)?;
                let lanes: Vec<_> = self.lanes(&source, width);
                let lanes: Vec<_> = lanes
                    .iter()
                    .map(|x| {
                        let (sign, negated) = (self.sign(x), self.neg(x));
                        self.m.ite(&sign, &negated, x)
                    })
                    .collect();
                let value = self.join(&lanes);
                self.write(0, value)?;
            }
            N::Phaddd | N::Phaddw | N::Phsubd | N::Phsubw => {
                let width = if matches!(self.i.mnemonic(), N::Phaddd | N::Phsubd) { 32 } else { 16 };
                let op = if matches!(self.i.mnemonic(), N::Phaddd | N::Phaddw) { Bin::Add } else { Bin::Sub };
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let mut lanes = self.lanes(&a, width);
                lanes.extend(self.lanes(&b, width));
                let sums: Vec<_> = lanes.chunks(2).map(|p| self.bin(op, &p[0], &p[1])).collect();
                let value = self.join(&sums);
                self.write(0, value)?;
            }
            N::Psllw | N::Pslld | N::Psllq | N::Psrlw | N::Psrld | N::Psrlq | N::Psraw | N::Psrad => self.packed_shift()?,
            N::Pslldq | N::Psrldq => {
                let a = self.xmm(0)?;
                let bits = u32::from(self.i.immediate8().min(16)) * 8;
                let count = self.k(128, u128::from(bits));
                let op = if self.i.mnemonic() == N::Pslldq { Bin::Shl } else { Bin::Lshr };
                let value = self.bin(op, &a, &count);
                self.write(0, value)?;
            }
            N::Packssdw | N::Packsswb | N::Packusdw | N::Packuswb => {
                let width = if matches!(self.i.mnemonic(), N::Packssdw | N::Packusdw) { 32 } else { 16 };
                let signed = matches!(self.i.mnemonic(), N::Packssdw | N::Packsswb);
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let mut lanes = self.lanes(&a, width);
                lanes.extend(self.lanes(&b, width));
                let narrow: Vec<_> = lanes.iter().map(|l| self.saturate(l, width / 2, signed)).collect();
                let value = self.join(&narrow);
                self.write(0, value)?;
            }
            N::Psadbw => {
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let (xs, ys) = (self.lanes(&a, 8), self.lanes(&b, 8));
                let mut halves = Vec::new();
                for half in 0..2 {
                    let mut sum = self.k(64, 0);
                    for n in half * 8..half * 8 + 8 {
                        let (x, y) = (self.m.zext(&xs[n], 16), self.m.zext(&ys[n], 16));
                        let less = self.bin(Bin::Ult, &x, &y);
                        let (d, e) = (self.bin(Bin::Sub, &x, &y), self.bin(Bin::Sub, &y, &x));
                        let d = self.m.ite(&less, &e, &d);
                        let d = self.m.zext(&d, 64);
                        sum = self.bin(Bin::Add, &sum, &d);
                    }
                    halves.push(sum);
                }
                let value = self.join(&halves);
                self.write(0, value)?;
            }
            N::Ptest => {
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let both = self.bin(Bin::And, &a, &b);
                let zero = self.is_zero(&both);
                self.set_flag(Flag::Zf, zero);
                let inverted = self.not(&a);
                let rest = self.bin(Bin::And, &inverted, &b);
                let carry = self.is_zero(&rest);
                self.set_flag(Flag::Cf, carry);
                for flag in [Flag::Of, Flag::Sf, Flag::Pf] {
                    let off = self.k(1, 0);
                    self.set_flag(flag, off);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn packed_shift(&mut self) -> Lifted<()> {
        use Mnemonic as N;
        let (width, op) = match self.i.mnemonic() {
            N::Psllw => (16, Bin::Shl),
            N::Pslld => (32, Bin::Shl),
            N::Psllq => (64, Bin::Shl),
            N::Psrlw => (16, Bin::Lshr),
            N::Psrld => (32, Bin::Lshr),
            N::Psrlq => (64, Bin::Lshr),
            N::Psraw => (16, Bin::Ashr),
            _ => (32, Bin::Ashr),
        };
        let a = self.xmm(0)?;
        let count = if self.i.op1_kind() == OpKind::Immediate8 {
            self.k(64, u128::from(self.i.immediate8()))
        } else {
            let source = self.low(1, 128)?;
            self.m.extract(&source, 0, 64)
        };
        // Counts beyond the width shift everything out: clamp, then narrow.
        let limit = self.k(64, u128::from(width));
        let small = self.bin(Bin::Ult, &count, &limit);
        let count = self.m.ite(&small, &count, &limit);
        let count = self.m.extract(&count, 0, width.min(64));
        let lanes = self.lanes(&a, width);
        let shifted: Vec<_> = lanes.iter().map(|l| self.bin(op, l, &count)).collect();
        let value = self.join(&shifted);
        self.write(0, value)
    }
}
