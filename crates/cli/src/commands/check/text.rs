//! `check` for people: the source around each violation, both traces beside it.

use super::baseline::Baseline;
use super::batch::{BuildRow, CheckView, Checked, CheckedProgram, CheckedSubject};
use super::json::RunDocument;
use crate::style::{Style, plural};
use std::collections::BTreeMap;
use std::fmt::Write;
use trueline_check::{Cause, CheckRun, Group, GroupBy, Reference, cause_of, group_for_report};
use trueline_model::wording::{self, Words};
use trueline_model::{CompilerId, Invariant, Line, LineKey, OptLevel, Violation};

/// Source lines shown before and after a violation.
const BEFORE: u32 = 3;
const AFTER: u32 = 1;

/// Violations of one build up to which each is shown in full, unless somebody asks for groups.
const FLAT: usize = 12;
/// Members of a group that are named below the one that is shown.
const NAMED: usize = 3;
/// Causes and functions that the closing lines name.
const FOREMOST: usize = 5;

/// `gcc 12.2.0 -O2`, or the name of a binary.
pub fn build_name(compiler: Option<&CompilerId>, opt: Option<OptLevel>) -> String {
    match (compiler, opt) {
        (Some(compiler), Some(opt)) => format!("{compiler} {opt}"),
        _ => "the optimized build".to_owned(),
    }
}

