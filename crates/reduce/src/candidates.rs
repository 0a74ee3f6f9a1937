//! What the built-in reducer tries: families of edits on the C tree, each a list of alternatives that do
//! not overlap within one level of nesting.

use crate::{layout, rewrite};
use std::collections::BTreeSet;
use trueline_ctree::{CTypeKind, NodeKind, Removal, RemovalKind, SourceUnit, Span, TokenKind, tokens};

/// One edit: these spans become these texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeChange {
    /// Replacements that belong together.
    pub edits: Vec<(Span, String)>,
}

impl TreeChange {
    pub(crate) fn one(span: Span, text: impl Into<String>) -> Self {
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
pub(crate) enum EditFamily {
    /// All declarations that main does not lead to, in one edit: half of a preprocessed program.
    Unreachable,
    Declarations,
    /// Statements that declare nothing: those can go in any number without leaving a name behind.
    Statements,
    /// Declarations of locals that nothing else mentions.
    UnusedLocals,
    /// Declarations of locals that nothing mentions.
    Locals,
    Unwrap,
    /// Braces around statements, and labels in front of them.
    Blocks,
    Else,
    Initializers,
    /// Expressions become this literal.
    Literal(&'static str),
    Operands,
    /// Locals used once become what they are initialized with.
    Substitutes,
    Parameters,
    /// Definitions take the place of their prototypes.
    Prototypes,
    Typedefs,
    /// Members of structures and unions.
    Members,
    Specifiers,
    Parentheses,
    Comments,
    /// `#pragma` and what else a preprocessor leaves.
    Directives,
    Lines,
    /// What is short stands on one line.
    Short,
    /// All superfluous spaces, in one edit.
    Spaces,
}

impl EditFamily {
    /// In the order of a round: coarse first.
    pub const ALL: [Self; 27] = [
        Self::Unreachable,
        Self::Statements,
        Self::UnusedLocals,
        Self::Unreachable,
        Self::Declarations,
        Self::Locals,
        Self::Unwrap,
        Self::Else,
        Self::Blocks,
        Self::UnusedLocals,
        Self::Unreachable,
        Self::Initializers,
        Self::Literal("0"),
        Self::Literal("1"),
        Self::Operands,
        Self::Substitutes,
        Self::Parameters,
        Self::Prototypes,
        Self::Typedefs,
        Self::Members,
        Self::Specifiers,
        Self::Parentheses,
        Self::Comments,
        Self::Directives,
        Self::Lines,
        Self::Short,
        Self::Spaces,
    ];

    /// The name in progress messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable declarations",
            Self::Declarations => "declarations",
            Self::Statements => "statements",
            Self::UnusedLocals => "unused locals",
            Self::Locals => "locals",
            Self::Unwrap => "unwrapping",
            Self::Blocks => "blocks and labels",
            Self::Else => "else branches",
            Self::Initializers => "initializers",
            Self::Literal(_) => "constants",
            Self::Operands => "operands",
            Self::Substitutes => "locals used once",
            Self::Parameters => "parameters",
            Self::Prototypes => "prototypes",
            Self::Typedefs => "typedefs",
            Self::Members => "members",
            Self::Specifiers => "specifiers",
            Self::Parentheses => "parentheses",
            Self::Comments => "comments",
            Self::Directives => "directives",
            Self::Lines => "lines",
            Self::Short => "short lines",
            Self::Spaces => "spaces",
        }
    }

    /// The family's edits on one text, outermost level first; within a level nothing overlaps.
    pub fn levels(self, unit: &SourceUnit) -> Vec<Vec<TreeChange>> {
        let of_kind = |kind: RemovalKind| {
            let wanted = unit.removals().into_iter().filter(|r: &Removal| r.kind == kind);
            wanted.map(|r| TreeChange::one(r.span, r.replacement)).collect::<Vec<_>>()
        };
        let all = match self {
            Self::Unreachable => unreachable(unit),
            Self::Declarations => of_kind(RemovalKind::Declaration),
            Self::Statements => of_kind(RemovalKind::Statement).into_iter().filter(|c| !declares(unit, c)).collect(),
            Self::UnusedLocals => of_kind(RemovalKind::Statement).into_iter().filter(|c| declares(unit, c) && is_unused(unit, c)).collect(),
            Self::Locals => of_kind(RemovalKind::Statement).into_iter().filter(|c| declares(unit, c)).collect(),
            Self::Unwrap => of_kind(RemovalKind::Unwrap),
            Self::Blocks => blocks(unit),
            Self::Else => of_kind(RemovalKind::Else),
            Self::Initializers => of_kind(RemovalKind::Initializer),
            Self::Operands => of_kind(RemovalKind::Operand),
            Self::Literal(text) => literals(unit, text),
            Self::Substitutes => rewrite::substitutes(unit),
            Self::Parameters => rewrite::parameters(unit),
            Self::Prototypes => rewrite::prototypes(unit),
            Self::Typedefs => rewrite::typedefs(unit),
            Self::Members => members(unit.text()),
            Self::Specifiers => specifiers(unit),
            Self::Parentheses => parentheses(unit),
            Self::Comments => layout::comments(unit.text()),
            Self::Directives => layout::directives(unit.text()),
            Self::Lines => layout::lines(unit.text()),
            Self::Short => layout::short(unit),
            Self::Spaces => layout::spaces(unit.text()),
        };
        levels(all)
    }
}

/// Sorts edits into levels so that none of a level overlaps another of it.
fn levels(mut all: Vec<TreeChange>) -> Vec<Vec<TreeChange>> {
    all.sort_by_key(|c| (c.span().start, std::cmp::Reverse(c.span().end)));
    let mut levels: Vec<(usize, Vec<TreeChange>)> = Vec::new();
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

/// True for the removal of a declaration statement.
fn declares(unit: &SourceUnit, change: &TreeChange) -> bool {
    let span = change.span();
    unit.nodes().any(|(_, node)| node.kind == NodeKind::DeclStmt && node.span == span)
}

/// True when no name that the statement declares is a word anywhere else.
fn is_unused(unit: &SourceUnit, change: &TreeChange) -> bool {
    let span = change.span();
    let inside = |s: Span| span.start <= s.start && s.end <= span.end;
    let declared = unit.nodes().filter(|(_, node)| inside(node.span)).filter_map(|(_, node)| match node.kind {
        NodeKind::Variable(decl) => Some(unit.decl(decl).name.as_str()),
        _ => None,
    });
    let names: Vec<&str> = declared.collect();
    let whole = Span::new(0, unit.text().len());
    !names.is_empty() && !tokens(unit.text(), whole).any(|t| t.kind == TokenKind::Word && names.contains(&t.text) && !inside(t.span))
}

/// What `main` does not lead to by any name. Names of members and locals count as well, so too much is kept, never too little.
fn unreachable(unit: &SourceUnit) -> Vec<TreeChange> {
    const KEYWORDS: [&str; 18] = [
        "typedef", "struct", "union", "enum", "extern", "static", "const", "volatile", "signed", "unsigned", "char", "short", "int",
        "long", "float", "double", "void", "_Bool",
    ];
    let words =
        |span: Span| tokens(unit.text(), span).filter(|t| t.kind == TokenKind::Word).map(|t| t.text).filter(|w| !KEYWORDS.contains(w));
    let groups = unit.groups();
    let declares: Vec<BTreeSet<&str>> = groups
        .iter()
        .map(|group| {
            let names = group.nodes.iter().map(|id| match unit.node(*id).kind {
                NodeKind::Function(decl) | NodeKind::Variable(decl) => Some(unit.decl(decl).name.as_str()),
                _ => None,
            });
            // Records, enumerations and typedefs bring names of their own, the constants of an enumeration among them.
            names.collect::<Option<BTreeSet<&str>>>().unwrap_or_else(|| words(group.span).collect())
        })
        .collect();
    let mut reached = vec![false; groups.len()];
    let mut open: Vec<&str> = vec!["main"];
    let mut asked: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !asked.insert(name) {
            continue;
        }
        for (index, group) in groups.iter().enumerate() {
            if !reached[index] && declares[index].contains(name) {
                reached[index] = true;
                open.extend(words(group.span));
            }
        }
    }
    let edits: Vec<(Span, String)> = groups.iter().zip(reached).filter(|(_, r)| !r).map(|(g, _)| (g.span, String::new())).collect();
    if edits.is_empty() { Vec::new() } else { vec![TreeChange { edits }] }
}

fn literals(unit: &SourceUnit, text: &str) -> Vec<TreeChange> {
    let is_scalar = |id| {
        let node: &trueline_ctree::TreeNode = unit.node(id);
        node.ty.is_some_and(|t| {
            matches!(unit.ty(t).kind, CTypeKind::Int(_) | CTypeKind::Float(_) | CTypeKind::Pointer(_) | CTypeKind::Enum(_))
        })
    };
    let worthwhile = |kind: &NodeKind| !matches!(kind, NodeKind::Integer | NodeKind::Implicit | NodeKind::Str);
    unit.nodes()
        .filter(|(id, node)| unit.is_text(*id) && node.kind.is_expression() && worthwhile(&node.kind) && is_scalar(*id))
        .filter(|(id, node)| node.span.len() > text.len() && unit.slice(*id) != text)
        .map(|(_, node)| TreeChange::one(node.span, text))
        .collect()
}

/// Drops storage classes and qualifiers.
fn specifiers(unit: &SourceUnit) -> Vec<TreeChange> {
    const WORDS: [&str; 7] = ["const", "volatile", "static", "register", "inline", "restrict", "extern"];
    let whole = Span::new(0, unit.text().len());
    tokens(unit.text(), whole).filter(|t| WORDS.contains(&t.text)).map(|t| TreeChange::one(t.span, "")).collect()
}

/// Blocks become what they hold, `case` and `default` the statement behind them; where that is no C, or another program, the
/// judges say so.
fn blocks(unit: &SourceUnit) -> Vec<TreeChange> {
    let is_body = |node: &trueline_ctree::TreeNode| node.parent.is_some_and(|p| matches!(unit.node(p).kind, NodeKind::Function(_)));
    let change = |(id, node): (trueline_ctree::NodeId, &trueline_ctree::TreeNode)| match node.kind {
        NodeKind::Block if unit.is_text(id) && !is_body(node) && node.span.len() > 2 => {
            let inner = &unit.text()[node.span.start + 1..node.span.end - 1];
            Some(TreeChange {
                edits: vec![
                    (Span::new(node.span.start, node.span.start + 1), " ".to_owned()),
                    (Span::new(node.span.end - 1, node.span.end), " ".to_owned()),
                ],
            })
            .filter(|_| !inner.trim().is_empty())
        }
        NodeKind::Case | NodeKind::Default if unit.is_text(id) => {
            let statement = unit.node(*node.children.last()?).span;
            Some(TreeChange::one(Span::new(node.span.start, statement.start), ""))
        }
        _ => None,
    };
    unit.nodes().filter_map(change).collect()
}

fn parentheses(unit: &SourceUnit) -> Vec<TreeChange> {
    let paren = |(id, node): (trueline_ctree::NodeId, &trueline_ctree::TreeNode)| {
        (node.kind == NodeKind::Paren && unit.is_text(id) && node.span.len() > 2)
            .then(|| TreeChange::one(node.span, format!(" {} ", &unit.text()[node.span.start + 1..node.span.end - 1])))
    };
    unit.nodes().filter_map(paren).collect()
}

/// Members of structures and unions, each up to its semicolon.
fn members(text: &str) -> Vec<TreeChange> {
    let all: Vec<_> = tokens(text, Span::new(0, text.len())).collect();
    let mut changes = Vec::new();
    for (index, _) in all.iter().enumerate().filter(|(_, t)| matches!(t.text, "struct" | "union")) {
        let named = usize::from(all.get(index + 1).is_some_and(|t| t.kind == TokenKind::Word));
        let Some(open) = all.get(index + 1 + named).filter(|t| t.text == "{") else { continue };
        let (mut start, mut depth) = (open.span.end, 0usize);
        for token in &all[index + 2 + named..] {
            match token.text {
                "}" if depth == 0 => break,
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                ";" if depth == 0 => {
                    changes.push(TreeChange::one(Span::new(start, token.span.end), ""));
                    start = token.span.end;
                }
                _ => {}
            }
        }
    }
    changes
}

/// The tree of a text, `None` where there is no libclang.
#[cfg(test)]
pub(crate) fn parsed(source: &str) -> Option<SourceUnit> {
    let program = trueline_model::Program {
        name: "a.c".to_owned(),
        language: trueline_model::Language::C,
        source: source.to_owned(),
        origin: trueline_model::Origin::File { path: "a.c".into() },
        cflags: Vec::new(),
    };
    match trueline_ctree::parse(&program) {
        Err(reason) if reason.to_string().contains("libclang") => {
            println!("skipped: {reason}");
            None
        }
        other => Some(other.unwrap()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typedef_goes_with_the_structure_inside_it() {
        let source = "typedef struct hidden name;\ntypedef struct { int x; } whole;\nint main(void) { return 0; }\n";
        let Some(unit) = parsed(source) else { return };
        let gone: Vec<&str> = unreachable(&unit)[0].edits.iter().map(|(span, _)| &source[span.range()]).collect();
        assert_eq!(gone, ["typedef struct hidden name;", "typedef struct { int x; } whole;"]);
    }

    #[test]
    fn what_main_does_not_lead_to_goes_in_one_edit() {
        let source = "typedef int word;\nenum kind { ONE, TWO };\nenum other { THREE };\nint used(word x);\nint unused(void) { return THREE; }\n\
                      int used(word x) { return x + ONE; }\nint main(void) { return used(0); }\n";
        let Some(unit) = parsed(source) else { return };
        let changes = unreachable(&unit);
        let gone: Vec<&str> = changes[0].edits.iter().map(|(span, _)| &source[span.range()]).collect();
        assert_eq!(gone.len(), 2, "{gone:?}");
        assert!(gone[0].contains("THREE") && gone[1].contains("unused"), "{gone:?}");
    }

    #[test]
    fn members_go_one_by_one_also_of_structures_inside_structures() {
        let text = "struct a { int x; union { char c[2]; long l; } u; unsigned b : 3; } v;\nstruct a *p;\n";
        let found: Vec<&str> = members(text).iter().map(|c| text[c.span().range()].trim()).collect();
        assert_eq!(found, ["int x;", "union { char c[2]; long l; } u;", "unsigned b : 3;", "char c[2];", "long l;"]);
    }
}
