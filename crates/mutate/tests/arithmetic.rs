//! Our arithmetic against compiled C: gcc and clang must agree with every operator and conversion on
//! random operands of every type. Many expressions go into one program, since compiling is what costs.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt::Write;
use trueline_ctree::{BinaryOp, IntType, UnaryOp};
use trueline_model::{Language, OptLevel};
use trueline_mutate::{
    Env, EnvSlot, IntValue, KnownNumbers, MutationDice, Progression, SafeExpr, binary, convert, syn_expr, syn_pred, unary,
};
use trueline_toolchain::{CompileRequest, DebugInfo, Job, Limits, Scratch, find_compiler};

/// One computation: its text in C, and what we say it is.
#[derive(Clone, Debug)]
struct Case {
    declarations: String,
    text: String,
    expected: IntValue,
}

fn any_type() -> impl Strategy<Value = IntType> {
    prop::sample::select(IntType::ALL.to_vec())
}

/// Numbers that matter: small, at the borders of some type, any.
fn any_number() -> impl Strategy<Value = i128> {
    let border = (0u32..=64, -1i128..=1).prop_map(|(bits, delta)| (1i128 << bits) + delta);
    prop_oneof![-4i128..40, border.clone(), border.prop_map(|n| -n), any::<i64>().prop_map(i128::from), any::<u64>().prop_map(i128::from)]
}

fn any_value() -> impl Strategy<Value = IntValue> {
    (any_type(), any_number()).prop_map(|(ty, n)| IntValue::new(ty, n))
}

fn declare(name: &str, value: IntValue) -> String {
    // Through unsigned long long, because the smallest numbers have no literals.
    format!("volatile {} {name} = ({})0x{:x}ULL;", value.ty.name(), value.ty.name(), value.n as u64)
}

fn any_case() -> impl Strategy<Value = Option<Case>> {
    let ops: Vec<BinaryOp> = BinaryOp::ALL.to_vec();
    let binary_case = (prop::sample::select(ops), any_value(), any_value()).prop_map(|(op, a, b)| {
        let expected = binary(op, a, b)?;
        Some(Case { declarations: format!("{} {}", declare("a", a), declare("b", b)), text: format!("a {op} b"), expected })
    });
    let unary_ops = vec![UnaryOp::Plus, UnaryOp::Minus, UnaryOp::BitNot, UnaryOp::Not];
    let unary_case = (prop::sample::select(unary_ops), any_value()).prop_map(|(op, a)| {
        let expected = unary(op, a)?;
        Some(Case { declarations: declare("a", a), text: format!("{op}a"), expected })
    });
    let cast_case = (any_value(), any_type())
        .prop_map(|(a, ty)| Some(Case { declarations: declare("a", a), text: format!("({})a", ty.name()), expected: convert(a, ty) }));
    prop_oneof![8 => binary_case, 2 => unary_case, 2 => cast_case]
}

/// A program that checks every case's value and type, and prints the numbers of those that differ.
fn program(cases: &[Case]) -> String {
    let mut text = "extern int printf(const char *, ...);\n".to_owned();
    for (i, case) in cases.iter().enumerate() {
        // Casts to types below int keep them; everything else is promoted.
        let ty = case.expected.ty;
        let expected = format!("({})0x{:x}ULL", ty.name(), case.expected.n as u64);
        writeln!(
            text,
            "static void c{i}(void) {{ {} if (({}) != {expected} || !_Generic(({}), {}: 1, default: 0)) printf(\"{i}\\n\"); }}",
            case.declarations,
            case.text,
            case.text,
            ty.name()
        )
        .unwrap();
    }
    text.push_str("int main(void) {\n");
    for i in 0..cases.len() {
        writeln!(text, "  c{i}();").unwrap();
    }
    text.push_str("  printf(\"done\\n\");\n  return 0;\n}\n");
    text
}

