//! The program model: what C and Rust have in common, and nothing that either leaves undefined.
//!
//! Arithmetic happens in one of three words. `I32` and `I64` are exact: every value carries an interval,
//! and an operation is built only when its interval fits. `U32` wraps, in both languages. Narrow integers
//! exist as variables only; loading widens them and storing truncates them, in both languages alike.

use std::rc::Rc;

/// A name, shared because it is repeated at every use.
pub type Name = Rc<str>;

/// Types of scalar variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
}

impl ScalarType {
    pub const ALL: [Self; 7] = [Self::I8, Self::U8, Self::I16, Self::U16, Self::I32, Self::U32, Self::I64];

    /// The word its values are computed in when nothing asks for another.
    pub fn word(self) -> WovenWord {
        match self {
            Self::U32 => WovenWord::U32,
            Self::I64 => WovenWord::I64,
            _ => WovenWord::I32,
        }
    }

    /// Every value the type can hold.
    pub fn range(self) -> ValueRange {
        match self {
            Self::I8 => ValueRange::new(-128, 127),
            Self::U8 => ValueRange::new(0, 255),
            Self::I16 => ValueRange::new(-32768, 32767),
            Self::U16 => ValueRange::new(0, 65535),
            Self::I32 => WovenWord::I32.range(),
            Self::U32 => WovenWord::U32.range(),
            Self::I64 => WovenWord::I64.range(),
        }
    }
}

/// The types that arithmetic is done in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WovenWord {
    I32,
    U32,
    I64,
}

impl WovenWord {
    /// Every value the word can hold; of `I64` only what leaves room to compute in `i64` ourselves.
    pub fn range(self) -> ValueRange {
        match self {
            Self::I32 => ValueRange::new(i64::from(i32::MIN), i64::from(i32::MAX)),
            Self::U32 => ValueRange::new(0, i64::from(u32::MAX)),
            Self::I64 => ValueRange::new(-(1 << 60), 1 << 60),
        }
    }
}

/// A closed interval of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRange {
    pub lo: i64,
    pub hi: i64,
}

impl ValueRange {
    pub const fn new(lo: i64, hi: i64) -> Self {
        Self { lo, hi }
    }

    pub fn holds(self, other: Self) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    pub fn union(self, other: Self) -> Self {
        Self::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    /// The largest magnitude, as a power of two minus one that covers it.
    pub fn magnitude_mask(self) -> i64 {
        let largest = self.hi.max(if self.lo < 0 { -(self.lo + 1) } else { self.lo }).max(1) as u64;
        (u64::MAX >> largest.leading_zeros()) as i64
    }
}

/// Number of a struct type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructId(pub usize);

/// The types that variables can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WovenType {
    Scalar(ScalarType),
    Struct(StructId),
    /// Length is a power of two, so that a masked index is always inside.
    Array(ScalarType, usize),
    Pointer(ScalarType),
}

