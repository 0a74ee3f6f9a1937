//! Linking without the driver. A driver does nothing for a link but put one command together, and a clang that starts
//! only for this costs a quarter of compiling a small program. So the command is asked for once per compiler and set of
//! flags (`-###`) and the linker run with it from then on. It gets as much of the C library as the program calls (`slim`);
//! what comes out is the same file but for the order of the names in `.dynstr`.
//!
//! Absent on purpose: link-time optimization, wrappers around a compiler (a script may do as it likes with a link; those of
//! private roots are known), and flags that name files after the output. All these link through their driver.

use crate::compile::CompileRequest;
use crate::recipes::{Recipes, WorkWay};
use crate::script::Script;
use crate::slim::{SlimLibrary, Surroundings};
use crate::tool::{Compiler, Launcher};
use crate::{Job, JobError, Limits, Outcome};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueline_model::CompilerKind;

/// A compiler and all of its flags: drivers add objects for some of them (`-Ofast` brings `crtfastmath.o`).
type Key = (PathBuf, Vec<String>);

/// What is known of a key; `None` where the driver has to link.
static RECIPES: Recipes<Key, LinkRecipe> = Recipes::new();

/// How a driver links one object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LinkRecipe {
    linker: PathBuf,
    words: Vec<LinkWord>,
    /// What the linker gets besides the object, where a reduced C library would do.
    surroundings: Option<Surroundings>,
}

#[derive(Debug, PartialEq, Eq)]
enum LinkWord {
    Plain(String),
    Object,
    Output,
}

/// Whether the linker can be run directly, as far as it is known before a first link.
pub(crate) fn is_direct(compiler: &Compiler, request: &CompileRequest) -> bool {
    matches!(compiler.id.kind, CompilerKind::Gcc | CompilerKind::Clang)
        && compiler.launcher == Launcher::default()
        && !request.flags.iter().any(|flag| names_files_or_phases(flag))
        && known(&key(compiler, request)).unwrap_or_else(|| is_driver(&compiler.id.path))
}

/// The linker's recipe, learned from the driver with an object that is there; `None` when its answer is not understood.
pub(crate) fn recipe(compiler: &Compiler, request: &CompileRequest, object: &Path) -> Option<Arc<LinkRecipe>> {
    let key = key(compiler, request);
    if let Some(known) = RECIPES.known(&key) {
        return known.recipe();
    }
    // A driver that could not be asked is asked again for the next program.
    let learned = learn(compiler, &key.1, object, &request.output).ok()?;
    RECIPES.keep(key, learned)
}

impl LinkRecipe {
    /// The linker at work.
    pub(crate) fn run(&self, object: &Path, output: &Path, limits: &Limits) -> Result<Outcome, JobError> {
        if let Some(surroundings) = &self.surroundings
            && let Some(library) =
                surroundings.library_for(&self.linker, object, |output, library| self.job(object, output, limits, library))
        {
            let outcome = self.job(object, output, limits, Some(&library)).run()?;
            if outcome.success() {
                return Ok(outcome);
            }
        }
        self.job(object, output, limits, None).run()
    }

    fn job(&self, object: &Path, output: &Path, limits: &Limits, library: Option<&SlimLibrary>) -> Job {
        let start = Job::new(&self.linker).limits(limits.clone()).kept();
        let start = library.into_iter().filter_map(SlimLibrary::flags).fold(start, Job::arg);
        self.words.iter().fold(start, |job, word| match word {
            LinkWord::Plain(text) if text == "-lc" && library.is_some() => job.args(library.map(SlimLibrary::path)),
            LinkWord::Plain(text) => job.arg(text),
            LinkWord::Object => job.arg(object),
            LinkWord::Output => job.arg(output),
        })
    }

