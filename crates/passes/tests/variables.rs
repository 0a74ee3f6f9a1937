//! What happens to variables: one test per kind of error, with what must not be reported beside it.
//!
//! Passes of LLVM make some of these errors, and small modules show them on a stock `opt`; the others are made up as what the
//! hooks would have seen.

use std::path::Path;
use std::sync::Arc;
use trueline_llvm_hook::wire::{
    ArgumentRecord, BlockRecord, ConstantKind, EventKind, FunctionRecord, InstructionRecord, VariableKind, VariableRecord,
};
use trueline_passes::history::History;
use trueline_passes::observation::{Constant, Event, Location, Locations, PassRun, Referents, SourceVariable, StackId};
use trueline_passes::variables::judge::Deviation;
use trueline_passes::variables::{Attention, Described, VariableErrorKind, VariableVerdict, judge_variables};
use trueline_passes::{Detail, Options, VariableError, VariableRule, Watch, analyze_file, find_hook};
use trueline_toolchain::{Limits, ToolKind, find_tool};

// ---- on a stock opt

fn watch(opt: &str, file: &str) -> Option<(Vec<VariableError>, usize)> {
    let Ok(tool) = find_tool(ToolKind::Opt, Some(opt)) else {
        eprintln!("skipped: {opt} is not installed");
        return None;
    };
    let options = Options {
        stage: trueline_passes::PassStage::Optimizer,
        opt: tool,
        hook: find_hook().expect("cargo builds the hook library with this crate"),
        passes: None,
        cc: None,
        level: trueline_model::OptLevel::O2,
        cflags: Vec::new(),
        limits: Limits::seconds(60),
        detail: Detail { watch: Watch::Variables, ..Detail::default() },
        compare_output: true,
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir").join(file);
    let report = analyze_file(&path, &options);
    assert_eq!(report.problems, [], "{opt} {file}");
    Some((report.report.variable_errors, report.report.variables.compared))
}

/// LLVM 16 has calls of `llvm.dbg.value`, 19 has debug records.
const TOOLS: [&str; 2] = ["opt-16", "opt-19"];

#[test]
fn assignments_that_vanish_with_their_blocks_leave_an_older_value() {
    for opt in TOOLS {
        let Some((errors, _)) = watch(opt, "stale-empty-blocks.ll") else { continue };
        let [error] = errors.as_slice() else { panic!("{opt}: {errors:#?}") };
        assert_eq!((error.kind, error.variable.as_str(), error.function.as_str()), (VariableErrorKind::Stale, "x", "f"));
        assert_eq!(error.after, ["dbg_value(1) in %entry"], "{opt}");
        assert_eq!(error.pass, "SimplifyCFGPass");
        assert!(error.site.address != 0, "the place in LLVM is known: {:?}", error.site);
    }
}

#[test]
fn an_older_value_that_a_path_of_the_original_has_too_is_not_stale() {
    for opt in TOOLS {
        let Some((errors, compared)) = watch(opt, "older-value-on-a-path.ll") else { continue };
        assert!(errors.is_empty() && compared == 1, "{opt}: {errors:#?}");
    }
}

#[test]
fn a_value_that_another_took_the_place_of_is_lost_when_nothing_describes_it() {
    for opt in TOOLS {
        let Some((errors, _)) = watch(opt, "lost-localized-global.ll") else { continue };
        let [error] = errors.as_slice() else { panic!("{opt}: {errors:#?}") };
        assert_eq!((error.kind, error.variable.as_str()), (VariableErrorKind::Lost, "p"));
        assert!(error.evidence.contains("took the place"), "{}", error.evidence);
        assert!(error.skeleton.contains("Redescribe(p"), "{}", error.skeleton);
    }
}

#[test]
fn a_salvaged_value_is_neither_lost_nor_wrong() {
    for opt in TOOLS {
        let Some((errors, compared)) = watch(opt, "salvaged.ll") else { continue };
        assert!(errors.is_empty() && compared == 1, "{opt}: {errors:#?}");
    }
}

#[test]
fn an_expression_made_after_the_value_was_changed_is_wrong() {
    for opt in TOOLS {
        let Some((errors, _)) = watch(opt, "wrong-demanded-bits.ll") else { continue };
        let [error] = errors.as_slice() else { panic!("{opt}: {errors:#?}") };
        assert_eq!((error.kind, error.variable.as_str()), (VariableErrorKind::Wrong, "x"));
        assert!(error.counterexample.as_ref().is_some_and(|c| c.contains("the value is 33, the expression gives 1")), "{error:#?}");
    }
}

/// The one error in a module, which is in its first function and not in its second.
fn only_error(opt: &str, file: &str, function: &str) -> Option<VariableError> {
    let (errors, _) = watch(opt, file)?;
    let [error] = errors.as_slice() else { panic!("{opt} {file}: {errors:#?}") };
    assert_eq!((error.function.as_str(), error.instances), (function, 1), "{opt} {file}");
    Some(error.clone())
}

#[test]
fn a_value_that_is_equal_only_where_it_is_used_is_wrong_for_the_variable() {
    for opt in TOOLS {
        let Some(error) = only_error(opt, "equal-only-where-used.ll", "used") else { continue };
        assert_eq!((error.kind, error.variable.as_str()), (VariableErrorKind::Wrong, "q"));
        assert!(error.counterexample.is_some_and(|c| c.contains("%x = ")), "{opt}");
    }
}

#[test]
fn bits_that_nobody_demands_count_for_the_variable() {
    // LLVM 16 does not replace them.
    for opt in ["opt-19", "opt-22"] {
        let Some(error) = only_error(opt, "bits-nobody-demands.ll", "f") else { continue };
        assert_eq!(error.kind, VariableErrorKind::Wrong);
        assert!(error.counterexample.is_some_and(|c| c.contains("with %a = 0 the value is 3, what is described gives 0")), "{opt}");
    }
}

#[test]
fn a_comparison_that_is_inverted_in_place_is_wrong_for_the_variable() {
    for opt in TOOLS {
        let Some(error) = only_error(opt, "inverted-in-place.ll", "f") else { continue };
        assert_eq!(error.kind, VariableErrorKind::Wrong);
        assert!(error.evidence.contains("computes something else now"), "{}", error.evidence);
    }
}

#[test]
fn a_loop_that_is_left_early_shows_the_value_of_its_first_iteration() {
    for opt in TOOLS {
        let Some(error) = only_error(opt, "loop-left-early.ll", "thrice") else { continue };
        assert_eq!(error.kind, VariableErrorKind::Stale);
        assert_eq!(error.counterexample.as_deref(), Some("the value is 7, what is described gives 9"));
    }
}

#[test]
fn an_address_that_nothing_writes_any_more_shows_what_was_there_before() {
    for opt in TOOLS {
        let Some(error) = only_error(opt, "unwritten-slot.ll", "f") else { continue };
        assert_eq!((error.kind, error.evidence.as_str()), (VariableErrorKind::Stale, "nothing writes the address any more"));
    }
}

#[test]
fn a_copy_on_one_way_to_a_phi_must_not_name_the_number_of_another_way() {
    for opt in ["opt-19", "opt-22"] {
        let Some(error) = only_error(opt, "number-of-another-way.ll", "choose") else { continue };
        assert_eq!((error.kind, error.variable.as_str()), (VariableErrorKind::Wrong, "picked"));
        let numbers = error.counterexample.unwrap();
        assert!(numbers.contains("the value is 1, what is described gives 0"), "{opt}: {numbers}");
    }
}

#[test]
fn a_product_whose_constant_changed_its_sign_is_not_the_value_it_had() {
    for opt in ["opt-16", "opt-19", "opt-22"] {
        let Some(error) = only_error(opt, "opposite-constant.ll", "apart") else { continue };
        assert_eq!((error.kind, error.variable.as_str()), (VariableErrorKind::Wrong, "scaled"));
        assert!(error.evidence.contains("another constant") && error.counterexample.is_none(), "{opt}: {error:#?}");
    }
}

#[test]
fn a_conversion_that_no_longer_reads_the_sign_is_wrong_for_a_negative_number() {
    // LLVM 16 does not change it.
    for opt in ["opt-19", "opt-22"] {
        let Some(error) = only_error(opt, "sign-of-a-conversion.ll", "widen") else { continue };
        assert_eq!((error.kind, error.variable.as_str()), (VariableErrorKind::Wrong, "d"));
        assert!(error.counterexample.is_some_and(|c| c.contains("with %n = ")), "{opt}");
    }
}

#[test]
fn a_parameter_that_the_caller_no_longer_passes_is_wrong_as_long_as_it_is_described() {
    let Some((errors, _)) = watch("opt-19", "unpassed-argument.ll") else { return };
    let errors: Vec<_> = errors.iter().filter(|e| e.evidence.contains("passes nothing")).collect();
    let [error] = errors.as_slice() else { panic!("{errors:#?}") };
    assert_eq!((error.kind, error.variable.as_str(), error.function.as_str()), (VariableErrorKind::Wrong, "spare", "inner"));
}

// ---- made up

const ADD: u8 = 8;
const CALL: u8 = 45;
const BR: u8 = 2;
const X: u64 = 500;
const PLAIN: u64 = 600;
const PLUS_7: u64 = 607;
const PLUS_8: u64 = 608;
const SEVEN: u64 = 707;
const EIGHT: u64 = 708;
const POISON: u64 = 799;
const ARGUMENT: u64 = 800;
const FUNCTION: u64 = 1;
const WIDENED: u64 = 609;
const WIDENED_PLUS_7: u64 = 610;

fn inst(at: u64, opcode: u8, operands: &[u64]) -> InstructionRecord {
    let type_code = if opcode == BR { 0 } else { 32 };
    InstructionRecord { at, opcode, is_void: opcode == BR, location: 1001, operands: operands.to_vec(), type_code, ..Default::default() }
}

fn describes(at: u64, values: &[u64], expression: u64) -> VariableRecord {
    let kind = VariableKind::Value;
    VariableRecord { kind, at, values: values.to_vec(), variable: X, expression, location: 1002, address: 0, mark: 0 }
}

/// The instruction with a record in front of it.
fn behind(mut inst: InstructionRecord, record: VariableRecord) -> InstructionRecord {
    inst.records.push(record);
    inst
}

fn function(blocks: Vec<BlockRecord>) -> Vec<Arc<FunctionRecord>> {
    let blocks = blocks.into_iter().map(Arc::new).collect();
    let arguments = vec![ArgumentRecord { at: ARGUMENT, name: "a".into(), type_code: 32, is_ranged: false }];
    vec![Arc::new(FunctionRecord { at: FUNCTION, name: "f".into(), subprogram: 3, arguments, blocks })]
}

fn block(at: u64, successors: &[u64], instructions: Vec<InstructionRecord>) -> BlockRecord {
    BlockRecord { at, name: format!("b{at}"), successors: successors.to_vec(), instructions, ..Default::default() }
}

fn event(kind: EventKind, inst: u64, other: u64) -> Event {
    Event { kind, inst, other, stack: StackId(1) }
}

/// Location 1001 is that of instructions, 1002 that of records, 1003 that of another function.
fn locations() -> Locations {
    let mut locations = Locations::default();
    for (at, line, subprogram) in [(1001, 5, 3), (1002, 0, 3), (1003, 7, 4)] {
        locations.add_at(at, Location { line, column: 1, scope: subprogram, inlined_at: None, file: "a.c".into(), subprogram });
    }
    locations
}

fn referents() -> Referents {
    let mut referents = Referents::default();
    referents.variables.insert(X, SourceVariable { name: "x".into(), line: 2, scope: 3, subprogram: 3, bits: 32 });
    referents.expressions.insert(PLAIN, vec![]);
    referents.expressions.insert(PLUS_7, vec![0x23, 7, 0x9f]);
    referents.expressions.insert(PLUS_8, vec![0x23, 8, 0x9f]);
    referents.expressions.insert(WIDENED, vec![0x1001, 32, 7, 0x1001, 64, 7, 0x9f]);
    referents.expressions.insert(WIDENED_PLUS_7, vec![0x1001, 32, 7, 0x1001, 64, 7, 0x10, 7, 0x22, 0x9f]);
    referents.constants.insert(SEVEN, Constant { type_code: 32, kind: ConstantKind::Integer(7) });
    referents.constants.insert(EIGHT, Constant { type_code: 32, kind: ConstantKind::Integer(8) });
    referents.constants.insert(POISON, Constant { type_code: 32, kind: ConstantKind::Undefined });
    referents
}

fn judged(before: Vec<BlockRecord>, events: Vec<Event>, after: Vec<BlockRecord>) -> Vec<VariableVerdict> {
    judged_on("f", before, events, after, |_| {})
}

fn judged_on(
    unit: &str,
    before: Vec<BlockRecord>,
    events: Vec<Event>,
    after: Vec<BlockRecord>,
    change: impl Fn(&mut FunctionRecord),
) -> Vec<VariableVerdict> {
    let [before, after] = [before, after].map(|blocks| {
        let mut functions = function(blocks);
        functions.iter_mut().for_each(|f| change(Arc::make_mut(f)));
        functions
    });
    let run = PassRun { pass: "Pass".into(), unit: unit.into(), before, after, events, number: 1 };
    let (locations, referents) = (locations(), referents());
    let history = History::follow(&run, &locations);
    let described = Described::of(&history, &referents);
    judge_variables(&history, &referents, &described, Attention::All, 19).verdicts
}

/// %10 = add %a, 7; x is %10; a call; the end.
fn straight(values: &[u64], expression: u64) -> Vec<BlockRecord> {
    let call = behind(inst(11, CALL, &[]), describes(50, values, expression));
    vec![block(100, &[], vec![inst(10, ADD, &[ARGUMENT, SEVEN]), call, inst(12, BR, &[])])]
}

/// The same without the addition.
fn without(values: &[u64], expression: u64) -> Vec<BlockRecord> {
    let mut blocks = straight(values, expression);
    blocks[0].instructions.remove(0);
    blocks
}

fn only(verdicts: Vec<VariableVerdict>) -> VariableVerdict {
    assert_eq!(verdicts.len(), 1, "{verdicts:#?}");
    verdicts.into_iter().next().unwrap()
}

fn deleted() -> Vec<Event> {
    vec![event(EventKind::Redescribe, 10, POISON), event(EventKind::Death, 10, 0)]
}

#[test]
fn a_value_that_is_still_computed_must_stay_described() {
    let verdict = only(judged(straight(&[10], PLAIN), vec![], straight(&[POISON], PLAIN)));
    assert_eq!((verdict.kind, verdict.hidden_by), (VariableErrorKind::Lost, None));
    assert!(judged(straight(&[10], PLAIN), vec![], straight(&[10], PLAIN)).is_empty());
}

#[test]
fn a_deleted_value_that_its_operands_give_is_lost_unless_llvm_was_asked_to_salvage_it() {
    let verdict = only(judged(straight(&[10], PLAIN), deleted(), without(&[POISON], PLAIN)));
    assert_eq!((verdict.kind, verdict.hidden_by), (VariableErrorKind::Lost, None));
    let mut events = deleted();
    events.insert(0, event(EventKind::Salvage, 10, 0));
    let tried = only(judged(straight(&[10], PLAIN), events, without(&[POISON], PLAIN)));
    assert_eq!(tried.hidden_by, Some(VariableRule::SalvageTried));
    // A call's result cannot be computed again.
    let called = |blocks: Vec<BlockRecord>| {
        let mut blocks = blocks;
        blocks[0].instructions[0].opcode = CALL;
        blocks
    };
    assert!(judged(called(straight(&[10], PLAIN)), deleted(), without(&[POISON], PLAIN)).is_empty());
}

#[test]
fn a_value_that_the_pass_found_to_be_undefined_is_not_lost() {
    let mut events = deleted();
    events.insert(0, event(EventKind::Replace, 10, POISON));
    assert!(judged(straight(&[10], PLAIN), events, without(&[POISON], PLAIN)).is_empty());
}

#[test]
fn a_description_taken_from_the_value_that_it_had_followed_is_left_out_by_a_rule() {
    let events = vec![
        event(EventKind::Create, 20, 0),
        event(EventKind::Redescribe, 10, 20),
        event(EventKind::Replace, 10, 20),
        event(EventKind::Death, 10, 0),
    ];
    let mut before = straight(&[10], PLAIN);
    before[0].instructions[0].opcode = CALL;
    let mut after = straight(&[POISON], PLAIN);
    after[0].instructions[0].at = 20;
    assert_eq!(only(judged(before.clone(), events.clone(), after.clone())).hidden_by, Some(VariableRule::RewrittenInPlace));
    // Where the description did not follow, it is the pass that forgot it.
    let forgot: Vec<Event> = events.into_iter().filter(|e| e.kind != EventKind::Redescribe).collect();
    let verdict = only(judged(before, forgot, after));
    assert_eq!((verdict.kind, verdict.hidden_by), (VariableErrorKind::Lost, None));
}

#[test]
fn a_record_overwritten_before_the_next_instruction_is_not_lost() {
    let with_both = |first: Option<u64>| {
        let mut blocks = straight(&[SEVEN], PLAIN);
        if let Some(value) = first {
            blocks[0].instructions[1].records.insert(0, describes(51, &[value], PLAIN));
        }
        blocks
    };
    assert!(judged(with_both(Some(10)), vec![event(EventKind::RecordDeath, 51, 0)], with_both(None)).is_empty());
}

#[test]
fn an_expression_must_give_the_value_that_it_stands_for() {
    let salvaged = || [vec![event(EventKind::Salvage, 10, 0)], deleted()].concat();
    assert!(judged(straight(&[10], PLAIN), salvaged(), without(&[ARGUMENT], PLUS_7)).is_empty());
    let verdict = only(judged(straight(&[10], PLAIN), salvaged(), without(&[ARGUMENT], PLUS_8)));
    assert_eq!(verdict.kind, VariableErrorKind::Wrong);
    let numbers = verdict.counterexample.unwrap();
    assert_eq!(numbers.described.unwrap() as u32, (numbers.value as u32).wrapping_add(1));
}

#[test]
fn an_expression_that_joins_numbers_of_two_types_is_told_by_its_rule() {
    let salvaged = || [vec![event(EventKind::Salvage, 10, 0)], deleted()].concat();
    let verdict = only(judged(straight(&[10], PLAIN), salvaged(), without(&[ARGUMENT], WIDENED_PLUS_7)));
    assert_eq!((verdict.clash, verdict.hidden_by), (Some(0x22), Some(VariableRule::MixedTypes)));
    // One that was so before is not this pass's doing, and a conversion alone joins nothing.
    let verdicts = judged(straight(&[10], WIDENED_PLUS_7), salvaged(), without(&[ARGUMENT], WIDENED_PLUS_7));
    assert!(verdicts.iter().all(|v| v.clash.is_none()), "{verdicts:#?}");
    let verdicts = judged(straight(&[10], PLAIN), salvaged(), without(&[ARGUMENT], WIDENED));
    assert!(verdicts.iter().all(|v| v.clash.is_none()), "{verdicts:#?}");
}

#[test]
fn a_variable_that_is_known_to_be_wrong_needs_no_execution_that_shows_it() {
    // What a call returns may be known by its name, so that nothing is claimed of it unless a debugger shows it wrongly.
    let called = |mut blocks: Vec<BlockRecord>| {
        blocks[0].instructions.insert(0, inst(9, CALL, &[]));
        blocks[0].instructions.iter_mut().filter(|i| i.opcode == ADD).for_each(|i| i.operands[0] = 9);
        blocks
    };
    let judged = |attention: Attention<'_>| {
        let (before, after) = (function(called(straight(&[10], PLAIN))), function(called(without(&[SEVEN], PLAIN))));
        let run = PassRun { pass: "Pass".into(), unit: "f".into(), before, after, events: replaced_by_seven(), number: 1 };
        let (locations, referents) = (locations(), referents());
        let history = History::follow(&run, &locations);
        let described = Described::of(&history, &referents);
        judge_variables(&history, &referents, &described, attention, 19).verdicts
    };
    assert!(judged(Attention::All).is_empty());
    assert!(judged(Attention::Suspect("y")).is_empty(), "another variable is suspected");
    assert_eq!(only(judged(Attention::Suspect("x"))).kind, VariableErrorKind::Wrong);
    assert!(judged(Attention::Only("y", None)).is_empty());
    assert!(judged(Attention::Only("x", None)).is_empty(), "what a pass knew of it may make it seven");
    assert!(judged(Attention::Only("x", Some(8))).is_empty(), "another number is shown later");
    assert_eq!(only(judged(Attention::Only("x", Some(7)))).kind, VariableErrorKind::Wrong);
}

