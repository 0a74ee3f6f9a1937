//! Temporary files: one place, named after the process, removed when dropped. What a killed process
//! left behind is swept by the next one.

use std::io;
use std::path::{Path, PathBuf};

const PREFIX: &str = "trueline-";

/// A private directory that vanishes with the value.
#[derive(Debug)]
pub struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    /// Makes a new one under the system's temporary directory (`TMPDIR` is honoured).
    pub fn new() -> io::Result<Self> {
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir()?;
        Ok(Self { dir })
    }

    /// The directory, which vanishes with this value.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A path inside it; nothing is created.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file inside it and returns its path.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.join(name);
        std::fs::write(&path, content)?;
        Ok(path)
    }
}

/// Removes scratch directories whose process no longer exists; returns how many there were. Called once
/// at start-up, so that a `kill -9` costs disk space only until the next run.
pub fn sweep_stale() -> usize {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return 0 };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|n| n.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next()?.parse::<i32>().ok());
            pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists() && std::fs::remove_dir_all(entry.path()).is_ok())
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_vanishes_with_its_value() {
        let path = {
            let scratch = Scratch::new().unwrap();
            scratch.write("a", "b").unwrap();
            scratch.path().to_owned()
        };
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_process_left_is_swept() {
        let dir = std::env::temp_dir().join(format!("{PREFIX}999999999-x"));
        std::fs::create_dir_all(&dir).unwrap();
        assert!(sweep_stale() >= 1);
        assert!(!dir.exists());
    }
}
