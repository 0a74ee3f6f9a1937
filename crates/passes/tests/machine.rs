//! Machine passes by their text: each kind of error and each rule on functions of a few lines, written as LLVM prints them,
//! and programs through real compilers.

use std::collections::HashMap;
use trueline_passes::machine::metadata::ModuleMetadata;
use trueline_passes::machine::report::{MachineFindings, MirObservation, for_each_execution};
use trueline_passes::machine::selection::read_ir;
use trueline_passes::machine::text;
use trueline_passes::{
    Detail, ErrorKind, FileReport, Manipulation, Operation, Options, PassStage, Rule, VariableErrorKind, VariableRule, analyze_file,
    find_hook,
};
use trueline_toolchain::{Limits, Scratch, ToolKind, find_compiler, find_tool};

/// Lines 1 to 9 are `!101` to `!109`; variable `v` is `!20`.
fn module() -> String {
    let mut text = "!1 = !DIFile(filename: \"a.c\")\n!9 = distinct !DISubprogram(name: \"f\", file: !1)\n\
                    !20 = !DILocalVariable(name: \"v\", scope: !9, file: !1, line: 1)\n!100 = !DILocation(line: 0, scope: !9)\n"
        .to_owned();
    (1..10).for_each(|line| text.push_str(&format!("!{} = !DILocation(line: {line}, column: 1, scope: !9)\n", 100 + line)));
    text
}

/// A function in short: `@` at the end of a line gives its location's line, `v=` describes the variable.
fn function(body: &str, properties: &str) -> String {
    let mut text = format!("# Machine code for function f: {properties}\n\n");
    for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let line = if let Some(value) = line.strip_prefix("v=") {
            match value.strip_prefix('#') {
                Some(number) => format!(
                    "  DBG_INSTR_REF !\"v\", !DIExpression(DW_OP_LLVM_arg, 0), dbg-instr-ref({number}, 0), debug-location !100; a.c:0 line no:1"
                ),
                None => format!("  DBG_VALUE {value}, $noreg, !\"v\", !DIExpression(), debug-location !100; a.c:0 line no:1"),
            }
        } else if let Some((inst, at)) = line.rsplit_once('@') {
            format!("  {}, debug-location !10{}; a.c:{}:1", inst.trim(), at.trim(), at.trim())
        } else if line.starts_with("bb.") {
            line.to_owned()
        } else {
            format!("  {line}")
        };
        text.push_str(&line);
        text.push('\n');
    }
    text + "\n# End machine code for function f.\n"
}

fn observe(passes: &[(&str, &str)], properties: &str) -> MirObservation {
    let mut metadata = ModuleMetadata::read(&module());
    let printed: Vec<String> = passes
        .iter()
        .map(|(pass, body)| format!("*** IR Dump After Some Pass ({pass}) on f ***\n{}", function(body, properties)))
        .collect();
    let dumps = text::read(&printed.concat(), &mut metadata);
    MirObservation { metadata, ir: Vec::new(), dumps, substitutions: HashMap::new() }
}

fn judged(seen: &MirObservation) -> MachineFindings {
    let mut last = MachineFindings::default();
    for_each_execution(seen, |_| true, |_, findings| last = findings);
    last
}

/// What a pass did between two texts, in static single assignment form.
fn pass(before: &str, after: &str) -> MachineFindings {
    judged(&observe(&[("first", before), ("some-pass", after)], "IsSSA, TracksLiveness"))
}

/// The same with machine registers.
fn late_pass(before: &str, after: &str) -> MachineFindings {
    judged(&observe(&[("first", before), ("some-pass", after)], "NoPHIs, NoVRegs"))
}

/// bb.0 leads to bb.1 and bb.2, both to bb.3.
fn diamond(entry: &str, then: &str, other: &str, end: &str) -> String {
    format!(
        "bb.0.entry:\nsuccessors: %bb.1(0x1), %bb.2(0x1)\n{entry}\nJCC_1 %bb.2, 4, implicit $eflags @1\n\
         bb.1.then:\nsuccessors: %bb.3(0x1)\n{then}\nJMP_1 %bb.3 @2\n\
         bb.2.else:\nsuccessors: %bb.3(0x1)\n{other}\nJMP_1 %bb.3 @3\n\
         bb.3.end:\n{end}\nRET 0 @9\n"
    )
}

