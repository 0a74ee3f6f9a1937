//! Proofs that an expression gives a value, by an SMT solver in a confined process.

use super::meaning::{Extension, Meaning, Operator, Relation, Term, differ, run_expression};
use crate::history::ValueId;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use trueline_machine::algebra::Bin;
use trueline_machine::solver::{Question, Solver, SolverAnswer, equal};
use trueline_machine::term::{Term as Bits, Terms};

/// How long the solver may do nothing before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is known of an expression that stands for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Proof {
    /// They are equal: it is the value itself, or the solver proved it.
    Proved,
    /// No numbers were found that tell them apart, and no solver could be asked or none answered.
    Tried,
    /// They are not equal.
    Refuted,
}

/// The expression that LLVM's salvaging would write for a term: the values it names and its elements. `None` where there are
/// no operators for it.
pub fn express(term: &Term) -> Option<(Vec<ValueId>, Vec<u64>)> {
    const STACK_VALUE: u64 = 0x9f;
    let (mut values, mut elements) = (Vec::new(), Vec::new());
    push(term, &mut values, &mut elements)?;
    elements.push(STACK_VALUE);
    Some((values, elements))
}

fn push(term: &Term, values: &mut Vec<ValueId>, out: &mut Vec<u64>) -> Option<()> {
    const CONVERT: u64 = 0x1001;
    const ARGUMENT: u64 = 0x1005;
    const CONSTANT_SIGNED: u64 = 0x11;
    let convert = |from: u32, to: u32, extension: Extension, out: &mut Vec<u64>| {
        let encoding = if extension == Extension::Sign { 5 } else { 7 };
        out.extend([CONVERT, u64::from(from), encoding, CONVERT, u64::from(to), encoding]);
    };
    match &term.meaning {
        Meaning::Number(number) => {
            let shift = 64 - term.width;
            out.extend([CONSTANT_SIGNED, (((number << shift) as i64) >> shift) as u64]);
        }
        Meaning::Leaf(value) => {
            let index = values.iter().position(|v| v == value).unwrap_or_else(|| {
                values.push(*value);
                values.len() - 1
            });
            out.extend([ARGUMENT, index as u64]);
        }
        Meaning::Operate(operator, a, b) => {
            push(a, values, out)?;
            push(b, values, out)?;
            out.push(match operator {
                Operator::Add => 0x22,
                Operator::Sub => 0x1c,
                Operator::Mul => 0x1e,
                Operator::DivideSigned => 0x1b,
                Operator::RemainderSigned => 0x1d,
                Operator::ShiftLeft => 0x24,
                Operator::ShiftRight => 0x25,
                Operator::ShiftRightSigned => 0x26,
                Operator::And => 0x1a,
                Operator::Or => 0x21,
                Operator::Xor => 0x27,
                Operator::DivideUnsigned | Operator::RemainderUnsigned => return None,
            });
        }
        // There are no operators for these.
        Meaning::FloatCompare(..) | Meaning::Select(..) => return None,
        Meaning::Compare(relation, a, b) => {
            push(a, values, out)?;
            push(b, values, out)?;
            out.push(match relation {
                Relation::Equal => 0x29,
                Relation::NotEqual => 0x2e,
                Relation::LessSigned | Relation::LessUnsigned => 0x2d,
                Relation::AtMostSigned | Relation::AtMostUnsigned => 0x2c,
            });
        }
        Meaning::Extend(extension, a) => {
            push(a, values, out)?;
            convert(a.width, term.width, *extension, out);
        }
        Meaning::Truncate(a) => {
            push(a, values, out)?;
            convert(a.width, term.width, Extension::Zeros, out);
        }
    }
    Some(())
}

/// Whether the expression that salvaging would write gives the term in the lower `bits`, under one reading of narrow values.
pub fn prove_expressible(term: &Rc<Term>, leaves: &BTreeMap<ValueId, Rc<Term>>, bits: u32) -> Proof {
    let Some((values, elements)) = express(term) else { return Proof::Refuted };
    let named: Option<Vec<Rc<Term>>> = values.iter().map(|v| leaves.get(v).cloned()).collect();
    let Some(named) = named else { return Proof::Refuted };
    let mut best = Proof::Refuted;
    for extension in [Extension::Zeros, Extension::Sign] {
        let Some(described) = run_expression(&named, &elements, extension) else { continue };
        if differ(term, &described, bits).is_none() {
            best = best.min(prove(term, &described, bits));
        }
    }
    best
}

/// Asks whether two terms are equal in their lower `bits` wherever the first is defined.
pub fn prove(original: &Term, described: &Term, bits: u32) -> Proof {
    let mut terms = Terms::default();
    let mut builder = Builder { terms: &mut terms, defined: Vec::new() };
    let before = builder.build(original);
    let defined = std::mem::take(&mut builder.defined);
    let after = builder.build(described);
    let bits = bits.min(original.width).min(described.width);
    let (before, after) = (terms.extract(before, 0, bits), terms.extract(after, 0, bits));
    let claim = equal(&mut terms, before, after);
    let mut solver = Solver::find(None, PATIENCE);
    match solver.ask(&mut terms, &[Question { assumptions: defined, claim }]).first() {
        Some(SolverAnswer::Valid) => Proof::Proved,
        Some(SolverAnswer::Refuted) => Proof::Refuted,
        Some(SolverAnswer::Unknown) | None => Proof::Tried,
    }
}

