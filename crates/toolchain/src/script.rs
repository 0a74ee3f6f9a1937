//! The scripts that start programs of a private root through the loader and the libraries that came with them.
//!
//! They are written here and read here, so that whoever knows one can start the program without a shell.
//! Deliberately absent: scripts of others, which may do as they like.

use std::path::{Path, PathBuf};

/// What such a script does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The loader of the root, or of the host.
    pub loader: PathBuf,
    /// What the program is told its name is.
    pub name: PathBuf,
    /// Where the loader looks for libraries, with colons between.
    pub libraries: String,
    /// The program itself.
    pub program: PathBuf,
    /// What is done to the arguments.
    pub preparation: Preparation,
}

/// What a script does to the arguments before it hands them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preparation {
    /// Nothing is done before the program starts.
    None,
    /// Without canonical prefixes clang starts its second half by the name it was started with, that is: through this
    /// script again. `-cc1` must stay the first argument.
    Clang,
    /// The plugin would be loaded by the host's linker, whose C library may be older.
    Gcc,
}

const CLANG: &str = "case \"$1\" in -cc1*) set -- \"$@\" ;; *) set -- -no-canonical-prefixes \"$@\" ;; esac\n";
const GCC: &str = "set -- -fno-use-linker-plugin \"$@\"\n";

impl Script {
    /// The text of the script.
    pub(crate) fn text(&self) -> String {
        format!(
            "#!/bin/sh\n{}exec '{}' --argv0 '{}' --library-path '{}' '{}' \"$@\"\n",
            self.preparation.text(),
            self.loader.display(),
            self.name.display(),
            self.libraries,
            self.program.display()
        )
    }

    /// Reads a script; `None` when it is not one of these to the letter.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let words = shlex::split(text.lines().last()?)?;
        let ["exec", loader, "--argv0", name, "--library-path", libraries, program, "$@"] =
            words.iter().map(String::as_str).collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let script = |preparation| Self {
            loader: loader.into(),
            name: name.into(),
            libraries: libraries.to_owned(),
            program: program.into(),
            preparation,
        };
        [Preparation::None, Preparation::Clang, Preparation::Gcc].map(script).into_iter().find(|script| script.text() == text)
    }

    /// Reads the script at a path.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        // They are a few hundred bytes; a compiler is not read to find out that it is none.
        const LONGEST: u64 = 16 << 10;
        let length = std::fs::metadata(path).ok()?.len();
        (length < LONGEST).then(|| std::fs::read_to_string(path).ok())?.and_then(|text| Self::read(&text))
    }
}

impl Preparation {
    fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Clang => CLANG,
            Self::Gcc => GCC,
        }
    }

    /// The argument that is put in front of those that begin with `first`.
    pub(crate) fn in_front_of(self, first: Option<&std::ffi::OsStr>) -> Option<&'static str> {
        let is_second_half = first.is_some_and(|word| word.as_encoded_bytes().starts_with(b"-cc1"));
        match self {
            Self::Clang if !is_second_half => Some("-no-canonical-prefixes"),
            Self::Gcc => Some("-fno-use-linker-plugin"),
            Self::Clang | Self::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, Scratch};

    fn script(preparation: Preparation) -> Script {
        let [loader, name, program] = ["/lib64/ld-linux-x86-64.so.2", "/x/clang 9", "/bin/echo"].map(PathBuf::from);
        Script { loader, name, libraries: "/a b:/c".to_owned(), program, preparation }
    }

    #[test]
    fn what_is_written_is_read_back_and_nothing_else_is() {
        for preparation in [Preparation::None, Preparation::Clang, Preparation::Gcc] {
            let script = script(preparation);
            assert_eq!(Script::read(&script.text()).as_ref(), Some(&script));
            assert_eq!(Script::read(&script.text().replace("#!/bin/sh\n", "#!/bin/sh\nexport X=1\n")), None);
        }
        assert_eq!(Script::read("#!/bin/sh\nexec gcc \"$@\"\n"), None);
        assert_eq!(Script::read(""), None);
    }

    #[test]
    fn the_shell_does_to_the_arguments_what_is_said_of_it() {
        let scratch = Scratch::new().unwrap();
        for preparation in [Preparation::None, Preparation::Clang, Preparation::Gcc] {
            let text = script(preparation).text();
            for args in [&["-c", "x"][..], &["-cc1", "x"], &["-cc1as"], &[]] {
                let path = scratch.write("script", &text).unwrap();
                let said = Job::new("/bin/sh").arg(path).args(args).run().unwrap().stdout_text();
                let front = preparation.in_front_of(args.first().map(std::ffi::OsStr::new));
                let expected: Vec<&str> = front.into_iter().chain(args.iter().copied()).collect();
                assert_eq!(said, format!("{}\n", expected.join(" ")), "{preparation:?}");
            }
        }
    }
}
