//! Campaigns for people: a table in the form of the paper's Table 1 for the terminal, and a report of plain
//! HTML files that needs no network and no server.
//!
//! Deliberately absent: running anything.

mod causes;
mod explanation;
mod html;
mod table;

pub use causes::{ListedCause, causes_of, causes_text};
pub use explanation::passes_of;
use explanation::{explanation_lines, read_explanation};
pub use html::{
    FunctionPage, LedgerLine, LedgerPage, LedgerRow, PageLie, PageLine, PageVariable, ReportError, write_html, write_ledger, write_lies,
};
pub use table::{LevelTable, TableRow, table_of};
