//! `check --html`: one page for each function that lies, with its source, both traces and all its lies.

use super::batch::{BuildRow, CheckedProgram};
use super::sources::Sources;
use super::text::build_name;
use std::collections::{BTreeMap, BTreeSet};
use trueline_check::{CheckRun, Group, Reference};
use trueline_model::{FileName, Line, LineKey, Violation, wording};
use trueline_oracle::Digest;
use trueline_report::{FunctionPage, PageLie, PageLine, PageVariable};

/// Values of a variable that a page lists.
const VALUES: usize = 8;
/// Addresses of a line that a page lists.
const ADDRESSES: usize = 4;
/// Lines around the lies of a function whose extent is not known.
const AROUND: u32 = 10;

/// The pages of one build.
pub fn pages(outcome: &CheckedProgram, row: &BuildRow, groups: &[Group]) -> Vec<FunctionPage> {
    let (Ok(run), Some(index)) = (&row.result, row.reference) else { return Vec::new() };
    let reference = &outcome.references[index];
    let mut by_function: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (number, v) in run.violations.iter().enumerate() {
        by_function.entry((v.file.base(), &v.function)).or_default().push(number);
    }
    let build = build_name(row.compiler.as_ref().map(|c| &c.id), row.opt);
    by_function
        .into_iter()
        .map(|((file, function), lies)| page(&outcome.sources, &build, reference, run, groups, file, function, &lies))
        .collect()
}

#[expect(clippy::too_many_arguments, reason = "everything that a page shows, once")]
fn page(
    sources: &Sources,
    build: &str,
    reference: &Reference,
    run: &CheckRun,
    groups: &[Group],
    file: &str,
    function: &str,
    lies: &[usize],
) -> FunctionPage {
    let name = FileName::new(file);
    let wrong: BTreeSet<u32> = lies.iter().map(|&i| run.violations[i].line.0).collect();
    let extents = reference.facts().functions.get(function);
    let extent = extents.and_then(|e| e.iter().find(|e| *e.file == *file)).map(|e| (e.first, e.last));
    let (low, high) = (*wrong.first().unwrap_or(&1), *wrong.last().unwrap_or(&1));
    let (first, last) = extent.unwrap_or((low.saturating_sub(AROUND).max(1), high + AROUND));
    let line = |number: u32| {
        let key = LineKey { file: name.clone(), line: Line(number) };
        PageLine {
            number,
            text: sources.line(&name, number).unwrap_or("").to_owned(),
            reference: stops(reference.digest(), &key),
            optimized: stops(&run.optimized, &key),
            is_wrong: wrong.contains(&number),
        }
    };
    let told = |&i: &usize| {
        let v: &Violation = &run.violations[i];
        let words = wording::words(v);
        PageLie {
            kind: v.invariant().name().to_owned(),
            title: words.title,
            details: [words.reference, words.cause].into_iter().flatten().collect::<Vec<_>>().join("; "),
            address: v.pc.map(|pc| format!("{pc:#x}")).unwrap_or_default(),
            cause: groups.iter().find(|g| g.violations.contains(&i)).map(|g| g.cause.to_string()).unwrap_or_default(),
        }
    };
    let variables = run.optimized.vars.iter().filter(|(key, _)| *key.function == *function).map(|(key, _)| PageVariable {
        name: key.name.to_string(),
        reference: values(reference.digest(), key),
        optimized: values(&run.optimized, key),
    });
    // Lies on lines of other places stand below the function's own.
    let outside = wrong.iter().copied().filter(|n| !(first..=last).contains(n));
    FunctionPage {
        function: function.to_owned(),
        file: sources.path(&name).unwrap_or(file).to_owned(),
        build: build.to_owned(),
        lines: (first..=last).chain(outside).map(line).collect(),
        variables: variables.collect(),
        lies: lies.iter().map(told).collect(),
    }
}

/// The addresses at which a trace stops on a line.
fn stops(digest: &Digest, key: &LineKey) -> String {
    let addresses: BTreeSet<u64> = digest.stops_on(key).map(|s| s.pc).collect();
    let mut text: Vec<String> = addresses.iter().take(ADDRESSES).map(|pc| format!("{pc:#x}")).collect();
    if addresses.len() > ADDRESSES {
        text.push(format!("and {} more", addresses.len() - ADDRESSES));
    }
    text.join(" ")
}

/// The values that a trace shows of a variable.
fn values(digest: &Digest, key: &trueline_model::VarKey) -> String {
    let Some(variable) = digest.vars.get(key) else { return String::new() };
    let leaf = |leaf: &trueline_oracle::LeafDigest| {
        let mut text: Vec<String> = leaf.values.keys().take(VALUES).map(ToString::to_string).collect();
        if leaf.values.len() > VALUES || leaf.overflow {
            text.push("…".to_owned());
        }
        text.join(" ")
    };
    variable.leaves.iter().take(VALUES).map(leaf).collect::<Vec<_>>().join(" | ")
}
