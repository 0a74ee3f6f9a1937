//! What is known about gcc's own symbols: which file defines an exported function (about forty files have
//! no assertion to give themselves away), the files that its generator programs write, and which file of
//! the source tree a person would edit for those. No file is preferred over another by any of it.
//!
//! The table is of gcc 12 (`scripts/gcc-symbols` makes it from a source tree); other releases share most
//! names, and a name that moved loses against assertions only where these agree on another file.

use crate::image::CompilerImage;
use crate::mangled::qualified_name;
use crate::naming::Hints;
use std::collections::HashMap;

/// Hints for `cc1` of a target.
#[derive(Clone, Debug)]
pub struct GccHints {
    target: String,
    extension: SourceEnding,
    defined_in: HashMap<&'static str, &'static str>,
}

/// How gcc's C++ files end: `.c` up to gcc 11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceEnding {
    C,
    Cc,
}

static FUNCTIONS: &str = include_str!("../data/gcc-functions.txt");

/// How names of libiberty begin.
const LIBIBERTY: [&str; 9] = ["htab_", "xmalloc", "xcalloc", "xrealloc", "cplus_demangle", "splay_tree_", "_obstack_", "md5_", "pex_"];

impl GccHints {
    /// Hints for a compiler proper, whose target and age its constants tell.
    pub fn of_image(image: &CompilerImage) -> Self {
        let mentions = |text: &str| image.constants.iter().any(|(_, bytes)| contains(bytes, text.as_bytes()));
        let extension = if mentions("/tree-ssa-ccp.cc\0") { SourceEnding::Cc } else { SourceEnding::C };
        let targets = ["i386", "aarch64", "arm", "riscv", "rs6000", "s390", "mips", "loongarch"];
        let target = targets.into_iter().find(|t| mentions(&format!("/config/{t}/{t}.c"))).unwrap_or("i386").to_owned();
        let defined_in = FUNCTIONS
            .lines()
            .filter_map(|line| line.split_once(' '))
            .flat_map(|(file, names)| names.split(' ').map(move |name| (name, file)))
            .collect();
        Self { target, extension, defined_in }
    }
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

impl Hints for GccHints {
    fn file_of_export(&self, name: &str) -> Option<String> {
        let qualified = qualified_name(name)?;
        let plain = qualified.as_str();
        if let Some(file) = self.defined_in.get(plain) {
            let old = self.extension == SourceEnding::C;
            return Some(if old { file.strip_suffix("c").unwrap_or(file).to_owned() } else { (*file).to_owned() });
        }
        let generated = match plain {
            "recog" | "split_insns" | "peephole2_insns" => "insn-recog.cc",
            "insn_extract" => "insn-extract.cc",
            "get_insn_name" => "insn-output.cc",
            "init_all_optabs" | "raw_optab_handler" | "swap_optab_enable" => "insn-opinit.cc",
            "internal_dfa_insn_code" | "insn_default_latency" | "state_transition" | "dfa_start" | "dfa_finish" => "insn-automata.cc",
            // The libraries linked after gcc's own objects; they would otherwise count as the last of these.
            _ if plain.starts_with("backtrace_") => "libbacktrace",
            _ if LIBIBERTY.iter().any(|prefix| plain.starts_with(prefix)) => "libiberty",
            _ if plain.starts_with("get_attr_") => "insn-attrtab.cc",
            _ if plain.starts_with("gen_split_") || plain.starts_with("gen_peephole2_") => "insn-emit.cc",
            _ => return None,
        };
        Some(generated.to_owned())
    }

    fn display(&self, file: &str) -> String {
        let mut path = file;
        while let Some(rest) = path.strip_prefix("../").or_else(|| path.strip_prefix("./")) {
            path = rest;
        }
        let path = path.rsplit_once("/src/").map_or(path, |(_, rest)| rest);
        let path = path.strip_prefix("src/").unwrap_or(path);
        let path = path.strip_prefix("gcc/").unwrap_or(path);
        if path.starts_with("gimple-match.") || path.starts_with("generic-match.") {
            "match.pd".to_owned()
        } else if path.starts_with("insn-") {
            format!("config/{0}/{0}.md", self.target)
        } else {
            path.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_reported_where_people_edit_them() {
        let hints = GccHints { target: "i386".to_owned(), extension: SourceEnding::Cc, defined_in: HashMap::new() };
        assert_eq!(hints.display("../../src/gcc/tree-vect-loop.cc"), "tree-vect-loop.cc");
        assert_eq!(hints.display("../../src/libcpp/lex.cc"), "libcpp/lex.cc");
        assert_eq!(hints.display("gimple-match.cc"), "match.pd");
        assert_eq!(hints.display("insn-recog.cc"), "config/i386/i386.md");
        assert_eq!(hints.file_of_export("_Z5recogP7rtx_defP8rtx_insnPi").as_deref(), Some("insn-recog.cc"));
        assert_eq!(hints.file_of_export("_Z9get_rangev"), None);
    }
}
