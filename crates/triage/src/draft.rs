//! A bug draft: one directory per finding that somebody without Trueline can act on.
//!
//! `reproduce.sh` needs only a compiler and a debugger (`CC=`, `GDB=`, `LLDB=`), `interesting.sh` is what a
//! reducer asks, `report.md` has the form that LLVM's issue tracker and GCC's Bugzilla want.

mod reproduce;

use crate::attribution::Attribution;
use crate::known::entry_text;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use trueline_model::wording::{self, ReportWords};
use trueline_model::{CompilerId, CompilerKind, Fault, Fingerprint, Language, OptLevel, PassRole, Program, Reading, Verdict};
use trueline_toolchain::quote;

/// Everything a draft is made of.
pub struct Draft<'a> {
    /// The program as found.
    pub program: &'a Program,
    /// The reduced text, if a reduction was made.
    pub reduced: Option<&'a str>,
    /// The fault, as it shows in the smaller of the two.
    pub fault: &'a Fault,
    /// The compiler.
    pub compiler: &'a CompilerId,
    /// The level.
    pub opt: OptLevel,
    /// The pass, if searched.
    pub attribution: Option<&'a Attribution>,
    /// Versions, if searched.
    pub fingerprint: Option<&'a Fingerprint>,
    /// What each reader said.
    pub readings: &'a [Reading],
    /// Whose fault, and why.
    pub verdict: Option<(Verdict, String)>,
    /// The wrong part of the debug information, as a dump.
    pub dwarf: Option<&'a str>,
    /// The wrong update inside the pass, in Markdown, if the pass was watched.
    pub update: Option<&'a str>,
    /// What to do next where no pass is known, in Markdown.
    pub next: Option<&'a str>,
    /// Text of `interesting.sh`.
    pub interesting: &'a str,
}

/// Why a draft could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the bug draft {path}: {source}", path = path.display())]
pub struct DraftError {
    /// Where.
    pub path: PathBuf,
    /// The system's answer.
    pub source: std::io::Error,
}