    /// Reads what a driver prints for `-###`: the last line that is a command.
    fn read(printed: &str, object: &Path, output: &Path) -> Option<Self> {
        let line = printed.lines().rfind(|line| line.starts_with(' '))?;
        let mut all = shlex::split(line)?.into_iter();
        let linker = PathBuf::from(all.next()?);
        let mut words = Vec::new();
        while let Some(word) = all.next() {
            match word.as_str() {
                // The plugin is for objects of link-time optimization, and this is none.
                "-plugin" => drop(all.next()?),
                text if text.starts_with("-plugin-opt=") => {}
                text if Path::new(text) == object => words.push(LinkWord::Object),
                text if Path::new(text) == output => words.push(LinkWord::Output),
                _ => words.push(LinkWord::Plain(word)),
            }
        }
        let count = |wanted: &LinkWord| words.iter().filter(|word| *word == wanted).count();
        (count(&LinkWord::Object) == 1 && count(&LinkWord::Output) == 1).then_some(Self { linker, words, surroundings: None })
    }
}

fn learn(compiler: &Compiler, flags: &[String], object: &Path, output: &Path) -> Result<Option<LinkRecipe>, JobError> {
    let asked = compiler.job().args(flags).arg("-###").arg(object).arg("-o").arg(output).run()?;
    let Some(mut recipe) = LinkRecipe::read(&asked.stderr_text(), object, output).filter(|_| asked.success()) else { return Ok(None) };
    if recipe.linker.file_name().is_some_and(|name| name == "collect2") {
        // collect2 looks for constructors where the linker cannot; ELF linkers can.
        let asked = compiler.job().arg("-print-prog-name=ld").run()?;
        let name = asked.stdout_text();
        if !asked.success() || name.trim().is_empty() {
            return Ok(None);
        }
        recipe.linker = PathBuf::from(name.trim());
    }
    let words = recipe.words.iter().map(|word| match word {
        LinkWord::Plain(text) => text.as_str(),
        // What is read of it is read for every object; the flag before the other takes a word.
        LinkWord::Object => "--as-needed",
        LinkWord::Output => "",
    });
    recipe.surroundings = Surroundings::read(words);
    Ok(Some(recipe))
}

fn key(compiler: &Compiler, request: &CompileRequest) -> Key {
    let mut flags = vec![request.opt.flag().to_owned()];
    let mut given = request.flags.iter();
    while let Some(flag) = given.next() {
        // A search for the guilty pass tries hundreds of these, and none is the linker's.
        match flag.as_str() {
            "-mllvm" => drop(given.next()),
            text if text.starts_with("-fdbg-cnt=") || text.starts_with("-fdisable-") => {}
            _ => flags.push(flag.clone()),
        }
    }
    (compiler.id.path.clone(), flags)
}

fn known(key: &Key) -> Option<bool> {
    RECIPES.known(key).map(|way| matches!(way, WorkWay::Direct(_)))
}

/// Flags that end before the link, add inputs to compile, or write files named after the output.
pub(crate) fn names_files_or_phases(flag: &str) -> bool {
    const WHOLE: [&str; 9] = ["-c", "-S", "-E", "-r", "-x", "-o", "-###", "-v", "--coverage"];
    const STARTS: [&str; 6] = ["-flto", "-fdump", "-d", "-fprofile", "-save-temps", "-gsplit-dwarf"];
    const ENDS: [&str; 9] = [".c", ".i", ".s", ".S", ".cc", ".cpp", ".cxx", ".C", ".ii"];
    WHOLE.contains(&flag) || STARTS.iter().any(|s| flag.starts_with(s)) || ENDS.iter().any(|e| flag.ends_with(e))
}

