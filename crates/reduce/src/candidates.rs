//! What the built-in reducer tries: families of edits on the C tree, each a list of alternatives that do
//! not overlap within one level of nesting.

use std::collections::BTreeMap;
use trueline_c::{NodeKind, Removal, RemovalKind, Span, TokenKind, TypeKind, Unit, tokens};

/// One edit: these spans become these texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Replacements that belong together.
    pub edits: Vec<(Span, String)>,
}

impl Change {
    fn one(span: Span, text: impl Into<String>) -> Self {
        Self { edits: vec![(span, text.into())] }
    }

    /// From the first byte to the last that it touches.
    pub fn span(&self) -> Span {
        let start = self.edits.iter().map(|(s, _)| s.start).min().unwrap_or(0);
        let end = self.edits.iter().map(|(s, _)| s.end).max().unwrap_or(0);
        Span::new(start, end)
    }
}

/// A family of edits, tried together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    Declarations,
    Statements,
    Unwrap,
    Else,
    Initializers,
    /// Expressions become this literal.
    Literal(&'static str),
    Operands,
    Parameters,
    Typedefs,
    Specifiers,
    Parentheses,
    Comments,
    Lines,
}

impl Family {
    /// In the order of a round: coarse first.
    pub const ALL: [Self; 15] = [
        Self::Declarations,
        Self::Statements,
        Self::Unwrap,
        Self::Else,
        Self::Declarations,
        Self::Initializers,
        Self::Literal("0"),
        Self::Literal("1"),
        Self::Operands,
        Self::Parameters,
        Self::Typedefs,
        Self::Specifiers,
        Self::Parentheses,
        Self::Comments,
        Self::Lines,
    ];

    /// The name in progress messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declarations => "declarations",
            Self::Statements => "statements",
            Self::Unwrap => "unwrapping",
            Self::Else => "else branches",
            Self::Initializers => "initializers",
            Self::Literal(_) => "constants",
            Self::Operands => "operands",
            Self::Parameters => "parameters",
            Self::Typedefs => "typedefs",
            Self::Specifiers => "specifiers",
            Self::Parentheses => "parentheses",
            Self::Comments => "comments",
            Self::Lines => "lines",
        }
    }

    /// The family's edits on one text, outermost level first; within a level nothing overlaps.
    pub fn levels(self, unit: &Unit) -> Vec<Vec<Change>> {
        let of_kind = |kind: RemovalKind| {
            let wanted = unit.removals().into_iter().filter(|r: &Removal| r.kind == kind);
            wanted.map(|r| Change::one(r.span, r.replacement)).collect::<Vec<_>>()
        };
        let all = match self {
            Self::Declarations => of_kind(RemovalKind::Declaration),
            Self::Statements => of_kind(RemovalKind::Statement),
            Self::Unwrap => of_kind(RemovalKind::Unwrap),
            Self::Else => of_kind(RemovalKind::Else),
            Self::Initializers => of_kind(RemovalKind::Initializer),
            Self::Operands => of_kind(RemovalKind::Operand),
            Self::Literal(text) => literals(unit, text),
            Self::Parameters => parameters(unit),
            Self::Typedefs => typedefs(unit),
            Self::Specifiers => specifiers(unit),
            Self::Parentheses => parentheses(unit),
            Self::Comments => comments(unit.text()),
            Self::Lines => lines(unit),
        };
        levels(all)
    }
}

/// Sorts edits into levels so that none of a level overlaps another of it.
fn levels(mut all: Vec<Change>) -> Vec<Vec<Change>> {
    all.sort_by_key(|c| (c.span().start, std::cmp::Reverse(c.span().end)));
    let mut levels: Vec<(usize, Vec<Change>)> = Vec::new();
    for change in all {
        let span = change.span();
        // The first level whose last edit ends before this one starts.
        let free = levels.iter().position(|(end, _)| *end <= span.start);
        match free {
            Some(level) => {
                levels[level].0 = span.end;
                levels[level].1.push(change);
            }
            None => levels.push((span.end, vec![change])),
        }
    }
    levels.into_iter().map(|(_, changes)| changes).collect()
}

fn literals(unit: &Unit, text: &str) -> Vec<Change> {
    let is_scalar = |id| {
        let node: &trueline_c::Node = unit.node(id);
        node.ty.is_some_and(|t| matches!(unit.ty(t).kind, TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer(_) | TypeKind::Enum(_)))
    };
    let worthwhile = |kind: &NodeKind| !matches!(kind, NodeKind::Integer | NodeKind::Implicit | NodeKind::Str);
    unit.nodes()
        .filter(|(id, node)| unit.is_text(*id) && node.kind.is_expression() && worthwhile(&node.kind) && is_scalar(*id))
        .filter(|(id, node)| node.span.len() > text.len() && unit.slice(*id) != text)
        .map(|(_, node)| Change::one(node.span, text))
        .collect()
}

