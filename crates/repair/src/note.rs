//! What the new locations of a file are worth, in the file itself: a note section that debuggers ignore and a small command reads.
//!
//! The section is a note of the ELF format (owner `Trueline`, type 1) whose contents are JSON, so that a script in a debugger needs no
//! library. Addresses are those of the file. Deliberately absent: relocatable objects, whose addresses the linker changes without
//! knowing of the note.

use crate::elf::Elf;
use crate::report::Report;
use serde::{Deserialize, Serialize};
use trueline_machine::image::{Image, ImageKind};

/// The section's name.
pub const NAME: &str = ".note.trueline";
/// What the contents are, by name and version.
pub const SCHEMA: &str = "trueline.locations/1";

const OWNER: &[u8] = b"Trueline\0";
const KIND: u32 = 1;
/// The type of sections that hold notes.
const SHT_NOTE: u32 = 7;

/// How sure a location is, as a note says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Worth {
    /// It held in every run that was made.
    Validated,
    /// It holds on every input.
    Proved,
}

/// A range of a new location: first address, one past the last, variable, line of its declaration, what it is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted(pub u64, pub u64, pub String, pub u64, pub Worth);

#[derive(Serialize, Deserialize)]
struct Contents {
    schema: String,
    locations: Vec<Noted>,
}

/// The section for a repair, empty when there is nothing to say.
fn section(kind: ImageKind, report: &Report) -> Vec<u8> {
    let worth = |label| if label == crate::mend::Label::Proved { Worth::Proved } else { Worth::Validated };
    let all = report.functions.iter().flat_map(|f| &f.locations);
    let locations: Vec<Noted> = all.map(|l| Noted(l.low, l.high, l.variable.clone(), l.decl_line, worth(l.label))).collect();
    if locations.is_empty() || kind == ImageKind::Relocatable {
        return Vec::new();
    }
    // Numbers and names always have a form in JSON.
    let text = serde_json::to_vec(&Contents { schema: SCHEMA.to_owned(), locations }).unwrap_or_default();
    let mut data = Vec::new();
    for number in [OWNER.len() as u32, text.len() as u32, KIND] {
        data.extend(number.to_le_bytes());
    }
    for part in [OWNER, &text] {
        data.extend(part);
        data.resize(data.len().next_multiple_of(4), 0);
    }
    data
}

/// A file with the note of a repair; the file itself when there is nothing to say.
pub fn attach(bytes: Vec<u8>, kind: ImageKind, report: &Report) -> Vec<u8> {
    let data = section(kind, report);
    let with = |mut elf: Elf| {
        let n = elf.put(NAME, data)?;
        elf.sections[n].kind = SHT_NOTE;
        elf.write()
    };
    Elf::read(&bytes, kind).and_then(with).unwrap_or(bytes)
}

/// What the note of a file says; `None` where there is none that can be read.
pub fn read(image: &Image) -> Option<Vec<Noted>> {
    let data = &image.sections.iter().find(|s| s.name == NAME)?.data;
    let number = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?) as usize);
    let (owner, length) = (number(0)?, number(4)?);
    let start = 12 + owner.checked_next_multiple_of(4)?;
    let contents: Contents = serde_json::from_slice(data.get(start..start.checked_add(length)?)?).ok()?;
    (data.get(12..12 + owner) == Some(OWNER) && contents.schema == SCHEMA).then_some(contents.locations)
}
