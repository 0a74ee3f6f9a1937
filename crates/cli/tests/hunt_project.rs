//! `hunt --project`: one project of ours, built once, and a corpus of inputs that grows between two hunts.

use std::path::Path;
use std::process::{Command, Output};

/// gcc 12 at -Og says that `u` is in the register that the loop counts in.
const FOLD: &str = "#include \"fold.h\"\nlong fold(int a, int b, union narrow u, signed char *p) {\n  long kept[3];\n  int i;\n  for (i = 0; i < 3; i++)\n    kept[i] = -4;\n  return kept[1];\n}\n";
const HEADER: &str = "union narrow { unsigned whole; };\nlong fold(int a, int b, union narrow u, signed char *p);\n";
/// Folds for an input that begins with `f`.
const MAIN: &str = "#include <stdio.h>\n#include \"fold.h\"\nlong g[4];\nsigned char byte;\nint main(int argc, char **argv) {\n  union narrow u = {77};\n  FILE *f = argc > 1 ? fopen(argv[1], \"r\") : stdin;\n  if (!f)\n    return 9;\n  if (fgetc(f) == 'f')\n    g[0] = fold(1, 28, u, &byte);\n  return 0;\n}\n";
const MAKEFILE: &str = "prog: main.o fold.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c -o $@ $<\n";

struct Workshop(tempfile::TempDir);

impl Workshop {
    fn new(inputs: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("prog/inputs")).unwrap();
        let shop = Self(dir);
        for (name, text) in [("Makefile", MAKEFILE), ("main.c", MAIN), ("fold.c", FOLD), ("fold.h", HEADER)] {
            shop.write(name, text);
        }
        inputs.iter().for_each(|(name, text)| shop.write(&format!("inputs/{name}"), text));
        shop
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join("prog").join(name), text).unwrap();
    }

    fn trueline(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_trueline")).args(args).current_dir(self.0.path()).output().unwrap()
    }

    /// The events of a hunt for parameters at -Og.
    fn hunt(&self, run: &str) -> Vec<serde_json::Value> {
        let project = ["hunt", "--project", "prog", "--run", run, "--inputs", "prog/inputs", "--db", "found.db", "--json"];
        let how = ["--cc", "gcc-12", "--opt=-Og", "--invariant", "parameter", "--confirm", "none", "--no-report"];
        let output = self.trueline(&[&project[..], &how].concat());
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The inputs that events of a kind are about.
fn about<'e>(events: &'e [serde_json::Value], kind: &str) -> Vec<&'e str> {
    events.iter().filter(|e| e["event"] == kind).filter_map(|e| e["program"].as_str()).collect()
}

fn has_gcc_12() -> bool {
    Path::new("/usr/bin/gcc-12").exists() || {
        eprintln!("skipped: no gcc-12");
        false
    }
}

#[test]
fn a_corpus_is_hunted_once_and_what_is_added_later_alone() {
    if !has_gcc_12() {
        return;
    }
    let shop = Workshop::new(&[("folds", "f"), ("does-not", "x"), ("folds-too", "f")]);
    let first = shop.hunt("./prog {}");
    let mut done = about(&first, "unit-done");
    done.sort_unstable();
    assert_eq!(done, ["does-not", "folds"], "two files of one content are one input: {first:#?}");
    assert_eq!(about(&first, "found"), ["folds"]);
    let found = first.iter().find(|e| e["event"] == "found").unwrap();
    assert_eq!((found["invariant"].as_str(), found["variable"].as_str()), (Some("parameter"), Some("u")), "{found}");

    assert!(about(&shop.hunt("./prog {}"), "unit-done").is_empty());
    shop.write("inputs/later", "fold");
    let later = shop.hunt("./prog {}");
    assert_eq!((about(&later, "unit-done"), about(&later, "found")), (vec!["later"], vec!["later"]));

    shop.write("fold.c", &FOLD.replace("-4", "-5"));
    assert_eq!(about(&shop.hunt("./prog {}"), "unit-done").len(), 3, "a project that was changed is another one");
}

#[test]
fn inputs_without_a_place_among_the_arguments_are_on_standard_input() {
    if !has_gcc_12() {
        return;
    }
    let shop = Workshop::new(&[("folds", "f"), ("does-not", "x")]);
    assert_eq!(about(&shop.hunt("./prog"), "found"), ["folds"]);
    // What is kept leads back to the project: its text alone cannot be built.
    for command in ["triage", "reduce"] {
        let output = shop.trueline(&[command, "1", "--db", "found.db"]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("trueline triage --project") && text.contains("--stdin") && text.contains("inputs/folds"), "{text}");
    }
    let report = shop.trueline(&["report", "--db", "found.db", "--out", "pages"]);
    assert!(report.status.success(), "{}", said(&report));
    let pages: String = std::fs::read_dir(shop.0.path().join("pages"))
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .collect();
    assert!(pages.contains("fold.c"), "no page names the file");
}

#[test]
fn what_cannot_be_hunted_is_said_before_anything_is_built() {
    let shop = Workshop::new(&[]);
    let refused = |args: &[&str]| {
        let output = shop.trueline(&[&["hunt", "--project", "prog", "--db", "found.db"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    assert!(refused(&["--run", "./prog {}"]).contains("--inputs"));
    assert!(refused(&["--run", "./prog", "--inputs", "prog/inputs"]).contains("holds no file"));
    assert!(refused(&["--run", "./prog", "--mutate", "2"]).contains("triage --project"));
    assert!(!shop.0.path().join("found.db").exists());
}
