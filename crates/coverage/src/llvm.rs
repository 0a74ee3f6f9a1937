//! What is known about LLVM's symbols: which object file of the static libraries (Debian's `llvm-NN-dev`,
//! `libclang-NN-dev`) defines an exported function. The shared libraries are linked from the same objects,
//! so a member's name is the source file's. The libraries of another version do too: most functions keep their
//! name and their file, and those that do not lie between others of their file. Without any of these packages
//! nothing names a file, since release builds have no assertions.

use crate::image::CompilerImage;
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
    pub fn of_image(image: &CompilerImage) -> Self {
        let family =
            if image.path.file_name().is_some_and(|name| name.to_string_lossy().contains("clang")) { "libclang" } else { "libLLVM" };
        let candidates = library_dirs(&image.path);
        let archives = candidates.iter().map(|dir| archives_in(dir, family)).find(|found| !found.is_empty()).unwrap_or_default();
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

/// Where static libraries may be: beside the image, in `/usr/lib/llvm-NN/lib` of its version, then in those of
/// other versions, the nearest first.
fn library_dirs(image: &Path) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = image.parent().map(Path::to_owned).into_iter().collect();
    let name = image.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(version) = name.split(['-', '.']).find_map(|part| part.parse::<u32>().ok()) else { return dirs };
    let installed = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().filter_map(|entry| {
        let other: u32 = entry.file_name().to_str()?.strip_prefix("llvm-")?.parse().ok()?;
        Some((version.abs_diff(other), other))
    });
    let mut installed: Vec<(u32, u32)> = installed.collect();
    installed.sort_unstable();
    dirs.extend(installed.into_iter().map(|(_, version)| PathBuf::from(format!("/usr/lib/llvm-{version}/lib"))));
    dirs
}

fn archives_in(dir: &Path, family: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(family) && name.ends_with(".a")
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
