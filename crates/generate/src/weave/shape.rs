//! Shapes of functions: each is a frame that some optimization is known to rebuild, filled with random
//! statements. Which shapes make compilers err is measured, not guessed; see docs/weave.md.

use super::expr::fit;
use super::model::{
    Arg, BinOp, Block, CmpOp, Cond, Expr, Init, Inlining, Name, Param, ScalarType, Stmt, StructId, ValueRange, VarPlace, WeaveCall,
    WovenFunction, WovenType, WovenWord,
};
use super::scope::{Maker, Mutability, VarInScope};
use super::stmt::ends_block;

/// Lines one call of a helper may execute at most.
pub const HELPER_COST: u64 = 90;

/// The shapes, with the optimizations they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeaveShape {
    /// Random statements: scopes, branches, loops.
    Plain,
    /// A few lines with narrow masked parameters, to be inlined and simplified.
    Masked,
    /// Writes through pointer parameters; inlined, the pointers vanish.
    Pointer,
    /// Calls itself last: becomes a loop, then an unrolled one.
    TailRecursive,
    /// Several returns of similar values: they get merged.
    EarlyReturn,
    /// A loop over an array with a test that does not change in it: unswitched, vectorised.
    Kernel,
    /// Takes a struct by value and returns one: split into scalars.
    Struct,
    /// One switch whose arms assign or return: becomes a table or selects.
    Dispatch,
}

impl WeaveShape {
    pub const ALL: [Self; 8] =
        [Self::Plain, Self::Masked, Self::Pointer, Self::TailRecursive, Self::EarlyReturn, Self::Kernel, Self::Struct, Self::Dispatch];
}

fn load(name: &Name, scalar: ScalarType, word: WovenWord) -> Expr {
    Expr::Load(VarPlace::Var(name.clone()), scalar, word)
}

impl Maker {
    /// Writes one function of the shape.
    pub fn function(&mut self, shape: WeaveShape) {
        match shape {
            WeaveShape::Plain => self.plain(),
            WeaveShape::Masked => self.masked(),
            WeaveShape::Pointer => self.pointer(),
            WeaveShape::TailRecursive => self.tail_recursive(),
            WeaveShape::EarlyReturn => self.early_return(),
            WeaveShape::Kernel => self.kernel(),
            WeaveShape::Struct => self.by_value(),
            WeaveShape::Dispatch => self.dispatch(),
        }
    }

    pub fn inlining(&mut self) -> Inlining {
        match self.dice.below(10) {
            0..5 => Inlining::Free,
            5..8 => Inlining::Always,
            _ => Inlining::Never,
        }
    }

    pub fn scalar_param(&mut self) -> Param {
        let (scalar, range) = self.scalar();
        Param { name: self.fresh("p"), ty: WovenType::Scalar(scalar), range }
    }

    pub fn result(&mut self) -> (ScalarType, ValueRange) {
        let scalar = *self.dice.pick(&[ScalarType::I32, ScalarType::I32, ScalarType::U8, ScalarType::I16, ScalarType::U32]);
        (scalar, if scalar == ScalarType::I32 { ValueRange::new(-9999, 9999) } else { scalar.range() })
    }

    /// A return value made of several variables, so that they stay alive to the end.
    pub fn return_mix(&mut self, body: &mut Block, scalar: ScalarType, range: ValueRange) {
        if ends_block(body.last()) {
            return;
        }
        self.charge(1);
        let value = self.value_for(scalar, range, 2);
        body.push(Stmt::Return(Some(value)));
    }

    pub fn emit(&mut self, prefix: &str, params: Vec<Param>, returns: Option<(WovenType, ValueRange)>, inlining: Inlining, body: Block) {
        let name = self.fresh(prefix);
        self.emit_named(name, params, returns, inlining, body);
    }

    fn emit_named(&mut self, name: Name, params: Vec<Param>, returns: Option<(WovenType, ValueRange)>, inlining: Inlining, body: Block) {
        let function = WovenFunction { name, params, returns: returns.map(|(ty, _)| ty), inlining, attributes: self.attributes(), body };
        self.finish(function, returns);
    }

    fn plain(&mut self) {
        let params: Vec<Param> = (0..=self.dice.below(3)).map(|_| self.scalar_param()).collect();
        let (scalar, range) = self.result();
        self.begin(&params, Some((WovenType::Scalar(scalar), range)), HELPER_COST);
        let mut body = Block::new();
        self.declare(&mut body);
        let size = 3 + self.dice.below(5);
        body.extend(self.statements(size, 1));
        self.return_mix(&mut body, scalar, range);
        let inlining = self.inlining();
        self.emit("plain", params, Some((WovenType::Scalar(scalar), range)), inlining, body);
    }

