//! Each precision rule and each kind of pair on its own, on small synthetic runs: what a pass did is written
//! down as the hooks would have seen it.

use std::sync::Arc;
use trueline_llvm_hook::wire::{BlockRecord, EventKind, FunctionRecord, InstructionRecord};
use trueline_passes::history::History;
use trueline_passes::judge::{Verdict, judge};
use trueline_passes::line::{LineChanges, changes};
use trueline_passes::observation::{Event, Location, Locations, PassRun, StackId};
use trueline_passes::{ErrorKind, Manipulation, Operation, Rule};

const ADD: u8 = 8;
const BR: u8 = 2;
const PHI: u8 = 44;
const CALL: u8 = 45;

/// An instruction: address, opcode, line (`None`: no location), operands.
fn inst(at: u64, opcode: u8, line: impl Into<Option<u32>>, operands: &[u64]) -> InstructionRecord {
    let location = line.into().map_or(0, |l| 1000 + u64::from(l));
    let callee = if opcode == CALL { "f".to_owned() } else { String::new() };
    InstructionRecord { at, opcode, location, callee, operands: operands.to_vec(), is_void: opcode == BR, ..Default::default() }
}

fn block(at: u64, successors: &[u64], instructions: Vec<InstructionRecord>) -> BlockRecord {
    BlockRecord { at, name: format!("b{at}"), successors: successors.to_vec(), instructions, ..Default::default() }
}

fn function(blocks: Vec<BlockRecord>) -> Vec<Arc<FunctionRecord>> {
    vec![Arc::new(FunctionRecord {
        at: 1,
        name: "f".into(),
        subprogram: 1,
        blocks: blocks.into_iter().map(Arc::new).collect(),
        ..Default::default()
    })]
}

fn event(kind: EventKind, inst: u64, other: u64) -> Event {
    Event { kind, inst, other, stack: StackId(1) }
}

/// Lines 0 to 99 have the addresses 1000 to 1099.
fn locations() -> Locations {
    let mut locations = Locations::default();
    for line in 0..100 {
        locations
            .add_at(1000 + u64::from(line), Location { line, column: 1, scope: 1, inlined_at: None, file: "a.c".into(), subprogram: 0 });
    }
    locations
}

fn judged(before: Vec<BlockRecord>, events: Vec<Event>, after: Vec<BlockRecord>) -> Vec<Verdict> {
    let run = PassRun { pass: "Pass".into(), unit: "f".into(), before: function(before), after: function(after), events, number: 1 };
    let locations = locations();
    let history = History::follow(&run, &locations);
    judge(&history)
}

fn only(verdicts: Vec<Verdict>) -> Verdict {
    assert_eq!(verdicts.len(), 1, "{verdicts:#?}");
    verdicts.into_iter().next().unwrap()
}

/// One block: an instruction at 10, its user at 11, a terminator at 12.
fn straight(first: InstructionRecord, user_of: u64) -> Vec<BlockRecord> {
    vec![block(100, &[], vec![first, inst(11, ADD, 2, &[user_of]), inst(12, BR, 3, &[])])]
}

/// entry(100) → then(101) | else(102) → end(103), with the given instructions in front of the terminators.
fn diamond(
    entry: Vec<InstructionRecord>,
    then: Vec<InstructionRecord>,
    other: Vec<InstructionRecord>,
    end: Vec<InstructionRecord>,
) -> Vec<BlockRecord> {
    let with = |mut list: Vec<InstructionRecord>, at: u64, line: u32| {
        list.push(inst(at, BR, line, &[]));
        list
    };
    vec![
        block(100, &[101, 102], with(entry, 50, 50)),
        block(101, &[103], with(then, 51, 51)),
        block(102, &[103], with(other, 52, 52)),
        block(103, &[], with(end, 53, 53)),
    ]
}

fn replaced() -> Vec<Event> {
    vec![event(EventKind::Create, 20, 0), event(EventKind::Replace, 10, 20), event(EventKind::Death, 10, 0)]
}

