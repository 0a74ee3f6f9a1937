//! Files on which the fuzzer once found a fault of ours.

use std::path::Path;

#[test]
fn what_the_fuzzer_found_is_read_or_refused() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/debuginfo");
    let found: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &found {
        trueline_check::read_debug_info(path);
    }
    assert!(!found.is_empty());
}