#[test]
fn a_phi_of_other_numbers_is_wrong_whichever_way_leads_to_it() {
    const PHI: u8 = 44;
    let phi = |at: u64, numbers: [u64; 2]| {
        let end = behind(inst(11, CALL, &[]), describes(50, &[at], PLAIN));
        vec![
            block(100, &[101, 102], vec![inst(40, BR, &[])]),
            block(101, &[102], vec![inst(41, BR, &[])]),
            block(102, &[], vec![inst(at, PHI, &numbers), end, inst(12, BR, &[])]),
        ]
    };
    let replaced = || {
        vec![
            event(EventKind::Create, 20, 0),
            event(EventKind::Redescribe, 10, 20),
            event(EventKind::Replace, 10, 20),
            event(EventKind::Death, 10, 0),
        ]
    };
    const FOUR: u64 = 704;
    const NINE: u64 = 709;
    let all = [(SEVEN, 7), (EIGHT, 8), (FOUR, 4), (NINE, 9)];
    let judged = |before: [u64; 2], after: [u64; 2]| {
        let (before, after) = (function(phi(10, before)), function(phi(20, after)));
        let run = PassRun { pass: "Pass".into(), unit: "f".into(), before, after, events: replaced(), number: 1 };
        let (locations, mut referents) = (locations(), referents());
        for (at, number) in all {
            referents.constants.insert(at, Constant { type_code: 32, kind: ConstantKind::Integer(number) });
        }
        let history = History::follow(&run, &locations);
        let described = Described::of(&history, &referents);
        judge_variables(&history, &referents, &described, Attention::All, 19).verdicts
    };
    assert_eq!(only(judged([SEVEN, EIGHT], [FOUR, NINE])).kind, VariableErrorKind::Wrong);
    assert!(judged([SEVEN, EIGHT], [EIGHT, SEVEN]).is_empty(), "which way leads to which number is not known");
}

