//! Compilers that stay make what fresh ones make, byte for byte, and say what they say.

use object::{Object, ObjectSection};
use std::path::Path;
use trueline_model::{CompilerKind, Language, OptLevel};
use trueline_toolchain::{BuildError, CompileRequest, Compiler, DebugInfo, Exit, Limits, Scratch, find_compiler, installed_compilers};

const PROGRAM: &str = r#"#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef struct node { struct node *next; int32_t key; uint8_t tag[3]; } node;
static volatile int seed = 3;
static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }
static uint32_t mix(uint32_t h, const node *n) {
    for (; n; n = n->next) {
        int k = clamp(n->key, -5, 5);
        switch (k & 3) {
        case 0: h ^= (uint32_t)k * 2654435761u; break;
        case 1: h += n->tag[k > 0]; break;
        default: h = h << 5 | h >> 27;
        }
    }
    return h;
}
static double average(const int *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += values[i];
    return count ? sum / count : 0;
}
int main(int argc, char **argv) {
    node list[4];
    int values[8];
    memset(list, 0, sizeof list);
    for (int i = 0; i < 4; i++) list[i].next = i ? &list[i - 1] : 0, list[i].key = i * seed, list[i].tag[1] = (uint8_t)argc;
    for (int i = 0; i < 8; i++) values[i] = i * i - seed;
    printf("%u %f %s\n", mix(seed, &list[3]), average(values, 8), argc > 5 ? argv[1] : "-");
    return 0;
}
"#;

/// One of each version, private roots included.
fn compilers() -> Vec<Compiler> {
    let all: Vec<Compiler> = installed_compilers().into_iter().filter(|c| c.id.kind != CompilerKind::Rustc).collect();
    assert!(!all.is_empty(), "no compiler is installed");
    all
}

/// What the compiler's driver makes in one fresh process with its children.
fn fresh(compiler: &Compiler, request: &CompileRequest) -> Vec<u8> {
    let driver = compiler.driver(request.language).unwrap();
    let outcome = driver.compile_job(request).unwrap().afresh().run().unwrap();
    assert!(outcome.success(), "{}", outcome.stderr_text());
    std::fs::read(&request.output).unwrap()
}

fn made(compiler: &Compiler, request: &CompileRequest) -> Vec<u8> {
    let build = compiler.compile(request).unwrap();
    assert_eq!(build.stderr, "");
    std::fs::read(&request.output).unwrap()
}

/// A linked file without the order of its dynamic names and the build's number: the linker sees another C library, with the
/// same functions (`slim.rs`).
fn sections(bytes: &[u8]) -> Vec<(String, u64, u64, Vec<u8>)> {
    let file = object::File::parse(bytes).unwrap();
    let read = |section: object::Section<'_, '_>| {
        let name = section.name().unwrap().to_owned();
        let is_compared = !matches!(name.as_str(), ".dynstr" | ".dynsym" | ".note.gnu.build-id");
        let data = if is_compared { section.data().unwrap().to_vec() } else { Vec::new() };
        (name, section.address(), section.size(), data)
    };
    file.sections().map(read).collect()
}

fn is_the_same(compiler: &Compiler, request: &CompileRequest) {
    let (kept, alone) = (made(compiler, request), fresh(compiler, request));
    let is_same = if request.flags.iter().any(|flag| flag == "-c") { kept == alone } else { sections(&kept) == sections(&alone) };
    assert!(is_same, "{} {} {:?} {:?}", compiler.id, request.opt, request.debug, request.flags);
    // Nothing but the source and the output is left.
    let left: Vec<_> = std::fs::read_dir(request.output.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.len() <= 2, "{left:?}");
}

#[test]
fn what_a_compiler_that_stays_makes_is_what_a_fresh_one_makes() {
    let flags: [(OptLevel, DebugInfo, &[&str]); 7] = [
        (OptLevel::O0, DebugInfo::Full, &[]),
        (OptLevel::Og, DebugInfo::Full, &["-gdwarf-4", "-fno-inline"]),
        (OptLevel::O2, DebugInfo::Full, &["-DNAME=\"a b\"", "-ffunction-sections"]),
        (OptLevel::O3, DebugInfo::None, &["-march=x86-64-v3"]),
        (OptLevel::Os, DebugInfo::Full, &["-c"]),
        (OptLevel::O3, DebugInfo::Full, &["-c", "-ffast-math"]),
        (OptLevel::O1, DebugInfo::Full, &["-no-pie", "-static"]),
    ];
    for compiler in compilers() {
        for (opt, debug, flags) in &flags {
            let scratch = Scratch::new().unwrap();
            let source = scratch.write("a.c", PROGRAM).unwrap();
            let request = CompileRequest::new(source, Language::C, *opt, scratch.join("program.bin"));
            is_the_same(&compiler, &request.debug(*debug).flags(flags.iter().copied()));
        }
    }
}

