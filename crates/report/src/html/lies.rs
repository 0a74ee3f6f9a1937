//! The pages of one check: an index of causes and functions, and a page for each function that lies.

use super::{CSS, ReportError, io};
use askama::Template;
use std::path::{Path, PathBuf};

/// A function with its source, both traces and all its lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionPage {
    /// The function's name.
    pub function: String,
    /// The file that it is in.
    pub file: String,
    /// The build that lies.
    pub build: String,
    /// The function's text, line by line.
    pub lines: Vec<PageLine>,
    /// Its variables as both builds show them.
    pub variables: Vec<PageVariable>,
    /// What is wrong.
    pub lies: Vec<PageLie>,
}

/// One line of a function, with the addresses at which both builds stop on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageLine {
    /// Its number in the file.
    pub number: u32,
    /// The line as the source has it.
    pub text: String,
    /// Stops at -O0.
    pub reference: String,
    /// Stops in the optimized build.
    pub optimized: String,
    /// True when a lie is told on it.
    pub is_wrong: bool,
}

/// A variable and the values that both builds show of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageVariable {
    /// The variable's name.
    pub name: String,
    /// Values at -O0.
    pub reference: String,
    /// Values in the optimized build.
    pub optimized: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageLie {
    /// The invariant that is broken.
    pub kind: String,
    /// What is wrong, in one sentence.
    pub title: String,
    /// What -O0 has, and why.
    pub details: String,
    /// Where it shows.
    pub address: String,
    /// The group that it is part of.
    pub cause: String,
}

#[derive(Template)]
#[template(path = "function.html")]
struct Page<'a> {
    css: &'a str,
    page: &'a FunctionPage,
}

#[derive(Template)]
#[template(path = "lies.html")]
struct LieIndex<'a> {
    css: &'a str,
    title: &'a str,
    causes: &'a [(String, String)],
    pages: &'a [FunctionPage],
}

/// Writes the pages of a check and returns the one to open; `causes` are the groups with what is in each.
pub fn write_lies(out: &Path, title: &str, causes: &[(String, String)], pages: &[FunctionPage]) -> Result<PathBuf, ReportError> {
    let dir = out.join("functions");
    std::fs::create_dir_all(&dir).map_err(io(&dir))?;
    let write = |path: PathBuf, text: askama::Result<String>| -> Result<PathBuf, ReportError> {
        let text = text.map_err(|e| ReportError::Render(e.to_string()))?;
        std::fs::write(&path, text).map_err(io(&path))?;
        Ok(path)
    };
    for (number, page) in pages.iter().enumerate() {
        write(dir.join(format!("{}.html", number + 1)), Page { css: CSS, page }.render())?;
    }
    write(out.join("index.html"), LieIndex { css: CSS, title, causes, pages }.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_a_page_with_its_lies_and_no_text_of_a_program_is_markup() {
        let dir = tempfile::tempdir().unwrap();
        let line = PageLine { number: 7, text: "if (a < b)".into(), reference: "0x1".into(), optimized: "0x2".into(), is_wrong: true };
        let lie = PageLie { kind: "line".into(), title: "a.c:7 never runs".into(), ..PageLie::default() };
        let variable = PageVariable { name: "x".into(), reference: "1".into(), optimized: "<script>".into() };
        let page = FunctionPage {
            function: "f<int>".into(),
            lines: vec![line],
            variables: vec![variable],
            lies: vec![lie],
            ..FunctionPage::default()
        };
        let index = write_lies(dir.path(), "prog", &[("`f`".into(), "1 line".into())], &[page]).unwrap();
        let index = std::fs::read_to_string(index).unwrap();
        assert!(index.contains("functions/1.html") && index.contains("f&#60;int&#62;"), "{index}");
        let page = std::fs::read_to_string(dir.path().join("functions/1.html")).unwrap();
        assert!(page.contains("a &#60; b") && page.contains("a.c:7 never runs") && !page.contains("<script>"), "{page}");
    }
}