/// The sum is replaced by a number.
fn replaced_by_seven() -> Vec<Event> {
    [vec![event(EventKind::Replace, 10, SEVEN)], deleted()].concat()
}

#[test]
fn a_value_replaced_by_one_that_is_not_equal_is_wrong() {
    let verdict = only(judged(straight(&[10], PLAIN), replaced_by_seven(), without(&[SEVEN], PLAIN)));
    assert_eq!((verdict.kind, verdict.hidden_by), (VariableErrorKind::Wrong, None));
    let numbers = verdict.counterexample.unwrap();
    assert!(numbers.value != 7 && numbers.described == Some(7), "{numbers:?}");
}

#[test]
fn what_the_pass_may_know_of_a_number_is_not_called_wrong() {
    // A pass on the whole module knows the callers.
    let on_module = judged_on("", straight(&[10], PLAIN), replaced_by_seven(), without(&[SEVEN], PLAIN), |_| {});
    assert!(on_module.is_empty(), "{on_module:#?}");
    // An attribute gives the argument's range.
    let ranged = |function: &mut FunctionRecord| function.arguments[0].is_ranged = true;
    assert!(judged_on("f", straight(&[10], PLAIN), replaced_by_seven(), without(&[SEVEN], PLAIN), ranged).is_empty());
    // What a call returns may be known by its name.
    let called = |mut blocks: Vec<BlockRecord>| {
        blocks[0].instructions.insert(0, inst(9, CALL, &[]));
        blocks[0].instructions.iter_mut().filter(|i| i.opcode == ADD).for_each(|i| i.operands[0] = 9);
        blocks
    };
    assert!(judged(called(straight(&[10], PLAIN)), replaced_by_seven(), called(without(&[SEVEN], PLAIN))).is_empty());
}

