//! What is visible where a statement is being written, and how much the program may still cost.

use super::dice::Dice;
use super::idiom::Idiom;
use super::model::{
    BinOp, Expr, LabelId, Name, Param, ScalarType, Stmt, ValueRange, VarPlace, WeaveCall, WeaveProgram, WovenFunction, WovenType, WovenWord,
};
use super::native::Tongue;

/// Whether the program may assign to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutability {
    Free,
    /// Loop counters (termination depends on them) and flags (they are opaque because nobody writes them).
    Fixed,
}

/// A variable that can be named.
#[derive(Clone, Debug)]
pub struct VarInScope {
    pub name: Name,
    pub ty: WovenType,
    /// What it holds, at any time; for pointers, what they point to.
    pub range: ValueRange,
    pub mutability: Mutability,
}

/// What callers need to know of a finished function.
#[derive(Clone, Debug)]
pub struct Signature {
    pub name: Name,
    pub params: Vec<Param>,
    pub returns: Option<(WovenType, ValueRange)>,
    /// Upper bound of the lines one call executes.
    pub cost: u64,
    pub calls: u32,
}

/// What encloses the statement being written, for the jumps it may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    Loop(LabelId),
    /// A `do` loop or backward goto: break only, since Rust's `continue` would skip the condition.
    BreakOnly(LabelId),
    Label(LabelId),
}

/// A program in the making.
pub struct Maker {
    /// The one language of a wide program, `None` where the model is written in both.
    pub tongue: Option<Tongue>,
    /// What this program mixes into its statements, of all that its language has.
    pub idioms: Vec<Idiom>,
    /// How often each kind of statement is written, and how many of a hundred are idioms.
    pub statement_weights: [usize; 16],
    pub idiom_share: usize,
    pub dice: Dice,
    pub module: WeaveProgram,
    pub signatures: Vec<Signature>,
    pub globals: Vec<VarInScope>,
    pub scope: Vec<VarInScope>,
    pub jumps: Vec<Jump>,
    /// Return type of the function being written.
    pub returns: Option<(WovenType, ValueRange)>,
    /// How often the current statement runs at most, per call.
    pub times: u64,
    /// Cost of the function so far, and what it may cost.
    pub cost: u64,
    pub cost_limit: u64,
    names: u32,
    labels: u32,
}

impl Maker {
    pub fn new(seed: u64) -> Self {
        Self {
            tongue: None,
            idioms: Vec::new(),
            statement_weights: super::swarm::USUAL,
            idiom_share: super::stmt::IDIOM_SHARE,
            dice: Dice::new(seed),
            module: WeaveProgram::default(),
            signatures: Vec::new(),
            globals: Vec::new(),
            scope: Vec::new(),
            jumps: Vec::new(),
            returns: None,
            times: 1,
            cost: 0,
            cost_limit: 0,
            names: 0,
            labels: 0,
        }
    }

    pub fn fresh(&mut self, prefix: &str) -> Name {
        self.names += 1;
        Name::from(format!("{prefix}{}", self.names))
    }

    pub fn label(&mut self) -> LabelId {
        self.labels += 1;
        LabelId(self.labels)
    }

    /// Charges `lines` executed lines at the current nesting.
    pub fn charge(&mut self, lines: u64) {
        self.cost += lines * self.times;
    }

    pub fn affords(&self, lines: u64) -> bool {
        self.cost + lines * self.times <= self.cost_limit
    }

    /// Runs `write` with `times` multiplied, as for the body of a loop.
    pub fn repeated<T>(&mut self, trips: u64, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.times;
        self.times *= trips.max(1);
        let result = write(self);
        self.times = before;
        result
    }

