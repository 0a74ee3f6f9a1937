//! Turns libclang's cursors into the owned tree.
//!
//! Three things libclang does not say are read from the text: where a statement's semicolon is, which
//! operator an expression has, and which clauses of a `for` are empty.

#![allow(non_upper_case_globals, reason = "libclang's constants keep their names")]

mod statements;
mod types;

use crate::clang::{Cursor, ParsedSource};
use crate::decl::{Decl, DeclId, DeclKind, DeclLinkage, StorageClass};
use crate::lex::{token_at, tokens};
use crate::node::{NodeId, NodeKind, TextOrigin, TreeNode};
use crate::types::{CType, CTypeId, RecordId, RecordType};
use crate::{BinaryOp, Span, UnaryOp};
use clang_sys::{
    CX_SC_Auto, CX_SC_Extern, CX_SC_PrivateExtern, CX_SC_Register, CX_SC_Static, CXCursor_ArraySubscriptExpr, CXCursor_BinaryOperator,
    CXCursor_CStyleCastExpr, CXCursor_CallExpr, CXCursor_CharacterLiteral, CXCursor_CompoundAssignOperator, CXCursor_CompoundLiteralExpr,
    CXCursor_ConditionalOperator, CXCursor_DeclRefExpr, CXCursor_DeclStmt, CXCursor_EnumConstantDecl, CXCursor_EnumDecl,
    CXCursor_FieldDecl, CXCursor_FloatingLiteral, CXCursor_FunctionDecl, CXCursor_InclusionDirective, CXCursor_InitListExpr,
    CXCursor_IntegerLiteral, CXCursor_MacroDefinition, CXCursor_MacroExpansion, CXCursor_MemberRefExpr, CXCursor_ParenExpr,
    CXCursor_ParmDecl, CXCursor_StaticAssert, CXCursor_StmtExpr, CXCursor_StringLiteral, CXCursor_StructDecl, CXCursor_TypedefDecl,
    CXCursor_UnaryExpr, CXCursor_UnaryOperator, CXCursor_UnexposedDecl, CXCursor_UnexposedExpr, CXCursor_UnexposedStmt, CXCursor_UnionDecl,
    CXCursor_VarDecl, CXCursorKind,
};
use std::collections::HashMap;

/// What the builder leaves behind.
#[derive(Default)]
pub(crate) struct BuiltTables {
    pub(crate) nodes: Vec<TreeNode>,
    pub(crate) decls: Vec<Decl>,
    pub(crate) types: Vec<CType>,
    pub(crate) records: Vec<RecordType>,
    pub(crate) roots: Vec<NodeId>,
}

pub(crate) struct TreeBuilder<'s> {
    session: &'s ParsedSource,
    text: &'s str,
    tables: BuiltTables,
    macros: Vec<Span>,
    types: HashMap<usize, CTypeId>,
    records: HashMap<usize, RecordId>,
    decls: HashMap<usize, DeclId>,
    /// Specifiers of the last declarator: those after it in the same declaration share them.
    last_specifiers: Span,
}

/// What surrounds the node being built.
#[derive(Clone, Copy)]
struct NodeContext {
    parent: Option<NodeId>,
    scope_end: usize,
    linkage: DeclLinkage,
}

impl<'s> TreeBuilder<'s> {
    pub(crate) fn new(session: &'s ParsedSource, text: &'s str) -> Self {
        Self {
            session,
            text,
            tables: BuiltTables::default(),
            macros: Vec::new(),
            types: HashMap::new(),
            records: HashMap::new(),
            decls: HashMap::new(),
            last_specifiers: Span::default(),
        }
    }

    /// Builds everything of the main file.
    pub(crate) fn build(mut self) -> BuiltTables {
        let top = self.session.root().children();
        let (expansions, declarations): (Vec<_>, Vec<_>) = top.into_iter().partition(|c| c.kind() == CXCursor_MacroExpansion);
        self.macros = expansions.iter().filter_map(|c| self.session.span(c)).collect();
        self.macros.sort();
        for cursor in declarations {
            if matches!(cursor.kind(), CXCursor_MacroDefinition | CXCursor_InclusionDirective) {
                continue;
            }
            if let Some(span) = self.session.span(&cursor) {
                let context = NodeContext { parent: None, scope_end: self.text.len(), linkage: DeclLinkage::File };
                let id = self.node(cursor, span, context);
                self.tables.roots.push(id);
            }
        }
        self.tables
    }

