//! `trueline same`: whether two files with the same code give debuggers the same view.

use crate::exit::CommandEnding;
use std::path::{Path, PathBuf};
use trueline_dwarf::Search;
use trueline_same::{Aspect, Difference, Looked, Side, compare};

/// Compare what two files with the same code tell a debugger at every address; nothing is run.
#[derive(clap::Args)]
pub struct Args {
    /// An executable or library with debug information, wherever that is.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The same code, with debug information that was packed, moved or written in another way.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Differences that are printed, 0 for all; the counts are of all.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// A directory of debug files, as /usr/lib/debug is one; may be repeated.
    #[arg(long = "debug-dir", value_name = "DIR")]
    debug_dirs: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// What `trueline same --json` prints.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Same")]
pub struct Document<'a> {
    /// `trueline.same/1`.
    schema: &'static str,
    /// The first file.
    a: &'a Path,
    /// The second file.
    b: &'a Path,
    /// How much was looked at.
    looked: Looked,
    /// How many differences there are of each aspect.
    counts: Vec<AspectCount>,
    /// The first differences, as many as `--limit` allows.
    differences: &'a [Difference],
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct AspectCount {
    aspect: Aspect,
    differences: usize,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let found = compare(&args.a, &args.b, &Search::with(&args.debug_dirs))?;
    let shown = if args.limit == 0 { &found.differences[..] } else { &found.differences[..args.limit.min(found.differences.len())] };
    let counts: Vec<AspectCount> = Aspect::ALL.iter().map(|&aspect| AspectCount { aspect, differences: found.count(aspect) }).collect();
    if args.json {
        let document = Document { schema: "trueline.same/1", a: &args.a, b: &args.b, looked: found.looked, counts, differences: shown };
        println!("{}", serde_json::to_string_pretty(&document)?);
    } else {
        print(&args, &found.looked, &counts, shown, found.differences.len());
    }
    Ok(if found.differences.is_empty() { CommandEnding::Clean } else { CommandEnding::Found })
}

fn print(args: &Args, looked: &Looked, counts: &[AspectCount], shown: &[Difference], all: usize) {
    for difference in shown {
        println!("{}: {}{}", difference.aspect.name(), difference.subject, spell_ranges(&difference.ranges));
        print_side(&args.a, &difference.a);
        print_side(&args.b, &difference.b);
    }
    if shown.len() < all {
        println!("… and {} more (--limit 0 prints all)", all - shown.len());
    }
    println!(
        "looked at {} functions, {} rows, {} ranges of frames, {} variables with {} locations, {} calls, {} globals",
        looked.functions, looked.rows, looked.ranges, looked.variables, looked.locations, looked.calls, looked.globals
    );
    let differing: Vec<String> =
        counts.iter().filter(|c| c.differences > 0).map(|c| format!("{} {}", c.differences, c.aspect.name())).collect();
    let verdict = if differing.is_empty() { "the same view".to_owned() } else { format!("differences: {}", differing.join(", ")) };
    println!("{} and {}: {verdict}", args.a.display(), args.b.display());
}

fn spell_ranges(ranges: &[(u64, u64)]) -> String {
    const MOST: usize = 4;
    let texts: Vec<String> = ranges.iter().take(MOST).map(|(low, high)| format!("[{low:#x}, {high:#x})")).collect();
    match ranges.len() {
        0 => String::new(),
        n if n > MOST => format!(" at {} and {} more", texts.join(" "), n - MOST),
        _ => format!(" at {}", texts.join(" ")),
    }
}

fn print_side(file: &Path, side: &Side) {
    println!("  {}: {}", file.display(), side.says);
    for entry in &side.entries {
        let name = entry.name.as_ref().map(|n| format!(" {n}")).unwrap_or_default();
        let elsewhere = if entry.file == file { String::new() } else { format!(" in {}", entry.file.display()) };
        println!("    <{:#x}> {}{name}{elsewhere}", entry.offset, entry.tag);
    }
}