#[test]
fn a_new_instruction_in_the_place_of_another_must_have_its_location() {
    let verdict = only(judged(straight(inst(10, ADD, 1, &[]), 10), replaced(), straight(inst(20, ADD, None, &[]), 20)));
    assert!(verdict.is_error());
    assert_eq!((verdict.expected, verdict.observed, verdict.kind), (Operation::Preserve, Operation::Drop, Some(ErrorKind::Lost)));
    assert_eq!(verdict.pair.manipulation, Manipulation::Replace);
    let kept = only(judged(straight(inst(10, ADD, 1, &[]), 10), replaced(), straight(inst(20, ADD, 1, &[]), 20)));
    assert!(kept.kind.is_none());
}

#[test]
fn a_phi_that_replaces_a_value_is_a_pair_and_one_that_replaces_none_is_not() {
    let before = straight(inst(10, ADD, 1, &[]), 10);
    assert!(only(judged(before.clone(), replaced(), straight(inst(20, PHI, None, &[]), 20))).is_error());
    // Another phi without a source, though operands were rewritten to it.
    let rewritten = vec![event(EventKind::Create, 20, 0), event(EventKind::Death, 10, 0)];
    assert!(judged(before, rewritten, straight(inst(20, PHI, None, &[]), 20)).is_empty());
}

#[test]
fn operands_rewritten_one_by_one_make_a_pair_when_the_old_value_is_gone() {
    let events = vec![event(EventKind::Create, 20, 0), event(EventKind::Death, 10, 0)];
    let verdict = only(judged(straight(inst(10, ADD, 1, &[]), 10), events, straight(inst(20, ADD, None, &[]), 20)));
    assert_eq!((verdict.pair.manipulation, verdict.is_error()), (Manipulation::Rewrite, true));
}

#[test]
fn a_new_terminator_where_another_died_is_a_pair() {
    let before = vec![block(100, &[101], vec![inst(10, BR, 1, &[])]), block(101, &[], vec![inst(11, BR, 2, &[])])];
    let after = vec![block(100, &[101], vec![inst(20, BR, None, &[])]), block(101, &[], vec![inst(11, BR, 2, &[])])];
    let events = vec![event(EventKind::Create, 20, 0), event(EventKind::Death, 10, 0)];
    let verdict = only(judged(before.clone(), events, after.clone()));
    assert_eq!((verdict.pair.manipulation, verdict.is_error()), (Manipulation::Terminator, true));
    // The old terminator went to a new block with the rest of a split one: the block was cut, nothing replaced.
    let split = vec![block(100, &[102], vec![inst(20, BR, None, &[])]), block(102, &[101], vec![inst(10, BR, 1, &[])]), after[1].clone()];
    let events = vec![event(EventKind::BlockCreate, 102, 0), event(EventKind::Create, 20, 0)];
    assert!(judged(before, events, split).is_empty());
}

#[test]
fn an_instruction_that_dies_before_the_end_is_no_destination() {
    let events = vec![
        event(EventKind::Create, 20, 0),
        event(EventKind::Replace, 10, 20),
        event(EventKind::Death, 10, 0),
        event(EventKind::Death, 20, 0),
    ];
    let after = vec![block(100, &[], vec![inst(12, BR, 3, &[])])];
    assert!(judged(straight(inst(10, ADD, 1, &[]), 10), events, after).is_empty());
}

#[test]
fn a_source_without_a_location_asks_for_nothing() {
    assert!(judged(straight(inst(10, ADD, None, &[]), 10), replaced(), straight(inst(20, ADD, None, &[]), 20)).is_empty());
    assert!(judged(straight(inst(10, ADD, 0, &[]), 10), replaced(), straight(inst(20, ADD, None, &[]), 20)).is_empty());
}

#[test]
fn an_address_used_again_is_another_instruction() {
    // The replacement is constructed where the old one was: the two must not be taken for one.
    let events = vec![
        event(EventKind::Create, 20, 0),
        event(EventKind::Replace, 10, 20),
        event(EventKind::Death, 10, 0),
        event(EventKind::Create, 10, 0),
        event(EventKind::Replace, 20, 10),
        event(EventKind::Death, 20, 0),
    ];
    let verdict = only(judged(straight(inst(10, ADD, 1, &[]), 10), events, straight(inst(10, ADD, None, &[]), 10)));
    assert!(verdict.is_error(), "{verdict:#?}");
}

