//! The rows, ranges and locations at one address of a binary, as text: what the readers of a finding read.

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Unit, UnitOffset};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::path::Path;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Rows shown before and after the address.
const CONTEXT: usize = 4;

/// What the debug information of `binary` says about `pc`, and about `variable` there: one fact per line.
/// A binary that cannot be read gives one line that says so.
pub fn explain(binary: &Path, pc: u64, variable: Option<&str>) -> Vec<String> {
    let failed = |what: String| vec![format!("the debug information could not be read: {what}")];
    let bytes = match std::fs::read(binary) {
        Ok(bytes) => bytes,
        Err(e) => return failed(e.to_string()),
    };
    let file = match object::File::parse(&*bytes) {
        Ok(file) => file,
        Err(e) => return failed(e.to_string()),
    };
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        Ok(file.section_by_name(id.name()).and_then(|s| s.uncompressed_data().ok()).unwrap_or_default())
    };
    let Ok(sections) = gimli::DwarfSections::load(load) else { return failed("no sections".to_owned()) };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut facts = Vec::new();
    if let Err(e) = collect(&dwarf, pc, variable, &mut facts) {
        facts.push(format!("reading stopped: {e}"));
    }
    facts
}

fn collect(dwarf: &Dwarf<Slice<'_>>, pc: u64, variable: Option<&str>, facts: &mut Vec<String>) -> gimli::Result<()> {
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        rows(dwarf, &unit, pc, facts)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let tag = entry.tag();
            let is_code = tag == gimli::DW_TAG_subprogram || tag == gimli::DW_TAG_inlined_subroutine || tag == gimli::DW_TAG_lexical_block;
            if is_code && covers(dwarf, &unit, entry, pc)? {
                facts.push(code_fact(dwarf, &unit, entry)?);
            }
            let is_variable = tag == gimli::DW_TAG_variable || tag == gimli::DW_TAG_formal_parameter;
            if let (true, Some(wanted)) = (is_variable, variable)
                && name_of(dwarf, &unit, entry, 0)?.as_deref() == Some(wanted)
            {
                locations(dwarf, &unit, entry, pc, wanted, facts)?;
            }
        }
    }
    Ok(())
}

/// The rows of the sequence around the address; those in force at it are marked.
fn rows<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>, pc: u64, facts: &mut Vec<String>) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let (program, sequences) = program.sequences()?;
    for sequence in sequences.iter().filter(|s| (s.start..s.end).contains(&pc)) {
        let mut texts = Vec::new();
        let mut rows = program.resume_from(sequence);
        while let Some((header, row)) = rows.next_row()? {
            let line = row.line().map_or(0, std::num::NonZero::get);
            let file = row.file(header).and_then(|f| dwarf.attr_string(unit, f.path_name()).ok());
            let file = file.map(|f| f.to_string_lossy().rsplit('/').next().unwrap_or("").to_owned()).unwrap_or_default();
            let flag = if row.is_stmt() { "is_stmt" } else { "not is_stmt" };
            let end = if row.end_sequence() { ", end of sequence" } else { "" };
            texts.push((row.address(), format!("row {:#x} {file}:{line} {flag}{end}", row.address())));
        }
        let at = texts.iter().filter(|(a, _)| *a <= pc).map(|(a, _)| *a).max().unwrap_or(0);
        let first = texts.iter().position(|(a, _)| *a == at).unwrap_or(0);
        let last = texts.iter().rposition(|(a, _)| *a == at).unwrap_or(0);
        for (address, text) in &texts[first.saturating_sub(CONTEXT)..(last + 1 + CONTEXT).min(texts.len())] {
            facts.push(if *address == at { format!("{text}  <- in force at {pc:#x}") } else { text.clone() });
        }
    }
    Ok(())
}

fn covers<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
    pc: u64,
) -> gimli::Result<bool> {
    let mut ranges = trueline_trace::die_ranges(dwarf, unit, entry)?;
    while let Some(range) = ranges.next()? {
        if (range.begin..range.end).contains(&pc) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn code_fact<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>, entry: &DebuggingInformationEntry<Slice<'a>>) -> gimli::Result<String> {
    let mut spans = Vec::new();
    let mut ranges = trueline_trace::die_ranges(dwarf, unit, entry)?;
    while let Some(range) = ranges.next()? {
        spans.push(format!("[{:#x}, {:#x})", range.begin, range.end));
    }
    let what = match entry.tag() {
        gimli::DW_TAG_subprogram => "function",
        gimli::DW_TAG_inlined_subroutine => "inlined",
        _ => "block",
    };
    let name = name_of(dwarf, unit, entry, 0)?.unwrap_or_default();
    let call = entry.attr_value(gimli::DW_AT_call_line).and_then(|v| v.udata_value());
    let call = call.map(|line| format!(", called at line {line}")).unwrap_or_default();
    Ok(format!("{what} {name} {}{call}", spans.join(" ")))
}

fn name_of<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
    depth: u32,
) -> gimli::Result<Option<String>> {
    if let Some(value) = entry.attr_value(gimli::DW_AT_name) {
        return Ok(Some(dwarf.attr_string(unit, value)?.to_string_lossy().into_owned()));
    }
    for link in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
        if let (Some(AttributeValue::UnitRef(offset)), true) = (entry.attr_value(link), depth < 8) {
            return name_of(dwarf, unit, &unit.entry(offset)?, depth + 1);
        }
    }
    Ok(None)
}

fn locations<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
    pc: u64,
    name: &str,
    facts: &mut Vec<String>,
) -> gimli::Result<()> {
    let at = offset_text(entry.offset());
    if let Some(value) = entry.attr_value(gimli::DW_AT_const_value) {
        facts.push(format!("{name} {at} has the constant value {value:?}"));
        return Ok(());
    }
    let Some(value) = entry.attr_value(gimli::DW_AT_location) else { return Ok(()) };
    if let AttributeValue::Exprloc(expression) = value {
        facts.push(format!("{name} {at} is everywhere {}", operations(expression, unit)));
        return Ok(());
    }
    let Some(mut list) = dwarf.attr_locations(unit, value)? else { return Ok(()) };
    let mut here = false;
    while let Some(entry) = list.next()? {
        let inside = (entry.range.begin..entry.range.end).contains(&pc);
        here |= inside;
        let mark = if inside { "  <- in force" } else { "" };
        let text = operations(entry.data, unit);
        facts.push(format!("{name} {at} [{:#x}, {:#x}) {text}{mark}", entry.range.begin, entry.range.end));
    }
    if !here {
        facts.push(format!("{name} {at} has no location at {pc:#x}"));
    }
    Ok(())
}

fn offset_text(offset: UnitOffset) -> String {
    format!("<{:#x}>", offset.0)
}

fn operations<'a>(expression: gimli::Expression<Slice<'a>>, unit: &Unit<Slice<'a>>) -> String {
    let mut operations = expression.operations(unit.encoding());
    let mut texts = Vec::new();
    loop {
        match operations.next() {
            Ok(Some(operation)) => texts.push(format!("{operation:?}").replace("EndianSlice", "")),
            Ok(None) => break,
            Err(e) => {
                texts.push(format!("({e})"));
                break;
            }
        }
    }
    texts.join(", ")
}
