//! How well the native engine agrees with gdb and lldb on where breakpoints go.
//!
//! usage: places gdb|lldb|gdb-18|… [--policy P] [--cc gcc-12,clang-16] [--opt -O1,-O2] [--show N] FILE.c…
//!
//! Every line of the file that either build has a row for, and the line before each, is asked about. A line agrees when the
//! set of addresses is the same.

use std::collections::BTreeMap;
use std::path::PathBuf;
use trueline_model::{EngineKind, FileName, Language, Line, LineKey, OptLevel, Policy};
use trueline_toolchain::{CompileRequest, Scratch, find_compiler};
use trueline_trace::{Engine, NativeEngine, TraceRequest, open_engine};

fn main() {
    let mut args = std::env::args().skip(1);
    let debugger = args.next().expect("usage: places gdb|lldb [options] FILE…");
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let (mut compilers, mut levels, mut show) = (list("gcc-12,clang-16"), list("-O1,-O2,-O3"), 0usize);
    let mut by: Option<Policy> = None;
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--policy" => by = Some(args.next().expect("a policy").parse().expect("a policy")),
            "--cc" => compilers = list(&args.next().expect("compilers")),
            "--opt" => levels = list(&args.next().expect("levels")),
            "--show" => show = args.next().expect("a number").parse().expect("a number"),
            _ => files.push(arg.into()),
        }
    }
    let kind: EngineKind = debugger.parse().expect("gdb, lldb, or a release such as gdb-18");
    let engine = open_engine(kind).expect("a debugger");
    // `--policy` asks how far another release's habits carry.
    let policy = by.unwrap_or(kind.policy());
    let mut tallies: BTreeMap<(String, String), (usize, usize, usize)> = BTreeMap::new();
    for source in &files {
        let name = source.file_name().expect("a file").to_string_lossy().into_owned();
        let count = std::fs::read_to_string(source).expect("a readable file").lines().count() as u32;
        let language = if name.ends_with(".rs") { Language::Rust } else { Language::C };
        let lines: Vec<LineKey> = (1..=count).map(|l| LineKey { file: FileName::new(&name), line: Line(l) }).collect();
        for cc in &compilers {
            for level in &levels {
                let scratch = Scratch::new().expect("a scratch directory");
                let opt: OptLevel = level.parse().expect("a level");
                let mut request = CompileRequest::new(source, language, opt, scratch.join("build"));
                if language == Language::C {
                    request = request.flags(["-I/usr/include/csmith", "-w"]);
                }
                let Ok(build) = find_compiler(cc).expect("a compiler").compile(&request) else { continue };
                let mut request = TraceRequest::new(&build.binary);
                request.user_files = vec![name.clone()];
                request.policy = policy;
                let ours = NativeEngine.places(&request, &lines).expect("native places");
                let theirs = match engine.places(&request, &lines) {
                    Ok(theirs) => theirs,
                    Err(e) => {
                        println!("{name} {cc} {level}: {e}");
                        continue;
                    }
                };
                let tally = tallies.entry((cc.clone(), level.clone())).or_default();
                for line in &lines {
                    tally.0 += 1;
                    let (here, there) = (&ours[line], &theirs[line]);
                    let pcs = |p: &[trueline_trace::Placement]| p.iter().map(|p| p.pc).collect::<Vec<_>>();
                    if pcs(here) == pcs(there) {
                        tally.1 += 1;
                        tally.2 += usize::from(here != there);
                    } else if show > 0 {
                        show -= 1;
                        println!("{name}:{} {cc} {level}: {debugger} {:x?}, native {:x?}", line.line, pcs(there), pcs(here));
                    }
                }
            }
        }
    }
    println!("compiler level pairs agreed% shown-otherwise");
    for ((cc, level), (all, agreed, other)) in tallies {
        println!("{cc} {level} {all} {:.2} {other}", 100.0 * agreed as f64 / all.max(1) as f64);
    }
}