/// A place that holds a scalar.
#[derive(Clone, Debug)]
pub enum VarPlace {
    Var(Name),
    Deref(Name),
    Field(Name, Name),
    Index(Name, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Whether a conditional expression is written on one line or on three: arms on lines of their own are
/// what a line table can get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TernaryLayout {
    OneLine,
    ThreeLines,
}

/// A value of some word.
#[derive(Clone, Debug)]
pub enum Expr {
    Const(i64, WovenWord),
    /// A place of a scalar type, read into a word.
    Load(VarPlace, ScalarType, WovenWord),
    Unary(UnOp, Box<Expr>, WovenWord),
    Binary(BinOp, Box<Expr>, Box<Expr>, WovenWord),
    Select(Box<Cond>, Box<Expr>, Box<Expr>, TernaryLayout),
    /// The truth of a condition as 1 or 0.
    Test(Box<Cond>, WovenWord),
    /// Into another word, truncating or extending.
    Convert(Box<Expr>, WovenWord),
}

/// A condition, which is true or false.
#[derive(Clone, Debug)]
pub enum Cond {
    Compare(CmpOp, Expr, Expr),
    NonZero(Expr),
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
    /// A volatile global is not zero. One per condition: two unsequenced volatile reads of one object
    /// would be undefined in C.
    Volatile(Name),
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A value, converted to the parameter's type by the call.
    Value(Expr, ScalarType),
    /// A struct variable, by value.
    Struct(Name),
    /// The address of a variable.
    Address(Name),
    /// The address of an array element.
    Element(Name, Expr),
}

/// A call of an earlier function, or of the function itself.
#[derive(Clone, Debug)]
pub struct WeaveCall {
    pub function: Name,
    pub args: Vec<Arg>,
}

/// What a declared variable starts with. There is always something: uninitialised reads are undefined.
#[derive(Clone, Debug)]
pub enum Init {
    Value(Expr),
    Fields(Vec<Expr>),
    Elements(Vec<i64>),
    Call(WeaveCall),
    ReadVolatile(Name),
}

/// Number of a loop or label, unique in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelId(pub u32);

pub type Block = Vec<Stmt>;

/// A statement of the model, the same for C and Rust.
#[derive(Clone, Debug)]
pub enum Stmt {
    Declare {
        name: Name,
        ty: WovenType,
        init: Init,
    },
    Assign {
        place: VarPlace,
        scalar: ScalarType,
        value: Expr,
    },
    /// `place op= value`, computed in the scalar's word and truncated to it.
    Update {
        place: VarPlace,
        scalar: ScalarType,
        op: BinOp,
        value: Expr,
    },
    WriteVolatile {
        name: Name,
        value: Expr,
    },
    /// The result goes to a scalar place, or nowhere.
    Call {
        into: Option<(VarPlace, ScalarType)>,
        call: WeaveCall,
    },
    If {
        cond: Cond,
        then: Block,
        otherwise: Block,
    },
    /// Counts a variable of its own from `from` while `cond` holds, by `step`.
    For {
        id: LabelId,
        var: Name,
        scalar: ScalarType,
        from: Expr,
        cond: Cond,
        step: i64,
        body: Block,
    },
    While {
        id: LabelId,
        cond: Cond,
        body: Block,
    },
    DoWhile {
        id: LabelId,
        body: Block,
        cond: Cond,
    },
    /// A backward goto in C, a loop in Rust.
    Again {
        id: LabelId,
        body: Block,
        cond: Cond,
    },
    /// A block that `Leave` can jump out of: a forward goto in C, a labelled break in Rust.
    Labelled {
        id: LabelId,
        body: Block,
    },
    Leave(LabelId),
    Break(LabelId),
    Continue(LabelId),
    Switch {
        value: Expr,
        arms: Vec<(Vec<i64>, Block)>,
        default: Block,
    },
    Return(Option<Expr>),
    ReturnVar(Name),
    ReturnCall(WeaveCall),
    Scope(Block),
    /// What only one language has: lines of its text, with blocks of the model between them.
    Native(Vec<LanguageText>),
}

/// A part of text in one language.
#[derive(Clone, Debug)]
pub enum LanguageText {
    /// A line without its indentation: `{` at its end opens a level, `}` at its start closes one.
    Line(String),
    /// Statements of the model, one level deeper when the line before opened one.
    Block(Block),
}

/// A type or function in the text of one language, written in front of a function of the model.
#[derive(Clone, Debug)]
pub struct TextItem {
    /// How many functions of the model come before it.
    pub after: usize,
    pub pieces: Vec<LanguageText>,
    /// What `return` in its blocks gives back.
    pub returns: Option<ScalarType>,
}

/// How hard the compiler is pushed to inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inlining {
    Free,
    Always,
    Never,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: Name,
    pub ty: WovenType,
    /// Arguments stay inside; for pointers, what they point to.
    pub range: ValueRange,
}

#[derive(Clone, Debug)]
pub struct WovenFunction {
    pub name: Name,
    pub params: Vec<Param>,
    pub returns: Option<WovenType>,
    pub inlining: Inlining,
    /// Attributes beyond inlining, as the language writes them in front of the function.
    pub attributes: &'static str,
    pub body: Block,
}

/// Who may change a global behind the optimizer's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalLinkage {
    /// Nobody else sees it: `static` in C.
    Private,
    /// Other units: its value is opaque at compile time although nobody changes it.
    Public,
    /// Anyone at any time.
    Volatile,
}

#[derive(Clone, Debug)]
pub struct WeaveGlobal {
    pub name: Name,
    pub ty: WovenType,
    pub linkage: GlobalLinkage,
    pub range: ValueRange,
    pub init: Vec<i64>,
}

#[derive(Clone, Debug)]
pub struct Struct {
    pub name: Name,
    pub fields: Vec<(Name, ScalarType)>,
}

/// A whole program; the last function is main's body.
#[derive(Clone, Debug, Default)]
pub struct WeaveProgram {
    /// Headers and declarations that natives need, in order of first use.
    pub preamble: Vec<String>,
    pub structs: Vec<Struct>,
    pub globals: Vec<WeaveGlobal>,
    pub functions: Vec<WovenFunction>,
    pub items: Vec<TextItem>,
    /// Global floating-point numbers that main prints, exactly.
    pub reals: Vec<Name>,
    /// Statements of main; the checksum is printed after them.
    pub main: Block,
    /// The global `U32` that is printed.
    pub checksum: Option<Name>,
}
