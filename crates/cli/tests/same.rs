//! `trueline same` on files that real tools made from one another: what only packs debug information leaves the view as it is,
//! and what changes it is named with its entry.

mod common;

use common::{have, trueline};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Inlined calls, nested blocks, bit-fields, a list, a static variable and calls with arguments worth describing.
const PROGRAM: &str = r#"
#include <stdio.h>
struct node { int value; struct node *next; unsigned flag : 3; };
static int total;
static inline int clamp(int value, int low, int high) {
    int result = value;
    if (value < low) result = low;
    if (value > high) result = high;
    return result;
}
__attribute__((noinline)) static int sum(struct node *list, int limit) {
    int s = 0;
    for (struct node *n = list; n; n = n->next) { int here = clamp(n->value, 0, limit); s += here; total += here; }
    return s;
}
int main(int argc, char **argv) {
    struct node nodes[4];
    for (int i = 0; i < 4; i++) { nodes[i].value = i * argc; nodes[i].next = i < 3 ? &nodes[i + 1] : 0; nodes[i].flag = i; }
    printf("%d %d\n", sum(nodes, 2), total);
    return 0;
}
"#;

/// A directory with the program in it.
struct Workshop(tempfile::TempDir);

impl Workshop {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        std::fs::write(this.path("p.c"), PROGRAM).unwrap();
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a tool in the directory.
    fn run(&self, line: &str) {
        let mut words = line.split_whitespace();
        let status = Command::new(words.next().unwrap()).args(words).current_dir(self.0.path()).status().unwrap();
        assert!(status.success(), "{line}");
    }

    /// Compares two files of the directory: the exit code and the document.
    fn same(&self, a: &str, b: &str) -> (Option<i32>, Value) {
        let text = |p: PathBuf| p.to_string_lossy().into_owned();
        let output = trueline(&["same", &text(self.path(a)), &text(self.path(b)), "--json", "--limit", "0"]);
        let document = serde_json::from_slice(&output.stdout);
        (output.status.code(), document.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&output.stderr).into_owned())))
    }

    fn assert_same(&self, a: &str, b: &str) {
        let (code, document) = self.same(a, b);
        assert_eq!(code, Some(0), "{a} {b}: {document:#}");
        for what in ["functions", "rows", "ranges", "variables", "locations", "calls", "globals"] {
            assert!(document["looked"][what].as_u64().unwrap() > 0, "{a} {b}: no {what} were looked at");
        }
    }
}

fn aspects(document: &Value) -> Vec<(&str, &str)> {
    let differences = document["differences"].as_array().unwrap().iter();
    differences.map(|d| (d["aspect"].as_str().unwrap(), d["subject"].as_str().unwrap())).collect()
}

#[test]
fn packing_debug_information_in_another_way_leaves_the_view_as_it_is() {
    if !have(&["gcc-12", "dwz", "objcopy"]) {
        return;
    }
    let shop = Workshop::new();
    shop.run("gcc-12 -g -O2 p.c -o plain");
    shop.run("gcc-12 -g -O2 -gdwarf-4 p.c -o four");
    shop.run("gcc-12 -g -O2 -gdwarf-4 -fdebug-types-section p.c -o typed");
    shop.run("gcc-12 -g -O2 -gsplit-dwarf p.c -o split");
    shop.run("dwz -o shared plain");
    shop.run("objcopy --compress-debug-sections=zlib plain compressed");
    shop.run("objcopy --only-keep-debug plain stripped.debug");
    shop.run("objcopy --strip-debug --add-gnu-debuglink=stripped.debug plain stripped");
    for other in ["plain", "four", "typed", "split", "shared", "compressed", "stripped", "stripped.debug"] {
        shop.assert_same("plain", other);
    }
}

#[test]
fn both_versions_of_dwarf_and_split_files_of_clang_give_one_view() {
    if !have(&["clang-16"]) {
        return;
    }
    let shop = Workshop::new();
    shop.run("clang-16 -g -O2 p.c -o plain");
    shop.run("clang-16 -g -O2 -gdwarf-4 p.c -o four");
    shop.run("clang-16 -g -O2 -gsplit-dwarf p.c -o split");
    shop.assert_same("plain", "four");
    shop.assert_same("plain", "split");
}