#[test]
fn an_instruction_that_was_changed_in_place_is_not_the_value_it_had() {
    let other = |mut blocks: Vec<BlockRecord>| {
        blocks[0].instructions[0].operands[1] = EIGHT;
        blocks
    };
    let verdict = only(judged(straight(&[10], PLAIN), vec![], other(straight(&[10], PLAIN))));
    assert_eq!(verdict.kind, VariableErrorKind::Wrong);
}

/// entry(100) → then(101) | else(102) → end(103): x is 7 in the entry, the argument in both arms; a call at the end.
fn diamond(arms: bool, end: Option<VariableRecord>) -> Vec<BlockRecord> {
    let arm = |at: u64, record: u64| {
        let end = inst(at, BR, &[]);
        if arms { behind(end, describes(record, &[ARGUMENT], PLAIN)) } else { end }
    };
    let call = inst(53, CALL, &[]);
    vec![
        block(100, &[101, 102], vec![behind(inst(50, BR, &[]), describes(60, &[SEVEN], PLAIN))]),
        block(101, &[103], vec![arm(51, 61)]),
        block(102, &[103], vec![arm(52, 62)]),
        block(103, &[], vec![end.map_or(call.clone(), |record| behind(call, record)), inst(54, BR, &[])]),
    ]
}

