//! What could be taken out of a file and leave C behind: the moves of a reducer.

use crate::lex::token_at;
use crate::{NodeId, NodeKind, SourceUnit, Span};

/// Declarations that one set of specifiers makes (`int a, *b;`), with their semicolon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclarationGroup {
    /// From the specifiers to the semicolon or the closing brace.
    pub span: Span,
    /// The declarations that go together.
    pub nodes: Vec<NodeId>,
}

/// What a removal does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RemovalKind {
    /// Takes out a file-level declaration or function.
    Declaration,
    /// Takes out a statement.
    Statement,
    /// Replaces a compound statement by what it holds: `if (c) s` by `s`.
    Unwrap,
    /// Takes out an `else` and its statement.
    Else,
    /// Takes out an initializer.
    Initializer,
    /// Replaces an expression by one of its operands.
    Operand,
}

/// One possible simplification of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// What sort of simplification it is.
    pub kind: RemovalKind,
    /// The bytes it replaces.
    pub span: Span,
    /// What stands there afterwards.
    pub replacement: String,
}

impl SourceUnit {
    /// The file-level declarations, grouped as they are written.
    pub fn groups(&self) -> Vec<DeclarationGroup> {
        let mut groups: Vec<DeclarationGroup> = Vec::new();
        for &id in self.roots() {
            let node = self.node(id);
            match groups.last_mut() {
                // Later declarators start at the same specifiers; a record that they define starts behind `typedef`, and comes first.
                Some(group) if node.span.start < group.span.end => {
                    group.span = Span::new(group.span.start.min(node.span.start), group.span.end.max(node.span.end));
                    group.nodes.push(id);
                }
                _ => groups.push(DeclarationGroup { span: node.span, nodes: vec![id] }),
            }
        }
        for group in &mut groups {
            if let Some(token) = token_at(self.text(), group.span.end).filter(|t| t.text == ";") {
                group.span.end = token.span.end;
            }
        }
        groups
    }

    /// Every simplification, large ones first. They overlap: apply one, parse again.
    pub fn removals(&self) -> Vec<Removal> {
        let mut all: Vec<Removal> = Vec::new();
        let mut push = |kind, span, replacement: &str| all.push(Removal { kind, span, replacement: replacement.to_owned() });
        for group in self.groups() {
            push(RemovalKind::Declaration, group.span, "");
        }
        for (id, node) in self.nodes().filter(|&(id, _)| self.is_text(id)) {
            let in_block = node.parent.is_some_and(|p| self.node(p).kind == NodeKind::Block);
            let children = &node.children;
            if node.kind.is_statement() && !self.is_function_body(id) {
                if in_block {
                    push(RemovalKind::Statement, node.span, "");
                } else if node.kind != NodeKind::Null {
                    push(RemovalKind::Statement, node.span, ";");
                }
            }
            match &node.kind {
                NodeKind::If if children.len() == 3 => {
                    let (then, other) = (self.node(children[1]).span, self.node(children[2]).span);
                    push(RemovalKind::Else, Span::new(then.end, other.end), "");
                    push(RemovalKind::Unwrap, node.span, self.slice(children[1]));
                    push(RemovalKind::Unwrap, node.span, self.slice(children[2]));
                }
                NodeKind::If | NodeKind::While | NodeKind::For { .. } | NodeKind::Switch | NodeKind::Label(_) => {
                    if let Some(&body) = children.last() {
                        push(RemovalKind::Unwrap, node.span, self.slice(body));
                    }
                }
                NodeKind::DoWhile => {
                    if let Some(&body) = children.first() {
                        push(RemovalKind::Unwrap, node.span, self.slice(body));
                    }
                }
                NodeKind::Variable(decl) => {
                    if let Some(init) = self.decl(*decl).init {
                        let start = self.text()[..self.node(init).span.start].trim_end().len();
                        if self.text()[..start].ends_with('=') {
                            push(RemovalKind::Initializer, Span::new(start - 1, self.node(init).span.end), "");
                        }
                    }
                }
                NodeKind::Binary(..) | NodeKind::Conditional | NodeKind::Unary(..) | NodeKind::Cast | NodeKind::Call => {
                    // What is called is no operand of its call.
                    let operands = children.iter().skip(usize::from(node.kind == NodeKind::Call));
                    for &operand in operands.filter(|&&c| self.is_text(c) && self.node(c).kind.is_expression()) {
                        push(RemovalKind::Operand, node.span, &format!("({})", self.slice(operand)));
                    }
                }
                _ => {}
            }
        }
        all.sort_by_key(|r| (std::cmp::Reverse(r.span.len() - r.replacement.len().min(r.span.len())), r.span.start));
        all
    }

    fn is_function_body(&self, id: NodeId) -> bool {
        self.node(id).parent.is_some_and(|p| matches!(self.node(p).kind, NodeKind::Function(_)))
    }
}
