//! Proof files of `repair --proof`, read against a small image.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::OnceLock;
use trueline_machine::image::Image;

fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| Image::parse(Path::new("small.o"), include_bytes!("../seeds/small.o").to_vec()).expect("an object file"))
}

fuzz_target!(|text: &str| {
    if let Ok(file) = trueline_repair::given::read(text) {
        for point in file.functions.iter().flat_map(|f| &f.points) {
            point.relations(image());
        }
    }
});
