//! The mutation rules of DiWi's Table 1. Each operation on one kind of hole is a rule of its own:
//! replacing `+` by `-` and `+` by `*` are two rules, replacing one variable by another is one.

use serde::Serialize;
use std::fmt;
use trueline_ctree::{BinaryOp, UnaryOp};

/// A type qualifier that a rule puts in or takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are C's")]
pub enum Qualifier {
    Volatile,
    Const,
    Restrict,
}

impl Qualifier {
    /// All three qualifiers of C.
    pub const ALL: [Self; 3] = [Self::Volatile, Self::Const, Self::Restrict];

    /// As C spells it.
    pub fn token(self) -> &'static str {
        match self {
            Self::Volatile => "volatile",
            Self::Const => "const",
            Self::Restrict => "restrict",
        }
    }
}

/// A type modifier that a rule puts in or takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are C's")]
pub enum Modifier {
    Long,
    Short,
    Signed,
    Unsigned,
}

impl Modifier {
    /// All four modifiers of C's integers.
    pub const ALL: [Self; 4] = [Self::Long, Self::Short, Self::Signed, Self::Unsigned];

    /// As C spells it.
    pub fn token(self) -> &'static str {
        match self {
            Self::Long => "long",
            Self::Short => "short",
            Self::Signed => "signed",
            Self::Unsigned => "unsigned",
        }
    }

    /// The modifier a token spells.
    pub fn of_token(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.token() == token)
    }
}

/// What is done to an integer constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConstantChange {
    /// The constant plus one: `value + 1`
    Increment,
    /// The constant minus one: `value - 1`
    Decrement,
    /// Twice the constant: `value * 2`
    Double,
    /// Half of the constant: `value / 2`
    Halve,
}

impl ConstantChange {
    /// All four changes of a constant.
    pub const ALL: [Self; 4] = [Self::Increment, Self::Decrement, Self::Double, Self::Halve];

    /// The changed value; `None` when nothing would change or the result does not fit.
    pub fn apply(self, value: u64) -> Option<i128> {
        let value = i128::from(value);
        let changed = match self {
            Self::Increment => value + 1,
            Self::Decrement => value - 1,
            Self::Double => value * 2,
            Self::Halve => value / 2,
        };
        (changed != value && changed <= i128::from(u64::MAX)).then_some(changed)
    }
}

/// A mutation rule of DiWi's Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MutationRule {
    /// A qualifier is put in.
    InsertQualifier(Qualifier),
    /// A qualifier is taken out.
    RemoveQualifier(Qualifier),
    /// A modifier is put in.
    InsertModifier(Modifier),
    /// A modifier is taken out.
    RemoveModifier(Modifier),
    /// A modifier is exchanged for another.
    ReplaceModifier(Modifier, Modifier),
    /// A use of a variable becomes a use of another in scope.
    ReplaceVariable,
    /// A binary operator (or that of a compound assignment) becomes another of its category.
    ReplaceBinary(BinaryOp, BinaryOp),
    /// A unary operator becomes another.
    ReplaceUnary(UnaryOp, UnaryOp),
    /// A unary operator goes.
    RemoveUnary(UnaryOp),
    /// An integer constant changes.
    ChangeConstant(ConstantChange),
}

/// The unary operators of Table 1.
pub const UNARY: [UnaryOp; 5] =
    [UnaryOp::PreIncrement, UnaryOp::PostIncrement, UnaryOp::PreDecrement, UnaryOp::PostDecrement, UnaryOp::Not];

/// The operators of one category, each of which may replace another.
pub fn category(op: BinaryOp) -> &'static [BinaryOp] {
    use BinaryOp::*;
    match op {
        Add | Sub | Mul | Div | Rem => &[Add, Sub, Mul, Div, Rem],
        Shl | Shr | And | Or | Xor => &[Shl, Shr, And, Or, Xor],
        Lt | Le | Gt | Ge | Eq | Ne => &[Lt, Le, Gt, Ge, Eq, Ne],
        LogicalAnd | LogicalOr => &[LogicalAnd, LogicalOr],
        Comma => &[],
    }
}

impl MutationRule {
    /// Every rule, in a fixed order.
    pub fn all() -> Vec<Self> {
        let mut rules = Vec::new();
        rules.extend(Qualifier::ALL.map(Self::InsertQualifier));
        rules.extend(Qualifier::ALL.map(Self::RemoveQualifier));
        rules.extend(Modifier::ALL.map(Self::InsertModifier));
        rules.extend(Modifier::ALL.map(Self::RemoveModifier));
        let pairs = Modifier::ALL.into_iter().flat_map(|a| Modifier::ALL.map(|b| (a, b)));
        rules.extend(pairs.filter(|(a, b)| a != b).map(|(a, b)| Self::ReplaceModifier(a, b)));
        rules.push(Self::ReplaceVariable);
        for op in BinaryOp::ALL {
            rules.extend(category(op).iter().filter(|other| **other != op).map(|&other| Self::ReplaceBinary(op, other)));
        }
        let pairs = UNARY.into_iter().flat_map(|a| UNARY.map(|b| (a, b)));
        rules.extend(pairs.filter(|(a, b)| a != b).map(|(a, b)| Self::ReplaceUnary(a, b)));
        rules.extend(UNARY.map(Self::RemoveUnary));
        rules.extend(ConstantChange::ALL.map(Self::ChangeConstant));
        rules
    }
}

fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::PreIncrement => "++x",
        UnaryOp::PostIncrement => "x++",
        UnaryOp::PreDecrement => "--x",
        UnaryOp::PostDecrement => "x--",
        _ => "!x",
    }
}

impl fmt::Display for MutationRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsertQualifier(q) => write!(f, "insert {}", q.token()),
            Self::RemoveQualifier(q) => write!(f, "remove {}", q.token()),
            Self::InsertModifier(m) => write!(f, "insert {}", m.token()),
            Self::RemoveModifier(m) => write!(f, "remove {}", m.token()),
            Self::ReplaceModifier(a, b) => write!(f, "{} to {}", a.token(), b.token()),
            Self::ReplaceVariable => f.write_str("another variable"),
            Self::ReplaceBinary(a, b) => write!(f, "{a} to {b}"),
            Self::ReplaceUnary(a, b) => write!(f, "{} to {}", unary_name(*a), unary_name(*b)),
            Self::RemoveUnary(a) => write!(f, "{} to x", unary_name(*a)),
            Self::ChangeConstant(ConstantChange::Increment) => f.write_str("constant + 1"),
            Self::ChangeConstant(ConstantChange::Decrement) => f.write_str("constant - 1"),
            Self::ChangeConstant(ConstantChange::Double) => f.write_str("constant * 2"),
            Self::ChangeConstant(ConstantChange::Halve) => f.write_str("constant / 2"),
        }
    }
}

impl Serialize for MutationRule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_rule_is_listed_once_under_its_own_name() {
        let rules = MutationRule::all();
        let names: HashSet<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), rules.len());
        // 6 qualifier, 20 modifier, 1 variable, 72 binary, 25 unary and 4 constant rules.
        assert_eq!(rules.len(), 128);
    }

    #[test]
    fn constants_change_by_the_four_operations() {
        let changed: Vec<_> = ConstantChange::ALL.iter().map(|c| c.apply(7)).collect();
        assert_eq!(changed, [Some(8), Some(6), Some(14), Some(3)]);
        assert_eq!(ConstantChange::Double.apply(0), None);
        assert_eq!(ConstantChange::Increment.apply(u64::MAX), None);
    }
}
