//! The event stream that the hook library writes.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = trueline_passes::observation::Observation::read(data);
});
