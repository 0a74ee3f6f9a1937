//! Where functions stand by the source's own words: name, parameters, braces. The extents of `facts` come from the -O0 build's
//! rows, which cannot contradict themselves; a row that lies in another function by this reading does not count there.
//!
//! For C programs of one file whose text is at hand, and only where there is nothing to guess: a function that a macro writes, a
//! definition in the old style, braces within conditional text and text with `#line` have no declared extent.

use crate::note::Note;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use trueline_dwarf::Module;
use trueline_model::LineKey;
use trueline_oracle::{Digest, ReferenceFacts, SourceFacts};

/// The lines of functions.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    file: Arc<str>,
    /// How many lines the text has.
    lines: u32,
    functions: BTreeMap<Arc<str>, RangeInclusive<u32>>,
}

impl Declarations {
    /// The functions of the -O0 build in the source text.
    pub(crate) fn of(module: &Module, source: &SourceFacts) -> Self {
        let declarations = module.copies().filter(|copy| !copy.is_inlined()).filter_map(|copy| {
            let function = copy.around();
            let decl = module.line_key(function.decl_file?, function.decl_line)?;
            (*decl.file.as_str() == *source.file).then(|| (Arc::clone(copy.name()), decl.line.0))
        });
        Self::read(source, declarations)
    }

    fn read(source: &SourceFacts, declarations: impl Iterator<Item = (Arc<str>, u32)>) -> Self {
        if !source.file.ends_with(".c") || source.lines.iter().any(|l| moves_lines(l)) {
            return Self::default();
        }
        let functions = declarations.filter_map(|(name, line)| Some((Arc::clone(&name), body(source, &name, line)?))).collect();
        Self { file: Arc::clone(&source.file), lines: source.lines.len() as u32, functions }
    }

    /// True when a line is certainly not one of the function's: it is another function's, or behind the text.
    pub(crate) fn is_foreign(&self, function: &str, line: &LineKey) -> bool {
        let Some(own) = self.functions.get(function).filter(|_| *line.file.as_str() == *self.file) else { return false };
        let elsewhere = |f: &RangeInclusive<u32>| f.contains(&line.line.0) && !(own.contains(f.start()) && own.contains(f.end()));
        !own.contains(&line.line.0) && (line.line.0 > self.lines || self.functions.values().any(elsewhere))
    }

    /// What the -O0 trace says against the source.
    pub(crate) fn contradicted(&self, facts: &ReferenceFacts, digest: &Digest) -> Option<Note> {
        let mut foreign = digest.stops.iter().flat_map(|stop| stop.stack.iter()).filter_map(|frame| {
            let at = frame.at.as_ref().filter(|at| self.is_foreign(&frame.function, at))?;
            let extents = facts.functions.get(&frame.function)?;
            (!extents.iter().any(|e| e.contains(at))).then(|| (Arc::clone(&frame.function), at.line.0))
        });
        let (function, line) = foreign.next()?;
        let own = &self.functions[&function];
        Some(Note::ReferenceContradicts { function, line, first: *own.start(), last: *own.end() })
    }
}

/// True for `#line`, a preprocessor's own markers, and text included that is no header: it may be part of a body.
fn moves_lines(line: &str) -> bool {
    let Some(directive) = line.trim_start().strip_prefix('#').map(str::trim_start) else { return false };
    let included = directive.strip_prefix("include").map(|rest| rest.trim().trim_matches(['"', '<', '>']));
    directive.starts_with("line")
        || directive.starts_with(|c: char| c.is_ascii_digit())
        || included.is_some_and(|name| !name.ends_with(".h"))
}

