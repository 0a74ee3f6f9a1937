//! Measures the repair on a folder of kernels: compile, repair, check independently, count.
//!
//! `cargo run --release -p trueline-repair --example repair_kernels -- DIR CC[,CC…] [--verbose] [--only FUNCTION] [--json FILE] [--unchecked]`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueline_machine::image::Image;
use trueline_repair::repair::{Request, repair};
use trueline_repair::report::FunctionReport;
use trueline_repair::verify::{self, Verification};
use trueline_repair::written;
use trueline_toolchain::{Limits, Scratch, find_compiler};

const FLAGS: [&str; 4] = ["-O3", "-msse4.2", "-g", "-w"];

struct Options {
    verbose: bool,
    only: Option<String>,
    level: Option<String>,
    unchecked: bool,
    table: bool,
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(dir), Some(compilers)) = (words.next(), words.next()) else {
        eprintln!("usage: repair_kernels DIR CC[,CC...] [--verbose] [--only FUNCTION] [--json FILE] [--level -O2]");
        std::process::exit(2);
    };
    let mut options = Options { verbose: false, only: None, level: None, unchecked: false, table: false };
    let mut json = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--verbose" => options.verbose = true,
            "--unchecked" => options.unchecked = true,
            "--table" => options.table = true,
            "--only" => options.only = words.next(),
            "--level" => options.level = words.next(),
            "--json" => json = words.next(),
            other => eprintln!("unknown word {other}"),
        }
    }
    let mut files: Vec<PathBuf> = if Path::new(&dir).is_file() {
        vec![PathBuf::from(&dir)]
    } else {
        std::fs::read_dir(&dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "c"))
            .collect()
    };
    files.sort();
    let mut all = BTreeMap::new();
    for cc in compilers.split(',') {
        let mut rows = Vec::new();
        for file in &files {
            match measure(cc, file, &options) {
                Ok(found) => rows.extend(found),
                Err(e) => eprintln!("{cc} {}: {e}", file.display()),
            }
        }
        summary(cc, &rows);
        if options.table {
            table(&rows);
        }
        let plain: Vec<_> = rows
            .iter()
            .map(|(f, v, w)| serde_json::json!({"function": f, "verification": v.as_ref().ok(), "error": v.as_ref().err(), "seconds": w}))
            .collect();
        all.insert(cc.to_owned(), plain);
    }
    if let Some(path) = json {
        let text = serde_json::to_string(&all).unwrap_or_default();
        if let Err(e) = std::fs::write(&path, text) {
            eprintln!("{path}: {e}");
        }
    }
}

type RowResult = (FunctionReport, Result<Verification, String>, f64);

fn measure(cc: &str, file: &Path, options: &Options) -> Result<Vec<RowResult>, String> {
    let scratch = Scratch::new().map_err(|e| e.to_string())?;
    let compiler = find_compiler(cc).map_err(|e| e.to_string())?;
    let build = |flags: &[&str], name: &str| -> Result<PathBuf, String> {
        let output = scratch.join(name);
        let outcome = compiler
            .job()
            .args(flags)
            .arg(file)
            .arg("-o")
            .arg(&output)
            .arg("-lm")
            .limits(Limits::seconds(60))
            .run()
            .map_err(|e| e.to_string())?;
        if outcome.success() { Ok(output) } else { Err(outcome.stderr_text()) }
    };
    let mut flags = FLAGS;
    if let Some(level) = &options.level {
        flags[0] = level;
    }
    let (binary, reference) = (build(&flags, "optimized")?, build(&["-O0", "-g", "-w"], "reference")?);
    let names: Vec<String> = trueline_repair::debug::ImageInfo::read(&Image::open(&binary).map_err(|e| e.to_string())?)
        .map_err(|e| e.to_string())?
        .functions
        .into_iter()
        .map(|f| f.name)
        .filter(|n| match &options.only {
            Some(only) => n == only,
            None => !matches!(n.as_str(), "main" | "init" | "check" | "twice"),
        })
        .collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let request = Request { functions: names, variants: true, ..Request::new(&binary, &reference) };
    let before = cpu();
    let outcome = repair(&request, &mut |_| {}).map_err(|e| e.to_string())?;
    let each = (cpu() - before) / outcome.report.functions.len().max(1) as f64;
    let repaired = scratch.join("repaired");
    written::write(&binary, &repaired, &outcome.bytes).map_err(|e| e.to_string())?;
    let (old, new) = (Image::open(&reference).map_err(|e| e.to_string())?, Image::open(&repaired).map_err(|e| e.to_string())?);
    let mut rows = Vec::new();
    for f in outcome.report.functions {
        let own = |pc: u64, name: &str, line: u64| {
            f.locations.iter().any(|l| pc >= l.low && pc < l.high && l.variable == name && l.decl_line == line)
        };
        let check = if options.unchecked { Err("left out".to_owned()) } else { verify::verify(&old, &new, &f.name, &[], &own) };
        show(&f, &check, each, options);
        rows.push((f, check, each));
    }
    Ok(rows)
}

