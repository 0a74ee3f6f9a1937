//! What `repair` reads of a binary, and the binary it writes: with every variable's list replaced, the
//! result must be readable again.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use trueline_repair::debug::ImageInfo;
use trueline_machine::image::Image;
use trueline_repair::relation::{Affine, Relation};
use trueline_repair::rewrite::{RangeContent, Edit, EditRange, rewrite};

fuzz_target!(|data: &[u8]| {
    let Ok(image) = Image::parse(Path::new("fuzzed"), data.to_vec()) else { return };
    let Ok(info) = ImageInfo::read(&image) else { return };
    let edits: Vec<Edit> = (info.functions.iter())
        .flat_map(|f| f.variables.iter().map(move |v| (f, v)))
        .take(16)
        .map(|(function, variable)| {
            let low = function.entry();
            let content = RangeContent::New(Relation::Affine(Affine::constant(7)), 4);
            Edit { die: variable.die, ranges: vec![EditRange { low, high: low.saturating_add(1), content }] }
        })
        .collect();
    if let Ok(bytes) = rewrite(&image, &edits) {
        Image::parse(Path::new("rewritten"), bytes).expect("what we write is an ELF file");
    }
});
