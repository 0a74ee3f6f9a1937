//! What triage says: for people, as JSON, and into the store.

use std::collections::{BTreeMap, BTreeSet};
use trueline_explain::{Explained, TriageDocument, command_for_file, files, is_settled};
use trueline_model::{FingerprintEntry, PassRole, Reader, Reading, Verdict, wording};
use trueline_store::Store;
use trueline_triage::{entry_text, summarise};

/// A role as people call it.
pub fn role_name(role: PassRole) -> &'static str {
    match role {
        PassRole::Guilty => "guilty pass",
        PassRole::Enabling => "enabling pass",
        PassRole::Set => "set of passes",
        PassRole::None => "present without any optional pass",
        PassRole::Unswitchable => "cannot be switched off",
    }
}

/// A verdict as people call it.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Compiler => "compiler",
        Verdict::Debugger => "debugger",
        Verdict::Ambiguous => "ambiguous",
    }
}

/// The readers that could not be asked, with the reason.
pub fn unasked(readings: &[Reading]) {
    for reading in readings.iter().filter(|r| r.sees.is_none()) {
        let reader = match reading.reader {
            Reader::Native(policy) => format!("native ({policy})"),
            Reader::Gdb => "gdb".to_owned(),
            Reader::Lldb => "lldb".to_owned(),
        };
        println!("  not asked {reader}: {}", reading.reason.as_deref().unwrap_or("no reason"));
    }
}

/// One document.
pub fn json(explained: &[Explained], notes: &[String]) -> anyhow::Result<()> {
    let document = TriageDocument::new(explained, notes);
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

/// Keeps each explanation with its finding; findings with the same cause count as one from now on.
pub fn store(store: &Store, explained: &[Explained]) -> anyhow::Result<()> {
    for finding in explained {
        let Some(id) = finding.case.id else { continue };
        store.set_triage(id, finding.cause().as_deref(), &serde_json::to_string(&finding.explanation())?)?;
    }
    Ok(())
}

/// A block per finding, then the tables.
pub fn text(explained: &[Explained], notes: &[String]) {
    for finding in explained.iter().filter(|e| e.shows()) {
        one(finding);
    }
    for note in notes {
        println!("{note}");
    }
    let shown: Vec<&Explained> = explained.iter().filter(|e| e.shows()).collect();
    if shown.len() > 1 {
        tables(&shown);
    }
}

fn one(finding: &Explained) {
    let case = &finding.case;
    let number = case.id.map_or(String::new(), |id| format!("#{} ", id.0));
    println!("{number}{}  ·  {} {}", wording::identity(&case.fault), case.compiler.id, case.opt);
    if let Some((verdict, why)) = &finding.verdict {
        println!("  verdict   {}: {why}", verdict_name(*verdict));
    }
    unasked(&finding.readings);
    if let Some(attribution) = &finding.attribution {
        let name = attribution.name.as_ref().map_or("", |n| n.0.as_str());
        let place = match (attribution.execution, &attribution.function) {
            (Some(n), Some(unit)) => format!(" ({} {n} of {}, on {unit})", attribution.step_name(), attribution.of),
            (Some(n), None) => format!(" (change {n} of {})", attribution.of),
            (None, Some(unit)) => format!(" (on {unit})"),
            _ => String::new(),
        };
        println!("  pass      {} {name}{place}", role_name(attribution.role));
        println!("            {} · {} compilations", attribution.evidence, attribution.builds);
        println!("  shows it  {}", attribution.with.command);
        if let Some(without) = &attribution.without {
            println!("  hides it  {without}");
        }
    }
    let files = files(finding);
    if !files.is_empty() {
        println!("  source    {}", files.join(", "));
    }
    if let Some(update) = &finding.update {
        println!("  update    {}", update.text().join("\n            "));
    }
    if finding.fingerprint.0.len() > 1 {
        let cells: Vec<String> = finding.fingerprint.0.iter().map(|(v, e)| format!("{v}: {}", entry_text(e))).collect();
        println!("  versions  {}", cells.join("\n            "));
    }
    if let Some(known) = &finding.known {
        println!("  known     {}: {}", known.id, known.title);
    }
    if let Some(dwarf) = &finding.dwarf {
        println!("  dwarf     {}", dwarf.replace('\n', "\n            "));
    }
    if !is_settled(finding) {
        match command_for_file(finding) {
            Some(command) => println!("  next      {command}"),
            None => println!("  next      --out DIR writes a draft, which has the `trueline isolate` command for this program"),
        }
    }
    println!("  cluster   {}\n", finding.cluster);
}

/// The paper's tables on what was explained: violations against fingerprints per level, findings per pass,
/// affected versions per level.
fn tables(shown: &[&Explained]) {
    let summary = summarise(shown.iter().map(|e| (e.case.opt, e.case.fault.kind().to_owned(), &e.fingerprint)));
    let kinds: BTreeSet<&String> = summary.cells.values().flat_map(|row| row.keys()).collect();
    println!("findings / unique fingerprints");
    println!("  {:<7}{}", "level", kinds.iter().map(|k| format!("{k:>13}")).collect::<String>());
    for (opt, row) in &summary.cells {
        let cell = |kind: &&String| row.get(*kind).map_or("·".to_owned(), |(n, u)| format!("{n} / {u}"));
        println!("  {:<7}{}", opt.to_string(), kinds.iter().map(|k| format!("{:>13}", cell(k))).collect::<String>());
    }
    let mut passes: BTreeMap<String, (usize, BTreeSet<usize>)> = BTreeMap::new();
    for finding in shown {
        let name = match &finding.attribution {
            Some(a) => a.fingerprint_name().map_or_else(|| role_name(a.role).to_owned(), |n| format!("{} ({})", n.0, role_name(a.role))),
            None => "not searched".to_owned(),
        };
        let entry = passes.entry(name).or_default();
        entry.0 += 1;
        entry.1.insert(finding.cluster);
    }
    let mut passes: Vec<_> = passes.into_iter().collect();
    passes.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    println!("\nfindings  clusters  pass");
    for (name, (count, clusters)) in passes {
        println!("{count:>8}  {:>8}  {name}", clusters.len());
    }
    let mut affected: BTreeMap<(&String, trueline_model::OptLevel), (usize, usize)> = BTreeMap::new();
    for finding in shown {
        for (version, entry) in &finding.fingerprint.0 {
            let cell = affected.entry((version, finding.case.opt)).or_default();
            cell.1 += 1;
            cell.0 += usize::from(matches!(entry, FingerprintEntry::Pass(_) | FingerprintEntry::Unattributed));
        }
    }
    println!("\naffected versions (findings that show / asked)");
    for ((version, opt), (n, of)) in affected {
        println!("  {version:<14} {:<7} {n:>4} / {of}", opt.to_string());
    }
}
