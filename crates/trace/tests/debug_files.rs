//! A binary whose debug information lies elsewhere is traced by all engines alike, once they are told where.

use trueline_dwarf::Search;
use trueline_model::{Line, Trace};
use trueline_toolchain::{Job, Limits, Scratch};
use trueline_trace::{Engine, GdbEngine, LldbEngine, NativeEngine, TraceRequest};

const PROGRAM: &str = "\
static int triple(int n) {
  int product = n * 3;
  return product;
}
int main(void) {
  int six = triple(2);
  return six - 6;
}
";

/// Makes the binary, strips it and leaves its debug file below `dbg`, as a distribution does.
const SEPARATE: &str = "\
gcc-12 -g -O0 -Wl,--build-id program.c -o program
id=$(readelf -n program | sed -n 's/.*Build ID: *//p')
dir=dbg/.build-id/$(echo $id | cut -c1-2)
mkdir -p $dir
objcopy --only-keep-debug program $dir/$(echo $id | cut -c3-).debug
strip program
";

#[test]
fn every_engine_finds_a_debug_file_below_the_directory_that_it_is_told() {
    let scratch = Scratch::new().unwrap();
    scratch.write("program.c", PROGRAM).unwrap();
    let outcome = Job::new("/bin/sh").args(["-ec", SEPARATE]).cwd(scratch.path()).limits(Limits::seconds(60)).run().unwrap();
    if !outcome.success() {
        eprintln!("skipped: {}", outcome.stderr_text());
        return;
    }
    let mut request = TraceRequest::new(scratch.join("program"));
    request.user_files = vec!["program.c".to_owned()];
    let engines: [Option<Box<dyn Engine>>; 3] = [
        Some(Box::new(NativeEngine)),
        GdbEngine::find().ok().map(|e| Box::new(e) as Box<dyn Engine>),
        LldbEngine::find().ok().map(|e| Box::new(e) as Box<dyn Engine>),
    ];
    for engine in engines.into_iter().flatten() {
        let kind = engine.kind();
        request.search = Search::default();
        let refusal = engine.trace(&request, &mut Trace::default()).unwrap_err().to_string();
        assert!(refusal.contains("no debug information") && refusal.contains("--debug-dir"), "{kind}: {refusal}");
        request.search = Search::with(&[scratch.join("dbg")]);
        let mut trace = Trace::default();
        engine.trace(&request, &mut trace).unwrap();
        let inside = trace.steps.iter().find(|s| s.line == Some(Line(3))).unwrap_or_else(|| panic!("{kind}: {:?}", trace.steps));
        assert_eq!(inside.function(), "triple", "{kind}");
        assert!(inside.vars.iter().any(|v| &*v.name == "product"), "{kind}: {:?}", inside.vars);
    }
}