fn output(text: &str, compiler: &str, flags: &[&str]) -> Option<String> {
    let Ok(compiler) = find_compiler(compiler) else {
        println!("skipped: {compiler} is not installed");
        return None;
    };
    let scratch = Scratch::new().unwrap();
    let source = scratch.write("a.c", text).unwrap();
    let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("a")).debug(DebugInfo::None);
    let build = compiler.compile(&request.flags(flags.iter().map(|f| (*f).to_owned()))).unwrap();
    let outcome = Job::new(&build.binary).limits(Limits { memory: None, ..Limits::seconds(20) }).run().unwrap();
    Some(format!("{}{}", outcome.stdout_text(), outcome.stderr_text()))
}

fn check(cases: &[Case]) {
    let text = program(cases);
    let ubsan: &[&str] = &["-fsanitize=undefined"];
    for (compiler, flags) in [("gcc", &[] as &[&str]), ("clang-16", &[]), ("clang-16", ubsan)] {
        let Some(printed) = output(&text, compiler, flags) else { continue };
        let wrong: Vec<&Case> = printed.lines().filter_map(|l| cases.get(l.parse::<usize>().ok()?)).collect();
        assert!(printed == "done\n", "{compiler} {flags:?} disagrees: {wrong:#?}\n{printed}");
    }
}

#[test]
fn every_operator_and_conversion_agrees_with_compiled_c() {
    let mut runner = TestRunner::new_with_rng(Config { cases: 1, ..Config::default() }, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = prop::collection::vec(any_case(), 3000);
    let drawn = strategy.new_tree(&mut runner).unwrap().current();
    let cases: Vec<Case> = drawn.into_iter().flatten().collect();
    assert!(cases.len() > 2000, "{} cases are defined", cases.len());
    for op in BinaryOp::ALL {
        let token = format!("a {op} b");
        assert!(cases.iter().filter(|c| c.text == token).count() > 10, "{op} is drawn too rarely");
    }
    check(&cases);
}

#[test]
fn what_we_call_undefined_ubsan_calls_undefined() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = (prop::sample::select(BinaryOp::ALL.to_vec()), any_value(), any_value());
    let mut text = "extern int printf(const char *, ...); volatile int sink;\n".to_owned();
    let mut count = 0;
    while count < 150 {
        let (op, a, b) = strategy.new_tree(&mut runner).unwrap().current();
        if binary(op, a, b).is_some() || (matches!(op, BinaryOp::Div | BinaryOp::Rem)) {
            continue; // division would end the program
        }
        writeln!(text, "static void c{count}(void) {{ {} {} sink = (int)(a {op} b);", declare("a", a), declare("b", b)).unwrap();
        text.push_str("}\n");
        count += 1;
    }
    text.push_str("int main(void) {\n");
    for i in 0..count {
        writeln!(text, "  c{i}();").unwrap();
    }
    text.push_str("  return 0;\n}\n");
    let Some(printed) = output(&text, "clang-16", &["-fsanitize=undefined", "-g"]) else { return };
    let reports = printed.matches("runtime error").count();
    assert_eq!(reports, count, "{printed}");
}

/// An environment of variables with one to three values each, one of which may be a counter with more than can be listed.
fn any_env() -> impl Strategy<Value = Env> {
    let slot = (any_type(), prop::collection::btree_set(any_number(), 1..4));
    let counter = prop::option::of((any_type(), -40i128..40, 65i128..90, 1i128..7));
    (prop::collection::vec(slot, 1..5), counter).prop_map(|(slots, counter)| {
        let few = slots.into_iter().map(|(ty, numbers)| (ty, numbers.into_iter().map(|n| IntValue::new(ty, n).n).collect()));
        let many = counter.map(|(ty, low, count, step)| {
            let low = if ty.signed { low } else { low.abs() };
            (ty, KnownNumbers::spaced(Progression::new(low, low + (count - 1) * step, step)))
        });
        // A small type does not hold all of a counter.
        let many = many.filter(|(ty, all)| ty.bits() > 8 && all.listed().is_none());
        let slots = few.chain(many).enumerate().map(|(i, (ty, values))| EnvSlot {
            path: format!("v{i}"),
            ty,
            width: None,
            access: trueline_ctree::Access::ReadWrite,
            reach: trueline_ctree::VariableReach::Local,
            values,
        });
        Env { slots: slots.collect() }
    })
}

