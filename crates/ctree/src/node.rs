//! Nodes of the tree.

use crate::{BinaryOp, CTypeId, DeclId, Span, UnaryOp};

/// Index of a node in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// Whether a node is text of the file, and so may be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextOrigin {
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
    /// A parameter of a function or prototype.
    Parameter(DeclId),
    /// Any other declaration: record, enumeration, typedef, static assertion.
    OtherDecl(Option<DeclId>),

    // Statements. Their spans include the closing semicolon.
    /// A block: `{ … }` with its statements.
    Block,
    /// A declaration in a block.
    DeclStmt,
    /// An expression and its semicolon; the only child is the expression.
    ExprStmt,
    /// Children: condition, then, else if any.
    If,
    /// `while`; children are the condition and the body.
    While,
    /// `do … while`; children are the body and the condition.
    DoWhile,
    /// The parts that are there; the body is the last child.
    For {
        /// The first clause: a declaration or an expression.
        init: Option<NodeId>,
        /// The second clause: the condition of the loop.
        cond: Option<NodeId>,
        /// The third clause: what each round ends with.
        step: Option<NodeId>,
    },
    /// `switch`; children are the subject and the body.
    Switch,
    /// Children: value (two for a GNU range), statement.
    Case,
    /// `default:`; its child is the statement behind it.
    Default,
    /// A label by its name; its child is the statement behind it.
    Label(String),
    /// A jump to a label: `goto name;`
    Goto(String),
    /// A jump to a computed address: `goto *p;`
    IndirectGoto,
    /// The statement `break;` of a loop or switch.
    Break,
    /// The statement `continue;` of a loop.
    Continue,
    /// `return;` or `return e;`
    Return,
    /// The empty statement, a lone `;`
    Null,
    /// Inline assembly, whose text is not looked into.
    Asm,

    // Expressions.
    /// A name; what it refers to.
    Name(Option<DeclId>),
    /// An integer literal as it is written.
    Integer,
    /// A character literal as it is written.
    Character,
    /// A floating literal as it is written.
    Floating,
    /// A string literal, adjacent ones joined.
    Str,
    /// An expression in parentheses: `( e )`
    Paren,
    /// A unary operator and the span of its token.
    Unary(UnaryOp, Span),
    /// A binary operator and the span of its token.
    Binary(BinaryOp, Span),
    /// An assignment, with the operator of a compound one, and the span of its token.
    Assign(Option<BinaryOp>, Span),
    /// `c ? a : b`
    Conditional,
    /// A cast that the program writes out.
    Cast,
    /// An implicit conversion or another wrapper that the text does not show.
    Implicit,
    /// A call; the callee is the first child.
    Call,
    /// `e.f` or `p->f`; the member's name.
    Member(String),
    /// An element of an array: `a[i]`
    Index,
    /// `{ … }` in an initializer.
    InitList,
    /// A compound literal: `(T){ … }`
    CompoundLiteral,
    /// `sizeof` or `_Alignof` of a type or expression.
    SizeOf,
    /// A statement expression of GNU C: `({ … })`
    StmtExpr,
    /// Anything else, kept as text only.
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

    /// True for nodes that declare something.
    pub fn is_declaration(&self) -> bool {
        matches!(self, Self::Function(_) | Self::Variable(_) | Self::Parameter(_) | Self::OtherDecl(_))
    }

    /// True for nodes that have a value.
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
pub struct TreeNode {
    /// What sort of node it is.
    pub kind: NodeKind,
    /// Where it is; of a statement with its semicolon.
    pub span: Span,
    /// Whether it may be edited.
    pub origin: TextOrigin,
    /// The node around it, `None` at file level.
    pub parent: Option<NodeId>,
    /// The nodes in it, in source order.
    pub children: Vec<NodeId>,
    /// The type of an expression or declaration.
    pub ty: Option<CTypeId>,
}
