//! Tests in the formats of LLVM's Dexter, written here, put to native, gdb and lldb.

use trueline_model::{EngineKind, OptLevel, Policy};
use trueline_suite::{Asker, Format, TestOutcome, Verdict, read, run_test};
use trueline_toolchain::{Scratch, find_compiler};

/// Commands: values in order, a place that is not reached, an order of lines, a state, addresses, limited steps.
const COMMANDS: &str = r#"// RUN: %clang -std=gnu11 -O2 -glldb %s -o %t
// RUN: %dexter -w --binary %t -- %s
volatile int sink;
__attribute__((noinline)) static int sum(int n, const int *of)
{
  int all = 0; // DexLabel('start')
  for (int i = 0; i < n; ++i)
    all += of[i]; // DexLabel('loop')
  if (n > 100)
    sink = 5; // DexUnreachable()
  return all; // DexLabel('end')
}

int main(void)
{
  int three[3] = { 4, 5, 6 };
  double half = 0.5;
  char letter = 'x';
  sink = half > 0.25; // DexLabel('half')
  int got = sum(3, three); // DexLabel('call')
  sink = got + letter;
  return 0;
}
// DexExpectWatchValue('i', 0, 1, 2, on_line=ref('loop'))
// DexExpectWatchValue('i', 2, 1, 0, on_line=ref('loop'))
// DexExpectWatchValue('all', 0, 4, on_line=ref('loop'))
// DexExpectWatchValue('of[i]', '4', '5', '6', on_line=ref('loop'))
// DexExpectWatchValue('all', 15, on_line=ref('end'))
// DexExpectWatchValue('all', 15, 16, on_line=ref('end'))
// DexExpectWatchValue('n == 3', 'true', on_line=ref('loop'))
// DexExpectWatchValue('letter', "'x'", on_line=ref('half'))
// DexExpectWatchValue('half', 0.45, float_range=0.1, on_line=ref('half'))
// DexExpectWatchType('n', 'int', on_line=ref('loop'))
// DexExpectStepKind('FUNC', 2)
// DexExpectStepKind('SAME', 2)
// DexExpectProgramState({'frames': [{'location': {'lineno': ref('loop')}, 'watches': {'i': '2', 'all': '9'}},
//                                   {'location': {'lineno': ref('call')}}]})
// DexDeclareAddress('base', 'of', on_line=ref('start'))
// DexExpectWatchValue('&of[1]', address('base', 4), on_line=ref('end'))
// DexExpectWatchValue('&of[1]', address('base', 8), on_line=ref('end'))
"#;

/// Nodes: frames in frames, conditions, aggregates, steps.
const NODES: &str = r#"// RUN: %clang++ -std=gnu++17 -O2 -g %s -o %t
// RUN: %dexter -w --use-script --binary %t -- %s
struct Point { int x; int y; };
enum Colour { Red, Green };
volatile int sink;
__attribute__((noinline)) int walk(Point *at, int by, Colour colour)
{
  at->x += by; // !dex_label first
  at->y -= by;
  sink = colour; // !dex_label last
  return at->x + at->y;
}
__attribute__((noinline)) void outer(int times)
{
  Point p{1, 2};
  for (int i = 0; i < times; ++i)
    sink = walk(&p, i, Green); // !dex_label call
}
int main()
{
  outer(3);
  walk(new Point{5, 5}, 9, Red);
  return 0;
}
/*
---
!where {function: outer}:
  !value times: 3
  !value times: [3, 4]
  !and {lines: !label call}:
    !value i: [0, 1, 2]
  !where {function: walk}:
    !value by: [0, 1, 2]     # the call from main is another
    !value by: [0, 1]
    !value colour: Green
    !step at_least: [!label first, !label last, !label first]
    !step exactly: [!label first, !label last]
    !step never: [!label last + 9]
    ? !and
      lines: !label last
      conditions: "by == 2"
    : !value '*at':
        - x: 4
          y: -1
      !value at: !address here
      !value 'at->y': 7
    !type by: int
!where {lines: !range [!label first, !label last]}:
  !value 'by >= 0': true
  !value frob: !mystery 3
...
*/
"#;

