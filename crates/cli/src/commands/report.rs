//! `trueline report`: a campaign as a table and as HTML.

use crate::exit::CommandEnding;
use anyhow::Context;
use std::path::{Path, PathBuf};
use trueline_model::Invariant;
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
    /// Rank the passes that triage found by the variables that they lose.
    #[arg(long)]
    losses: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// What `trueline report --json` prints.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Report")]
pub struct Document<'a> {
    /// `trueline.report/1`.
    schema: &'static str,
    /// The campaign.
    database: &'a Path,
    /// The page to open.
    report: &'a Path,
    /// What the campaign holds.
    counts: trueline_store::Counts,
    /// Findings by compiler, level and kind.
    table: Vec<ReportRow>,
    /// Findings by pass, of those that triage explained.
    passes: Vec<PassCount<'a>>,
    /// The same for variables that are lost, with `--losses`.
    #[serde(skip_serializing_if = "Option::is_none")]
    losses: Option<Vec<PassCount<'a>>>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct PassCount<'a> {
    /// The pass.
    pass: &'a str,
    /// Its findings.
    findings: usize,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Row")]
struct ReportRow {
    /// The compiler.
    compiler: String,
    /// The level.
    opt: String,
    /// Counts by kind.
    findings: std::collections::BTreeMap<String, Cell>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Cell {
    /// Findings.
    all: u64,
    /// Distinct ones.
    distinct: u64,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let store = Store::open_existing(&args.db)?;
    let out = args.out.clone().unwrap_or_else(|| super::hunt::report_dir(&args.db));
    let index = write(&store, &out)?;
    let table = trueline_report::table_of(&store)?;
    let passes = trueline_report::passes_of(&store, None)?;
    let losses = args.losses.then(|| trueline_report::passes_of(&store, Some(Invariant::Lost))).transpose()?;
    if args.json {
        let cell = |(kind, (all, distinct)): (&String, &(u64, u64))| (kind.clone(), Cell { all: *all, distinct: *distinct });
        let row = |row: &trueline_report::TableRow| ReportRow {
            compiler: row.compiler.clone(),
            opt: row.opt.clone(),
            findings: table.columns.iter().zip(&row.cells).map(cell).collect(),
        };
        let document = Document {
            schema: "trueline.report/1",
            database: &args.db,
            report: &index,
            counts: store.counts()?,
            table: table.rows.iter().map(row).collect(),
            passes: counted(&passes),
            losses: losses.as_deref().map(counted),
        };
        println!("{}", serde_json::to_string_pretty(&document)?);
    } else {
        println!("{}", table.text());
        if !passes.is_empty() {
            println!("findings  pass (of those that triage explained)");
            passes.iter().for_each(|(pass, count)| println!("{count:>8}  {pass}"));
        }
        match losses.as_deref() {
            None => {}
            Some([]) => println!("no pass is known to lose a variable: hunt with --invariant lost, then trueline triage"),
            Some(losses) => {
                println!("variables  lost by");
                losses.iter().for_each(|(pass, count)| println!("{count:>9}  {pass}"));
            }
        }
        println!("report: {}", index.display());
    }
    Ok(CommandEnding::Clean)
}

fn counted(passes: &[(String, usize)]) -> Vec<PassCount<'_>> {
    passes.iter().map(|(pass, count)| PassCount { pass, findings: *count }).collect()
}

/// Writes the HTML report and returns the page to open.
pub fn write(store: &Store, out: &Path) -> anyhow::Result<PathBuf> {
    let index = trueline_report::write_html(store, out).with_context(|| format!("cannot write the report to {}", out.display()))?;
    Ok(std::path::absolute(&index).unwrap_or(index))
}
