//! Real projects of a few files, built by make, CMake and Cargo with wrapped compilers.

use std::path::Path;
use trueline_model::OptLevel;
use trueline_project::{
    BuildRequest, BuiltTree, CompilerChoice, Mixing, MixtureMaker, ProjectError, Rest, RunCommand, build, find_guilty, merge,
};
use trueline_toolchain::{Limits, find_compiler};

const MAKEFILE: &str = "CC = gcc\nCFLAGS = -O3 -Wall -D_FORTIFY_SOURCE=2\nprog: main.o twice.o\n\t$(CC) -s -o $@ $^\n%.o: %.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n";
const MAIN: &str = "int twice(int);\nint main(void) { return twice(4) - 8; }\n";
const TWICE: &str = "int twice(int x) { return x + x; }\n";

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn built(dir: &Path, command: Option<&str>, level: OptLevel, choice: CompilerChoice) -> Result<BuiltTree, ProjectError> {
    build(&BuildRequest { project: dir, command, level, flags: &[], choice, limits: Limits { memory: None, ..Limits::seconds(120) } })
}

/// The producer strings of a binary: compiler and flags of each unit.
fn producers(binary: &Path) -> String {
    let output = std::process::Command::new("readelf").args(["--debug-dump=info", "--wide"]).arg(binary).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().filter(|l| l.contains("DW_AT_producer")).map(|l| format!("{l}\n")).collect()
}

#[test]
fn a_makefile_is_built_twice_and_the_users_tree_is_left_alone() {
    let dir = project(&[("Makefile", MAKEFILE), ("main.c", MAIN), ("twice.c", TWICE)]);
    let run = RunCommand::parse("./prog").unwrap();
    for (level, flag) in [(OptLevel::O0, "-O0"), (OptLevel::O2, "-O2")] {
        let tree = built(dir.path(), None, level, CompilerChoice::Own).unwrap();
        let said = producers(&run.program_in(&tree).unwrap());
        assert_eq!(said.matches(flag).count(), 2, "{said}");
        assert!(!said.contains("-O3"), "{said}");
        assert_eq!(tree.compilations.iter().filter(|c| c.makes_object()).count(), 2, "{:?}", tree.compilations);
        assert!(tree.compilations.iter().any(|c| c.args.contains(&"-s".to_owned())), "the log has the project's own words");
    }
    let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["Makefile", "main.c", "twice.c"]);
}

#[test]
fn a_compiler_that_is_given_stands_in_for_the_projects_own() {
    let dir = project(&[("Makefile", MAKEFILE), ("main.c", MAIN), ("twice.c", TWICE)]);
    let tree = built(dir.path(), None, OptLevel::O1, CompilerChoice::Given(find_compiler("clang-16").unwrap())).unwrap();
    let said = producers(&tree.root().join("prog"));
    assert_eq!(said.matches("clang version 16").count(), 2, "{said}");
}

