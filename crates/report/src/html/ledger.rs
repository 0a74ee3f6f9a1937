//! The page of a ledger: a table of causes, the worst first, and for each its program with lie and truth side by side.

use super::{CSS, ReportError, io};
use askama::Template;
use std::path::{Path, PathBuf};

/// The page's part of one root cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerPage {
    /// The name of the entry.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Whose fault it is.
    pub component: String,
    /// The guilty pass, with its function and file where they are known.
    pub pass: String,
    /// How bad it is.
    pub severity: String,
    /// What is known of it in public.
    pub status: String,
    /// How many findings it explains.
    pub findings: u32,
    /// True when it may be by design.
    pub is_debatable: bool,
    /// What the debugger shows.
    pub shown: String,
    /// What is true there.
    pub truth: String,
    /// The program that shows it, line by line.
    pub program: Vec<LedgerLine>,
    /// The report in the tracker's form.
    pub report: String,
    /// The levels of the columns.
    pub levels: Vec<String>,
    /// Versions and whether it shows at each level.
    pub versions: Vec<LedgerRow>,
}

/// One line of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerLine {
    /// The number of the line in the program.
    pub number: u32,
    /// The line as the program has it.
    pub text: String,
    /// True where the lie is told.
    pub is_wrong: bool,
}

/// What one version shows at each level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerRow {
    /// The version as a reader knows it.
    pub version: String,
    /// Whether the fault shows, level by level.
    pub shows: Vec<bool>,
}

#[derive(Template)]
#[template(path = "ledger.html")]
struct Page<'a> {
    css: &'a str,
    pages: &'a [LedgerPage],
}

/// Writes the page and returns its path.
pub fn write_ledger(out: &Path, pages: &[LedgerPage]) -> Result<PathBuf, ReportError> {
    std::fs::create_dir_all(out).map_err(io(out))?;
    let text = Page { css: CSS, pages }.render().map_err(|e| ReportError::Render(e.to_string()))?;
    let path = out.join("index.html");
    std::fs::write(&path, text).map_err(io(&path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_its_program_lie_truth_and_versions_and_no_text_of_it_is_markup() {
        let dir = tempfile::tempdir().unwrap();
        let page = LedgerPage {
            id: "x".into(),
            title: "a <b> is wrong".into(),
            shown: "n = 9".into(),
            truth: "n is 7".into(),
            program: vec![LedgerLine { number: 1, text: "if (a < b)".into(), is_wrong: true }],
            levels: vec!["-O1".into(), "-O2".into()],
            versions: vec![LedgerRow { version: "gcc 16.2.0".into(), shows: vec![false, true] }],
            ..LedgerPage::default()
        };
        let text = std::fs::read_to_string(write_ledger(dir.path(), &[page]).unwrap()).unwrap();
        for part in ["a &#60;b&#62; is wrong", "n = 9", "n is 7", "if (a &#60; b)", "gcc 16.2.0", "shows"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
