//! Shows objects of the C++ library as what they stand for: strings as text, containers as their elements. The layouts are
//! those of libstdc++'s ABI. An object that is not what it should be (not constructed yet, half moved, damaged) is shown by
//! its members instead: `None` says so.
//!
//! Deliberately absent: whether what is shown is compared. What lies behind a pointer never is.

use super::module::{Module, TypeId, TypeKind};
use super::value::{Content, Printer};
use std::fmt::Write as _;
use trueline_dwarf::Container;

/// Longest text that is shown, in bytes.
const LONGEST: u64 = 200;
/// More elements than this are no container's that a person looks at; the count is not to be believed.
const MOST_ELEMENTS: u64 = 1 << 24;
/// The part of a tree's node before its value: colour, parent, left, right.
const TREE_NODE: u64 = 32;
/// The part of a hash table's node before its value.
const HASH_NODE: u64 = 8;
/// Nesting of objects behind pointers.
const DEEPEST: u32 = 6;

impl Printer<'_> {
    /// The object at a bit of the content, `None` when it is not what it should be. Nothing is written then.
    pub(super) fn library(&mut self, container: &Container, bit: u64) -> Option<()> {
        if self.depth >= DEEPEST {
            return None;
        }
        let start = self.text.len();
        let budget = self.budget;
        let shown = match container {
            Container::Text => self.text_of(bit),
            Container::Sequence(element) => self.sequence(*element, bit),
            Container::Tree { key, value } => self.tree(*key, *value, bit),
            Container::Hash { key, value } => self.hash(*key, *value, bit),
            Container::Optional(of) => self.optional(*of, bit),
            Container::Owner(of) => self.owner(*of, bit),
        };
        if shown.is_none() {
            self.text.truncate(start);
            self.budget = budget;
        } else {
            self.shown = true;
        }
        shown
    }

    /// What a reference refers to; its address where that cannot be read.
    pub(super) fn referent(&mut self, of: TypeId, bit: u64) -> Option<()> {
        let address = self.word(bit)?;
        let start = self.text.len();
        let shown = self.behind(of, address);
        if shown.is_none() {
            self.text.truncate(start);
        }
        shown
    }

    fn text_of(&mut self, bit: u64) -> Option<()> {
        let (address, length) = (self.word(bit)?, self.word(bit + 64)?);
        if length > MOST_ELEMENTS {
            return None;
        }
        let mut bytes = vec![0; length.min(LONGEST) as usize];
        if !self.memory?.read(address, &mut bytes) {
            return None;
        }
        self.text.push('"');
        for part in bytes.utf8_chunks() {
            // Writing into a String cannot fail.
            let _ = write!(self.text, "{}", part.valid().escape_debug());
            for byte in part.invalid() {
                let _ = write!(self.text, "\\x{byte:02x}");
            }
        }
        self.text.push_str(if length > LONGEST { "\"..." } else { "\"" });
        Some(())
    }

    fn sequence(&mut self, element: TypeId, bit: u64) -> Option<()> {
        let (first, end, room) = (self.word(bit)?, self.word(bit + 64)?, self.word(bit + 128)?);
        let size = self.module.ty(element).size;
        let length = end.checked_sub(first)?;
        if size == 0 || end > room || !length.is_multiple_of(size) || length / size > MOST_ELEMENTS {
            return None;
        }
        self.elements(length / size, |p, i| p.behind(element, first + i * size))
    }

    /// A red-black tree, in order.
    fn tree(&mut self, key: TypeId, value: Option<TypeId>, bit: u64) -> Option<()> {
        let header = bit + 64;
        let (root, count) = (self.word(header + 64)?, self.word(header + 256)?);
        if count > MOST_ELEMENTS || (count == 0) != (root == 0) {
            return None;
        }
        let mut waiting: Vec<u64> = Vec::new();
        let mut at = root;
        self.elements(count, |p, _| {
            while at != 0 {
                // Deeper than any balanced tree: the pointers lead in a circle.
                if waiting.len() > 64 {
                    return None;
                }
                waiting.push(at);
                at = p.word_at(at + 16)?;
            }
            let node = waiting.pop()?;
            at = p.word_at(node + 24)?;
            p.entry(key, value, node + TREE_NODE)
        })
    }

    /// A hash table, in the order of its list.
    fn hash(&mut self, key: TypeId, value: Option<TypeId>, bit: u64) -> Option<()> {
        let (mut at, count) = (self.word(bit + 128)?, self.word(bit + 192)?);
        if count > MOST_ELEMENTS || (count == 0) != (at == 0) {
            return None;
        }
        self.elements(count, |p, _| {
            let node = at;
            at = p.word_at(node)?;
            p.entry(key, value, node + HASH_NODE)
        })
    }

    fn optional(&mut self, of: TypeId, bit: u64) -> Option<()> {
        let engaged = bit + self.module.ty(of).size * 8;
        match self.byte(engaged)? {
            0 => self.text.push_str("nullopt"),
            1 => self.object(of, bit, None),
            _ => return None,
        }
        Some(())
    }

    fn owner(&mut self, of: TypeId, bit: u64) -> Option<()> {
        match self.word(bit)? {
            0 => self.text.push_str("nullptr"),
            address => {
                self.text.push('*');
                self.behind(of, address)?;
            }
        }
        Some(())
    }

    /// An element of a map or a set.
    fn entry(&mut self, key: TypeId, value: Option<TypeId>, address: u64) -> Option<()> {
        self.behind(key, address)?;
        let Some(value) = value else { return Some(()) };
        self.text.push_str(": ");
        let offset = self.module.ty(key).size.next_multiple_of(alignment(self.module, value, 0));
        self.behind(value, address.checked_add(offset)?)
    }

    fn elements(&mut self, count: u64, mut element: impl FnMut(&mut Self, u64) -> Option<()>) -> Option<()> {
        let mut whole = Some(());
        self.list(count, |p, i| {
            if whole.is_some() {
                whole = element(p, i);
            }
            // A damaged one ends the list as a full one does.
            if whole.is_none() {
                p.budget = -1;
            }
        });
        whole
    }

    /// An object in memory.
    fn behind(&mut self, ty: TypeId, address: u64) -> Option<()> {
        let memory = self.memory?;
        let mut bytes = vec![0; usize::try_from(self.module.ty(ty).size).ok().filter(|n| *n <= 1 << 16)?];
        if bytes.is_empty() || !memory.read(address, &mut bytes) {
            return None;
        }
        let content = Content { bytes, ..Content::default() };
        let mut inner = Printer {
            module: self.module,
            content: &content,
            memory: self.memory,
            text: self.text,
            budget: self.budget,
            depth: self.depth + 1,
            shown: true,
            hidden: false,
        };
        inner.object(ty, 0, None);
        self.budget = inner.budget;
        Some(())
    }

    fn word_at(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory?.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }
}

/// How a type is aligned, as far as its members tell.
fn alignment(module: &Module, ty: TypeId, depth: u32) -> u64 {
    let of = module.ty(ty);
    let fields = |fields: &[super::module::Field]| fields.iter().map(|f| alignment(module, f.ty, depth + 1)).max().unwrap_or(1);
    match &of.kind {
        _ if depth > 16 => 8,
        TypeKind::Aggregate(members) | TypeKind::Library { fields: members, .. } => fields(members),
        TypeKind::Array { element, .. } => alignment(module, *element, depth + 1),
        TypeKind::Enum { .. } | TypeKind::Opaque => 8,
        _ => of.size.clamp(1, 16),
    }
}
