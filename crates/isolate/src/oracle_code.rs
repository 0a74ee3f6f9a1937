//! The code by which a program shows its result: mutating it would only blind the oracle.

use trueline_ctree::{NodeId, NodeKind, SourceUnit, Span};

/// Ranges that no mutation touches.
#[derive(Clone, Debug, Default)]
pub struct OracleCode {
    spans: Vec<Span>,
}

impl OracleCode {
    /// Nothing is protected: for crashes and hangs the compiler itself is the oracle.
    pub fn none() -> Self {
        Self::default()
    }

    /// Calls that print or abort with the conditions that guard them, checksum functions, and what `main`
    /// returns.
    pub fn of_output(unit: &SourceUnit) -> Self {
        let mut spans = Vec::new();
        for call in unit.calls().filter(SourceUnit::is_oracle_call) {
            spans.push(unit.node(call.node).span);
            spans.extend(guard(unit, call.node).map(|condition| unit.node(condition).span));
        }
        for (node, decl) in unit.functions() {
            let name = unit.decl(decl).name.to_ascii_lowercase();
            if name.contains("crc") || name.contains("checksum") {
                spans.push(unit.node(node).span);
            }
            if name == "main" {
                let returns = unit.descendants(node).into_iter().filter(|&n| unit.node(n).kind == NodeKind::Return);
                spans.extend(returns.map(|n| unit.node(n).span));
            }
        }
        Self { spans }
    }

    /// Whether any protected byte lies in a range that is not around the protected code as a whole.
    pub fn covers(&self, span: Span) -> bool {
        self.spans.iter().any(|protected| protected.contains(span))
    }
}

/// The conditions that decide whether the program aborts, each once.
pub(crate) fn guarding_conditions(unit: &SourceUnit) -> Vec<NodeId> {
    let aborts =
        |call: &trueline_ctree::CallText| matches!(call.callee.as_deref(), Some("abort" | "__builtin_abort" | "__builtin_trap" | "exit"));
    let mut found: Vec<NodeId> = unit.calls().filter(aborts).filter_map(|call| guard(unit, call.node)).collect();
    found.sort();
    found.dedup();
    found
}

/// The condition of the `if` whose only purpose the call is.
fn guard(unit: &SourceUnit, call: NodeId) -> Option<NodeId> {
    let mut inner = call;
    for outer in unit.ancestors(call) {
        let node = unit.node(outer);
        match node.kind {
            NodeKind::ExprStmt | NodeKind::Implicit | NodeKind::Paren => {}
            NodeKind::Block if node.children.len() == 1 => {}
            NodeKind::If if node.children.first() != Some(&inner) => return node.children.first().copied(),
            _ => return None,
        }
        inner = outer;
    }
    None
}
