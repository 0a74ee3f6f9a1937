//! The hand-over to `trueline isolate`: the command that ranks the compiler's files for a finding, and the file of the
//! pass where one is known, to be read beside that ranking.

use crate::explainer::Explained;
use std::fmt::Write as _;
use trueline_model::{CompilerKind, Fault, Language, Origin, PassRole, Verdict};
use trueline_toolchain::quote;
use trueline_triage::source_of;

/// The source files of the pass behind a finding.
pub fn files(explained: &Explained) -> Vec<String> {
    let case = &explained.case;
    let name = explained.attribution.as_ref().and_then(|a| a.name.as_ref());
    name.map_or_else(Vec::new, |name| source_of(case.compiler.id.kind, case.compiler.major(), &name.0))
}

/// Whether one pass is known to create the fault, or a debugger is to blame: then no ranking is needed.
pub fn is_settled(explained: &Explained) -> bool {
    let guilty = explained.attribution.as_ref().is_some_and(|a| a.role == PassRole::Guilty);
    guilty || explained.verdict.as_ref().is_some_and(|(verdict, _)| *verdict == Verdict::Debugger)
}

/// The command line that ranks the compiler's files, for the program in `file`; `None` where `isolate` cannot.
pub fn command(explained: &Explained, file: &str) -> Option<String> {
    let case = &explained.case;
    if case.program.language != Language::C || !matches!(case.compiler.id.kind, CompilerKind::Gcc | CompilerKind::Clang) {
        return None;
    }
    let mut command = format!("trueline isolate {} --target {} --opt={}", quote(file), case.compiler.id.path.display(), case.opt);
    if matches!(case.fault, Fault::Violation(_)) {
        command.push_str(" --failure debug-info");
    }
    for flag in &case.program.cflags {
        let _ = write!(command, " {}", quote(format!("--cflag={flag}")));
    }
    Some(command)
}

/// The command for a program that the user has as a file.
pub fn command_for_file(explained: &Explained) -> Option<String> {
    match &explained.case.program.origin {
        Origin::File { path } => command(explained, &path.display().to_string()),
        _ => None,
    }
}

/// For a bug draft, in which the program is `file`.
pub fn markdown(explained: &Explained, file: &str) -> String {
    let files = files(explained);
    let mut text = match files.as_slice() {
        [] => format!("No source file is known for this {} by its pass.", explained.case.fault.kind()),
        files => format!("The pass is implemented in {}.", files.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ")),
    };
    if let Some(command) = command(explained, file) {
        let why = if is_settled(explained) {
            "For a ranking of the compiler's files by witness programs, to be read beside it"
        } else {
            "No single guilty pass is known; witness programs rank the compiler's files"
        };
        let _ = write!(text, "\n{why}:\n\n```\n{command}\n```");
    }
    text
}
