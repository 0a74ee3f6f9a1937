//! Bottom-up synthesis of expressions without undefined behaviour (the paper's Algorithm 3).

use crate::dice::MutationDice;
use crate::env::Env;
use crate::expr::{SafeExpr, ValueSet, binary_set, unary_set};
use crate::value::{IntValue, range};
use trueline_ctree::{BinaryOp, IntType, UnaryOp};

const UNARY: [UnaryOp; 3] = [UnaryOp::Not, UnaryOp::BitNot, UnaryOp::Minus];

const BINARY: [BinaryOp; 18] = BinaryOp::ALL;

/// Leaves of one expression at most: the paper takes any number, but long expressions cost compile time
/// and their value sets overflow.
const MAX_LEAVES: usize = 5;

/// Unary operators in a row before a binary one is forced (the counter the paper mentions).
const MAX_UNARY_RUN: usize = 2;

/// Chance that arithmetic operators are tried before comparisons and logical ones.
const ARITHMETIC_FIRST: f64 = 0.75;

/// The types that literals can have.
pub(crate) const LITERAL_TYPES: [IntType; 4] = [IntType::INT, IntType::UNSIGNED, IntType::LONG, IntType::UNSIGNED_LONG];

/// Synthesizes a valid expression and returns it with its values.
pub fn syn_expr(env: &Env, dice: &mut MutationDice) -> (SafeExpr, ValueSet) {
    let mut worklist = leaves(env, dice);
    let mut unary_run = 0;
    while worklist.len() > 1 {
        if unary_run < MAX_UNARY_RUN && dice.chance(0.25) {
            let at = dice.below(worklist.len());
            unary_run += 1;
            let grown = grow_unary(&worklist[at], dice);
            if let Some(grown) = grown {
                worklist[at] = grown;
            }
            continue;
        }
        unary_run = 0;
        let left = worklist.swap_remove(dice.below(worklist.len()));
        let right = worklist.swap_remove(dice.below(worklist.len()));
        worklist.push(grow_binary(left, right, dice));
    }
    worklist.pop().expect("the worklist starts non-empty and shrinks to one")
}

fn leaves(env: &Env, dice: &mut MutationDice) -> Vec<(SafeExpr, ValueSet)> {
    let wanted = 1 + dice.below(MAX_LEAVES.min(env.slots.len().max(1)));
    let mut leaves: Vec<(SafeExpr, ValueSet)> = dice
        .sample(&env.slots, wanted)
        .into_iter()
        .filter_map(|slot| {
            let leaf = SafeExpr::Var(slot);
            let values = leaf.values()?;
            Some((leaf, values))
        })
        .collect();
    if leaves.is_empty() || dice.chance(0.4) {
        let value = random_constant(dice);
        let leaf = SafeExpr::Const(value);
        let values = leaf.values().expect("a literal has a value");
        leaves.push((leaf, values));
    }
    leaves
}

fn grow_unary((expr, values): &(SafeExpr, ValueSet), dice: &mut MutationDice) -> Option<(SafeExpr, ValueSet)> {
    if dice.chance(0.25) {
        let ty = *dice.pick(&IntType::ALL)?;
        let cast = SafeExpr::Cast(ty, Box::new(expr.clone()));
        let values = cast.values()?;
        return Some((cast, values));
    }
    let mut ops = UNARY;
    dice.shuffle(&mut ops);
    let grown = |op| unary_set(op, values).map(|set| (SafeExpr::Unary(op, Box::new(expr.clone())), set));
    ops.into_iter().find_map(grown)
}

fn grow_binary(left: (SafeExpr, ValueSet), right: (SafeExpr, ValueSet), dice: &mut MutationDice) -> (SafeExpr, ValueSet) {
    let mut ops = BINARY;
    dice.shuffle(&mut ops);
    // Comparisons are always defined and would win too often: what is left of an expression is then one bit.
    if dice.chance(ARITHMETIC_FIRST) {
        ops.sort_by_key(|op| op.is_comparison() || op.is_logical());
    }
    let (op, set) = ops
        .into_iter()
        .find_map(|op| binary_set(op, &left.1, &right.1).map(|set| (op, set)))
        .expect("comparisons are defined for all operands and have two values at most");
    (SafeExpr::Binary(op, Box::new(left.0), Box::new(right.0)), set)
}

/// A literal: mostly small, sometimes at a border of its type, sometimes any.
pub(crate) fn random_constant(dice: &mut MutationDice) -> IntValue {
    let ty = LITERAL_TYPES[dice.below(LITERAL_TYPES.len())];
    let (low, high) = range(ty);
    let n = match dice.below(8) {
        0 => high,
        1 => low,
        2 => i128::from(dice.word()),
        3 => 1i128 << dice.below(ty.bits() as usize - 1),
        _ => dice.below(20) as i128 - 4,
    };
    IntValue::new(ty, n)
}
