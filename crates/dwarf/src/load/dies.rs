//! The entries of a unit, read once, with their parents, for random access.

use super::units::Units;
use crate::op::{ExpressionDecoder, FilePlace, Slice};
use gimli::{AttributeValue, DebuggingInformationEntry, DwAt, UnitOffset};
use std::cell::OnceCell;

/// One entry of a unit, with its place in the tree.
pub(super) struct Die<'a> {
    pub entry: DebuggingInformationEntry<Slice<'a>>,
    /// Index after the last descendant.
    pub end: usize,
    /// Index of the entry around it; the unit's own has itself.
    pub parent: usize,
}

/// What is wrong with the debug information.
pub(super) enum Damage {
    Dwarf(gimli::Error),
    Other(&'static str),
}

impl From<gimli::Error> for Damage {
    fn from(e: gimli::Error) -> Self {
        Self::Dwarf(e)
    }
}

/// A unit and its entries, read when first asked for.
pub(super) struct UnitDies<'d, 'a> {
    pub dwarf: &'d gimli::Dwarf<Slice<'a>>,
    pub unit: &'d gimli::Unit<Slice<'a>>,
    /// Where its file stands among the others.
    pub place: FilePlace,
    dies: OnceCell<Result<Vec<Die<'a>>, gimli::Error>>,
}

impl<'d, 'a> UnitDies<'d, 'a> {
    pub fn new(dwarf: &'d gimli::Dwarf<Slice<'a>>, unit: &'d gimli::Unit<Slice<'a>>, place: FilePlace) -> Self {
        Self { dwarf, unit, place, dies: OnceCell::new() }
    }

    /// What its expressions are decoded with.
    pub fn decoder(&self) -> ExpressionDecoder<'d, 'a> {
        ExpressionDecoder { dwarf: self.dwarf, unit: self.unit, place: self.place }
    }

    /// All entries in order; the first is the unit's own.
    pub fn dies(&self) -> Result<&[Die<'a>], gimli::Error> {
        self.dies.get_or_init(|| self.read()).as_deref().map_err(|&e| e)
    }

    fn read(&self) -> Result<Vec<Die<'a>>, gimli::Error> {
        let mut dies: Vec<Die<'a>> = Vec::new();
        let mut open: Vec<(isize, usize)> = Vec::new();
        let mut cursor = self.unit.entries();
        while let Some(entry) = cursor.next_dfs()? {
            let depth = entry.depth();
            let index = dies.len();
            while let Some(&(d, i)) = open.last()
                && d >= depth
            {
                dies[i].end = index;
                open.pop();
            }
            let parent = open.last().map_or(index, |o| o.1);
            open.push((depth, index));
            dies.push(Die { entry: entry.clone(), end: index + 1, parent });
        }
        let count = dies.len();
        for (_, i) in open {
            dies[i].end = count;
        }
        Ok(dies)
    }

    /// Index of the entry at an offset.
    pub fn find(&self, offset: UnitOffset) -> Option<usize> {
        let dies = self.dies().ok()?;
        dies.binary_search_by_key(&offset.0, |d| d.entry.offset().0).ok()
    }

    /// Where the unit starts, in the numbering of all files.
    pub fn start(&self) -> usize {
        self.place.base.saturating_add(self.unit.header.offset().0)
    }

    /// Whether it is a whole program's unit, with code; others lend entries to such.
    pub fn is_whole(&self) -> bool {
        let tag = self.dies().ok().and_then(|d| d.first()).map(|d| d.entry.tag());
        matches!(tag, Some(gimli::DW_TAG_compile_unit | gimli::DW_TAG_skeleton_unit))
    }

    pub fn string(&self, value: AttributeValue<Slice<'a>>) -> Option<String> {
        self.dwarf.attr_string(self.unit, value).ok().map(|s| s.to_string_lossy().into_owned())
    }
}

/// An entry somewhere in the binary: unit index and entry index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct DieId {
    pub unit: usize,
    pub index: usize,
}

/// The units of all files, to look entries up in.
pub(super) type All<'s, 'd, 'a> = &'s Units<'d, 'a>;

/// The entry that an id stands for.
pub(super) fn die<'s, 'a>(all: All<'s, '_, 'a>, id: DieId) -> &'s Die<'a> {
    &all[id.unit].dies().expect("an id is only made from units that were read")[id.index]
}

/// An entry's direct children.
pub(super) fn children<'s, 'd, 'a>(all: All<'s, 'd, 'a>, id: DieId) -> impl Iterator<Item = DieId> + use<'s, 'd, 'a> {
    let dies = all[id.unit].dies().unwrap_or_default();
    let end = dies[id.index].end;
    let mut next = id.index + 1;
    std::iter::from_fn(move || {
        (next < end).then(|| {
            let this = next;
            next = dies[this].end;
            DieId { unit: id.unit, index: this }
        })
    })
}

/// The entry that an attribute refers to. A type that stands in a unit of its own is found there.
pub(super) fn follow(all: All<'_, '_, '_>, from: DieId, attribute: DwAt) -> Option<DieId> {
    let target = match die(all, from).entry.attr_value(attribute)? {
        AttributeValue::UnitRef(offset) => Some(DieId { unit: from.unit, index: all[from.unit].find(offset)? }),
        AttributeValue::DebugInfoRef(offset) => all.entry_at(all[from.unit].place.base.checked_add(offset.0)?),
        AttributeValue::DebugInfoRefSup(offset) => all.entry_at(all.shared()?.checked_add(offset.0)?),
        AttributeValue::DebugTypesRef(signature) => all.entry_of(signature),
        _ => None,
    }?;
    match die(all, target).entry.attr_value(gimli::DW_AT_signature) {
        Some(AttributeValue::DebugTypesRef(signature)) => all.entry_of(signature).or(Some(target)),
        _ => Some(target),
    }
}

/// The entry around an entry; `None` around a unit's own.
pub(super) fn parent(all: All<'_, '_, '_>, id: DieId) -> Option<DieId> {
    let index = die(all, id).parent;
    (index != id.index).then_some(DieId { unit: id.unit, index })
}

/// The entry itself, then what it is an instance or a completion of.
pub(super) fn origins<'s, 'd, 'a>(all: All<'s, 'd, 'a>, id: DieId) -> impl Iterator<Item = DieId> + use<'s, 'd, 'a> {
    // Bounded: damaged references may form a circle.
    std::iter::successors(Some(id), move |&d| {
        follow(all, d, gimli::DW_AT_abstract_origin).or_else(|| follow(all, d, gimli::DW_AT_specification))
    })
    .take(8)
}

/// An attribute of the entry or of its origins.
pub(super) fn attribute<'a>(all: All<'_, '_, 'a>, id: DieId, name: DwAt) -> Option<(DieId, AttributeValue<Slice<'a>>)> {
    origins(all, id).find_map(|d| Some((d, die(all, d).entry.attr_value(name)?)))
}

/// A text attribute of the entry or of its origins.
pub(super) fn text(all: All<'_, '_, '_>, id: DieId, name: DwAt) -> Option<String> {
    let (at, value) = attribute(all, id, name)?;
    all[at.unit].string(value)
}

/// A number attribute of the entry or of its origins.
pub(super) fn number(all: All<'_, '_, '_>, id: DieId, name: DwAt) -> Option<u64> {
    attribute(all, id, name)?.1.udata_value()
}

/// True when the entry itself has a flag set.
pub(super) fn flag(all: All<'_, '_, '_>, id: DieId, name: DwAt) -> bool {
    matches!(die(all, id).entry.attr_value(name), Some(AttributeValue::Flag(true)))
}
