//! Program points: the places in front of statements where code may be put.

use trueline_ctree::{NodeId, NodeKind, SourceUnit, Span};

/// The place in front of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertPoint {
    /// The statement that can be changed.
    pub statement: NodeId,
    /// The bytes of that statement.
    pub span: Span,
    /// The function that the statement is in.
    pub function: NodeId,
    /// Whether it stands in a block, or alone as the body of something and needs braces to get company.
    pub place: InsertionPlace,
}

/// Where a statement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InsertionPlace {
    /// Among others in a block.
    Block,
    /// Alone: the body of an `if`, a loop, a label.
    Alone,
}

/// Every point of a file, in source order. Statements that macros make, and those in statement
/// expressions, are left out.
pub fn points(unit: &SourceUnit) -> Vec<InsertPoint> {
    let mut all: Vec<InsertPoint> = unit.statements().filter_map(|id| point(unit, id)).collect();
    all.sort_by_key(|p| (p.span.start, std::cmp::Reverse(p.span.end)));
    all
}

fn point(unit: &SourceUnit, id: NodeId) -> Option<InsertPoint> {
    let node = unit.node(id);
    let parent = node.parent?;
    let place = match unit.node(parent).kind {
        NodeKind::Block => InsertionPlace::Block,
        NodeKind::Function(_) => return None,
        ref kind if kind.is_statement() => InsertionPlace::Alone,
        _ => return None,
    };
    // The clauses of a `for` are its children too, and no statements to put code in front of.
    if let NodeKind::For { init, .. } = unit.node(parent).kind
        && init == Some(id)
    {
        return None;
    }
    let clean = |n: NodeId| unit.is_text(n) && unit.node(n).kind != NodeKind::StmtExpr;
    if !clean(id) || !unit.ancestors(id).all(clean) {
        return None;
    }
    let function = unit.enclosing_function(id)?;
    Some(InsertPoint { statement: id, span: node.span, function, place })
}
