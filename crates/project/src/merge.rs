//! The units of a program as one file, so that a fault of a project can be looked at and reduced as that of one program.
//!
//! The project's headers are in it once, headers of others are included, and names that several units have for themselves
//! get numbers. The compiler says whether that went well. The arguments of the run become part of `main`.

use crate::calls::{ObjectPath, plain};
use crate::names::{Defined, declares, defined_in, has_word, renamed, token_length};
use crate::shims::{CompilerShims, MakingCall};
use crate::unit::{Chunk, UnitText, read_unit};
use crate::{MixtureMaker, ProjectError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
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
    flags.extend(libraries(mixer));
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
    let mut last = Vec::new();
    for _ in 0..MOST_REPAIRS {
        let program = write(&bodies);
        let Some(said) = refusal(&program, &compiler)? else { return Ok(Merged { program, units: units.len() }) };
        last = give_other_names(&said, &program.source, &units, &mut bodies);
        if last.is_empty() {
            return Err(refused(said.lines().find(|l| l.contains("error")).unwrap_or(&said).to_owned()));
        }
    }
    Err(refused(format!("names are used twice in too many ways, {} among them", last.join(", "))))
}

/// The libraries that the program is linked with. They stand in front of the file that needs them, which only a linker that
/// keeps what nothing has asked for yet takes.
fn libraries(mixer: &MixtureMaker<'_>) -> Vec<String> {
    let (optimized, program) = (mixer.optimized(), &mixer.run().program);
    let is_it = |linked: Option<PathBuf>| linked.is_some_and(|path| path == plain(program));
    let links = optimized.compilations.iter().filter(|call| is_it(call.linked(optimized.root())));
    let mut found: Vec<String> = Vec::new();
    for word in links.flat_map(|call| &call.args).filter(|word| word.starts_with("-l")) {
        if !found.contains(word) {
            found.push(word.clone());
        }
    }
    if !found.is_empty() {
        found.insert(0, "-Wl,--no-as-needed".to_owned());
    }
    found
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
            for piece in pieces(part) {
                let is_type = is_type(piece);
                // A type is one wherever it stands: a parser has in its own text what its header has.
                let place = if is_type { String::new() } else { file.clone() };
                let key = (place, piece.split_whitespace().collect::<Vec<_>>().join(" "));
                if (*file != own || is_type) && is_whole(piece) && seen.contains(&key) {
                    dropped.push_str(piece);
                } else {
                    text.push_str(&without_blank_lines(piece));
                    here.push(key);
                }
            }
        }
        seen.extend(here);
        bodies.push(Body { text, dropped });
    }
    bodies
}

/// A text in rows of lines that each end with a declaration. A header is compared in these, since what it includes in its middle
/// is there in one unit, and in another was included before.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut begin, mut at, mut depth) = (Vec::new(), 0, 0, 0_usize);
    let mut last = "";
    while let Some(first) = text[at..].chars().next() {
        let token = &text[at..at + token_length(&text[at..], first)];
        at += token.len();
        match token {
            "{" | "(" => depth += 1,
            "}" | ")" => depth = depth.saturating_sub(1),
            "\n" if depth == 0 && matches!(last, ";" | "}") => {
                pieces.push(&text[begin..at]);
                begin = at;
            }
            _ => {}
        }
        if !token.trim().is_empty() {
            last = token;
        }
    }
    if begin < text.len() {
        pieces.push(&text[begin..]);
    }
    pieces
}

fn without_blank_lines(text: &str) -> String {
    text.lines().filter(|l| !l.trim().is_empty()).map(|l| format!("{l}\n")).collect()
}