fn only<T: std::fmt::Debug>(list: &[T]) -> &T {
    assert_eq!(list.len(), 1, "{list:#?}");
    &list[0]
}

#[test]
fn an_instruction_made_anew_in_its_block_must_keep_its_location() {
    let before = "bb.0:\n%1:gr32 = MOV32ri 4 @4\n%2:gr32 = MOVZX32rr8 %1:gr32 @5\nRET 0, %2 @9";
    let lost = pass(before, &before.replace("MOVZX32rr8 %1:gr32 @5", "INSERT_SUBREG %7:gr32, %1:gr32, 1"));
    let error = only(&lost.locations);
    assert_eq!((error.kind, error.expected, error.hidden_by), (ErrorKind::Lost, Operation::Preserve, None));
    assert!(pass(before, &before.replace("MOVZX32rr8 %1:gr32 @5", "INSERT_SUBREG %7:gr32, %1:gr32, 1 @5")).locations.is_empty());
}

#[test]
fn a_reload_is_not_the_load_that_was_there_before() {
    let before = "bb.0:\n%1:gr64 = MOV64rm %9:gr64, 1, $noreg, 0, $noreg @4\nRET 0, %1 @9";
    let after = "bb.0:\n%7:gr64 = MOV64rm %stack.2, 1, $noreg, 0, $noreg\nRET 0, %7 @9";
    assert!(late_pass(before, after).locations.is_empty());
}

#[test]
fn a_branch_that_replaces_a_branch_of_its_block_must_keep_its_location() {
    let before = diamond("", "", "", "");
    let lost = late_pass(&before, &before.replace("JCC_1 %bb.2, 4, implicit $eflags @1", "JCC_1 %bb.1, 5, implicit $eflags"));
    assert_eq!(only(&lost.locations).kind, ErrorKind::Lost);
}

#[test]
fn a_branch_made_for_another_edge_with_the_line_of_one_arm_is_told_by_its_rule() {
    // The end of one arm leads elsewhere now, by a branch that has the line of the other arm.
    let before = format!("{}bb.4.exit:\nRET 0 @9\n", diamond("", "%5:gr32 = MOV32ri 6 @5", "%6:gr32 = MOV32ri 6 @6", ""));
    let after = |line: &str| {
        before.replace("successors: %bb.3(0x1)\n%5", "successors: %bb.4(0x1)\n%5").replace("JMP_1 %bb.3 @2", &format!("JMP_1 %bb.4{line}"))
    };
    let lent = late_pass(&before, &after(" @6"));
    let error = only(&lent.locations);
    assert_eq!((error.kind, error.manipulation), (ErrorKind::Incorrect, Manipulation::Insert));
    assert_eq!((error.hidden_by, error.dst.line), (Some(Rule::StandsForNothing), Some(6)));
    assert!(late_pass(&before, &after("")).locations.is_empty(), "none is right for a branch that stands for none");
}

#[test]
fn an_instruction_hoisted_above_a_branch_must_lose_its_location() {
    let add = "%5:gr32 = ADD32ri %4:gr32, 7";
    let before = diamond("", &format!("{add} @5"), "%6:gr32 = MOV32ri 6 @6", "");
    let kept = pass(&before, &diamond(&format!("{add} @5"), "", "%6:gr32 = MOV32ri 6 @6", ""));
    let error = only(&kept.locations);
    assert_eq!((error.kind, error.expected, error.hidden_by), (ErrorKind::Incorrect, Operation::Drop, None));
    assert!(error.evidence.is_some());
    assert!(pass(&before, &diamond(add, "", "%6:gr32 = MOV32ri 6 @6", "")).locations.is_empty());
    // Sunk to where only some paths go, it may keep or lose it.
    let early = diamond(&format!("{add} @5"), "", "", "");
    assert!(pass(&early, &diamond("", &format!("{add} @5"), "", "")).locations.is_empty());
    assert_eq!(only(&pass(&early, &diamond("", add, "", "")).locations).hidden_by, Some(Rule::LeftItsBlock));
}

#[test]
fn a_call_keeps_its_location_wherever_it_goes() {
    let call = "CALL64pcrel32 @g, <regmask $rbx>, implicit $rsp @5";
    let moved = late_pass(&diamond("", call, "$eax = MOV32ri 6 @6", ""), &diamond(call, "", "$eax = MOV32ri 6 @6", ""));
    assert_eq!(only(&moved.locations).hidden_by, Some(Rule::CallKeepsLocation));
}