fn put(name: &str, text: &str, engines: &[EngineKind]) -> Option<TestOutcome> {
    let scratch = Scratch::new().unwrap();
    let file = scratch.write(name, text).unwrap();
    let askers: Result<Vec<Asker>, _> = engines.iter().map(|&e| Asker::find(e, Format::Dexter, Policy::Gdb)).collect();
    let (Ok(compiler), Ok(askers)) = (find_compiler("clang-16"), askers) else {
        eprintln!("skipped: clang-16, gdb or lldb is not installed");
        return None;
    };
    let tests = read(Format::Dexter, &[file], &[]).unwrap();
    Some(run_test(&tests[0], &compiler, OptLevel::O0, &[], &askers))
}

/// The lines and expressions of the questions with such a verdict.
fn with(outcome: &TestOutcome, engine: &str, is_it: impl Fn(&Verdict) -> bool) -> Vec<String> {
    let of = |a: &&trueline_suite::Asked| a.outcomes.iter().any(|o| o.engine == engine && is_it(&o.verdict));
    outcome.asked.iter().filter(of).map(|a| format!("{} is {}", a.expression, a.expected)).collect()
}

const ALL: [EngineKind; 3] = [EngineKind::Native, EngineKind::Gdb, EngineKind::Lldb];

#[test]
fn commands_hold_or_do_not_hold_alike_on_every_engine() {
    let Some(outcome) = put("commands.c", COMMANDS, &ALL) else { return };
    for engine in ["native", "gdb", "lldb"] {
        let failed = with(&outcome, engine, |v| *v == Verdict::Fail);
        let wrong = ["i is 2, 1, 0", "all is 0, 4", "all is 15, 16", "&of[1] is address base +8"];
        assert_eq!(failed, wrong, "{engine}: {outcome:#?}");
        assert_eq!(with(&outcome, engine, |v| matches!(v, Verdict::Unsupported { .. })), ["DexExpectStepKind is SAME 2"], "{engine}");
    }
    assert!(outcome.asked.iter().all(|a| a.same != Some(false)), "{outcome:#?}");
}

#[test]
fn scripts_of_nodes_are_followed_and_what_is_not_understood_is_open() {
    let Some(outcome) = put("nodes.cpp", NODES, &ALL) else { return };
    let wrong = ["times is 3, 4", "by is 0, 1", "!step exactly is !label first, !label last", "at->y is 7"];
    for engine in ["native", "gdb", "lldb"] {
        assert_eq!(with(&outcome, engine, |v| *v == Verdict::Fail), wrong, "{engine}: {outcome:#?}");
    }
    for engine in ["gdb", "lldb"] {
        assert_eq!(with(&outcome, engine, |v| matches!(v, Verdict::Unsupported { .. })), ["frob is !mystery 3"], "{engine}");
    }
    // The native engine has no names of enumerators.
    assert_eq!(with(&outcome, "native", |v| matches!(v, Verdict::Unsupported { .. })), ["colour is Green", "frob is !mystery 3"]);
}

#[test]
fn steps_can_be_limited_to_lines_and_a_condition() {
    let text = "volatile int sink;\nint main(void)\n{\n  for (int i = 0; i < 9; ++i)\n    sink = i; // DexLabel('loop')\n  return 0;\n}\n\
                // DexLimitSteps('i', 4, 7, on_line=ref('loop'))\n// DexExpectWatchValue('i', 4, 7, on_line=ref('loop'))\n";
    let Some(outcome) = put("limited.c", text, &ALL) else { return };
    for engine in ["native", "gdb", "lldb"] {
        assert_eq!(with(&outcome, engine, |v| *v == Verdict::Pass).len(), 1, "{engine}: {outcome:#?}");
    }
}

#[test]
fn a_command_that_leads_elsewhere_skips_the_test_with_its_reason() {
    let text = "int main(void) { return 0; }\n// DexStepFunction('main')\n// DexExpectWatchValue('i', 4, on_line=1)\n";
    let Some(outcome) = put("skipped.c", text, &[EngineKind::Native]) else { return };
    let is_it = |v: &Verdict| matches!(v, Verdict::Unsupported { reason } if reason.contains("DexStepFunction"));
    assert_eq!(with(&outcome, "native", is_it).len(), 1);
}
