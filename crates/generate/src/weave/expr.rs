//! Expressions that cannot overflow. Each comes with the interval of its values; where the interval of an
//! operation would leave its word, the operands are masked first. That masking is also what we want to
//! see compiled: demanded-bits simplification drops masks and forgets to tell the debug information.

use super::model::{BinOp, CmpOp, Cond, Expr, GlobalLinkage, ScalarType, TernaryLayout, UnOp, ValueRange, WovenType, WovenWord};
use super::scope::Maker;

/// An expression and what it can be.
pub type Valued = (Expr, ValueRange);

fn binary(op: BinOp, a: Expr, b: Expr, word: WovenWord) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b), word)
}

/// Masks or reduces `value` until it is inside `wanted`.
pub fn fit((expr, range): Valued, wanted: ValueRange, word: WovenWord) -> Expr {
    if wanted.holds(range) {
        return expr;
    }
    if let Expr::Const(value, _) = expr {
        // A masked constant is folded before any optimization runs and says nothing to anybody.
        let span = (wanted.hi - wanted.lo).max(0) as u64 + 1;
        return Expr::Const(wanted.lo + (value.unsigned_abs() % span) as i64, word);
    }
    if wanted.lo < 0 && wanted.hi > 0 && word != WovenWord::U32 {
        let modulus = (-(wanted.lo + 1)).min(wanted.hi) + 1;
        return binary(BinOp::Rem, expr, Expr::Const(modulus, word), word);
    }
    let room = (wanted.hi - wanted.lo.max(0)).max(0) as u64;
    let mask = if room == 0 { 0 } else { ((1u64 << (room + 1).ilog2()) - 1) as i64 };
    let masked = binary(BinOp::And, expr, Expr::Const(mask, word), word);
    if wanted.lo > 0 { binary(BinOp::Add, masked, Expr::Const(wanted.lo, word), word) } else { masked }
}

/// The interval of an operation on exact words, `None` where it may leave the word or is not defined.
fn interval(op: BinOp, a: ValueRange, b: ValueRange, word: WovenWord) -> Option<ValueRange> {
    let wide = |f: fn(i128, i128) -> i128| {
        let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].map(|(x, y)| f(i128::from(x), i128::from(y)));
        let (lo, hi) = (*corners.iter().min()?, *corners.iter().max()?);
        Some(ValueRange::new(i64::try_from(lo).ok()?, i64::try_from(hi).ok()?))
    };
    let result = match op {
        BinOp::Add => wide(|x, y| x + y)?,
        BinOp::Sub => wide(|x, y| x - y)?,
        BinOp::Mul => wide(|x, y| x * y)?,
        BinOp::Div if b.lo > 0 => ValueRange::new(a.lo.min(0), a.hi.max(0)),
        BinOp::Rem if b.lo > 0 => ValueRange::new(if a.lo < 0 { 1 - b.hi } else { 0 }, if a.hi > 0 { b.hi - 1 } else { 0 }),
        BinOp::And if a.lo >= 0 || b.lo >= 0 => {
            let bound = |r: ValueRange| if r.lo >= 0 { r.hi } else { i64::MAX };
            ValueRange::new(0, bound(a).min(bound(b)))
        }
        BinOp::And | BinOp::Or | BinOp::Xor => {
            let mask = a.magnitude_mask().max(b.magnitude_mask());
            ValueRange::new(if a.lo < 0 || b.lo < 0 { -mask - 1 } else { 0 }, mask)
        }
        BinOp::Shl if a.lo >= 0 && b.lo >= 0 && b.hi < 16 => ValueRange::new(0, a.hi.checked_mul(1 << b.hi)?),
        BinOp::Shr if b.lo >= 0 && b.hi < 31 => ValueRange::new(a.lo.min(0), a.hi.max(0)),
        _ => return None,
    };
    word.range().holds(result).then_some(result)
}