/// The whole report: one program in full, of many those with something new, and the sum.
pub fn report(checked: &[Checked], baseline: Option<&Baseline>, seconds: f64) -> String {
    let mut out = String::new();
    let single = checked.len() == 1;
    for program in checked.iter().filter(|c| single || c.is_noteworthy()) {
        if !single {
            let _ = writeln!(out, "── {}", program.program);
        }
        out.push_str(&program.text);
    }
    let runs = || checked.iter().flat_map(|c| &c.runs);
    let mut counts: BTreeMap<Invariant, usize> = BTreeMap::new();
    runs().flat_map(|r| &r.violations).for_each(|v| *counts.entry(v.invariant()).or_default() += 1);
    let kinds: Vec<String> = counts.iter().map(|(i, n)| format!("{n} {i}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let new = if baseline.is_some() { "new " } else { "" };
    let total = plural(counts.values().sum(), &format!("{new}violation"));
    let programs = if single { String::new() } else { format!(" of {} programs", checked.len()) };
    let _ = writeln!(out, "{total}{kinds} in {}{programs} · {seconds:.2} s", plural(runs().count(), "run"));
    for run in runs().filter(|r| r.violations.len() > FLAT) {
        out.push_str(&foremost(run));
    }
    let failed = |known: bool| runs().filter(|r| r.error.as_ref().is_some_and(|e| e.known == known)).count();
    if failed(false) > 0 && !single {
        let _ = writeln!(out, "{} could not be checked", plural(failed(false), "build"));
    }
    if let Some(baseline) = baseline {
        let known = runs().map(|r| r.known.len()).sum::<usize>();
        let _ = write!(out, "{} of the baseline", plural(known, "known violation"));
        if failed(true) > 0 {
            let _ = write!(out, ", {} known not to be checkable", plural(failed(true), "build"));
        }
        match baseline.gone(checked) {
            0 => out.push('\n'),
            gone => {
                let _ = writeln!(out, "; {gone} known no longer there: --write-baseline forgets them");
            }
        }
    }
    out
}

/// How many groups a long list comes to, and where most of it is.
fn foremost(run: &RunDocument) -> String {
    let mut by_function: BTreeMap<&str, usize> = BTreeMap::new();
    run.violations.iter().for_each(|v| *by_function.entry(&v.function).or_default() += 1);
    let mut functions: Vec<(&str, usize)> = by_function.into_iter().collect();
    functions.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let named: Vec<String> = functions.iter().take(FOREMOST).map(|(name, count)| format!("{name} {count}")).collect();
    format!("{} of {} functions; most in {}\n", plural(run.groups.len(), "group"), functions.len(), named.join(", "))
}

/// What is printed about one program.
pub fn program(outcome: &CheckedProgram, view: &CheckView) -> String {
    let mut out = String::new();
    let style = view.style;
    for row in &outcome.rows {
        let reader = match view.policy {
            Some(policy) => format!("{} engine, read as {policy} does", view.engine),
            None => format!("{}", view.engine),
        };
        let name = build_name(row.compiler.as_ref().map(|c| &c.id), row.opt);
        match (&row.result, row.reference.map(|index| &outcome.references[index])) {
            (Ok(run), Some(reference)) => {
                let _ = writeln!(out, "{} against -O0 · {reader}", style.strong(&name));
                let by = view.group_by.or((run.violations.len() <= FLAT).then_some(GroupBy::None));
                let limit = if view.limit == 0 { usize::MAX } else { view.limit };
                let groups = group_for_report(&run.violations, &run.debug, by);
                if by == Some(GroupBy::None) {
                    for violation in run.violations.iter().take(limit) {
                        show(&mut out, outcome, row, reference, run, violation, style);
                    }
                } else {
                    for group in groups.iter().take(limit) {
                        show_group(&mut out, outcome, row, reference, run, group, style);
                    }
                }
                if groups.len() > limit {
                    let more: usize = groups[limit..].iter().map(|g| g.violations.len()).sum();
                    let (rest, what) = (groups.len() - limit, if by == Some(GroupBy::None) { "violation" } else { "group" });
                    let of = if by == Some(GroupBy::None) { String::new() } else { format!(" with {}", plural(more, "violation")) };
                    let _ = writeln!(out, "\n      {} more{of}: --limit 0 shows all", plural(rest, what));
                }
                summary(&mut out, run, style);
                if view.explain {
                    explain(&mut out, run, style);
                }
            }
            (Err(error), _) => {
                let _ = writeln!(out, "{} · {reader}\n\n{}  {error}\n", style.strong(&name), style.bad("NOT CHECKED"));
            }
            (Ok(_), None) => {}
        }
    }
    out
}

/// A group: what it has in common, its worst member in full, some others by name.
fn show_group(
    out: &mut String,
    outcome: &CheckedProgram,
    row: &BuildRow,
    reference: &Reference,
    run: &CheckRun,
    group: &Group,
    style: Style,
) {
    let counts: Vec<String> = group.counts.iter().map(|(invariant, n)| format!("{n} {invariant}")).collect();
    let _ = writeln!(out, "\n── {} · {}", style.strong(&group.cause.to_string()), counts.join(", "));
    let (first, others) = (&run.violations[group.violations[0]], &group.violations[1..]);
    show(out, outcome, row, reference, run, first, style);
    for &other in others.iter().take(NAMED) {
        let v = &run.violations[other];
        out.push_str(&fact("also", &format!("{}: {}", v.invariant(), wording::words(v).title), style));
    }
    if others.len() > NAMED {
        out.push_str(&fact("also", &format!("{} more", others.len() - NAMED), style));
    }
    if let Cause::Shape { .. } = group.cause {
        out.push_str(&fact("in  ", &causes_in(run, group), style));
    }
}

/// The causes of the violations of a group, those with most first.
fn causes_in(run: &CheckRun, group: &Group) -> String {
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for &member in &group.violations {
        let cause = cause_of(&run.violations[member], &run.debug, GroupBy::Cause);
        *causes.entry(cause.to_string()).or_default() += 1;
    }
    let count = causes.len();
    let mut named: Vec<(String, usize)> = causes.into_iter().collect();
    named.sort_by_key(|(_, members)| std::cmp::Reverse(*members));
    let told: Vec<String> = named.iter().take(FOREMOST).map(|(cause, members)| format!("{cause} {members}")).collect();
    let more = count.saturating_sub(FOREMOST);
    let rest = if more > 0 { format!(" and {more} more; --group-by cause lists them") } else { String::new() };
    format!("{}{rest}", told.join(", "))
}

fn show(out: &mut String, outcome: &CheckedProgram, row: &BuildRow, reference: &Reference, run: &CheckRun, v: &Violation, style: Style) {
    let words = wording::words(v);
    let _ = writeln!(out, "\n{}", heading(v, &words, style));
    if v.invariant() != Invariant::Codegen {
        out.push_str(&source_around(outcome, row, reference, run, v, &words.margin, style));
    }
    out.push_str(&facts(&words, style));
    if let (None, Some(pc)) = (&row.compiler, v.pc) {
        out.push_str(&fact("at  ", &format!("{pc:#x}, with {} on the stack", v.frames.join(" < ")), style));
    }
    if let (Some(compiler), Some(opt)) = (&row.compiler, row.opt) {
        let mut next = format!("trueline triage {} --cc {} --opt {opt}", outcome.target, compiler.id.path.display());
        // Without being asked, triage looks for the usual ones only.
        let is_usual = Invariant::usual().any(|usual| usual == v.invariant());
        if !is_usual || outcome.subject == CheckedSubject::Project {
            let _ = write!(next, " --only {}", v.invariant().name());
        }
        // Each finding of a project costs a search of its own.
        if outcome.subject == CheckedSubject::Project {
            let _ = write!(next, " --line {} --out drafts --reduce", v.line);
        }
        out.push_str(&fact("next", &next, style));
    }
}

/// The first line of a violation.
pub fn heading(v: &Violation, words: &Words, style: Style) -> String {
    format!("{}  {}", style.bad(&v.invariant().name().to_uppercase()), words.title)
}

/// What is said below the source.
pub fn facts(words: &Words, style: Style) -> String {
    let named = [("-O0 ", &words.reference), ("why ", &words.cause)];
    named.iter().filter_map(|(name, text)| Some(fact(name, text.as_deref()?, style))).collect()
}

fn fact(name: &str, text: &str, style: Style) -> String {
    format!("      {}  {text}\n", style.faint(name))
}

fn source_around(
    outcome: &CheckedProgram,
    row: &BuildRow,
    reference: &Reference,
    run: &CheckRun,
    v: &Violation,
    margin: &str,
    style: Style,
) -> String {
    let mut out = String::new();
    let Some(lines) = outcome.sources.lines(&v.file) else { return out };
    if lines.len() < v.line.0 as usize {
        return out;
    }
    let first = v.line.0.saturating_sub(BEFORE).max(1);
    let last = (v.line.0 + AFTER).min(lines.len() as u32);
    let width = (first..=last).map(|n| lines[n as usize - 1].chars().count()).max().unwrap_or(0).clamp(24, 72);
    let level = row.opt.map_or_else(|| "opt".to_owned(), |o| o.to_string());
    for number in first..=last {
        let key = LineKey { file: trueline_model::FileName::new(v.file.base()), line: Line(number) };
        let text: String = lines[number as usize - 1].chars().take(width).collect();
        let mark = |shown: bool, name: &str| if shown { format!("{name} ●") } else { " ".repeat(name.chars().count() + 2) };
        let here = number == v.line.0;
        let old = mark(reference.digest().lines.contains_key(&key), "-O0");
        let new = mark(run.optimized.lines.contains_key(&key), &level);
        let note = if here { margin } else { "" };
        let line = format!("    {} {number:>4} │ {text:<width$}  {old}   {new}   {note}", if here { "▸" } else { " " });
        let line = line.trim_end();
        let _ = writeln!(out, "{}", if here { style.strong(line) } else { line.to_owned() });
    }
    out
}

fn summary(out: &mut String, run: &CheckRun, style: Style) {
    let percent = |r: trueline_oracle::Ratio| format!("{:.0}%", r.value() * 100.0);
    let c = &run.completeness;
    let text = format!(
        "{} steps at -O0, {} here{}; lines kept {} ({} of {}), variables kept {} ({} of {})",
        run.reference_steps,
        run.optimized_steps,
        if run.cut_off { " (cut off at --max-steps)" } else { "" },
        percent(c.lines),
        c.lines.kept,
        c.lines.of,
        percent(c.variables),
        c.variables.kept,
        c.variables.of
    );
    let _ = writeln!(out, "\n      {}", style.faint(&text));
    for note in &run.notes {
        let _ = writeln!(out, "      {}  {note}", style.strong("note"));
    }
    out.push('\n');
}

fn explain(out: &mut String, run: &CheckRun, style: Style) {
    let mut by_rule: BTreeMap<&str, Vec<&Violation>> = BTreeMap::new();
    for dropped in &run.dropped {
        by_rule.entry(dropped.rule).or_default().push(&dropped.violation);
    }
    let _ = writeln!(out, "      {} candidates dropped", run.dropped.len());
    for (rule, dropped) in by_rule {
        let reason = trueline_oracle::rules::RULES
            .iter()
            .chain([&trueline_oracle::rules::ALREADY_TOLD, &trueline_oracle::rules::SAME_BLOCK])
            .find(|r| r.name == rule)
            .map_or("", |r| r.reason);
        let _ = writeln!(out, "      {} {} · {reason}", style.strong(rule), dropped.len());
        for violation in dropped {
            let _ = writeln!(out, "        {:<9} {}", violation.invariant().name(), wording::words(violation).title);
        }
    }
    if let Some(moments) = &run.moments {
        let _ = writeln!(out, "      {moments}");
    }
    out.push('\n');
}
