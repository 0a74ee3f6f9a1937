//! One unit of a project as text: its own files with macros and includes expanded, the headers of others still included.
//!
//! The preprocessor says where each line is from. What is from files outside the project's tree is replaced by the directive
//! that included it, so that the text stays as long as what the project wrote.

use crate::calls::{ToolCall, plain};
use crate::replay::{run_call, without_output};
use crate::shims::CompilerShims;
use crate::{BuildRequest, ProjectError};
use std::path::Path;
use trueline_toolchain::Scratch;

/// A unit, in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitText {
    /// Directives for headers of others, and feature macros that these ask for.
    pub(crate) directives: Vec<String>,
    /// Runs of lines of one file.
    pub(crate) chunks: Vec<Chunk>,
}

/// Neighbouring lines of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The file, from the root of the project's tree.
    pub(crate) file: String,
    pub(crate) text: String,
}

/// Preprocesses one unit by the call that compiled it.
pub(crate) fn read_unit(call: &ToolCall, root: &Path, shims: &CompilerShims, request: &BuildRequest<'_>) -> Result<UnitText, ProjectError> {
    let scratch = Scratch::new().map_err(ProjectError::io("cannot make a scratch directory"))?;
    let file = scratch.join("unit.i");
    let mut args: Vec<String> = without_output(&call.args).into_iter().filter(|a| a != "-c").collect();
    args.extend(["-E", "-dD", "-dI", "-w", "-o"].map(str::to_owned));
    args.push(file.display().to_string());
    run_call(&ToolCall { args, ..call.clone() }, shims, request)?;
    let bytes = std::fs::read(&file).map_err(ProjectError::io("cannot read what the preprocessor wrote"))?;
    Ok(split(&String::from_utf8_lossy(&bytes), root, &call.directory))
}

/// Where a file is, from the root of the project's tree: `./a.h` and `a.h` are one. A file of others is named whole.
fn place_of(file: &str, root: &Path, directory: &Path) -> String {
    if file.starts_with('<') {
        return file.to_owned();
    }
    let path = plain(&directory.join(file));
    path.strip_prefix(plain(root)).unwrap_or(&path).display().to_string()
}

/// Whether a place is in the project's tree.
fn is_own(place: &str) -> bool {
    !place.starts_with(['<', '/'])
}

fn split(text: &str, root: &Path, directory: &Path) -> UnitText {
    let mut unit = UnitText::default();
    // The file that the lines are of, none for one that is not the project's.
    let mut current: Option<String> = None;
    let mut pending: Option<String> = None;
    // The numbers of the next line in its file and of the last one that was taken, and whether the next goes on where that ended.
    let (mut next, mut pushed, mut joined) = (0, None, false);
    for line in text.lines() {
        if let Some((file, number, entered)) = marker(line) {
            let file = place_of(&file, root, directory);
            // A macro of a header in the middle of a line: the line goes on.
            if current.as_ref() == Some(&file)
                && pushed == Some(number)
                && let Some(chunk) = unit.chunks.last_mut().filter(|chunk| chunk.file == file)
            {
                chunk.text.truncate(chunk.text.trim_end_matches('\n').len());
                joined = true;
            }
            next = number;
            let own = is_own(&file);
            if entered
                && let Some(directive) = pending.take()
                && !own
                && current.is_some()
                && !unit.directives.contains(&directive)
            {
                unit.directives.push(directive);
            }
            current = own.then_some(file);
            continue;
        }
        let Some(file) = &current else { continue };
        next += 1;
        let word = line.trim_start();
        if let Some(rest) = word.strip_prefix('#') {
            let rest = rest.trim_start();
            if let Some(header) = rest.strip_prefix("include") {
                pending = Some(format!("#include {}", angled(header)));
            } else if let Some(macros) = rest.strip_prefix("define ")
                && is_feature(macros)
            {
                unit.directives.push(format!("#define {macros}"));
            } else if rest.starts_with("pragma") && !rest.contains("once") {
                push(&mut unit, file, line);
            }
            continue;
        }
        pushed = Some(next - 1);
        push(&mut unit, file, if std::mem::take(&mut joined) { line.trim_start() } else { line });
    }
    unit.chunks.retain(|chunk| !chunk.text.trim().is_empty());
    unit
}

fn push(unit: &mut UnitText, file: &str, line: &str) {
    match unit.chunks.last_mut() {
        Some(chunk) if chunk.file == file => chunk.text.push_str(&format!("{line}\n")),
        _ => unit.chunks.push(Chunk { file: file.to_owned(), text: format!("{line}\n") }),
    }
}

/// The file of a line marker, the number of the line behind it, and whether the file is entered.
fn marker(line: &str) -> Option<(String, u64, bool)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(' ')?;
    let number = number.parse().ok()?;
    let (file, flags) = rest.strip_prefix('"')?.rsplit_once('"')?;
    Some((file.replace("\\\\", "\\"), number, flags.split_whitespace().any(|f| f == "1")))
}

/// A header as a directive names it that is not beside the file any more.
fn angled(header: &str) -> String {
    let header = header.split("/*").next().unwrap_or(header).trim();
    match header.strip_prefix('"').and_then(|h| h.strip_suffix('"')) {
        Some(name) => format!("<{name}>"),
        None => header.to_owned(),
    }
}

/// Whether a macro is one by which headers of others are told what to declare. All others are expanded already.
fn is_feature(definition: &str) -> bool {
    let name = definition.split([' ', '(']).next().unwrap_or(definition);
    name.starts_with('_') && name.len() > 2 && (name.contains("SOURCE") || name.contains("FORMAT") || name.contains("OFFSET"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_others_stay_directives_and_the_projects_own_are_text() {
        let text = "# 1 \"main.c\"\n#define _GNU_SOURCE 1\n#include <stdio.h>\n# 1 \"/usr/include/stdio.h\" 1 3 4\nint printf();\n\
                    #include <bits/x.h>\n# 1 \"/usr/include/bits/x.h\" 1 3 4\nint x;\n# 2 \"main.c\" 2\n#include \"own.h\"\n\
                    # 1 \"sub/own.h\" 1\n#define MAX 3\nint own;\n# 3 \"main.c\" 2\nint main(void) { return own; }\n";
        let unit = split(text, Path::new("/t"), Path::new("/t"));
        assert_eq!(unit.directives, ["#define _GNU_SOURCE 1", "#include <stdio.h>"]);
        let chunk = |file: &str, text: &str| Chunk { file: file.to_owned(), text: text.to_owned() };
        let nearby = text.replace("sub/own.h", "./sub/../sub/own.h");
        assert_eq!(split(&nearby, Path::new("/t"), Path::new("/t")), unit);
        assert_eq!(unit.chunks, [chunk("sub/own.h", "int own;\n"), chunk("main.c", "int main(void) { return own; }\n")]);
    }

    #[test]
    fn a_macro_of_a_header_in_the_middle_of_a_line_does_not_break_it() {
        let text =
            "# 1 \"a.c\"\nint f(int *p) {\n  return p == \n# 2 \"a.c\" 3 4\n             ((void *)0)\n# 2 \"a.c\"\n                 ;\n}\n";
        let unit = split(text, Path::new("/t"), Path::new("/t"));
        assert_eq!(unit.chunks[0].text, "int f(int *p) {\n  return p == ((void *)0);\n}\n");
    }
}
