//! gcc without its driver. The driver does nothing for a compilation but run `cc1`, then `as`; run here, both can stay
//! (`resident`). The two commands are asked for once per compiler and set of flags (`-###`) and used from then on; the
//! object is the same, byte for byte.
//!
//! Absent on purpose: clang, whose driver compiles in its own process; telling what went wrong. A part that fails hands the
//! compilation to the driver, which says it in its own words.

use crate::compile::CompileRequest;
use crate::link::{is_driver, names_files_or_phases};
use crate::recipes::Recipes;
use crate::tool::{Compiler, Launcher};
use crate::{DebugInfo, Exit, Job, JobError, Limits, Outcome};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueline_model::{CompilerKind, Language};

/// What the commands depend on besides the names of the files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ObjectKey {
    compiler: PathBuf,
    flags: Vec<String>,
    extension: OsString,
}

/// What is known of a key; `None` where the driver has to do it.
static RECIPES: Recipes<ObjectKey, ObjectRecipe> = Recipes::new();

/// How a driver makes an object.
#[derive(Debug, PartialEq, Eq)]
struct ObjectRecipe {
    compile: PartCommand,
    assemble: PartCommand,
}

#[derive(Debug, PartialEq, Eq)]
struct PartCommand {
    program: PathBuf,
    words: Vec<CommandWord>,
}

#[derive(Debug, PartialEq, Eq)]
enum CommandWord {
    Plain(String),
    Source,
    Assembly,
    Object,
    /// The directory of the object, with a slash behind.
    Directory,
    /// The object's name with the source's extension.
    Base,
}

/// The files of one compilation.
struct CompilationFiles<'a> {
    source: &'a Path,
    assembly: &'a Path,
    object: &'a Path,
}

/// Makes the object that a request with `-c` asks for; `None` when that is the driver's to do, or to explain.
pub(crate) fn compile(compiler: &Compiler, request: &CompileRequest) -> Result<Option<Outcome>, JobError> {
    let Some(recipe) = recipe(compiler, request) else { return Ok(None) };
    let mut name = request.output.clone().into_os_string();
    name.push(".s");
    let assembly = PathBuf::from(name);
    let files = CompilationFiles { source: &request.source, assembly: &assembly, object: &request.output };
    let done = recipe.run(&files, &request.limits);
    // Nobody needs it any more; a directory that is removed later takes it along if this fails.
    let _ = std::fs::remove_file(&assembly);
    done
}

fn recipe(compiler: &Compiler, request: &CompileRequest) -> Option<Arc<ObjectRecipe>> {
    let objects = request.flags.iter().filter(|flag| *flag == "-c").count();
    let others = request.flags.iter().filter(|flag| *flag != "-c");
    let is_plain = compiler.id.kind == CompilerKind::Gcc && compiler.launcher == Launcher::default() && request.language != Language::Rust;
    if !is_plain || objects != 1 || !request.output.is_absolute() || others.into_iter().any(|flag| names_files_or_phases(flag)) {
        return None;
    }
    let mut flags = vec![request.opt.flag().to_owned()];
    flags.extend((request.debug == DebugInfo::Full).then(|| "-g".to_owned()));
    flags.extend(request.flags.iter().cloned());
    let key = ObjectKey { compiler: compiler.id.path.clone(), flags, extension: request.source.extension()?.to_owned() };
    if let Some(known) = RECIPES.known(&key) {
        return known.recipe();
    }
    if !is_driver(&compiler.id.path) {
        return None;
    }
    // A driver that could not be asked is asked again for the next program.
    let asked = compiler.compile_job(request).ok()?.arg("-###").run().ok()?;
    let learned = ObjectRecipe::read(&asked.stderr_text(), request).filter(|_| asked.success());
    RECIPES.keep(key, learned)
}

impl ObjectRecipe {
    /// Reads what a driver prints for `-###`: two lines that are commands, every word of which is understood.
    fn read(printed: &str, request: &CompileRequest) -> Option<Self> {
        let mut lines = printed.lines().filter(|line| line.starts_with(' '));
        let (compile, assemble) = (lines.next()?, lines.next()?);
        if lines.next().is_some() {
            return None;
        }
        let (compile, assemble) = (shlex::split(compile)?, shlex::split(assemble)?);
        let assembly = PathBuf::from(compile.last().filter(|_| compile.iter().rev().nth(1).is_some_and(|word| word == "-o"))?);
        let files = CompilationFiles { source: &request.source, assembly: &assembly, object: &request.output };
        let (compile, assemble) = (PartCommand::read(compile, &files)?, PartCommand::read(assemble, &files)?);
        let is_compiler = compile.program.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"cc1"));
        let is_whole = compile.counts() == [1, 1, 0] && assemble.counts() == [0, 1, 1];
        (is_compiler && is_whole).then_some(Self { compile, assemble })
    }

    fn run(&self, files: &CompilationFiles<'_>, limits: &Limits) -> Result<Option<Outcome>, JobError> {
        let mut compiled = self.compile.job(files, limits).run()?;
        if compiled.exit == Exit::TimedOut || compiled.exit == Exit::Signal(libc::SIGXCPU) {
            return Ok(Some(compiled));
        }
        if !compiled.success() {
            return Ok(None);
        }
        let assembled = self.assemble.job(files, limits).run()?;
        compiled.cpu += assembled.cpu;
        compiled.wall += assembled.wall;
        compiled.max_rss = compiled.max_rss.max(assembled.max_rss);
        compiled.stdout.extend(assembled.stdout.iter());
        compiled.stderr.extend(assembled.stderr.iter());
        Ok(assembled.success().then_some(compiled))
    }
}

