//! The library that is preloaded into an unmodified `opt`: inline hooks on libLLVM's own functions tell
//! which instructions a pass creates, clones, moves and replaces and which locations it writes, and the
//! LLVM-C API reads the functions before and after. Everything goes to a file as [`wire`] records.
//!
//! Deliberately absent: any judgement. Pairs, path sets, rules and reports are made outside, by
//! `trueline-passes`; here we only observe, and change nothing that `opt` computes.
//!
//! Built as a `cdylib` for preloading and as an `rlib` so that the reader shares the record format.

pub mod wire;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod capi;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod image;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod install;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod patch;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod recorder;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod snapshot;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stream;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod unwind;

/// Names the file that the records go to. Without it the library does nothing at all.
pub const OUTPUT_VARIABLE: &str = "TRUELINE_HOOK_OUT";

/// Runs when the library is loaded, after the loader has mapped and relocated libLLVM.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        if let Some(path) = std::env::var_os(OUTPUT_VARIABLE) {
            install::install(std::path::Path::new(&path));
        }
    }
    on_load
};
