//! Line rows, address by address. Rows that follow one another in a line program are compared in their order; whose line
//! program they stand in does not matter, nor where a sequence ends that another goes on from.

use crate::{Aspect, Side, ViewComparison};
use std::collections::BTreeMap;
use trueline_dwarf::Module;

/// What a row says about its address, as text and in an order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RowFact<'m> {
    file: &'m str,
    line: u32,
    column: u32,
    discriminator: u32,
    is_stmt: bool,
    prologue_end: bool,
}

/// The rows at an address, one list per line program; an empty list where the rows before end and none begin.
type Facts<'m> = Vec<Vec<RowFact<'m>>>;

pub(crate) fn compare(a: &Module, b: &Module, found: &mut ViewComparison) {
    let (of_a, of_b) = (facts(a), facts(b));
    found.looked.rows = of_a.values().flatten().map(Vec::len).sum();
    let mut addresses: Vec<u64> = of_a.keys().chain(of_b.keys()).copied().collect();
    addresses.sort_unstable();
    addresses.dedup();
    // Neighbours that differ are one difference, told by its first address.
    let mut open: Option<(u64, Side, Side)> = None;
    for &address in &addresses {
        let (x, y) = (of_a.get(&address), of_b.get(&address));
        match (&open, x == y) {
            (None, false) => open = Some((address, Side::says(spell(x)), Side::says(spell(y)))),
            (Some(_), true) => {
                let (start, x, y) = open.take().expect("just matched");
                found.add(Aspect::Rows, "line table", vec![(start, address)], x, y);
            }
            _ => {}
        }
    }
    if let (Some((start, x, y)), Some(&last)) = (open, addresses.last()) {
        found.add(Aspect::Rows, "line table", vec![(start, last.max(start + 1))], x, y);
    }
}

fn facts(module: &Module) -> BTreeMap<u64, Facts<'_>> {
    let mut at: BTreeMap<u64, Facts<'_>> = BTreeMap::new();
    let mut last = None;
    // What the linker removed stays at 0, and ends wherever.
    let mut is_removed = false;
    for row in &module.rows {
        is_removed = row.address == 0 || (is_removed && last.is_some_and(|(_, unit)| unit == row.unit));
        if row.flags.end_sequence {
            if !is_removed {
                at.entry(row.address).or_default();
            }
            (last, is_removed) = (None, false);
            continue;
        }
        if is_removed {
            last = Some((row.address, row.unit));
            continue;
        }
        let fact = RowFact {
            file: module.file(row.file).as_str(),
            line: row.line,
            column: row.column,
            discriminator: row.discriminator,
            is_stmt: row.flags.is_stmt,
            prologue_end: row.flags.prologue_end,
        };
        let lists = at.entry(row.address).or_default();
        match lists.last_mut() {
            Some(list) if last == Some((row.address, row.unit)) => list.push(fact),
            _ => lists.push(vec![fact]),
        }
        last = Some((row.address, row.unit));
    }
    at.values_mut().for_each(|lists| lists.sort_unstable());
    at
}

fn spell(facts: Option<&Facts<'_>>) -> String {
    let one = |f: &RowFact<'_>| {
        let discriminator = if f.discriminator == 0 { String::new() } else { format!(" discriminator {}", f.discriminator) };
        let flag = if f.is_stmt { " is_stmt" } else { "" };
        let prologue = if f.prologue_end { " prologue_end" } else { "" };
        format!("{}:{}:{}{discriminator}{flag}{prologue}", f.file, f.line, f.column)
    };
    match facts {
        None => "no row starts here".into(),
        Some(lists) if lists.is_empty() => "the rows end here".into(),
        Some(lists) => lists.iter().flatten().map(one).collect::<Vec<_>>().join(", then "),
    }
}
