//! What `repair` reads of a binary before it rewrites it.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use trueline_repair::debug::DebugInfo;
use trueline_repair::image::Image;

fuzz_target!(|data: &[u8]| {
    if let Ok(image) = Image::parse(Path::new("fuzzed"), data.to_vec()) {
        let _ = DebugInfo::read(&image);
    }
});
