//! Kinds of files: relocatable objects, shared libraries, DWARF 4 and 5, position-independent or not; and
//! files that are none.

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use trueline_machine::image::Image;
use trueline_repair::debug::ImageInfo;
use trueline_repair::mend::Trust;
use trueline_repair::note::{self, Worth};
use trueline_repair::repair::{Proofs, RepairOutcome, Request, repair};
use trueline_repair::{rewrite, written};
use trueline_toolchain::{Limits, Scratch, ToolKind, find_compiler, find_tool};

const SOURCE: &str = "int X[512], Y[512], val = 3;
void add(void) {
  int i;
  for (i = 0; i < 512; i++)
    X[i] = Y[i] + val;
}
";

fn compile(scratch: &Scratch, cc: &str, flags: &[&str], name: &str) -> Option<PathBuf> {
    let source = scratch.write("add.c", SOURCE).unwrap();
    let compiler = find_compiler(cc).ok().or_else(|| {
        eprintln!("skipped: no {cc}");
        None
    })?;
    let output = scratch.join(name);
    let outcome = compiler.job().args(flags).arg(&source).arg("-o").arg(&output).limits(Limits::seconds(120)).run().unwrap();
    assert!(outcome.success(), "{}", outcome.stderr_text());
    Some(output)
}

fn run(binary: &Path, reference: &Path) -> RepairOutcome {
    let request = Request { trust: Trust::Validated, variations: 1, proofs: Proofs::Off, ..Request::new(binary, reference) };
    repair(&request, &mut |_| {}).unwrap()
}

#[test]
fn objects_and_libraries_are_repaired_with_generated_inputs() {
    let scratch = Scratch::new().unwrap();
    for cc in ["gcc-12", "clang-16"] {
        for (kind, extra) in [("object", vec!["-c"]), ("library", vec!["-shared", "-fPIC"]), ("object4", vec!["-c", "-gdwarf-4"])] {
            let flags = |level| [vec![level, "-g", "-msse4.2"], extra.clone()].concat();
            let Some(binary) = compile(&scratch, cc, &flags("-O3"), "optimized") else { continue };
            let Some(reference) = compile(&scratch, cc, &flags("-O0"), "reference") else { continue };
            let outcome = run(&binary, &reference);
            let function = &outcome.report.functions[0];
            assert!(function.updated > 0, "{cc} {kind}: {function:?}");
            let output = scratch.join("repaired");
            written::write(&binary, &output, &outcome.bytes).unwrap_or_else(|e| panic!("{cc} {kind}: {e}"));
            if kind != "library" {
                // The linker must accept it and a debugger read it.
                let main = scratch.write("main.c", "void add(void); int main(void) { add(); return 0; }\n").unwrap();
                let linked = scratch.join("linked");
                let object = scratch.join("repaired.o");
                std::fs::copy(&output, &object).unwrap();
                let outcome = find_compiler(cc).unwrap().job().args(["-g"]).arg(&main).arg(&object).arg("-o").arg(&linked).run().unwrap();
                assert!(outcome.success(), "{cc} {kind}: {}", outcome.stderr_text());
                let info = ImageInfo::read(&Image::open(&linked).unwrap()).unwrap();
                let add = info.functions.iter().find(|f| f.name == "add").unwrap();
                let i = add.variables.iter().find(|v| v.name == "i").unwrap();
                assert!(i.locations.iter().all(|l| add.contains(l.low)), "{cc} {kind}: {:x?} {:x?}", i.locations, add.ranges);
                assert!(i.locations.len() > 1);
            }
        }
    }
}

#[test]
fn a_rewrite_without_edits_keeps_every_entry() {
    let scratch = Scratch::new().unwrap();
    for cc in ["gcc-12", "clang-16"] {
        for flags in [vec!["-O2", "-g", "-c"], vec!["-O2", "-gdwarf-4", "-c"], vec!["-O2", "-g", "-shared", "-fPIC"]] {
            let Some(binary) = compile(&scratch, cc, &flags, "file") else { continue };
            let image = Image::open(&binary).unwrap();
            let bytes = rewrite::rewrite(&image, &[]).unwrap();
            written::verify(&image, &bytes).unwrap_or_else(|e| panic!("{cc} {flags:?}: {e}"));
        }
    }
}