/// Each number of a set.
fn each(numbers: &KnownNumbers) -> Vec<i128> {
    match numbers {
        KnownNumbers::Listed(all) => all.iter().copied().collect(),
        KnownNumbers::Spaced(all) => (0..=(all.high - all.low) / all.step).map(|k| all.low + k * all.step).collect(),
    }
}

/// A condition of C that says whether `x` is among them.
fn membership(numbers: &KnownNumbers, ty: IntType) -> String {
    let literal = |n: i128| format!("({})0x{:x}ULL", ty.name(), n as u64);
    match numbers {
        KnownNumbers::Listed(all) => all.iter().map(|n| format!("x == {}", literal(*n))).collect::<Vec<_>>().join(" || "),
        KnownNumbers::Spaced(Progression { low, high, step }) => {
            let (low, high) = (literal(*low), literal(*high));
            format!("x >= {low} && x <= {high} && ((__int128)x - (__int128){low}) % (__int128)0x{step:x}ULL == 0")
        }
    }
}

/// Loops over every state of an environment around a statement.
fn for_all_states(env: &Env, statement: &str) -> String {
    let mut open = String::new();
    for slot in &env.slots {
        let values: Vec<String> = each(&slot.values).iter().map(|n| format!("({})0x{:x}ULL", slot.ty.name(), *n as u64)).collect();
        write!(
            open,
            "{{ static const {} t_{}[] = {{ {} }}; for (unsigned i_{} = 0; i_{} < {}; i_{}++) {{ volatile {} {} = t_{}[i_{}]; ",
            slot.ty.name(),
            slot.path,
            values.join(", "),
            slot.path,
            slot.path,
            values.len(),
            slot.path,
            slot.ty.name(),
            slot.path,
            slot.path,
            slot.path
        )
        .unwrap();
    }
    format!("{open}{statement}{}", "}}".repeat(env.slots.len()))
}

#[test]
fn synthesized_expressions_and_predicates_have_the_values_we_computed() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut text = "extern int printf(const char *, ...);\n".to_owned();
    let count = 200;
    let mut sources = Vec::new();
    let mut intervals = 0;
    for i in 0..count {
        let env = any_env().new_tree(&mut runner).unwrap().current();
        let mut dice = MutationDice::new(i, 0);
        let (expr, values): (SafeExpr, _) = syn_expr(&env, &mut dice);
        intervals += usize::from(values.numbers.listed().is_none());
        let fits = membership(&values.numbers, values.ty);
        let (yes, no) = (syn_pred(&env, true, 2, &mut dice), syn_pred(&env, false, 2, &mut dice));
        let check = format!(
            "{} x = {expr}; if (!({})) printf(\"{i} value\\n\"); if (!({yes})) printf(\"{i} true\\n\"); if ({no}) printf(\"{i} false\\n\");",
            values.ty.name(),
            fits
        );
        sources.push(check.clone());
        writeln!(text, "static void c{i}(void) {{ {} }}", for_all_states(&env, &check)).unwrap();
    }
    text.push_str("int main(void) {\n");
    for i in 0..count {
        writeln!(text, "  c{i}();").unwrap();
    }
    text.push_str("  printf(\"done\\n\");\n  return 0;\n}\n");
    assert!(intervals > 10, "only {intervals} expressions have values that are not listed");
    for (compiler, flags) in [("gcc", &[] as &[&str]), ("clang-16", &["-fsanitize=undefined"])] {
        let Some(printed) = output(&text, compiler, flags) else { continue };
        let first = printed.split(' ').next().and_then(|n| n.parse::<usize>().ok()).and_then(|i| sources.get(i));
        assert!(printed == "done\n", "{compiler}: {printed}\n{first:?}");
    }
}
