//! Which file a pass lives in, told by the compiler's own binary.
//!
//! gcc: every pass has an exported `make_pass_…` that copies the pass's description, whose second word points
//! at the pass's name; a debug counter is a number that its users pass to `dbg_cnt`. LLVM: a pass is a class
//! whose `run` is exported.
//!
//! Deliberately absent: tables of pass names; what the binary does not say is not known.

use crate::image::{CodeRange, CompilerImage};
use crate::mangled::qualified_name;
use crate::naming::range_at;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use rayon::prelude::*;
use std::collections::HashMap;
use trueline_model::CodeMap;

/// The exported functions that make passes, by the names of these, in a `cc1`.
pub fn pass_makers(image: &CompilerImage) -> HashMap<String, String> {
    let makers = image.exports.iter().filter_map(|(&address, export)| {
        let name = qualified_name(&export.name).filter(|name| name.starts_with("make_pass_"))?;
        Some((image.ranges[range_at(image, address)?], name))
    });
    makers.flat_map(|(range, name)| passes_made(image, range).map(move |pass| (pass, name.clone())).collect::<Vec<_>>()).collect()
}

/// The places that ask a debug counter, by the counter's number, in a `cc1`.
pub fn counter_users(image: &CompilerImage) -> HashMap<u32, Vec<u64>> {
    let is_asked = |name: &str| qualified_name(name).as_deref() == Some("dbg_cnt");
    let Some(asked) = image.exports.iter().find(|(_, export)| is_asked(&export.name)).map(|(&address, _)| address) else {
        return HashMap::new();
    };
    let uses: Vec<(u32, u64)> = image.ranges.par_iter().with_min_len(64).flat_map_iter(|&range| questions(image, range, asked)).collect();
    let mut users: HashMap<u32, Vec<u64>> = HashMap::new();
    uses.into_iter().for_each(|(counter, place)| users.entry(counter).or_default().push(place));
    users
}

/// The calls of a function in a range, with the constants they pass as the first argument.
fn questions(image: &CompilerImage, range: CodeRange, asked: u64) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    let mut argument = None;
    for instruction in Decoder::with_ip(64, image.code(range), range.start, DecoderOptions::NONE) {
        let writes_argument = instruction.op0_kind() == OpKind::Register && instruction.op0_register().full_register() == Register::RDI;
        match instruction.mnemonic() {
            Mnemonic::Mov if writes_argument => {
                argument = (instruction.op1_kind() == OpKind::Immediate32).then(|| instruction.immediate32());
            }
            Mnemonic::Xor if writes_argument && instruction.op1_kind() == OpKind::Register => {
                argument = (instruction.op0_register() == instruction.op1_register()).then_some(0);
            }
            Mnemonic::Call | Mnemonic::Jmp if instruction.op0_kind() == OpKind::NearBranch64 => {
                if instruction.near_branch_target() == asked {
                    found.extend(argument.map(|counter| (counter, instruction.ip())));
                }
                argument = None;
            }
            _ => {}
        }
    }
    found
}

/// The names in the pass descriptions that a function refers to.
fn passes_made(image: &CompilerImage, range: CodeRange) -> impl Iterator<Item = String> + '_ {
    let decoder = Decoder::with_ip(64, image.code(range), range.start, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    instructions.into_iter().flat_map(constants_of).filter_map(|address| {
        let kind = image.word_at(address)? as u32;
        // GIMPLE, RTL, simple IPA and IPA passes.
        (kind < 4).then_some(())?;
        image.string_at(image.word_at(address + 8)?).map(str::to_owned)
    })
}

fn constants_of(instruction: Instruction) -> Vec<u64> {
    let mut found = Vec::new();
    if instruction.memory_base() == Register::RIP {
        found.push(instruction.ip_rel_memory_address());
    } else if instruction.memory_base() == Register::None && instruction.memory_displacement64() != 0 {
        found.push(instruction.memory_displacement64());
    }
    for operand in 0..instruction.op_count() {
        match instruction.op_kind(operand) {
            OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64 => found.push(instruction.immediate(operand)),
            _ => {}
        }
    }
    found
}

/// The file of a function, by its qualified name or, for a class, its `run`.
pub fn file_of_function(map: &CodeMap, matches: impl Fn(&str) -> bool) -> Option<&str> {
    let function = map.functions.iter().find(|function| matches(&function.name))?;
    Some(&map.files[function.file as usize])
}