#[test]
fn debug_information_names_the_projects_files_and_not_those_of_the_copy() {
    let dir = project(&[("main.c", "int main(void) { return 0; }\n")]);
    let tree = built(dir.path(), Some("cc \"$PWD/main.c\" -o prog"), OptLevel::O2, CompilerChoice::Own).unwrap();
    let output = std::process::Command::new("readelf").args(["--debug-dump=info"]).arg(tree.root().join("prog")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let real = std::fs::canonicalize(dir.path()).unwrap();
    assert!(text.contains(&format!("{}/main.c", real.display())) && !text.contains("trueline-"), "{text}");
}

#[test]
fn a_cargo_project_gets_its_level_from_the_profile() {
    let manifest = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let dir = project(&[("Cargo.toml", manifest), ("src/main.rs", "fn main() { println!(\"{}\", std::env::args().count()); }\n")]);
    let run = RunCommand::parse("./target/debug/tiny").unwrap();
    let size =
        |level| std::fs::metadata(run.program_in(&built(dir.path(), None, level, CompilerChoice::Own).unwrap()).unwrap()).unwrap().len();
    assert_ne!(size(OptLevel::O0), size(OptLevel::O3));
    // rustc that is given compiles, and does not stand in for the C compiler that links.
    let given = CompilerChoice::Given(find_compiler("rustc").unwrap());
    let tree = built(dir.path(), None, OptLevel::O0, given).unwrap();
    assert!(run.program_in(&tree).is_ok());
    assert_eq!(tree.compiler_name().as_deref(), Some("rustc"));
    assert!(!dir.path().join("target").exists());
}

#[test]
fn every_way_to_fail_says_which_step_it_was_and_what_to_do() {
    let dir = project(&[("main.c", MAIN), ("run.sh", "#!/bin/sh\n"), ("twice.c", TWICE)]);
    let said = |command: Option<&str>| built(dir.path(), command, OptLevel::O2, CompilerChoice::Own).unwrap_err().to_string();
    assert!(said(None).contains("--build"), "{}", said(None));
    let failed = said(Some("echo no such library; exit 3"));
    assert!(failed.contains("exit code 3") && failed.contains("no such library"), "{failed}");
    assert!(said(Some("true")).contains("make clean all"), "{}", said(Some("true")));
    assert!(said(Some("/usr/bin/gcc main.c twice.c -o prog")).contains("full path"));
    let tree = built(dir.path(), Some("cc main.c twice.c -o prog"), OptLevel::O2, CompilerChoice::Own).unwrap();
    let refused = |text: &str| RunCommand::parse(text).unwrap().program_in(&tree).unwrap_err().to_string();
    assert!(refused("./nothing").contains("./prog"), "{}", refused("./nothing"));
    assert!(refused("./run.sh").contains("script"), "{}", refused("./run.sh"));
}

const ARCHIVE: &str = "prog: main.o lib.a\n\t$(CC) -o $@ main.o lib.a\nlib.a: sub/twice.o\n\tar rcs $@ $^\nmain.o: main.c\n\t$(CC) -c main.c\nsub/twice.o: sub/twice.c\n\tcd sub && $(CC) -O3 -MD -MF twice.d -c -o twice.o twice.c\n";

fn request(dir: &Path, level: OptLevel) -> BuildRequest<'_> {
    let choice = CompilerChoice::Given(find_compiler("gcc-12").unwrap());
    BuildRequest { project: dir, command: None, level, flags: &[], choice, limits: Limits { memory: None, ..Limits::seconds(120) } }
}

/// What a mixture of a project with an archive must be, however it is made.
fn assert_mixes(makefile: &str, mixing: Mixing) {
    let dir = project(&[("Makefile", makefile), ("main.c", MAIN), ("sub/twice.c", TWICE)]);
    let (reference, optimized) = (build(&request(dir.path(), OptLevel::O0)).unwrap(), build(&request(dir.path(), OptLevel::O2)).unwrap());
    let run = RunCommand::parse("./prog").unwrap();
    let mixer = MixtureMaker::new(request(dir.path(), OptLevel::O2), &reference, &optimized, &run).unwrap();
    assert_eq!(mixer.mixing(), mixing);
    let objects = mixer.objects();
    assert_eq!(objects.iter().map(ToString::to_string).collect::<Vec<_>>(), ["main.o", "sub/twice.o"]);
    assert_eq!(optimized.source_of(&objects[1]), Some("twice.c"));
    let said = producers(&mixer.link(&objects[1..]).unwrap().program);
    assert!(said.matches("-O0").count() == 1 && said.matches("-O2").count() == 1, "{said}");
    let anew = mixer.compile(&objects[0], &["-fno-tree-ccp".to_owned()]).unwrap();
    let said = producers(&mixer.link_with(&objects[0], &anew).unwrap().program);
    assert!(said.contains("-fno-tree-ccp") && said.matches("-O0").count() == 1, "{said}");
    let said = producers(&mixer.link(&objects[..1]).unwrap().program);
    assert!(!said.contains("-fno-tree-ccp") && said.matches("-O2").count() == 1, "the object compiled anew is gone: {said}");
}

#[test]
fn a_mixture_takes_each_object_from_one_of_two_builds_and_compiles_none() {
    assert_mixes(ARCHIVE, Mixing::Replay);
}

#[test]
fn where_a_build_does_more_than_its_compilers_show_the_build_command_mixes() {
    let adds = "$(CC) -o $@ main.o lib.a && objcopy --add-section .note.more=Makefile $@";
    assert_mixes(&ARCHIVE.replace("$(CC) -o $@ main.o lib.a", adds), Mixing::BuildCommand);
}