#[test]
fn the_same_instruction_of_two_branches_hoisted_as_one_must_have_both_locations() {
    let add = "$ecx = ADD32ri $ecx, 7";
    let before = diamond("", &format!("{add} @5"), &format!("{add} @6"), "");
    let kept = late_pass(&before, &diamond(&format!("{add} @5"), "", "", ""));
    let error = only(&kept.locations);
    assert_eq!((error.kind, error.expected, error.observed), (ErrorKind::Incorrect, Operation::Merge, Operation::Preserve));
    assert_eq!(error.srcs.len(), 2);
    let merged = late_pass(&before, &diamond(add, "", "", ""));
    assert_eq!(only(&merged.locations).hidden_by, Some(Rule::MergeHasNoLine));
}

#[test]
fn another_order_within_a_block_changes_no_location() {
    let before = "bb.0:\n$eax = MOV32ri 4 @4\n$ecx = MOV32ri 5 @5\nRET 0 @9";
    let after = "bb.0:\n$ecx = MOV32ri 5 @5\n$eax = MOV32ri 4 @4\nRET 0 @9";
    assert!(late_pass(before, after).locations.is_empty());
}

#[test]
fn a_text_over_registers_met_once_more_is_no_copy() {
    let zero = "$eax = XOR32rr $eax, $eax";
    let before = diamond("", &format!("{zero} @5"), "", "");
    assert!(late_pass(&before, &diamond("", &format!("{zero} @5"), &format!("{zero} @6"), "")).locations.is_empty());
}

#[test]
fn a_described_instruction_that_loses_its_number_loses_the_variable() {
    let before = "bb.0:\n%2:gr32 = MOVZX32rr8 %1:gr32, debug-instr-number 1 @5\nv=#1\nRET 0, %2 @9";
    let after = "bb.0:\n%2:gr32 = INSERT_SUBREG %7:gr32, %1:gr32, 1 @5\nv=#1\nRET 0, %2 @9";
    let mut seen = observe(&[("first", before), ("x86-fixup-setcc", after)], "IsSSA");
    let lost = judged(&seen);
    let error = only(&lost.variables);
    assert_eq!((error.kind, error.hidden_by, error.variable.as_str()), (VariableErrorKind::Lost, None, "v"));
    assert_eq!(error.site.file.as_deref(), Some("llvm/lib/Target/X86/X86FixupSetCC.cpp"));
    // LLVM's table says which instruction stands for it.
    let numbered = after.replace("%1:gr32, 1 @5", "%1:gr32, 1, debug-instr-number 2 @5");
    seen = observe(&[("first", before), ("x86-fixup-setcc", &numbered)], "IsSSA");
    seen.substitutions.entry("f".to_owned()).or_default().insert((1, 0), (2, 0));
    assert!(judged(&seen).variables.is_empty());
}

#[test]
fn a_value_that_is_computed_nowhere_any_more_is_allowed_to_be_gone() {
    let before = "bb.0:\n%2:gr32 = MOVZX32rr8 %1:gr32, debug-instr-number 1 @5\nv=#1\nRET 0 @9";
    let gone = pass(before, "bb.0:\nv=#1\nRET 0 @9");
    assert_eq!(only(&gone.variables).hidden_by, Some(VariableRule::ValueGone));
}

#[test]
fn numbers_of_phis_are_kept_aside_until_registers_are_allocated() {
    let before =
        "bb.0:\nsuccessors: %bb.1(0x1)\nJMP_1 %bb.1 @1\nbb.1.loop:\n%2:gr32 = PHI %1:gr32, %bb.0, debug-instr-number 1\nv=#1\nRET 0, %2 @9";
    let after = before.replace("%2:gr32 = PHI %1:gr32, %bb.0, debug-instr-number 1", "%2:gr32 = COPY %1:gr32");
    assert!(judged(&observe(&[("first", before), ("phi-node-elimination", &after)], "IsSSA")).variables.is_empty());
    assert!(!judged(&observe(&[("first", before), ("some-pass", &after)], "IsSSA")).variables.is_empty());
}

