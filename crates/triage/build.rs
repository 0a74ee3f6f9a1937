//! Lists the files of `known/`, so that a new one ships without being registered anywhere.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=known");
    let known = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("known");
    let mut paths: Vec<PathBuf> = fs::read_dir(&known)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let entries: String = paths.iter().map(|path| format!("({0:?}, include_str!({0:?})),", path.display().to_string())).collect();
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("known.rs"), format!("&[{entries}]"))
}
