//! The tree against real C: hand-written constructs and whole csmith programs.

use trueline_ctree::{
    Access, BinaryOp, CTypeKind, DeclKind, Edits, NodeKind, RemovalKind, SourceUnit, Span, UnaryOp, parse, parse_text, preprocess,
};
use trueline_model::{Language, OptLevel, Origin, Program};
use trueline_toolchain::{CompileRequest, Job, Limits, Scratch, ToolKind, find_compiler, find_tool};

const SAMPLE: &str = r#"
#include <stdio.h>
struct S { int a; unsigned b : 3; struct { short c; } n[2]; };
union U { int i; unsigned char bytes[4]; };
union P { int *p; long l; };
static const int limit = 10, *where = &limit;
struct S s; union U u; union P p;
enum E { RED, GREEN = 5 } colour;
extern int elsewhere;
unsigned long long g[2][3];
static inline int add(int x, const short y) { return x + y; }
#define TWICE(e) ((e) + (e))
int main(void) {
    int i = 0, j = 3;
    for (; i < 3;) i++;
    for (int k = 0; k < 2; ++k) { j += k << 1; if (j > 4) break; else continue; }
    do j--; while (j > 0);
    while (i) { i = i - 1; }
    switch (j) { case 1: i = 2; break; case 2 ... 4: ; default: i = -i; }
    if (i) goto out; else { int i = 7; j = TWICE(i) * -i; }
    ;
out:
    s.b = ~j & 7; g[1][2] = (unsigned char)j ? 1u : 0x10UL;
    printf("%d %d\n", add(i, (short)j), s.b);
    return 0;
}
"#;

fn unit(text: &str) -> SourceUnit {
    parse_text("sample.c", text, &[]).unwrap()
}

fn of_kind(unit: &SourceUnit, wanted: impl Fn(&NodeKind) -> bool) -> Vec<&str> {
    unit.nodes().filter(|(_, n)| wanted(&n.kind)).map(|(id, _)| unit.slice(id)).collect()
}

#[test]
fn statements_carry_their_semicolons_and_their_exact_bytes() {
    let unit = unit(SAMPLE);
    assert_eq!(of_kind(&unit, |k| *k == NodeKind::DoWhile), ["do j--; while (j > 0);"]);
    assert_eq!(of_kind(&unit, |k| *k == NodeKind::While), ["while (i) { i = i - 1; }"]);
    assert_eq!(
        of_kind(&unit, |k| matches!(k, NodeKind::Break | NodeKind::Continue | NodeKind::Goto(_))),
        ["break;", "continue;", "break;", "goto out;"]
    );
    assert_eq!(of_kind(&unit, |k| matches!(k, NodeKind::For { .. }))[0], "for (; i < 3;) i++;");
    assert!(of_kind(&unit, |k| *k == NodeKind::ExprStmt).contains(&"s.b = ~j & 7;"));
    assert!(of_kind(&unit, |k| *k == NodeKind::Null).contains(&";"));
    assert_eq!(of_kind(&unit, |k| matches!(k, NodeKind::Label(l) if l == "out")), ["out:\n    s.b = ~j & 7;"]);
}

#[test]
fn the_clauses_of_a_for_are_told_apart_even_when_some_are_missing() {
    let unit = unit(SAMPLE);
    let clauses: Vec<_> = unit
        .nodes()
        .filter_map(|(_, n)| match n.kind {
            NodeKind::For { init, cond, step } => Some([init, cond, step].map(|c| c.map(|c| unit.slice(c)))),
            _ => None,
        })
        .collect();
    assert_eq!(clauses, [[None, Some("i < 3"), None], [Some("int k = 0;"), Some("k < 2"), Some("++k")]]);
}

#[test]
fn operators_have_kinds_and_token_ranges() {
    let unit = unit(SAMPLE);
    for (id, at) in unit.operators() {
        let token = &unit.text()[at.range()];
        match &unit.node(id).kind {
            NodeKind::Binary(op, _) => assert_eq!(token, op.token()),
            NodeKind::Unary(op, _) => assert_eq!(token, op.token()),
            NodeKind::Assign(Some(op), _) => assert_eq!(token, format!("{op}=")),
            NodeKind::Assign(None, _) => assert_eq!(token, "="),
            other => panic!("{other:?}"),
        }
    }
    assert!(unit.nodes().any(|(_, n)| matches!(n.kind, NodeKind::Binary(BinaryOp::Shl, _))));
    assert!(unit.nodes().any(|(_, n)| matches!(n.kind, NodeKind::Unary(UnaryOp::PostDecrement, _))));
    assert!(unit.nodes().any(|(_, n)| matches!(n.kind, NodeKind::Assign(Some(BinaryOp::Add), _))));
    // What a macro makes is not offered for editing.
    assert!(unit.operators().all(|(_, at)| !unit.text()[..at.start].ends_with("TWICE(i) ") || &unit.text()[at.range()] == "*"));
}