impl Maker {
    /// An expression of `word`, at most `depth` operations deep.
    pub fn expr(&mut self, word: WovenWord, depth: u32) -> Valued {
        if depth == 0 || self.dice.chance(15) {
            return self.leaf(word);
        }
        match self.dice.weighted(&[70, 8, 8, 6, 8]) {
            0 => self.operation(word, depth),
            1 => self.select(word, depth),
            2 => {
                let cond = self.cond(depth - 1);
                (Expr::Test(Box::new(cond), word), ValueRange::new(0, 1))
            }
            3 => self.unary(word, depth),
            _ => {
                let other = *self.dice.pick(&[WovenWord::I32, WovenWord::U32, WovenWord::I64]);
                let (expr, range) = self.expr(other, depth - 1);
                if other == word {
                    return (expr, range);
                }
                let range = if word.range().holds(range) { range } else { word.range() };
                (Expr::Convert(Box::new(expr), word), range)
            }
        }
    }

    /// A variable or a constant.
    pub fn leaf(&mut self, word: WovenWord) -> Valued {
        if self.dice.chance(78)
            && let Some(load) = self.load(word)
        {
            return load;
        }
        let value = match self.dice.below(4) {
            0 => self.dice.between(0, 3),
            1 => self.dice.between(1, 31),
            2 => *self.dice.pick(&[7, 15, 31, 63, 127, 255, 511, 1023]),
            _ => self.dice.between(if word == WovenWord::U32 { 0 } else { -99 }, 99),
        };
        (Expr::Const(value, word), ValueRange::new(value, value))
    }

    fn load(&mut self, word: WovenWord) -> Option<Valued> {
        let (place, scalar, range) = self.place(None)?;
        let range = if word.range().holds(range) { range } else { word.range() };
        Some((Expr::Load(place, scalar, word), range))
    }

    /// Like `expr`, but never a bare constant where a variable is in sight: operations on constants alone
    /// are folded by the front ends.
    fn variable(&mut self, word: WovenWord, depth: u32) -> Valued {
        match self.expr(word, depth) {
            (Expr::Const(..), range) if range.lo == range.hi => self.load(word).unwrap_or((Expr::Const(range.lo, word), range)),
            valued => valued,
        }
    }

    fn unary(&mut self, word: WovenWord, depth: u32) -> Valued {
        let (expr, range) = self.variable(word, depth - 1);
        let op = if self.dice.chance(50) { UnOp::Neg } else { UnOp::Not };
        let result = match op {
            _ if word == WovenWord::U32 => WovenWord::U32.range(),
            UnOp::Neg => ValueRange::new(-range.hi, -range.lo),
            UnOp::Not => ValueRange::new(-range.hi - 1, -range.lo - 1),
        };
        if word.range().holds(result) { (Expr::Unary(op, Box::new(expr), word), result) } else { (expr, range) }
    }

    fn operation(&mut self, word: WovenWord, depth: u32) -> Valued {
        const OPS: [BinOp; 10] =
            [BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Div, BinOp::Rem, BinOp::And, BinOp::Or, BinOp::Xor, BinOp::Shl, BinOp::Shr];
        let op = OPS[self.dice.weighted(&[24, 16, 10, 4, 5, 18, 6, 8, 4, 5])];
        let (mut a, mut ra) = self.variable(word, depth - 1);
        let (mut b, mut rb) = self.expr(word, depth - 1);
        // Divisors and shift counts get their range whatever they are.
        let operand = match op {
            BinOp::Div | BinOp::Rem => Some(ValueRange::new(1, *self.dice.pick(&[4, 8, 16]))),
            BinOp::Shl => Some(ValueRange::new(0, 3)),
            BinOp::Shr => Some(ValueRange::new(0, 7)),
            BinOp::And if self.dice.chance(70) => {
                let mask = *self.dice.pick(&[1, 3, 7, 15, 63, 255]);
                (b, rb) = (Expr::Const(mask, word), ValueRange::new(mask, mask));
                None
            }
            _ => None,
        };
        if let Some(range) = operand {
            (b, rb) = (fit((b, rb), range, word), if range.holds(rb) { rb } else { range });
        }
        if word == WovenWord::U32 {
            let result = match op {
                BinOp::And => ValueRange::new(0, ra.hi.min(rb.hi)),
                BinOp::Rem => ValueRange::new(0, rb.hi - 1),
                BinOp::Div | BinOp::Shr => ValueRange::new(0, ra.hi),
                _ => word.range(),
            };
            return (binary(op, a, b, word), result);
        }
        for bits in [12, 6] {
            if let Some(range) = interval(op, ra, rb, word) {
                return (binary(op, a, b, word), range);
            }
            let narrow = ValueRange::new(0, (1 << bits) - 1);
            (a, ra) = (fit((a, ra), narrow, word), if narrow.holds(ra) { ra } else { narrow });
            if operand.is_none() {
                (b, rb) = (fit((b, rb), narrow, word), if narrow.holds(rb) { rb } else { narrow });
            }
        }
        let range = interval(op, ra, rb, word).expect("six-bit operands fit every operation");
        (binary(op, a, b, word), range)
    }