#[test]
fn a_move_above_a_branch_must_drop_the_location() {
    let before = diamond(vec![], vec![inst(10, ADD, 1, &[])], vec![inst(11, ADD, 2, &[])], vec![]);
    let after = |line: Option<u32>| diamond(vec![inst(10, ADD, line, &[])], vec![], vec![inst(11, ADD, 2, &[])], vec![]);
    let kept = only(judged(before.clone(), vec![event(EventKind::Move, 10, 0)], after(Some(1))));
    assert!(kept.is_error());
    assert_eq!((kept.expected, kept.kind), (Operation::Drop, Some(ErrorKind::Incorrect)));
    assert!(kept.evidence.is_some());
    let dropped = vec![event(EventKind::Move, 10, 0), event(EventKind::Drop, 10, 0)];
    assert!(only(judged(before.clone(), dropped, after(None))).kind.is_none());
    // The same by splicing, which no call shows.
    assert!(only(judged(before, vec![], after(Some(1)))).is_error());
}

#[test]
fn a_move_to_where_every_path_passes_keeps_the_location() {
    let before = diamond(vec![inst(10, ADD, 1, &[])], vec![], vec![], vec![]);
    let after = diamond(vec![], vec![inst(10, ADD, 1, &[])], vec![], vec![]);
    assert!(only(judged(before, vec![event(EventKind::Move, 10, 0)], after)).kind.is_none());
}

#[test]
fn equal_instructions_of_two_branches_hoisted_as_one_must_be_merged() {
    let before = diamond(vec![], vec![inst(10, ADD, 1, &[])], vec![inst(11, ADD, 2, &[])], vec![]);
    let after = |line: u32| diamond(vec![inst(10, ADD, line, &[])], vec![], vec![], vec![]);
    let mut events = vec![event(EventKind::Move, 10, 0), event(EventKind::Replace, 11, 10), event(EventKind::Death, 11, 0)];
    let verdict = only(judged(before.clone(), events.clone(), after(1)));
    assert_eq!((verdict.expected, verdict.observed, verdict.kind), (Operation::Merge, Operation::Preserve, Some(ErrorKind::Incorrect)));
    assert!(verdict.is_error());
    events.push(event(EventKind::Merge, 10, 0));
    assert!(only(judged(before, events, after(0))).kind.is_none());
}

#[test]
fn an_explicit_drop_is_allowed_where_the_destination_can_be_executed_without_its_source() {
    let before = diamond(vec![inst(10, ADD, 1, &[])], vec![], vec![], vec![]);
    let after = diamond(vec![], vec![inst(10, ADD, None, &[])], vec![], vec![]);
    let events = vec![event(EventKind::Move, 10, 0), event(EventKind::Drop, 10, 0)];
    let verdict = only(judged(before, events, after));
    assert_eq!((verdict.kind, verdict.hidden_by), (Some(ErrorKind::Lost), Some(Rule::ExplicitDrop)));
}

#[test]
fn a_drop_that_no_path_asks_for_is_found_however_explicit_it_was() {
    // In the block of its source.
    let mut events = replaced();
    events.insert(1, event(EventKind::Drop, 20, 0));
    assert!(only(judged(straight(inst(10, ADD, 1, &[]), 10), events, straight(inst(20, ADD, None, &[]), 20))).is_error());
    let mut events = replaced();
    events.extend([event(EventKind::SetLocation, 20, 1001), event(EventKind::ClearLocation, 20, 0)]);
    assert!(only(judged(straight(inst(10, ADD, 1, &[]), 10), events, straight(inst(20, ADD, None, &[]), 20))).is_error());
    // Moved from the start of a diamond to its end, which is always executed with it.
    let before = diamond(vec![inst(10, ADD, 1, &[])], vec![], vec![], vec![]);
    let after = diamond(vec![], vec![], vec![], vec![inst(10, ADD, None, &[])]);
    let verdict = only(judged(before, vec![event(EventKind::Move, 10, 0), event(EventKind::Drop, 10, 0)], after));
    assert_eq!((verdict.expected, verdict.is_error()), (Operation::Preserve, true));
}

