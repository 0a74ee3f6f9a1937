//! The state of a program that every build of it has in common: what its global variables hold and which functions of
//! libraries were called how often. Pointers count by what they point to, an object and an offset in it, because each build
//! puts its objects elsewhere. What points to the stack or the heap counts as just that.
//!
//! Deliberately absent: locals, registers, and any judgement of whether two states must agree.

use super::module::{Location, Module, TypeId, TypeKind};
use super::op::Op;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use trueline_machine::image::Image;
use trueline_machine::inferior::Inferior;
use trueline_machine::library;
use trueline_model::VarKind;

/// Larger variables are left out: reading them at each moment would cost more than they tell.
const MOST_BYTES: u64 = 64 << 10;
/// Pieces of one variable beyond which it is left out.
const MOST_PIECES: usize = 4096;

/// A stretch of a variable.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Plain(usize, usize),
    Pointer(usize),
}

/// A variable with a fixed address.
#[derive(Debug)]
struct Global {
    name: Arc<str>,
    address: u64,
    pieces: Vec<Piece>,
    bytes: Vec<u8>,
}

/// Calls of library functions, counted at the stubs and calls that lead to them.
#[derive(Debug, Default)]
pub(super) struct LibraryCalls {
    sites: HashMap<u64, usize>,
    names: Vec<Arc<str>>,
    counts: Vec<u64>,
}

/// Functions that print: compilers turn one into another.
const OUTPUT: &str = "output";

impl LibraryCalls {
    /// The places where code of a binary goes to a library.
    pub fn of(image: &Image, module: &Module) -> Self {
        let mut calls = Self::default();
        for (start, code) in &module.code {
            for instruction in &mut Decoder::with_ip(64, code, *start, DecoderOptions::NONE) {
                if let Some(name) = slot_of(&instruction).and_then(|slot| image.outside.get(&slot)) {
                    calls.add(instruction.ip(), library::plain(name));
                }
            }
        }
        calls
    }

    fn add(&mut self, site: u64, name: &str) {
        // What only reads or computes may be left out, doubled or done at compile time.
        let name = match name {
            "printf" | "puts" | "putchar" | "fputs" | "fputc" | "putc" | "_IO_putc" | "fwrite" | "write" | "fprintf" | "__printf_chk"
            | "__fprintf_chk" | "dprintf" | "vprintf" | "vfprintf" | "putchar_unlocked" => OUTPUT,
            _ if name.starts_with("mem") || name.starts_with("str") || name.starts_with("__") => return,
            other => other,
        };
        let known = self.names.iter().position(|n| **n == *name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.into());
            self.counts.push(0);
            self.names.len() - 1
        });
        self.sites.insert(site, number);
    }

    /// Where to stop.
    pub fn sites(&self) -> impl Iterator<Item = u64> + '_ {
        self.sites.keys().copied()
    }

    /// The program came to an address.
    pub fn arrive(&mut self, pc: u64) {
        if let Some(number) = self.sites.get(&pc) {
            self.counts[*number] += 1;
        }
    }
}

/// The slot that an instruction goes through, if it is a call or jump through one.
fn slot_of(instruction: &Instruction) -> Option<u64> {
    let goes = matches!(instruction.flow_control(), FlowControl::IndirectCall | FlowControl::IndirectBranch);
    let is_near = matches!(instruction.code(), Code::Call_rm64 | Code::Jmp_rm64);
    let through = instruction.op0_kind() == OpKind::Memory && instruction.memory_base() == Register::RIP;
    (goes && is_near && through).then(|| instruction.ip_rel_memory_address())
}

/// Reads the state.
#[derive(Debug)]
pub(super) struct Observable {
    pub library: LibraryCalls,
    globals: Vec<Global>,
    /// What pointers may point to: start, end and name, by run-time address.
    objects: BTreeMap<u64, (u64, Arc<str>)>,
}