    fn masked(&mut self) {
        let mut params = Vec::new();
        for _ in 0..=self.dice.below(3) {
            let scalar =
                *self.dice.pick(&[ScalarType::U8, ScalarType::I8, ScalarType::U16, ScalarType::I16, ScalarType::I32, ScalarType::U32]);
            let range = if scalar == ScalarType::I32 {
                *self.dice.pick(&[ValueRange::new(0, 15), ValueRange::new(0, 255)])
            } else {
                scalar.range()
            };
            params.push(Param { name: self.fresh("p"), ty: WovenType::Scalar(scalar), range });
        }
        let (scalar, range) = self.result();
        self.begin(&params, Some((WovenType::Scalar(scalar), range)), HELPER_COST);
        let mut body = Block::new();
        for param in params.clone() {
            let WovenType::Scalar(scalar) = param.ty else { continue };
            if self.dice.chance(45) {
                self.charge(1);
                let mask = Expr::Const(*self.dice.pick(&[1, 3, 7, 15, 31, 127]), scalar.word());
                let other = self.expr(scalar.word(), 1).0;
                let value = Expr::Binary(BinOp::And, Box::new(other), Box::new(mask), scalar.word());
                let value =
                    if scalar == ScalarType::I32 { fit((value, ValueRange::new(0, 127)), param.range, WovenWord::I32) } else { value };
                body.push(Stmt::Assign { place: VarPlace::Var(param.name), scalar, value });
            }
        }
        let size = 1 + self.dice.below(2);
        body.extend(self.statements(size, 2));
        self.return_mix(&mut body, scalar, range);
        let inlining = if self.dice.chance(60) { Inlining::Free } else { Inlining::Always };
        self.emit("masked", params, Some((WovenType::Scalar(scalar), range)), inlining, body);
    }

