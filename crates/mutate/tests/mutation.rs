//! Whole programs through the mutator: the paper's examples, refusals, determinism, minimal sets.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use trueline_model::{Interesting, Language, OptLevel, Origin, Program, SeamError, StillShows};
use trueline_mutate::{MutateError, MutatedProgram, MutationOptions, Mutator, PointVisit, Strategy, judge, minimize};
use trueline_toolchain::{CompileRequest, DebugInfo, Job, Outcome, Scratch, find_compiler};

fn program(name: &str, source: &str) -> Program {
    let origin = Origin::File { path: name.into() };
    Program { name: name.to_owned(), language: Language::C, source: source.to_owned(), origin, cflags: Vec::new() }
}

/// One mutator that takes every point, for all tests; `None` where no clang can profile.
fn mutator() -> Option<&'static Mutator> {
    static MUTATOR: OnceLock<Option<Mutator>> = OnceLock::new();
    let found = MUTATOR.get_or_init(|| match Mutator::new(MutationOptions { sampling: 1.0, ..MutationOptions::default() }) {
        Ok(mutator) => Some(mutator),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    });
    found.as_ref()
}

fn run(program: &Program, compiler: &str, opt: OptLevel) -> Outcome {
    let scratch = Scratch::new().unwrap();
    let source = scratch.write("a.c", &program.source).unwrap();
    let request = CompileRequest::new(source, Language::C, opt, scratch.join("a")).debug(DebugInfo::None).flags(program.cflags.clone());
    let build = find_compiler(compiler).unwrap().compile(&request).unwrap_or_else(|e| panic!("{e}\n{}", program.source));
    Job::new(&build.binary).run().unwrap()
}

fn check(variant: &MutatedProgram) {
    for compiler in ["gcc", "clang-16"] {
        if find_compiler(compiler).is_ok() {
            let outcome = run(&variant.program, compiler, OptLevel::O0);
            assert_eq!(judge(&variant.expected, Ok(&outcome)), None, "{compiler}\n{}", variant.program.source);
        }
    }
}

/// The seed of the paper's Figure 1: the variant without the code that Hermes inserted.
const FIGURE_1: &str = "int a;

int main () {
    int b = -1, d, e = 0, f[2] = { 0 };
    unsigned short c = b;

    for (; e < 3; e++)
        for (d = 0; d < 2; d++)
            ;
    return 0;
}
";

#[test]
fn figure_1_is_profiled_as_the_paper_says() {
    let Some(mutator) = mutator() else { return };
    let made = mutator.variants(&program("figure1.c", FIGURE_1), 1, 1).unwrap();
    let inner = FIGURE_1.find("            ;").unwrap() + 12;
    let (_, visit) = made.profile.visits.iter().find(|(p, _)| p.span.start == inner).unwrap();
    let PointVisit::Reached(hits, env) = visit else { panic!("the inner body runs") };
    assert_eq!(*hits, 6);
    let values =
        |path: &str| env.slots.iter().find(|s| s.path == path).map(|s| s.values.listed().unwrap().iter().copied().collect::<Vec<_>>());
    assert_eq!(values("a"), Some(vec![0]));
    assert_eq!(values("b"), Some(vec![-1]));
    assert_eq!(values("c"), Some(vec![65535]));
    assert_eq!(values("d"), Some(vec![0, 1]));
    assert_eq!(values("e"), Some(vec![0, 1, 2]));
    assert_eq!(values("f[0]"), Some(vec![0]));
    // `d` is not initialized where the outer loop starts, so nothing is known about it there.
    let outer = FIGURE_1.find("for (; e").unwrap();
    let (_, visit) = made.profile.visits.iter().find(|(p, _)| p.span.start == outer).unwrap();
    assert!(matches!(visit, PointVisit::Reached(1, env) if env.slots.iter().all(|s| s.path != "d")));
}

