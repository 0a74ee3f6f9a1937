//! Lets a self-checking program say more. `if (f () != 42) abort ();` tells one bit, so every mutant of `f`
//! aborts at every level and says nothing; printing what is compared tells the value, and a mutant passes
//! when both levels print the same one.
//!
//! Deliberately absent: values other than numbers, and conditions that come out of macros.

use crate::oracle_code::guarding_conditions;
use trueline_ctree::{CTypeKind, Edits, NodeId, NodeKind, ParseError, SourceUnit, UnaryOp, parse};
use trueline_model::Program;

/// The program with the numbers printed that its checks compare; `None` when it has no such check. It still
/// ends as it did.
pub fn widen(program: &Program) -> Result<Option<Program>, ParseError> {
    let unit = parse(program)?;
    let mut edits = Edits::new();
    for condition in guarding_conditions(&unit) {
        show_leaves(&unit, condition, &mut edits);
    }
    if edits.is_empty() {
        return Ok(None);
    }
    let source = edits.apply(unit.text()).ok();
    Ok(source.map(|source| Program { source, ..program.clone() }))
}

/// Rewrites the comparisons and truth values that a condition is made of.
fn show_leaves(unit: &SourceUnit, id: NodeId, edits: &mut Edits) {
    let id = unit.peel(id);
    let node = unit.node(id);
    if !unit.is_text(id) {
        return;
    }
    match (&node.kind, node.children.as_slice()) {
        (NodeKind::Binary(op, _), [left, right]) if op.is_logical() => {
            show_leaves(unit, *left, edits);
            show_leaves(unit, *right, edits);
        }
        (NodeKind::Unary(UnaryOp::Not, _), [inner]) => show_leaves(unit, *inner, edits),
        (NodeKind::Binary(op, _), [left, right]) if op.is_comparison() => {
            let (Some(a), Some(b)) = (PrintedNumber::of(unit, *left), PrintedNumber::of(unit, *right)) else { return };
            let (left, right) = (unit.slice(*left), unit.slice(*right));
            let text = format!(
                "({{ __typeof__ (+({left})) trueline_a = ({left}); __typeof__ (+({right})) trueline_b = ({right}); {}{}trueline_a {} trueline_b; }})",
                a.print("trueline_a"),
                b.print("trueline_b"),
                op.token()
            );
            edits.replace(node.span, text);
        }
        _ => {
            let Some(number) = PrintedNumber::of(unit, id) else { return };
            let value = unit.slice(id);
            let text = format!("({{ __typeof__ (+({value})) trueline_a = ({value}); {}trueline_a; }})", number.print("trueline_a"));
            edits.replace(node.span, text);
        }
    }
}

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrintedNumber {
    Integer,
    Floating,
}

impl PrintedNumber {
    fn of(unit: &SourceUnit, id: NodeId) -> Option<Self> {
        let ty = unit.ty(unit.node(unit.peel(id)).ty?);
        match &ty.kind {
            CTypeKind::Int(_) | CTypeKind::Enum(_) => Some(Self::Integer),
            CTypeKind::Float(_) => Some(Self::Floating),
            CTypeKind::Other if ty.spelling.ends_with("__int128") => Some(Self::Integer),
            _ => None,
        }
    }

    /// Not through a buffer: what `abort` ends must have been written.
    fn print(self, name: &str) -> String {
        let arguments = match self {
            // Both halves: 128-bit integers have no format of their own.
            Self::Integer => format!("\"%llx:%llx \", (unsigned long long) {name}, (unsigned long long) ({name} >> sizeof ({name}) * 4)"),
            Self::Floating => format!("\"%a \", (double) {name}"),
        };
        format!("extern int dprintf (int, const char *, ...); dprintf (1, {arguments}); ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{Language, Origin};

    fn program(source: &str) -> Program {
        Program {
            name: "check.c".to_owned(),
            language: Language::C,
            source: source.to_owned(),
            origin: Origin::File { path: "check.c".into() },
            cflags: Vec::new(),
        }
    }

    #[test]
    fn checks_print_the_numbers_that_they_compare() {
        let text =
            "extern void abort (void); short f (void); char *p; int main (void) { if (f () != 3 || !p) abort (); if (f ()) return 1; }";
        let widened = widen(&program(text)).unwrap().unwrap().source;
        assert!(widened.contains("trueline_a = (f ())") && widened.contains("trueline_b = (3)"), "{widened}");
        assert!(widened.contains("|| !p) abort ()") && widened.ends_with("if (f ()) return 1; }"), "{widened}");
        assert!(parse(&program(&widened)).is_ok(), "{widened}");
    }

    #[test]
    fn a_program_without_checks_stays() {
        assert_eq!(widen(&program("int main (void) { return 1; }")).unwrap().map(|p| p.source), None);
    }
}
