//! Records are read as they were written, whole or cut off.

use super::codes::{fold, unfold};
use super::*;

fn description(at: u64, kind: VariableKind) -> VariableRecord {
    VariableRecord { kind, at, values: vec![7, 1], variable: 3, expression: 4, location: 9, address: 2, mark: 6 }
}

fn sample() -> Vec<Record> {
    let inst = InstructionRecord {
        at: 7,
        opcode: 8,
        is_void: false,
        location: 9,
        name: "x".into(),
        operands: vec![1, 2],
        type_code: 32,
        predicate: 33,
        known: known::SIGNED,
        scales: Some((vec![4, 0], 8)),
        describes: Some(Box::new(description(7, VariableKind::Assign))),
        records: vec![description(64, VariableKind::Value), description(72, VariableKind::Declare)],
        ..Default::default()
    };
    let block = BlockRecord { at: 5, name: "entry".into(), successors: vec![5], decided: 5, instructions: vec![inst] };
    let function = FunctionRecord {
        at: 4,
        name: "f".into(),
        subprogram: 11,
        arguments: vec![ArgumentRecord { at: 3, name: String::new(), type_code: POINTER, is_ranged: true }],
        blocks: vec![block.into()],
    };
    vec![
        Record::Header { major: 16, library: "libLLVM-16.so.1".into(), losses: vec!["moveAfter".into()] },
        Record::Stack { id: 1, frames: vec![(16, 8)] },
        Record::Location { at: 9, line: 3, column: 1, scope: 2, inlined_at: 0, file: "a.c".into(), subprogram: 2 },
        Record::Variable { at: 3, name: "x".into(), line: 4, scope: 8, subprogram: 2, bits: 32 },
        Record::Scope { at: 8, parent: 2 },
        Record::Expression { at: 4, elements: vec![0x23, u64::MAX] },
        Record::Constant { at: 5, width: 8, kind: ConstantKind::Integer(255) },
        Record::Constant { at: 6, width: POINTER, kind: ConstantKind::Null },
        Record::Snapshot { id: 1, function },
        Record::PassStart { pass: "LICMPass".into(), unit: "f".into(), before: vec![1] },
        Record::Event { kind: EventKind::Replace, inst: 7, other: 8, stack: 1 },
        Record::PassFinish { after: vec![1] },
        Record::PassAbandoned,
        Record::Refused("no".into()),
    ]
}

#[test]
fn what_is_written_is_read_back() {
    let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
    sample().iter().for_each(|r| encoder.record(r));
    let read: Vec<Record> = Decoder::new(&encoder.bytes).unwrap().collect();
    assert_eq!(read, sample());
}

#[test]
fn a_stream_cut_anywhere_gives_a_prefix_of_its_records() {
    let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
    sample().iter().for_each(|r| encoder.record(r));
    for end in MAGIC.len()..encoder.bytes.len() {
        let read: Vec<Record> = Decoder::new(&encoder.bytes[..end]).unwrap().collect();
        assert!(read.len() < sample().len() && read == sample()[..read.len()], "cut at {end}");
    }
}

#[test]
fn distances_of_any_size_and_alignment_come_back() {
    for distance in [
        0u64,
        1,
        7,
        8,
        24,
        1 << 40,
        u64::MAX,
        0u64.wrapping_sub(64),
        0x7fff_ffff_ffff_fff8,
        1 << 63,
        (1 << 47) + 1,
        0u64.wrapping_sub((1 << 47) + 1),
        0x5555_1234_5679,
    ] {
        assert_eq!(unfold(fold(distance)), distance, "{distance:#x}");
    }
}

/// The head of a snapshot of a function with so many blocks.
fn head(encoder: &mut Encoder, id: u32, blocks: u32) {
    encoder.snapshot(id);
    encoder.address(8);
    encoder.text(b"");
    encoder.u64(0);
    encoder.u32(0);
    let place = encoder.count();
    encoder.counted(place, blocks);
}

#[test]
fn a_block_that_did_not_change_is_told_by_its_address() {
    let block = |at| Arc::new(BlockRecord { at, name: "b".into(), successors: vec![64], ..Default::default() });
    let function = |blocks| FunctionRecord { at: 8, blocks, ..Default::default() };
    let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
    encoder.record(&Record::Snapshot { id: 1, function: function(vec![block(64), block(32)]) });
    head(&mut encoder, 2, 2);
    for at in [32, 64] {
        encoder.repeat_block(at);
    }
    let read: Vec<Record> = Decoder::new(&encoder.bytes).unwrap().collect();
    assert_eq!(read[1], Record::Snapshot { id: 2, function: function(vec![block(32), block(64)]) });
}

#[test]
fn a_block_listed_twice_or_never_written_ends_the_stream() {
    let block = Arc::new(BlockRecord { at: 64, ..Default::default() });
    let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
    encoder.record(&Record::Snapshot { id: 1, function: FunctionRecord { blocks: vec![block.clone(), block], ..Default::default() } });
    assert_eq!(Decoder::new(&encoder.bytes).unwrap().count(), 0);
    encoder.bytes.truncate(MAGIC.len());
    head(&mut encoder, 1, 1);
    encoder.repeat_block(64);
    assert_eq!(Decoder::new(&encoder.bytes).unwrap().count(), 0);
}

#[test]
fn another_format_is_not_read() {
    assert!(Decoder::new(b"TLHOOK9\n").is_none());
}