/// The seed of the paper's Figure 2, with the uninitialized read at its end left out and a result to print.
const FIGURE_2: &str = "extern int printf(const char *, ...);
char a = 9;
int b, c = 9, d, e;
void fn1() {
    unsigned f = 1;
    int g = 8, h = 5;
    for (; a != 6; a--) {
        int *i = &h;
        for (;;) {
            if (d <= 8)
                break;
            *i = 0;
        }
        c = c + (f + g) * h;
    }
}
int main() {
    fn1();
    printf(\"%d %d %d\\n\", a, c, e);
    return 0;
}
";

/// An assignment of one name to another, as target and value.
fn copy(line: &str) -> Option<(&str, &str)> {
    let (target, value) = line.trim().strip_suffix(';')?.split_once(" = ")?;
    let is_name = |text: &str| !text.contains([' ', '(']);
    (is_name(target) && is_name(value)).then_some((target, value))
}

/// The variables that a block copies into its own, with the copies.
fn saved(block: &str) -> BTreeSet<(String, String)> {
    let copies = block.lines().filter_map(copy).filter(|(target, _)| target.starts_with("tl_"));
    copies.map(|(backup, variable)| (variable.to_owned(), backup.to_owned())).collect()
}

/// The variables that a block's last assignments give back, with the copies they come from.
fn restored(block: &str) -> BTreeSet<(String, String)> {
    let last = block.lines().rev().skip_while(|line| copy(line).is_none()).map_while(copy);
    last.map(|(variable, backup)| (variable.to_owned(), backup.to_owned())).collect()
}

#[test]
fn figure_2_gives_live_blocks_that_run_and_restore() {
    let Some(mutator) = mutator() else { return };
    let made = mutator.variants(&program("figure2.c", FIGURE_2), 6, 11).unwrap();
    assert_eq!(made.expected.output, b"6 144 0\n");
    let last = made.variants.last().unwrap();
    for strategy in Strategy::PUBLISHED {
        assert!(last.insertions.iter().any(|i| i.strategy == strategy), "{strategy} is missing");
    }
    for block in last.insertions.iter().filter(|i| i.strategy == Strategy::Tcb) {
        let (saved, restored) = (saved(&block.text), restored(&block.text));
        assert!(!saved.is_empty(), "nothing is saved:\n{}", block.text);
        assert_eq!(saved, restored, "what is saved on the left, what is given back on the right:\n{}", block.text);
    }
    made.variants.iter().for_each(check);
}

/// Functions behind a comment, an attribute, another function, and one with a word in front that may belong to it.
const FUNCTIONS: &str = "extern int printf(const char *, ...);
int total = 3;
/* Plain. */
static int plain(int n) {
    total += n;
    return total;
}
__attribute__((noinline))
int marked(int n) {
    total -= n;
    return total;
}
#define PUBLIC
PUBLIC
int third(int n) {
    return n;
}
int main(void) {
    int first = plain(4);
    int second = third(marked(2));
    printf(\"%d %d %d\\n\", first, second, total);
    return 0;
}
";

#[test]
fn code_of_its_own_runs_calls_a_new_function_and_keeps_the_meaning() {
    let Some(default) = mutator() else { return };
    let options = MutationOptions { strategies: vec![Strategy::Local], sampling: 1.0, ..MutationOptions::default() };
    let local = Mutator::new(MutationOptions { profiler: Some(default.profiler().path.display().to_string()), ..options }).unwrap();
    let made = local.variants(&program("functions.c", FUNCTIONS), 4, 3).unwrap();
    assert_eq!(made.expected.output, b"7 5 5\n");
    made.variants.iter().for_each(check);
    let first = &made.variants[0];
    assert!(first.insertions.iter().all(|i| i.strategy == Strategy::Local));
    for insertion in &first.insertions {
        let name = format!("tl_{}_f(", insertion.id.0);
        let is_third = (15..18).contains(&insertion.line);
        let uses = first.program.source.matches(&name).count();
        assert!(if is_third { uses == 0 } else { uses >= 2 }, "{name} is there {uses} times:\n{}", first.program.source);
    }
    assert!(first.program.source.contains("__attribute__((noinline))\nint marked(int n)"), "{}", first.program.source);
    // Without any of its insertions, with its function, it is the seed again.
    assert_eq!(first.only(&[]).program.source, FUNCTIONS);

    let old = Program { cflags: vec!["-std=gnu89".to_owned()], ..program("functions.c", FUNCTIONS) };
    let refused = local.variants(&old, 1, 3).unwrap_err();
    assert!(refused.to_string().contains("no program point can be mutated"), "{refused}");
}

#[test]
fn a_round_changes_no_more_points_than_asked_for() {
    let Some(default) = mutator() else { return };
    let options = MutationOptions { sampling: 1.0, most_points: 3, chain: 1, ..MutationOptions::default() };
    let few = Mutator::new(MutationOptions { profiler: Some(default.profiler().path.display().to_string()), ..options }).unwrap();
    let made = few.variants(&program("figure2.c", FIGURE_2), 5, 11).unwrap();
    assert!(made.variants.iter().all(|v| (1..=3).contains(&v.insertions.len())));
    made.variants.iter().for_each(check);
}

#[test]
fn programs_with_every_kind_of_integer_and_statement_keep_their_meaning() {
    let Some(mutator) = mutator() else { return };
    let source = r#"
#include <stdint.h>
#include <stdio.h>
struct bits { unsigned a : 5; int b : 7; unsigned long c : 40; _Bool d; };
union mix { uint32_t word; uint8_t bytes[4]; };
enum colour { RED, GREEN, BLUE } colour = GREEN;
static struct bits s = { 3, -5, 1234567890123, 1 };
static union mix m = { 0x01020304 };
static volatile int16_t v = -7;
static const uint8_t k[3] = { 1, 2, 3 };
static int64_t table[2][3] = { { 1, -2, 3 }, { INT64_MAX, INT64_MIN, 0 } };
static int classify(int n, uint16_t *out) {
    switch (n % 4) {
    case 0: *out += 3; break;
    case 1: case 2: *out ^= n; if (n > 5) return 1; else *out -= 1; break;
    default: goto odd;
    }
    return 0;
odd:
    *out <<= 1;
    return -1;
}
static int never(int n) { if (n) { int x = n; while (x > 0) x--; return x; } return 3; }
int main(void) {
    uint16_t acc = 1; int8_t t = 0; unsigned long long big = ~0ULL; _Bool flag = 0;
    for (int i = 0; i < 9; i++) {
        int late;
        t += classify(i, &acc);
        late = acc % 7;
        flag = !flag;
        if (late > 3) { big >>= 1; continue; }
        do { late++; s.a++; } while (late < 3);
    }
    if (acc == 12345) { acc = never(3); printf("never\n"); }
    printf("%d %d %llu %d %u %d %d %d %d\n", acc, t, big, flag, s.a, s.b, m.bytes[1], v, (int)table[0][1] + k[1] + colour);
    return 3;
}
"#;
    let made = mutator.variants(&program("kinds.c", source), 5, 5).unwrap();
    assert_eq!(made.expected.exit_code, 3);
    made.variants.iter().for_each(check);
    // Chained: every variant has the insertions of the one before.
    for pair in made.variants.windows(2) {
        assert!(pair[1].insertions.starts_with(&pair[0].insertions) && pair[1].insertions.len() > pair[0].insertions.len());
    }
    // Any subset is a variant too.
    let last = made.variants.last().unwrap();
    let ids: Vec<_> = last.insertions.iter().map(|i| i.id).collect();
    for k in 2..5 {
        let some: Vec<_> = ids.iter().copied().filter(|id| id.0 % k == 0).collect();
        check(&last.without(&some));
    }
    assert_eq!(last.only(&[]).program.source, source);
}

#[test]
fn what_depends_on_the_order_of_evaluation_is_not_relied_on() {
    // clang sets `g` before it calls `look`, gcc behind it; the program prints the same either way.
    const ORDER: &str = "extern int printf(const char *, ...);
int g = -7, h = 5, steady = 3;
int look(void) {
  h = h * 2;
  h = h + 1;
  return h;
}
int pair(int a, int b) { return a + b; }
int main(void) {
  int sum = pair(g = 1, look());
  printf(\"%d %d\\n\", sum, g);
  return 0;
}
";
    let Some(mutator) = mutator() else { return };
    if find_compiler("gcc").is_err() {
        return println!("skipped: no gcc");
    }
    let seed = program("order.c", ORDER);
    let made = mutator.variants(&seed, 1, 1).unwrap();
    let inside = |visit: &PointVisit| matches!(visit, PointVisit::Reached(_, env) if env.slots.iter().any(|s| s.path == "h" && s.values.contains(5)));
    let (_, visit) = made.profile.visits.iter().find(|(_, visit)| inside(visit)).expect("a point in `look`");
    let PointVisit::Reached(_, env) = visit else { unreachable!() };
    let known: Vec<&str> = env.slots.iter().map(|s| s.path.as_str()).collect();
    assert!(known.contains(&"steady") && !known.contains(&"g"), "{known:?}");
    for round in 1..6 {
        mutator.variants(&seed, 3, round).unwrap().variants.iter().for_each(check);
    }
}

#[test]
fn a_program_with_many_values_is_counted_first_and_profiled_all_the_same() {
    let Some(mutator) = mutator() else { return };
    let dead: String = (0..70).map(|i| format!("  table[{}] = {i};\n", i % 40)).collect();
    let source = format!(
        "#include <stdio.h>\nint table[40];\nvoid never(void) {{\n{dead}}}\nint main(void) {{\n  int n = 3;\n  \
         for (int i = 0; i < n; i++)\n    table[i] = i + 1;\n  if (n == 4)\n    never();\n  printf(\"%d\\n\", table[2]);\n  return 0;\n}}\n"
    );
    let made = mutator.variants(&program("many.c", &source), 2, 7).unwrap();
    let reached = made.profile.visits.iter().filter_map(|(_, visit)| match visit {
        PointVisit::Reached(hits, env) => Some((*hits, env.slots.len())),
        PointVisit::Never => None,
    });
    let reached: Vec<_> = reached.collect();
    assert!(made.profile.dead() >= 70, "{} dead points", made.profile.dead());
    assert!(reached.iter().all(|(_, values)| *values > 0) && reached.iter().any(|(hits, _)| *hits == 3), "{reached:?}");
    made.variants.iter().for_each(check);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let Some(mutator) = mutator() else { return };
    let seed = program("figure2.c", FIGURE_2);
    let texts = |s: u64| -> Vec<String> { mutator.variants(&seed, 3, s).unwrap().variants.into_iter().map(|v| v.program.source).collect() };
    assert_eq!(texts(5), texts(5));
    assert_ne!(texts(5), texts(6));
    // The first variant of a seed, byte for byte: a change here changes what every stored seed means.
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/figure2-seed5-v000.c");
    if std::env::var_os("TRUELINE_BLESS").is_some() {
        std::fs::write(&golden, &texts(5)[0]).unwrap();
    }
    assert_eq!(texts(5)[0], std::fs::read_to_string(&golden).unwrap());
}

#[test]
fn what_cannot_be_mutated_is_refused_with_line_and_reason() {
    let Some(mutator) = mutator() else { return };
    let cases = [
        ("int x;\nint main( { return 0; }\n", "bad.c:2:", "expected"),
        ("int printf(const char *, ...);\nint getchar(void);\nint main(void) {\n  return getchar();\n}\n", "bad.c:4:", "reads input"),
        ("long time(long *);\nint main(void) {\n  return time(0) & 1;\n}\n", "bad.c:3:", "time"),
        ("int f(a) int a; { return a; }\nint main(void) { return f(1); }\n", "bad.c:1:", "K&R"),
        ("int main(void) {\n  __asm__(\"nop\");\n  return 0;\n}\n", "bad.c:2:", "assembly"),
        ("int f(void) { return 1; }\n", "bad.c:1:", "no `main`"),
        ("int main(void) {\n  int x;\n  if (x) return 1;\n  return 0;\n}\n", "bad.c:3:", "uninitialized"),
        (
            "int printf(const char *, ...);\nint main(void) {\n  int x = 0;\n  printf(\"%p\", (void *)&x);\n  return 0;\n}\n",
            "bad.c:1:",
            "different",
        ),
        ("int *p;\nint main(void) { int a = 1;\n  *p = a;\n  return 0;\n}\n", "bad.c:", "signal"),
        ("int printf(const char *, ...);\nint main(void) {\n  return printf(\"%d\", __LINE__) > 9;\n}\n", "bad.c:3:", "__LINE__"),
    ];
    for (source, place, reason) in cases {
        let error = mutator.variants(&program("bad.c", source), 2, 1).err().unwrap_or_else(|| panic!("accepted:\n{source}"));
        let text = error.to_string();
        assert!(matches!(error, MutateError::Refused(_) | MutateError::Parse(_)), "{text}");
        assert!(text.starts_with(place) && text.contains(reason), "{text}\nfor {source}");
    }
    let empty = program("empty.c", "int main(void) { return 0; }\n");
    assert!(mutator.variants(&empty, 2, 1).unwrap_err().to_string().contains("no program point"));
}

/// Interesting when the text has both of two snippets.
struct HasBoth<'a>(&'a str, &'a str);

impl Interesting for HasBoth<'_> {
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        let yes = candidate.source.contains(self.0) && candidate.source.contains(self.1);
        Ok(if yes { StillShows::Yes } else { StillShows::No })
    }
}

#[test]
fn a_minimal_set_keeps_only_the_insertions_that_matter() {
    let Some(mutator) = mutator() else { return };
    let made = mutator.variants(&program("figure2.c", FIGURE_2), 8, 3).unwrap();
    let last = made.variants.last().unwrap();
    let name = |n: usize| {
        let blocks: Vec<_> = last.insertions.iter().filter(|i| i.strategy == Strategy::Tcb).collect();
        blocks[n].text.split_whitespace().find(|w| w.starts_with("tl_")).unwrap().to_owned()
    };
    let (first, second) = (format!("{} =", name(0)), format!("{} =", name(2)));
    let minimal = minimize(last, &HasBoth(&first, &second)).unwrap();
    assert_eq!(minimal.variant.insertions.len(), 2, "{} of {}", minimal.variant.insertions.len(), last.insertions.len());
    assert_eq!(minimal.strategies.into_iter().collect::<Vec<_>>(), [Strategy::Tcb]);
    check(&minimal.variant);
}

/// A loop that is long, and one that counts in threes.
const COUNTERS: &str = "extern int printf(const char *, ...);
unsigned total;
int main(void) {
    int i, j;
    for (i = 0; i < 3000; i += 3) {
        total += i;
        for (j = 10; j > -20; j--)
            total ^= j;
    }
    printf(\"%u\\n\", total);
    return 0;
}
";

#[test]
fn counters_of_long_loops_are_known_as_intervals_with_their_step() {
    let Some(mutator) = mutator() else { return };
    let made = mutator.variants(&program("counters.c", COUNTERS), 12, 1).unwrap();
    let body = COUNTERS.find("total += i").unwrap();
    let (_, visit) = made.profile.visits.iter().find(|(p, _)| p.span.start == body).unwrap();
    let PointVisit::Reached(hits, env) = visit else { panic!("the body runs") };
    assert_eq!(*hits, 1000);
    let i = &env.slots.iter().find(|s| s.path == "i").unwrap().values;
    assert_eq!(i.hull(), trueline_mutate::Progression::new(0, 2997, 3));
    assert!(!i.contains(1000));
    // Insertions in the loop rest on them, and every variant still prints what the program prints.
    let names_i = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "i");
    let mentions = |v: &MutatedProgram| v.insertions.iter().any(|n| n.line == 6 && names_i(&n.text));
    assert!(made.variants.iter().any(mentions));
    made.variants.iter().for_each(check);
}

#[test]
fn the_last_variant_of_a_generation_is_profiled_again_and_insertions_nest() {
    let options = MutationOptions { generation: 2, chain: 6, sampling: 0.6, ..MutationOptions::default() };
    let Ok(mutator) = Mutator::new(options) else { return println!("skipped: no clang with MemorySanitizer") };
    let seed = program("counters.c", COUNTERS);
    let made = mutator.variants(&seed, 8, 3).unwrap();
    let names: Vec<&str> = made.variants.iter().map(|v| v.program.name.as_str()).collect();
    assert_eq!(names[..3], ["counters-v000.c", "counters-v001.c", "counters-v002.c"]);
    // Chains of six: the seventh starts at the seed again.
    let parents: Vec<bool> = made.variants.iter().map(|v| v.seed.source == COUNTERS).collect();
    assert_eq!(parents, [true, true, false, false, false, false, true, true]);
    assert_eq!(made.variants[3].seed.source, made.variants[1].program.source);
    // Something stands inside what an earlier generation put in: its statement is none of the seed's.
    let nested = |v: &MutatedProgram| {
        v.insertions.iter().any(|i| !COUNTERS.contains(v.seed.source[i.span.start..i.span.end].lines().next().unwrap_or("")))
    };
    assert!(made.variants[2..6].iter().any(nested));
    made.variants.iter().for_each(check);
}