/// The counts of one function, each with its name: what both ways of printing a row have in common.
fn counts(f: &FunctionReport) -> [(&'static str, usize); 12] {
    [
        ("T", f.total),
        ("U", f.updated),
        ("V", f.variables),
        ("O", f.original),
        ("M", f.missing),
        ("I", f.constant),
        ("PCs missing", f.missing_possible),
        ("filled", f.missing_pcs),
        ("PCs wrong constant", f.constant_possible),
        ("replaced", f.constant_pcs),
        ("proved", f.proved),
        ("validated", f.validated),
    ]
}

fn show(f: &FunctionReport, check: &Result<Verification, String>, seconds: f64, options: &Options) {
    let counts: Vec<String> = counts(f).iter().map(|(name, n)| format!("{name} {n}")).collect();
    println!(
        "{:<20} {} · pairs {} right {}→{} wrong {}→{} · {} · {seconds:.2}s",
        f.name,
        counts.join(" "),
        f.pairs,
        f.right_before,
        f.right_after,
        f.wrong_before,
        f.wrong_after,
        why(f),
    );
    match check {
        Ok(v) if v.wrong_count > 0 => {
            for w in &v.wrong {
                println!("    shows {} = {} at {:x} line {}, -O0 has {:?}", w.variable, w.shown as i64, w.pc, w.line, w.expected);
            }
        }
        Ok(_) => {}
        Err(_) if options.unchecked => {}
        Err(e) => println!("    not checked: {e}"),
    }
    if options.verbose {
        println!("    loops {:x?}", f.loops);
        for l in &f.locations {
            println!(
                "    {:x}-{:x} {} {} = {} [{:?} {:?}] lane {:?}",
                l.low, l.high, l.before, l.variable, l.relation, l.label, l.stage, l.lane
            );
        }
        for (pc, source, facts) in &f.invariants {
            println!("    at {pc:x} with {source:x?}: {}", facts.join(", "));
        }
    }
}

fn summary(cc: &str, rows: &[RowResult]) {
    let functions = rows.len().max(1);
    let sum = |f: fn(&FunctionReport) -> usize| rows.iter().map(|r| f(&r.0)).sum::<usize>();
    let total = sum(|f| f.total).max(1);
    let percent = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
    let improved = rows.iter().filter(|r| r.0.updated > 0).count();
    let proved = rows.iter().filter(|r| r.0.proved > 0 && r.0.validated == 0).count();
    let mean = |f: fn(&FunctionReport) -> usize| {
        rows.iter().filter(|r| r.0.total > 0).map(|r| f(&r.0) as f64 / r.0.total as f64).sum::<f64>() / functions as f64 * 100.0
    };
    println!(
        "\n{cc}: {} functions, {improved} improved ({:.0}%), {proved} fully proved ({:.0}%)",
        rows.len(),
        percent(improved, functions),
        percent(proved, functions)
    );
    let complete = rows.iter().filter(|r| r.0.updated == 0 && r.0.pairs > 0 && r.0.right_before == r.0.pairs).count();
    println!(
        "  of the others {complete} were right at every PC before; of the improved ones {:.0}% are fully proved",
        percent(proved, improved)
    );
    println!(
        "  ceiling: {:.1}% of PCs miss a variable in scope ({:.1}% of those are filled), {:.1}% have a wrong constant ({:.1}% replaced)",
        percent(sum(|f| f.missing_possible), total),
        percent(sum(|f| f.missing_pcs), sum(|f| f.missing_possible)),
        percent(sum(|f| f.constant_possible), total),
        percent(sum(|f| f.constant_pcs), sum(|f| f.constant_possible))
    );
    println!(
        "  PCs with a missing variable added {:.1}% (mean over functions {:.1}%), with a constant replaced {:.1}% (mean {:.1}%), either {:.1}%",
        percent(sum(|f| f.missing_pcs), total),
        mean(|f| f.missing_pcs),
        percent(sum(|f| f.constant_pcs), total),
        mean(|f| f.constant_pcs),
        percent(sum(|f| f.updated), total)
    );
    println!(
        "  availability {:.1}% → {:.1}% of {} pairs; wrong pairs {} → {}",
        percent(sum(|f| f.right_before), sum(|f| f.pairs)),
        percent(sum(|f| f.right_after), sum(|f| f.pairs)),
        sum(|f| f.pairs),
        sum(|f| f.wrong_before),
        sum(|f| f.wrong_after)
    );
    let checks: Vec<&Verification> = rows.iter().filter_map(|r| r.1.as_ref().ok()).collect();
    println!(
        "  independent checker: {} functions, {} values at equal memory, {} between, {} without a moment; of {} repaired values {} wrong; {} wrong in locations the compiler wrote",
        checks.len(),
        checks.iter().map(|c| c.exact).sum::<usize>(),
        checks.iter().map(|c| c.between).sum::<usize>(),
        checks.iter().map(|c| c.unmatched).sum::<usize>(),
        checks.iter().map(|c| c.own).sum::<usize>(),
        checks.iter().map(|c| c.wrong_count).sum::<usize>(),
        checks.iter().map(|c| c.kept_wrong).sum::<usize>()
    );
    for n in 0..5 {
        let pick = |r: &RowResult| r.0.variants.get(n).cloned().unwrap_or_default();
        let name = rows.iter().map(pick).map(|v| v.0).find(|n| !n.is_empty()).unwrap_or_default();
        let column = |f: fn(&(String, usize, usize, usize)) -> usize| percent(rows.iter().map(|r| f(&pick(r))).sum(), total);
        println!("  variant {name:<4} U {:.1}%  missing {:.1}%  constant {:.1}%", column(|v| v.1), column(|v| v.2), column(|v| v.3));
    }
    println!("  CPU seconds per function {:.2}\n", rows.iter().map(|r| r.2).sum::<f64>() / functions as f64);
}

/// One line per function: the paper's counts, and why not more.
fn table(rows: &[RowResult]) {
    let names: Vec<&str> = counts(&FunctionReport::default()).map(|c| c.0).to_vec();
    println!("| function | {} | why not more |", names.join(" | "));
    println!("|{}", "---|".repeat(names.len() + 2));
    for (f, ..) in rows {
        let cells = counts(f).map(|(_, n)| n.to_string());
        println!("| {} | {} | {} |", f.name, cells.join(" | "), why(f));
    }
    println!();
}

/// Why a function was not improved further.
fn why(f: &FunctionReport) -> String {
    if let Some(reason) = &f.reason {
        return reason.clone();
    }
    let mut parts = Vec::new();
    if f.no_moment + f.no_relation + f.withheld == 0 {
        parts.push(if f.updated == 0 { "nothing missing or wrong".to_owned() } else { "complete".to_owned() });
    }
    for (n, text) in [(f.no_moment, "no moment"), (f.no_relation, "no relation"), (f.withheld, "not proved")] {
        if n > 0 {
            parts.push(format!("{n} {text}"));
        }
    }
    parts.extend(f.unproved.clone());
    parts.join(", ")
}

/// CPU seconds of this process and its finished children.
fn cpu() -> f64 {
    let usage = |who| {
        let mut u = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: getrusage fills the struct it is given; zeroed memory is a valid rusage.
        let u = unsafe {
            libc::getrusage(who, u.as_mut_ptr());
            u.assume_init()
        };
        let t = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        t(u.ru_utime) + t(u.ru_stime)
    };
    usage(libc::RUSAGE_SELF) + usage(libc::RUSAGE_CHILDREN)
}