/// Takes a parameter out of a function and its argument out of every call.
fn parameters(unit: &Unit) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<Vec<Span>>> = BTreeMap::new();
    for (id, node) in unit.nodes() {
        if let NodeKind::Function(decl) = node.kind
            && unit.is_text(id)
        {
            let parameters = node.children.iter().filter(|c| matches!(unit.node(**c).kind, NodeKind::Parameter(_)));
            by_name.entry(&unit.decl(decl).name).or_default().push(parameters.map(|p| unit.node(*p).span).collect());
        }
    }
    let calls: Vec<_> = unit.calls().collect();
    for (name, declarations) in by_name {
        let count = declarations.iter().map(Vec::len).max().unwrap_or(0);
        for index in 0..count {
            let mut edits = Vec::new();
            for list in declarations.iter().filter(|l| index < l.len()) {
                edits.push((with_comma(list, index), if list.len() == 1 { "void".to_owned() } else { String::new() }));
            }
            for call in calls.iter().filter(|c| c.callee.as_deref() == Some(name) && index < c.arguments.len()) {
                let spans: Vec<Span> = call.arguments.iter().map(|a| unit.node(*a).span).collect();
                edits.push((with_comma(&spans, index), String::new()));
            }
            changes.push(Change { edits });
        }
    }
    changes
}

/// An element of a list together with one comma beside it.
fn with_comma(spans: &[Span], index: usize) -> Span {
    if index > 0 {
        Span::new(spans[index - 1].end, spans[index].end)
    } else if spans.len() > 1 {
        Span::new(spans[0].start, spans[1].start)
    } else {
        spans[0]
    }
}

/// Writes out what a typedef stands for, and takes it away.
fn typedefs(unit: &Unit) -> Vec<Change> {
    let text = unit.text();
    let mut changes = Vec::new();
    for group in unit.groups() {
        let slice = &text[group.span.start..group.span.end];
        let Some(body) = slice.strip_prefix("typedef ").and_then(|s| s.trim_end().strip_suffix(';')) else { continue };
        let Some((meaning, name)) = body.trim().rsplit_once(|c: char| c.is_whitespace()) else { continue };
        let plain = |s: &str| s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ');
        if !plain(meaning) || !plain(name) {
            continue;
        }
        let mut edits = vec![(group.span, String::new())];
        let whole = Span::new(group.span.end, text.len());
        edits.extend(tokens(text, whole).filter(|t| t.kind == TokenKind::Word && t.text == name).map(|t| (t.span, meaning.to_owned())));
        changes.push(Change { edits });
    }
    changes
}

/// Drops storage classes and qualifiers.
fn specifiers(unit: &Unit) -> Vec<Change> {
    const WORDS: [&str; 7] = ["const", "volatile", "static", "register", "inline", "restrict", "extern"];
    let whole = Span::new(0, unit.text().len());
    tokens(unit.text(), whole).filter(|t| WORDS.contains(&t.text)).map(|t| Change::one(t.span, "")).collect()
}

fn parentheses(unit: &Unit) -> Vec<Change> {
    let paren = |(id, node): (trueline_c::NodeId, &trueline_c::Node)| {
        (node.kind == NodeKind::Paren && unit.is_text(id) && node.span.len() > 2)
            .then(|| Change::one(node.span, format!(" {} ", &unit.text()[node.span.start + 1..node.span.end - 1])))
    };
    unit.nodes().filter_map(paren).collect()
}

/// Comments, which stand between tokens; directives do too and are left alone.
fn comments(text: &str) -> Vec<Change> {
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
            changes.push(Change::one(Span::new(at, at + length), " "));
            at += length;
        }
        gap = next;
    }
    changes
}

/// Blank lines and lone braces that fit on the line before.
fn lines(unit: &Unit) -> Vec<Change> {
    let text = unit.text();
    let mut changes = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let span = Span::new(offset, offset + line.len());
        if trimmed.is_empty() {
            changes.push(Change::one(span, ""));
        } else if matches!(trimmed, "{" | "}" | ";" | "};") && offset > 0 {
            // From the newline before it: `f()` + newline + `{` becomes `f() {`.
            changes.push(Change::one(Span::new(offset - 1, offset + line.find(trimmed).unwrap_or(0)), " "));
        }
        offset += line.len();
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_directives_and_strings_stay() {
        let text = "#define A 1 // kept\nint a; // one\n/* two\n */ char *s = \"// no\";\nint b; // three";
        let found: Vec<&str> = comments(text).iter().map(|c| &text[c.span().range()]).collect();
        assert_eq!(found, ["// one", "/* two\n */", "// three"]);
    }
}
