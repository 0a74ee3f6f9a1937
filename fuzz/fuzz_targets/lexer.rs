//! Our own tokens of C; the tree itself is libclang's.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let whole = trueline_c::Span { start: 0, end: text.len() };
    for token in trueline_c::tokens(text, whole) {
        trueline_c::read_integer(token.text);
    }
});
