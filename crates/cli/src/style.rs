//! How text looks: colours, on a terminal only, and numbers with their nouns.

use std::io::IsTerminal;

/// Whether output may carry escape sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text without any colours.
    Plain,
    /// Text with ANSI colours for a terminal.
    Coloured,
}

impl Style {
    /// Colours when standard output is a terminal and NO_COLOR is not set.
    pub fn of_stdout() -> Self {
        if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() { Self::Coloured } else { Self::Plain }
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    /// For what is wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Text of headings, in bold.
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// For what matters less.
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// A number with its noun: `1 place`, `3 places`.
pub fn plural(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}
