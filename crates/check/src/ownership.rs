//! Whose a source file is. A pair of binaries brings along whatever its headers and dependencies hold; only what the user can
//! build twice and would look at in a debugger is judged.

use std::collections::BTreeSet;
use trueline_dwarf::{FileId, Module, is_languages_own};
use trueline_model::FileName;

/// Directories of headers and libraries that came with a compiler, a distribution or a package registry.
const SYSTEM: [&str; 7] = [
    "/usr/include/*",
    "/usr/local/include/*",
    "/usr/lib/*",
    "/usr/lib32/*",
    "/usr/lib64/*",
    "*/.cargo/registry/src/*",
    "*/.cargo/git/checkouts/*",
];

/// Source files that are nobody's C or Rust: assembler, and what a compiler made up.
fn is_source(path: &str) -> bool {
    !path.contains('<') && !["s", "S", "asm"].iter().any(|e| path.rsplit_once('.').is_some_and(|(_, have)| have == *e))
}

/// Which files count as the user's, by patterns over whole paths in which `*` stands for any text.
#[derive(Clone, Debug, Default)]
pub struct Ownership {
    /// These are the user's wherever they are.
    pub user: Vec<String>,
    /// These are not.
    pub system: Vec<String>,
    /// These are not unless they are named as the user's: headers that the build itself calls the system's.
    pub library: Vec<String>,
}

impl Ownership {
    /// Whether a file is the user's: what is named for it, else what is not named against it and not the system's.
    pub fn is_users(&self, file: &FileName) -> bool {
        let path = file.as_str();
        let is_one_of = |patterns: &[String]| patterns.iter().any(|p| matches(p, path));
        if !is_source(path) || is_languages_own(file) || is_one_of(&self.system) {
            return false;
        }
        is_one_of(&self.user) || !is_one_of(&self.library) && !SYSTEM.iter().any(|p| matches(p, path))
    }

    /// The base names of the user's files in which a build declares functions, sorted.
    pub(crate) fn files_of(&self, module: &Module) -> Vec<String> {
        let declared: BTreeSet<FileId> = module.functions.iter().filter(|f| f.decl_line != 0).filter_map(|f| f.decl_file).collect();
        let users = declared.into_iter().map(|f| module.file(f)).filter(|f| self.is_users(f));
        let names: BTreeSet<String> = users.map(|f| f.base().to_owned()).collect();
        names.into_iter().collect()
    }
}

/// Whether a pattern matches all of a text.
fn matches(pattern: &str, text: &str) -> bool {
    glob::Pattern::new(pattern).is_ok_and(|p| p.matches(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_system_and_crates_of_the_registry_are_not_the_users() {
        let usual = Ownership::default();
        for path in [
            "/usr/include/c++/12/bits/stl_vector.h",
            "/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h",
            "/usr/lib/llvm-16/lib/clang/16/include/mmintrin.h",
            "/rustc/59807616e1fa/library/core/src/fmt/mod.rs",
            "/home/ann/.rustup/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs",
            "/home/ann/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/semver-1.0.27/src/lib.rs",
            "/home/ann/work/start.S",
            "/home/ann/work/<artificial>",
        ] {
            assert!(!usual.is_users(&FileName::new(path)), "{path}");
        }
        for path in ["/home/ann/work/main.cpp", "/build/zlib-1.2.13/deflate.c", "/usr/src/app/a.hpp", "shape.f90", "/home/ann/go/main.go"] {
            assert!(usual.is_users(&FileName::new(path)), "{path}");
        }
    }

    #[test]
    fn patterns_overrule_what_is_usual() {
        let chosen =
            Ownership { user: vec!["/usr/include/fmt/*".into()], system: vec!["*/vendor/*".into()], library: vec!["/opt/*".into()] };
        let is_users = |path| chosen.is_users(&FileName::new(path));
        assert!(is_users("/usr/include/fmt/format.h"));
        assert!(!is_users("/usr/include/stdio.h") && !is_users("/opt/json/json.hpp"));
        assert!(Ownership { user: vec!["/opt/json/*".into()], ..chosen.clone() }.is_users(&FileName::new("/opt/json/json.hpp")));
        assert!(!is_users("/home/ann/vendor/lz4.c"));
    }
}
