//! Statements of the tree: their bodies, and the semicolons that libclang leaves out.

use super::{NodeContext, TreeBuilder, is_declaration, is_skipped, is_statement};
use crate::Span;
use crate::clang::Cursor;
use crate::lex::{TokenKind, token_at, tokens};
use crate::node::{NodeId, NodeKind};
use clang_sys::{
    CXCursor_AsmStmt, CXCursor_BreakStmt, CXCursor_CaseStmt, CXCursor_CompoundStmt, CXCursor_ContinueStmt, CXCursor_DeclStmt,
    CXCursor_DefaultStmt, CXCursor_DoStmt, CXCursor_ForStmt, CXCursor_GotoStmt, CXCursor_IfStmt, CXCursor_IndirectGotoStmt,
    CXCursor_LabelStmt, CXCursor_MSAsmStmt, CXCursor_NullStmt, CXCursor_ReturnStmt, CXCursor_SwitchStmt, CXCursor_WhileStmt,
};

/// The two semicolons in the parentheses of a `for`.
pub(super) fn for_semicolons(text: &str, span: Span) -> Option<(usize, usize)> {
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

impl<'s> TreeBuilder<'s> {
    pub(super) fn statement(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> NodeId {
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
    pub(super) fn body(&mut self, cursor: Cursor<'s>, span: Span, context: NodeContext) -> NodeId {
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
}
