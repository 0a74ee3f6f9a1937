//! `trueline report`: a campaign as a table and as HTML.

use crate::exit::Ending;
use anyhow::Context;
use std::path::{Path, PathBuf};
use trueline_store::Store;

/// Show a campaign: the table here, everything else as HTML files that need no network.
#[derive(clap::Args)]
pub struct Args {
    /// The database.
    #[arg(long, value_name = "FILE", default_value = "hunt.db")]
    db: PathBuf,
    /// Where the HTML goes. [default: beside the database]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Ending> {
    let store = Store::open_existing(&args.db)?;
    let out = args.out.clone().unwrap_or_else(|| super::hunt::report_dir(&args.db));
    let index = write(&store, &out)?;
    let table = trueline_report::table_of(&store)?;
    let passes = trueline_report::passes_of(&store)?;
    if args.json {
        let rows: Vec<_> = table
            .rows
            .iter()
            .map(|row| {
                let cells = table.columns.iter().zip(&row.cells);
                let cells: serde_json::Map<String, serde_json::Value> =
                    cells.map(|(kind, (all, distinct))| (kind.clone(), serde_json::json!({"all": all, "distinct": distinct}))).collect();
                serde_json::json!({"compiler": row.compiler, "opt": row.opt, "findings": cells})
            })
            .collect();
        let passes: Vec<_> = passes.iter().map(|(pass, count)| serde_json::json!({"pass": pass, "findings": count})).collect();
        let document = serde_json::json!({
            "schema": "trueline.report/1", "database": args.db, "report": index, "counts": store.counts()?, "table": rows, "passes": passes,
        });
        println!("{}", serde_json::to_string_pretty(&document)?);
    } else {
        println!("{}", table.text());
        if !passes.is_empty() {
            println!("findings  pass (of those that triage explained)");
            passes.iter().for_each(|(pass, count)| println!("{count:>8}  {pass}"));
        }
        println!("report: {}", index.display());
    }
    Ok(Ending::Clean)
}

/// Writes the HTML report and returns the page to open.
pub fn write(store: &Store, out: &Path) -> anyhow::Result<PathBuf> {
    let index = trueline_report::write_html(store, out).with_context(|| format!("cannot write the report to {}", out.display()))?;
    Ok(std::path::absolute(&index).unwrap_or(index))
}
