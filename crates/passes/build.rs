//! Remembers where the workspace is built: after `cargo install --path` the hook library is still there.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    // <target>/<profile>/build/<package>/out
    let profile = Path::new(&out).ancestors().nth(3).unwrap_or(Path::new("."));
    println!("cargo::rustc-env=TRUELINE_BUILD_DIR={}", profile.display());
}
