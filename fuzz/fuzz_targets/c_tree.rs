//! The C front end: libclang parses, our own code walks the tree, finds scopes and types and edits.
//! libclang itself is not instrumented, so coverage is that of our side alone.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(unit) = trueline_ctree::parse_text("fuzzed.c", text, &[]) {
        std::hint::black_box(&unit);
    }
});
