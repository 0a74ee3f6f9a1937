//! Instructions that put the lanes of vectors in another order.

use crate::algebra::{Bin, Machine, Place};
use crate::lift::{Lifted, Lifter};
use iced_x86::{Mnemonic, OpKind};

impl<M: Machine> Lifter<'_, M> {
    pub(super) fn shuffle(&mut self) -> Lifted<bool> {
        use Mnemonic as N;
        let m = self.i.mnemonic();
        match m {
            N::Pshufd | N::Pshuflw | N::Pshufhw => {
                let source = self.low(1, 128)?;
                let control = self.i.immediate8();
                let width = if m == N::Pshufd { 32 } else { 16 };
                let lanes = self.lanes(&source, width);
                let pick = |n: usize| usize::from(control >> (2 * n) & 3);
                let order: Vec<usize> = match m {
                    N::Pshufd => (0..4).map(pick).collect(),
                    N::Pshuflw => (0..8).map(|n| if n < 4 { pick(n) } else { n }).collect(),
                    _ => (0..8).map(|n| if n < 4 { n } else { 4 + pick(n - 4) }).collect(),
                };
                let picked: Vec<_> = order.into_iter().map(|n| lanes[n].clone()).collect();
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Shufps | N::Shufpd => {
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let control = usize::from(self.i.immediate8());
                let picked: Vec<_> = if m == N::Shufps {
                    let (x, y) = (self.lanes(&a, 32), self.lanes(&b, 32));
                    vec![x[control & 3].clone(), x[control >> 2 & 3].clone(), y[control >> 4 & 3].clone(), y[control >> 6 & 3].clone()]
                } else {
                    let (x, y) = (self.lanes(&a, 64), self.lanes(&b, 64));
                    vec![x[control & 1].clone(), y[control >> 1 & 1].clone()]
                };
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Punpcklbw
            | N::Punpcklwd
            | N::Punpckldq
            | N::Punpcklqdq
            | N::Unpcklps
            | N::Unpcklpd
            | N::Punpckhbw
            | N::Punpckhwd
            | N::Punpckhdq
            | N::Punpckhqdq
            | N::Unpckhps
            | N::Unpckhpd => {
                let width = match m {
                    N::Punpcklbw | N::Punpckhbw => 8,
                    N::Punpcklwd | N::Punpckhwd => 16,
                    N::Punpckldq | N::Punpckhdq | N::Unpcklps | N::Unpckhps => 32,
                    _ => 64,
                };
                let high = matches!(m, N::Punpckhbw | N::Punpckhwd | N::Punpckhdq | N::Punpckhqdq | N::Unpckhps | N::Unpckhpd);
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let (x, y) = (self.lanes(&a, width), self.lanes(&b, width));
                let half = x.len() / 2;
                let start = if high { half } else { 0 };
                let picked: Vec<_> = (start..start + half).flat_map(|n| [x[n].clone(), y[n].clone()]).collect();
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Palignr => {
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let mut bytes = self.lanes(&b, 8);
                bytes.extend(self.lanes(&a, 8));
                let zero = self.k(8, 0);
                let shift = usize::from(self.i.immediate8());
                let picked: Vec<_> = (shift..shift + 16).map(|n| bytes.get(n).cloned().unwrap_or(zero.clone())).collect();
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Pshufb => {
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let (table, control) = (self.lanes(&a, 8), self.lanes(&b, 8));
                let mut picked = Vec::new();
                for c in &control {
                    let mut value = self.k(8, 0);
                    let index = self.m.extract(c, 0, 4);
                    for (n, entry) in table.iter().enumerate() {
                        let at = self.k(4, n as u128);
                        let hit = self.bin(Bin::Eq, &index, &at);
                        value = self.m.ite(&hit, entry, &value);
                    }
                    let clear = self.sign(c);
                    let zero = self.k(8, 0);
                    picked.push(self.m.ite(&clear, &zero, &value));
                }
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Pextrb | N::Pextrw | N::Pextrd | N::Pextrq | N::Extractps => {
                let width = match m {
                    N::Pextrb => 8,
                    N::Pextrw => 16,
                    N::Pextrq => 64,
                    _ => 32,
                };
                let source = self.xmm(1)?;
                let index = u32::from(self.i.immediate8()) % (128 / width);
                let lane = self.m.extract(&source, index * width, width);
                let lane = if self.i.op0_kind() == OpKind::Register { self.m.zext(&lane, self.operand_width(0)) } else { lane };
                self.write(0, lane)?;
            }
            N::Pinsrb | N::Pinsrw | N::Pinsrd | N::Pinsrq => {
                let width = match m {
                    N::Pinsrb => 8,
                    N::Pinsrw => 16,
                    N::Pinsrq => 64,
                    _ => 32,
                };
                let old = self.xmm(0)?;
                let lane = self.low(1, width)?;
                let mut lanes = self.lanes(&old, width);
                let index = usize::from(self.i.immediate8()) % lanes.len();
                lanes[index] = lane;
                let value = self.join(&lanes);
                self.write(0, value)?;
            }
            N::Insertps => {
                let control = self.i.immediate8();
                let lane = if self.is_xmm(1) {
                    let source = self.xmm(1)?;
                    self.m.extract(&source, u32::from(control >> 6) * 32, 32)
                } else {
                    self.low(1, 32)?
                };
                let old = self.xmm(0)?;
                let mut lanes = self.lanes(&old, 32);
                lanes[usize::from(control >> 4 & 3)] = lane;
                for (n, lane) in lanes.iter_mut().enumerate() {
                    if control >> n & 1 == 1 {
                        *lane = self.m.constant(32, 0);
                    }
                }
                let value = self.join(&lanes);
                self.write(0, value)?;
            }
            N::Blendps | N::Blendpd | N::Pblendw => {
                let width = match m {
                    N::Blendps => 32,
                    N::Blendpd => 64,
                    _ => 16,
                };
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let (x, y) = (self.lanes(&a, width), self.lanes(&b, width));
                let control = self.i.immediate8();
                let picked: Vec<_> = (0..x.len()).map(|n| if control >> n & 1 == 1 { y[n].clone() } else { x[n].clone() }).collect();
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Blendvps | N::Blendvpd | N::Pblendvb => {
                let width = match m {
                    N::Blendvps => 32,
                    N::Blendvpd => 64,
                    _ => 8,
                };
                let mask = self.m.get(Place::Xmm(0));
                let (a, b) = (self.xmm(0)?, self.low(1, 128)?);
                let (x, y, c) = (self.lanes(&a, width), self.lanes(&b, width), self.lanes(&mask, width));
                let picked: Vec<_> = (0..x.len())
                    .map(|n| {
                        let sign = self.sign(&c[n]);
                        self.m.ite(&sign, &y[n], &x[n])
                    })
                    .collect();
                let value = self.join(&picked);
                self.write(0, value)?;
            }
            N::Pmovsxbw
            | N::Pmovsxbd
            | N::Pmovsxbq
            | N::Pmovsxwd
            | N::Pmovsxwq
            | N::Pmovsxdq
            | N::Pmovzxbw
            | N::Pmovzxbd
            | N::Pmovzxbq
            | N::Pmovzxwd
            | N::Pmovzxwq
            | N::Pmovzxdq => {
                let (from, to) = match m {
                    N::Pmovsxbw | N::Pmovzxbw => (8, 16),
                    N::Pmovsxbd | N::Pmovzxbd => (8, 32),
                    N::Pmovsxbq | N::Pmovzxbq => (8, 64),
                    N::Pmovsxwd | N::Pmovzxwd => (16, 32),
                    N::Pmovsxwq | N::Pmovzxwq => (16, 64),
                    _ => (32, 64),
                };
                let signed = matches!(m, N::Pmovsxbw | N::Pmovsxbd | N::Pmovsxbq | N::Pmovsxwd | N::Pmovsxwq | N::Pmovsxdq);
                let source = self.low(1, 128 / to * from)?;
                let lanes = self.lanes(&source, from);
                let wide: Vec<_> = lanes.iter().map(|l| self.extend(l, to, signed)).collect();
                let value = self.join(&wide);
                self.write(0, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