/// The lines from a function's name to its closing brace, where the text says them plainly: name, parameters in parentheses, and
/// nothing else before the brace.
fn body(source: &SourceFacts, name: &str, line: u32) -> Option<RangeInclusive<u32>> {
    let at = (line as usize).checked_sub(1)?;
    let text = source.lines.get(at)?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut named = text.match_indices(name).map(|(start, found)| start + found.len()).filter(|end| {
        let before = text[..end - name.len()].chars().next_back();
        !before.is_some_and(is_part) && text[*end..].trim_start().starts_with('(')
    });
    let (mut depth, mut is_behind, mut rest) = (0u32, false, &text[named.next()?..]);
    let mut open = line;
    let brace = 'found: loop {
        for c in rest.chars() {
            match c {
                '(' if !is_behind => depth += 1,
                ')' if !is_behind => {
                    depth = depth.checked_sub(1)?;
                    is_behind = depth == 0;
                }
                '{' if is_behind => break 'found open,
                '{' | '}' | ';' | '"' | '#' => return None,
                c if is_behind && !c.is_whitespace() => return None,
                _ => {}
            }
        }
        rest = source.lines.get(open as usize)?;
        open += 1;
    };
    let mut blocks = source.blocks.iter().filter(|b| b.open == brace && b.depth == 1);
    let close = blocks.next()?.close;
    let is_conditional = |l: &Arc<str>| l.trim_start().strip_prefix('#').is_some_and(|d| d.trim_start().starts_with(['i', 'e']));
    let is_plain = !source.lines[at..close as usize].iter().any(is_conditional);
    (blocks.next().is_none() && is_plain).then_some(line..=close)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{FileName, Line};

    fn declared(text: &str, declarations: &[(&str, u32)]) -> Declarations {
        Declarations::read(&SourceFacts::of("a.c", text), declarations.iter().map(|&(name, line)| (Arc::from(name), line)))
    }

    fn line(number: u32) -> LineKey {
        LineKey { file: FileName::new("a.c"), line: Line(number) }
    }

    #[test]
    fn a_line_of_another_function_is_foreign_and_so_is_one_behind_the_text() {
        let found = declared("int g;\nint f(int a)\n{\n  return a;\n}\nint main(void) {\n  return f(1);\n}\n", &[("f", 2), ("main", 6)]);
        assert_eq!(found.functions.values().cloned().collect::<Vec<_>>(), [2..=5, 6..=8]);
        assert!(found.is_foreign("f", &line(7)) && found.is_foreign("main", &line(4)) && found.is_foreign("f", &line(9)));
        assert!(!found.is_foreign("f", &line(4)));
        assert!(!found.is_foreign("f", &line(1)), "between functions there may be anything");
        assert!(!found.is_foreign("other", &line(7)), "nothing is known of where this one stands");
    }

    #[test]
    fn a_line_that_two_functions_share_is_both_functions() {
        let found = declared("int f(void) {\n  return 1;\n} int g(void) {\n  return 2;\n}\n", &[("f", 1), ("g", 3)]);
        assert!(!found.is_foreign("f", &line(3)) && !found.is_foreign("g", &line(3)));
        assert!(found.is_foreign("f", &line(4)));
    }

    #[test]
    fn a_function_within_a_function_is_no_other_one() {
        let found = declared("int f(void) {\n  int in(void) {\n    return 1;\n  }\n  return in();\n}\n", &[("f", 1), ("in", 2)]);
        assert_eq!(found.functions.len(), 1);
        assert!(!found.is_foreign("in", &line(5)) && !found.is_foreign("f", &line(3)));
    }

    #[test]
    fn where_the_text_leaves_something_to_guess_nothing_is_known() {
        let texts = [
            ("a macro opens the body", "#define B {\nint f(void) B\n  g();\n}\n"),
            ("a macro hides a brace", "#define IF if (1) {\nint f(void) {\n  IF g(); }\n}\n"),
            ("a macro writes the function", "#define F(n) int n(void)\nF(f)\n{\n}\n"),
            ("parameters are declared in the old style", "int g;\nint f(a) int a;\n{\n}\n"),
            ("the text counts its lines differently", "#line 2\nint f(void)\n{\n}\n"),
            ("conditional text", "\nint f(int a) {\n#if A\n  if (a) {\n#else\n  }\n#endif\n}\n"),
            ("an attribute with braces to come", "\nint f(void) X { }\n"),
            ("only a declaration", "\nint f(void); int g(void) {\n}\n"),
            ("text from elsewhere", "#include \"body.inc\"\nint f(void) {\n}\n"),
        ];
        for (why, text) in texts {
            assert!(declared(text, &[("f", 2)]).functions.is_empty(), "{why}");
        }
    }
}