#[test]
fn a_line_that_the_source_renumbers_is_a_difference_of_rows_and_declarations() {
    if !have(&["gcc-12"]) {
        return;
    }
    let shop = Workshop::new();
    shop.run("gcc-12 -g -O2 p.c -o plain");
    std::fs::write(shop.path("p.c"), PROGRAM.replace("int s = 0;\n    for", "int\n s = 0; for")).unwrap();
    shop.run("gcc-12 -g -O2 p.c -o moved");
    let (code, document) = shop.same("plain", "moved");
    assert_eq!(code, Some(1), "{document:#}");
    let found = aspects(&document);
    assert!(found.contains(&("declarations", "`s` in sum")), "{found:?}");
    assert!(found.contains(&("rows", "line table")), "{found:?}");
    let s = document["differences"].as_array().unwrap().iter().find(|d| d["subject"] == "`s` in sum").unwrap();
    assert_eq!(s["a"]["entries"][0]["tag"], "DW_TAG_variable");
    assert!(s["a"]["says"].as_str().unwrap().ends_with("p.c:12"), "{s:#}");
    assert!(s["b"]["says"].as_str().unwrap().ends_with("p.c:13"), "{s:#}");
    assert!(!s["ranges"].as_array().unwrap().is_empty());
}

#[test]
fn a_member_that_is_called_otherwise_is_found_behind_a_pointer() {
    if !have(&["gcc-12"]) {
        return;
    }
    let shop = Workshop::new();
    shop.run("gcc-12 -g -O2 p.c -o plain");
    std::fs::write(shop.path("p.c"), PROGRAM.replace("flag", "mark")).unwrap();
    shop.run("gcc-12 -g -O2 p.c -o renamed");
    let (code, document) = shop.same("plain", "renamed");
    assert_eq!(code, Some(1), "{document:#}");
    let found = aspects(&document);
    assert!(found.contains(&("declarations", "`list` in sum")), "{found:?}");
    assert!(document.to_string().contains("member `flag` at bit 128 against `mark` at bit 128"), "{document:#}");
}

#[test]
fn a_location_that_a_repair_added_is_the_only_kind_of_difference() {
    if !have(&["gcc-12"]) {
        return;
    }
    let shop = Workshop::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/vanished-index.c");
    std::fs::copy(&example, shop.path("vanished-index.c")).unwrap();
    shop.run("gcc-12 -g -O2 vanished-index.c -o before");
    let text = |name: &str| shop.path(name).to_string_lossy().into_owned();
    let repaired = trueline(&["repair", &text("before"), "-o", &text("after"), "--source", &text("vanished-index.c"), "--cc", "gcc-12"]);
    assert!(repaired.status.success(), "{}", String::from_utf8_lossy(&repaired.stderr));
    let (code, document) = shop.same("before", "after");
    assert_eq!(code, Some(1), "{document:#}");
    let differences = document["differences"].as_array().unwrap();
    assert!(!differences.is_empty());
    for difference in differences {
        assert_eq!(difference["aspect"], "locations", "{difference:#}");
        assert_eq!(difference["a"]["says"], "nowhere", "only what was nowhere may be filled in: {difference:#}");
    }
}

#[test]
fn files_with_other_code_are_refused() {
    if !have(&["gcc-12"]) {
        return;
    }
    let shop = Workshop::new();
    shop.run("gcc-12 -g -O2 p.c -o plain");
    shop.run("gcc-12 -g -O1 p.c -o other");
    let (code, message) = shop.same("plain", "other");
    assert_eq!(code, Some(2));
    assert!(message.as_str().unwrap().contains("do not have the same code: .text is"), "{message}");
}

/// LLVM's own rewriter leaves out variables of data sections in version 16: a debugger no longer knows their types.
#[test]
fn a_static_variable_that_a_rewriter_dropped_is_named() {
    if !have(&["gcc-12", "llvm-dwarfutil-16"]) {
        return;
    }
    let shop = Workshop::new();
    shop.run("gcc-12 -g -O2 -gdwarf-4 p.c -o plain");
    shop.run("llvm-dwarfutil-16 plain rewritten");
    let (code, document) = shop.same("plain", "rewritten");
    assert_eq!(code, Some(1), "{document:#}");
    assert_eq!(aspects(&document), [("globals", "total")]);
    assert_eq!(document["differences"][0]["b"]["says"], "no such variable");
}
