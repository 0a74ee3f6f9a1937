//! The copy of a project's tree that is built in.
//!
//! Times are kept, so that a build finds what it would find in the user's tree. Left out are the records of version
//! control and Cargo's `target`: nobody builds from them, and they are large.

use crate::ProjectError;
use std::ffi::OsStr;
use std::fs::{self, FileTimes};
use std::path::Path;

/// Directories that no build needs.
const LEFT_OUT: [&str; 3] = [".git", ".hg", ".svn"];

/// Copies a project below `to`, which must not exist.
pub(crate) fn copy_project(from: &Path, to: &Path) -> Result<(), ProjectError> {
    let out = left_out(from);
    copy(from, to, &|name| !out(name))
}

/// Whether something of this name in a project's directory is no part of it.
pub(crate) fn left_out(project: &Path) -> impl Fn(&OsStr) -> bool + use<> {
    let is_cargo = project.join("Cargo.toml").is_file();
    move |name| LEFT_OUT.iter().any(|n| *n == name) || is_cargo && name == "target"
}

fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&OsStr) -> bool) -> Result<(), ProjectError> {
    let cannot = |path: &Path| ProjectError::io(format!("cannot copy {}", path.display()));
    fs::create_dir(to).map_err(cannot(from))?;
    for entry in fs::read_dir(from).map_err(cannot(from))? {
        let entry = entry.map_err(cannot(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(cannot(&source))?;
        if kind.is_dir() {
            if wanted(&entry.file_name()) {
                copy(&source, &target, &|_| true)?;
            }
        } else if kind.is_symlink() {
            let aim = fs::read_link(&source).map_err(cannot(&source))?;
            std::os::unix::fs::symlink(aim, &target).map_err(cannot(&source))?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(cannot(&source))?;
            keep_time(&source, &target).map_err(cannot(&source))?;
        }
    }
    Ok(())
}

fn keep_time(source: &Path, target: &Path) -> std::io::Result<()> {
    let modified = fs::metadata(source)?.modified()?;
    let times = FileTimes::new().set_modified(modified);
    // A file that only its owner may read cannot be opened for writing: its time does not matter to a build.
    match fs::File::options().write(true).open(target) {
        Ok(file) => file.set_times(times),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_times_and_links_and_leaves_version_control_out() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("p");
        fs::create_dir_all(from.join(".git")).unwrap();
        fs::create_dir_all(from.join("src/target")).unwrap();
        fs::write(from.join("src/target/a.c"), "int x;").unwrap();
        fs::write(from.join("Cargo.toml"), "").unwrap();
        fs::create_dir(from.join("target")).unwrap();
        std::os::unix::fs::symlink("src/target/a.c", from.join("link.c")).unwrap();
        let to = dir.path().join("copy");
        copy_project(&from, &to).unwrap();
        assert!(!to.join(".git").exists() && !to.join("target").exists());
        assert_eq!(fs::read_link(to.join("link.c")).unwrap(), Path::new("src/target/a.c"));
        let time = |path: &Path| fs::metadata(path.join("src/target/a.c")).unwrap().modified().unwrap();
        assert_eq!(time(&to), time(&from));
    }
}