fn both_deleted() -> Vec<Event> {
    vec![event(EventKind::RecordDeath, 61, 0), event(EventKind::RecordDeath, 62, 0)]
}

#[test]
fn what_a_phi_is_on_one_path_is_not_stale_in_other_words() {
    const PHI: u8 = 44;
    // The start of a loop's counter is salvaged, and behind the pass it is what is shown where the loop is not entered.
    let counted = |start: u64, shown: u64, with_phi: bool| {
        let head = behind(inst(40, BR, &[]), describes(51, &[shown], PLAIN));
        let head = if with_phi { head } else { inst(40, BR, &[]) };
        vec![
            block(100, &[101], vec![inst(10, ADD, &[ARGUMENT, SEVEN]), behind(inst(41, BR, &[]), describes(50, &[ARGUMENT], start))]),
            block(101, &[102, 103], vec![inst(20, PHI, &[10, 21]), inst(22, PHI, &[ARGUMENT, 23]), inst(23, ADD, &[22, SEVEN]), head]),
            block(102, &[101], vec![inst(21, ADD, &[20, SEVEN]), inst(42, BR, &[])]),
            block(103, &[], vec![inst(11, CALL, &[]), inst(12, BR, &[])]),
        ]
    };
    let at_call = |start: u64, shown: u64| {
        let verdicts = judged(counted(start, shown, true), vec![event(EventKind::RecordDeath, 51, 0)], counted(start, shown, false));
        verdicts.into_iter().map(|v| v.kind).collect::<Vec<_>>()
    };
    let (itself, sum_of_another) = (20, 23);
    for shown in [itself, sum_of_another] {
        assert!(at_call(PLUS_7, shown).is_empty(), "{:?}", at_call(PLUS_7, shown));
        assert_eq!(at_call(PLUS_8, shown), [VariableErrorKind::Stale], "another number is none of the phi's");
    }
}