    fn push(&mut self, kind: NodeKind, span: Span, parent: Option<NodeId>, ty: Option<CTypeId>) -> NodeId {
        let id = NodeId(self.tables.nodes.len() as u32);
        let origin = self.origin(span);
        self.tables.nodes.push(TreeNode { kind, span, origin, parent, children: Vec::new(), ty });
        id
    }

    /// A node that a macro's use covers, or cuts through, is not text.
    fn origin(&self, span: Span) -> TextOrigin {
        let first = self.macros.partition_point(|m| m.end <= span.start);
        let touching = self.macros[first..].iter().take_while(|m| m.start < span.end);
        let covered = |m: &Span| m.contains(span) || (m.overlaps(span) && !span.contains(*m));
        if touching.into_iter().any(covered) { TextOrigin::Macro } else { TextOrigin::Text }
    }

    fn children(&mut self, cursors: Vec<Cursor<'s>>, context: NodeContext) -> Vec<NodeId> {
        let mut ids = Vec::with_capacity(cursors.len());
        for cursor in cursors {
            // Attributes and type references are no part of the tree: nothing here edits them.
            if is_skipped(cursor.kind()) {
                continue;
            }
            if let Some(span) = self.session.span(&cursor) {
                ids.push(self.node(cursor, span, context));
            }
        }
        ids
    }

