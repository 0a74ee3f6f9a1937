//! From files and directories to tests.

use crate::script::Test;
use crate::{SuiteError, dexter, guality, rustc};
use std::path::{Path, PathBuf};

/// Whose tests they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GCC's: `gdb-test` in a dg-final comment.
    Guality,
    /// rustc's tests/debuginfo: `gdb-command` and `gdb-check` in comments.
    Rustc,
    /// LLVM's Dexter tests: commands or a script in comments.
    Dexter,
}

impl Format {
    /// The suite's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guality => "guality",
            Self::Rustc => "rustc",
            Self::Dexter => "dexter",
        }
    }

    fn looks_like(self) -> &'static str {
        match self {
            Self::Guality => "C or C++ files with `gdb-test` in a dg-final comment",
            Self::Rustc => "Rust files with `gdb-command:` and `gdb-check:` in comments",
            Self::Dexter => "C or C++ files with `DexExpect…` or a `!where` script in comments",
        }
    }

    fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Guality | Self::Dexter => &["c", "C", "cc", "cpp"],
            Self::Rustc => &["rs"],
        }
    }
}

/// The tests of files and directories, in the order given, those of a directory by name. `flags` are those that tests are built
/// with. Files of a directory that ask nothing are no tests; a file that was named must be one.
pub fn read(format: Format, paths: &[PathBuf], flags: &[String]) -> Result<Vec<Test>, SuiteError> {
    let mut tests = Vec::new();
    for path in paths {
        let found = read_path(format, path, flags)?;
        if found.is_empty() {
            return Err(SuiteError::Empty { path: path.clone(), format: format.name(), looks_like: format.looks_like() });
        }
        tests.extend(found);
    }
    Ok(tests)
}

fn read_path(format: Format, path: &Path, flags: &[String]) -> Result<Vec<Test>, SuiteError> {
    let mut files = Vec::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(unreadable(path))? {
            let file = entry.map_err(unreadable(path))?.path();
            let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if format.extensions().contains(&extension) {
                files.push(file);
            }
        }
        files.sort();
    } else {
        files.push(path.to_owned());
    }
    let mut tests = Vec::new();
    for file in files {
        let text = std::fs::read(&file).map_err(unreadable(&file))?;
        let file = std::path::absolute(&file).map_err(unreadable(&file))?;
        let text = String::from_utf8_lossy(&text);
        let test = match format {
            Format::Guality => guality::parse(&file, &text, flags),
            Format::Rustc => rustc::parse(&file, &text),
            Format::Dexter => dexter::parse(&file, &text),
        };
        tests.extend((!test.questions.is_empty()).then_some(test));
    }
    Ok(tests)
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> SuiteError + use<> {
    let path = path.to_owned();
    move |source| SuiteError::Unreadable { path: path.clone(), source }
}
