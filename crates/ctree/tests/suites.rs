//! Real test-suite programs: every one of gcc's regression tests at hand must parse, and its tree must fit its text.

use std::path::PathBuf;
use trueline_ctree::{Edits, parse_text};

#[test]
fn regression_tests_of_gcc_parse_and_every_statement_has_its_bytes() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/compiler-bugs");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        println!("skipped: {} is not there", dir.display());
        return;
    };
    let mut refused = Vec::new();
    let mut parsed = 0;
    for path in entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "c")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let unit = match parse_text(&path.to_string_lossy(), &text, &[]) {
            Ok(unit) => unit,
            Err(error) => {
                refused.push(error.to_string());
                continue;
            }
        };
        parsed += 1;
        for id in unit.statements().filter(|&id| unit.is_text(id)) {
            let last = unit.slice(id).as_bytes().last().copied();
            assert!(matches!(last, Some(b';' | b'}')), "{}: {:?}", path.display(), unit.slice(id));
        }
        // Wrapping every statement in braces leaves C behind: ranges nest and touch nothing else.
        let mut edits = Edits::new();
        for id in unit.statements() {
            let node = unit.node(id);
            let wrapped = unit.is_text(id)
                && !matches!(node.kind, trueline_ctree::NodeKind::DeclStmt | trueline_ctree::NodeKind::Block)
                && !node.parent.is_some_and(|p| matches!(unit.node(p).kind, trueline_ctree::NodeKind::Function(_)));
            if wrapped {
                edits.wrap(node.span, "{ ", " }");
            }
        }
        let edited = edits.apply(&text).unwrap();
        if let Err(error) = parse_text("edited.c", &edited, &[]) {
            panic!("{}: {error}\n{edited}", path.display());
        }
    }
    assert!(parsed >= 30, "{parsed} parsed, refused: {refused:#?}");
}
