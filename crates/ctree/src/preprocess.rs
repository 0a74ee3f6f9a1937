//! Preprocessing with stub headers. The output of one compiler's preprocessor on the C library's headers
//! does not parse in the other compiler, since each header asks which compiler reads it; so headers are
//! replaced by small ones of our own that declare the same things plainly.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use trueline_model::Program;
use trueline_toolchain::{Compiler, Job, JobError, Limits, Scratch};

macro_rules! stubs {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../stubs/", $name)))),*] };
}

/// The headers we bring.
const STUBS: [(&str, &str); 14] = stubs![
    "assert.h",
    "ctype.h",
    "errno.h",
    "float.h",
    "inttypes.h",
    "limits.h",
    "math.h",
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
];

/// A directory with our headers.
#[derive(Debug)]
pub struct StubHeaders {
    scratch: Scratch,
}

impl StubHeaders {
    /// Writes the headers to a directory that vanishes with this value.
    pub fn write() -> std::io::Result<Self> {
        let scratch = Scratch::new()?;
        for (name, text) in STUBS {
            scratch.write(name, text)?;
        }
        Ok(Self { scratch })
    }

    /// One directory for all users of the moment: made by the first, removed with the last.
    pub fn shared() -> Result<std::sync::Arc<Self>, String> {
        static SHARED: Mutex<std::sync::Weak<StubHeaders>> = Mutex::new(std::sync::Weak::new());
        let mut slot = SHARED.lock();
        if let Some(stubs) = slot.upgrade() {
            return Ok(stubs);
        }
        let stubs = std::sync::Arc::new(Self::write().map_err(|e| e.to_string())?);
        *slot = std::sync::Arc::downgrade(&stubs);
        Ok(stubs)
    }

    /// The directory that holds the headers.
    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// The flags that make a compiler use these headers and no others of the system's.
    pub fn flags(&self) -> Vec<String> {
        vec!["-nostdinc".to_owned(), "-isystem".to_owned(), self.path().display().to_string()]
    }
}

/// Why a program could not be preprocessed.
#[derive(Debug, thiserror::Error)]
pub enum PreprocessError {
    /// The preprocessor refused it.
    #[error("{name} cannot be preprocessed with the stub headers: {message}")]
    Refused {
        /// The program that was to be preprocessed.
        name: String,
        /// What the preprocessor said.
        message: String,
    },
    /// Files could not be written.
    #[error("cannot write files for the preprocessor: {0}")]
    Io(#[from] std::io::Error),
    /// The preprocessor could not be started.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// True when a text has directives that the preprocessor must see.
pub fn needs_preprocessing(text: &str) -> bool {
    text.lines().any(|l| {
        let word = l.trim_start().strip_prefix('#').map(str::trim_start);
        word.is_some_and(|w| ["include", "define", "if", "undef"].iter().any(|d| w.starts_with(d)))
    })
}

/// The program with every include and macro expanded, in text that gcc and clang both read. Include
/// directories of the program's flags are used up and dropped from them.
pub fn preprocess(program: &Program, compiler: &Compiler) -> Result<Program, PreprocessError> {
    let stubs = StubHeaders::write()?;
    let scratch = Scratch::new()?;
    let source: PathBuf = scratch.write("program.c", &program.source)?;
    let mut job: Job = compiler.job().args(["-E", "-P", "-w", "-D__TRUELINE_STUBS__"]);
    job = job.args(stubs.flags()).args(program.cflags.iter().filter(|f| is_preprocessor_flag(f))).arg(&source);
    let outcome = job.limits(Limits::seconds(20)).run()?;
    if !outcome.success() {
        let message = outcome.stderr_text().lines().take(4).collect::<Vec<_>>().join("\n");
        return Err(PreprocessError::Refused { name: program.name.clone(), message });
    }
    let cflags = program.cflags.iter().filter(|f| !is_preprocessor_flag(f)).cloned().collect();
    Ok(Program { source: outcome.stdout_text(), cflags, ..program.clone() })
}

fn is_preprocessor_flag(flag: &str) -> bool {
    ["-I", "-D", "-U", "-isystem", "-include", "-iquote", "-idirafter"].iter().any(|p| flag.starts_with(p))
}
