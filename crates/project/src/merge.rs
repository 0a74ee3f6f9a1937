//! The units of a program as one file, so that a fault of a project can be looked at and reduced as that of one program.
//!
//! The project's headers are in it once, headers of others are included, and names that several units have for themselves
//! get numbers. The compiler says whether that went well. The arguments of the run become part of `main`.

use crate::calls::ObjectPath;
use crate::names::{Defined, declares, defined_in, has_word, renamed};
use crate::shims::{CompilerShims, MakingCall};
use crate::unit::{Chunk, UnitText, read_unit};
use crate::{MixtureMaker, ProjectError};
use std::collections::BTreeSet;
use std::path::Path;
use trueline_model::{CompilerKind, Language, Program};
use trueline_toolchain::{Compiler, Limits, Scratch};

/// How the units that are not guilty are compiled in the one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// As the guilty one.
    Optimized,
    /// Without optimization, by a pragma.
    Plain,
}

/// A program's units as one file.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The file that all sources were merged into.
    pub program: Program,
    /// How many units it has.
    pub units: usize,
}

/// Puts the units of the mixer's program into one file. `guilty` are the objects that must be optimized.
pub fn merge(mixer: &MixtureMaker<'_>, guilty: &[ObjectPath], rest: Rest, compiler: &Compiler) -> Result<Merged, ProjectError> {
    let refused = |reason: String| ProjectError::NotMerged { command: mixer.run().text.clone(), reason };
    let optimized = mixer.optimized();
    let objects = mixer.linked_objects();
    let scratch = Scratch::new().map_err(ProjectError::io("cannot make a scratch directory"))?;
    let root = optimized.root();
    let shims = CompilerShims::write(&scratch.join("compilers"), mixer.request(), (root, root), MakingCall::Compile)?;
    let (mut units, mut flags, mut language) = (Vec::new(), Vec::new(), Language::C);
    for object in &objects {
        let call = optimized.call_of(object).ok_or_else(|| ProjectError::Unknown { object: object.to_string() })?;
        let source = call.source().unwrap_or("?").to_owned();
        match Language::of_path(Path::new(&source)) {
            Some(Language::Cpp) => language = Language::Cpp,
            Some(Language::C) => {}
            _ => return Err(refused(format!("{source} is neither C nor C++"))),
        }
        for flag in kept_flags(&call.args, root, &call.directory) {
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        let text = read_unit(call, root, &shims, mixer.request())?;
        let defined = defined_in(&mixer.reference().root().join(&object.0));
        units.push(MergedUnit { text, defined, is_guilty: guilty.contains(object) });
    }
    if units.is_empty() {
        return Err(refused("no compilation of its units was seen".to_owned()));
    }
    let directives = directives(&units);
    let mut bodies = once(&mut units);
    separate(&units, &mut bodies);
    let compiler = compiler.driver(language).unwrap_or_else(|_| compiler.clone());
    let entry = entry(&mixer.run().args, &mixer.run().program.display().to_string(), &mut bodies);
    let name = format!("merged.{}", language.extension());
    let write = |bodies: &[Body]| {
        let mut source = directives.clone();
        for (unit, body) in units.iter().zip(bodies) {
            source.push_str(&fenced(&body.text, unit.is_guilty || rest == Rest::Optimized, compiler.id.kind));
        }
        source.push_str(&entry);
        Program {
            name: name.clone(),
            language,
            source,
            origin: trueline_model::Origin::File { path: name.clone().into() },
            cflags: flags.clone(),
        }
    };
    const MOST_REPAIRS: usize = 40;
    for _ in 0..MOST_REPAIRS {
        let program = write(&bodies);
        let Some(said) = refusal(&program, &compiler)? else { return Ok(Merged { program, units: units.len() }) };
        if !give_another_name(&said, &program.source, &mut bodies) {
            return Err(refused(said.lines().find(|l| l.contains("error")).unwrap_or(&said).to_owned()));
        }
    }
    Err(refused("too many names are used twice".to_owned()))
}

struct MergedUnit {
    text: UnitText,
    defined: Defined,
    is_guilty: bool,
}

/// What is left of a unit behind those before it.
struct Body {
    text: String,
    /// What an earlier unit has already.
    dropped: String,
}

/// Every directive of the units once, macros in front of headers.
fn directives(units: &[MergedUnit]) -> String {
    let mut seen = BTreeSet::new();
    let all = || units.iter().flat_map(|u| &u.text.directives);
    let ordered = all().filter(|d| d.starts_with("#define")).chain(all().filter(|d| !d.starts_with("#define")));
    ordered.filter(|d| seen.insert((*d).clone())).map(|d| format!("{d}\n")).collect()
}

/// The text of each unit without the parts of headers that an earlier one has, word for word.
fn once(units: &mut [MergedUnit]) -> Vec<Body> {
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    let mut bodies = Vec::new();
    for unit in units {
        let own = unit.text.chunks.last().map(|c| c.file.clone()).unwrap_or_default();
        let (mut text, mut dropped, mut here) = (String::new(), String::new(), Vec::new());
        for Chunk { file, text: part } in &unit.text.chunks {
            let key = (file.clone(), part.split_whitespace().collect::<Vec<_>>().join(" "));
            if *file != own && is_whole(part) && seen.contains(&key) {
                dropped.push_str(part);
            } else {
                text.push_str(&without_blank_lines(part));
                here.push(key);
            }
        }
        seen.extend(here);
        bodies.push(Body { text, dropped });
    }
    bodies
}

fn without_blank_lines(text: &str) -> String {
    text.lines().filter(|l| !l.trim().is_empty()).map(|l| format!("{l}\n")).collect()
}

/// Whether a text is a row of whole declarations: what a header puts in the middle of something is not.
fn is_whole(text: &str) -> bool {
    let count = |c: char| text.matches(c).count();
    count('{') == count('}') && count('(') == count(')') && text.trim_end().ends_with([';', '}'])
}

/// Numbers for the names that a unit has for itself and another one has too.
fn separate(units: &[MergedUnit], bodies: &mut [Body]) {
    for index in 1..units.len() {
        for name in &units[index].defined.local {
            let mut others = units.iter().enumerate().filter(|(other, _)| *other != index);
            let taken = |(other, unit): (usize, &MergedUnit)| {
                unit.defined.global.contains(name) || other < index && unit.defined.local.contains(name)
            };
            // A function of a header that is in the file once is one for all.
            if others.any(taken) && !declares(&bodies[index].dropped, name) {
                bodies[index].text = renamed(&bodies[index].text, name, &format!("{name}_{}", index + 1));
            }
        }
    }
    // The first unit's own names must give way to what others show to everybody.
    let Some(first) = units.first() else { return };
    for name in first.defined.local.iter().filter(|name| units[1..].iter().any(|u| u.defined.global.contains(*name))) {
        bodies[0].text = renamed(&bodies[0].text, name, &format!("{name}_1"));
    }
}

/// A `main` that hands the run's arguments to the program's own; nothing where there are none.
fn entry(args: &[String], program: &str, bodies: &mut [Body]) -> String {
    if args.is_empty() {
        return String::new();
    }
    for body in bodies.iter_mut() {
        body.text = renamed(&body.text, "main", "program_main");
    }
    let literal = |word: &str| format!("(char *)\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""));
    let words: Vec<String> = std::iter::once(program).chain(args.iter().map(String::as_str)).map(literal).collect();
    format!("int main(void) {{\n  char *words[] = {{{}, 0}};\n  program_main({}, words);\n  return 0;\n}}\n", words.join(", "), words.len())
}

/// A unit's text, told to be left alone by the optimizer where it must be.
fn fenced(text: &str, is_optimized: bool, kind: CompilerKind) -> String {
    match (is_optimized, kind) {
        (true, _) => text.to_owned(),
        (false, CompilerKind::Clang) => format!("#pragma clang optimize off\n{text}#pragma clang optimize on\n"),
        (false, _) => format!("#pragma GCC push_options\n#pragma GCC optimize(\"O0\")\n{text}#pragma GCC pop_options\n"),
    }
}

/// What a compiler says against a file; nothing when it takes it.
fn refusal(program: &Program, compiler: &Compiler) -> Result<Option<String>, ProjectError> {
    let scratch = Scratch::new().map_err(ProjectError::io("cannot make a scratch directory"))?;
    let file = scratch.write(&program.name, &program.source).map_err(ProjectError::io("cannot write the merged file"))?;
    let job = compiler.job().args(["-fsyntax-only", "-w"]).args(&program.cflags).arg(&file).limits(Limits::seconds(60));
    let started = |e: trueline_toolchain::JobError| ProjectError::NotStarted { level: "one file".to_owned(), reason: e.to_string() };
    let outcome = job.run().map_err(started)?;
    Ok((!outcome.success()).then(|| outcome.stderr_text().replace(&format!("{}/", scratch.path().display()), "")))
}

/// Gives a number to a name that a compiler finds twice, in the unit that has it again; false when it complains of something else.
fn give_another_name(said: &str, source: &str, bodies: &mut [Body]) -> bool {
    const TWICE: [&str; 6] =
        ["redefinition", "conflicting types", "conflicting declaration", "redeclaration", "redeclared", "different underlying type"];
    let Some(line) = said.lines().find(|l| l.contains("error:")) else { return false };
    let Some(name) = TWICE.iter().any(|t| line.contains(t)).then(|| quoted_name(line)).flatten() else { return false };
    let Some(number) = line.split(':').nth(1).and_then(|n| n.parse::<usize>().ok()) else { return false };
    let Some(text) = source.lines().nth(number.saturating_sub(1)) else { return false };
    // The last unit that has the line and the name: the first one keeps its names.
    let Some(index) = (1..bodies.len()).rev().find(|i| bodies[*i].text.lines().any(|l| l == text) && has_word(&bodies[*i].text, &name))
    else {
        return false;
    };
    bodies[index].text = renamed(&bodies[index].text, &name, &format!("{name}_{}", index + 1));
    true
}

/// The name that a compiler's message quotes first, without what stands around it.
fn quoted_name(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(['\'', '‘'])?;
    let (inside, _) = rest.split_once(['\'', '’'])?;
    let inside = inside.split(['(', ';', '{']).next().unwrap_or(inside);
    let name = inside.rsplit([' ', ':', '*', '&']).find(|w| !w.is_empty())?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then(|| name.to_owned())
}

/// The flags of a unit that the one file still needs: those of the language and the machine, and headers outside the tree.
fn kept_flags(args: &[String], root: &Path, directory: &Path) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = args.iter();
    let is_outside = |dir: &str| !directory.join(dir).starts_with(root);
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-I" | "-isystem") {
            kept.extend(words.next().filter(|dir| is_outside(dir)).map(|dir| format!("-I{dir}")));
        } else if let Some(dir) = word.strip_prefix("-I") {
            kept.extend(is_outside(dir).then(|| word.clone()));
        } else if is_about_language(word) || word.starts_with("-D_") && !word.starts_with("-D_FORTIFY_SOURCE") {
            kept.push(word.clone());
        }
    }
    kept
}

/// Flags that say what the language and the machine are.
fn is_about_language(flag: &str) -> bool {
    ["-std=", "-f", "-m", "-pthread"].iter().any(|p| flag.starts_with(p)) && !is_about_output(flag)
}

/// Flags with which one file says nothing more: reports, colours, places of files.
fn is_about_output(flag: &str) -> bool {
    ["-fdiagnostics", "-fmessage", "-fcolor", "-fmax-errors", "-ffile-prefix-map", "-fdebug-prefix-map", "-fPIC", "-fpic", "-fPIE", "-flto"]
        .iter()
        .any(|f| flag.starts_with(f))
}
