//! Looking ahead changes how often the program is stopped, and nothing else.

use super::*;
use trueline_dwarf::Wanted;
use trueline_model::{Language, OptLevel, Trace};
use trueline_toolchain::{CompileRequest, Scratch, find_compiler};

const TABLE: &str = "\
static inline unsigned next(unsigned v) {
  for (int j = 0; j < 8; j++)
    if (v & 1)
      v = v >> 1 ^ 0xedb88320u;
    else
      v >>= 1;
  return v;
}
";

/// The header's loop is inlined; `twice` is called, recursively; one line holds many branches.
const PROGRAM: &str = "\
#include \"header.h\"
unsigned table[64], sum;
__attribute__((noinline)) static unsigned twice(unsigned n) {
  unsigned below = n ? twice(n - 1) : 1;
  return below + next(below);
}
int main(void) {
  for (unsigned i = 0; i < 64; i++)
    table[i] = next(i);
  sum = (table[1] > 3 && table[2] > 4) || (table[3] & 1 ? table[4] : table[5]) > 9;
  for (int i = 0; i < 3; i++)
    sum += twice(i + 2) & 0xff;
  return 0;
}
";

/// The stops and how often the program was stopped for them.
fn run(request: &TraceRequest, foresight: Foresight) -> (Vec<Step>, u64) {
    let module = Module::load(&request.binary, Wanted::new(&request.user_files), &request.search, Policy::Lldb).unwrap();
    let mut tracer = Tracer::launch(&module, request).unwrap();
    tracer.foresight = foresight;
    let mut trace = Trace::default();
    assert_eq!(tracer.trace(&mut trace).unwrap(), TraceEnd::Finished);
    (trace.steps, tracer.arrivals)
}

#[test]
fn stops_worked_out_ahead_are_those_made_one_by_one() {
    let scratch = Scratch::new().unwrap();
    scratch.write("header.h", TABLE).unwrap();
    let file = scratch.write("program.c", PROGRAM).unwrap();
    for opt in [OptLevel::O0, OptLevel::O1, OptLevel::O2] {
        let output = scratch.join(format!("program{opt}"));
        let binary = find_compiler("gcc").unwrap().compile(&CompileRequest::new(&file, Language::C, opt, output)).unwrap().binary;
        let mut request = TraceRequest::new(binary);
        request.user_files = vec!["program.c".to_owned()];
        request.policy = Policy::Lldb;
        let (one_by_one, many) = run(&request, Foresight::None);
        let (ahead, few) = run(&request, Foresight::Full);
        assert!(!ahead.is_empty());
        assert_eq!(ahead, one_by_one, "{opt}");
        assert!(few < many, "{opt}: {few} arrivals instead of {many}");
        if opt != OptLevel::O0 {
            assert!(few < 2 * ahead.len() as u64 + 100, "{opt}: {few} arrivals for {} stops", ahead.len());
        }
    }
}