impl Observable {
    /// Prepares to read the state of a loaded binary.
    pub fn new(module: &Module, library: LibraryCalls, bias: u64) -> Self {
        let mut by_name: BTreeMap<Arc<str>, Option<(u64, TypeId)>> = BTreeMap::new();
        for var in module.vars.iter().filter(|v| v.kind == VarKind::Global && !v.is_artificial) {
            let Location::Everywhere(ops) = &var.location else { continue };
            let [Op::Address(address)] = **ops else { continue };
            let file = var.decl_file.map_or("", |f| module.base_names[f.0 as usize].as_str());
            let name = format!("{} of {file}:{}", var.name, var.decl_line);
            // Two places under one name cannot be told apart.
            let known = by_name.entry(name.into()).or_insert(Some((address, var.ty)));
            if known.is_some_and(|k| k.0 != address) {
                *known = None;
            }
        }
        let mut objects: BTreeMap<u64, (u64, Arc<str>)> = BTreeMap::new();
        let mut globals = Vec::new();
        for (name, place) in by_name {
            let Some((address, ty)) = place else { continue };
            let (address, size) = (address.wrapping_add(bias), module.ty(ty).size);
            objects.insert(address, (address.wrapping_add(size), Arc::clone(&name)));
            let mut pieces = Vec::new();
            if size > 0 && size <= MOST_BYTES && pieces_of(module, ty, 0, &mut pieces, 0).is_some() && fits(&pieces, size) {
                globals.push(Global { name, address, pieces, bytes: vec![0; size as usize] });
            }
        }
        for function in &module.functions {
            let start = function.entry().wrapping_add(bias);
            objects.insert(start, (function.entry_end().wrapping_add(bias), Arc::clone(&function.name)));
        }
        Self { library, globals, objects }
    }

    /// What the parts of a state are.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.globals.iter().map(|g| Arc::clone(&g.name)).chain(self.library.names.iter().cloned()).collect()
    }

    /// The state now, a digest for each part.
    pub fn look(&mut self, inferior: &Inferior) -> Arc<[u64]> {
        let mut places: Vec<(u64, &mut [u8])> = self.globals.iter_mut().map(|g| (g.address, &mut g.bytes[..])).collect();
        let _ = inferior.read_many(&mut places);
        let globals = self.globals.iter().map(|g| self.digest(g));
        globals.chain(self.library.counts.iter().copied()).collect()
    }

    fn digest(&self, global: &Global) -> u64 {
        let mut hasher = DefaultHasher::new();
        for piece in &global.pieces {
            match *piece {
                Piece::Plain(at, length) => global.bytes[at..at + length].hash(&mut hasher),
                Piece::Pointer(at) => {
                    let word = global.bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
                    self.target(word).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }

    /// What an address points to: an object by name and the offset in it.
    fn target(&self, address: u64) -> (u64, Option<&str>) {
        match self.objects.range(..=address).next_back() {
            _ if address == 0 => (0, None),
            Some((start, (end, name))) if address <= *end => (address - start, Some(name)),
            _ => (1, None),
        }
    }
}

fn fits(pieces: &[Piece], size: u64) -> bool {
    let end = |p: &Piece| match *p {
        Piece::Plain(at, length) => at + length,
        Piece::Pointer(at) => at + 8,
    };
    pieces.iter().all(|p| end(p) as u64 <= size)
}

/// The pieces of a type that starts at a bit, neighbours joined; `None` where it has too many or is not known.
fn pieces_of(module: &Module, ty: TypeId, bit: u64, pieces: &mut Vec<Piece>, depth: u32) -> Option<()> {
    if depth > 24 || pieces.len() > MOST_PIECES {
        return None;
    }
    let of = module.ty(ty);
    let start = (bit / 8) as usize;
    match &of.kind {
        TypeKind::Pointer | TypeKind::Reference(_) if of.size == 8 => pieces.push(Piece::Pointer(start)),
        TypeKind::Aggregate(fields) | TypeKind::Library { fields, .. } => {
            for field in fields {
                match field.bit_size {
                    Some(width) => {
                        let first = bit + field.bit_offset;
                        add_plain(pieces, (first / 8) as usize, (first % 8 + width).div_ceil(8) as usize);
                    }
                    None => pieces_of(module, field.ty, bit + field.bit_offset, pieces, depth + 1)?,
                }
            }
        }
        TypeKind::Array { element, count } => {
            let stride = module.ty(*element).size * 8;
            if matches!(module.ty(*element).kind, TypeKind::Signed | TypeKind::Unsigned | TypeKind::Float) {
                add_plain(pieces, start, (count * stride / 8) as usize);
                return Some(());
            }
            for index in 0..*count {
                pieces_of(module, *element, bit + index * stride, pieces, depth + 1)?;
            }
        }
        TypeKind::Signed | TypeKind::Unsigned | TypeKind::Float | TypeKind::Complex | TypeKind::Decimal => {
            add_plain(pieces, start, of.size as usize);
        }
        TypeKind::Enum { .. } | TypeKind::Opaque | TypeKind::Pointer | TypeKind::Reference(_) => return None,
    }
    Some(())
}

fn add_plain(pieces: &mut Vec<Piece>, at: usize, length: usize) {
    if let Some(Piece::Plain(start, before)) = pieces.last_mut()
        && *start + *before == at
    {
        *before += length;
        return;
    }
    pieces.push(Piece::Plain(at, length));
}