#[test]
fn so_it_is_for_cpp() {
    let text = "#include <algorithm>\n#include <vector>\nstruct B { virtual ~B() {} virtual int f() = 0; };\n\
                struct D : B { std::vector<int> v{3, 1, 2}; int f() override { std::sort(v.begin(), v.end()); return v[0]; } };\n\
                int main() { D d; B &b = d; try { if (b.f() > 5) throw 1; } catch (int i) { return i; } return 0; }\n";
    let mut tried = 0;
    for name in ["gcc", "clang", "gcc-12", "clang-16"] {
        let Ok(compiler) = find_compiler(name) else { continue };
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("a.cpp", text).unwrap();
        is_the_same(&compiler, &CompileRequest::new(source, Language::Cpp, OptLevel::O2, scratch.join("program")));
        tried += 1;
    }
    assert!(tried > 0, "no compiler is installed");
}

#[test]
fn so_it_is_for_rust() {
    let Ok(compiler) = find_compiler("rustc") else {
        println!("skipped: no rustc");
        return;
    };
    let text =
        "#[inline(never)]\nfn sum(v: &[i64]) -> i64 { v.iter().map(|x| x * 3).sum() }\nfn main() { println!(\"{}\", sum(&[1, 2, 3])); }\n";
    let scratch = Scratch::new().unwrap();
    let source = scratch.write("a.rs", text).unwrap();
    for opt in [OptLevel::O0, OptLevel::O2] {
        is_the_same(&compiler, &CompileRequest::new(&source, Language::Rust, opt, scratch.join("program")));
    }
}

#[test]
fn one_resident_serves_programs_and_flags_in_any_order() {
    let other = PROGRAM.replace("seed = 3", "seed = 7").replace("h << 5 | h >> 27", "h * 33");
    for compiler in compilers().into_iter().rev().take(3) {
        let scratch = Scratch::new().unwrap();
        let mut first = Vec::new();
        // More than it takes for a resident to settle.
        for (turn, opt) in [OptLevel::O2, OptLevel::O0, OptLevel::O3, OptLevel::O2].into_iter().cycle().take(16).enumerate() {
            let source = scratch.write("a.c", if turn % 4 % 3 == 0 { PROGRAM } else { &other }).unwrap();
            let bytes = made(&compiler, &CompileRequest::new(source, Language::C, opt, scratch.join("a")));
            first.push(bytes);
        }
        let rounds: Vec<_> = first.chunks(4).collect();
        assert!(rounds.iter().all(|round| round == &rounds[0]), "{}", compiler.id);
        assert!(first[0] == first[3] && first[0] != first[1] && first[1] != first[2], "{}", compiler.id);
    }
}

#[test]
fn a_refusal_is_told_in_the_same_words() {
    for compiler in compilers() {
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("a.c", "int main(void) { return undeclared; }\nint *f(void) { return 1.5; }\n").unwrap();
        let request = CompileRequest::new(source, Language::C, OptLevel::O2, scratch.join("a"));
        let job = compiler.compile_job(&request).unwrap();
        let [kept, fresh] = [job.clone().run().unwrap(), job.afresh().run().unwrap()];
        assert_eq!((kept.exit, kept.stderr_text()), (fresh.exit, fresh.stderr_text()), "{}", compiler.id);
        let refused = compiler.compile(&request).unwrap_err();
        assert!(matches!(&refused, BuildError::Refused { message, .. } if message.contains("undeclared")), "{refused}");
    }
}

#[test]
fn a_crash_is_one_compilations_trouble() {
    for compiler in compilers().into_iter().filter(|c| c.id.kind == CompilerKind::Clang) {
        let scratch = Scratch::new().unwrap();
        let compile = |text: &str, debug| {
            let source = scratch.write("a.c", text).unwrap();
            compiler.compile(
                &CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("a")).debug(debug).flags(["-fno-crash-diagnostics"]),
            )
        };
        for _ in 0..2 {
            let crash = compile("#pragma clang __debug llvm_fatal_error\nint main(void) { return 0; }\n", DebugInfo::Full);
            assert!(matches!(crash, Err(BuildError::Crashed { .. })), "{}: {crash:?}", compiler.id);
            assert!(compile(PROGRAM, DebugInfo::None).is_ok(), "{}", compiler.id);
        }
    }
}

#[test]
fn a_hang_ends_at_its_limit_and_the_next_compilation_goes_on() {
    for compiler in compilers().into_iter().rev().take(2) {
        let scratch = Scratch::new().unwrap();
        // A file that never ends.
        let pipe = scratch.join("a.c");
        assert!(trueline_toolchain::find_compiler("gcc").is_ok());
        let made = trueline_toolchain::Job::new("mkfifo").arg(&pipe).run().unwrap();
        assert!(made.success(), "{}", made.stderr_text());
        let _held = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let mut request = CompileRequest::new(&pipe, Language::C, OptLevel::O2, scratch.join("a"));
        request.limits = Limits { wall: std::time::Duration::from_millis(700), ..Limits::default() };
        let hung = compiler.compile(&request);
        assert!(matches!(hung, Err(BuildError::Hung { .. })), "{}: {hung:?}", compiler.id);
        let source = scratch.write("b.c", PROGRAM).unwrap();
        runs(&compiler.compile(&CompileRequest::new(source, Language::C, OptLevel::O2, scratch.join("b"))).unwrap().binary);
    }
}

fn runs(binary: &Path) {
    assert_eq!(trueline_toolchain::Job::new(binary).run().unwrap().exit, Exit::Code(0));
}
