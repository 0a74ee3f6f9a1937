//! Debug information as programs ship it: wherever it is and however it is packed, it says what it says in a plain build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use trueline_dwarf::{Location, Module, Search, Wanted};
use trueline_toolchain::{Job, Limits, Scratch};

/// Two units: `scale` is called from the other one, and link-time optimization inlines it there.
const MAIN: &str = "\
#include \"shape.h\"
static int total;
static int area(const struct shape *s) {
  int product = s->width * s->height;
  total += product;
  return product;
}
int main(int argc, char **argv) {
  struct shape s = { argc + 3, 4, \"box\" };
  int grown = scale(&s, argc);
  int here = area(&s);
  return grown + here > 1000;
}
";
const SHAPE: &str = "\
#include \"shape.h\"
static unsigned calls;
int scale(struct shape *s, int by) {
  int before = s->width;
  for (int i = 0; i < by; i++)
    s->width += s->height;
  calls++;
  return s->width - before;
}
";
const HEADER: &str = "struct shape { int width, height; const char *name; };\nint scale(struct shape *s, int by);\n";

const COMPILERS: [&str; 2] = ["gcc-12", "clang-16"];

struct Workshop {
    scratch: Scratch,
}

impl Workshop {
    fn new() -> Self {
        let scratch = Scratch::new().unwrap();
        for (name, text) in [("main.c", MAIN), ("shape.c", SHAPE), ("shape.h", HEADER)] {
            scratch.write(name, text).unwrap();
        }
        Self { scratch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Runs a tool here; `false` when it is not installed.
    fn run(&self, tool: &str, args: &[&str]) -> bool {
        let found = std::env::var_os("PATH").into_iter().flat_map(|p| std::env::split_paths(&p).collect::<Vec<_>>());
        let Some(tool) = found.map(|dir| dir.join(tool)).find(|p| p.exists()) else {
            eprintln!("skipped: {tool} is not installed");
            return false;
        };
        let outcome = Job::new(tool).args(args).cwd(self.scratch.path()).limits(Limits::seconds(60)).run().unwrap();
        assert!(outcome.success(), "{args:?}: {}", outcome.stderr_text());
        true
    }

    fn build(&self, cc: &str, out: &str, flags: &[&str]) -> bool {
        let args: Vec<&str> = flags.iter().copied().chain(["main.c", "shape.c", "-o", out]).collect();
        self.run(cc, &args)
    }

    fn read(&self, name: &str) -> Portrait {
        self.read_with(name, &Search::default())
    }

    fn read_with(&self, name: &str, search: &Search) -> Portrait {
        Portrait::of(&Module::load(&self.path(name), Wanted::All, search).unwrap())
    }

    /// Why a binary is refused.
    fn refusal(&self, name: &str) -> String {
        Module::load(&self.path(name), Wanted::All, &Search::default()).unwrap_err().reason
    }
}

/// What a module says, without addresses.
#[derive(Debug, PartialEq, Eq)]
struct Portrait {
    /// Functions with code and inlined copies: name, file and line of those with code, and whether it was inlined.
    copies: Vec<(String, Option<String>, bool)>,
    /// Function, variable, line of declaration, type.
    vars: BTreeSet<(String, String, u32, String)>,
    globals: BTreeSet<(String, u32)>,
    lines: BTreeSet<String>,
    located: usize,
}

impl Portrait {
    fn of(module: &Module) -> Self {
        let place = |file: Option<_>, line| file.and_then(|f| module.line_key(f, line)).map(|k| format!("{}:{}", k.file, k.line.0));
        let mut copies = Vec::new();
        let mut vars = BTreeSet::new();
        let mut located = 0;
        for copy in module.copies() {
            let declared = (!copy.is_inlined()).then(|| place(copy.around().decl_file, copy.around().decl_line)).flatten();
            copies.push((copy.name().to_string(), declared, copy.is_inlined()));
            for var in copy.vars() {
                let var = module.var(var.var);
                located += usize::from(!matches!(var.location, Location::None | Location::Broken(_)));
                vars.insert((copy.name().to_string(), var.name.to_string(), var.decl_line, module.ty(var.ty).name.to_string()));
            }
        }
        copies.sort();
        let globals = module.units.iter().flat_map(|u| &u.globals).map(|&v| module.var(v)).map(|v| (v.name.to_string(), v.decl_line));
        let lines = module.rows_by_address().filter_map(|i| place(Some(module.rows[i].file), module.rows[i].line));
        Self { copies, vars, globals: globals.collect(), lines: lines.collect(), located }
    }

    fn has_inlined(&self, name: &str) -> bool {
        self.copies.iter().any(|c| c.0 == name && c.2)
    }

    fn place_of(&self, function: &str) -> Option<&str> {
        self.copies.iter().find(|c| c.0 == function && !c.2)?.1.as_deref()
    }

    fn has_var(&self, function: &str, name: &str, line: u32) -> bool {
        self.vars.iter().any(|v| v.0 == function && v.1 == name && v.2 == line)
    }
}

#[test]
fn a_plain_build_is_read_as_its_source_has_it() {
    for cc in COMPILERS {
        let shop = Workshop::new();
        if !shop.build(cc, "plain", &["-g", "-O2"]) {
            continue;
        }
        let plain = shop.read("plain");
        assert_eq!(plain.place_of("scale"), Some("shape.c:3"), "{cc}");
        assert_eq!(plain.place_of("main"), Some("main.c:8"), "{cc}");
        assert!(plain.has_inlined("area"), "{cc}: {plain:?}");
        assert!(plain.has_var("area", "product", 4) && plain.has_var("scale", "before", 4), "{cc}: {plain:?}");
        assert!(plain.located > 4, "{cc}: {plain:?}");
    }
}

#[test]
fn every_version_and_packing_of_dwarf_says_the_same() {
    for cc in COMPILERS {
        for version in ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"] {
            let shop = Workshop::new();
            if !shop.build(cc, "plain", &["-g", version, "-O1"]) {
                continue;
            }
            let plain = shop.read("plain");
            for flags in [&["-gz=zlib"][..], &["-fdebug-types-section"], &["-gsplit-dwarf"], &["-gsplit-dwarf", "-fdebug-types-section"]] {
                if version == "-gdwarf-3" && flags.len() + flags.iter().filter(|f| f.contains("split")).count() > 1 {
                    continue;
                }
                let all: Vec<&str> = ["-g", version, "-O1"].into_iter().chain(flags.iter().copied()).collect();
                shop.build(cc, "other", &all);
                assert_eq!(shop.read("other"), plain, "{cc} {all:?}");
            }
        }
    }
}

#[test]
fn a_package_of_dwo_files_stands_in_for_them() {
    for cc in COMPILERS {
        for version in ["-gdwarf-4", "-gdwarf-5"] {
            let shop = Workshop::new();
            if !shop.build(cc, "plain", &["-g", version, "-O2"]) || !shop.build(cc, "split", &["-g", version, "-O2", "-gsplit-dwarf"]) {
                continue;
            }
            let dwos: Vec<PathBuf> = std::fs::read_dir(shop.scratch.path())
                .unwrap()
                .map(|e| e.unwrap().path())
                .filter(|p| p.extension().is_some_and(|e| e == "dwo"))
                .collect();
            assert_eq!(dwos.len(), 2, "{cc}");
            assert_eq!(shop.read("split"), shop.read("plain"), "{cc} {version}");
            if !shop.run("llvm-dwp-16", &["-e", "split", "-o", "split.dwp"]) {
                continue;
            }
            for dwo in &dwos {
                std::fs::remove_file(dwo).unwrap();
            }
            assert_eq!(shop.read("split"), shop.read("plain"), "{cc} {version}");
            std::fs::remove_file(shop.path("split.dwp")).unwrap();
            let refusal = shop.refusal("split");
            assert!(refusal.contains(".dwo was not found") && refusal.contains("split.dwp"), "{refusal}");
        }
    }
}

#[test]
fn a_dwo_file_of_another_build_is_refused() {
    let shop = Workshop::new();
    if !shop.build("gcc-12", "split", &["-g", "-O2", "-gsplit-dwarf"]) {
        return;
    }
    let dwos = || {
        std::fs::read_dir(shop.scratch.path())
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "dwo"))
            .collect::<Vec<_>>()
    };
    let (one, other) = (&dwos()[0], &dwos()[1]);
    std::fs::copy(one, other).unwrap();
    assert!(shop.refusal("split").contains("belongs to another build"));
}

