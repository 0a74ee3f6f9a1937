//! Terms by property: however they are rewritten, with numbers for the unknowns they come to what the operations come to.

use proptest::prelude::*;
use trueline_machine::algebra::Bin;
use trueline_machine::term::{Extreme, Pinned, Sign, Term, Terms};

const WIDTH: u32 = 32;

/// An expression over four unknowns.
#[derive(Clone, Debug)]
enum Tree {
    Unknown(usize),
    Number(u32),
    Op(Bin, Box<Tree>, Box<Tree>),
    Choice(Box<Tree>, Box<Tree>, Box<Tree>),
    Shift(bool, u32, Box<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![(0..4usize).prop_map(Tree::Unknown), prop_oneof![0..4u32, any::<u32>()].prop_map(Tree::Number)];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let ops = prop::sample::select(vec![Bin::Add, Bin::Sub, Bin::Mul, Bin::And, Bin::Or, Bin::Xor]);
        prop_oneof![
            (ops, inner.clone(), inner.clone()).prop_map(|(op, a, b)| Tree::Op(op, Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| Tree::Choice(Box::new(a), Box::new(b), Box::new(c))),
            (any::<bool>(), 0..31u32, inner).prop_map(|(left, by, a)| Tree::Shift(left, by, Box::new(a))),
        ]
    })
}