#[test]
fn members_of_records_from_elsewhere_are_not_integers_of_the_program() {
    let source = "#include <stdarg.h>\n#include <time.h>\nstruct own { int a; };\n\
                  void f(int n, ...) { va_list ap; struct tm t; struct own o; va_start(ap, n); o.a = n; va_end(ap); }\n";
    let unit = unit(source);
    let found = unit.integers_in_scope(source.find("o.a = n").unwrap(), 64);
    let paths: Vec<&str> = found.iter().map(|l| l.path.as_str()).collect();
    assert!(paths.contains(&"o.a") && paths.contains(&"n"), "{paths:?}");
    assert!(!paths.iter().any(|p| p.starts_with("ap") || p.starts_with("t.")), "what is in a va_list depends on the level: {paths:?}");
}

#[test]
fn integers_in_scope_know_shadowing_members_bit_fields_and_unions() {
    let unit = unit(SAMPLE);
    let inner = SAMPLE.find("j = TWICE").unwrap();
    let found = unit.integers_in_scope(inner, 64);
    let paths: Vec<&str> = found.iter().map(|l| l.path.as_str()).collect();
    assert_eq!(paths.iter().filter(|p| **p == "i").count(), 1);
    let i = found.iter().find(|l| l.path == "i").unwrap();
    assert!(unit.decl(i.decl).span.start > SAMPLE.find("else {").unwrap(), "the inner i hides the outer one");
    for expected in ["j", "limit", "s.a", "s.b", "s.n[1].c", "u.i", "u.bytes[3]", "colour", "g[1][2]"] {
        assert!(paths.contains(&expected), "{expected} in {paths:?}");
    }
    assert!(!paths.iter().any(|p| p.starts_with("p.") || *p == "elsewhere" || *p == "k"), "{paths:?}");
    let get = |path: &str| found.iter().find(|l| l.path == path).unwrap();
    assert_eq!((get("s.b").width, get("s.b").ty.signed), (Some(3), false));
    assert_eq!((get("limit").access, get("u.i").access, get("j").access), (Access::ReadOnly, Access::ReadOnly, Access::ReadWrite));
    assert_eq!(get("g[1][2]").ty.name(), "unsigned long long");
    assert_eq!(unit.integers_in_scope(inner, 2).iter().filter(|l| l.path.starts_with("g[")).count(), 2);
}

#[test]
fn declarations_show_their_specifiers_and_calls_their_callees() {
    let unit = unit(SAMPLE);
    let decl = |name: &str| unit.decls().find(|(_, d)| d.name == name && d.node.is_some()).unwrap();
    let words = |name: &str| unit.specifier_tokens(decl(name).0).iter().map(|t| t.text).collect::<Vec<_>>();
    assert_eq!(words("where"), ["static", "const", "int"]);
    assert_eq!(words("add"), ["static", "inline", "int"]);
    assert_eq!(words("y"), ["const", "short"]);
    assert_eq!(decl("add").1.kind, DeclKind::Function);
    assert!(matches!(&unit.ty(decl("add").1.ty).kind, CTypeKind::Function { params, .. } if params.len() == 2));
    let callees: Vec<_> = unit.calls().map(|c| (c.callee.clone().unwrap(), c.arguments.len(), SourceUnit::is_oracle_call(&c))).collect();
    assert_eq!(callees, [("printf".to_owned(), 3, true), ("add".to_owned(), 2, false)]);
    assert_eq!(unit.functions().count(), 2);
    let literals: Vec<&str> = unit.integer_literals().map(|n| unit.slice(n)).collect();
    assert!(literals.contains(&"0x10UL") && literals.contains(&"1u"), "{literals:?}");
}