impl PartCommand {
    fn read(all: Vec<String>, files: &CompilationFiles<'_>) -> Option<Self> {
        let mut all = all.into_iter();
        let program = PathBuf::from(all.next()?);
        let (directory, base) = (files.directory()?, files.base()?);
        // Of files that are named after the object nothing is known.
        let stem = files.object.with_extension("").to_str()?.to_owned();
        let mut words = Vec::new();
        while let Some(text) = all.next() {
            match text.as_str() {
                "-dumpdir" if all.next()? == directory => words.extend([CommandWord::Plain(text), CommandWord::Directory]),
                "-dumpbase" if all.next()? == base => words.extend([CommandWord::Plain(text), CommandWord::Base]),
                "-dumpdir" | "-dumpbase" => return None,
                path if Path::new(path) == files.source => words.push(CommandWord::Source),
                path if Path::new(path) == files.assembly => words.push(CommandWord::Assembly),
                path if Path::new(path) == files.object => words.push(CommandWord::Object),
                path if path.contains(&stem) => return None,
                _ => words.push(CommandWord::Plain(text)),
            }
        }
        Some(Self { program, words })
    }

    /// How often source, assembly and object are named.
    fn counts(&self) -> [usize; 3] {
        [CommandWord::Source, CommandWord::Assembly, CommandWord::Object]
            .map(|wanted| self.words.iter().filter(|word| **word == wanted).count())
    }

    fn job(&self, files: &CompilationFiles<'_>, limits: &Limits) -> Job {
        let start = Job::new(&self.program).limits(limits.clone()).kept();
        let job = self.words.iter().fold(start, |job, word| match word {
            CommandWord::Plain(text) => job.arg(text),
            CommandWord::Source => job.arg(files.source),
            CommandWord::Assembly => job.arg(files.assembly),
            CommandWord::Object => job.arg(files.object),
            CommandWord::Directory => job.arg(files.directory().unwrap_or_default()),
            CommandWord::Base => job.arg(files.base().unwrap_or_default()),
        });
        match files.object.parent() {
            Some(dir) => job.env("TMPDIR", dir),
            None => job,
        }
    }
}

impl CompilationFiles<'_> {
    fn directory(&self) -> Option<String> {
        Some(format!("{}/", self.object.parent()?.to_str()?.trim_end_matches('/')))
    }

    fn base(&self) -> Option<String> {
        let [stem, extension]: [&OsStr; 2] = [self.object.file_stem()?, self.source.extension()?];
        Some(format!("{}.{}", stem.to_str()?, extension.to_str()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::OptLevel;

    fn request() -> CompileRequest {
        CompileRequest::new("/s/a.c", Language::C, OptLevel::O2, "/o/x.bin.o").flags(["-c"])
    }

    #[test]
    fn two_commands_that_name_the_files_once_are_a_recipe_for_other_files() {
        let printed = "Target: x\n /l/cc1 -quiet /s/a.c -dumpdir /o/ -dumpbase x.bin.c -dumpbase-ext .c \"-march=x\" -o /tmp/cc1.s\nX=\n as -W -o /o/x.bin.o /tmp/cc1.s\nY=\n";
        let recipe = ObjectRecipe::read(printed, &request()).unwrap();
        let [source, assembly, object] = ["/t/b.c", "/p/y.o.s", "/p/y.o"].map(Path::new);
        let files = CompilationFiles { source, assembly, object };
        let line = |command: &PartCommand| command.job(&files, &Limits::default()).command_line();
        let expected = "/l/cc1 -quiet /t/b.c -dumpdir /p/ -dumpbase y.c -dumpbase-ext .c -march=x -o /p/y.o.s";
        assert_eq!((line(&recipe.compile).as_str(), line(&recipe.assemble).as_str()), (expected, "as -W -o /p/y.o /p/y.o.s"));
    }

    #[test]
    fn what_is_not_understood_is_no_recipe() {
        let read = |first: &str, second: &str| ObjectRecipe::read(&format!(" {first}\n {second}\n"), &request());
        let good = ("cc1 /s/a.c -o /tmp/1.s", "as -o /o/x.bin.o /tmp/1.s");
        assert!(read(good.0, good.1).is_some());
        assert!(read(&format!("{}\n ld", good.0), good.1).is_none(), "three commands");
        assert!(read("cc1 /s/a.c -MD /o/x.bin.d -o /tmp/1.s", good.1).is_none(), "a file named after the object");
        assert!(read("cc1 /s/a.c -dumpbase else.c -o /tmp/1.s", good.1).is_none(), "another base");
        assert!(read("cc1 /s/a.c /s/a.c -o /tmp/1.s", good.1).is_none(), "two sources");
        assert!(read("clang /s/a.c -o /tmp/1.s", good.1).is_none(), "another compiler");
        assert!(read(good.0, "as -o /o/x.bin.o /tmp/2.s").is_none(), "another file");
    }
}