#[test]
fn the_guilty_one_of_forty_units_is_found_in_fourteen_links() {
    let guilty = 23;
    let mut files =
        vec![("Makefile".to_owned(), "prog: $(patsubst %.c,%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c $<\n".to_owned())];
    for unit in 0..40 {
        // Only an optimized compilation of the guilty unit makes the program fail.
        let value = if unit == guilty { "#ifdef __OPTIMIZE__\n  return 1;\n#endif\n  return 0;" } else { "  return 0;" };
        files.push((format!("u{unit}.c"), format!("int u{unit}(void) {{\n{value}\n}}\n")));
    }
    let calls: String = (0..40).map(|unit| format!(" + u{unit}()")).collect();
    let declared: String = (0..40).map(|unit| format!("int u{unit}(void);\n")).collect();
    files.push(("main.c".to_owned(), format!("{declared}int main(void) {{ return 0{calls}; }}\n")));
    let dir = project(&files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect::<Vec<_>>());
    let (reference, optimized) = (build(&request(dir.path(), OptLevel::O0)).unwrap(), build(&request(dir.path(), OptLevel::O2)).unwrap());
    for tree in [&reference, &optimized] {
        assert_eq!(tree.compilations.iter().filter(|c| c.makes_object()).count(), 41, "each unit once per level");
    }
    let run = RunCommand::parse("./prog").unwrap();
    let mixer = MixtureMaker::new(request(dir.path(), OptLevel::O2), &reference, &optimized, &run).unwrap();
    assert_eq!(mixer.mixing(), Mixing::Replay);
    let mut shows = |objects: &[_]| {
        let program = mixer.link(objects)?.program;
        Ok::<bool, ProjectError>(!std::process::Command::new(program).status().unwrap().success())
    };
    let found = find_guilty(&mixer.linked_objects(), &mut shows).unwrap();
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [format!("u{guilty}.o")]);
    let links = mixer.links() + mixer.trials();
    assert!(links <= 14, "{links} links; 2 times the logarithm of 40, and 4, is 14.6");
}

const LIST: &str = "#ifndef LIST_H\n#define LIST_H\n#include <stddef.h>\nstruct list {\n  struct list *next;\n  int count;\n};\nstatic inline int length(const struct list *l) {\n  int n = 0;\n  for (; l != NULL; l = l->next)\n    n += l->count;\n  return n;\n}\nint total(const struct list *l);\n#endif\n";
const TOTAL: &str = "#include \"list.h\"\n#define STEP 2\nstruct state {\n  int x;\n};\nstatic int count;\nstatic int helper(int x) { return x * STEP; }\nint total(const struct list *l) {\n  struct state s = {length(l)};\n  count += l->count;\n  return helper(s.x) + count;\n}\n";
const COUNTING: &str = "#include <stdio.h>\n#include \"list.h\"\n#define STEP 5\nstruct state {\n  char letter;\n};\nstatic int count = STEP;\nstatic int helper(int x) { return x + count; }\nint main(int argc, char **argv) {\n  struct state s = {argv[argc - 1][0]};\n  struct list last = {NULL, 3}, first = {&last, 4};\n  printf(\"%d %d %c\\n\", total(&first), helper(argc), s.letter);\n  return 0;\n}\n";

#[test]
fn the_units_of_a_program_become_one_file_that_does_the_same() {
    let makefile = "prog: main.o total.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -c $<\n";
    let dir = project(&[("Makefile", makefile), ("main.c", COUNTING), ("total.c", TOTAL), ("list.h", LIST)]);
    for (name, plain) in [("gcc-12", "optimize(\"O0\")"), ("clang-16", "clang optimize off")] {
        let compiler = find_compiler(name).unwrap();
        let request = |level| BuildRequest { choice: CompilerChoice::Given(compiler.clone()), ..request(dir.path(), level) };
        let (reference, optimized) = (build(&request(OptLevel::O0)).unwrap(), build(&request(OptLevel::O2)).unwrap());
        let run = RunCommand::parse("./prog -q 'x y'").unwrap();
        let mixer = MixtureMaker::new(request(OptLevel::O2), &reference, &optimized, &run).unwrap();
        let guilty = mixer.objects().into_iter().filter(|o| o.to_string() == "total.o").collect::<Vec<_>>();
        for rest in [Rest::Optimized, Rest::Plain] {
            let merged = merge(&mixer, &guilty, rest, &compiler).unwrap();
            let source = &merged.program.source;
            assert_eq!(
                (merged.units, source.matches("int length(").count(), source.matches(plain).count()),
                (2, 1, usize::from(rest == Rest::Plain)),
                "{source}"
            );
            let file = dir.path().join(&merged.program.name);
            std::fs::write(&file, source).unwrap();
            let binary = dir.path().join("merged");
            let built = std::process::Command::new(name).arg(&file).arg("-o").arg(&binary).status().unwrap();
            assert!(built.success(), "{source}");
            let said = |program: &Path, args: &[&str]| std::process::Command::new(program).args(args).output().unwrap().stdout;
            let expected = said(&reference.root().join("prog"), &["-q", "x y"]);
            assert_eq!(String::from_utf8_lossy(&said(&binary, &[])), String::from_utf8_lossy(&expected), "{source}");
        }
    }
}
