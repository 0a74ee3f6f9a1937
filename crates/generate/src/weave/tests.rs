use super::*;

#[test]
fn the_same_seed_gives_the_same_program() {
    for seed in [0, 1, 77, u64::MAX] {
        assert_eq!(weave(seed, Language::C).source, weave(seed, Language::C).source);
    }
    assert_ne!(weave(1, Language::C).source, weave(2, Language::C).source);
}

#[test]
fn every_program_has_40_to_200_lines_in_both_languages() {
    for seed in 0..300 {
        let (c, rust) = sources(seed);
        assert!(LINES.contains(&c.lines().count()), "seed {seed}: {} lines of C", c.lines().count());
        assert!(LINES.contains(&rust.lines().count()), "seed {seed}: {} lines of Rust", rust.lines().count());
    }
}