#[test]
fn an_older_assignment_that_reaches_further_than_before_is_stale() {
    let verdicts = judged(diamond(true, None), both_deleted(), diamond(false, None));
    assert!(verdicts.iter().all(|v| v.kind == VariableErrorKind::Stale), "{verdicts:#?}");
    assert_eq!(verdicts.len(), 1, "one report per description");
    // Both assignments made one behind the arms: nothing changes at the call.
    let mut events = both_deleted();
    events.push(event(EventKind::RecordClone, 63, 61));
    let verdicts = judged(diamond(true, None), events, diamond(false, Some(describes(63, &[ARGUMENT], PLAIN))));
    let at_the_end = |v: &VariableVerdict| v.point.is_some_and(|(_, after)| after.block.0 == 3);
    assert!(!verdicts.iter().any(at_the_end), "{verdicts:#?}");
}

#[test]
fn an_older_assignment_on_one_of_several_ways_is_left_out_by_a_rule() {
    // The first arm is gone with its assignment, and the way around the second keeps the value of the entry.
    let mut after = diamond(true, None);
    after[0].successors = vec![103, 102];
    after.remove(1);
    let verdict =
        only(judged(diamond(true, None), vec![event(EventKind::RecordDeath, 61, 0), event(EventKind::Death, 51, 0)], after.clone()));
    assert_eq!((verdict.kind, verdict.hidden_by), (VariableErrorKind::Stale, Some(VariableRule::WaysDisagree)));
    // Without the second assignment all ways have it, and a debugger shows it.
    after[1] = diamond(false, None).remove(2);
    let events = [both_deleted(), vec![event(EventKind::Death, 51, 0)]].concat();
    let verdicts = judged(diamond(true, None), events, after);
    assert!(!verdicts.is_empty() && verdicts.iter().all(|v| v.kind == VariableErrorKind::Stale && v.hidden_by.is_none()), "{verdicts:#?}");
}

