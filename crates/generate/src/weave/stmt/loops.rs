//! Loops and jumps: counted, shrinking, by `do`, by `goto`.

use super::ends_block;
use crate::weave::expr::fit;
use crate::weave::model::{BinOp, Block, CmpOp, Cond, Expr, Init, ScalarType, Stmt, ValueRange, VarPlace, WovenType, WovenWord};
use crate::weave::scope::{Jump, Maker, Mutability, VarInScope};

impl Maker {
    /// `for`, with a constant or masked bound, up or down, by one or more.
    pub(super) fn counted(&mut self, out: &mut Block, depth: u32) {
        let trips = *self.dice.pick(&[2i64, 3, 4, 4, 6, 8]);
        if !self.affords(trips as u64 * 4) {
            return self.assign(out);
        }
        let scalar = *self.dice.pick(&[ScalarType::I32, ScalarType::I32, ScalarType::U8, ScalarType::U32, ScalarType::I64]);
        let word = scalar.word();
        let var = self.fresh("i");
        let load = || Expr::Load(VarPlace::Var(var.clone()), scalar, word);
        let (from, cond, step, range, bound) = if self.dice.chance(70) || word == WovenWord::U32 || scalar == ScalarType::U8 {
            let step = *self.dice.pick(&[1i64, 1, 1, 2, 3]);
            let (limit, hi) = if self.dice.chance(50) {
                (Expr::Const(trips, word), trips)
            } else {
                let valued = self.leaf(word);
                (fit(valued, ValueRange::new(0, 7), word), 7)
            };
            let compare = if step == 1 && self.dice.chance(20) && matches!(limit, Expr::Const(..)) { CmpOp::Ne } else { CmpOp::Lt };
            (Expr::Const(0, word), Cond::Compare(compare, load(), limit), step, ValueRange::new(0, hi + 2), hi.max(trips))
        } else {
            let cond = Cond::Compare(CmpOp::Gt, load(), Expr::Const(0, word));
            (Expr::Const(trips, word), cond, -1, ValueRange::new(0, trips), trips)
        };
        self.charge(bound as u64 + 1);
        let id = self.label();
        self.jumps.push(Jump::Loop(id));
        // Inside the body the counter has not reached the bound yet.
        let inside = if step > 0 { ValueRange::new(0, (bound - 1).max(0)) } else { range };
        let body = self.repeated(bound as u64, |m| {
            m.scoped(|m| {
                m.scope.push(VarInScope { name: var.clone(), ty: WovenType::Scalar(scalar), range: inside, mutability: Mutability::Fixed });
                let size = 1 + m.dice.below(3);
                m.statements(size, depth + 1)
            })
        });
        self.jumps.pop();
        out.push(Stmt::For { id, var, scalar, from, cond, step, body });
    }

    /// `while` over a value that shrinks at the end of each round.
    pub(super) fn shrinking(&mut self, out: &mut Block, depth: u32) {
        let top = *self.dice.pick(&[3i64, 7, 7, 15]);
        let (op, amount) = *self.dice.pick(&[(BinOp::Sub, 1i64), (BinOp::Shr, 1), (BinOp::Sub, 2), (BinOp::Div, 3)]);
        let trips = if op == BinOp::Sub { top / amount + 1 } else { 4 };
        if !self.affords(trips as u64 * 5) {
            return self.assign(out);
        }
        self.charge(2);
        let name = self.fresh("w");
        let valued = self.expr(WovenWord::I32, 1);
        let init = fit(valued, ValueRange::new(0, top), WovenWord::I32);
        out.push(Stmt::Declare { name: name.clone(), ty: WovenType::Scalar(ScalarType::I32), init: Init::Value(init) });
        // `while (w > 0) { …; w -= 2; }` may end below zero.
        let range = ValueRange::new(-amount, top);
        self.scope.push(VarInScope { name: name.clone(), ty: WovenType::Scalar(ScalarType::I32), range, mutability: Mutability::Fixed });
        let cond = Cond::Compare(
            CmpOp::Gt,
            Expr::Load(VarPlace::Var(name.clone()), ScalarType::I32, WovenWord::I32),
            Expr::Const(0, WovenWord::I32),
        );
        let id = self.label();
        // No `continue`: it would skip the shrinking.
        self.jumps.push(Jump::BreakOnly(id));
        let mut body = self.repeated(trips as u64, |m| {
            m.charge(2);
            let size = 1 + m.dice.below(2);
            m.block(size, depth + 1)
        });
        self.jumps.pop();
        if !ends_block(body.last()) {
            let amount = Expr::Const(amount, WovenWord::I32);
            body.push(Stmt::Update { place: VarPlace::Var(name), scalar: ScalarType::I32, op, value: amount });
        }
        out.push(Stmt::While { id, cond, body });
    }

