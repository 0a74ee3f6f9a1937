//! Our own tokens of C; the tree itself is libclang's.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let whole = trueline_ctree::Span { start: 0, end: text.len() };
    for token in trueline_ctree::tokens(text, whole) {
        trueline_ctree::read_integer(token.text);
    }
});
