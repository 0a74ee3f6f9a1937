//! Turns libclang's cursors into the owned tree.
//!
//! Three things libclang does not say are read from the text: where a statement's semicolon is, which
//! operator an expression has, and which clauses of a `for` are empty.

#![allow(non_upper_case_globals, reason = "libclang's constants keep their names")]

use crate::clang::{ClangType, Cursor, ParsedSource};
use crate::decl::{Decl, DeclId, DeclKind, DeclLinkage, StorageClass};
use crate::lex::{TokenKind, token_at, tokens};
use crate::node::{NodeId, NodeKind, TextOrigin, TreeNode};
use crate::types::{
    CType, CTypeId, CTypeKind, DeclaredBy, FloatKind, IntKind, IntType, Quals, RecordField, RecordId, RecordShape, RecordType,
};
use crate::{BinaryOp, Span, UnaryOp};
use clang_sys::{
    CX_SC_Auto, CX_SC_Extern, CX_SC_PrivateExtern, CX_SC_Register, CX_SC_Static, CXCursor_ArraySubscriptExpr, CXCursor_AsmStmt,
    CXCursor_BinaryOperator, CXCursor_BreakStmt, CXCursor_CStyleCastExpr, CXCursor_CallExpr, CXCursor_CaseStmt, CXCursor_CharacterLiteral,
    CXCursor_CompoundAssignOperator, CXCursor_CompoundLiteralExpr, CXCursor_CompoundStmt, CXCursor_ConditionalOperator,
    CXCursor_ContinueStmt, CXCursor_DeclRefExpr, CXCursor_DeclStmt, CXCursor_DefaultStmt, CXCursor_DoStmt, CXCursor_EnumConstantDecl,
    CXCursor_EnumDecl, CXCursor_FieldDecl, CXCursor_FloatingLiteral, CXCursor_ForStmt, CXCursor_FunctionDecl, CXCursor_GotoStmt,
    CXCursor_IfStmt, CXCursor_InclusionDirective, CXCursor_IndirectGotoStmt, CXCursor_InitListExpr, CXCursor_IntegerLiteral,
    CXCursor_LabelStmt, CXCursor_MSAsmStmt, CXCursor_MacroDefinition, CXCursor_MacroExpansion, CXCursor_MemberRefExpr, CXCursor_NullStmt,
    CXCursor_ParenExpr, CXCursor_ParmDecl, CXCursor_ReturnStmt, CXCursor_StaticAssert, CXCursor_StmtExpr, CXCursor_StringLiteral,
    CXCursor_StructDecl, CXCursor_SwitchStmt, CXCursor_TypedefDecl, CXCursor_UnaryExpr, CXCursor_UnaryOperator, CXCursor_UnexposedDecl,
    CXCursor_UnexposedExpr, CXCursor_UnexposedStmt, CXCursor_UnionDecl, CXCursor_VarDecl, CXCursor_WhileStmt, CXCursorKind, CXType_Bool,
    CXType_Char_S, CXType_Char_U, CXType_Char16, CXType_Char32, CXType_ConstantArray, CXType_Double, CXType_Enum, CXType_Float,
    CXType_FunctionNoProto, CXType_FunctionProto, CXType_IncompleteArray, CXType_Int, CXType_Long, CXType_LongDouble, CXType_LongLong,
    CXType_Pointer, CXType_Record, CXType_SChar, CXType_Short, CXType_UChar, CXType_UInt, CXType_ULong, CXType_ULongLong, CXType_UShort,
    CXType_Unexposed, CXType_VariableArray, CXType_Void, CXType_WChar, CXTypeKind,
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

    fn statement(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> NodeId {
        let id = self.push(NodeKind::Null, span, context.parent, None);
        let mut inner = NodeContext { parent: Some(id), ..context };
        if matches!(cursor.kind(), CXCursor_CompoundStmt | CXCursor_ForStmt) {
            inner.scope_end = span.end;
        }
        let cursors = cursor.children();
        let (kind, ids) = match cursor.kind() {
            CXCursor_CompoundStmt => (NodeKind::Block, self.bodies(cursors, inner, 0)),
            CXCursor_DeclStmt => (NodeKind::DeclStmt, self.children(cursors, inner)),
            CXCursor_IfStmt => (NodeKind::If, self.bodies(cursors, inner, 1)),
            CXCursor_WhileStmt => (NodeKind::While, self.bodies(cursors, inner, 1)),
            CXCursor_SwitchStmt => (NodeKind::Switch, self.bodies(cursors, inner, 1)),
            CXCursor_DoStmt => (NodeKind::DoWhile, self.do_while(cursors, inner)),
            CXCursor_ForStmt => self.for_loop(cursors, inner, span),
            CXCursor_CaseStmt => {
                let values = cursors.len().saturating_sub(1);
                (NodeKind::Case, self.bodies(cursors, inner, values))
            }
            CXCursor_DefaultStmt => (NodeKind::Default, self.bodies(cursors, inner, 0)),
            CXCursor_LabelStmt => (NodeKind::Label(cursor.name()), self.bodies(cursors, inner, 0)),
            CXCursor_GotoStmt => (NodeKind::Goto(self.word_after(span, "goto")), Vec::new()),
            CXCursor_IndirectGotoStmt => (NodeKind::IndirectGoto, self.children(cursors, inner)),
            CXCursor_BreakStmt => (NodeKind::Break, Vec::new()),
            CXCursor_ContinueStmt => (NodeKind::Continue, Vec::new()),
            CXCursor_ReturnStmt => (NodeKind::Return, self.children(cursors, inner)),
            CXCursor_NullStmt => (NodeKind::Null, Vec::new()),
            CXCursor_AsmStmt | CXCursor_MSAsmStmt => (NodeKind::Asm, self.children(cursors, inner)),
            // An attributed statement and the like: a wrapper around one statement.
            _ => (NodeKind::Other, self.bodies(cursors, inner, 0)),
        };
        let span = self.with_semicolon(&kind, span, &ids);
        let origin = self.origin(span);
        let node = &mut self.tables.nodes[id.0 as usize];
        (node.kind, node.children, node.span, node.origin) = (kind, ids, span, origin);
        id
    }

    /// Children of which all from the `from`th on are in statement position.
    fn bodies(&mut self, cursors: Vec<Cursor<'s>>, context: NodeContext, from: usize) -> Vec<NodeId> {
        let mut ids = Vec::with_capacity(cursors.len());
        let cursors = cursors.into_iter().filter(|c| !is_skipped(c.kind()));
        for (i, cursor) in cursors.enumerate() {
            let Some(span) = self.session.span(&cursor) else { continue };
            let id = if i >= from { self.body(cursor, span, context) } else { self.node(cursor, span, context) };
            ids.push(id);
        }
        ids
    }

    /// A node in statement position: an expression becomes an expression statement.
    fn body(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> NodeId {
        if is_statement(cursor.kind()) || is_declaration(cursor.kind()) {
            return self.node(cursor, span, context);
        }
        let id = self.push(NodeKind::ExprStmt, span, context.parent, None);
        let expression = self.node(cursor, span, NodeContext { parent: Some(id), ..context });
        let span = self.with_semicolon(&NodeKind::ExprStmt, span, &[]);
        let origin = self.origin(span);
        let node = &mut self.tables.nodes[id.0 as usize];
        (node.children, node.span, node.origin) = (vec![expression], span, origin);
        id
    }

    fn do_while(&mut self, cursors: Vec<Cursor<'s>>, context: NodeContext) -> Vec<NodeId> {
        let mut ids = Vec::new();
        for (i, cursor) in cursors.into_iter().enumerate() {
            let Some(span) = self.session.span(&cursor) else { continue };
            ids.push(if i == 0 { self.body(cursor, span, context) } else { self.node(cursor, span, context) });
        }
        ids
    }

    fn for_loop(&mut self, cursors: Vec<Cursor<'s>>, context: NodeContext, span: Span) -> (NodeKind, Vec<NodeId>) {
        let (first, second) = for_semicolons(self.text, span).unwrap_or((span.start, span.start));
        let (mut init, mut cond, mut step) = (None, None, None);
        let mut ids = Vec::new();
        let count = cursors.len();
        for (i, cursor) in cursors.into_iter().enumerate() {
            let Some(at) = self.session.span(&cursor) else { continue };
            if i + 1 == count {
                ids.push(self.body(cursor, at, context));
                break;
            }
            let id = self.node(cursor, at, context);
            ids.push(id);
            let clause = if at.start < first {
                &mut init
            } else if at.start < second {
                &mut cond
            } else {
                &mut step
            };
            *clause = Some(id);
        }
        (NodeKind::For { init, cond, step }, ids)
    }

    /// Statements end with their semicolon; those that end with another statement end where it ends.
    fn with_semicolon(&self, kind: &NodeKind, span: Span, children: &[NodeId]) -> Span {
        let last = children.last().map(|id| self.tables.nodes[id.0 as usize].span.end);
        match kind {
            NodeKind::If
            | NodeKind::While
            | NodeKind::For { .. }
            | NodeKind::Switch
            | NodeKind::Case
            | NodeKind::Default
            | NodeKind::Label(_)
            | NodeKind::Other => Span::new(span.start, last.unwrap_or(span.end).max(span.end)),
            NodeKind::Block | NodeKind::DeclStmt | NodeKind::Null => span,
            _ => match token_at(self.text, span.end) {
                Some(token) if token.text == ";" => Span::new(span.start, token.span.end),
                _ => span,
            },
        }
    }

    fn word_after(&self, span: Span, word: &str) -> String {
        let mut words = tokens(self.text, span).skip_while(|t| t.text != word).skip(1);
        words.next().filter(|t| t.kind == TokenKind::Word).map_or(String::new(), |t| t.text.to_owned())
    }

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

    fn type_id(&mut self, ty: ClangType<'s>) -> CTypeId {
        let ty = ty.canonical();
        if let Some(&id) = self.types.get(&ty.key()) {
            return id;
        }
        let id = CTypeId(self.tables.types.len() as u32);
        self.types.insert(ty.key(), id);
        // libclang crashes when asked for the size of a placeholder type, as the names of builtins have.
        let size = if ty.kind() == CXType_Unexposed { None } else { ty.size() };
        let placeholder = CType { kind: CTypeKind::Other, quals: Quals::default(), size, spelling: ty.spelling() };
        self.tables.types.push(placeholder);
        let kind = self.type_kind(ty);
        let mut quals = Quals { constant: ty.is_const(), volatile: ty.is_volatile() };
        if let CTypeKind::Array(element, _) = kind {
            let element = self.tables.types[element.0 as usize].quals;
            quals = Quals { constant: quals.constant || element.constant, volatile: quals.volatile || element.volatile };
        }
        let slot = &mut self.tables.types[id.0 as usize];
        (slot.kind, slot.quals) = (kind, quals);
        id
    }

    fn type_kind(&mut self, ty: ClangType<'s>) -> CTypeKind {
        if let Some(int) = int_type(ty.kind()) {
            return CTypeKind::Int(int);
        }
        match ty.kind() {
            CXType_Void => CTypeKind::Void,
            CXType_Float => CTypeKind::Float(FloatKind::Float),
            CXType_Double => CTypeKind::Float(FloatKind::Double),
            CXType_LongDouble => CTypeKind::Float(FloatKind::LongDouble),
            CXType_Enum => int_type(ty.declaration().enum_integer().canonical().kind()).map_or(CTypeKind::Other, CTypeKind::Enum),
            CXType_Pointer => CTypeKind::Pointer(self.type_id(ty.pointee())),
            CXType_ConstantArray => CTypeKind::Array(self.type_id(ty.element()), ty.array_length()),
            CXType_IncompleteArray | CXType_VariableArray => CTypeKind::Array(self.type_id(ty.element()), None),
            CXType_FunctionProto | CXType_FunctionNoProto => CTypeKind::Function {
                result: self.type_id(ty.result()),
                params: ty.arguments().into_iter().map(|a| self.type_id(a)).collect(),
                variadic: ty.is_variadic(),
                prototype: ty.kind() == CXType_FunctionProto,
            },
            CXType_Record => CTypeKind::Record(self.record(ty)),
            _ => CTypeKind::Other,
        }
    }

    fn record(&mut self, ty: ClangType<'s>) -> RecordId {
        let declaration = ty.declaration();
        let key = declaration.canonical().key();
        if let Some(&id) = self.records.get(&key) {
            return id;
        }
        let id = RecordId(self.tables.records.len() as u32);
        self.records.insert(key, id);
        let shape = if declaration.kind() == CXCursor_UnionDecl { RecordShape::Union } else { RecordShape::Struct };
        let declared = self.session.location(&declaration).map_or(DeclaredBy::Elsewhere, |_| DeclaredBy::Here);
        self.tables.records.push(RecordType { name: declaration.name(), shape, declared, fields: Vec::new() });
        let fields = ty.fields().into_iter().map(|field| {
            let ty = self.type_id(field.ty());
            // libclang names what has no name after its place.
            let name = Some(field.name()).filter(|n| n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$'));
            RecordField { name: name.unwrap_or_default(), ty, width: field.bit_width(), offset: field.field_offset() }
        });
        self.tables.records[id.0 as usize].fields = fields.collect();
        id
    }
}

fn int_type(kind: CXTypeKind) -> Option<IntType> {
    let (kind, signed) = match kind {
        CXType_Bool => (IntKind::Bool, false),
        CXType_Char_U | CXType_UChar => (IntKind::Char, false),
        CXType_Char_S | CXType_SChar => (IntKind::Char, true),
        CXType_Char16 | CXType_UShort => (IntKind::Short, false),
        CXType_Short => (IntKind::Short, true),
        CXType_Char32 | CXType_UInt => (IntKind::Int, false),
        CXType_WChar | CXType_Int => (IntKind::Int, true),
        CXType_ULong => (IntKind::Long, false),
        CXType_Long => (IntKind::Long, true),
        CXType_ULongLong => (IntKind::LongLong, false),
        CXType_LongLong => (IntKind::LongLong, true),
        _ => return None,
    };
    Some(IntType { kind, signed })
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

/// The two semicolons in the parentheses of a `for`.
fn for_semicolons(text: &str, span: Span) -> Option<(usize, usize)> {
    let mut depth = 0usize;
    let mut found = Vec::with_capacity(2);
    for token in tokens(text, span) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            ";" if depth == 1 => found.push(token.span.start),
            _ => {}
        }
        if found.len() == 2 {
            return Some((found[0], found[1]));
        }
    }
    None
}
