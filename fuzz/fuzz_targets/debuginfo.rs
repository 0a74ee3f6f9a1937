//! What `check` reads of a build: rows, functions, variables and the leaves of their types.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;

fuzz_target!(|data: &[u8]| {
    let path = PathBuf::from(format!("/dev/shm/trueline-fuzz-check-{}", std::process::id()));
    std::fs::write(&path, data).expect("shared memory is writable");
    trueline_check::read_debug_info(&path);
});