#[test]
fn a_debug_file_is_found_by_its_link_and_by_the_build_id() {
    for cc in COMPILERS {
        let shop = Workshop::new();
        if !shop.build(cc, "plain", &["-g", "-O2", "-Wl,--build-id"]) {
            continue;
        }
        let plain = shop.read("plain");
        shop.run("objcopy", &["--only-keep-debug", "plain", "plain.debug"]);
        shop.run("objcopy", &["--strip-debug", "plain", "bare"]);
        let refusal = shop.refusal("bare");
        assert!(refusal.contains(".build-id/") && refusal.contains("no .gnu_debuglink") && refusal.contains("--debug-dir"), "{refusal}");

        shop.run("objcopy", &["--strip-debug", "--add-gnu-debuglink=plain.debug", "plain", "linked"]);
        assert_eq!(shop.read("linked"), plain, "{cc}");
        std::fs::create_dir(shop.path(".debug")).unwrap();
        std::fs::rename(shop.path("plain.debug"), shop.path(".debug/plain.debug")).unwrap();
        assert_eq!(shop.read("linked"), plain, "{cc}");

        // Below a directory of debug files, under the build-id.
        let data = std::fs::read(shop.path("plain")).unwrap();
        let id: String =
            object::Object::build_id(&object::File::parse(&*data).unwrap()).unwrap().unwrap().iter().map(|b| format!("{b:02x}")).collect();
        let below = shop.path(&format!("store/.build-id/{}", &id[..2]));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::rename(shop.path(".debug/plain.debug"), below.join(format!("{}.debug", &id[2..]))).unwrap();
        let search = Search::with(&[shop.path("store")]);
        assert_eq!(shop.read_with("bare", &search), plain, "{cc}");
        assert!(shop.refusal("linked").contains("plain.debug"));
    }
}

