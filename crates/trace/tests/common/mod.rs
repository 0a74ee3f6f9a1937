//! Small programs, compiled and traced.

use std::path::PathBuf;
use trueline_model::{Language, OptLevel, Step, Trace};
use trueline_toolchain::{CompileRequest, Limits, Scratch, find_compiler};
use trueline_trace::{Engine, NativeEngine, TraceRequest};

/// A C program in a directory of its own.
pub struct Program {
    pub scratch: Scratch,
    source: PathBuf,
}

impl Program {
    /// Writes the source as `p.c`.
    pub fn new(source: &str) -> Self {
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("p.c", source).unwrap();
        Self { scratch, source }
    }

    /// A request for a build; `None`, with a printed reason, when the compiler is not installed.
    pub fn build(&self, cc: &str, opt: OptLevel, flags: &[&str]) -> Option<TraceRequest> {
        let Ok(compiler) = find_compiler(cc) else {
            println!("skipped: no {cc}");
            return None;
        };
        let output = self.scratch.join(format!("{cc}{}{}", opt.flag(), flags.concat()));
        let request = CompileRequest::new(&self.source, Language::C, opt, output).flags(flags.iter().copied());
        let mut request = TraceRequest::new(compiler.compile(&request).unwrap().binary);
        request.user_files = vec!["p.c".into()];
        request.limits = Limits::seconds(300);
        Some(request)
    }
}

/// The native engine's whole trace.
pub fn native(request: &TraceRequest) -> Vec<Step> {
    let mut trace = Trace::default();
    NativeEngine.trace(request, &mut trace).unwrap();
    trace.steps
}
