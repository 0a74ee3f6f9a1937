//! Statements. Loops end by construction: a counter that only the loop changes, against a bound that is
//! masked or constant.

mod loops;

use super::expr::fit;
use super::model::{
    Arg, BinOp, Block, Expr, GlobalLinkage, Init, LabelId, ScalarType, Stmt, TernaryLayout, ValueRange, VarPlace, WeaveCall, WovenType,
    WovenWord,
};
use super::scope::{Maker, Mutability, VarInScope};

/// Deepest nesting of blocks; more makes programs long, not interesting.
pub const MAX_DEPTH: u32 = 3;

/// Of a hundred statements of a wide program, how many are idioms of its language.
pub const IDIOM_SHARE: usize = 16;

/// The statements that have blocks, among the kinds of statements.
pub const NESTING: std::ops::Range<usize> = 3..11;

impl Maker {
    /// About `n` statements in a scope of their own.
    pub fn block(&mut self, n: usize, depth: u32) -> Block {
        self.scoped(|m| m.statements(n, depth))
    }

    /// About `n` statements in the current scope.
    pub fn statements(&mut self, n: usize, depth: u32) -> Block {
        let mut block = Block::new();
        for _ in 0..n {
            if !self.affords(2) {
                break;
            }
            self.statement(&mut block, depth);
            if ends_block(block.last()) {
                break;
            }
        }
        if block.is_empty() {
            self.assign(&mut block);
        }
        block
    }

    /// Writes one statement, sometimes with a declaration before it.
    pub fn statement(&mut self, out: &mut Block, depth: u32) {
        if self.tongue.is_some() && self.dice.chance(self.idiom_share) && self.idiom(out, depth) {
            return;
        }
        let mut weights = self.statement_weights;
        if depth >= MAX_DEPTH {
            weights[NESTING].fill(0);
        }
        match self.dice.weighted(&weights) {
            0 => self.declare(out),
            1 => self.assign(out),
            2 => self.update(out),
            3 => self.branch(out, depth),
            4 => self.counted(out, depth),
            5 => self.shrinking(out, depth),
            6 => self.do_while(out, depth),
            7 => self.switch(out, depth),
            8 => self.goto_forward(out, depth),
            9 => self.goto_backward(out, depth),
            10 => self.shadowing(out, depth),
            11 => self.call_some(out),
            12 => self.volatile(out),
            13 => self.ternary(out),
            14 => self.jump(out),
            _ => self.checksum(out),
        }
    }

    /// A type for a new scalar with the range it keeps.
    pub fn scalar(&mut self) -> (ScalarType, ValueRange) {
        let scalar = ScalarType::ALL[self.dice.weighted(&[8, 12, 10, 10, 42, 10, 8])];
        let range = match scalar {
            ScalarType::I32 => {
                *self.dice.pick(&[ValueRange::new(-999, 999), ValueRange::new(0, 255), ValueRange::new(0, 15), scalar.range()])
            }
            ScalarType::I64 => *self.dice.pick(&[ValueRange::new(-99_999, 99_999), ValueRange::new(0, 4095)]),
            _ => scalar.range(),
        };
        (scalar, range)
    }

    /// Declares a scalar and puts it into scope.
    pub fn declare(&mut self, out: &mut Block) {
        self.charge(1);
        if self.dice.chance(12) {
            return self.declare_aggregate(out);
        }
        let (scalar, range) = self.scalar();
        let value = self.value_for(scalar, range, 2);
        let name = self.fresh("v");
        out.push(Stmt::Declare { name: name.clone(), ty: WovenType::Scalar(scalar), init: Init::Value(value) });
        self.scope.push(VarInScope { name, ty: WovenType::Scalar(scalar), range, mutability: Mutability::Free });
    }

    fn declare_aggregate(&mut self, out: &mut Block) {
        if !self.module.structs.is_empty() && self.dice.chance(55) {
            let id = super::model::StructId(self.dice.below(self.module.structs.len()));
            self.declare_struct(out, id);
            return;
        }
        let scalar = *self.dice.pick(&[ScalarType::U8, ScalarType::I16, ScalarType::I32, ScalarType::U32]);
        let len = *self.dice.pick(&[4usize, 8]);
        let elements = (0..len).map(|_| self.dice.between(0, 99)).collect();
        let name = self.fresh("arr");
        out.push(Stmt::Declare { name: name.clone(), ty: WovenType::Array(scalar, len), init: Init::Elements(elements) });
        self.scope.push(VarInScope { name, ty: WovenType::Array(scalar, len), range: scalar.range(), mutability: Mutability::Free });
    }

    /// Declares a struct variable with a value for each field.
    pub fn declare_struct(&mut self, out: &mut Block, id: super::model::StructId) -> super::model::Name {
        let fields = self.module.structs[id.0].fields.clone();
        let values = fields.iter().map(|(_, scalar)| self.value_for(*scalar, scalar.range(), 1)).collect();
        let name = self.fresh("s");
        out.push(Stmt::Declare { name: name.clone(), ty: WovenType::Struct(id), init: Init::Fields(values) });
        let range = ValueRange::new(0, 0);
        self.scope.push(VarInScope { name: name.clone(), ty: WovenType::Struct(id), range, mutability: Mutability::Free });
        name
    }

