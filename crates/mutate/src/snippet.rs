//! The strategies' templates (4.2, 4.4): what is put at a point, given what is known there.

use crate::dead::{DeadScope, printer};
use crate::dice::MutationDice;
use crate::env::{Env, EnvSlot};
use crate::insertion::{InsertedChange, NewFunction, Strategy};
use crate::local::{self, CallsAllowed};
use crate::point::{InsertPoint, InsertionPlace};
use crate::predicate::syn_pred;
use crate::synthesis::syn_expr;
use trueline_ctree::{Access, NodeKind, SourceUnit, VariableReach};

/// Depth of predicates at most (5.1).
const MAX_DEPTH: usize = 2;

/// Variables that one always-true block changes at most.
const MAX_TARGETS: usize = 3;

/// What is done at a point.
pub(crate) struct Snippet {
    pub(crate) strategy: Strategy,
    pub(crate) change: InsertedChange,
    pub(crate) function: Option<NewFunction>,
}

/// What a snippet is made from.
pub(crate) struct SnippetSite<'a> {
    pub(crate) unit: &'a SourceUnit,
    pub(crate) point: &'a InsertPoint,
    /// Prefix of names that occur nowhere in the program.
    pub(crate) prefix: &'a str,
    /// Number of the insertion, which keeps names of different snippets apart.
    pub(crate) number: u32,
}

