//! A campaign database from elsewhere: opened, read as a report reads it, and merged into one of ours.
#![no_main]
use libfuzzer_sys::fuzz_target;
use trueline_store::Store;

fuzz_target!(|data: &[u8]| {
    let dir = std::path::PathBuf::from(format!("/dev/shm/trueline-fuzz-db-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("shared memory is writable");
    let (theirs, ours) = (dir.join("theirs.db"), dir.join("ours.db"));
    for stale in ["theirs.db-wal", "theirs.db-shm", "ours.db", "ours.db-wal", "ours.db-shm"] {
        let _ = std::fs::remove_file(dir.join(stale));
    }
    std::fs::write(&theirs, data).expect("shared memory is writable");
    if let Ok(store) = Store::open_existing(&theirs) {
        let _ = (store.counts(), store.units(), store.level_counts(), store.rejections(), store.effort(), store.integrity());
        for stored in store.findings().unwrap_or_default() {
            let _ = store.evidence(&stored);
        }
    }
    std::fs::write(&theirs, data).expect("shared memory is writable");
    if let Ok(store) = Store::open(&ours) {
        let _ = store.merge_from(&theirs);
        let _ = store.counts();
    }
});
