//! `trueline mutate` as a user runs it: files, JSON, exit codes.

use trueline_toolchain::{Exit, Job, Limits, Outcome, Scratch};

fn trueline(args: &[&str]) -> Outcome {
    Job::new(env!("CARGO_BIN_EXE_trueline")).args(args).limits(Limits { memory: None, ..Limits::seconds(120) }).run().unwrap()
}

const SEED: &str = "extern int printf(const char *, ...);
int g = 3;
int main(void) {
  int i, sum = 0;
  for (i = 0; i < 5; i++) {
    if (i == 9)
      sum = -1;
    sum += g * i;
  }
  printf(\"%d\\n\", sum);
  return 0;
}
";

#[test]
fn variants_are_written_and_described_as_one_json_document() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.write("seed.c", SEED).unwrap();
    let out = scratch.join("out");
    let outcome =
        trueline(&["mutate", &file.to_string_lossy(), "--out", &out.to_string_lossy(), "--variants", "3", "--seed", "4", "--json"]);
    if outcome.stderr_text().contains("MemorySanitizer") {
        println!("skipped: {}", outcome.stderr_text());
        return;
    }
    assert!(outcome.success(), "{}", outcome.stderr_text());
    let document: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(document["schema"], "trueline.mutate/1");
    assert_eq!(document["expected"]["stdout"], "30\n");
    let variants = document["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 3);
    for variant in variants {
        let text = std::fs::read_to_string(variant["file"].as_str().unwrap()).unwrap();
        let insertions = variant["insertions"].as_array().unwrap();
        assert!(text != SEED && !insertions.is_empty());
        for insertion in insertions {
            assert!(["fcb", "tg", "tcb", "dead"].contains(&insertion["strategy"].as_str().unwrap()));
            assert!(insertion["line"].as_u64().unwrap() <= 12);
        }
    }
}

#[test]
fn what_cannot_be_mutated_exits_with_2_and_says_where_and_why() {
    let scratch = Scratch::new().unwrap();
    let out = scratch.join("out").to_string_lossy().into_owned();
    let reads = scratch.write("reads.c", "int getchar(void);\nint main(void) {\n  return getchar();\n}\n").unwrap();
    let broken = scratch.write("broken.c", "int main( {\n").unwrap();
    let latin1 = scratch.write("latin1.c", b"int main(void) { return 0; } /* \xe9 */\n").unwrap();
    let cases = [
        (reads.to_string_lossy().into_owned(), "reads.c:3: the program reads input"),
        (broken.to_string_lossy().into_owned(), "broken.c:1:"),
        (latin1.to_string_lossy().into_owned(), "not UTF-8"),
        (scratch.join("absent.c").to_string_lossy().into_owned(), "cannot read"),
        (scratch.join("program.rs").to_string_lossy().into_owned(), "not a C file"),
    ];
    for (file, message) in cases {
        let outcome = trueline(&["mutate", &file, "--out", &out]);
        let said = outcome.stderr_text();
        if said.contains("MemorySanitizer") {
            println!("skipped: {said}");
            return;
        }
        assert_eq!(outcome.exit, Exit::Code(2), "{file}");
        assert!(said.contains(message), "{file}: {said}");
        assert!(outcome.stdout.is_empty());
    }
    let bad = trueline(&["mutate", "x.c", "--out", &out, "--strategies", "fcb,nonsense"]);
    assert_eq!(bad.exit, Exit::Code(2));
    let bad = trueline(&["mutate", "x.c", "--out", &out, "--sampling", "1.5"]);
    assert_eq!(bad.exit, Exit::Code(2));
}