/// Writes the directory. Files that are there already are replaced; others are left alone.
pub fn write_draft(dir: &Path, draft: &Draft<'_>) -> Result<(), DraftError> {
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |source| DraftError { path: path.clone(), source }
    };
    fs::create_dir_all(dir).map_err(fail(dir))?;
    let extension = draft.program.language.extension();
    let mut files: Vec<(String, String, u32)> = vec![
        (format!("program.{extension}"), draft.program.source.clone(), 0o644),
        ("reproduce.sh".to_owned(), reproduce::script(draft), 0o755),
        ("interesting.sh".to_owned(), draft.interesting.to_owned(), 0o755),
        ("report.md".to_owned(), report(draft), 0o644),
    ];
    if let Some(reduced) = draft.reduced {
        files.push((format!("reduced.{extension}"), reduced.to_owned(), 0o644));
    }
    for (name, text, mode) in files {
        let path = dir.join(name);
        fs::write(&path, text).map_err(fail(&path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(fail(&path))?;
    }
    Ok(())
}

fn shown_file(draft: &Draft<'_>) -> String {
    let stem = if draft.reduced.is_some() { "reduced" } else { "program" };
    format!("{stem}.{}", draft.program.language.extension())
}

/// Flags that a compile command has beside compiler, source and output.
fn flags(draft: &Draft<'_>) -> String {
    let own = match draft.compiler.kind {
        CompilerKind::Rustc => {
            let level = draft.opt.rustc_value().unwrap_or("2");
            format!(
                "--edition 2021 -C opt-level={level} -C debuginfo=2 -C codegen-units=1 -C overflow-checks=off -C debug-assertions=off -A warnings"
            )
        }
        _ => format!("{} -g -w", draft.opt),
    };
    let mut flags = own;
    for flag in &draft.program.cflags {
        let _ = write!(flags, " {}", quote(flag));
    }
    flags
}

fn compiler_name(id: &CompilerId) -> String {
    id.path.file_name().and_then(|n| n.to_str()).unwrap_or("cc").to_owned()
}

/// The part of a crash message that stays when the program is edited.
pub fn crash_key(message: &str) -> String {
    match message.split_once("internal compiler error: ") {
        Some((_, rest)) => rest.trim().to_owned(),
        None => message.split("Assertion `").nth(1).map_or_else(|| message.to_owned(), |rest| format!("Assertion `{rest}")),
    }
}

/// The report for the compiler's tracker.
fn report(draft: &Draft<'_>) -> String {
    let mut text = String::new();
    let id = draft.compiler;
    let ReportWords { title, expected, actual } = wording::report(draft.fault);
    let tracker = match id.kind {
        CompilerKind::Gcc => "gcc.gnu.org/bugzilla · component: debug · keyword: wrong-debug",
        CompilerKind::Rustc => "github.com/rust-lang/rust · labels: A-debuginfo, C-bug",
        _ => "github.com/llvm/llvm-project · labels: debuginfo, wrong-debug",
    };
    let _ = writeln!(text, "# [{} {}] {title} at {}\n\n<!-- {tracker} -->\n", id.kind, id.version, draft.opt);
    let _ = writeln!(text, "## Program (`{}`)\n", shown_file(draft));
    let fence = match draft.program.language {
        Language::C => "c",
        Language::Cpp => "cpp",
        Language::Rust => "rust",
    };
    let source = draft.reduced.unwrap_or(&draft.program.source);
    let _ = writeln!(text, "```{fence}\n{}\n```\n", source.trim_end());
    let _ = writeln!(
        text,
        "## Reproduce\n\n```\n$ {} {} {} -o a.out\n$ ./reproduce.sh\n```\n",
        compiler_name(id),
        flags(draft),
        shown_file(draft)
    );
    let _ = writeln!(text, "## Expected\n\n{expected}\n\n## Actual\n\n{actual}\n");
    if let Some((verdict, why)) = &draft.verdict {
        let verdict = match verdict {
            Verdict::Compiler => "the compiler",
            Verdict::Debugger => "the debugger",
            Verdict::Ambiguous => "ambiguous",
        };
        let _ = writeln!(text, "## Who is wrong\n\n{verdict}: {why}.\n");
    }
    if let Some(dwarf) = draft.dwarf {
        let _ = writeln!(text, "## Debug information\n\n```\n{}\n```\n", dwarf.trim_end());
    }
    if let Some(attribution) = draft.attribution {
        text.push_str(&pass_section(attribution, &draft.program.name, &shown_file(draft)));
    }
    if let Some(update) = draft.update {
        let _ = writeln!(text, "## The update inside the pass\n\n{}\n", update.trim_end());
    }
    if let Some(next) = draft.next {
        let _ = writeln!(text, "## Where in the compiler\n\n{}\n", next.trim_end());
    }
    if let Some(fingerprint) = draft.fingerprint {
        let _ = writeln!(text, "## Versions at {}\n\n| version | |\n|---|---|", draft.opt);
        for (version, entry) in &fingerprint.0 {
            let _ = writeln!(text, "| {version} | {} |", entry_text(entry));
        }
        text.push('\n');
    }
    text
}

/// The pass and its two commands, in which the program has the name of its file in the draft.
fn pass_section(attribution: &Attribution, name: &str, file: &str) -> String {
    let renamed = |command: &str| command.split(' ').map(|word| if word == name { file } else { word }).collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    let role = match attribution.role {
        PassRole::Guilty => "guilty pass",
        PassRole::Enabling => "enabling pass",
        PassRole::Set => "set of passes",
        PassRole::None => "present without any optional pass",
        PassRole::Unswitchable => "cannot be switched off",
    };
    let pass = attribution.name.as_ref().map_or(String::new(), |n| format!(": `{}`", n.0));
    let place = match (attribution.execution, &attribution.function) {
        (Some(n), Some(function)) => format!(" ({} {n} of {}, on `{function}`)", attribution.step_name(), attribution.of),
        (Some(n), None) => format!(" (change {n} of {})", attribution.of),
        (None, Some(function)) => format!(" (on `{function}`)"),
        _ => String::new(),
    };
    let _ = writeln!(text, "## Pass\n\n{role}{pass}{place}: {}.\n", attribution.evidence);
    let _ = writeln!(text, "```\n# shows it\n{}", renamed(&attribution.with.command));
    if let Some(without) = &attribution.without {
        let _ = writeln!(text, "# hides it\n{}", renamed(without));
    }
    let _ = writeln!(text, "```\n");
    text
}