/// Whether a compiler's file is a driver, and not a script of somebody's.
pub(crate) fn is_driver(path: &Path) -> bool {
    let mut magic = [0; 4];
    let is_elf = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF";
    is_elf || Script::at(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slim::is_same_program;
    use crate::{Scratch, find_compiler};
    use trueline_model::{Language, OptLevel};

    /// Whether an object is linked with a reduced C library.
    fn is_slim(compiler: &Compiler, request: &CompileRequest) -> bool {
        let object = request.output.with_extension("o");
        let half = CompileRequest { output: object.clone(), ..request.clone() }.flags(["-c"]);
        compiler.compile(&half).unwrap();
        let recipe = recipe(compiler, request, &object).unwrap();
        let link = |output: &Path, library: Option<&SlimLibrary>| recipe.job(&object, output, &Limits::default(), library);
        let is_slim = recipe.surroundings.as_ref().is_some_and(|s| s.library_for(&recipe.linker, &object, link).is_some());
        std::fs::remove_file(object).unwrap();
        is_slim
    }

    const PROGRAM: &str = "#include <stdio.h>\nint main(int argc, char **argv) { return printf(\"%d\\n\", argc); }\n";

    #[test]
    fn what_the_linker_makes_is_what_the_driver_makes_but_for_the_order_of_names() {
        for name in ["gcc-12", "clang-16", "gcc", "clang"] {
            let Ok(compiler) = find_compiler(name) else {
                println!("skipped: no {name}");
                continue;
            };
            for (opt, flags) in [(OptLevel::O0, vec![]), (OptLevel::O2, vec!["-no-pie", "-Wl,-z,now"]), (OptLevel::Ofast, vec!["-pthread"])]
            {
                let scratch = Scratch::new().unwrap();
                let source = scratch.write("a.c", PROGRAM).unwrap();
                let request = CompileRequest::new(source, Language::C, opt, scratch.join("a")).flags(flags.clone());
                assert!(is_direct(&compiler, &request), "{name}");
                let build = compiler.compile(&request).unwrap();
                assert!(known(&key(&compiler, &request)).unwrap(), "{name} links through its driver");
                let direct = std::fs::read(&build.binary).unwrap();
                assert!(compiler.compile_job(&request).unwrap().run().unwrap().success());
                let driven = std::fs::read(&build.binary).unwrap();
                assert!(is_same_program(&direct, &driven), "{name} {opt}");
                assert!(is_slim(&compiler, &request) || !flags.is_empty(), "{name} {opt}");
                let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
                assert_eq!(left.len(), 2, "{left:?}");
            }
        }
    }

    #[test]
    fn an_error_of_the_link_is_told_in_the_drivers_words() {
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("a.c", "int nowhere(void); int main(void) { return nowhere(); }\n").unwrap();
        let request = CompileRequest::new(source, Language::C, OptLevel::O1, scratch.join("a"));
        let error = find_compiler("gcc").unwrap().compile(&request).unwrap_err().to_string();
        assert!(error.contains("undefined reference to `nowhere'") && error.contains("collect2"), "{error}");
    }

    #[test]
    fn scripts_and_flags_that_name_files_link_through_the_driver() {
        let gcc = find_compiler("gcc").unwrap();
        let request = |flags: &[&str]| CompileRequest::new("a.c", Language::C, OptLevel::O3, "a").flags(flags.to_vec());
        for flags in [&["-flto"][..], &["-c"], &["b.c"], &["-fdump-tree-all"]] {
            assert!(!is_direct(&gcc, &request(flags)), "{flags:?}");
        }
        let scratch = Scratch::new().unwrap();
        let mut script = gcc.clone();
        script.id.path = scratch.write("cc", "#!/bin/sh\nexec gcc \"$@\"\n").unwrap();
        assert!(!is_direct(&script, &request(&[])));
    }

    #[test]
    fn a_command_that_is_not_understood_is_no_recipe() {
        let read = |text| LinkRecipe::read(text, Path::new("a.o"), Path::new("a"));
        assert!(read("").is_none());
        assert!(read(" ld -o a b.o").is_none());
        assert!(read(" ld 'unbalanced -o a a.o").is_none());
        let recipe = read("version\n /x/collect2 -plugin p \"-plugin-opt=q\" -o a crt1.o a.o -lc\nCOLLECT_GCC=…").unwrap();
        let plain = |text: &str| LinkWord::Plain(text.to_owned());
        assert_eq!(recipe.words, [plain("-o"), LinkWord::Output, plain("crt1.o"), LinkWord::Object, plain("-lc")]);
    }
}