    /// Runs `write` in a scope of its own.
    pub fn scoped<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.scope.len();
        let result = write(self);
        self.scope.truncate(mark);
        result
    }

    /// Every variable that can be named here: inner ones hide outer ones of the same name.
    pub fn visible(&self) -> Vec<VarInScope> {
        let mut seen: Vec<VarInScope> = Vec::new();
        for var in self.scope.iter().rev().chain(self.globals.iter()) {
            if !seen.iter().any(|s| s.name == var.name) {
                seen.push(var.clone());
            }
        }
        seen
    }

    /// A visible variable that satisfies `fits`; nearer ones are likelier.
    pub fn find(&mut self, fits: impl Fn(&VarInScope) -> bool) -> Option<VarInScope> {
        let found: Vec<VarInScope> = self.visible().into_iter().filter(fits).collect();
        if found.is_empty() {
            return None;
        }
        let reach = if self.dice.chance(60) { found.len().min(4) } else { found.len() };
        Some(found[self.dice.below(reach)].clone())
    }

    /// A scalar place to read or to write, with its type and range.
    pub fn place(&mut self, wanted: Option<Mutability>) -> Option<(VarPlace, ScalarType, ValueRange)> {
        let fits = |v: &VarInScope| wanted.is_none() || v.mutability == Mutability::Free;
        let var = self.find(fits)?;
        Some(match var.ty {
            WovenType::Scalar(scalar) => (VarPlace::Var(var.name), scalar, var.range),
            WovenType::Pointer(scalar) => (VarPlace::Deref(var.name), scalar, var.range),
            WovenType::Array(scalar, len) => {
                let index = self.index(len);
                (VarPlace::Index(var.name, Box::new(index)), scalar, scalar.range())
            }
            WovenType::Struct(id) => {
                let fields = self.module.structs[id.0].fields.clone();
                let (field, scalar) = self.dice.pick(&fields).clone();
                (VarPlace::Field(var.name, field), scalar, scalar.range())
            }
        })
    }

    /// An index inside an array of `len` elements: a counter that stays below, or something masked.
    fn index(&mut self, len: usize) -> Expr {
        let inside = ValueRange::new(0, len as i64 - 1);
        let counter = self.find(|v| matches!(v.ty, WovenType::Scalar(_)) && inside.holds(v.range));
        if let (Some(VarInScope { name, ty: WovenType::Scalar(scalar), .. }), true) = (counter, self.dice.chance(70)) {
            return Expr::Load(VarPlace::Var(name), scalar, WovenWord::I32);
        }
        let Some(VarInScope { name, ty: WovenType::Scalar(scalar), .. }) = self.find(|v| matches!(v.ty, WovenType::Scalar(_))) else {
            return Expr::Const(self.dice.between(0, len as i64 - 1), WovenWord::I32);
        };
        let value = Expr::Load(VarPlace::Var(name), scalar, WovenWord::I32);
        Expr::Binary(BinOp::And, Box::new(value), Box::new(Expr::Const(len as i64 - 1, WovenWord::I32)), WovenWord::I32)
    }

    /// Ends a function: its signature becomes callable.
    pub fn finish(&mut self, function: WovenFunction, returns: Option<(WovenType, ValueRange)>) {
        let signature =
            Signature { name: function.name.clone(), params: function.params.clone(), returns, cost: self.cost.max(1) + 1, calls: 0 };
        self.signatures.push(signature);
        self.module.functions.push(function);
        self.scope.clear();
        self.jumps.clear();
    }

    /// Starts a function with these parameters in scope.
    pub fn begin(&mut self, params: &[Param], returns: Option<(WovenType, ValueRange)>, cost_limit: u64) {
        self.scope.clear();
        self.jumps.clear();
        self.returns = returns;
        self.times = 1;
        self.cost = 0;
        self.cost_limit = cost_limit;
        for param in params {
            self.scope.push(VarInScope { name: param.name.clone(), ty: param.ty, range: param.range, mutability: Mutability::Free });
        }
    }

    /// A call of function `index` as a statement that keeps its result where there is one.
    pub fn charge_call(&mut self, index: usize) {
        let cost = self.signatures[index].cost;
        self.charge(cost);
        self.signatures[index].calls += 1;
    }
}

/// Wraps a call whose scalar result is declared as a new variable.
pub fn declare_call(name: Name, ty: WovenType, call: WeaveCall) -> Stmt {
    Stmt::Declare { name, ty, init: super::model::Init::Call(call) }
}
