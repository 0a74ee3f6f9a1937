//! What is known about LLVM's symbols: which object file of the static libraries (Debian's `llvm-NN-dev`,
//! `libclang-NN-dev`) defines an exported function. The shared libraries are linked from the same objects,
//! so a member's name is the source file's. Without these packages nothing names a file, since release
//! builds have no assertions.

use crate::image::Image;
use crate::naming::Hints;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol, SymbolKind};
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Hints for `libLLVM` and `libclang-cpp`.
#[derive(Clone, Debug, Default)]
pub struct LlvmHints {
    defined_in: HashMap<String, String>,
}

impl LlvmHints {
    /// Hints for an image, from the static libraries of its version.
    pub fn of_image(image: &Image) -> Self {
        let archives: Vec<PathBuf> = library_dirs(&image.path).iter().flat_map(|dir| archives_in(dir)).collect();
        let found: Vec<Vec<(String, String)>> = archives.par_iter().map(|path| definitions(path).unwrap_or_default()).collect();
        Self { defined_in: found.into_iter().flatten().collect() }
    }
}

impl Hints for LlvmHints {
    fn file_of_export(&self, name: &str) -> Option<String> {
        self.defined_in.get(name).cloned()
    }

    fn display(&self, file: &str) -> String {
        file.to_owned()
    }
}

/// Where the static libraries of an image's version would be: beside it, or in `/usr/lib/llvm-NN/lib`.
fn library_dirs(image: &Path) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = image.parent().map(Path::to_owned).into_iter().collect();
    let name = image.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let version = name.split(['-', '.']).find_map(|part| part.parse::<u32>().ok());
    dirs.extend(version.map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/lib"))));
    dirs
}

fn archives_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.starts_with("libLLVM") || name.starts_with("libclang")) && name.ends_with(".a")
    };
    let mut found: Vec<PathBuf> = entries.filter(ours).collect();
    found.sort();
    found
}

/// Functions by the source file of the member that defines them; inline ones, which many define, left out.
fn definitions(path: &Path) -> Option<Vec<(String, String)>> {
    let data = std::fs::read(path).ok()?;
    let archive = ArchiveFile::parse(&*data).ok()?;
    let mut found = Vec::new();
    for member in archive.members().flatten() {
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let Some(source) = name.strip_suffix(".o") else { continue };
        let Ok(object) = member.data(&*data).and_then(object::File::parse) else { continue };
        for symbol in object.symbols() {
            if symbol.is_definition() && symbol.is_global() && !symbol.is_weak() && symbol.kind() == SymbolKind::Text {
                found.extend(symbol.name().ok().map(|symbol| (symbol.to_owned(), source.to_owned())));
            }
        }
    }
    Some(found)
}
