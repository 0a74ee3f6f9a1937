//! Synthesis of predicates with a given truth value (the paper's Algorithm 2).

use crate::dice::MutationDice;
use crate::env::{Env, EnvSlot};
use crate::expr::{SafeExpr, ValueSet, binary_set};
use crate::numbers::KnownNumbers;
use crate::synthesis::syn_expr;
use crate::value::{IntValue, range};
use trueline_ctree::{BinaryOp, IntType, UnaryOp};

const COMPARISONS: [BinaryOp; 6] = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne];

/// Draws before an atom is built by construction.
const TRIES: usize = 12;

/// Synthesizes a predicate that is `expected` for every state of a non-empty environment; `depth` is
/// the number of logical operators on a path at most.
pub fn syn_pred(env: &Env, expected: bool, depth: u32, dice: &mut MutationDice) -> SafeExpr {
    if depth == 0 {
        return syn_atom(env, expected, dice);
    }
    match dice.below(4) {
        0 => SafeExpr::Unary(UnaryOp::Not, Box::new(syn_pred(env, !expected, depth - 1, dice))),
        1 => junction(BinaryOp::LogicalAnd, env, expected, depth, dice),
        2 => junction(BinaryOp::LogicalOr, env, expected, depth, dice),
        _ => syn_atom(env, expected, dice),
    }
}

/// A conjunction or a disjunction. `decided` is the value that one operand alone forces.
fn junction(op: BinaryOp, env: &Env, expected: bool, depth: u32, dice: &mut MutationDice) -> SafeExpr {
    let decided = op == BinaryOp::LogicalOr;
    let (left, right) = if expected != decided {
        (expected, expected)
    } else if dice.flip() {
        (!decided, decided)
    } else {
        (decided, dice.flip())
    };
    let left = syn_pred(env, left, depth - 1, dice);
    let right = syn_pred(env, right, depth - 1, dice);
    SafeExpr::Binary(op, Box::new(left), Box::new(right))
}

/// A comparison: of a variable with a constant (rule 1), of two variables (rule 2), or, beyond the paper,
/// of a synthesized expression with a constant.
fn syn_atom(env: &Env, expected: bool, dice: &mut MutationDice) -> SafeExpr {
    let slot = env.slots[dice.below(env.slots.len())].clone();
    for _ in 0..TRIES {
        let (left, left_values) = match dice.below(4) {
            0 => syn_expr(env, dice),
            _ => variable(&slot),
        };
        let (right, right_values) = match dice.below(3) {
            0 => variable(&env.slots[dice.below(env.slots.len())].clone()),
            _ => constant_near(&left_values, dice),
        };
        let op = COMPARISONS[dice.below(COMPARISONS.len())];
        if binary_set(op, &left_values, &right_values).and_then(|set| set.truth()) == Some(expected) {
            return SafeExpr::Binary(op, Box::new(left), Box::new(right));
        }
    }
    certain_atom(&slot, expected, dice)
}

fn variable(slot: &EnvSlot) -> (SafeExpr, ValueSet) {
    let expr = SafeExpr::Var(slot.clone());
    let values = expr.values().expect("a variable has values");
    (expr, values)
}

/// A constant at or next to one of the values, of a type that compares without surprises.
fn constant_near(values: &ValueSet, dice: &mut MutationDice) -> (SafeExpr, ValueSet) {
    let near = values.numbers.pick(dice.word());
    let n = match dice.below(6) {
        0 => 0,
        1 => near,
        2 => near + 1,
        3 => near - 1,
        4 => near + dice.below(100) as i128,
        _ => near - dice.below(100) as i128,
    };
    let expr = SafeExpr::Const(IntValue::new(literal_type(values.ty), n));
    let values = expr.values().expect("a literal has a value");
    (expr, values)
}

/// A literal's type is the operand's once promoted.
fn literal_type(ty: IntType) -> IntType {
    crate::value::promoted(ty, None)
}

/// `v != c` or `v == c` for a `c` that was never seen: right by construction. Where a variable was seen with every number of its
/// type, it is compared with itself.
fn certain_atom(slot: &EnvSlot, expected: bool, dice: &mut MutationDice) -> SafeExpr {
    let (left, values) = variable(slot);
    let ty = literal_type(values.ty);
    let op = if expected { BinaryOp::Ne } else { BinaryOp::Eq };
    match unseen(&values.numbers, range(ty), dice) {
        Some(n) => SafeExpr::Binary(op, Box::new(left), Box::new(SafeExpr::Const(IntValue { ty, n }))),
        None => SafeExpr::Binary(if expected { BinaryOp::Eq } else { BinaryOp::Ne }, Box::new(left.clone()), Box::new(left)),
    }
}

/// A number of a type that is not among those.
fn unseen(numbers: &KnownNumbers, (low, high): (i128, i128), dice: &mut MutationDice) -> Option<i128> {
    let start = low + i128::from(dice.word()) % (high - low);
    match numbers {
        KnownNumbers::Listed(all) => (start..=high).chain(low..start).find(|n| !all.contains(n)),
        KnownNumbers::Spaced(all) => {
            let candidates = [start, all.low - 1, all.high + 1, all.low + 1, low, high];
            candidates.into_iter().find(|n| (low..=high).contains(n) && !all.contains(*n))
        }
    }
}
