//! `trueline doctor`: each tool found, its version, what it enables, and what installs the rest.

use crate::exit::Ending;
use serde::Serialize;
use trueline_toolchain::{Diagnosis, diagnose};

/// Show which tools are here, what each enables, and how to install what is missing.
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    compilers: Vec<&'a trueline_model::CompilerId>,
    tools: Vec<Row<'a>>,
    install: Option<String>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'static str,
    path: Option<&'a std::path::Path>,
    version: Option<&'a str>,
    enables: &'static str,
    package: &'static str,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Ending> {
    let diagnosis = diagnose();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&document(&diagnosis))?);
    } else {
        print_table(&diagnosis);
    }
    Ok(Ending::Clean)
}

fn document(diagnosis: &Diagnosis) -> Document<'_> {
    Document {
        schema: "trueline.doctor/1",
        compilers: diagnosis.compilers.iter().map(|c| &c.id).collect(),
        tools: diagnosis
            .tools
            .iter()
            .map(|(requirement, tool)| Row {
                name: requirement.kind.program(),
                path: tool.as_ref().ok().map(|t| t.path.as_path()),
                version: tool.as_ref().ok().map(|t| t.version.as_str()),
                enables: requirement.enables,
                package: requirement.kind.package(),
            })
            .collect(),
        install: diagnosis.install_command(),
    }
}

fn print_table(diagnosis: &Diagnosis) {
    println!("compilers");
    for compiler in &diagnosis.compilers {
        println!("  {:<6} {:<10} {}", compiler.id.kind.to_string(), compiler.id.version, compiler.id.path.display());
    }
    if diagnosis.compilers.is_empty() {
        println!("  none: nothing can be checked without one");
    }
    println!("\ntools");
    for (requirement, tool) in &diagnosis.tools {
        let version = tool.as_ref().map_or("missing", |t| t.version.as_str());
        println!("  {:<14} {:<10} {}", requirement.kind.program(), version, requirement.enables);
    }
    if let Some(command) = diagnosis.install_command() {
        println!("\nTo install what is missing:\n  {command}");
    }
}
