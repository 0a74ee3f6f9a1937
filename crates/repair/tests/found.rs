//! Files on which the fuzzer once found a fault of ours. What happens to them is what `fuzz_targets/repair_dwarf.rs` does.

use std::path::Path;
use trueline_machine::image::Image;
use trueline_repair::debug::ImageInfo;
use trueline_repair::relation::{Affine, Relation};
use trueline_repair::rewrite::{Edit, EditRange, RangeContent, rewrite};

#[test]
fn what_the_fuzzer_found_is_refused_or_rewritten() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/repair_dwarf");
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        seen += 1;
        let Ok(image) = Image::open(&path) else { continue };
        let Ok(info) = ImageInfo::read(&image) else { continue };
        let variables = info.functions.iter().flat_map(|f| f.variables.iter().map(move |v| (f, v)));
        let edit = |low: u64, die: usize| {
            let content = RangeContent::New(Relation::Affine(Affine::constant(7)), 4);
            Edit { die, ranges: vec![EditRange { low, high: low.saturating_add(1), content }] }
        };
        let edits: Vec<Edit> = variables.take(16).map(|(f, v)| edit(f.entry(), v.die)).collect();
        if let Ok(bytes) = rewrite(&image, &edits) {
            Image::parse(Path::new("rewritten"), bytes).unwrap_or_else(|e| panic!("{}: what we wrote cannot be read: {e}", path.display()));
        }
    }
    assert!(seen > 0);
}