#[test]
fn both_edges_of_a_condition_that_was_constant_before_the_pass_count() {
    let decided = |mut blocks: Vec<BlockRecord>| {
        blocks[0].decided = 101;
        blocks
    };
    let before = decided(diamond(vec![], vec![inst(10, ADD, 1, &[])], vec![], vec![]));
    let hoisted = diamond(vec![inst(10, ADD, 1, &[])], vec![], vec![], vec![]);
    let given = only(judged(before, vec![event(EventKind::Move, 10, 0)], decided(hoisted.clone())));
    assert_eq!((given.expected, given.is_error()), (Operation::Drop, true), "the test's constant is not the program's");
    // A condition that the pass itself found to be constant is another matter: the other edge is never taken.
    let before = diamond(vec![], vec![inst(10, ADD, 1, &[])], vec![], vec![]);
    assert!(only(judged(before, vec![event(EventKind::Move, 10, 0)], decided(hoisted))).kind.is_none());
}

#[test]
fn a_chain_of_values_made_anew_is_followed_from_its_last_user_back() {
    // store(13) uses 12, 12 uses 11; both are made anew, in other types, and only the store's operand is set.
    let chain = |first: InstructionRecord, second: InstructionRecord, last: u64| {
        vec![block(100, &[], vec![inst(10, ADD, 1, &[]), first, second, inst(13, ADD, 4, &[last]), inst(14, BR, 5, &[])])]
    };
    let before = chain(inst(11, ADD, 2, &[10]), inst(12, ADD, 3, &[11]), 12);
    let after = chain(inst(21, ADD, None, &[10]), inst(22, ADD, 3, &[21]), 22);
    let events = vec![
        event(EventKind::Create, 21, 0),
        event(EventKind::Create, 22, 0),
        event(EventKind::Death, 12, 0),
        event(EventKind::Death, 11, 0),
    ];
    let verdicts = judged(before, events, after);
    let wrong: Vec<_> = verdicts.iter().filter(|v| v.is_error()).collect();
    assert_eq!((verdicts.len(), wrong.len()), (2, 1), "{verdicts:#?}");
    assert_eq!((wrong[0].pair.manipulation, wrong[0].expected), (Manipulation::Rewrite, Operation::Preserve));
}

#[test]
fn a_conversion_that_every_use_goes_through_stands_for_its_value() {
    const ADDRSPACECAST: u8 = 60;
    let before = straight(inst(10, ADD, 1, &[]), 10);
    let cast = |location: Option<u32>| {
        vec![block(
            100,
            &[],
            vec![inst(10, ADD, 1, &[]), inst(20, ADDRSPACECAST, location, &[10]), inst(11, ADD, 2, &[20]), inst(12, BR, 3, &[])],
        )]
    };
    let events = || vec![event(EventKind::Create, 20, 0)];
    assert!(only(judged(before.clone(), events(), cast(None))).is_error());
    assert!(only(judged(before, events(), cast(Some(1)))).kind.is_none());
}

#[test]
fn a_branch_that_is_hoisted_out_of_a_block_that_stays_is_moved() {
    // The branch of one arm of a diamond goes to the entry, as unswitching does; the arm gets another.
    let before = diamond(vec![], vec![inst(10, ADD, 1, &[])], vec![], vec![]);
    let mut after = before.clone();
    after[0].instructions = vec![inst(51, BR, 51, &[])];
    after[1].instructions = vec![inst(10, ADD, 1, &[]), inst(21, BR, None, &[])];
    let events = vec![event(EventKind::Create, 21, 0), event(EventKind::Move, 51, 0), event(EventKind::Death, 50, 0)];
    let verdicts = judged(before, events, after);
    let hoisted = verdicts.iter().find(|v| v.pair.manipulation == Manipulation::Move).expect("the branch was moved");
    assert_eq!((hoisted.expected, hoisted.is_error()), (Operation::Drop, true), "{verdicts:#?}");
}

/// What a run did to the code of line 7.
fn changes_of_line_7(before: Vec<BlockRecord>, events: Vec<Event>, after: Vec<BlockRecord>, wanted: LineChanges) -> Vec<Verdict> {
    let run = PassRun { pass: "Pass".into(), unit: "f".into(), before: function(before), after: function(after), events, number: 1 };
    let locations = locations();
    let history = History::follow(&run, &locations);
    let found = changes(&history, 7, wanted);
    assert!(found.iter().all(|v| v.hidden_by == Some(Rule::LineElsewhere)), "none of them is an error");
    found
}

