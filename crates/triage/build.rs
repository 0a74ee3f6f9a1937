//! Lists the files of `known/` and every `known*.toml` of the ledger's entries, so that a new one ships without being registered
//! anywhere.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).to_owned();
    let ledger = root.join("../../ledger");
    println!("cargo::rerun-if-changed=known");
    println!("cargo::rerun-if-changed={}", ledger.display());
    let mut paths = entries(&root.join("known"))?;
    for within in [ledger.clone(), ledger.join("debatable")] {
        for entry in entries(&within)?.into_iter().filter(|path| path.is_dir()) {
            let names_known = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("known"));
            paths.extend(entries(&entry)?.into_iter().filter(names_known));
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let listed: String = paths.iter().map(|path| format!("({0:?}, include_str!({0:?})),", path.display().to_string())).collect();
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("known.rs"), format!("&[{listed}]"))
}

fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}
