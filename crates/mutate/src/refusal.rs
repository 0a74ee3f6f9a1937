//! What cannot be mutated, and why: every refusal names a line and a reason.

use std::path::PathBuf;
use trueline_ctree::{DeclId, DeclKind, NodeId, NodeKind, ParseError, SourceUnit, Span, tokens};
use trueline_model::Program;
use trueline_toolchain::{BuildError, JobError, ToolError};

/// Why a program is not mutated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {reason}")]
pub struct MutationRefusal {
    /// The file that was refused.
    pub name: String,
    /// The line of what cannot be mutated.
    pub line: u32,
    /// The reason, as a sentence without its end.
    pub reason: String,
}

/// Why there are no variants.
#[derive(Debug, thiserror::Error)]
pub enum MutateError {
    /// The program is outside what we support.
    #[error(transparent)]
    Refused(#[from] MutationRefusal),
    /// The program does not parse.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A tool is missing.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// No clang with MemorySanitizer is installed.
    #[error("profiling needs clang with MemorySanitizer, and {0}; install one with `apt-get install clang-16 libclang-rt-16-dev`")]
    NoSanitizer(String),
    /// The instrumented program does not compile.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A process could not be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A variant does not do what its seed does: the mutation is at fault, not a compiler.
    #[error("{name} does not do what its seed does when both are profiled: the mutation is at fault")]
    Unequal {
        /// The variant's file name.
        name: String,
        /// The variant that was being made.
        program: Box<Program>,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Io {
        /// The file that cannot be read or written.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
}

impl MutateError {
    /// Whether it says nothing about the program, and another try may succeed.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Job(_) | Self::Io { .. } | Self::Build(BuildError::Job(_) | BuildError::Starved { .. }) => true,
            Self::Refused(_) | Self::Parse(_) | Self::Tool(_) | Self::NoSanitizer(_) | Self::Build(_) | Self::Unequal { .. } => false,
        }
    }
}

/// Functions that make behaviour depend on more than the program, or that leave a function other than by
/// returning, with the reason.
const OPEN_ENDS: [(&str, &[&str]); 5] = [
    (
        "reads input",
        &[
            "scanf",
            "fscanf",
            "vscanf",
            "getchar",
            "getc",
            "fgetc",
            "gets",
            "fgets",
            "getline",
            "fread",
            "read",
            "fopen",
            "open",
            "getenv",
            "secure_getenv",
            "recv",
            "mmap",
        ],
    ),
    (
        "reads the time or its surroundings",
        &["time", "clock", "gettimeofday", "clock_gettime", "getpid", "getrandom", "arc4random", "uname"],
    ),
    (
        "jumps out of functions",
        &["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "longjmp", "siglongjmp", "__builtin_setjmp", "__builtin_longjmp"],
    ),
    (
        "starts threads, processes or signal handlers",
        &["fork", "vfork", "pthread_create", "thrd_create", "signal", "sigaction", "system", "popen", "execve"],
    ),
    ("looks at its own stack or code", &["__builtin_return_address", "__builtin_frame_address", "backtrace", "dlsym"]),
];

/// Checks what the text alone shows.
pub(crate) fn refuse(unit: &SourceUnit) -> Result<(), MutationRefusal> {
    let refusal = |offset: usize, reason: String| MutationRefusal { name: unit.name().to_owned(), line: unit.line(offset), reason };
    for call in unit.calls() {
        let Some(name) = &call.callee else { continue };
        // A function of the program's own is what its body says, whatever its name.
        if call.decl.is_some_and(|d| unit.decls().any(|(_, other)| other.entity == unit.decl(d).entity && other.definition)) {
            continue;
        }
        if let Some((what, _)) = OPEN_ENDS.iter().find(|(_, names)| names.contains(&name.as_str())) {
            return Err(refusal(unit.node(call.node).span.start, format!("the program {what}: it calls `{name}`")));
        }
    }
    for (id, node) in unit.nodes() {
        let at = node.span.start;
        match &node.kind {
            NodeKind::Asm => return Err(refusal(at, "inline assembly: its effects are not known".to_owned())),
            NodeKind::IndirectGoto => return Err(refusal(at, "a computed goto is not supported".to_owned())),
            NodeKind::Function(decl) if is_old_style(unit, *decl, id) => {
                return Err(refusal(at, format!("`{}` is defined in the old (K&R) style", unit.decl(*decl).name)));
            }
            _ => {}
        }
    }
    for token in tokens(unit.text(), Span::new(0, unit.text().len())) {
        if matches!(token.text, "__LINE__" | "__COUNTER__" | "__TIME__" | "__DATE__" | "__TIMESTAMP__") {
            return Err(refusal(token.span.start, format!("`{}` changes when text is inserted", token.text)));
        }
        if matches!(token.text, "alias" | "__alias__" | "cleanup" | "__cleanup__") && in_attribute(unit.text(), token.span.start) {
            return Err(refusal(token.span.start, format!("the attribute `{}` is not supported", token.text)));
        }
    }
    let main = unit.decls().find(|(_, d)| d.kind == DeclKind::Function && d.name == "main" && d.definition && d.node.is_some());
    if main.is_none() {
        return Err(refusal(0, "there is no `main`: only whole programs are mutated".to_owned()));
    }
    Ok(())
}

/// Parameters declared between the parentheses and the body. The front end gives such a function a
/// prototype's type, so the text decides.
fn is_old_style(unit: &SourceUnit, decl: DeclId, function: NodeId) -> bool {
    let Some(body) = unit.body(function) else { return false };
    let parameters = unit.node(function).children.iter().filter(|&&c| matches!(unit.node(c).kind, NodeKind::Parameter(_)));
    let mut depth = 0usize;
    let between = Span::new(unit.decl(decl).name_span.end, unit.node(body).span.start);
    for token in tokens(unit.text(), between) {
        match token.text {
            "(" => depth += 1,
            ")" if depth == 1 => return parameters.into_iter().any(|&p| unit.node(p).span.start > token.span.start),
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

fn in_attribute(text: &str, offset: usize) -> bool {
    let before = &text[..offset];
    before.trim_end().ends_with('(') && before.rfind("__attribute").is_some_and(|at| !before[at..].contains(';'))
}