    /// A counter of its own for loops that test at the end, and the statement that advances it.
    fn rounds(&mut self, out: &mut Block, trips: i64) -> (Stmt, Cond) {
        let name = self.fresh("r");
        let zero = Init::Value(Expr::Const(0, WovenWord::I32));
        out.push(Stmt::Declare { name: name.clone(), ty: WovenType::Scalar(ScalarType::I32), init: zero });
        let range = ValueRange::new(0, trips + 1);
        self.scope.push(VarInScope { name: name.clone(), ty: WovenType::Scalar(ScalarType::I32), range, mutability: Mutability::Fixed });
        let one = Expr::Const(1, WovenWord::I32);
        let advance = Stmt::Update { place: VarPlace::Var(name.clone()), scalar: ScalarType::I32, op: BinOp::Add, value: one };
        let below =
            Cond::Compare(CmpOp::Lt, Expr::Load(VarPlace::Var(name), ScalarType::I32, WovenWord::I32), Expr::Const(trips, WovenWord::I32));
        let cond = if self.dice.chance(40) { Cond::And(Box::new(below), Box::new(self.cond(1))) } else { below };
        (advance, cond)
    }

    pub(super) fn do_while(&mut self, out: &mut Block, depth: u32) {
        let trips = self.dice.between(2, 5);
        if !self.affords(trips as u64 * 5) {
            return self.assign(out);
        }
        let (advance, cond) = self.rounds(out, trips);
        let id = self.label();
        self.jumps.push(Jump::BreakOnly(id));
        let mut body = vec![advance];
        body.extend(self.repeated(trips as u64, |m| {
            m.charge(2);
            let size = 1 + m.dice.below(2);
            m.block(size, depth + 1)
        }));
        self.jumps.pop();
        out.push(Stmt::DoWhile { id, body, cond });
    }

    pub(super) fn goto_backward(&mut self, out: &mut Block, depth: u32) {
        let trips = self.dice.between(2, 4);
        if !self.affords(trips as u64 * 5) {
            return self.assign(out);
        }
        let (advance, cond) = self.rounds(out, trips);
        let id = self.label();
        // C has no loop here to break out of.
        let jumps = std::mem::take(&mut self.jumps);
        let mut body = vec![advance];
        body.extend(self.repeated(trips as u64, |m| {
            m.charge(2);
            m.block(1, depth + 1)
        }));
        self.jumps = jumps;
        out.push(Stmt::Again { id, body, cond });
    }

    pub(super) fn goto_forward(&mut self, out: &mut Block, depth: u32) {
        let id = self.label();
        self.jumps.push(Jump::Label(id));
        let body = self.scoped(|m| {
            let mut body = m.statements(1, depth + 1);
            m.charge(1);
            let cond = m.branch_cond(1);
            body.push(Stmt::If { cond, then: vec![Stmt::Leave(id)], otherwise: Block::new() });
            let size = 1 + m.dice.below(2);
            body.extend(m.statements(size, depth + 1));
            body
        });
        self.jumps.pop();
        out.push(Stmt::Labelled { id, body });
    }

    pub(super) fn switch(&mut self, out: &mut Block, depth: u32) {
        self.charge(1);
        let arms_wanted = self.dice.between(2, 4);
        let valued = self.expr(WovenWord::I32, 1);
        let value = fit(valued, ValueRange::new(0, 7), WovenWord::I32);
        // `break` means the switch here in C: only jumps by label leave the arms.
        let jumps: Vec<Jump> = self.jumps.clone();
        self.jumps.retain(|j| matches!(j, Jump::Label(_)));
        let mut next = 0;
        let mut arms = Vec::new();
        for _ in 0..arms_wanted {
            let mut labels = vec![next];
            next += 1;
            if self.dice.chance(25) {
                labels.push(next);
                next += 1;
            }
            let size = 1 + self.dice.below(2);
            arms.push((labels, self.block(size, depth + 1)));
        }
        let default = self.block(1, depth + 1);
        self.jumps = jumps;
        out.push(Stmt::Switch { value, arms, default });
    }

    /// `break`, `continue`, `goto` or an early `return`, behind a condition.
    pub(super) fn jump(&mut self, out: &mut Block) {
        self.charge(2);
        let jump = self.jumps.last().copied();
        let stmt = match jump {
            Some(Jump::Loop(id)) if self.dice.chance(40) => Stmt::Continue(id),
            Some(Jump::Loop(id) | Jump::BreakOnly(id)) if self.dice.chance(70) => Stmt::Break(id),
            Some(Jump::Label(id)) if self.dice.chance(70) => Stmt::Leave(id),
            _ => match self.returns {
                Some((WovenType::Scalar(scalar), range)) => {
                    let value = self.value_for(scalar, range, 1);
                    Stmt::Return(Some(value))
                }
                _ => return self.assign(out),
            },
        };
        let cond = self.branch_cond(1);
        let mut then = Block::new();
        if self.dice.chance(40) {
            self.assign(&mut then);
        }
        then.push(stmt);
        out.push(Stmt::If { cond, then, otherwise: Block::new() });
    }
}
