//! Nodes of the tree.

use crate::{BinaryOp, DeclId, Span, TypeId, UnaryOp};

/// Index of a node in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// Whether a node is text of the file, and so may be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Written out in the file.
    Text,
    /// Comes out of a macro; its span is that of the macro's use.
    Macro,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    // Declarations.
    /// A function; the body, if any, is the last child.
    Function(DeclId),
    /// A variable; the initializer, if any, is a child.
    Variable(DeclId),
    /// A parameter.
    Parameter(DeclId),
    /// Any other declaration: record, enumeration, typedef, static assertion.
    OtherDecl(Option<DeclId>),

    // Statements. Their spans include the closing semicolon.
    /// `{ … }`
    Block,
    /// A declaration in a block.
    DeclStmt,
    /// An expression and its semicolon; the only child is the expression.
    ExprStmt,
    /// Children: condition, then, else if any.
    If,
    /// Children: condition, body.
    While,
    /// Children: body, condition.
    DoWhile,
    /// The parts that are there; the body is the last child.
    For {
        /// First clause.
        init: Option<NodeId>,
        /// Second clause.
        cond: Option<NodeId>,
        /// Third clause.
        step: Option<NodeId>,
    },
    /// Children: subject, body.
    Switch,
    /// Children: value (two for a GNU range), statement.
    Case,
    /// Child: statement.
    Default,
    /// Child: statement.
    Label(String),
    /// `goto name;`
    Goto(String),
    /// `goto *p;`
    IndirectGoto,
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return;` or `return e;`
    Return,
    /// `;`
    Null,
    /// Inline assembly.
    Asm,

    // Expressions.
    /// A name; what it refers to.
    Name(Option<DeclId>),
    /// An integer literal.
    Integer,
    /// A character literal.
    Character,
    /// A floating literal.
    Floating,
    /// A string literal.
    Str,
    /// `( e )`
    Paren,
    /// A unary operator and the span of its token.
    Unary(UnaryOp, Span),
    /// A binary operator and the span of its token.
    Binary(BinaryOp, Span),
    /// An assignment, with the operator of a compound one, and the span of its token.
    Assign(Option<BinaryOp>, Span),
    /// `c ? a : b`
    Conditional,
    /// A written cast.
    Cast,
    /// An implicit conversion or another wrapper that the text does not show.
    Implicit,
    /// A call; the callee is the first child.
    Call,
    /// `e.f` or `p->f`; the member's name.
    Member(String),
    /// `a[i]`
    Index,
    /// `{ … }` in an initializer.
    InitList,
    /// `(T){ … }`
    CompoundLiteral,
    /// `sizeof`, `_Alignof`.
    SizeOf,
    /// `({ … })`
    StmtExpr,
    /// Anything else.
    Other,
}

impl NodeKind {
    /// True for statements, blocks and labels included.
    pub fn is_statement(&self) -> bool {
        use NodeKind::*;
        matches!(
            self,
            Block
                | DeclStmt
                | ExprStmt
                | If
                | While
                | DoWhile
                | For { .. }
                | Switch
                | Case
                | Default
                | Label(_)
                | Goto(_)
                | IndirectGoto
                | Break
                | Continue
                | Return
                | Null
                | Asm
        )
    }

    /// True for declarations.
    pub fn is_declaration(&self) -> bool {
        matches!(self, Self::Function(_) | Self::Variable(_) | Self::Parameter(_) | Self::OtherDecl(_))
    }

    /// True for expressions.
    pub fn is_expression(&self) -> bool {
        !self.is_statement() && !self.is_declaration()
    }

    /// True for the statements that loop.
    pub fn is_loop(&self) -> bool {
        matches!(self, Self::While | Self::DoWhile | Self::For { .. })
    }
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Where it is; of a statement with its semicolon.
    pub span: Span,
    /// Whether it may be edited.
    pub origin: Origin,
    /// The node around it, `None` at file level.
    pub parent: Option<NodeId>,
    /// The nodes in it, in source order.
    pub children: Vec<NodeId>,
    /// The type of an expression or declaration.
    pub ty: Option<TypeId>,
}