    fn select(&mut self, word: WovenWord, depth: u32) -> Valued {
        let cond = self.cond(depth - 1);
        let (a, ra) = self.expr(word, depth - 1);
        let (b, rb) = self.expr(word, depth - 1);
        (Expr::Select(Box::new(cond), Box::new(a), Box::new(b), TernaryLayout::OneLine), ra.union(rb))
    }

    /// A condition, at most `depth` operations deep.
    pub fn cond(&mut self, depth: u32) -> Cond {
        match self.dice.weighted(&[60, 16, if depth > 0 { 8 } else { 0 }, if depth > 0 { 8 } else { 0 }, 8]) {
            0 => {
                let word = *self.dice.pick(&[WovenWord::I32, WovenWord::I32, WovenWord::I32, WovenWord::U32, WovenWord::I64]);
                let (a, range) = self.variable(word, depth);
                let b = if self.dice.chance(60) {
                    // Inside the interval, so that neither arm is known at compile time.
                    let (lo, hi) = (range.lo.max(-200), range.hi.min(200));
                    Expr::Const(if lo <= hi { self.dice.between(lo, hi) } else { range.lo.max(0) }, word)
                } else {
                    self.leaf(word).0
                };
                const OPS: [CmpOp; 6] = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge];
                Cond::Compare(*self.dice.pick(&OPS), a, b)
            }
            1 => Cond::NonZero(self.variable(WovenWord::I32, depth.min(1)).0),
            2 => Cond::And(Box::new(self.cond(depth - 1)), Box::new(self.cond(depth - 1))),
            3 => Cond::Or(Box::new(self.cond(depth - 1)), Box::new(self.cond(depth - 1))),
            _ => self.opaque(),
        }
    }

    /// A condition for a whole statement, where one volatile read is defined.
    pub fn branch_cond(&mut self, depth: u32) -> Cond {
        let volatile = self.module.globals.iter().find(|g| g.linkage == GlobalLinkage::Volatile).map(|g| g.name.clone());
        match (self.dice.below(100), volatile) {
            (0..8, Some(name)) => Cond::Volatile(name),
            (8..30, _) => self.opaque(),
            (30..35, _) => Cond::Not(Box::new(self.opaque())),
            _ => self.cond(depth),
        }
    }

    /// A condition whose outcome no compiler can know and whose arms the author of a real program would
    /// call configuration: a flag that nobody sets.
    pub fn opaque(&mut self) -> Cond {
        let public = |g: &&super::model::WeaveGlobal| g.linkage == GlobalLinkage::Public && g.name.starts_with("flag");
        let flags: Vec<_> = self.module.globals.iter().filter(public).cloned().collect();
        if flags.is_empty() {
            return Cond::NonZero(self.leaf(WovenWord::I32).0);
        }
        let flag = self.dice.pick(&flags).clone();
        let scalar = match flag.ty {
            WovenType::Scalar(scalar) => scalar,
            _ => ScalarType::I32,
        };
        let load = Expr::Load(super::model::VarPlace::Var(flag.name), scalar, WovenWord::I32);
        match self.dice.below(3) {
            0 => Cond::NonZero(load),
            1 => Cond::Compare(CmpOp::Gt, load, Expr::Const(self.dice.between(0, 2), WovenWord::I32)),
            _ => Cond::Compare(CmpOp::Eq, load, Expr::Const(self.dice.between(0, 2), WovenWord::I32)),
        }
    }

    /// An expression for a place of this type and range.
    pub fn value_for(&mut self, scalar: ScalarType, range: ValueRange, depth: u32) -> Expr {
        let word = scalar.word();
        let valued = self.expr(word, depth);
        // A narrow store truncates by itself, in both languages, and any wrapped u32 is a u32.
        let natural = range == scalar.range() && scalar != ScalarType::I64;
        if natural { valued.0 } else { fit(valued, range, word) }
    }
}