struct Builder<'t> {
    terms: &'t mut Terms,
    /// What must hold for the value to be defined.
    defined: Vec<Bits>,
}

impl Builder<'_> {
    fn build(&mut self, term: &Term) -> Bits {
        match &term.meaning {
            Meaning::Number(number) => self.terms.constant(term.width, u128::from(*number)),
            Meaning::Leaf(value) => self.terms.var(term.width, &format!("{value:?}").replace(['(', ')'], "_")),
            Meaning::Extend(Extension::Zeros, a) => {
                let a = self.build(a);
                self.terms.zext(a, term.width)
            }
            Meaning::Extend(Extension::Sign, a) => {
                let a = self.build(a);
                self.terms.sext(a, term.width)
            }
            Meaning::Select(c, a, b) => {
                let (c, a, b) = (self.build(c), self.build(a), self.build(b));
                self.terms.ite(c, a, b)
            }
            Meaning::Truncate(a) => {
                let a = self.build(a);
                self.terms.extract(a, 0, term.width)
            }
            Meaning::Operate(operator, a, b) => {
                let (a, b) = (self.build(a), self.build(b));
                self.operate(*operator, a, b, term.width)
            }
            Meaning::FloatCompare(predicate, a, b) => self.terms.var(1, &format!("fcmp_{predicate}_{a:?}_{b:?}").replace(['(', ')'], "_")),
            Meaning::Compare(relation, a, b) => {
                let (a, b) = (self.build(a), self.build(b));
                let (op, swapped, negated) = match relation {
                    Relation::Equal => (Bin::Eq, false, false),
                    Relation::NotEqual => (Bin::Eq, false, true),
                    Relation::LessUnsigned => (Bin::Ult, false, false),
                    Relation::AtMostUnsigned => (Bin::Ult, true, true),
                    Relation::LessSigned => (Bin::Slt, false, false),
                    Relation::AtMostSigned => (Bin::Slt, true, true),
                };
                let holds = if swapped { self.terms.bin(op, b, a) } else { self.terms.bin(op, a, b) };
                if negated { self.terms.not(holds) } else { holds }
            }
        }
    }

    fn operate(&mut self, operator: Operator, a: Bits, b: Bits, width: u32) -> Bits {
        let op = match operator {
            Operator::Add => Bin::Add,
            Operator::Sub => Bin::Sub,
            Operator::Mul => Bin::Mul,
            Operator::DivideSigned => Bin::Sdiv,
            Operator::DivideUnsigned => Bin::Udiv,
            Operator::RemainderSigned => Bin::Srem,
            Operator::RemainderUnsigned => Bin::Urem,
            Operator::ShiftLeft => Bin::Shl,
            Operator::ShiftRight => Bin::Lshr,
            Operator::ShiftRightSigned => Bin::Ashr,
            Operator::And => Bin::And,
            Operator::Or => Bin::Or,
            Operator::Xor => Bin::Xor,
        };
        match op {
            Bin::Sdiv | Bin::Udiv | Bin::Srem | Bin::Urem => {
                let zero = self.terms.constant(width, 0);
                let is_zero = self.terms.bin(Bin::Eq, b, zero);
                let allowed = self.terms.not(is_zero);
                self.defined.push(allowed);
            }
            Bin::Shl | Bin::Lshr | Bin::Ashr => {
                let limit = self.terms.constant(width, u128::from(width));
                let allowed = self.terms.bin(Bin::Ult, b, limit);
                self.defined.push(allowed);
            }
            _ => {}
        }
        self.terms.bin(op, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(number: u64, width: u32) -> Rc<Term> {
        Rc::new(Term { width, meaning: Meaning::Leaf(ValueId::Given(number)), poisoned_by: 0 })
    }

    fn operate(operator: Operator, a: &Rc<Term>, b: &Rc<Term>) -> Rc<Term> {
        Rc::new(Term { width: a.width, meaning: Meaning::Operate(operator, Rc::clone(a), Rc::clone(b)), poisoned_by: 0 })
    }

    #[test]
    fn the_expression_that_salvaging_writes_is_proved_to_be_the_value() {
        let (x, y) = (leaf(1, 32), leaf(2, 32));
        let sum = operate(Operator::Sub, &operate(Operator::Mul, &x, &y), &x);
        let wide = sum.resize(64, Extension::Sign);
        let leaves = BTreeMap::from([(ValueId::Given(1), x), (ValueId::Given(2), y)]);
        let proof = prove_expressible(&wide, &leaves, 64);
        assert!(matches!(proof, Proof::Proved | Proof::Tried), "{proof:?}");
        assert_eq!(prove_expressible(&operate(Operator::DivideUnsigned, &wide, &wide), &leaves, 64), Proof::Refuted);
    }

    #[test]
    fn what_differs_in_one_bit_is_refuted_by_the_solver() {
        let x = leaf(1, 32);
        let number = |n| Rc::new(Term { width: 32, meaning: Meaning::Number(n), poisoned_by: 0 });
        let (a, b) = (operate(Operator::Xor, &x, &number(0x4000_0001)), operate(Operator::Xor, &x, &number(1)));
        assert_ne!(prove(&a, &b, 32), Proof::Proved);
        assert_ne!(prove(&a, &b, 30), Proof::Refuted);
    }
}
