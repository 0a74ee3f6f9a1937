//! Which part of a run is looked at: the functions, the files and the moment that somebody asked for.

use glob::Pattern;
use std::fmt;
use std::str::FromStr;

/// What is looked at; everything from main on by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    /// Functions, by patterns of their names; any when there are none.
    pub functions: Vec<Pattern>,
    /// Files, by patterns of their base names; any when there are none.
    pub files: Vec<Pattern>,
    /// Nothing is looked at before the program comes here.
    pub after: Option<Landmark>,
}

impl Focus {
    /// True when all of the user's code counts.
    pub fn is_everywhere(&self) -> bool {
        self.functions.is_empty() && self.files.is_empty()
    }

    /// Whether code counts that is in one of the functions and one of the files.
    pub(crate) fn accepts<'n>(&self, functions: impl Iterator<Item = &'n str>, files: impl Iterator<Item = &'n str>) -> bool {
        has_one(&self.functions, functions) && has_one(&self.files, files)
    }
}

fn has_one<'n>(patterns: &[Pattern], mut names: impl Iterator<Item = &'n str>) -> bool {
    patterns.is_empty() || names.any(|name| patterns.iter().any(|p| p.matches(name)))
}

/// A moment of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Landmark {
    /// A function is called for the so-many-th time, counted from 1.
    Call {
        /// The name of the function.
        function: String,
        /// Which call it is.
        number: u32,
    },
    /// The program comes to a line for the first time.
    Line {
        /// The file's base name.
        file: String,
        /// The line.
        line: u32,
    },
}

impl fmt::Display for Landmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { function, number: 1 } => write!(f, "{function}"),
            Self::Call { function, number } => write!(f, "{function}#{number}"),
            Self::Line { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

impl FromStr for Landmark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || format!("`{text}` is no moment of a run; use FUNCTION, FUNCTION#N (its N-th call) or FILE:LINE");
        let number = |digits: &str| digits.parse().ok().filter(|&n: &u32| n > 0).ok_or_else(usage);
        if let Some((function, calls)) = text.rsplit_once('#') {
            return Ok(Self::Call { function: function.to_owned(), number: number(calls)? });
        }
        match text.rsplit_once(':') {
            // `ns::f` is a function.
            Some((file, line)) if !file.ends_with(':') => Ok(Self::Line { file: file.to_owned(), line: number(line)? }),
            _ if text.is_empty() => Err(usage()),
            _ => Ok(Self::Call { function: text.to_owned(), number: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_as_they_are_written() {
        for text in ["deflate", "deflate#3", "main.c:120", "ns::f", "ns::f#2"] {
            assert_eq!(text.parse::<Landmark>().unwrap().to_string(), text);
        }
        for text in ["", "f#0", "f#x", "a.c:0", "a.c:x"] {
            assert!(text.parse::<Landmark>().is_err(), "{text}");
        }
    }

    #[test]
    fn code_counts_when_a_name_and_a_file_fit() {
        let pattern = |text: &str| vec![Pattern::new(text).unwrap()];
        let focus = Focus { functions: pattern("sqlite3Vdbe*"), files: pattern("vdbe*.c"), after: None };
        assert!(focus.accepts(["inlined", "sqlite3VdbeExec"].into_iter(), ["vdbe.c"].into_iter()));
        assert!(!focus.accepts(["sqlite3VdbeExec"].into_iter(), ["main.c"].into_iter()));
        assert!(!focus.accepts(["main"].into_iter(), ["vdbe.c"].into_iter()));
        assert!(Focus::default().accepts(std::iter::empty(), std::iter::empty()));
    }
}
