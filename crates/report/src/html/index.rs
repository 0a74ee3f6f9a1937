//! The overview and the list.

use super::{CSS, ReportError, plot, words};
use crate::table::{TableRow, heading, table_of};
use askama::Template;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use trueline_model::{OptLevel, wording};
use trueline_store::{FindingRecord, Store};

#[derive(Template)]
#[template(path = "index.html")]
struct IndexPage<'a> {
    css: &'a str,
    script: &'a str,
    title: String,
    generator: String,
    headline: String,
    lead: String,
    tiles: Vec<(String, String)>,
    plots: Vec<(String, String)>,
    columns: Vec<(String, String)>,
    rows: Vec<TableRow>,
    needed: Vec<(String, usize)>,
    compilers: Vec<String>,
    levels: Vec<String>,
    kinds: Vec<String>,
    verdicts: Vec<String>,
    findings: Vec<ListItem>,
}

struct ListItem {
    id: i64,
    kind: &'static str,
    compiler: String,
    opt: String,
    place: String,
    what: String,
    verdict: &'static str,
    first: bool,
}

/// Renders `index.html`: counts, plots, the table and the list.
pub fn render(store: &Store, findings: &[FindingRecord], needed: Vec<(String, usize)>) -> Result<String, ReportError> {
    let counts = store.counts()?;
    let table = table_of(store)?;
    let (first, last, cpu, _) = store.effort()?;
    let mut seen = HashSet::new();
    let items: Vec<ListItem> = findings.iter().map(|record| item(record, seen.insert(record.class.clone()))).collect();
    let distinct_of = |key: &dyn Fn(&FindingRecord) -> String| -> BTreeMap<String, (u64, HashSet<&str>)> {
        let mut groups: BTreeMap<String, (u64, HashSet<&str>)> = BTreeMap::new();
        for record in findings {
            let group = groups.entry(key(record)).or_default();
            group.0 += 1;
            group.1.insert(&record.class);
        }
        groups
    };
    let bars = |groups: BTreeMap<String, (u64, HashSet<&str>)>| -> Vec<plot::Bar> {
        groups.into_iter().map(|(label, (all, classes))| (label, all, classes.len() as u64)).collect()
    };
    let mut by_level = bars(distinct_of(&|r| r.finding.opt.to_string()));
    by_level.sort_by_key(|bar| bar.0.parse::<OptLevel>().ok());
    let mut by_kind = bars(distinct_of(&|r| r.kind().to_owned()));
    by_kind.sort_by_key(|bar| std::cmp::Reverse(bar.1));
    let plots = vec![
        ("Findings over time".to_owned(), plot::growth(&growth(findings, first), last - first)),
        ("Per compiler".to_owned(), plot::bars(&bars(distinct_of(&|r| r.finding.compiler.to_string())))),
        ("Per level".to_owned(), plot::bars(&by_level)),
        ("Per invariant".to_owned(), plot::bars(&by_kind)),
    ];
    let set = |pick: &dyn Fn(&ListItem) -> String| -> Vec<String> { items.iter().map(pick).collect::<BTreeSet<_>>().into_iter().collect() };
    let mut levels = set(&|i| i.opt.clone());
    levels.sort_by_key(|l| l.parse::<OptLevel>().ok());
    let title = store.path().file_name().map_or_else(|| "campaign".to_owned(), |n| n.to_string_lossy().into_owned());
    let page = IndexPage {
        css: CSS,
        script: include_str!("../../templates/index.js"),
        title,
        generator: store.meta("generator")?.unwrap_or_else(|| "several sources".to_owned()),
        headline: match (counts.findings, counts.distinct) {
            (0, _) => "Nothing found yet".to_owned(),
            (1, _) => "One finding".to_owned(),
            (all, distinct) => format!("{all} findings, {distinct} distinct"),
        },
        lead: "Each program was compiled at -O0 and at the levels below, stepped through, and the optimized build compared with what really happens. \
               Two findings count as distinct when compiler, invariant, kind of statement and shape of the fault differ, or, after triage, the guilty pass."
            .to_owned(),
        tiles: vec![
            (counts.programs.to_string(), "programs".to_owned()),
            (counts.rejected.to_string(), "of them rejected".to_owned()),
            (counts.units_in("done").to_string(), "units done".to_owned()),
            (counts.units_in("failed").to_string(), "units failed".to_owned()),
            (counts.findings.to_string(), "findings".to_owned()),
            (counts.distinct.to_string(), "distinct".to_owned()),
            (format!("{cpu:.0} s"), "CPU time".to_owned()),
        ],
        plots,
        columns: table.columns.iter().map(|c| (heading(c).to_owned(), c.clone())).collect(),
        rows: table.rows,
        needed,
        compilers: set(&|i| i.compiler.clone()),
        levels,
        kinds: set(&|i| i.kind.to_owned()),
        verdicts: set(&|i| i.verdict.to_owned()),
        findings: items,
    };
    page.render().map_err(|e| ReportError::Render(e.to_string()))
}

fn item(record: &FindingRecord, first: bool) -> ListItem {
    ListItem {
        id: record.id.0,
        kind: record.kind(),
        compiler: record.finding.compiler.to_string(),
        opt: record.finding.opt.to_string(),
        place: words::place(record),
        what: wording::clause(&record.finding.fault),
        verdict: words::verdict(record.finding.verdict),
        first,
    }
}

/// Findings known at each moment something was found.
fn growth(findings: &[FindingRecord], start: f64) -> Vec<(f64, u64, u64)> {
    let mut times: Vec<(f64, &str)> = findings.iter().map(|f| ((f.found_at - start).max(0.0), f.class.as_str())).collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut classes = HashSet::new();
    let mut points: Vec<(f64, u64, u64)> = Vec::new();
    for (index, (at, class)) in times.into_iter().enumerate() {
        classes.insert(class);
        points.push((at, index as u64 + 1, classes.len() as u64));
    }
    // More points than pixels say nothing more.
    let stride = points.len().div_ceil(600).max(1);
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(i, _)| i % stride == 0 || *i == last).map(|(_, p)| p).collect()
}