#[test]
fn removals_name_text_that_can_go() {
    let unit = unit(SAMPLE);
    let removals = unit.removals();
    let text = |r: &trueline_ctree::Removal| unit.text()[r.span.range()].to_owned();
    assert!(removals.iter().any(|r| r.kind == RemovalKind::Declaration && text(r) == "static const int limit = 10, *where = &limit;"));
    assert!(removals.iter().any(|r| r.kind == RemovalKind::Declaration && text(r).starts_with("enum E") && text(r).ends_with("colour;")));
    assert!(removals.iter().any(|r| r.kind == RemovalKind::Else && text(r) == " else continue;"));
    assert!(removals.iter().any(|r| r.kind == RemovalKind::Initializer && text(r) == "= 10"));
    // Taking any one statement out never touches a byte outside its span.
    for removal in removals.iter().filter(|r| r.kind == RemovalKind::Statement) {
        let mut edits = Edits::new();
        edits.replace(removal.span, removal.replacement.as_str());
        let edited = edits.apply(unit.text()).unwrap();
        assert!(edited.starts_with(&unit.text()[..removal.span.start]) && edited.ends_with(&unit.text()[removal.span.end..]));
    }
}

#[test]
fn what_is_not_c_is_refused_with_its_line() {
    let error = parse_text("bad.c", "int x;\nint main( { return 0; }\n", &[]).err().unwrap().to_string();
    assert!(error.starts_with("bad.c:2:"), "{error}");
    let error = parse_text("nul.c", "int x;\n\0", &[]).err().unwrap().to_string();
    assert!(error.contains("nul.c:2") && error.contains("NUL"), "{error}");
}

fn csmith(seed: u64) -> Option<Program> {
    let Ok(tool) = find_tool(ToolKind::Csmith, None) else {
        println!("skipped: csmith is not installed");
        return None;
    };
    let outcome = tool.job().args(["--seed", &seed.to_string()]).limits(Limits::seconds(30)).run().unwrap();
    Some(Program {
        name: format!("csmith-{seed}.c"),
        language: Language::C,
        source: outcome.stdout_text(),
        origin: Origin::Generated { generator: "csmith".to_owned(), seed },
        cflags: vec!["-I/usr/include/csmith".to_owned()],
    })
}

fn check_nesting(unit: &SourceUnit) {
    for (id, node) in unit.nodes() {
        for &child in &node.children {
            let inner = unit.node(child);
            assert_eq!(inner.parent, Some(id));
            assert!(node.span.contains(inner.span), "{:?} {} in {:?} {}", inner.kind, inner.span, node.kind, node.span);
        }
        if node.kind.is_statement() && unit.is_text(id) {
            let last = unit.slice(id).as_bytes().last().copied();
            assert!(matches!(last, Some(b';' | b'}')), "{:?} {:?}", node.kind, unit.slice(id));
        }
    }
}

#[test]
fn csmith_programs_parse_as_they_are_and_preprocessed_and_both_behave_the_same() {
    for seed in [7, 8] {
        let Some(program) = csmith(seed) else { return };
        let unit = parse(&program).unwrap();
        check_nesting(&unit);
        assert!(unit.statements().count() > 50);
        assert_eq!(Edits::new().apply(unit.text()).unwrap(), program.source);
        let expanded = preprocess(&program, &find_compiler("gcc").unwrap()).unwrap();
        let unit = parse(&expanded).unwrap();
        check_nesting(&unit);
        assert!(unit.functions().any(|(_, d)| unit.decl(d).name == "crc32_gentab"));
        let mut outputs = Vec::new();
        for (program, compiler) in [(&program, "gcc"), (&expanded, "gcc"), (&expanded, "clang-16")] {
            let Ok(compiler) = find_compiler(compiler) else { continue };
            let scratch = Scratch::new().unwrap();
            let source = scratch.write("p.c", &program.source).unwrap();
            let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("p")).flags(program.cflags.clone());
            let build = compiler.compile(&request).unwrap();
            outputs.push(Job::new(&build.binary).run().unwrap().stdout_text());
        }
        assert!(outputs[0].starts_with("checksum") && outputs.iter().all(|o| *o == outputs[0]), "{outputs:?}");
    }
}

#[test]
fn several_threads_may_parse_at_once() {
    std::thread::scope(|scope| {
        for i in 0..4 {
            scope.spawn(move || {
                for j in 0..10 {
                    let text = format!("int f(int a) {{ return a * {j} + {i}; }}\n");
                    let unit = parse_text("t.c", &text, &[]).unwrap();
                    assert_eq!(unit.integer_literals().count(), 2);
                    assert_eq!(unit.node(unit.roots()[0]).span, Span::new(0, text.len() - 1));
                }
            });
        }
    });
}
