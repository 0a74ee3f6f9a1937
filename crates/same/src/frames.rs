//! Functions and inlined calls, address by address, and the variables in scope in each frame.
//!
//! Blocks in braces are not frames: a file may leave out those without variables. Which variables are in scope, and which hides
//! which, is compared instead.

use crate::types::Types;
use crate::vars::Pairs;
use crate::{Aspect, Side, ViewComparison, spelling};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use trueline_dwarf::{BlockId, BlockKind, CallSite, CallTarget, FileId, FunctionId, Location, Module, VarId};

/// A function is known by where it starts and what it is called; of several, by their order.
type Key = (u64, Arc<str>, usize);

pub(crate) fn compare(a: &Module, b: &Module, found: &mut ViewComparison) {
    let (of_a, of_b) = (functions(a), functions(b));
    let mut types = Types::new(a, b);
    let missing = || Side::says("no such function");
    for (key, &function) in &of_a {
        match of_b.get(key) {
            Some(&other) => {
                found.looked.functions += 1;
                FunctionPair { a, b, x: function, y: other }.compare(&mut types, found);
            }
            None => found.add(Aspect::Frames, &*key.1, a.function(function).ranges.clone(), whole(a, function), missing()),
        }
    }
    for (key, &function) in of_b.iter().filter(|(key, _)| !of_a.contains_key(*key)) {
        found.add(Aspect::Frames, &*key.1, b.function(function).ranges.clone(), missing(), whole(b, function));
    }
}

fn functions(module: &Module) -> BTreeMap<Key, FunctionId> {
    let mut seen: HashMap<(u64, Arc<str>), usize> = HashMap::new();
    let keyed = module.functions.iter().enumerate().map(|(number, function)| {
        let name = Arc::clone(&function.name);
        let count = seen.entry((function.entry(), Arc::clone(&name))).or_default();
        *count += 1;
        ((function.entry(), name, *count), FunctionId(number as u32))
    });
    keyed.collect()
}

fn whole(module: &Module, function: FunctionId) -> Side {
    let of = module.function(function);
    Side::of_blocks(module, &[of.block], format!("{} declared at {}", of.name, place(module, of.decl_file, of.decl_line)))
}

fn place(module: &Module, file: Option<FileId>, line: u32) -> String {
    format!("{}:{line}", file.map_or("?", |f| module.file(f).as_str()))
}

/// A frame: its function or inlined call, and the innermost block that is still in it.
#[derive(Clone, Copy)]
struct FrameView {
    block: BlockId,
    inner: BlockId,
}

/// Frames that are not the same, with the addresses where they are not.
struct Differing {
    a: Vec<BlockId>,
    b: Vec<BlockId>,
    ranges: Vec<(u64, u64)>,
}

/// One function as both files describe it.
struct FunctionPair<'m> {
    a: &'m Module,
    b: &'m Module,
    x: FunctionId,
    y: FunctionId,
}

