//! One pass over a compiler's machine code: where its basic blocks start, and what each code range says
//! about itself (the source files and function names it passes to assertion failures, whom it calls,
//! where it jumps).
//!
//! A breakpoint inside an instruction would change what the compiler does, so a block may start only
//! where the decoder, walking a range from its unwind entry, found an instruction to start. Wrong guesses
//! about *targets* are harmless: they only split a block.

use crate::image::{CodeRange, CompilerImage};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use rayon::prelude::*;
use std::collections::VecDeque;

/// What was found in an image's code.
#[derive(Debug)]
pub struct Survey {
    /// Block starts, ascending, each at an instruction of a range.
    pub blocks: Vec<u64>,
    /// What each range of the image says, in the image's order.
    pub ranges: Vec<RangeFacts>,
}

/// What one code range says about itself.
#[derive(Clone, Debug, Default)]
pub struct RangeFacts {
    /// Source files named in it (`__FILE__` in assertions), with repetitions.
    pub files: Vec<String>,
    /// Function names passed beside a source file (`__FUNCTION__`), with repetitions.
    pub names: Vec<String>,
    /// The functions it calls directly, by address.
    pub calls: Vec<u64>,
    /// Targets of jumps that leave the range, and whether the jump has a condition.
    pub leaps: Vec<(u64, JumpKind)>,
}

/// Whether a jump has a condition: compilers never make a call of a conditional one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpKind {
    /// It has a condition and may fall through.
    Conditional,
    /// It has none and always jumps.
    Always,
}

#[derive(Default)]
struct Walk {
    starts: Vec<u64>,
    leaders: Vec<u64>,
    facts: RangeFacts,
}

/// Surveys the code of an image, all ranges in parallel.
pub fn survey(image: &CompilerImage) -> Survey {
    let walks: Vec<Walk> = image.ranges.par_iter().with_min_len(64).map(|&range| walk(image, range)).collect();
    let mut boundary = Bits::new(image.text.len());
    for walk in &walks {
        walk.starts.iter().for_each(|&start| boundary.set((start - image.text_address) as usize));
    }
    let is_start = |address: u64| {
        address.checked_sub(image.text_address).is_some_and(|at| (at as usize) < image.text.len() && boundary.get(at as usize))
    };
    let mut blocks: Vec<u64> = walks.iter().flat_map(|w| w.leaders.iter().copied()).collect();
    for (_, bytes) in &image.constants {
        // Absolute jump tables and function tables: any aligned word that points at an instruction.
        blocks.extend(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))));
    }
    blocks.retain(|&block| is_start(block) && image.text[(block - image.text_address) as usize] != 0xcc);
    blocks.par_sort_unstable();
    blocks.dedup();
    Survey { blocks, ranges: walks.into_iter().map(|w| w.facts).collect() }
}

fn walk(image: &CompilerImage, range: CodeRange) -> Walk {
    let mut walk = Walk { leaders: vec![range.start], ..Walk::default() };
    let mut decoder = Decoder::with_ip(64, image.code(range), range.start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut recent: VecDeque<u64> = VecDeque::with_capacity(RECENT + 1);
    // Addresses of constants that the last instructions took: a table base, or assertion arguments.
    let mut ended = false;
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() {
            break;
        }
        let ip = instruction.ip();
        walk.starts.push(ip);
        if ended && !is_padding(&instruction) {
            walk.leaders.push(ip);
            ended = false;
        }
        if let Some(address) = constant_address(&instruction) {
            recent.push_back(address);
            if recent.len() > RECENT {
                recent.pop_front();
            }
        }
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => {
                jump(&mut walk, range, instruction.near_branch_target(), JumpKind::Conditional);
                walk.leaders.push(instruction.next_ip());
            }
            FlowControl::UnconditionalBranch => {
                jump(&mut walk, range, instruction.near_branch_target(), JumpKind::Always);
                ended = true;
            }
            FlowControl::IndirectBranch => {
                recent.iter().for_each(|&base| relative_table(image, range, base, &mut walk.leaders));
                ended = true;
            }
            FlowControl::Call => {
                if instruction.op0_kind() == OpKind::NearBranch64 {
                    walk.facts.calls.push(instruction.near_branch_target());
                }
                arguments(image, &recent, &mut walk.facts);
                recent.clear();
            }
            FlowControl::Return | FlowControl::Exception | FlowControl::Interrupt => ended = true,
            _ => {}
        }
    }
    walk
}

/// How many constant addresses are remembered before a call: an assertion passes two, a table is one.
const RECENT: usize = 4;

fn jump(walk: &mut Walk, range: CodeRange, target: u64, kind: JumpKind) {
    walk.leaders.push(target);
    if !(range.start..range.end).contains(&target) {
        walk.facts.leaps.push((target, kind));
    }
}

fn is_padding(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Nop || instruction.code() == Code::Int3
}

/// The address of a constant that an instruction takes: an immediate in position-dependent code, the
/// operand of `lea` otherwise.
fn constant_address(instruction: &Instruction) -> Option<u64> {
    match instruction.mnemonic() {
        Mnemonic::Lea if instruction.memory_base() == Register::RIP => Some(instruction.ip_rel_memory_address()),
        Mnemonic::Mov if instruction.op0_kind() == OpKind::Register => match instruction.op1_kind() {
            OpKind::Immediate32 => Some(u64::from(instruction.immediate32())),
            OpKind::Immediate64 => Some(instruction.immediate64()),
            OpKind::Immediate32to64 => Some(instruction.immediate32to64() as u64),
            _ => None,
        },
        _ => None,
    }
}

/// Targets of a jump table of 32-bit offsets from its own base, as position-independent code has them.
fn relative_table(image: &CompilerImage, range: CodeRange, base: u64, leaders: &mut Vec<u64>) {
    let Some((start, bytes)) = image.constants.iter().find(|(start, bytes)| (*start..*start + bytes.len() as u64).contains(&base)) else {
        return;
    };
    for word in bytes[(base - start) as usize..].chunks_exact(4) {
        let offset = i32::from_le_bytes(word.try_into().expect("four bytes"));
        let target = base.wrapping_add_signed(i64::from(offset));
        if !(range.start..range.end).contains(&target) {
            break;
        }
        leaders.push(target);
    }
}

/// Reads the arguments of an assertion failure out of the constants taken before a call.
fn arguments(image: &CompilerImage, recent: &VecDeque<u64>, facts: &mut RangeFacts) {
    let texts: Vec<&str> = recent.iter().filter_map(|&address| image.string_at(address)).collect();
    let Some(file) = texts.iter().find(|text| is_source_file(text)) else { return };
    facts.files.push((*file).to_owned());
    if let Some(name) = texts.iter().find(|text| is_identifier(text)) {
        facts.names.push((*name).to_owned());
    }
}

fn is_source_file(text: &str) -> bool {
    let known = [".c", ".cc", ".cpp", ".cxx", ".C"].iter().any(|ext| text.len() > ext.len() + 1 && text.ends_with(ext));
    known && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"./_+-".contains(&b))
}

fn is_identifier(text: &str) -> bool {
    text.len() > 1 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'~') && !text.as_bytes()[0].is_ascii_digit()
}

struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_files_and_identifiers_are_told_from_other_texts() {
        assert!(is_source_file("../../src/gcc/tree-vect-loop.cc"));
        assert!(!is_source_file("cannot open %s.c") && !is_source_file(".c") && !is_source_file("vec.h"));
        assert!(is_identifier("vectorizable_load") && !is_identifier("3x") && !is_identifier("a b"));
    }
}
