//! Files of known bugs that users share.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = trueline_triage::KnownBug::parse(text, "known.toml".as_ref());
});
