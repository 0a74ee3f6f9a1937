//! Violations and distinct ones per compiler, level and invariant: the form of Table 1 in *Who's Debugging the Debuggers?*

use std::collections::BTreeMap;
use std::fmt::Write;
use trueline_model::{Invariant, OptLevel};
use trueline_store::{LevelCount, Store, StoreError};

/// One compiler at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// Family and version of the compiler.
    pub compiler: String,
    /// The level it was run at.
    pub opt: String,
    /// Per column: all findings, distinct ones.
    pub cells: Vec<(u64, u64)>,
}

/// The whole table: a row per compiler and level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelTable {
    /// Kinds of fault, the paper's four first; others only where something was found.
    pub columns: Vec<String>,
    /// Rows in the order compilers and levels are listed everywhere.
    pub rows: Vec<TableRow>,
}

/// The four of the paper are always shown, also when empty.
const ALWAYS: [Invariant; 4] = [Invariant::Line, Invariant::Scope, Invariant::Backtrace, Invariant::Parameter];

/// How a column is headed: the paper's two letters where it has some.
pub fn heading(kind: &str) -> &str {
    match kind {
        "line" => "LI",
        "scope" => "SI",
        "backtrace" => "BI",
        "parameter" => "PI",
        "value" => "VI",
        other => other,
    }
}

/// Reads the table from a store.
pub fn table_of(store: &Store) -> Result<LevelTable, StoreError> {
    Ok(build(&store.level_counts()?))
}

fn build(counts: &[LevelCount]) -> LevelTable {
    let mut columns: Vec<String> = ALWAYS.iter().map(|i| i.name().to_owned()).collect();
    let rest = Invariant::ALL.iter().map(|i| i.name()).chain(["crash", "hang", "wrong-code", "explosion"]);
    for kind in rest {
        if !columns.iter().any(|c| c == kind) && counts.iter().any(|c| c.kind == kind) {
            columns.push(kind.to_owned());
        }
    }
    let rank = |opt: &str| opt.parse::<OptLevel>().ok();
    // Levels in their own order, not the alphabet's.
    type Key = (String, Option<OptLevel>, String);
    let mut rows: BTreeMap<Key, Vec<(u64, u64)>> = BTreeMap::new();
    for count in counts {
        let key = (count.compiler.clone(), rank(&count.opt), count.opt.clone());
        let cells = rows.entry(key).or_insert_with(|| vec![(0, 0); columns.len()]);
        if let Some(at) = columns.iter().position(|c| *c == count.kind) {
            cells[at] = (count.findings, count.distinct);
        }
    }
    let rows = rows.into_iter().map(|((compiler, _, opt), cells)| TableRow { compiler, opt, cells }).collect();
    LevelTable { columns, rows }
}

impl LevelTable {
    /// The table as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let width = self.columns.iter().map(|c| heading(c).len().max(5)).collect::<Vec<_>>();
        let name = self.rows.iter().map(|r| r.compiler.len()).max().unwrap_or(8).max(8);
        let block: usize = width.iter().map(|w| w + 1).sum();
        let _ = writeln!(out, "{:name$}  {:6}│{:^block$}│{:^block$}", "", "", "all findings", "distinct");
        let heads = |out: &mut String| {
            for (column, w) in self.columns.iter().zip(&width) {
                let _ = write!(out, "{:>w$} ", heading(column), w = *w);
            }
        };
        let _ = write!(out, "{:name$}  {:6}│", "compiler", "level");
        heads(&mut out);
        out.push('│');
        heads(&mut out);
        out.push('\n');
        let _ = writeln!(out, "{}┼{}┼{}", "─".repeat(name + 8), "─".repeat(block), "─".repeat(block));
        let mut before = "";
        for row in &self.rows {
            let shown = if row.compiler == before { "" } else { &row.compiler };
            before = &row.compiler;
            let _ = write!(out, "{shown:name$}  {:6}│", row.opt);
            for pick in [|c: &(u64, u64)| c.0, |c: &(u64, u64)| c.1] {
                for (cell, w) in row.cells.iter().zip(&width) {
                    let number = pick(cell);
                    let text = if number == 0 { "·".to_owned() } else { number.to_string() };
                    let _ = write!(out, "{text:>w$} ", w = *w);
                }
                out.push('│');
            }
            out.pop();
            out.push('\n');
        }
        let letters = self.columns.iter().filter(|kind| heading(kind) != kind.as_str());
        let legend: Vec<String> = letters.map(|kind| format!("{} {kind}", heading(kind))).collect();
        let _ = writeln!(out, "{}", legend.join(", "));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(compiler: &str, opt: &str, kind: &str, findings: u64, distinct: u64) -> LevelCount {
        LevelCount { compiler: compiler.into(), opt: opt.into(), kind: kind.into(), findings, distinct }
    }

    #[test]
    fn levels_come_in_their_usual_order_and_columns_as_in_the_paper() {
        let counts = [
            count("gcc 12.2.0", "-O2", "line", 3, 2),
            count("gcc 12.2.0", "-Og", "value", 7, 1),
            count("clang 16.0.6", "-Og", "crash", 1, 1),
        ];
        let table = build(&counts);
        assert_eq!(table.columns, ["line", "scope", "backtrace", "parameter", "value", "crash"]);
        let rows: Vec<(&str, &str)> = table.rows.iter().map(|r| (r.compiler.as_str(), r.opt.as_str())).collect();
        assert_eq!(rows, [("clang 16.0.6", "-Og"), ("gcc 12.2.0", "-Og"), ("gcc 12.2.0", "-O2")]);
        assert_eq!(table.rows[2].cells[0], (3, 2));
        let text = table.text();
        assert!(text.contains("LI") && text.contains("distinct"), "{text}");
    }
}