#[test]
fn a_constant_that_is_not_described_any_more_is_lost() {
    let before = "bb.0:\nv=4\n$ecx = MOV32ri 5 @5\nRET 0 @9";
    let error_of = |after: &str| late_pass(before, after).variables;
    let lost = error_of("bb.0:\n$ecx = MOV32ri 5 @5\nRET 0 @9");
    assert_eq!((only(&lost).kind, only(&lost).hidden_by), (VariableErrorKind::Lost, None));
    assert!(error_of(before).is_empty());
    // Overwritten before the next instruction, it had nothing to show.
    let twice = "bb.0:\nv=3\nv=4\n$ecx = MOV32ri 5 @5\nRET 0 @9";
    assert!(late_pass(twice, before).variables.is_empty());
}

#[test]
fn an_older_assignment_that_reaches_further_than_before_is_stale() {
    let before = "bb.0:\nv=3\n$eax = MOV32ri 4 @4\nv=5\n$ecx = MOV32ri 5 @5\nRET 0 @9";
    let after = "bb.0:\nv=3\n$eax = MOV32ri 4 @4\n$ecx = MOV32ri 5 @5\nv=5\nRET 0 @9";
    let stale = late_pass(before, after).variables;
    let error = only(&stale);
    assert_eq!((error.kind, error.hidden_by), (VariableErrorKind::Stale, None));
    assert_eq!((error.before.as_slice(), error.after.as_slice()), (&["5".to_owned()][..], &["3".to_owned()][..]));
}

#[test]
fn an_undefined_description_that_is_removed_lets_an_older_one_come_back() {
    let before = "bb.0:\nv=#1\n$eax = MOV32ri 4, debug-instr-number 1 @4\nv=$noreg\n$ecx = MOV32ri 5 @5\nRET 0 @9";
    let stale = late_pass(before, &before.replace("v=$noreg\n", "")).variables;
    assert_eq!((only(&stale).kind, only(&stale).hidden_by), (VariableErrorKind::Stale, None));
}

/// LLVM's guide on scheduling: a delayed value leaves the variable undefined, an advanced one keeps its description in place.
#[test]
fn a_description_that_moves_with_its_computation_shows_a_state_that_never_was() {
    let before = "bb.0:\nv=3\n$eax = MOV32ri 4, debug-instr-number 1 @4\nv=#1\n$ecx = MOV32ri 5 @5\n$edx = MOV32ri 6 @6\nRET 0 @9";
    let delayed = "bb.0:\nv=3\n$ecx = MOV32ri 5 @5\n$edx = MOV32ri 6 @6\n$eax = MOV32ri 4, debug-instr-number 1 @4\nv=#1\nRET 0 @9";
    let stale = |before: &str, after: &str| late_pass(before, after).variables;
    assert!(only(&stale(before, delayed)).evidence.contains("only computed behind"));
    assert!(only(&stale(delayed, before)).evidence.contains("went ahead"));
    let undefined = delayed.replace("v=3\n$ecx", "v=3\nv=$noreg\n$ecx");
    let honest = stale(before, &undefined);
    assert!(honest.iter().all(|e| e.hidden_by == Some(VariableRule::ValueGone)), "undefined until the value is there: {honest:#?}");
    let in_place = "bb.0:\nv=3\n$eax = MOV32ri 4, debug-instr-number 1 @4\n$ecx = MOV32ri 5 @5\n$edx = MOV32ri 6 @6\nv=#1\nRET 0 @9";
    assert!(stale(delayed, in_place).is_empty(), "the description stayed behind the others");
}

#[test]
fn a_register_that_is_written_between_shows_another_value() {
    let before = "bb.0:\n$eax = MOV32ri 4 @4\nv=$eax\n$eax = MOV32ri 5 @5\nRET 0 @9";
    let after = "bb.0:\n$eax = MOV32ri 4 @4\n$eax = MOV32ri 5 @5\nv=$eax\nRET 0 @9";
    let wrong = late_pass(before, after).variables;
    assert!(wrong.iter().any(|e| e.kind == VariableErrorKind::Wrong && e.hidden_by.is_none()), "{wrong:#?}");
    let early = "bb.0:\nv=$eax\n$eax = MOV32ri 4 @4\n$eax = MOV32ri 5 @5\nRET 0 @9";
    let misplaced = late_pass(before, early).variables;
    assert!(misplaced.iter().any(|e| e.kind == VariableErrorKind::Misplaced), "{misplaced:#?}");
}

