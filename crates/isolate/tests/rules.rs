//! One file per rule: the rule's name, the lines that its mutants change, and the program. Oracle code is
//! protected throughout.

use std::path::Path;
use trueline_ctree::parse_text;
use trueline_isolate::{MutationRule, OracleCode, RuleSites};

#[test]
fn every_rule_file_gives_the_mutants_it_expects() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 13);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let field =
            |key: &str| text.lines().filter_map(|line| line.strip_prefix(&format!("// {key}: ")).map(str::to_owned)).collect::<Vec<_>>();
        let name = &field("rule")[0];
        let rule = MutationRule::all().into_iter().find(|rule| rule.to_string() == *name).unwrap_or_else(|| panic!("no rule `{name}`"));
        let unit = match parse_text("program.c", &text, &[]) {
            Ok(unit) => unit,
            Err(trueline_ctree::ParseError::NoLibclang(reason)) => return println!("skipped: {reason}"),
            Err(error) => panic!("{}: {error}", path.display()),
        };
        let sites = RuleSites::find(&unit, &OracleCode::of_output(&unit));
        let mut changed: Vec<String> = sites
            .of(rule)
            .iter()
            .map(|edits| {
                let mutant = edits.apply(&text).unwrap();
                let line = mutant.lines().zip(text.lines()).find(|(new, old)| new != old).map(|(new, _)| new.to_owned());
                line.expect("a mutant differs")
            })
            .collect();
        let mut expected = field("expect");
        changed.sort();
        expected.sort();
        assert_eq!(changed, expected, "{}", path.display());
    }
}
