//! The HTML report: `index.html` and one page per finding. Every page carries its own style and script and
//! loads nothing, so that it works from a file as from a server; a content security policy says so to the
//! browser as well.

mod index;
mod ledger;
mod lies;
mod page;
mod plot;
mod words;

pub use ledger::{LedgerLine, LedgerPage, LedgerRow, write_ledger};
pub use lies::{FunctionPage, PageLie, PageLine, PageVariable, write_lies};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueline_store::{Store, StoreError};

/// The style of all pages.
const CSS: &str = include_str!("../templates/style.css");

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A page could not be written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file that cannot be written.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// A page could not be rendered.
    #[error("cannot render a page: {0}")]
    Render(String),
}

/// Ties a failure of the file system to the file.
fn io(path: &Path) -> impl Fn(std::io::Error) -> ReportError + use<> {
    let path = path.to_owned();
    move |source| ReportError::Io { path: path.clone(), source }
}

/// Writes the report and returns the page to open. Pages of an earlier report in the same place are
/// replaced; other files there are left alone.
pub fn write_html(store: &Store, out: &Path) -> Result<PathBuf, ReportError> {
    let pages = out.join("findings");
    std::fs::create_dir_all(&pages).map_err(io(&pages))?;
    let findings = store.findings()?;
    let mut needed: BTreeMap<String, usize> = BTreeMap::new();
    for record in &findings {
        let path = pages.join(format!("{}.html", record.id.0));
        let evidence = store.evidence(record)?;
        if let Some(minimal) = evidence.as_ref().and_then(|e| e.minimal.as_ref()) {
            *needed.entry(minimal.strategies()).or_default() += 1;
        }
        std::fs::write(&path, page::render(record, evidence.as_ref())?).map_err(io(&path))?;
    }
    let index = out.join("index.html");
    std::fs::write(&index, index::render(store, &findings, needed.into_iter().collect())?).map_err(io(&index))?;
    Ok(index)
}