    fn node(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> NodeId {
        let kind = cursor.kind();
        if is_declaration(kind) {
            return self.declaration(cursor, span, context);
        }
        if is_statement(kind) {
            return self.statement(cursor, span, context);
        }
        self.expression(cursor, span, context)
    }

    // Declarations.

    fn declaration(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> NodeId {
        let decl = self.declare(cursor, span, context);
        let node_kind = match cursor.kind() {
            CXCursor_FunctionDecl => NodeKind::Function(decl),
            CXCursor_VarDecl => NodeKind::Variable(decl),
            CXCursor_ParmDecl => NodeKind::Parameter(decl),
            _ => NodeKind::OtherDecl(Some(decl)),
        };
        let ty = self.tables.decls[decl.0 as usize].ty;
        let id = self.push(node_kind, span, context.parent, Some(ty));
        self.tables.decls[decl.0 as usize].node = Some(id);
        let inner = NodeContext { parent: Some(id), ..context };
        let children = cursor.children();
        let ids = match cursor.kind() {
            CXCursor_FunctionDecl => {
                let inner = NodeContext { scope_end: span.end, linkage: DeclLinkage::Local, ..inner };
                let ids = self.children(children, inner);
                let body = ids.iter().copied().find(|&n| self.tables.nodes[n.0 as usize].kind == NodeKind::Block);
                let body = body.map_or(Span::at(span.end), |n| self.tables.nodes[n.0 as usize].span);
                for &param in &ids {
                    if let NodeKind::Parameter(decl) = self.tables.nodes[param.0 as usize].kind {
                        self.tables.decls[decl.0 as usize].visible = body;
                    }
                }
                ids
            }
            CXCursor_VarDecl => {
                // Array bounds are children too; only the initializer is an expression of interest.
                let init = cursor.initializer().and_then(|c| self.session.span(&c).map(|s| (c, s)));
                let init = init.map(|(c, s)| self.node(c, s, inner));
                self.tables.decls[decl.0 as usize].init = init;
                init.into_iter().collect()
            }
            CXCursor_EnumDecl | CXCursor_StructDecl | CXCursor_UnionDecl => self.children(children, inner),
            _ => Vec::new(),
        };
        self.tables.nodes[id.0 as usize].children = ids;
        id
    }

    fn declare(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> DeclId {
        let name = cursor.name();
        let at = self.session.location(&cursor).unwrap_or(span.start);
        let named = self.text.get(at..at + name.len()) == Some(name.as_str());
        let name_span = if named { Span::new(at, at + name.len()) } else { Span::at(at) };
        let kind = decl_kind(cursor.kind());
        let visible_from = match kind {
            DeclKind::Function => name_span.end,
            _ => span.end,
        };
        let id = self.new_decl(cursor, context.linkage, name);
        let shared = !self.last_specifiers.is_empty() && self.last_specifiers.start == span.start;
        let specifiers = if shared { self.last_specifiers } else { specifiers(self.text, span, name_span.start) };
        if matches!(kind, DeclKind::Variable | DeclKind::Function | DeclKind::Typedef) {
            self.last_specifiers = specifiers;
        }
        let decl = &mut self.tables.decls[id.0 as usize];
        decl.span = span;
        decl.specifiers = specifiers;
        decl.name_span = name_span;
        decl.visible = Span::new(visible_from.min(context.scope_end), context.scope_end);
        id
    }

    /// Makes (or finds) the declaration of a cursor, positions left out.
    fn new_decl(&mut self, cursor: Cursor<'s>, linkage: DeclLinkage, name: String) -> DeclId {
        if let Some(&id) = self.decls.get(&cursor.key()) {
            // Referred to before it was reached (a record's member, say): the place is known only now.
            self.tables.decls[id.0 as usize].linkage = linkage;
            return id;
        }
        let ty = self.type_id(cursor.ty());
        let id = DeclId(self.tables.decls.len() as u32);
        let storage = match cursor.storage() {
            CX_SC_Static => StorageClass::Static,
            CX_SC_Extern | CX_SC_PrivateExtern => StorageClass::Extern,
            CX_SC_Register => StorageClass::Register,
            CX_SC_Auto => StorageClass::Auto,
            _ => StorageClass::None,
        };
        let first = self.decls.get(&cursor.canonical().key()).copied().unwrap_or(id);
        self.decls.insert(cursor.key(), id);
        self.tables.decls.push(Decl {
            name,
            kind: decl_kind(cursor.kind()),
            ty,
            storage,
            linkage,
            definition: cursor.is_definition(),
            inline: cursor.kind() == CXCursor_FunctionDecl && cursor.is_inline(),
            attributes: cursor.has_attributes(),
            node: None,
            span: Span::default(),
            specifiers: Span::default(),
            name_span: Span::default(),
            init: None,
            visible: Span::default(),
            entity: first,
        });
        id
    }

    fn referenced(&mut self, cursor: Cursor<'s>) -> Option<DeclId> {
        let target = cursor.referenced()?;
        if !is_declaration(target.kind()) {
            return None;
        }
        if let Some(&id) = self.decls.get(&target.key()) {
            return Some(id);
        }
        let name = target.name();
        Some(self.new_decl(target, DeclLinkage::Header, name))
    }

    // Statements.

    // Expressions.

    fn expression(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> NodeId {
        let ty = self.type_id(cursor.ty());
        let id = self.push(NodeKind::Other, span, context.parent, Some(ty));
        let inner = NodeContext { parent: Some(id), ..context };
        let cursors = cursor.children();
        let ids = self.children(cursors, inner);
        let spans: Vec<Span> = ids.iter().map(|n| self.tables.nodes[n.0 as usize].span).collect();
        let kind = match cursor.kind() {
            CXCursor_DeclRefExpr => NodeKind::Name(self.referenced(cursor)),
            CXCursor_IntegerLiteral => NodeKind::Integer,
            CXCursor_CharacterLiteral => NodeKind::Character,
            CXCursor_FloatingLiteral => NodeKind::Floating,
            CXCursor_StringLiteral => NodeKind::Str,
            CXCursor_ParenExpr => NodeKind::Paren,
            CXCursor_UnaryOperator => self.unary(span, &spans).map_or(NodeKind::Other, |(op, at)| NodeKind::Unary(op, at)),
            CXCursor_BinaryOperator | CXCursor_CompoundAssignOperator => self.binary(&spans).unwrap_or(NodeKind::Other),
            CXCursor_ConditionalOperator => NodeKind::Conditional,
            CXCursor_CStyleCastExpr => NodeKind::Cast,
            CXCursor_CallExpr => NodeKind::Call,
            CXCursor_MemberRefExpr => NodeKind::Member(cursor.name()),
            CXCursor_ArraySubscriptExpr => NodeKind::Index,
            CXCursor_InitListExpr => NodeKind::InitList,
            CXCursor_CompoundLiteralExpr => NodeKind::CompoundLiteral,
            CXCursor_UnaryExpr => NodeKind::SizeOf,
            CXCursor_StmtExpr => NodeKind::StmtExpr,
            CXCursor_UnexposedExpr if spans == [span] => NodeKind::Implicit,
            _ => NodeKind::Other,
        };
        let node = &mut self.tables.nodes[id.0 as usize];
        (node.kind, node.children) = (kind, ids);
        id
    }

    fn unary(&self, span: Span, operands: &[Span]) -> Option<(UnaryOp, Span)> {
        let operand = operands.first()?;
        let first = token_at(self.text, span.start)?;
        if first.span.end <= operand.start {
            return Some((UnaryOp::of_prefix(first.text)?, first.span));
        }
        let last = token_at(self.text, operand.end)?;
        (last.span.end <= span.end).then_some((UnaryOp::of_postfix(last.text)?, last.span))
    }

    fn binary(&self, operands: &[Span]) -> Option<NodeKind> {
        let [left, right] = operands else { return None };
        let token = token_at(self.text, left.end)?;
        if token.span.end > right.start {
            return None;
        }
        if let Some(op) = BinaryOp::of_token(token.text) {
            return Some(NodeKind::Binary(op, token.span));
        }
        let stem = token.text.strip_suffix('=')?;
        let op = if stem.is_empty() { None } else { Some(BinaryOp::of_token(stem)?) };
        Some(NodeKind::Assign(op, token.span))
    }

    // Types.
}

fn decl_kind(kind: CXCursorKind) -> DeclKind {
    match kind {
        CXCursor_FunctionDecl => DeclKind::Function,
        CXCursor_ParmDecl => DeclKind::Parameter,
        CXCursor_TypedefDecl => DeclKind::Typedef,
        CXCursor_EnumConstantDecl => DeclKind::EnumConstant,
        CXCursor_EnumDecl => DeclKind::Enum,
        CXCursor_StructDecl | CXCursor_UnionDecl => DeclKind::Record,
        CXCursor_FieldDecl => DeclKind::Field,
        _ => DeclKind::Variable,
    }
}

fn is_declaration(kind: CXCursorKind) -> bool {
    (CXCursor_StructDecl..=CXCursor_TypedefDecl).contains(&kind) || kind == CXCursor_StaticAssert || kind == CXCursor_UnexposedDecl
}

fn is_statement(kind: CXCursorKind) -> bool {
    (CXCursor_UnexposedStmt..=CXCursor_DeclStmt).contains(&kind)
}

fn is_skipped(kind: CXCursorKind) -> bool {
    // References to types, members and labels, and attributes.
    (40..50).contains(&kind) || (400..500).contains(&kind)
}

/// Where the specifiers of a declaration end: before the first `*`, `(` or name of its declarator.
fn specifiers(text: &str, span: Span, name: usize) -> Span {
    let mut end = span.start;
    let mut depth = 0usize;
    let mut takes_parens = false;
    for token in tokens(text, Span::new(span.start, name.max(span.start))) {
        match token.text {
            "(" if depth == 0 && !takes_parens => break,
            "*" if depth == 0 => break,
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            takes_parens = matches!(
                token.text,
                "__attribute__" | "__attribute" | "_Alignas" | "alignas" | "typeof" | "__typeof__" | "__typeof" | "_Atomic" | "__declspec"
            );
        }
        end = token.span.end;
    }
    Span::new(span.start, end)
}