#[test]
fn a_debug_file_with_another_checksum_is_not_used() {
    let shop = Workshop::new();
    if !shop.build("gcc-12", "plain", &["-g", "-O2", "-Wl,--build-id=none"]) {
        return;
    }
    shop.run("objcopy", &["--only-keep-debug", "plain", "plain.debug"]);
    shop.run("objcopy", &["--strip-debug", "--add-gnu-debuglink=plain.debug", "plain", "linked"]);
    shop.build("gcc-12", "plain", &["-g", "-O0", "-Wl,--build-id=none"]);
    shop.run("objcopy", &["--only-keep-debug", "plain", "plain.debug"]);
    let refusal = shop.refusal("linked");
    assert!(refusal.contains("plain.debug belongs to another build") && refusal.contains("no build-id"), "{refusal}");
}

#[test]
fn what_dwz_moves_elsewhere_is_read_there() {
    for cc in COMPILERS {
        let shop = Workshop::new();
        if !shop.build(cc, "plain", &["-g", "-gdwarf-4", "-O2", "-Wl,--build-id"])
            || !shop.build(cc, "twin", &["-g", "-gdwarf-4", "-O2", "-Wl,--build-id", "-DTWIN=1"])
        {
            continue;
        }
        let plain = shop.read("plain");
        if !shop.run("dwz", &["-m", "shared.debug", "plain", "twin"]) {
            return;
        }
        assert_eq!(shop.read("plain"), plain, "{cc}");
        std::fs::remove_file(shop.path("shared.debug")).unwrap();
        let refusal = shop.refusal("plain");
        assert!(refusal.contains("dwz") && refusal.contains("shared.debug"), "{refusal}");
    }
}

#[test]
fn link_time_optimization_keeps_names_lines_and_types_across_units() {
    for cc in COMPILERS {
        let shop = Workshop::new();
        let flags: &[&str] = if cc.starts_with("clang") { &["-g", "-O2", "-flto", "-fuse-ld=lld-16"] } else { &["-g", "-O2", "-flto"] };
        if cc.starts_with("clang") && !Path::new("/usr/bin/ld.lld-16").exists() {
            eprintln!("skipped: lld-16 is not installed");
            continue;
        }
        if !shop.build(cc, "lto", flags) {
            continue;
        }
        let lto = shop.read("lto");
        assert_eq!(lto.place_of("main"), Some("main.c:8"), "{cc}: {lto:?}");
        assert!(lto.has_inlined("scale") && lto.has_inlined("area"), "{cc}: {lto:?}");
        // clang leaves out what it has no location for.
        assert!(lto.has_var("scale", "by", 3) && lto.has_var("area", "product", 4), "{cc}: {lto:?}");
        let types: BTreeSet<&str> = lto.vars.iter().map(|v| v.3.as_str()).collect();
        assert!(types.contains("struct shape") && !types.contains("void"), "{cc}: {lto:?}");
    }
}

#[test]
fn builds_without_variables_have_their_functions() {
    for cc in COMPILERS {
        let shop = Workshop::new();
        let least: &[&str] = if cc.starts_with("clang") { &["-g1", "-gline-tables-only"] } else { &["-g1"] };
        for level in least {
            if !shop.build(cc, "least", &[level, "-O0"]) {
                continue;
            }
            let read = shop.read("least");
            assert!(read.vars.is_empty(), "{cc} {level}: {read:?}");
            let names: Vec<&str> = read.copies.iter().map(|c| c.0.as_str()).collect();
            assert_eq!(names, ["area", "main", "scale"], "{cc} {level}");
            assert_eq!(read.place_of("scale"), Some("shape.c:3"), "{cc} {level}");
        }
    }
}

#[test]
fn mapped_prefixes_leave_the_base_names() {
    for cc in COMPILERS {
        let shop = Workshop::new();
        let map = format!("-ffile-prefix-map={}=/usr/src/shape", shop.scratch.path().display());
        if shop.build(cc, "plain", &["-g", "-O2"]) && shop.build(cc, "mapped", &["-g", "-O2", &map]) {
            assert_eq!(shop.read("mapped"), shop.read("plain"), "{cc}");
        }
    }
}
