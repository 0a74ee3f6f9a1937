//! Edits in several places that belong together: a parameter and its arguments, a prototype and its definition, a typedef
//! and its uses, a local and the one place that reads it.

use crate::candidates::TreeChange;
use std::collections::BTreeMap;
use trueline_ctree::{NodeKind, SourceUnit, Span, TokenKind, tokens};

/// Takes a parameter out of a function and its argument out of every call.
pub(crate) fn parameters(unit: &SourceUnit) -> Vec<TreeChange> {
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
            changes.push(TreeChange { edits });
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

/// Puts the definition of a function where its prototype stands.
pub(crate) fn prototypes(unit: &SourceUnit) -> Vec<TreeChange> {
    let groups = unit.groups();
    // Functions that are declared alone: the name, and whether this is the definition.
    let functions: Vec<(Span, &str, bool)> = groups
        .iter()
        .filter_map(|group| {
            let [id] = group.nodes.as_slice() else { return None };
            let node = unit.node(*id);
            let NodeKind::Function(decl) = node.kind else { return None };
            let is_definition = node.children.iter().any(|c| unit.node(*c).kind == NodeKind::Block);
            Some((group.span, unit.decl(decl).name.as_str(), is_definition))
        })
        .collect();
    let definition_of = |name: &str, after: usize| functions.iter().find(|(span, n, whole)| *whole && *n == name && span.start >= after);
    let moved = functions.iter().filter(|(_, _, is_definition)| !is_definition).filter_map(|(prototype, name, _)| {
        let (definition, ..) = definition_of(name, prototype.end)?;
        Some(TreeChange { edits: vec![(*prototype, unit.text()[definition.range()].to_owned()), (*definition, String::new())] })
    });
    moved.collect()
}

/// Writes out what a typedef stands for, and takes it away.
pub(crate) fn typedefs(unit: &SourceUnit) -> Vec<TreeChange> {
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
        changes.push(TreeChange { edits });
    }
    changes
}

/// Writes the initializer of a local where the local is read, if that is one place, and takes the declaration away.
pub(crate) fn substitutes(unit: &SourceUnit) -> Vec<TreeChange> {
    let text = unit.text();
    let mut mentions: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for token in tokens(text, Span::new(0, text.len())).filter(|t| t.kind == TokenKind::Word) {
        mentions.entry(token.text).or_default().push(token.span);
    }
    let change = |(id, node): (trueline_ctree::NodeId, &trueline_ctree::TreeNode)| {
        let [variable] = node.children.as_slice() else { return None };
        let NodeKind::Variable(decl) = unit.node(*variable).kind else { return None };
        let init = unit.slice(unit.decl(decl).init?);
        // The name may stand for something else elsewhere; with two mentions in all it does not.
        let [_, read] = mentions.get(unit.decl(decl).name.as_str())?.as_slice() else { return None };
        let is_wanted = node.kind == NodeKind::DeclStmt && unit.is_text(id) && !init.starts_with('{') && read.start >= node.span.end;
        is_wanted.then(|| TreeChange { edits: vec![(node.span, String::new()), (*read, format!("({init})"))] })
    };
    unit.nodes().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::parsed;

    #[test]
    fn a_definition_takes_the_place_of_its_prototype() {
        let source =
            "static int f(int);\nint g(void) { return f(1); }\nstatic int f(int x) { return x; }\nint main(void) { return g(); }\n";
        let Some(unit) = parsed(source) else { return };
        let [change] = prototypes(&unit).try_into().unwrap();
        let told: Vec<(&str, &str)> = change.edits.iter().map(|(span, text)| (&source[span.range()], text.as_str())).collect();
        assert_eq!(told, [("static int f(int);", "static int f(int x) { return x; }"), ("static int f(int x) { return x; }", "")]);
    }

    #[test]
    fn a_local_that_is_read_once_becomes_what_it_holds() {
        let source = "int f(void);\nint main(void) {\n  int a = f() + 1;\n  int b = 2;\n  int c[1] = {3};\n  return a + b + b + c[0];\n}\n";
        let Some(unit) = parsed(source) else { return };
        let [change] = substitutes(&unit).try_into().unwrap();
        let told: Vec<(&str, &str)> = change.edits.iter().map(|(span, text)| (&source[span.range()], text.as_str())).collect();
        assert_eq!(told, [("int a = f() + 1;", ""), ("a", "(f() + 1)")]);
    }
}