#[test]
fn what_became_of_a_lines_code_is_told_its_stores_first() {
    const STORE: u8 = 28;
    let before = || diamond(vec![], vec![inst(10, ADD, 7, &[]), inst(11, STORE, 7, &[10]), inst(12, STORE, 8, &[10])], vec![], vec![]);
    let arm = |mut blocks: Vec<BlockRecord>, entry: Vec<InstructionRecord>, arm: Vec<InstructionRecord>| {
        let ends = |block: &BlockRecord| block.instructions.last().unwrap().clone();
        blocks[0].instructions = entry.into_iter().chain([ends(&blocks[0])]).collect();
        blocks[1].instructions = arm.into_iter().chain([ends(&blocks[1])]).collect();
        blocks
    };
    let all = |events, after| changes_of_line_7(before(), events, after, LineChanges::All);
    assert!(all(vec![], before()).is_empty(), "nothing happened to it");
    // Both are hoisted, the store without its line.
    let after = arm(before(), vec![inst(10, ADD, 7, &[]), inst(11, STORE, None, &[10])], vec![inst(12, STORE, 8, &[10])]);
    let moved = || vec![event(EventKind::Move, 10, 0), event(EventKind::Move, 11, 0)];
    let found = all(moved(), after.clone());
    let told: Vec<_> = found.iter().map(|v| (v.pair.destination.0, v.pair.manipulation, v.observed)).collect();
    assert_eq!(
        told.iter().map(|(_, m, o)| (*m, *o)).collect::<Vec<_>>(),
        [(Manipulation::Move, Operation::Drop), (Manipulation::Move, Operation::Preserve)]
    );
    let effects = changes_of_line_7(before(), moved(), after, LineChanges::OfEffects);
    assert_eq!(only(effects).observed, Operation::Drop, "what only computes is not what the line does");
    // The store is deleted; what only computes may go.
    let after = arm(before(), vec![], vec![inst(12, STORE, 8, &[10])]);
    let deaths = vec![event(EventKind::Death, 11, 0), event(EventKind::Death, 10, 0)];
    assert_eq!(only(all(deaths, after)).pair.manipulation, Manipulation::Delete);
    // A second load of the line in another block is where a breakpoint stops as well; one beside the first is not.
    let arm_as_before = before()[1].instructions[..3].to_vec();
    let elsewhere = arm(before(), vec![inst(30, ADD, 7, &[])], arm_as_before.clone());
    assert_eq!(only(all(vec![event(EventKind::Create, 30, 0)], elsewhere)).pair.manipulation, Manipulation::Insert);
    let beside = arm(before(), vec![], arm_as_before.into_iter().chain([inst(30, ADD, 7, &[])]).collect());
    assert!(all(vec![event(EventKind::Create, 30, 0)], beside).is_empty());
}

#[test]
fn a_new_branch_at_the_entry_that_has_the_line_of_one_arm_is_told_by_its_rule() {
    // A loop is made of a recursion: the entry is new and ends with the location of the call in one arm.
    let before = vec![
        block(100, &[101, 102], vec![inst(50, BR, 50, &[])]),
        block(101, &[102], vec![inst(10, CALL, 1, &[]), inst(51, BR, 51, &[])]),
        block(102, &[], vec![inst(52, BR, 52, &[])]),
    ];
    let after = |line: Option<u32>| {
        vec![
            block(99, &[100], vec![inst(20, BR, line, &[])]),
            block(100, &[101, 102], vec![inst(50, BR, 50, &[])]),
            block(101, &[100], vec![inst(51, BR, 51, &[])]),
            block(102, &[], vec![inst(52, BR, 52, &[])]),
        ]
    };
    let events = || vec![event(EventKind::BlockCreate, 99, 0), event(EventKind::Create, 20, 0), event(EventKind::Death, 10, 0)];
    let verdict = only(judged(before.clone(), events(), after(Some(1))));
    assert_eq!((verdict.pair.manipulation, verdict.kind), (Manipulation::Insert, Some(ErrorKind::Incorrect)));
    assert_eq!((verdict.expected, verdict.hidden_by), (Operation::Drop, Some(Rule::StandsForNothing)));
    assert!(verdict.evidence.is_some_and(|e| e.location.is_none()), "an execution leaves without the call");
    // With no line, or with one that every path has, there is nothing to tell.
    assert!(judged(before.clone(), events(), after(None)).is_empty());
    assert!(judged(before, events(), after(Some(50))).is_empty());
}

