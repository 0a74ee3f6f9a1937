//! The lines of a program that was preprocessed before it came here (`.i`, `.ii`). Its line markers say which file and line
//! each of its lines was made from, and debug information goes by them.
//!
//! Deliberately absent: the text of headers. They are not the user's.

use crate::Program;
use std::borrow::Cow;

/// The file that a program's debug information speaks of, with the text of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnText<'a> {
    /// The file, base name only.
    pub file: &'a str,
    /// Its lines; of a preprocessed program those that are left of the file it was made from.
    pub text: Cow<'a, str>,
}

impl Program {
    /// The file and the lines that debuggers show of this program.
    pub fn own_text(&self) -> OwnText<'_> {
        let is_preprocessed = [".i", ".ii"].iter().any(|e| self.name.ends_with(e));
        let made_from = self.source.lines().find_map(marker).filter(|_| is_preprocessed);
        match made_from {
            Some((_, file)) => OwnText { file, text: Cow::Owned(lines_of(&self.source, file)) },
            None => OwnText { file: &self.name, text: Cow::Borrowed(&self.source) },
        }
    }
}

/// The line number and the base name of the file that a line marker gives for the line below it.
fn marker(line: &str) -> Option<(usize, &str)> {
    let rest = line.strip_prefix('#')?;
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let (number, rest) = rest.split_once(' ')?;
    let file = rest.strip_prefix('"')?.split('"').next()?;
    Some((number.parse().ok()?, file.rsplit('/').next()?))
}

/// The lines of `file` that a preprocessed text holds, each at its number.
fn lines_of(source: &str, file: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut next = None;
    for line in source.lines() {
        if let Some((number, of)) = marker(line) {
            next = (of == file && number > 0).then(|| number - 1);
        } else if let Some(index) = next {
            // A macro's expansion may be spread over several pieces of one line: the first says most.
            if lines.len() <= index {
                lines.resize(index + 1, "");
            }
            if lines[index].trim().is_empty() {
                lines[index] = line;
            }
            next = Some(index + 1);
        }
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, Origin};

    fn program(name: &str, source: &str) -> Program {
        let origin = Origin::File { path: name.into() };
        Program { name: name.to_owned(), language: Language::C, source: source.to_owned(), origin, cflags: Vec::new() }
    }

    #[test]
    fn a_preprocessed_program_has_the_lines_of_the_file_it_was_made_from() {
        let text = "# 0 \"/home/ann/a.c\"\n# 0 \"<built-in>\"\nbuilt\n# 1 \"/home/ann/a.c\"\n# 1 \"/usr/include/b.h\" 1 3\nint b;\n# 2 \"/home/ann/a.c\" 2\nint a;\nint c;\n";
        let program = program("a.i", text);
        let own = program.own_text();
        assert_eq!((own.file, &*own.text), ("a.c", "\nint a;\nint c;\n"));
    }

    #[test]
    fn a_text_without_markers_is_its_own() {
        for (name, text) in [("a.c", "# 1 \"b.c\"\nint a;\n"), ("a.i", "int a;\n")] {
            let program = program(name, text);
            assert_eq!(program.own_text(), OwnText { file: name, text: Cow::Borrowed(text) });
        }
    }
}
