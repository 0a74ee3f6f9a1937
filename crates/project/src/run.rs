//! A run command: the program of the project, its arguments and its environment.

use crate::{BuiltTree, ProjectError};
use object::Object;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A command such as `LANG=C ./prog -v data.txt`, read as a shell would read plain words. No pipes and no redirections:
/// the program is started directly, under the tracer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCommand {
    /// The command as it was given.
    pub text: String,
    /// Variables in front of the program.
    pub env: Vec<(String, String)>,
    /// The program, from the project's directory.
    pub program: PathBuf,
    /// What it is given on its command line.
    pub args: Vec<String>,
}

/// What stands for an input's file among a run's arguments.
const INPUT: &str = "{}";

impl RunCommand {
    /// Reads a command.
    pub fn parse(text: &str) -> Result<Self, ProjectError> {
        let bad = |reason: &str| ProjectError::BadRun { command: text.to_owned(), reason: reason.to_owned() };
        let words = shlex::split(text).ok_or_else(|| bad("a quote is not closed"))?;
        let is_shell = |word: &String| matches!(word.as_str(), "|" | "<" | ">" | ">>" | "&&" | "||" | ";" | "&" | "2>&1");
        if words.iter().any(is_shell) {
            return Err(bad("pipes, redirections and lists need a shell; use --stdin for input, and one --run for each program"));
        }
        let mut words = words.into_iter().peekable();
        let mut env = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|w| w.split_once('=')).filter(|(n, _)| is_variable(n)) {
            env.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        let program = words.next().ok_or_else(|| bad("it names no program"))?;
        Ok(Self { text: text.to_owned(), env, program: PathBuf::from(program), args: words.collect() })
    }

    /// Whether an argument stands for an input's file.
    pub fn takes_input(&self) -> bool {
        self.args.iter().any(|word| word.contains(INPUT))
    }

    /// The same run with a file in the place of `{}`.
    pub fn with_input(&self, file: &Path) -> Self {
        let name = file.display().to_string();
        let quoted = shlex::try_quote(&name).map_or_else(|_| name.clone(), std::borrow::Cow::into_owned);
        let args = self.args.iter().map(|word| word.replace(INPUT, &name)).collect();
        Self { text: self.text.replace(INPUT, &quoted), args, ..self.clone() }
    }

    /// The program inside a tree that was built.
    pub fn program_in(&self, tree: &BuiltTree) -> Result<PathBuf, ProjectError> {
        let path = tree.root().join(&self.program);
        match kind_of(&path) {
            FileKind::Program => Ok(path),
            FileKind::Script => Err(ProjectError::Script { command: self.text.clone(), program: self.program.clone() }),
            FileKind::Other => Err(ProjectError::NotMade {
                command: self.text.clone(),
                program: self.program.clone(),
                build: tree.command().to_owned(),
                made: tree.programs_made(),
            }),
        }
    }
}

/// Whether a binary has debug information, in itself or, by its own word, in another file.
pub fn has_debug_information(binary: &Path) -> bool {
    let Ok(bytes) = std::fs::read(binary) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    [".debug_info", ".gnu_debuglink", ".gnu_debugaltlink"].iter().any(|name| file.section_by_name(name).is_some())
}

fn is_variable(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What a file's first bytes say that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// An ELF file.
    Program,
    /// A text that names its interpreter.
    Script,
    /// Anything else, and what is not there.
    Other,
}

/// Looks at a file's first bytes.
pub(crate) fn kind_of(path: &Path) -> FileKind {
    let mut start = [0; 4];
    match std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut start)) {
        Ok(()) if start == *b"\x7fELF" => FileKind::Program,
        Ok(()) if start.starts_with(b"#!") => FileKind::Script,
        _ => FileKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_an_environment_a_program_and_arguments() {
        let run = RunCommand::parse("LANG=C X=\"a b\" ./prog -v 'two words' k=v").unwrap();
        assert_eq!(run.env, [("LANG".to_owned(), "C".to_owned()), ("X".to_owned(), "a b".to_owned())]);
        assert_eq!((run.program.as_path(), run.args), (Path::new("./prog"), vec!["-v".into(), "two words".into(), "k=v".into()]));
    }

    #[test]
    fn an_input_takes_the_place_of_the_braces() {
        let run = RunCommand::parse("./prog -f {} --out={}.x").unwrap();
        assert!(run.takes_input() && !RunCommand::parse("./prog -").unwrap().takes_input());
        let with = run.with_input(Path::new("/in/a b"));
        assert_eq!(with.args, ["-f", "/in/a b", "--out=/in/a b.x"]);
        assert_eq!(RunCommand::parse(&with.text).unwrap().args, with.args, "{}", with.text);
    }

    #[test]
    fn what_needs_a_shell_is_refused_with_what_to_do() {
        let said = |text: &str| RunCommand::parse(text).unwrap_err().to_string();
        assert!(said("./prog < in.txt").contains("--stdin"), "{}", said("./prog < in.txt"));
        assert!(said("A=1").contains("no program"));
        assert!(said("./prog 'x").contains("quote"));
    }
}
