//! The event stream that the hook library writes, read and judged to the end.
#![no_main]
use libfuzzer_sys::fuzz_target;
use trueline_passes::observation::Observation;
use trueline_passes::{Detail, Report};

fuzz_target!(|data: &[u8]| {
    if let Ok(seen) = Observation::read(data) {
        Report::of(&seen, Detail::default());
    }
});
