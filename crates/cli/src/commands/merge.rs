//! `trueline merge`: joins campaign databases by content, in any order, as often as one likes.

use crate::exit::CommandEnding;
use anyhow::Context;
use std::path::PathBuf;
use trueline_store::{MergeSummary, Store};

/// Join campaign databases into one; doing it again changes nothing.
#[derive(clap::Args)]
pub struct Args {
    /// The database that receives everything; made where there is none.
    #[arg(value_name = "OUT.db")]
    out: PathBuf,
    /// The databases to take over; they are only read.
    #[arg(value_name = "IN.db", required = true)]
    inputs: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// What `trueline merge --json` prints.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Merge")]
pub struct Document<'a> {
    /// `trueline.merge/1`.
    schema: &'static str,
    /// The database that took everything in.
    database: &'a std::path::Path,
    /// The databases that were read.
    inputs: &'a [PathBuf],
    /// What was new.
    added: MergeSummary,
    /// What the database holds now.
    counts: trueline_store::Counts,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    // What cannot be read is told before a database is made for it.
    for input in &args.inputs {
        Store::open_existing(input).with_context(|| format!("cannot merge {}", input.display()))?;
    }
    let store = Store::open(&args.out)?;
    let mut total = MergeSummary::default();
    for input in &args.inputs {
        total += store.merge_from(input).with_context(|| format!("cannot merge {}", input.display()))?;
    }
    let counts = store.counts()?;
    if args.json {
        let document =
            Document { schema: "trueline.merge/1", database: &args.out, inputs: &args.inputs, added: total, counts: counts.clone() };
        println!("{}", serde_json::to_string_pretty(&document)?);
    } else {
        println!(
            "{}: {} new programs, {} new units ({} completed), {} new findings; now {} units done, {} findings, {} distinct",
            args.out.display(),
            total.programs,
            total.units,
            total.completed,
            total.findings,
            counts.units_in("done"),
            counts.findings,
            counts.distinct
        );
    }
    Ok(CommandEnding::Clean)
}
