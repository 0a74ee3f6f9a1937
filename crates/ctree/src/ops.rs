//! The operators of C, read from their tokens. libclang names operators only since version 17, and an
//! exact token range is needed anyway, so both come from the text between the operands.

use std::fmt;

/// A binary operator, assignments apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the operators'")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    LogicalAnd,
    LogicalOr,
    Comma,
}

impl BinaryOp {
    /// Every operator but the comma.
    pub const ALL: [Self; 18] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Rem,
        Self::Shl,
        Self::Shr,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::Eq,
        Self::Ne,
        Self::LogicalAnd,
        Self::LogicalOr,
    ];

    /// As C spells it.
    pub fn token(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::LogicalAnd => "&&",
            Self::LogicalOr => "||",
            Self::Comma => ",",
        }
    }

    /// The operator a token spells, assignments apart.
    pub fn of_token(token: &str) -> Option<Self> {
        if token == "," { Some(Self::Comma) } else { Self::ALL.into_iter().find(|op| op.token() == token) }
    }

    /// True for `< <= > >= == !=`.
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Lt | Self::Le | Self::Gt | Self::Ge | Self::Eq | Self::Ne)
    }

    /// True for `&&` and `||`.
    pub fn is_logical(self) -> bool {
        matches!(self, Self::LogicalAnd | Self::LogicalOr)
    }
}

impl fmt::Display for BinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the operators'")]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    BitNot,
    Deref,
    AddressOf,
    PreIncrement,
    PreDecrement,
    PostIncrement,
    PostDecrement,
    /// `__extension__`, `__real__` and `__imag__`.
    Gnu,
}

impl UnaryOp {
    /// As C spells it.
    pub fn token(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Not => "!",
            Self::BitNot => "~",
            Self::Deref => "*",
            Self::AddressOf => "&",
            Self::PreIncrement | Self::PostIncrement => "++",
            Self::PreDecrement | Self::PostDecrement => "--",
            Self::Gnu => "__extension__",
        }
    }

    /// The prefix operator a token spells.
    pub fn of_prefix(token: &str) -> Option<Self> {
        Some(match token {
            "+" => Self::Plus,
            "-" => Self::Minus,
            "!" => Self::Not,
            "~" => Self::BitNot,
            "*" => Self::Deref,
            "&" => Self::AddressOf,
            "++" => Self::PreIncrement,
            "--" => Self::PreDecrement,
            "__extension__" | "__real__" | "__imag__" | "__real" | "__imag" => Self::Gnu,
            _ => return None,
        })
    }

    /// The postfix operator a token spells.
    pub fn of_postfix(token: &str) -> Option<Self> {
        match token {
            "++" => Some(Self::PostIncrement),
            "--" => Some(Self::PostDecrement),
            _ => None,
        }
    }

    /// True for the four that change their operand.
    pub fn is_step(self) -> bool {
        matches!(self, Self::PreIncrement | Self::PreDecrement | Self::PostIncrement | Self::PostDecrement)
    }
}

impl fmt::Display for UnaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}