    /// An assignment, `place = value`, to something that may be written.
    pub fn assign(&mut self, out: &mut Block) {
        self.charge(1);
        match self.place(Some(Mutability::Free)) {
            Some((place, scalar, range)) => {
                let value = self.value_for(scalar, range, 2);
                out.push(Stmt::Assign { place, scalar, value });
            }
            None => self.declare(out),
        }
    }

    /// `place op= value` where truncation or wrapping keeps the place's range.
    fn update(&mut self, out: &mut Block) {
        self.charge(1);
        let wraps = |s: ScalarType| matches!(s, ScalarType::I8 | ScalarType::U8 | ScalarType::I16 | ScalarType::U16 | ScalarType::U32);
        let target = (0..3).find_map(|_| self.place(Some(Mutability::Free)).filter(|(_, s, _)| wraps(*s)));
        let Some((place, scalar, _)) = target else { return self.assign(out) };
        let op = *self.dice.pick(&[BinOp::Add, BinOp::Add, BinOp::Sub, BinOp::Xor, BinOp::And, BinOp::Or]);
        let word = scalar.word();
        let valued = self.expr(word, 1);
        let value = if word == WovenWord::U32 { valued.0 } else { fit(valued, ValueRange::new(-4095, 4095), word) };
        out.push(Stmt::Update { place, scalar, op, value });
    }

    /// `if`, with arms on lines of their own; an arm that only a flag reaches is dead at run time.
    fn branch(&mut self, out: &mut Block, depth: u32) {
        self.charge(1);
        let cond = self.branch_cond(2);
        let size = 1 + self.dice.below(3);
        let then = self.block(size, depth + 1);
        let otherwise = if self.dice.chance(45) {
            let size = 1 + self.dice.below(2);
            self.block(size, depth + 1)
        } else {
            Block::new()
        };
        out.push(Stmt::If { cond, then, otherwise });
    }

    /// A block whose variable hides one of the same name outside.
    fn shadowing(&mut self, out: &mut Block, depth: u32) {
        let hidden: Vec<VarInScope> =
            self.scope.iter().filter(|v| matches!(v.ty, WovenType::Scalar(_)) && is_identifier(&v.name)).cloned().collect();
        if hidden.is_empty() {
            return self.declare(out);
        }
        let hidden = self.dice.pick(&hidden).name.clone();
        let (scalar, range) = self.scalar();
        // In C the new name is visible in its own initialiser: it must not be read there.
        let saved = std::mem::take(&mut self.scope);
        self.scope = saved.iter().filter(|v| v.name != hidden).cloned().collect();
        let value = self.value_for(scalar, range, 2);
        self.scope = saved;
        self.charge(1);
        let body = self.scoped(|m| {
            let mut body = vec![Stmt::Declare { name: hidden.clone(), ty: WovenType::Scalar(scalar), init: Init::Value(value) }];
            m.scope.push(VarInScope { name: hidden, ty: WovenType::Scalar(scalar), range, mutability: Mutability::Free });
            let size = 1 + m.dice.below(3);
            body.extend(m.statements(size, depth + 1));
            body
        });
        out.push(Stmt::Scope(body));
    }

    fn volatile(&mut self, out: &mut Block) {
        self.charge(1);
        let globals: Vec<_> = self.module.globals.iter().filter(|g| g.linkage == GlobalLinkage::Volatile).map(|g| g.name.clone()).collect();
        let Some(name) = globals.first().cloned() else { return self.assign(out) };
        let sinks: Vec<_> = globals.iter().filter(|g| g.starts_with("sink")).cloned().collect();
        if !sinks.is_empty() && self.dice.chance(55) {
            let value = self.expr(WovenWord::I32, 2).0;
            out.push(Stmt::WriteVolatile { name: self.dice.pick(&sinks).clone(), value });
        } else {
            let fresh = self.fresh("v");
            out.push(Stmt::Declare { name: fresh.clone(), ty: WovenType::Scalar(ScalarType::I32), init: Init::ReadVolatile(name) });
            let range = ScalarType::I32.range();
            self.scope.push(VarInScope { name: fresh, ty: WovenType::Scalar(ScalarType::I32), range, mutability: Mutability::Free });
        }
    }

    /// An assignment of a conditional expression on three lines.
    fn ternary(&mut self, out: &mut Block) {
        self.charge(2);
        let Some((place, scalar, range)) = self.place(Some(Mutability::Free)) else { return self.declare(out) };
        let cond = if self.dice.chance(50) { self.opaque() } else { self.cond(1) };
        let a = self.value_for(scalar, range, 1);
        let b = self.value_for(scalar, range, 1);
        let value = Expr::Select(Box::new(cond), Box::new(a), Box::new(b), TernaryLayout::ThreeLines);
        out.push(Stmt::Assign { place, scalar, value });
    }

