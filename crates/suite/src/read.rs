//! From files and directories to tests.

use crate::script::Test;
use crate::{SuiteError, guality};
use std::path::{Path, PathBuf};

/// Whose tests they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GCC's: `gdb-test` in a dg-final comment.
    Guality,
}

impl Format {
    /// The suite's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guality => "guality",
        }
    }

    fn looks_like(self) -> &'static str {
        match self {
            Self::Guality => "C or C++ files with `gdb-test` in a dg-final comment",
        }
    }

    fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Guality => &["c", "C", "cc", "cpp"],
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
        };
        tests.extend((!test.questions.is_empty()).then_some(test));
    }
    Ok(tests)
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> SuiteError + use<> {
    let path = path.to_owned();
    move |source| SuiteError::Unreadable { path: path.clone(), source }
}
