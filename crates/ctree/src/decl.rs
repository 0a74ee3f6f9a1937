//! Declarations: what a name stands for, where it is visible, how it was written.

use crate::{CTypeId, NodeId, Span};

/// Index of a declaration in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeclId(pub(crate) u32);

/// What kind of name it declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are C's")]
pub enum DeclKind {
    Variable,
    Parameter,
    Function,
    Typedef,
    EnumConstant,
    Record,
    Enum,
    Field,
}

/// The storage class as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are C's")]
pub enum StorageClass {
    None,
    Static,
    Extern,
    Register,
    Auto,
}

/// Where a declaration stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeclLinkage {
    /// In an included file: known by name and type only.
    Header,
    /// Declared at the level of the file.
    File,
    /// In a function: its parameters and everything in blocks.
    Local,
}

/// A declaration and everything that is known of the thing it declares.
#[derive(Clone, Debug)]
pub struct Decl {
    /// The name; empty for an unnamed parameter or record.
    pub name: String,
    /// What sort of thing it declares.
    pub kind: DeclKind,
    /// The type of what it declares.
    pub ty: CTypeId,
    /// The storage class that was written, or the default.
    pub storage: StorageClass,
    /// Where the declaration stands and who can see it.
    pub linkage: DeclLinkage,
    /// True when it defines (has a body, reserves storage).
    pub definition: bool,
    /// `inline` on a function.
    pub inline: bool,
    /// True when an attribute is attached (`__attribute__((alias))` and friends).
    pub attributes: bool,
    /// Its node, `None` in a header.
    pub node: Option<NodeId>,
    /// The whole declarator with its specifiers, without the semicolon.
    pub span: Span,
    /// The specifiers and qualifiers in front of the declarator: `static const unsigned int`. Several
    /// declarators of one declaration share them.
    pub specifiers: Span,
    /// The name's own bytes.
    pub name_span: Span,
    /// The expression or list that initializes it.
    pub init: Option<NodeId>,
    /// Where the name can be used, shadowing apart: from the end of the declarator to the end of the block.
    pub visible: Span,
    /// The first declaration of the same thing (itself, mostly).
    pub entity: DeclId,
}
