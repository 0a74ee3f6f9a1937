//! What tells a project, and an input of one, from another: numbers made of content, so that what was done about them is known
//! again later.

use crate::ProjectError;
use crate::tree::left_out;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// A project's content and the words that say how it is built and run, as a short text. Files below `except` are not part of
/// it, so that inputs may be kept in the project's own tree.
pub fn identity_of(project: &Path, except: Option<&Path>, words: &[String]) -> Result<String, ProjectError> {
    let unreadable = |source| ProjectError::Unreadable { dir: project.to_owned(), source };
    let root = fs::canonicalize(project).map_err(unreadable)?;
    let except = except.and_then(|path| fs::canonicalize(path).ok());
    let mut hasher = Sha256::new();
    words.iter().for_each(|word| add(&mut hasher, word.as_bytes()));
    let out = left_out(&root);
    add_directory(&mut hasher, &root, &root, &|path| {
        Some(path) == except.as_deref() || path.parent() == Some(&root) && path.file_name().is_some_and(&out)
    })?;
    let name = root.file_name().map_or_else(|| root.display().to_string(), |n| n.to_string_lossy().into_owned());
    let digest: String = hasher.finalize().iter().take(6).map(|b| format!("{b:02x}")).collect();
    Ok(format!("{name} {digest}"))
}

/// A number for one input: the command that is run, and the content of what it reads.
pub fn input_number(command: &str, content: &[u8]) -> u64 {
    let mut hasher = Sha256::new();
    add(&mut hasher, command.as_bytes());
    add(&mut hasher, content);
    let digest = hasher.finalize();
    let bytes = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    // Stores keep numbers with a sign.
    bytes >> 1
}

/// Lengths part what is hashed: `ab` and `c` are not `a` and `bc`.
fn add(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn add_directory(hasher: &mut Sha256, root: &Path, dir: &Path, is_out: &dyn Fn(&Path) -> bool) -> Result<(), ProjectError> {
    let cannot = |path: &Path| ProjectError::io(format!("cannot read {}", path.display()));
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir).map_err(cannot(dir))? {
        entries.push(entry.map_err(cannot(dir))?.path());
    }
    entries.sort();
    for path in entries.into_iter().filter(|path| !is_out(path)) {
        let meta = fs::symlink_metadata(&path).map_err(cannot(&path))?;
        if meta.is_dir() {
            add_directory(hasher, root, &path, is_out)?;
            continue;
        }
        add(hasher, path.strip_prefix(root).unwrap_or(&path).to_string_lossy().as_bytes());
        if meta.is_symlink() {
            add(hasher, fs::read_link(&path).map_err(cannot(&path))?.to_string_lossy().as_bytes());
        } else if meta.is_file() {
            add(hasher, &fs::read(&path).map_err(cannot(&path))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_another_one_when_a_file_of_it_changes_and_not_when_an_input_does() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("inputs")).unwrap();
        fs::create_dir_all(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join("a.c"), "int x;").unwrap();
        let inputs = dir.path().join("inputs");
        let now = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            identity_of(dir.path(), Some(&inputs), &words).unwrap()
        };
        let first = now(&["make"]);
        fs::write(inputs.join("new"), "1").unwrap();
        fs::write(dir.path().join(".git/index"), "1").unwrap();
        assert_eq!(now(&["make"]), first);
        assert_ne!(now(&["make", "-k"]), first);
        fs::write(dir.path().join("a.c"), "int y;").unwrap();
        assert_ne!(now(&["make"]), first);
    }

    #[test]
    fn an_input_is_known_by_its_command_and_content() {
        let number = input_number("./prog {}", b"text");
        assert_eq!(number, input_number("./prog {}", b"text"));
        assert_ne!(number, input_number("./prog -v {}", b"text"));
        assert_ne!(number, input_number("./prog {}", b"texts"));
        assert!(i64::try_from(number).is_ok());
    }
}
