//! gcov's notes and counters, cut in two where the input says.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((head, rest)) = data.split_first_chunk::<2>() else { return };
    let (notes, counters) = rest.split_at((u16::from_le_bytes(*head) as usize).min(rest.len()));
    trueline_coverage::read_gcov_files(notes, counters);
});
