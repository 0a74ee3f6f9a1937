//! Real projects of a few files, built by make, CMake and Cargo with wrapped compilers.

use std::path::Path;
use trueline_model::OptLevel;
use trueline_project::{BuildRequest, BuiltTree, Choice, Mixer, ProjectError, RunCommand, build};
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

fn built(dir: &Path, command: Option<&str>, level: OptLevel, choice: Choice) -> Result<BuiltTree, ProjectError> {
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
        let tree = built(dir.path(), None, level, Choice::Own).unwrap();
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
    let tree = built(dir.path(), None, OptLevel::O1, Choice::Given(find_compiler("clang-16").unwrap())).unwrap();
    let said = producers(&tree.root().join("prog"));
    assert_eq!(said.matches("clang version 16").count(), 2, "{said}");
}

#[test]
fn debug_information_names_the_projects_files_and_not_those_of_the_copy() {
    let dir = project(&[("main.c", "int main(void) { return 0; }\n")]);
    let tree = built(dir.path(), Some("cc \"$PWD/main.c\" -o prog"), OptLevel::O2, Choice::Own).unwrap();
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
    let size = |level| std::fs::metadata(run.program_in(&built(dir.path(), None, level, Choice::Own).unwrap()).unwrap()).unwrap().len();
    assert_ne!(size(OptLevel::O0), size(OptLevel::O3));
    assert!(!dir.path().join("target").exists());
}

#[test]
fn every_way_to_fail_says_which_step_it_was_and_what_to_do() {
    let dir = project(&[("main.c", MAIN), ("run.sh", "#!/bin/sh\n"), ("twice.c", TWICE)]);
    let said = |command: Option<&str>| built(dir.path(), command, OptLevel::O2, Choice::Own).unwrap_err().to_string();
    assert!(said(None).contains("--build"), "{}", said(None));
    let failed = said(Some("echo no such library; exit 3"));
    assert!(failed.contains("exit code 3") && failed.contains("no such library"), "{failed}");
    assert!(said(Some("true")).contains("make clean all"), "{}", said(Some("true")));
    assert!(said(Some("/usr/bin/gcc main.c twice.c -o prog")).contains("full path"));
    let tree = built(dir.path(), Some("cc main.c twice.c -o prog"), OptLevel::O2, Choice::Own).unwrap();
    let refused = |text: &str| RunCommand::parse(text).unwrap().program_in(&tree).unwrap_err().to_string();
    assert!(refused("./nothing").contains("./prog"), "{}", refused("./nothing"));
    assert!(refused("./run.sh").contains("script"), "{}", refused("./run.sh"));
}

#[test]
fn a_mixture_takes_each_object_from_one_of_two_builds_and_compiles_none() {
    let archive = "prog: main.o lib.a\n\t$(CC) -o $@ main.o lib.a\nlib.a: sub/twice.o\n\tar rcs $@ $^\nmain.o: main.c\n\t$(CC) -c main.c\nsub/twice.o: sub/twice.c\n\tcd sub && $(CC) -O3 -MD -MF twice.d -c -o twice.o twice.c\n";
    let dir = project(&[("Makefile", archive), ("main.c", MAIN), ("sub/twice.c", TWICE)]);
    let request = |level| BuildRequest {
        project: dir.path(),
        command: None,
        level,
        flags: &[],
        choice: Choice::Given(find_compiler("gcc-12").unwrap()),
        limits: Limits { memory: None, ..Limits::seconds(120) },
    };
    let (reference, optimized) = (build(&request(OptLevel::O0)).unwrap(), build(&request(OptLevel::O2)).unwrap());
    let mixer = Mixer { request: request(OptLevel::O2), reference: &reference, optimized: &optimized };
    let objects = mixer.objects();
    assert_eq!(objects.iter().map(ToString::to_string).collect::<Vec<_>>(), ["main.o", "sub/twice.o"]);
    assert_eq!(optimized.source_of(&objects[1]), Some("twice.c"));
    let mixed = mixer.link(&objects[1..]).unwrap();
    let said = producers(&mixed.root().join("prog"));
    assert!(said.matches("-O0").count() == 1 && said.matches("-O2").count() == 1, "{said}");
    let anew = mixer.compile(&objects[0], &["-fno-tree-ccp".to_owned()]).unwrap();
    let said = producers(&anew.root().join("prog"));
    assert!(said.contains("-fno-tree-ccp") && said.matches("-O0").count() == 1, "{said}");
}
