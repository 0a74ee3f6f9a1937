//! C as text we may edit: parsing, scopes, types, exact byte ranges, and edits that leave every other
//! byte alone.
//!
//! [`parse`] turns a [`trueline_model::Program`] into a [`SourceUnit`]: an owned tree that knows nothing of
//! libclang any more, so it may be kept, sent between threads and queried at will. [`Edits`] collects
//! insertions, replacements and deletions by byte range and applies them in one go.
//!
//! Deliberately absent: pretty-printing (text is only ever edited, never regenerated), any judgement about
//! what an edit means, and any process except the preprocessor in [`preprocess`].

mod build;
mod clang;
mod decl;
mod edit;
mod lex;
mod node;
mod ops;
mod preprocess;
mod removal;
mod scope;
mod span;
mod types;
mod unit;

pub use decl::{Decl, DeclId, DeclKind, DeclLinkage, StorageClass};
pub use edit::{EditError, Edits};
pub use lex::{Token, TokenKind, read_integer, tokens};
pub use node::{NodeId, NodeKind, TextOrigin, TreeNode};
pub use ops::{BinaryOp, UnaryOp};
pub use preprocess::{PreprocessError, StubHeaders, needs_preprocessing, preprocess};
pub use removal::{DeclarationGroup, Removal, RemovalKind};
pub use scope::{Access, Lvalue, VariableReach};
pub use span::Span;
pub use types::{CTypeId, CTypeKind, IntKind, IntType};
pub use unit::{CallText, ParseError, SourceUnit, parse, parse_text};
