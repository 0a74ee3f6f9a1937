//! Files on which the fuzzer once found a fault of ours. What happens to them is what `fuzz_targets/dwarf.rs` does.

use std::path::Path;
use trueline_trace::native::Facts;

#[test]
fn what_the_fuzzer_found_is_read_or_refused() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/dwarf");
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        seen += 1;
        if let Ok(facts) = Facts::load(&entry.unwrap().path(), &[]) {
            let rows: Vec<_> = facts.rows().take(64).collect();
            for row in rows {
                facts.rows_at(row.address);
                facts.scopes_at(row.address);
            }
        }
    }
    assert!(seen > 0);
}