    fn pointer(&mut self) {
        let mut params = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let scalar = *self.dice.pick(&[ScalarType::I32, ScalarType::U32, ScalarType::I16, ScalarType::U8]);
            params.push(Param { name: self.fresh("p"), ty: WovenType::Pointer(scalar), range: scalar.range() });
        }
        params.push(self.scalar_param());
        self.begin(&params, None, HELPER_COST);
        let mut body = Block::new();
        if self.dice.chance(50) {
            self.declare(&mut body);
        }
        for param in params.clone() {
            if let WovenType::Pointer(scalar) = param.ty {
                self.charge(1);
                let value = self.value_for(scalar, scalar.range(), 2);
                let store = Stmt::Assign { place: VarPlace::Deref(param.name), scalar, value };
                if self.dice.chance(40) {
                    self.charge(1);
                    let cond = self.branch_cond(1);
                    body.push(Stmt::If { cond, then: vec![store], otherwise: Block::new() });
                } else {
                    body.push(store);
                }
            }
        }
        let size = 1 + self.dice.below(3);
        body.extend(self.statements(size, 1));
        let inlining = self.inlining();
        self.emit("pointer", params, None, inlining, body);
    }

    fn tail_recursive(&mut self) {
        let depth = *self.dice.pick(&[3i64, 5, 7]);
        let counter = Param { name: self.fresh("n"), ty: WovenType::Scalar(ScalarType::I32), range: ValueRange::new(0, depth) };
        let (acc_scalar, acc_range) = *self.dice.pick(&[
            (ScalarType::U32, ScalarType::U32.range()),
            (ScalarType::I32, ValueRange::new(-9999, 9999)),
            (ScalarType::U8, ScalarType::U8.range()),
        ]);
        let acc = Param { name: self.fresh("acc"), ty: WovenType::Scalar(acc_scalar), range: acc_range };
        let mut params = vec![counter.clone(), acc.clone()];
        if self.dice.chance(40) {
            params.push(self.scalar_param());
        }
        let name = self.fresh("tail");
        let returns = Some((WovenType::Scalar(acc_scalar), acc_range));
        self.begin(&params, returns, HELPER_COST);
        self.scope[0].mutability = Mutability::Fixed;
        let mut body = Block::new();
        let done = Cond::Compare(CmpOp::Le, load(&counter.name, ScalarType::I32, WovenWord::I32), Expr::Const(0, WovenWord::I32));
        let base = load(&acc.name, acc_scalar, acc_scalar.word());
        body.push(Stmt::If { cond: done, then: vec![Stmt::Return(Some(base))], otherwise: Block::new() });
        self.repeated(depth as u64 + 1, |m| {
            m.charge(3);
            let size = 1 + m.dice.below(3);
            body.extend(m.statements(size, 2));
            let mut args = Vec::new();
            for param in &params {
                let WovenType::Scalar(scalar) = param.ty else { continue };
                // Past the test above the counter is at least one, so that one less is in its range.
                let value = if param.name == counter.name {
                    let n = load(&counter.name, ScalarType::I32, WovenWord::I32);
                    Expr::Binary(BinOp::Sub, Box::new(n), Box::new(Expr::Const(1, WovenWord::I32)), WovenWord::I32)
                } else {
                    m.value_for(scalar, param.range, 2)
                };
                args.push(Arg::Value(value, scalar));
            }
            body.push(Stmt::ReturnCall(WeaveCall { function: name.clone(), args }));
        });
        let inlining = if self.dice.chance(70) { Inlining::Free } else { Inlining::Never };
        self.emit_named(name, params, returns, inlining, body);
    }

    fn early_return(&mut self) {
        let params: Vec<Param> = (0..2 + self.dice.below(2)).map(|_| self.scalar_param()).collect();
        let (scalar, range) = self.result();
        self.begin(&params, Some((WovenType::Scalar(scalar), range)), HELPER_COST);
        let mut body = Block::new();
        self.declare(&mut body);
        let shared = self.value_for(scalar, range, 1);
        for _ in 0..2 + self.dice.below(3) {
            self.charge(3);
            let cond = self.branch_cond(1);
            let mut then = Block::new();
            if self.dice.chance(55) {
                self.assign(&mut then);
            }
            // Often the same value again: equal tails are what cross-jumping merges.
            let value = if self.dice.chance(50) { shared.clone() } else { self.value_for(scalar, range, 1) };
            then.push(Stmt::Return(Some(value)));
            body.push(Stmt::If { cond, then, otherwise: Block::new() });
            if self.dice.chance(60) {
                self.assign(&mut body);
            }
        }
        body.push(Stmt::Return(Some(shared)));
        let inlining = self.inlining();
        self.emit("early", params, Some((WovenType::Scalar(scalar), range)), inlining, body);
    }

    fn kernel(&mut self) {
        let len = *self.dice.pick(&[8usize, 8, 16]);
        let arrays: Vec<VarInScope> = self.globals.iter().filter(|g| matches!(g.ty, WovenType::Array(_, l) if l >= len)).cloned().collect();
        if arrays.is_empty() {
            return self.plain();
        }
        let params: Vec<Param> = (0..=self.dice.below(2)).map(|_| self.scalar_param()).collect();
        let (scalar, range) = (ScalarType::U32, ScalarType::U32.range());
        self.begin(&params, Some((WovenType::Scalar(scalar), range)), HELPER_COST * 2);
        let mut body = Block::new();
        let acc = self.fresh("acc");
        let zero = Init::Value(Expr::Const(self.dice.between(0, 9), WovenWord::U32));
        body.push(Stmt::Declare { name: acc.clone(), ty: WovenType::Scalar(scalar), init: zero });
        self.scope.push(VarInScope { name: acc.clone(), ty: WovenType::Scalar(scalar), range, mutability: Mutability::Free });
        let target = self.dice.pick(&arrays).clone();
        let WovenType::Array(element, _) = target.ty else { return self.plain() };
        let step = if self.dice.chance(70) { 1 } else { 2 };
        let trips = len as u64 / step;
        self.charge(trips + 3);
        let var = self.fresh("i");
        let id = self.label();
        let inner = self.repeated(trips, |m| {
            m.scoped(|m| {
                let counter = ValueRange::new(0, len as i64 - 1);
                m.scope.push(VarInScope {
                    name: var.clone(),
                    ty: WovenType::Scalar(ScalarType::I32),
                    range: counter,
                    mutability: Mutability::Fixed,
                });
                let mut inner = Block::new();
                let at = || VarPlace::Index(target.name.clone(), Box::new(load(&var, ScalarType::I32, WovenWord::I32)));
                m.charge(2);
                let value = m.value_for(element, element.range(), 2);
                let write = Stmt::Assign { place: at(), scalar: element, value };
                let sum = Stmt::Update {
                    place: VarPlace::Var(acc.clone()),
                    scalar,
                    op: BinOp::Add,
                    value: Expr::Load(at(), element, WovenWord::U32),
                };
                match m.dice.below(3) {
                    // The condition does not change in the loop: unswitching.
                    0 => {
                        let cond = m.opaque();
                        m.charge(1);
                        inner.push(Stmt::If { cond, then: vec![write], otherwise: vec![sum] });
                    }
                    1 => {
                        inner.push(write);
                        inner.push(sum);
                    }
                    _ => {
                        inner.push(sum);
                        let size = 1 + m.dice.below(2);
                        inner.extend(m.statements(size, 2));
                    }
                }
                inner
            })
        });
        let cond = Cond::Compare(CmpOp::Lt, load(&var, ScalarType::I32, WovenWord::I32), Expr::Const(len as i64, WovenWord::I32));
        body.push(Stmt::For {
            id,
            var,
            scalar: ScalarType::I32,
            from: Expr::Const(0, WovenWord::I32),
            cond,
            step: step as i64,
            body: inner,
        });
        if self.dice.chance(50) {
            body.extend(self.statements(1, 2));
        }
        body.push(Stmt::Return(Some(load(&acc, scalar, WovenWord::U32))));
        let inlining = self.inlining();
        self.emit("kernel", params, Some((WovenType::Scalar(scalar), range)), inlining, body);
    }

    fn by_value(&mut self) {
        if self.module.structs.is_empty() {
            return self.plain();
        }
        let id = StructId(self.dice.below(self.module.structs.len()));
        let fields = self.module.structs[id.0].fields.clone();
        let subject = Param { name: self.fresh("s"), ty: WovenType::Struct(id), range: ValueRange::new(0, 0) };
        let mut params = vec![subject.clone(), self.scalar_param()];
        if self.dice.chance(30) {
            params.swap(0, 1);
        }
        let returns = Some((WovenType::Struct(id), ValueRange::new(0, 0)));
        self.begin(&params, returns, HELPER_COST);
        let mut body = Block::new();
        for (field, scalar) in &fields {
            if self.dice.chance(60) {
                self.charge(1);
                let value = self.value_for(*scalar, scalar.range(), 2);
                body.push(Stmt::Assign { place: VarPlace::Field(subject.name.clone(), field.clone()), scalar: *scalar, value });
            }
        }
        let size = 1 + self.dice.below(2);
        body.extend(self.statements(size, 1));
        self.charge(1);
        body.push(Stmt::ReturnVar(subject.name.clone()));
        let inlining = self.inlining();
        self.emit("by_value", params, returns, inlining, body);
    }

    fn dispatch(&mut self) {
        let params: Vec<Param> = (0..2).map(|_| self.scalar_param()).collect();
        let (scalar, range) = self.result();
        self.begin(&params, Some((WovenType::Scalar(scalar), range)), HELPER_COST);
        let mut body = Block::new();
        let out = self.fresh("v");
        let start = self.value_for(scalar, range, 1);
        self.charge(3);
        body.push(Stmt::Declare { name: out.clone(), ty: WovenType::Scalar(scalar), init: Init::Value(start) });
        self.scope.push(VarInScope { name: out.clone(), ty: WovenType::Scalar(scalar), range, mutability: Mutability::Free });
        let WovenType::Scalar(selector) = params[0].ty else { return };
        let value = fit((load(&params[0].name, selector, WovenWord::I32), WovenWord::I32.range()), ValueRange::new(0, 7), WovenWord::I32);
        let mut arms = Vec::new();
        for label in 0..self.dice.between(3, 5) {
            self.charge(1);
            let set = self.value_for(scalar, range, 1);
            let mut arm = vec![Stmt::Assign { place: VarPlace::Var(out.clone()), scalar, value: set }];
            if self.dice.chance(30) {
                arm.extend(self.block(1, 2));
            }
            arms.push((vec![label], arm));
        }
        let default = self.block(1, 2);
        body.push(Stmt::Switch { value, arms, default });
        if self.dice.chance(50) {
            body.extend(self.statements(1, 2));
        }
        body.push(Stmt::Return(Some(load(&out, scalar, scalar.word()))));
        let inlining = self.inlining();
        self.emit("dispatch", params, Some((WovenType::Scalar(scalar), range)), inlining, body);
    }
}