    /// Folds something into what main prints.
    pub fn checksum(&mut self, out: &mut Block) {
        self.charge(1);
        let Some(name) = self.module.checksum.clone() else { return self.assign(out) };
        let load = Expr::Load(VarPlace::Var(name.clone()), ScalarType::U32, WovenWord::U32);
        let scaled = Expr::Binary(BinOp::Mul, Box::new(load), Box::new(Expr::Const(31, WovenWord::U32)), WovenWord::U32);
        let (value, _) = self.expr(WovenWord::U32, 1);
        let value = Expr::Binary(BinOp::Add, Box::new(scaled), Box::new(value), WovenWord::U32);
        out.push(Stmt::Assign { place: VarPlace::Var(name), scalar: ScalarType::U32, value });
    }

    /// A call of some earlier function that is still affordable, or an assignment.
    pub fn call_some(&mut self, out: &mut Block) {
        let affordable: Vec<usize> = (0..self.signatures.len()).filter(|i| self.affords(self.signatures[*i].cost)).collect();
        if affordable.is_empty() {
            return self.assign(out);
        }
        let index = *self.dice.pick(&affordable);
        self.call(out, index);
    }

    /// Calls function `index`; its result becomes a new variable or goes into an old one.
    pub fn call(&mut self, out: &mut Block, index: usize) {
        self.charge_call(index);
        let signature = self.signatures[index].clone();
        let mut args = Vec::new();
        for param in &signature.params {
            args.push(self.argument(out, param.ty, param.range));
        }
        self.charge(1);
        let call = WeaveCall { function: signature.name, args };
        let Some((ty, range)) = signature.returns else {
            out.push(Stmt::Call { into: None, call });
            return;
        };
        if let WovenType::Scalar(scalar) = ty
            && self.dice.chance(45)
        {
            let target = self.find(|v| v.ty == ty && v.range.holds(range) && v.mutability == Mutability::Free);
            if let Some(var) = target {
                out.push(Stmt::Call { into: Some((VarPlace::Var(var.name), scalar)), call });
                return;
            }
        }
        let name = self.fresh("v");
        out.push(super::scope::declare_call(name.clone(), ty, call));
        self.scope.push(VarInScope { name, ty, range, mutability: Mutability::Free });
    }

    fn argument(&mut self, out: &mut Block, ty: WovenType, range: ValueRange) -> Arg {
        match ty {
            WovenType::Scalar(scalar) => {
                let depth = self.dice.below(2) as u32;
                Arg::Value(self.value_for(scalar, range, depth), scalar)
            }
            WovenType::Pointer(scalar) => {
                let wide = |v: &VarInScope| {
                    let scalar_fits = v.ty == WovenType::Scalar(scalar) && v.range == scalar.range();
                    let array_fits = matches!(v.ty, WovenType::Array(s, _) if s == scalar);
                    v.mutability == Mutability::Free && (scalar_fits || array_fits)
                };
                match self.find(wide) {
                    Some(VarInScope { name, ty: WovenType::Array(_, len), .. }) => {
                        Arg::Element(name, Expr::Const(self.dice.between(0, len as i64 - 1), WovenWord::I32))
                    }
                    Some(var) => Arg::Address(var.name),
                    None => {
                        let value = self.value_for(scalar, scalar.range(), 1);
                        let name = self.fresh("v");
                        out.push(Stmt::Declare { name: name.clone(), ty: WovenType::Scalar(scalar), init: Init::Value(value) });
                        let ty = WovenType::Scalar(scalar);
                        self.scope.push(VarInScope { name: name.clone(), ty, range: scalar.range(), mutability: Mutability::Free });
                        Arg::Address(name)
                    }
                }
            }
            WovenType::Struct(_) | WovenType::Array(..) => match self.find(|v| v.ty == ty) {
                Some(var) => Arg::Struct(var.name),
                None => match ty {
                    WovenType::Struct(id) => Arg::Struct(self.declare_struct(out, id)),
                    _ => unreachable!("arrays are passed by element address"),
                },
            },
        }
    }
}

/// Whether a name can be declared: wide programs also have places such as `s3.m1` in scope.
fn is_identifier(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// True after a statement that control never passes.
pub fn ends_block(last: Option<&Stmt>) -> bool {
    let jumps = |s: &Stmt| {
        matches!(s, Stmt::Return(_) | Stmt::ReturnVar(_) | Stmt::ReturnCall(_) | Stmt::Leave(_) | Stmt::Break(_) | Stmt::Continue(_))
    };
    last.is_some_and(jumps)
}

/// The loop or label a jump statement names, for back ends that number only what is used.
pub fn target_of(stmt: &Stmt) -> Option<LabelId> {
    match stmt {
        Stmt::Leave(id) | Stmt::Break(id) | Stmt::Continue(id) => Some(*id),
        _ => None,
    }
}