impl SnippetSite<'_> {
    /// Makes live code with one of the strategies; which one comes out may differ from the one asked for,
    /// where that does not apply.
    pub(crate) fn live(&self, strategy: Strategy, env: &Env, dice: &mut MutationDice) -> Snippet {
        let (strategy, change) = match strategy {
            Strategy::Local => return self.local(env, dice),
            Strategy::Tg if self.can_guard() => (Strategy::Tg, self.guard(env, dice)),
            Strategy::Tcb => match self.true_block(env, dice) {
                Some(change) => (Strategy::Tcb, change),
                None => (Strategy::Fcb, self.false_block(env, dice)),
            },
            _ => (Strategy::Fcb, self.false_block(env, dice)),
        };
        Snippet { strategy, change, function: None }
    }

    fn local(&self, env: &Env, dice: &mut MutationDice) -> Snippet {
        let inputs: Vec<String> = env.slots.iter().map(|s| s.path.clone()).collect();
        let place = self.place_of_function();
        let calls = if place.is_some() { CallsAllowed::NewFunction } else { CallsAllowed::Nothing };
        let made = local::make(&format!("{}{}_", self.prefix, self.number), &inputs, calls, dice);
        let function = made.function.zip(place).map(|(lines, at)| NewFunction { at, text: lines.join("\n") + "\n" });
        Snippet { strategy: Strategy::Local, change: self.before(made.block), function }
    }

    /// Where another function can be defined: in front of this one, unless something stands there that belongs to it,
    /// such as an attribute.
    fn place_of_function(&self) -> Option<usize> {
        let at = self.unit.node(self.point.function).span.start;
        let before = self.unit.text()[..at].trim_end();
        let ends_something = before.is_empty() || before.ends_with([';', '}']) || before.ends_with("*/");
        let is_directive = before.lines().next_back().is_some_and(|line| line.trim_start().starts_with('#'));
        (ends_something || is_directive).then_some(at)
    }

    /// Whether the statement can be put behind an `if`: declarations would lose their scope, and labels are
    /// jumped to past the guard.
    pub(crate) fn can_guard(&self) -> bool {
        use NodeKind::*;
        !matches!(self.unit.node(self.point.statement).kind, DeclStmt | Label(_) | Case | Default | Null)
    }

    fn predicate(&self, env: &Env, expected: bool, dice: &mut MutationDice) -> String {
        let depth = dice.below(MAX_DEPTH + 1) as u32;
        let text = syn_pred(env, expected, depth, dice).to_string();
        // One pair of parentheses is the statement's own.
        match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(inner) if is_balanced(inner) => inner.to_owned(),
            _ => text,
        }
    }

    fn keyword(dice: &mut MutationDice) -> &'static str {
        if dice.flip() { "if" } else { "while" }
    }

    fn false_block(&self, env: &Env, dice: &mut MutationDice) -> InsertedChange {
        let head = format!("{} ({}) {{", Self::keyword(dice), self.predicate(env, false, dice));
        let mut lines = vec![head];
        lines.extend(DeadScope::at(self.unit, self.point).body(dice).into_iter().map(|l| format!("  {l}")));
        lines.push("}".to_owned());
        self.before(lines)
    }

    fn guard(&self, env: &Env, dice: &mut MutationDice) -> InsertedChange {
        let indent = self.unit.indent(self.point.span.start);
        let predicate = self.predicate(env, true, dice);
        match self.point.place {
            InsertionPlace::Block => InsertedChange::Around(format!("if ({predicate}) {{\n{indent}  "), format!("\n{indent}}}")),
            // An `else` that follows must not become the guard's.
            InsertionPlace::Alone => {
                InsertedChange::Around(format!("{{\n{indent}  if ({predicate}) {{\n{indent}    "), format!("\n{indent}  }}\n{indent}}}"))
            }
        }
    }

    fn true_block(&self, env: &Env, dice: &mut MutationDice) -> Option<InsertedChange> {
        let writable: Vec<EnvSlot> = env.slots.iter().filter(|s| s.access == Access::ReadWrite).cloned().collect();
        if writable.is_empty() {
            return None;
        }
        let count = 1 + dice.below(MAX_TARGETS.min(writable.len()));
        let targets = dice.sample(&writable, count);
        let mut env = env.clone();
        let mut lines = vec!["{".to_owned()];
        let mut backups = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            let (expr, values) = syn_expr(&env, dice);
            let path = format!("{}{}_{i}", self.prefix, self.number);
            lines.push(format!("  {} {path} = {expr};", target.ty.name()));
            let values = values.stored_in(target.ty, None);
            let backup = EnvSlot { path, ty: target.ty, width: None, access: Access::ReadOnly, reach: VariableReach::Local, values };
            env.slots.push(backup.clone());
            backups.push(backup);
        }
        lines.push(format!("  if ({}) {{", self.predicate(&env, true, dice)));
        for (target, backup) in targets.iter().zip(&backups) {
            lines.push(format!("    {} = {};", backup.path, target.path));
            env.set(&backup.path, target.values.clone());
        }
        for target in &targets {
            let (expr, values) = syn_expr(&env, dice);
            lines.push(format!("    {} = {expr};", target.path));
            env.set(&target.path, values.stored_in(target.ty, target.width));
        }
        lines.push(format!("    {} ({}) {{", Self::keyword(dice), self.predicate(&env, false, dice)));
        if dice.chance(0.7) {
            let shown = &targets[dice.below(targets.len())].path;
            lines.push(format!("      {}(\"%d\\n\", (int){shown});", printer(self.unit, self.point.span.start)));
        } else {
            lines.push("      __builtin_abort();".to_owned());
        }
        lines.push("    }".to_owned());
        lines.push("  }".to_owned());
        for (target, backup) in targets.iter().zip(&backups) {
            lines.push(format!("  {} = {};", target.path, backup.path));
        }
        lines.push("}".to_owned());
        Some(self.before(lines))
    }

    /// A change in a region that never runs.
    pub(crate) fn dead(&self, dice: &mut MutationDice) -> Snippet {
        let change = if dice.flip() && self.can_delete() {
            InsertedChange::Delete
        } else {
            let copied = if dice.flip() { self.copied_statement(dice) } else { None };
            self.before(copied.map_or_else(|| DeadScope::at(self.unit, self.point).body(dice), |line| vec![line]))
        };
        Snippet { strategy: Strategy::Dead, change, function: None }
    }

    /// A statement may go when nothing can jump into it and nothing later needs what it declares.
    fn can_delete(&self) -> bool {
        let unit = self.unit;
        let id = self.point.statement;
        if matches!(unit.node(id).kind, NodeKind::DeclStmt | NodeKind::Null) {
            return false;
        }
        let inside = unit.descendants(id);
        inside.iter().all(|&n| match unit.node(n).kind {
            NodeKind::Label(_) => false,
            NodeKind::Case | NodeKind::Default => {
                let switch = unit.ancestors(n).find(|&a| unit.node(a).kind == NodeKind::Switch);
                switch.is_some_and(|s| inside.contains(&s))
            }
            _ => true,
        })
    }

    /// A copy of another expression statement of the function whose names all mean the same here.
    fn copied_statement(&self, dice: &mut MutationDice) -> Option<String> {
        let unit = self.unit;
        let visible = unit.names_in_scope(self.point.span.start);
        let inside = unit.descendants(self.point.function);
        // A copy might name a type that is declared in another block.
        if inside.iter().any(|&n| matches!(unit.node(n).kind, NodeKind::OtherDecl(_))) {
            return None;
        }
        let fits = |&id: &trueline_ctree::NodeId| {
            unit.node(id).kind == NodeKind::ExprStmt
                && unit.is_text(id)
                && unit.descendants(id).iter().all(|&n| match unit.node(n).kind {
                    NodeKind::Name(Some(decl)) => unit.decl(decl).node.is_none() || visible.contains(&decl),
                    NodeKind::StmtExpr => false,
                    _ => true,
                })
        };
        let candidates: Vec<_> = inside.into_iter().filter(fits).collect();
        dice.pick(&candidates).map(|&id| unit.slice(id).to_owned())
    }

    /// Lines in front of the statement, each on a line of its own.
    fn before(&self, lines: Vec<String>) -> InsertedChange {
        let indent = self.unit.indent(self.point.span.start);
        match self.point.place {
            InsertionPlace::Block => InsertedChange::Before(format!("{}\n{indent}", lines.join(&format!("\n{indent}")))),
            InsertionPlace::Alone => {
                let inner = format!("\n{indent}  ");
                InsertedChange::Around(format!("{{{inner}{}{inner}", lines.join(&inner)), format!("\n{indent}}}"))
            }
        }
    }
}

/// True when parentheses match without ever closing more than were opened.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0i32;
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}
