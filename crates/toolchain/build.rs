//! Compiles the library that is preloaded into compilers which stay (`hook/resident.rs`), so that it can be embedded:
//! whoever has the binary has everything, and no compiler is needed where it runs.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=hook/resident.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("resident.so");
    let target = std::env::var("TARGET").expect("cargo sets TARGET");
    let mut command = Command::new(std::env::var_os("RUSTC").expect("cargo sets RUSTC"));
    command.args(["--edition", "2024", "--crate-name", "resident", "--crate-type", "cdylib", "--target", &target]);
    command.args(["-C", "panic=abort", "-C", "opt-level=2", "-C", "strip=symbols", "hook/resident.rs", "-o"]).arg(&out);
    let status = command.status().expect("rustc starts");
    assert!(status.success(), "the preloaded library does not compile");
}