#[test]
fn what_lies_too_deep_to_be_followed_is_compared_where_both_sides_compute_it_alike() {
    const DEPTH: u64 = 10;
    const TOP: u64 = 10;
    const REPLACED: u64 = 99;
    // %20 = add %a, BOTTOM; %21 = add %20, 7; …; the last of them plus a number is the variable.
    let chain = |bottom: u64, top: u64, number: u64| {
        let link = |n: u64| inst(20 + n, ADD, &[if n == 0 { ARGUMENT } else { 19 + n }, if n == 0 { bottom } else { SEVEN }]);
        let mut instructions: Vec<_> = (0..DEPTH).map(link).collect();
        instructions.push(inst(top, ADD, &[19 + DEPTH, number]));
        instructions.push(behind(inst(11, CALL, &[]), describes(50, &[top], PLAIN)));
        instructions.push(inst(12, BR, &[]));
        vec![block(100, &[], instructions)]
    };
    let judged = |attention: Attention<'_>, bottom: u64, number: u64| {
        let events = vec![
            event(EventKind::Create, REPLACED, 0),
            event(EventKind::Replace, TOP, REPLACED),
            event(EventKind::Redescribe, TOP, REPLACED),
            event(EventKind::Death, TOP, 0),
        ];
        let (before, after) = (function(chain(SEVEN, TOP, SEVEN)), function(chain(bottom, REPLACED, number)));
        let run = PassRun { pass: "Pass".into(), unit: "f".into(), before, after, events, number: 1 };
        let (locations, referents) = (locations(), referents());
        let history = History::follow(&run, &locations);
        let described = Described::of(&history, &referents);
        judge_variables(&history, &referents, &described, attention, 19).verdicts
    };
    let verdict = only(judged(Attention::Suspect("x"), SEVEN, EIGHT));
    assert_eq!(verdict.counterexample.map(|c| c.by), Some(Deviation::Suspected));
    assert!(judged(Attention::Suspect("x"), SEVEN, SEVEN).is_empty(), "the same sum of the same terms");
    // Equal terms below that are not alike must not be taken for one another: here the other bottom makes up for the other top.
    assert!(judged(Attention::Suspect("x"), EIGHT, EIGHT).is_empty(), "what lies below was changed as well");
    assert!(judged(Attention::All, SEVEN, EIGHT).is_empty(), "nothing is known of the variable");
}

#[test]
fn an_operation_with_another_constant_is_wrong_only_for_a_free_number() {
    const FMUL: u8 = 13;
    let (one, other) = (901, 902);
    let product = |x: u64, constant: u64| {
        let call = behind(inst(11, CALL, &[]), describes(50, &[10], PLAIN));
        vec![block(100, &[], vec![inst(9, CALL, &[]), inst(10, FMUL, &[x, constant]), call, inst(12, BR, &[])])]
    };
    let verdict = only(judged(product(ARGUMENT, one), vec![], product(ARGUMENT, other)));
    assert_eq!((verdict.kind, verdict.counterexample.map(|c| c.by)), (VariableErrorKind::Wrong, Some(Deviation::OtherConstant)));
    assert!(judged(product(ARGUMENT, one), vec![], product(ARGUMENT, one)).is_empty());
    assert!(judged(product(ARGUMENT, POISON), vec![], product(ARGUMENT, other)).is_empty(), "what is undefined may become anything");
    assert!(judged(product(9, one), vec![], product(9, other)).is_empty(), "what a call returns may be known to be zero");
}

