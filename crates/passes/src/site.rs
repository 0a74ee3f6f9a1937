//! Where in LLVM an update was done: the innermost function on the call stack that is not part of the
//! IR library itself. Exported functions have names; static ones are known by their address.

use crate::archive::{Archives, Recognised, code_at};
use object::{Object, ObjectSymbol, ReadCache};
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The names of a library's functions by address.
#[derive(Debug, Default)]
pub struct Symbols {
    names: BTreeMap<u64, String>,
    library: std::path::PathBuf,
    /// LLVM's archives, read when a static function is first asked for.
    archives: OnceLock<Archives>,
    recognised: Mutex<HashMap<u64, Option<Recognised>>>,
}

impl Symbols {
    /// Reads a library's dynamic symbols, once per process. One that cannot be read has no names.
    pub fn of(library: &Path) -> Arc<Self> {
        static KNOWN: OnceLock<Mutex<HashMap<std::path::PathBuf, Arc<Symbols>>>> = OnceLock::new();
        let known = KNOWN.get_or_init(Mutex::default);
        let mut known = known.lock();
        Arc::clone(known.entry(library.to_owned()).or_insert_with(|| Arc::new(Self::read(library).unwrap_or_default())))
    }

    fn read(library: &Path) -> Option<Self> {
        let file = std::fs::File::open(library).ok()?;
        let cache = ReadCache::new(std::io::BufReader::new(file));
        let object = object::File::parse(&cache).ok()?;
        let functions = object.dynamic_symbols().filter(|s| s.is_definition() && s.kind() == object::SymbolKind::Text);
        let names = functions.filter_map(|s| Some((s.address(), s.name().ok()?.to_owned()))).collect();
        Some(Self { names, library: library.to_owned(), ..Self::default() })
    }

    /// The demangled name, without arguments, of the function that starts at an address, and its source file
    /// where that is known. `major` is LLVM's version.
    pub fn name(&self, function: u64, major: u32) -> Option<(String, Option<String>)> {
        if let Some(mangled) = self.names.get(&function) {
            return Some((demangle(mangled), None));
        }
        self.recognise(function, major).map(|found| (demangle(&found.name), Some(found.file)))
    }

    /// What the archives and objects know of the function at an address.
    fn recognise(&self, function: u64, major: u32) -> Option<Recognised> {
        let archives = self.archives.get_or_init(|| Archives::of(major));
        if archives.is_empty() || function == 0 {
            return None;
        }
        let mut recognised = self.recognised.lock();
        let found = recognised.entry(function).or_insert_with(|| {
            const LONGEST: usize = 1 << 18;
            archives.recognise(&code_at(&self.library, function, LONGEST)?)
        });
        found.clone()
    }

    /// The file and line of the call that returns to `address` in `function`, where an object with debug information
    /// holds the same code.
    fn line(&self, function: u64, address: u64, major: u32) -> Option<(String, u32)> {
        if !Archives::have_lines() {
            return None;
        }
        let found = self.recognise(function, major)?;
        let line = found.line(address.checked_sub(function)?)?;
        Some((found.file, line))
    }
}

fn demangle(mangled: &str) -> String {
    // Partial inlining and splitting leave suffixes that are no part of the name.
    let clean = mangled.split(".part.").next().unwrap_or(mangled).split(".cold").next().unwrap_or(mangled);
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let symbol = cpp_demangle::Symbol::new(clean).ok();
    symbol.and_then(|s| s.demangle_with_options(&options).ok()).unwrap_or_else(|| clean.to_owned())
}

/// A place in LLVM.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct Site {
    /// The function, named or by its address in the library.
    pub function: String,
    /// The return address of the call in it, relative to the library.
    pub address: u64,
    /// The functions from the pass down to the call, outermost first.
    pub chain: Vec<String>,
    /// The source file, where the development archives tell it.
    pub file: Option<String>,
    /// The line of the call in it, where an object with debug information holds the same code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Site {
    /// The site of a stack (innermost frame first); unknown for an empty one.
    pub fn of(frames: &[(u64, u64)], symbols: &Symbols, major: u32) -> Self {
        let describe = |function: u64| match symbols.name(function, major) {
            Some(found) => found,
            None if function == 0 => ("unknown".to_owned(), None),
            None => (format!("static function at {function:#x}"), None),
        };
        let names: Vec<(u64, (String, Option<String>))> =
            frames.iter().map(|(address, function)| (*address, describe(*function))).collect();
        let inside = names.iter().position(|(_, (name, _))| !is_ir_library(name)).unwrap_or(0);
        let Some((address, (function, file))) = names.get(inside).cloned() else {
            return Self {
                function: "not seen (instructions were spliced)".to_owned(),
                address: 0,
                chain: Vec::new(),
                file: None,
                line: None,
            };
        };
        let chain = names[inside..].iter().rev().map(|(_, (name, _))| name.clone()).collect();
        let (file, line) = match symbols.line(frames[inside].1, address, major) {
            Some((file, line)) => (Some(file), Some(line)),
            None => (file, None),
        };
        Self { function, address, chain, file, line }
    }
}

/// Whether a function belongs to LLVM's IR library: constructors, builders, lists.
fn is_ir_library(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("llvm::") else { return name.starts_with("LLVM") };
    // What every pass calls to have a value expressed by others is not where it decided to.
    if rest.starts_with("salvageDebugInfo") {
        return true;
    }
    let class = rest.split(['<', ':']).next().unwrap_or("");
    let is_member = rest.contains("::");
    const CLASSES: [&str; 18] = [
        "Instruction",
        "BinaryOperator",
        "UnaryOperator",
        "PHINode",
        "Value",
        "User",
        "CallBase",
        "IRBuilder",
        "IRBuilderBase",
        "IRBuilderDefaultInserter",
        "IRBuilderCallbackInserter",
        "BasicBlock",
        "MetadataTracking",
        "DebugLoc",
        "DbgMarker",
        "DbgRecord",
        "DbgVariableRecord",
        "ValueAsMetadata",
    ];
    is_member
        && (CLASSES.contains(&class)
            || class.ends_with("Inst")
            || class.ends_with("Operator")
            || class.starts_with("SymbolTableListTraits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols() -> Symbols {
        let names = [
            (0x100, "_ZN4llvm14BinaryOperator6CreateENS_11Instruction9BinaryOpsEPNS_5ValueES4_RKNS_5TwineEPS1_"),
            (0x300, "_ZN4llvm8LICMPass3runEv"),
        ];
        Symbols { names: names.into_iter().map(|(a, n)| (a, n.to_owned())).collect(), ..Symbols::default() }
    }

    #[test]
    fn the_site_is_the_first_function_outside_the_ir_library() {
        let site = Site::of(&[(0x110, 0x100), (0x210, 0x200), (0x310, 0x300)], &symbols(), 0);
        assert_eq!(site.function, "static function at 0x200");
        assert_eq!(site.address, 0x210);
        assert_eq!(site.chain, ["llvm::LICMPass::run", "static function at 0x200"]);
    }

    #[test]
    fn a_stack_that_was_not_seen_is_said_to_be_so() {
        assert!(Site::of(&[], &symbols(), 0).function.starts_with("not seen"));
    }
}