/// A callee at 2 with an instruction on line 1 and a return, and a caller at 1.
fn inlined(location: Option<u32>) -> Vec<Verdict> {
    let functions = |caller: Vec<InstructionRecord>| {
        let callee = vec![inst(30, ADD, 1, &[]), inst(31, ADD, 2, &[]), inst(32, BR, 3, &[])];
        let of = |at: u64, block_at: u64, list: Vec<InstructionRecord>| {
            Arc::new(FunctionRecord {
                at,
                name: format!("f{at}"),
                blocks: vec![Arc::new(block(block_at, &[], list))],
                ..Default::default()
            })
        };
        vec![of(1, 100, caller), of(2, 200, callee)]
    };
    let before = functions(vec![inst(10, CALL, 9, &[]), inst(11, BR, 10, &[])]);
    let after = functions(vec![inst(20, ADD, location, &[]), inst(21, ADD, 2, &[]), inst(11, BR, 10, &[])]);
    let events = vec![event(EventKind::Clone, 20, 30), event(EventKind::Clone, 21, 31), event(EventKind::Death, 10, 0)];
    let run = PassRun { pass: "InlinerPass".into(), unit: String::new(), before, after, events, number: 1 };
    let locations = locations();
    judge(&History::follow(&run, &locations))
}

#[test]
fn a_line_that_is_lost_on_the_way_to_another_function_is_found() {
    assert!(inlined(Some(1)).iter().all(|v| v.kind.is_none()));
    let verdicts = inlined(None);
    let wrong: Vec<_> = verdicts.iter().filter(|v| v.is_error()).collect();
    assert_eq!((verdicts.len(), wrong.len()), (2, 1), "{verdicts:#?}");
    assert_eq!((wrong[0].kind, wrong[0].expected), (Some(ErrorKind::Lost), Operation::Preserve));
}

#[test]
fn a_replacement_outside_the_block_need_not_have_a_location() {
    // entry(100) → loop(101) → itself | end(103): the paths are the same, the block is not.
    let graph = |entry: Vec<InstructionRecord>, body: Vec<InstructionRecord>| {
        let end = |mut list: Vec<InstructionRecord>, at, line| {
            list.push(inst(at, BR, line, &[]));
            list
        };
        vec![block(100, &[101], end(entry, 50, 50)), block(101, &[101, 103], end(body, 51, 51)), block(103, &[], end(vec![], 53, 53))]
    };
    let verdict = only(judged(graph(vec![], vec![inst(10, ADD, 1, &[])]), replaced(), graph(vec![inst(20, ADD, None, &[])], vec![])));
    assert_eq!((verdict.kind, verdict.hidden_by), (Some(ErrorKind::Lost), Some(Rule::LeftItsBlock)));
}

#[test]
fn a_source_that_is_wrapped_but_stays_loses_nothing() {
    let before = straight(inst(10, ADD, 1, &[]), 10);
    let after =
        vec![block(100, &[], vec![inst(10, ADD, 1, &[]), inst(20, ADD, None, &[10]), inst(11, ADD, 2, &[20]), inst(12, BR, 3, &[])])];
    let events = vec![event(EventKind::Create, 20, 0), event(EventKind::Replace, 10, 20)];
    assert_eq!(only(judged(before.clone(), events.clone(), after)).hidden_by, Some(Rule::SourceSurvives));
    // One that stays without being used is only waiting to be deleted.
    let unused =
        vec![block(100, &[], vec![inst(10, ADD, 1, &[]), inst(20, ADD, None, &[]), inst(11, ADD, 2, &[20]), inst(12, BR, 3, &[])])];
    assert!(only(judged(before, events, unused)).is_error());
}

