//! RUN lines of lit tests.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &str| {
    trueline_passes::lit::read(text, Path::new("fuzzed.ll"));
});
