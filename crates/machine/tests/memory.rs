//! Symbolic memory against plain bytes: whatever is stored in whatever order, a byte that was stored reads as the last store
//! left it, and memories are the same exactly when their bytes are.

use proptest::prelude::*;
use trueline_machine::solver::{SolverAnswer, read_answers};
use trueline_machine::symbolic::memory::{Memory, Version, read, same};
use trueline_machine::term::{Term, Terms};

const SIZE: usize = 32;

type Stores = Vec<(u64, u32, u64)>;

fn stores() -> impl Strategy<Value = Stores> {
    let one = (0..24u64, prop::sample::select(vec![1u32, 2, 4, 8]), any::<u64>());
    prop::collection::vec(one, 1..8)
}

/// The same stores into symbolic memory at an unknown base, and into bytes.
fn both(terms: &mut Terms, list: &Stores) -> (Memory, [Option<u8>; SIZE]) {
    let (mut memory, mut bytes) = (Memory::default(), [None; SIZE]);
    for (at, size, value) in list {
        let address = place(terms, *at);
        let stored = terms.constant(size * 8, u128::from(*value));
        memory.store(terms, address, stored);
        for n in 0..*size as usize {
            bytes[*at as usize + n] = Some(value.to_le_bytes()[n]);
        }
    }
    (memory, bytes)
}

fn place(terms: &mut Terms, offset: u64) -> Term {
    let (base, k) = (terms.var(64, "base"), terms.constant(64, u128::from(offset)));
    terms.bin(trueline_machine::algebra::Bin::Add, base, k)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_load_sees_every_byte_of_the_last_store_there(list in stores(), at in 0..24u64, size in prop::sample::select(vec![1u32, 2, 4, 8])) {
        let mut terms = Terms::default();
        let (memory, bytes) = both(&mut terms, &list);
        let address = place(&mut terms, at);
        let loaded = read(&mut terms, Version::Start, &memory.stores, address, size);
        for n in 0..size {
            let byte = terms.extract(loaded, n * 8, 8);
            let known = terms.value(byte).map(|v| v as u8);
            prop_assert_eq!(known, bytes[at as usize + n as usize], "byte {}", n);
        }
    }

    #[test]
    fn memories_are_the_same_when_their_bytes_are(a in stores(), b in stores()) {
        let mut terms = Terms::default();
        let ((x, p), (y, q)) = (both(&mut terms, &a), both(&mut terms, &b));
        let claim = same(&mut terms, &x, &y).map(|c| terms.value(c) == Some(1));
        // Bytes that only one of them stored are unknown in the other: that is never shown to be the same.
        prop_assert_eq!(claim == Some(true), p == q);
        prop_assert_eq!(same(&mut terms, &x, &x).and_then(|c| terms.value(c)), Some(1));
    }
}

#[test]
fn a_store_at_an_unknown_place_may_have_changed_every_byte() {
    let mut terms = Terms::default();
    let mut memory = Memory::default();
    let (here, there) = (place(&mut terms, 0), terms.var(64, "elsewhere"));
    let (one, two) = (terms.constant(32, 1), terms.constant(32, 2));
    memory.store(&mut terms, here, one);
    memory.store(&mut terms, there, two);
    let loaded = read(&mut terms, Version::Start, &memory.stores, here, 4);
    assert_eq!(terms.value(loaded), None, "the second store may have gone to the same place");
}

#[test]
fn answers_belong_to_their_question_and_an_error_spoils_them_all() {
    let (answers, complaint) = read_answers("question 0\nunknown\nquestion 1\nunsat\nquestion 2\nsat\n", 3);
    assert_eq!(answers, [SolverAnswer::Unknown, SolverAnswer::Valid, SolverAnswer::Refuted]);
    assert_eq!(complaint, None);
    // A question that was left out does not pass its place on.
    let (answers, _) = read_answers("question 1\nunsat\n", 3);
    assert_eq!(answers, [SolverAnswer::Unknown, SolverAnswer::Valid, SolverAnswer::Unknown]);
    let (answers, complaint) = read_answers("(error \"line 3: unknown constant\")\nquestion 0\nunsat\n", 1);
    assert_eq!(answers, [SolverAnswer::Unknown]);
    assert!(complaint.is_some_and(|c| c.contains("unknown constant")));
}
