//! Calls of compilers and archivers as a build made them, and the files that each reads and makes.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// One call of a compiler or an archiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Where it was called.
    pub directory: PathBuf,
    /// The name that it was called by.
    pub name: String,
    /// Its arguments, as the project gave them.
    pub args: Vec<String>,
    /// When it was written down.
    pub(crate) at: SystemTime,
}

impl ToolCall {
    /// True for a call that makes an object out of a source.
    pub fn makes_object(&self) -> bool {
        self.args.iter().any(|a| a == "-c")
    }

    /// The object that a call makes, from the root of the tree; none for a link, or for an object outside the tree. The
    /// wrapper finds the same text.
    pub fn object(&self, root: &Path) -> Option<ObjectPath> {
        if !self.makes_object() {
            return None;
        }
        let name = match self.named_output() {
            Some(name) => name.to_owned(),
            None => format!("{}.o", Path::new(self.source()?).file_stem()?.to_str()?),
        };
        let path = if name.starts_with('/') { name } else { format!("{}/{name}", self.directory.display()) };
        Some(ObjectPath(path.strip_prefix(&format!("{}/", root.display()))?.to_owned()))
    }

    /// The source that it compiles, as the project named it.
    pub fn source(&self) -> Option<&str> {
        self.args.iter().map(String::as_str).filter(|a| !a.starts_with('-')).find(|a| SOURCES.iter().any(|s| a.ends_with(s)))
    }

    /// The directories that it takes headers of the system from.
    pub(crate) fn system_directories(&self) -> Vec<&str> {
        const FLAGS: [&str; 2] = ["-isystem", "-idirafter"];
        let apart = self.args.windows(2).filter(|w| FLAGS.contains(&w[0].as_str())).map(|w| w[1].as_str());
        let glued = self.args.iter().filter_map(|arg| FLAGS.iter().find_map(|flag| arg.strip_prefix(flag)));
        apart.chain(glued.filter(|dir| !dir.is_empty())).collect()
    }

    /// What `-o` names.
    fn named_output(&self) -> Option<&str> {
        let place = self.args.iter().position(|a| a == "-o").and_then(|i| self.args.get(i + 1));
        let glued = || self.args.iter().find_map(|a| a.strip_prefix("-o").filter(|rest| !rest.is_empty()));
        place.map(String::as_str).or_else(glued)
    }

    /// The program or library that a link makes, from the root of the tree.
    pub(crate) fn linked(&self, root: &Path) -> Option<PathBuf> {
        let links = !self.args.iter().any(|a| matches!(a.as_str(), "-c" | "-E" | "-S" | "-M" | "-MM" | "-fsyntax-only"));
        links.then(|| self.within(root, self.named_output().unwrap_or("a.out")))?
    }

    /// The archive that an archiver's call makes or adds to, from the root of the tree.
    pub(crate) fn archived(&self, root: &Path) -> Option<PathBuf> {
        let (operation, rest) = self.args.split_first()?;
        let adds = operation.trim_start_matches('-').contains(['r', 'q']);
        adds.then(|| rest.iter().find(|word| !word.starts_with('-')))?.and_then(|word| self.within(root, word))
    }

    /// A path of its arguments, from the root of the tree; none for what is elsewhere.
    pub(crate) fn within(&self, root: &Path, word: &str) -> Option<PathBuf> {
        plain(&self.directory.join(word)).strip_prefix(plain(root)).ok().map(Path::to_owned)
    }

    /// Its words with another root in the place of the one that they name.
    pub(crate) fn moved(&self, from: &Path, to: &Path) -> Self {
        let (from, to) = (from.display().to_string(), to.display().to_string());
        let moved = |text: &str| text.replace(&from, &to);
        let directory = moved(&self.directory.display().to_string()).into();
        Self { directory, args: self.args.iter().map(|a| moved(a)).collect(), ..self.clone() }
    }
}

/// Endings of what compilers make objects of.
const SOURCES: [&str; 9] = [".c", ".i", ".cc", ".cpp", ".cxx", ".C", ".ii", ".S", ".s"];

/// A path without `.` and `..`, by its text alone.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// An object file of a build, from the root of its tree: the same in every build of a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectPath(pub(crate) String);

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &[&str]) -> ToolCall {
        let args = args.iter().map(|a| (*a).to_owned()).collect();
        ToolCall { directory: "/t/sub".into(), name: "cc".to_owned(), args, at: SystemTime::UNIX_EPOCH }
    }

    #[test]
    fn directories_of_the_system_are_those_that_the_call_names_so() {
        let args = ["-isystem", "/opt/fmt", "-I", "include", "-isystem../vendor", "-c", "a.cc"];
        assert_eq!(call(&args).system_directories(), ["/opt/fmt", "../vendor"]);
    }

    #[test]
    fn what_a_call_makes_is_known_from_the_root_of_the_tree() {
        let root = Path::new("/t");
        assert_eq!(call(&["-c", "a.c"]).object(root), Some(ObjectPath("sub/a.o".to_owned())));
        assert_eq!(call(&["a.o", "-o", "../bin/prog"]).linked(root), Some("bin/prog".into()));
        assert_eq!(call(&["-c", "a.c"]).linked(root), None);
        assert_eq!(call(&["rcs", "./liba.a", "a.o"]).archived(root), Some("sub/liba.a".into()));
        assert_eq!(call(&["t", "liba.a"]).archived(root), None, "a listing makes nothing");
        assert_eq!(call(&["a.o", "-o", "/elsewhere/prog"]).linked(root), None);
    }
}