#[test]
fn files_without_dwarf_are_refused_with_what_to_do() {
    let scratch = Scratch::new().unwrap();
    let Some(plain) = compile(&scratch, "gcc", &["-O2", "-c"], "plain") else { return };
    let error = Image::open(&plain).unwrap_err().to_string();
    assert!(error.contains("build it with -g"), "{error}");
    let text = scratch.write("text", "not an ELF file at all").unwrap();
    let error = Image::open(&text).unwrap_err().to_string();
    assert!(error.contains("not an ELF file"), "{error}");
    let Some(compressed) = compile(&scratch, "gcc", &["-O2", "-c", "-g", "-gz=zlib"], "compressed") else { return };
    let error = Image::open(&compressed).unwrap_err().to_string();
    assert!(error.contains("decompress"), "{error}");
}

proptest! {
    // The same cases on every run: what a longer search finds belongs into the fuzz targets.
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn damaged_files_never_panic(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        static BYTES: std::sync::OnceLock<Option<Vec<u8>>> = std::sync::OnceLock::new();
        let bytes = BYTES.get_or_init(|| {
            let scratch = Scratch::new().unwrap();
            compile(&scratch, "gcc", &["-O2", "-g", "-c"], "file").map(|p| std::fs::read(p).unwrap())
        });
        let Some(bytes) = bytes else { return Ok(()) };
        let mut bytes = bytes.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(image) = Image::parse(Path::new("damaged"), bytes)
            && ImageInfo::read(&image).is_ok()
        {
            let _ = rewrite::rewrite(&image, &[]);
        }
    }
}

#[test]
fn a_debugger_says_which_values_were_proved() {
    let scratch = Scratch::new().unwrap();
    let source = format!("{SOURCE}int main(void) {{ add(); return X[3]; }}\n");
    let path = scratch.write("main.c", source).unwrap();
    let (Ok(compiler), Ok(gdb)) = (find_compiler("gcc-12"), find_tool(ToolKind::Gdb, None)) else {
        eprintln!("skipped: no gcc-12 or no gdb");
        return;
    };
    let build = |level: &str, name: &str| {
        let output = scratch.join(name);
        let outcome = compiler.job().args([level, "-g", "-fno-inline"]).arg(&path).arg("-o").arg(&output).run().unwrap();
        assert!(outcome.success(), "{}", outcome.stderr_text());
        output
    };
    let (binary, reference) = (build("-O2", "optimized"), build("-O0", "reference"));
    let request = Request { trust: Trust::Validated, ..Request::new(&binary, &reference) };
    let outcome = repair(&request, &mut |_| {}).unwrap();
    let output = scratch.join("repaired");
    written::write(&binary, &output, &outcome.bytes).unwrap();
    let noted = note::read(&Image::open(&output).unwrap()).unwrap();
    let first = noted.iter().find(|n| n.2 == "i" && n.4 == Worth::Proved).expect("something of `i` is proved");
    assert_eq!(noted.len(), outcome.report.functions.iter().map(|f| f.locations.len()).sum::<usize>());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("debuggers/trueline_locations.py");
    // The process lies elsewhere than the file says: the command has to take that into account.
    let entry = outcome.report.functions.iter().find(|f| f.name == "add").unwrap().address;
    let place = format!("break *((char *)&add + {})", first.0 - entry);
    let outcome = gdb
        .job()
        .args(["-nx", "-nh", "-batch", "-ex", &format!("source {}", script.display()), "-ex", "start", "-ex", &place])
        .args(["-ex", "continue", "-ex", "trueline i", "-ex", "trueline nothing"])
        .arg(&output)
        .limits(Limits::seconds(120))
        .run()
        .unwrap();
    let said = outcome.stdout_text();
    assert!(said.contains("i (line 3): proved"), "{said}{}", outcome.stderr_text());
    assert!(said.contains("the compiler's own location"), "{said}");
}