impl FunctionPair<'_> {
    fn compare(&self, types: &mut Types<'_>, found: &mut ViewComparison) {
        let (a, b) = (self.a, self.b);
        let (f, g) = (a.function(self.x), b.function(self.y));
        let mut borders: Vec<u64> = Vec::new();
        for (module, block) in [(a, f.block), (b, g.block)] {
            let mut left = vec![block];
            while let Some(id) = left.pop() {
                let block = module.block(id);
                borders.extend(block.ranges.iter().flat_map(|r| [r.0, r.1]));
                left.extend(&block.children);
            }
        }
        borders.sort_unstable();
        borders.dedup();
        let mut differing: BTreeMap<(String, String), Differing> = BTreeMap::new();
        let mut scopes: BTreeMap<(BlockId, BlockId), Vec<(u64, u64)>> = BTreeMap::new();
        for pair in borders.windows(2) {
            let range = (pair[0], pair[1]);
            let (of_a, of_b) = (frames(a, self.x, range.0), frames(b, self.y, range.0));
            if of_a.is_empty() && of_b.is_empty() {
                continue;
            }
            found.looked.ranges += 1;
            let (p, q) = (spell(a, &of_a), spell(b, &of_b));
            if p == q {
                for (x, y) in of_a.iter().zip(&of_b) {
                    scopes.entry((x.inner, y.inner)).or_default().push(range);
                }
            } else {
                let blocks = |frames: &[FrameView]| frames.iter().map(|f| f.block).collect();
                let entry = differing.entry((p, q)).or_insert_with(|| Differing { a: blocks(&of_a), b: blocks(&of_b), ranges: Vec::new() });
                entry.ranges.push(range);
            }
        }
        for ((p, q), at) in differing {
            found.add(Aspect::Frames, &*f.name, at.ranges, Side::of_blocks(a, &at.a, p), Side::of_blocks(b, &at.b, q));
        }
        let mut pairs = Pairs::default();
        for ((x, y), ranges) in scopes {
            pairs.note((a, &in_scope(a, x)), (b, &in_scope(b, y)), &ranges);
        }
        pairs.compare(a, b, &f.name, types, found);
        self.frame_bases(found);
        self.calls(found);
    }

    fn frame_bases(&self, found: &mut ViewComparison) {
        let text = |module: &Module, function: FunctionId| match &module.function(function).frame_base {
            Location::None => spelling::NOWHERE.to_owned(),
            Location::Everywhere(ops) => spelling::expression(module, Ok(ops)),
            Location::Broken(reason) => format!("unreadable ({reason})"),
            Location::Constant(..) => "a constant".to_owned(),
            Location::List(list) => {
                let one = |e: &trueline_dwarf::LocationEntry| {
                    format!("[{:#x}, {:#x}) {}", e.low, e.high, spelling::expression(module, e.ops.as_ref()))
                };
                list.iter().map(one).collect::<Vec<_>>().join("; ")
            }
        };
        let (p, q) = (text(self.a, self.x), text(self.b, self.y));
        if p != q {
            let (f, g) = (self.a.function(self.x), self.b.function(self.y));
            let (p, q) = (Side::of_blocks(self.a, &[f.block], p), Side::of_blocks(self.b, &[g.block], q));
            found.add(Aspect::FrameBases, &*f.name, f.ranges.clone(), p, q);
        }
    }

    fn calls(&self, found: &mut ViewComparison) {
        let sites = |module: &Module, function: FunctionId| -> BTreeMap<u64, String> {
            let sites = &module.function(function).call_sites;
            sites.iter().map(|s| (s.return_pc, call(module, s))).collect()
        };
        let (of_a, of_b) = (sites(self.a, self.x), sites(self.b, self.y));
        found.looked.calls += of_a.len();
        let mut addresses: Vec<u64> = of_a.keys().chain(of_b.keys()).copied().collect();
        addresses.sort_unstable();
        addresses.dedup();
        for address in addresses {
            let (p, q) = (of_a.get(&address), of_b.get(&address));
            if p != q {
                let side = |text: Option<&String>| Side::says(text.map_or("the call is not described", String::as_str));
                let subject = format!("call in {}", self.a.function(self.x).name);
                found.add(Aspect::Calls, subject, vec![(address, address + 1)], side(p), side(q));
            }
        }
    }
}

/// The frames of a function at one of its addresses, innermost first; none elsewhere.
fn frames(module: &Module, function: FunctionId, address: u64) -> Vec<FrameView> {
    if !module.function(function).ranges.iter().any(|r| r.0 <= address && address < r.1) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut inner = module.block_in(function, address);
    let mut at = Some(inner);
    while let Some(id) = at {
        let block = module.block(id);
        at = block.parent;
        if !matches!(block.kind, BlockKind::Lexical) {
            found.push(FrameView { block: id, inner });
            inner = at.unwrap_or(inner);
        }
    }
    found
}

fn spell(module: &Module, frames: &[FrameView]) -> String {
    let one = |frame: &FrameView| {
        let block = module.block(frame.block);
        match &block.kind {
            BlockKind::Inlined { name, call_file, call_line, decl_file, decl_line } => {
                format!("inlined {name} ({}) called at {}", place(module, *decl_file, *decl_line), place(module, *call_file, *call_line))
            }
            _ => {
                let function = module.function(block.function);
                format!("{} ({})", function.name, place(module, function.decl_file, function.decl_line))
            }
        }
    };
    if frames.is_empty() { "not in the function".into() } else { frames.iter().map(one).collect::<Vec<_>>().join(" in ") }
}

/// The variables in scope in a frame, from its innermost block out.
fn in_scope(module: &Module, inner: BlockId) -> Vec<VarId> {
    let mut vars = Vec::new();
    let mut at = Some(inner);
    while let Some(id) = at {
        let block = module.block(id);
        vars.extend(&block.vars);
        at = block.parent.filter(|_| matches!(block.kind, BlockKind::Lexical));
    }
    vars
}

fn call(module: &Module, site: &CallSite) -> String {
    let target = match &site.target {
        CallTarget::Unknown => "a function that is not named".to_owned(),
        CallTarget::Entry(entry) => format!("the function at {entry:#x}"),
        CallTarget::Named(name) | CallTarget::Shared(name) => name.to_string(),
        CallTarget::Computed(ops) => format!("what {} computes", spelling::expression(module, Ok(ops))),
    };
    let tail = if site.is_tail { "tail call" } else { "call" };
    let params = site
        .params
        .iter()
        .map(|p| format!("{} is {}", spelling::expression(module, Ok(&p.place)), spelling::expression(module, Ok(&p.value))));
    format!("{tail} of {target} ({})", params.collect::<Vec<_>>().join("; "))
}
