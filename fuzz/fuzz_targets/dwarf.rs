//! The native engine's reading of a stranger's debug information: every fact at every row.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::io::Write;
use trueline_trace::native::Facts;

fuzz_target!(|data: &[u8]| {
    // The reader maps a file, so the input must be one; it stays in memory.
    let path = std::path::PathBuf::from(format!("/dev/shm/trueline-fuzz-{}", std::process::id()));
    std::fs::File::create(&path).and_then(|mut f| f.write_all(data)).expect("shared memory is writable");
    if let Ok(facts) = Facts::load(&path, &[]) {
        let rows: Vec<_> = facts.rows().take(64).collect();
        for row in rows {
            facts.rows_at(row.address);
            facts.scopes_at(row.address);
        }
    }
});