#[test]
fn the_number_of_a_way_is_read_from_the_only_copy_beside_the_description() {
    const PHI: u8 = 44;
    const COPY: u64 = 30;
    // Two arms; behind them %20 = phi [7], [8], which is the variable and what is called with.
    let before = |again: &[u64]| {
        let call = behind(inst(21, CALL, &[20]), describes(50, &[20], PLAIN));
        vec![
            block(100, &[101, 102], vec![inst(40, BR, &[])]),
            block(101, &[103], vec![inst(41, BR, &[])]),
            block(102, &[103], vec![inst(42, BR, &[])]),
            block(103, again, vec![inst(20, PHI, &[SEVEN, EIGHT]), call, inst(43, BR, &[])]),
        ]
    };
    // The first arm has copies of the call, and of the description.
    let found = |named: u64, passed: &[u64], again: &[u64]| {
        let mut after = before(again);
        let mut copies: Vec<_> = passed.iter().zip(COPY..).map(|(number, at)| inst(at, CALL, &[*number])).collect();
        copies[0].records.push(describes(51, &[named], PLAIN));
        after[1].instructions.splice(0..0, copies);
        let mut events: Vec<_> = (COPY..).take(passed.len()).map(|at| event(EventKind::Clone, at, 21)).collect();
        events.push(event(EventKind::RecordClone, 51, 50));
        let verdicts = judged(before(again), events, after);
        verdicts.into_iter().filter(|v| v.counterexample.as_ref().is_some_and(|c| c.by == Deviation::OtherWay)).count()
    };
    assert_eq!(found(EIGHT, &[SEVEN], &[]), 1);
    assert_eq!(found(SEVEN, &[SEVEN], &[]), 0, "the number of this way");
    assert_eq!(found(EIGHT, &[ARGUMENT], &[]), 0, "what is passed is no number");
    assert_eq!(found(EIGHT, &[SEVEN, EIGHT], &[]), 0, "copies of two ways, or rounds");
    assert_eq!(found(EIGHT, &[SEVEN], &[103]), 0, "the copy may be of another round");
}

#[test]
fn an_argument_that_a_caller_no_longer_passes_does_not_describe_a_variable() {
    const CALLER: u64 = 2;
    const THERE: u64 = 10;
    let judged = |passed: u64, now: u64, describes_it: bool| {
        let module = |argument: u64| {
            let value = if describes_it { ARGUMENT } else { SEVEN };
            let mut both = function(without(&[value], PLAIN));
            let call = InstructionRecord { callee: "f".into(), ..inst(32, CALL, &[argument, FUNCTION]) };
            let body = vec![inst(THERE + 20, ADD, &[SEVEN, EIGHT]), call, inst(33, BR, &[])];
            let mut caller = Arc::unwrap_or_clone(function(vec![block(200, &[], body)]).remove(0));
            (caller.at, caller.name, caller.subprogram, caller.arguments) = (CALLER, "g".into(), 4, vec![]);
            both.push(Arc::new(caller));
            both
        };
        let (before, after) = (module(passed), module(now));
        let run = PassRun { pass: "Pass".into(), unit: String::new(), before, after, events: vec![], number: 1 };
        let (locations, referents) = (locations(), referents());
        let history = History::follow(&run, &locations);
        let described = Described::of(&history, &referents);
        judge_variables(&history, &referents, &described, Attention::All, 19).verdicts
    };
    for passed in [SEVEN, THERE + 20] {
        let verdict = only(judged(passed, POISON, true));
        assert_eq!((verdict.kind, verdict.counterexample.map(|c| c.by)), (VariableErrorKind::Wrong, Some(Deviation::Unpassed)));
    }
    assert!(judged(SEVEN, EIGHT, true).is_empty(), "another number is passed");
    assert!(judged(POISON, POISON, true).is_empty(), "nothing was passed before");
    assert!(judged(SEVEN, POISON, false).is_empty(), "the variable is described by something else");
}

#[test]
fn a_description_in_front_of_its_value_is_misplaced() {
    let early = vec![block(
        100,
        &[],
        vec![behind(inst(11, CALL, &[]), describes(50, &[10], PLAIN)), inst(10, ADD, &[ARGUMENT, SEVEN]), inst(12, BR, &[])],
    )];
    let verdicts = judged(straight(&[10], PLAIN), vec![event(EventKind::Move, 10, 0)], early.clone());
    assert!(verdicts.iter().any(|v| v.kind == VariableErrorKind::Misplaced), "{verdicts:#?}");
    // One that was so before is not this pass's doing.
    assert!(judged(early.clone(), vec![], early).is_empty());
}

#[test]
fn a_description_in_another_functions_scope_is_misplaced() {
    let with = |location: u64, value: u64| {
        let mut blocks = straight(&[value], PLAIN);
        blocks[0].instructions[1].records[0].location = location;
        blocks
    };
    let verdicts = judged(with(1002, 10), vec![], with(1003, SEVEN));
    assert!(verdicts.iter().any(|v| v.kind == VariableErrorKind::Misplaced), "{verdicts:#?}");
}

#[test]
fn a_variable_that_is_out_of_scope_at_an_instruction_is_not_compared_there() {
    let outside = |blocks: Vec<BlockRecord>| {
        let mut blocks = blocks;
        blocks[0].instructions.iter_mut().for_each(|i| i.location = 1003);
        blocks
    };
    assert!(judged(outside(straight(&[10], PLAIN)), vec![], outside(straight(&[POISON], PLAIN))).is_empty());
}

#[test]
fn every_rule_on_variables_has_a_name_of_its_own_and_cites_the_guide() {
    let mut names: Vec<&str> = VariableRule::ALL.iter().map(|r| r.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), VariableRule::ALL.len());
    assert!(VariableRule::ALL.iter().all(|r| !r.section().is_empty() && !r.reason().is_empty()));
}