/// Whether a text is the definition of a type and of nothing else.
fn is_type(text: &str) -> bool {
    let text = text.trim();
    let names_one = |keyword: &str| text.strip_prefix(keyword).is_some_and(|rest| rest.starts_with([' ', '{', '\n']));
    let is_definition = ["struct", "union", "enum"].into_iter().any(names_one) && text.contains('{') && text.ends_with("};");
    names_one("typedef") || is_definition
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

/// Gives numbers to the names that a compiler finds twice, each in the unit that has it again; none when it complains of something
/// else. What one unit defines for all keeps its name.
fn give_other_names(said: &str, source: &str, units: &[MergedUnit], bodies: &mut [Body]) -> Vec<String> {
    let is_shared = |name: &str| units.iter().any(|unit| unit.defined.global.contains(name));
    let lines: Vec<&str> = source.lines().collect();
    let mut given: Vec<String> = Vec::new();
    for complaint in said.lines().filter(|l| l.contains("error:")) {
        let Some((name, number)) = named_twice(complaint).filter(|(name, _)| !given.contains(name) && !is_shared(name)) else { continue };
        let Some(text) = lines.get(number.saturating_sub(1)) else { continue };
        // The last unit that has the line and the name: the first one keeps its names.
        let has_it = |body: &Body| body.text.lines().any(|l| l == *text) && has_word(&body.text, &name);
        let Some(index) = (1..bodies.len()).rev().find(|i| has_it(&bodies[*i])) else { continue };
        bodies[index].text = renamed(&bodies[index].text, &name, &format!("{name}_{}", index + 1));
        given.push(name);
    }
    given
}

/// The name that a compiler says is there twice, and the line that has it again.
fn named_twice(complaint: &str) -> Option<(String, usize)> {
    const TWICE: [&str; 6] =
        ["redefinition", "conflicting types", "conflicting declaration", "redeclaration", "redeclared", "different underlying type"];
    let number = complaint.split(':').nth(1)?.parse().ok()?;
    let name = TWICE.iter().any(|t| complaint.contains(t)).then(|| quoted_name(complaint)).flatten()?;
    Some((name, number))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_compared_by_its_declarations() {
        let declarations =
            ["typedef int a;\n", "struct s {\n  int x;\n};\n", "int f(int);\n", "int g(void) {\n  return 1;\n}\n", "int half,"];
        let text = declarations.join("\n");
        let found: Vec<&str> = pieces(&text).into_iter().filter(|p| !p.trim().is_empty()).collect();
        assert_eq!(found, declarations);
        assert_eq!(declarations.map(is_whole), [true, true, true, true, false]);
    }

    #[test]
    fn what_a_header_includes_in_its_middle_does_not_make_it_another_text() {
        let chunk = |file: &str, text: &str| Chunk { file: file.to_owned(), text: text.to_owned() };
        let unit = |chunks: Vec<Chunk>| MergedUnit {
            text: UnitText { directives: Vec::new(), chunks },
            defined: Defined::default(),
            is_guilty: false,
        };
        let (upper, lower, inner) = ("struct s {\n  int x;\n};\n", "int use(struct s *);\n", "typedef int word;\n");
        let mut units = [
            unit(vec![chunk("a.h", upper), chunk("in.h", inner), chunk("a.h", lower), chunk("one.c", "int one;\n")]),
            unit(vec![chunk("in.h", inner), chunk("a.h", &format!("{upper}{lower}")), chunk("two.c", "int two;\n")]),
        ];
        let bodies = once(&mut units);
        assert_eq!(bodies[1].text, "int two;\n");
    }

    #[test]
    fn a_parsers_own_copy_of_a_type_of_its_header_is_the_same_type() {
        let chunk = |file: &str, text: &str| Chunk { file: file.to_owned(), text: text.to_owned() };
        let unit = |chunks| MergedUnit { text: UnitText { directives: Vec::new(), chunks }, defined: Defined::default(), is_guilty: false };
        let (value, other) = ("typedef union {\n  int i;\n} value;\n", "typedef union {\n  long i;\n} value;\n");
        let mut units = [
            unit(vec![chunk("parse.c", &format!("{value}value last;\n"))]),
            unit(vec![chunk("parse.h", value), chunk("scan.c", "value *scan(void);\n")]),
            unit(vec![chunk("other.c", &format!("{other}value *mine;\n"))]),
        ];
        let bodies = once(&mut units);
        assert_eq!(bodies[1].text, "value *scan(void);\n");
        assert_eq!(bodies[2].text, format!("{other}value *mine;\n"), "another type of the same name stays");
    }

    #[test]
    fn every_name_that_a_compiler_finds_twice_gets_a_number_at_once() {
        let body = |text: &str| Body { text: text.to_owned(), dropped: String::new() };
        let bodies = || [body("struct s { int a; };\nenum { ONE };\n"), body("struct s { char b; };\nenum { ONE, TWO };\n")];
        let source: String = bodies().iter().map(|body| body.text.clone()).collect();
        let said = "merged.c:3:8: error: redefinition of 'struct s'\nmerged.c:4:8: error: redeclaration of enumerator 'ONE'\n";
        let mut changed = bodies();
        assert_eq!(give_other_names(said, &source, &[], &mut changed), ["s", "ONE"]);
        assert_eq!(changed[1].text, "struct s_2 { char b; };\nenum { ONE_2, TWO };\n");
        let defined = Defined { global: ["s".to_owned()].into(), ..Defined::default() };
        let definer = MergedUnit { text: UnitText::default(), defined, is_guilty: false };
        assert_eq!(give_other_names(said, &source, &[definer], &mut bodies()), ["ONE"], "a name that all share is kept");
    }
}
