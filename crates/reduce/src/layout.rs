//! Edits that change how a program is laid out and nothing else: comments, directives, broken lines, spaces. They come last,
//! and the judges look at each as at any other, since a fault may hang on lines.

use crate::candidates::TreeChange;
use trueline_ctree::{NodeKind, SourceUnit, Span, tokens};

/// Comments, which stand between tokens; directives do too and are left alone.
pub(crate) fn comments(text: &str) -> Vec<TreeChange> {
    let mut changes = Vec::new();
    let mut gap = 0;
    let ends = tokens(text, Span::new(0, text.len())).map(|t| (t.span.start, t.span.end));
    for (end, next) in ends.chain([(text.len(), text.len())]) {
        let mut at = gap;
        while at < end {
            let rest = &text[at..end];
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |n| n + 2)
            } else {
                // On to what could begin one, past a whole line where it is a directive.
                at += if rest.starts_with('#') {
                    rest.find('\n').unwrap_or(rest.len())
                } else {
                    rest.chars().next().map_or(1, char::len_utf8)
                };
                continue;
            };
            changes.push(TreeChange::one(Span::new(at, at + length), " "));
            at += length;
        }
        gap = next;
    }
    changes
}

/// Lines of a directive.
pub(crate) fn directives(text: &str) -> Vec<TreeChange> {
    let mut offset = 0;
    let mut changes = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('#') {
            changes.push(TreeChange::one(Span::new(offset, offset + line.len()), ""));
        }
        offset += line.len();
    }
    changes
}

/// The longest line that joining makes.
const LONGEST_LINE: usize = 100;
/// The longest declaration or function that stands on one line.
const SHORT: usize = 80;

/// Blank lines, lone braces that fit on the line before, and lines in the middle of something.
pub(crate) fn lines(text: &str) -> Vec<TreeChange> {
    let mut changes = Vec::new();
    let mut offset = 0;
    let mut before = "";
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let is_plain = |line: &str| !line.starts_with('#') && !line.contains("//");
        let goes_on = !before.is_empty() && !before.ends_with([';', '{', '}', ':']) && before.len() + trimmed.len() < LONGEST_LINE;
        // From the newline before it: `f()` + newline + `{` becomes `f() {`.
        let joined = || TreeChange::one(Span::new(offset - 1, offset + line.find(trimmed).unwrap_or(0)), " ");
        if trimmed.is_empty() {
            changes.push(TreeChange::one(Span::new(offset, offset + line.len()), ""));
        } else if offset > 0 && is_plain(before) && is_plain(trimmed) && (goes_on || matches!(trimmed, "{" | "}" | ";" | "};")) {
            changes.push(joined());
        }
        before = trimmed;
        offset += line.len();
    }
    changes
}

/// Functions of at most one statement and declarations with at most two members, each on one line where it fits.
pub(crate) fn short(unit: &SourceUnit) -> Vec<TreeChange> {
    let text = unit.text();
    let change = |group: &trueline_ctree::DeclarationGroup| {
        let slice = &text[group.span.range()];
        let is_function = group.nodes.iter().any(|id| matches!(unit.node(*id).kind, NodeKind::Function(_)));
        let most = if is_function { 1 } else { 3 };
        // Spaces count inside quotes, and a directive or comment needs its line.
        let is_plain = !slice.contains(['"', '\'', '#']) && !slice.contains("//") && slice.matches(';').count() <= most;
        let joined = slice.split_whitespace().collect::<Vec<_>>().join(" ");
        (is_plain && slice.contains('\n') && joined.len() <= SHORT).then(|| TreeChange::one(group.span, joined))
    };
    unit.groups().iter().filter_map(change).collect()
}

/// Runs of spaces become one, and those beside brackets, before commas and at ends of lines go.
pub(crate) fn spaces(text: &str) -> Vec<TreeChange> {
    let all: Vec<_> = tokens(text, Span::new(0, text.len())).collect();
    let edits: Vec<(Span, String)> = all
        .windows(2)
        .filter_map(|pair| {
            let gap = Span::new(pair[0].span.end, pair[1].span.start);
            let old = &text[gap.range()];
            if old.is_empty() || !old.trim().is_empty() {
                return None;
            }
            let new = match old.rfind('\n') {
                // What one space indents was once behind a word that is gone.
                Some(last) => "\n".repeat(old.matches('\n').count()) + if old.len() - last == 2 { "" } else { &old[last + 1..] },
                None if matches!(pair[0].text, "(" | "[") || matches!(pair[1].text, ")" | "]" | "," | ";") => String::new(),
                None => " ".to_owned(),
            };
            (new != old).then_some((gap, new))
        })
        .collect();
    if edits.is_empty() { Vec::new() } else { vec![TreeChange { edits }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, changes: &[TreeChange]) -> String {
        let mut edits: Vec<_> = changes.iter().flat_map(|c| &c.edits).collect();
        edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        edits.into_iter().fold(text.to_owned(), |mut text, (span, new)| {
            text.replace_range(span.range(), new);
            text
        })
    }

    #[test]
    fn comments_go_and_directives_and_strings_stay() {
        let text = "#define A 1 // kept\nint a; // one\n/* two\n */ char *s = \"// no\";\nint b; // three";
        let found: Vec<&str> = comments(text).iter().map(|c| &text[c.span().range()]).collect();
        assert_eq!(found, ["// one", "/* two\n */", "// three"]);
    }

    #[test]
    fn directives_go_and_lines_in_the_middle_of_something_are_joined() {
        let text = "#pragma pack(1)\nstatic int\n(f)(int a,\n    int b) {\n  return\n    0; // why\n}\n";
        assert_eq!(directives(text).len(), 1);
        assert_eq!(with(text, &lines(text)), "#pragma pack(1)\nstatic int (f)(int a, int b) {\n  return\n    0; // why\n}\n");
    }

    #[test]
    fn spaces_that_edits_left_behind_go() {
        let text = " static int\n f ( int   a ,int b ) {\n    return   a -  -b  ; \n}\n";
        assert_eq!(with(text, &spaces(text)), " static int\nf (int a,int b) {\n    return a - -b;\n}\n");
    }

    #[test]
    fn short_functions_and_structures_stand_on_one_line() {
        let text = "struct s {\n  int a;\n  int b; };\nint f(void) {\n  return 0; }\nint main(void) {\n  f();\n  return 0;\n}\n";
        let Some(unit) = crate::candidates::parsed(text) else { return };
        let expected = "struct s { int a; int b; };\nint f(void) { return 0; }\nint main(void) {\n  f();\n  return 0;\n}\n";
        assert_eq!(with(text, &short(&unit)), expected);
    }
}