#[test]
fn a_merge_of_different_lines_may_as_well_be_none() {
    let before = vec![block(100, &[], vec![inst(9, ADD, 4, &[]), inst(10, ADD, 1, &[]), inst(11, ADD, 2, &[9, 10]), inst(12, BR, 3, &[])])];
    let after = vec![block(100, &[], vec![inst(20, ADD, None, &[]), inst(11, ADD, 2, &[20, 20]), inst(12, BR, 3, &[])])];
    let mut events = replaced();
    events.extend([event(EventKind::Replace, 9, 20), event(EventKind::Death, 9, 0)]);
    let verdict = only(judged(before, events, after));
    assert_eq!((verdict.expected, verdict.hidden_by), (Operation::Merge, Some(Rule::MergeHasNoLine)));
}

#[test]
fn line_zero_is_accepted_for_a_location() {
    let verdict = only(judged(straight(inst(10, ADD, 1, &[]), 10), replaced(), straight(inst(20, ADD, 0, &[]), 20)));
    assert_eq!((verdict.kind, verdict.hidden_by), (Some(ErrorKind::Lost), Some(Rule::LineZero)));
}

#[test]
fn calls_keep_their_locations() {
    let before = diamond(vec![], vec![inst(10, CALL, 1, &[])], vec![inst(11, ADD, 2, &[])], vec![]);
    let after = diamond(vec![inst(10, CALL, 1, &[])], vec![], vec![inst(11, ADD, 2, &[])], vec![]);
    let verdict = only(judged(before, vec![event(EventKind::Move, 10, 0)], after));
    assert_eq!((verdict.kind, verdict.hidden_by), (Some(ErrorKind::Incorrect), Some(Rule::CallKeepsLocation)));
}

#[test]
fn a_location_that_every_path_has_anyway_adds_nothing() {
    // The moved instruction has line 50, which the branch above it has too.
    let before = diamond(vec![], vec![inst(10, ADD, 50, &[])], vec![inst(11, ADD, 2, &[])], vec![]);
    let after = diamond(vec![inst(10, ADD, 50, &[])], vec![], vec![inst(11, ADD, 2, &[])], vec![]);
    let verdict = only(judged(before, vec![event(EventKind::Move, 10, 0)], after));
    assert_eq!((verdict.kind, verdict.hidden_by), (Some(ErrorKind::Incorrect), Some(Rule::LocationOnPath)));
}

#[test]
fn a_block_copied_as_a_whole_keeps_its_locations() {
    // The then-block is copied into a new block that the else-block leads to as well.
    let before = diamond(vec![], vec![inst(10, ADD, 1, &[]), inst(13, ADD, 4, &[])], vec![inst(11, ADD, 2, &[])], vec![]);
    let mut after = before.clone();
    after[2].successors = vec![104];
    after.push(block(104, &[103], vec![inst(20, ADD, 1, &[]), inst(21, ADD, 4, &[]), inst(22, BR, 51, &[])]));
    let events = vec![
        event(EventKind::BlockCreate, 104, 0),
        event(EventKind::Clone, 20, 10),
        event(EventKind::Clone, 21, 13),
        event(EventKind::Clone, 22, 51),
    ];
    assert!(judged(before, events, after).iter().all(|v| v.kind.is_none()));
}

#[test]
fn a_copied_phi_keeps_its_location() {
    let before = diamond(vec![], vec![inst(10, PHI, 1, &[]), inst(13, ADD, 4, &[])], vec![inst(11, ADD, 2, &[])], vec![]);
    let mut after = before.clone();
    after[2].instructions.insert(0, inst(20, PHI, 1, &[]));
    let verdict = only(judged(before, vec![event(EventKind::Clone, 20, 10)], after));
    assert_eq!((verdict.kind, verdict.hidden_by), (Some(ErrorKind::Incorrect), Some(Rule::PhiCopy)));
}

#[test]
fn every_rule_has_a_name_of_its_own_and_cites_the_guide() {
    let mut names: Vec<&str> = Rule::ALL.iter().map(|r| r.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Rule::ALL.len());
    assert!(Rule::ALL.iter().all(|r| r.section().starts_with("When to") && !r.reason().is_empty()));
}
