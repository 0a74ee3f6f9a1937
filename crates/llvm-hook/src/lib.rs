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
mod fast;
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
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod variables;

/// Names the file that the records go to. Without it the library does nothing at all.
pub const OUTPUT_VARIABLE: &str = "TRUELINE_HOOK_OUT";

/// Set to have variables watched as well as locations.
pub const VARIABLES_VARIABLE: &str = "TRUELINE_HOOK_VARIABLES";

/// The file beside a stream that holds its last records until they are written out.
fn tail_of(path: &std::path::Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tail");
    name.into()
}

/// The bytes of a stream, with the records that a crash kept from being written out.
pub fn read_stream(path: &std::path::Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap_or_default();
    let tail = std::fs::read(tail_of(path)).unwrap_or_default();
    if let Some((length, rest)) = tail.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(0);
        bytes.extend_from_slice(rest.get(..length).unwrap_or_default());
    }
    bytes
}

/// Removes a stream.
pub fn remove_stream(path: &std::path::Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(tail_of(path));
}

/// Runs when the library is loaded, after the loader has mapped and relocated libLLVM.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        if let Some(path) = std::env::var_os(OUTPUT_VARIABLE)
            && install::install(std::path::Path::new(&path)) == install::Installed::Here
        {
            // Children must not write to the same file: a crashing `opt` starts a symbolizer, which has a libLLVM too.
            // A shell that starts the tool has none and passes the name on.
            // SAFETY: this runs before `main`, when there is no other thread that could read the environment.
            unsafe { std::env::remove_var(OUTPUT_VARIABLE) };
        }
    }
    on_load
};
