//! Spreading by property: a relation carried across instructions still says the same, whatever the state, and
//! the data flow is a fixed point.

use iced_x86::{Code, Instruction, MemoryOperand, Register};
use proptest::prelude::*;
use std::collections::BTreeSet;
use trueline_machine::cpu::{Cpu, Memory};
use trueline_machine::lift::execute;
use trueline_repair::flow::Graph;
use trueline_repair::relation::{Affine, MachineState, Relation, Source};
use trueline_repair::spread::{Direction, Facts, Reversibility, carry, effect, spread};

const WIDE: [Register; 5] = [Register::RAX, Register::RCX, Register::RDX, Register::RBX, Register::RSI];
const NUMBERS: [u8; 5] = [0, 1, 2, 3, 6];

fn instruction() -> impl Strategy<Value = Instruction> {
    (0..7u8, 0..5usize, 0..5usize, -64..64i32).prop_map(|(kind, a, b, k)| {
        let (x, y) = (WIDE[a], WIDE[b]);
        match kind {
            0 => Instruction::with2(Code::Add_rm64_imm8, x, k),
            1 => Instruction::with2(Code::Sub_rm64_imm8, x, k),
            2 => Instruction::with1(Code::Inc_rm64, x),
            3 => Instruction::with1(Code::Dec_rm64, x),
            4 => Instruction::with2(Code::Add_rm64_r64, x, y),
            5 => Instruction::with2(Code::Lea_r64_m, x, MemoryOperand::new(x, y, 4, i64::from(k), 1, false, Register::None)),
            _ => Instruction::with2(Code::Mov_rm64_r64, x, y),
        }
        .unwrap()
    })
}

fn relation() -> impl Strategy<Value = Relation> {
    (0..5usize, 0..5usize, -4..5i64, -4..5i64, -100..100i64).prop_map(|(a, b, p, q, constant)| {
        let mut terms = vec![(Source::Register(NUMBERS[a]), p)];
        if a != b {
            terms.push((Source::Register(NUMBERS[b]), q));
        }
        terms.retain(|t| t.1 != 0);
        terms.sort_unstable();
        Relation::Affine(Affine { terms, constant, divisor: 1 })
    })
}

fn state(cpu: &Cpu) -> MachineState {
    MachineState { gpr: cpu.gpr, xmm: [0; 16], bias: 0, cfa: 0, frame: Vec::new(), leftover: 0 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_carried_relation_gives_the_same_value(
        code in prop::collection::vec(instruction(), 1..8),
        relation in relation(),
        values in prop::collection::vec(-1_000_000i64..1_000_000, 16),
    ) {
        let mut cpu = Cpu::new(Memory::default(), 0);
        for (n, v) in values.iter().enumerate() {
            cpu.gpr[n] = *v as u64;
        }
        let mut states = vec![state(&cpu)];
        for i in &code {
            execute(&mut cpu, i).unwrap();
            states.push(state(&cpu));
        }
        for reversibility in [Reversibility::Used, Reversibility::Ignored] {
            let mut forward = Some(relation.clone());
            let value = relation.evaluate(&states[0], 8);
            for (i, after) in code.iter().zip(&states[1..]) {
                forward = forward.and_then(|r| carry(&r, &effect(i), Direction::Forward, reversibility));
                if let Some(r) = &forward {
                    prop_assert_eq!(r.evaluate(after, 8), value, "{} after {:?}", r, i);
                }
            }
            let mut backward = Some(relation.clone());
            let value = relation.evaluate(&states[code.len()], 8);
            for (i, before) in code.iter().zip(&states).rev() {
                backward = backward.and_then(|r| carry(&r, &effect(i), Direction::Backward, reversibility));
                if let Some(r) = &backward {
                    prop_assert_eq!(r.evaluate(before, 8), value, "{} before {:?}", r, i);
                }
            }
        }
    }

    #[test]
    fn spreading_is_a_fixed_point_of_the_papers_equations(
        code in prop::collection::vec((instruction(), any::<prop::sample::Index>(), any::<bool>()), 3..14),
        relations in prop::collection::vec(relation(), 1..4),
    ) {
        let mut graph = Graph::default();
        for (n, (i, to, branches)) in code.iter().enumerate() {
            let pc = n as u64;
            graph.instructions.insert(pc, *i);
            let mut next: Vec<u64> = if n + 1 < code.len() { vec![pc + 1] } else { Vec::new() };
            if *branches && !next.is_empty() {
                next.push(to.index(code.len()) as u64);
                next.dedup();
            }
            graph.successors.insert(pc, next);
        }
        for (from, to) in &graph.successors {
            for t in to {
                graph.predecessors.entry(*t).or_default().push(*from);
            }
        }
        let cuts: Facts = [(0, relations.iter().cloned().collect::<BTreeSet<_>>())].into();
        for reversibility in [Reversibility::Used, Reversibility::Ignored] {
            let facts = spread(&graph, &cuts, Direction::Forward, reversibility);
            for (pc, have) in facts.iter().filter(|(pc, _)| **pc != 0) {
                let mut meet: Option<BTreeSet<Relation>> = None;
                for p in &graph.predecessors[pc] {
                    let crossed = effect(&graph.instructions[p]);
                    let out: BTreeSet<Relation> = facts[p].iter().filter_map(|r| carry(r, &crossed, Direction::Forward, reversibility)).collect();
                    meet = Some(meet.map_or(out.clone(), |m| m.intersection(&out).cloned().collect()));
                }
                prop_assert_eq!(Some(have), meet.as_ref(), "at {}", pc);
            }
        }
    }
}