#[test]
fn an_argument_that_selection_describes_no_more_is_lost() {
    let ir = |record: &str| {
        format!(
            "define i32 @f(i32 %a) !dbg !9 {{\nentry:\n  {record}\n  %s = call i32 @g(i32 %a), !dbg !105\n  ret i32 %s, !dbg !109\n}}\n{}",
            module()
        )
    };
    let machine = |description: &str| format!("bb.0.entry:\n{description}\nCALL64pcrel32 @g, <regmask $rbx> @5\nRET 0 @9");
    let of = |record: &str, description: &str| {
        let mut seen = observe(&[("x86-isel", &machine(description))], "IsSSA");
        seen.ir = read_ir(&ir(record), &mut seen.metadata);
        judged(&seen).variables
    };
    for record in [
        "#dbg_value(i32 %a, !20, !DIExpression(), !100)",
        "call void @llvm.dbg.value(metadata i32 %a, metadata !20, metadata !DIExpression()), !dbg !100",
    ] {
        assert!(of(record, "v=$edi").is_empty(), "{record}");
        assert_eq!((only(&of(record, "v=$noreg")).kind, only(&of(record, "v=$noreg")).hidden_by), (VariableErrorKind::Lost, None));
    }
    assert!(of("#dbg_value(i32 poison, !20, !DIExpression(), !100)", "v=$noreg").is_empty());
}

fn codegen(version: &str, name: &str, text: &str, passes: Option<&str>) -> Option<FileReport> {
    let (Ok(opt), Ok(_)) = (find_tool(ToolKind::Opt, Some(&format!("opt-{version}"))), find_compiler(&format!("clang-{version}"))) else {
        eprintln!("skipped: opt-{version} or clang-{version} is not installed");
        return None;
    };
    let scratch = Scratch::new().unwrap();
    let file = scratch.write(name, text).unwrap();
    let options = Options {
        stage: PassStage::CodeGeneration,
        opt,
        hook: find_hook().expect("cargo builds the hook library with this crate"),
        passes: passes.map(str::to_owned),
        cc: None,
        level: trueline_model::OptLevel::O2,
        cflags: Vec::new(),
        limits: Limits::seconds(60),
        detail: Detail::default(),
        compare_output: false,
    };
    Some(analyze_file(&file, &options))
}

/// The multiplication's operand in memory is loaded on its own by the two-address pass, and its number is lost.
const UNFOLDED: &str = "int g(int);\nint f(int *a, int n, int k) {\n  int s = 0;\n  for (int i = 0; i < n; i++) {\n    int v = a[i] * k;\n    \
                        if (v > 10) {\n      s += g(v);\n    } else {\n      s -= v;\n    }\n  }\n  return s;\n}\n";

#[test]
fn a_program_loses_a_variable_where_a_load_is_unfolded() {
    for version in ["16", "19"] {
        let Some(report) = codegen(version, "unfolded.c", UNFOLDED, None) else { continue };
        assert_eq!(report.problems, [], "on {version}");
        assert!(report.report.pairs > 100, "{} pairs on {version}", report.report.pairs);
        let lost = |e: &&trueline_passes::VariableError| e.pass == "twoaddressinstruction" && e.variable == "v";
        let errors = &report.report.variable_errors;
        let error = errors.iter().find(lost).unwrap_or_else(|| panic!("on {version}: {errors:#?}"));
        assert_eq!((error.kind, error.line), (VariableErrorKind::Lost, 5));
        assert!(error.skeleton.contains("TwoAddressInstructionPass.cpp"), "{}", error.skeleton);
        let others = codegen(version, "unfolded.c", UNFOLDED, Some("machine-sink")).unwrap();
        assert!(others.report.by_pass.keys().all(|pass| pass == "machine-sink"), "only the pass that was asked for");
    }
}

#[test]
fn what_cannot_be_read_is_told_and_not_taken_for_clean() {
    for (name, text) in [("broken.ll", "define i32 @f( {"), ("none.mir", "--- |\n...\n"), ("broken.c", "int f( {")] {
        let Some(report) = codegen("16", name, text, None) else { continue };
        assert_eq!((report.problems.len(), report.analysed), (1, 0), "{name}: {:?}", report.problems);
    }
}