/// What an expression is, and what it comes to.
fn build(terms: &mut Terms, unknowns: &[Term], values: &[u32], tree: &Tree) -> (Term, u32) {
    match tree {
        Tree::Unknown(n) => (unknowns[*n], values[*n]),
        Tree::Number(v) => (terms.constant(WIDTH, u128::from(*v)), *v),
        Tree::Op(op, a, b) => {
            let ((x, p), (y, q)) = (build(terms, unknowns, values, a), build(terms, unknowns, values, b));
            let value = match op {
                Bin::Add => p.wrapping_add(q),
                Bin::Sub => p.wrapping_sub(q),
                Bin::Mul => p.wrapping_mul(q),
                Bin::And => p & q,
                Bin::Or => p | q,
                _ => p ^ q,
            };
            (terms.bin(*op, x, y), value)
        }
        Tree::Choice(a, b, c) => {
            let (x, p) = build(terms, unknowns, values, a);
            let (y, q) = build(terms, unknowns, values, b);
            let (z, r) = build(terms, unknowns, values, c);
            // A condition as programs make them: not less, or equal to a third.
            let less = terms.bin(Bin::Slt, x, y);
            let not = terms.not(less);
            let same = terms.bin(Bin::Eq, y, z);
            let unequal = terms.not(same);
            let condition = terms.and(not, unequal);
            let other = terms.bin(Bin::Ult, z, x);
            let condition = terms.bin(Bin::Or, condition, other);
            let holds = ((p as i32) >= (q as i32) && q != r) || r < p;
            let largest = terms.ite(less, y, x);
            let chosen = terms.ite(condition, largest, z);
            (chosen, if holds { (p as i32).max(q as i32) as u32 } else { r })
        }
        Tree::Shift(left, by, a) => {
            let (x, p) = build(terms, unknowns, values, a);
            let k = terms.constant(WIDTH, u128::from(*by));
            let (op, value) = if *left { (Bin::Shl, p << by) } else { (Bin::Lshr, p >> by) };
            let shifted = terms.bin(op, x, k);
            // Out and in again: bits are taken out of whatever it became.
            let (low, high) = (terms.extract(shifted, 0, 11), terms.extract(shifted, 11, WIDTH - 11));
            (terms.concat(high, low), value)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, rng_seed: proptest::test_runner::RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn rewriting_keeps_the_value(tree in tree(), values in prop::collection::vec(prop_oneof![0..4u32, any::<u32>()], 4)) {
        let mut terms = Terms::default();
        let unknowns: Vec<Term> = (0..4).map(|n| terms.var(WIDTH, &format!("x{n}"))).collect();
        let (term, value) = build(&mut terms, &unknowns, &values, &tree);
        let pinned: Pinned = unknowns.iter().zip(&values).map(|(x, v)| (*x, terms.constant(WIDTH, u128::from(*v)))).collect();
        let known = terms.replace(term, &pinned, &mut std::collections::HashMap::default());
        prop_assert_eq!(terms.value(known), Some(u128::from(value)));
    }
}

#[test]
fn a_choice_and_its_opposite_are_no_condition() {
    let mut terms = Terms::default();
    let (p, c, d) = (terms.var(1, "p"), terms.var(1, "c"), terms.var(1, "d"));
    let (not_c, not_d) = (terms.not(c), terms.not(d));
    let ways = [terms.conjunction(&[p, c]), terms.conjunction(&[p, not_c, d]), terms.conjunction(&[not_d, not_c, p])];
    let two = terms.either(ways[0], ways[1]);
    assert_eq!(terms.either(two, ways[2]), p);
    assert_eq!(terms.conjunction(&[p, c, not_c]), terms.constant(1, 0));
}

#[test]
fn comparisons_have_one_shape() {
    let mut terms = Terms::default();
    let (x, y) = (terms.var(32, "x"), terms.var(32, "y"));
    let (less, more) = (terms.bin(Bin::Slt, x, y), terms.bin(Bin::Slt, y, x));
    // As flags have it: the difference is zero.
    let (difference, zero) = (terms.bin(Bin::Sub, y, x), terms.constant(32, 0));
    let same = terms.bin(Bin::Eq, difference, zero);
    assert_eq!(same, terms.bin(Bin::Eq, x, y));
    let at_most = terms.bin(Bin::Or, less, same);
    assert_eq!(at_most, terms.not(more));
}

#[test]
fn the_largest_of_several_is_the_same_in_any_order() {
    let mut terms = Terms::default();
    let x: Vec<Term> = (0..4).map(|n| terms.var(32, &format!("x{n}"))).collect();
    // One by one, as a source loop does it, and by halves, as a vector register does.
    let mut larger = |a: Term, b: Term| {
        let less = terms.bin(Bin::Slt, a, b);
        terms.ite(less, b, a)
    };
    let one_by_one = x[1..].iter().fold(x[0], |m, t| larger(m, *t));
    let (even, odd) = (larger(x[2], x[0]), larger(x[3], x[1]));
    let by_halves = larger(odd, even);
    assert_eq!(one_by_one, by_halves);
    assert_eq!(one_by_one, terms.extreme(Extreme::Largest(Sign::Signed), &x));
    assert_ne!(one_by_one, terms.extreme(Extreme::Largest(Sign::Unsigned), &x));
    assert_ne!(one_by_one, terms.extreme(Extreme::Largest(Sign::Signed), &x[..3]));
}

#[test]
fn an_equation_pins_an_index_down() {
    let mut terms = Terms::default();
    let i = terms.var(32, "i");
    let (wide, four, end) = (terms.sext(i, 64), terms.constant(64, 4), terms.constant(64, 2020));
    let scaled = terms.bin(Bin::Mul, wide, four);
    let known = [terms.bin(Bin::Eq, scaled, end)].into();
    let pinned = terms.pinned(&known);
    assert_eq!(pinned.get(&i).and_then(|v| terms.value(*v)), Some(505));
    // Four times nothing is 2021.
    let odd = terms.constant(64, 2021);
    let never = [terms.bin(Bin::Eq, scaled, odd)].into();
    assert!(terms.pinned(&never).is_empty());
}

#[test]
fn bits_across_a_seam_are_those_of_both_sides() {
    let (high, low) = (0x9cu128, 0x00ab_5f71u128);
    let mut terms = Terms::default();
    let (a, b) = (terms.var(8, "a"), terms.var(24, "b"));
    let whole = terms.concat(a, b);
    let number = high << 24 | low;
    let signed = number | 0xffff_ffff_0000_0000;
    // What was widened with zeroes is not negative, so that widening it once more with its sign adds zeroes too.
    let byte = terms.zext(a, 32);
    let cases = [
        (terms.zext(whole, 64), number),
        (terms.sext(whole, 64), signed),
        (terms.zext(byte, 64), high),
        (terms.sext(byte, 64), high),
        (terms.zext(whole, 40), number),
    ];
    let pinned: Pinned = [(a, terms.constant(8, high)), (b, terms.constant(24, low))].into();
    for (term, value) in cases {
        let full = terms.width(term);
        for from in 0..full {
            for width in 1..=full - from {
                let part = terms.extract(term, from, width);
                let known = terms.replace(part, &pinned, &mut std::collections::HashMap::default());
                let expected = value >> from & ((1u128 << width) - 1);
                assert_eq!(terms.value(known), Some(expected), "{width} bits from {from} of {value:#x}");
            }
        }
    }
}

#[test]
fn a_sum_with_itself_is_twice_the_number_in_every_float() {
    for bits in [
        0u64,
        1 << 63,
        1,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_0001,
        0xfff8_0000_0000_0123,
        0x7fef_ffff_ffff_ffff,
        0x000f_ffff_ffff_ffff,
    ] {
        let x = std::hint::black_box(f64::from_bits(bits));
        assert_eq!((x + x).to_bits(), (x * std::hint::black_box(2.0)).to_bits(), "{bits:#x}");
    }
    let mut terms = Terms::default();
    let (x, two) = (terms.var(64, "x"), terms.constant(64, u128::from(2f64.to_bits())));
    let sum = terms.float(trueline_machine::algebra::Float::Add, 64, &[x, x]);
    assert_eq!(sum, terms.float(trueline_machine::algebra::Float::Mul, 64, &[x, two]));
}
