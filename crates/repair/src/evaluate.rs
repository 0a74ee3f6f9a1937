//! Evaluates location expressions as a debugger would, on any reader of registers and memory.

use crate::relation::truncate;
use gimli::{EndianSlice, EvaluationResult, LittleEndian, Location, Value};

/// What an expression may ask for.
pub trait StateReader {
    /// A register by its DWARF number.
    fn register(&self, number: u16) -> Option<u64>;
    /// Some bytes of memory, if they can be read.
    fn memory(&self, address: u64, size: u8) -> Option<u64>;
    /// The canonical frame address.
    fn cfa(&self) -> Option<u64>;
    /// What is added to link-time addresses.
    fn bias(&self) -> u64;
}

impl StateReader for crate::relation::MachineState {
    fn register(&self, number: u16) -> Option<u64> {
        if (17..33).contains(&number) {
            return Some(self.xmm[usize::from(number) - 17] as u64);
        }
        let n = trueline_machine::algebra::GPR_DWARF.iter().position(|d| *d == number)?;
        Some(self.gpr[n])
    }

    fn memory(&self, address: u64, size: u8) -> Option<u64> {
        let below = self.cfa.checked_sub(address)?;
        let index = below.div_ceil(8).checked_sub(1)? as usize;
        let shift = (8 - below % 8) % 8;
        (shift + u64::from(size) <= 8).then_some(())?;
        Some(truncate(self.frame.get(index)? >> (8 * shift), u64::from(size)))
    }

    fn cfa(&self) -> Option<u64> {
        Some(self.cfa)
    }

    fn bias(&self) -> u64 {
        self.bias
    }
}

/// The value's low `size` bytes; `None` where it is optimized out or cannot be read.
pub fn evaluate(expression: &[u8], frame_base: Option<u64>, size: u64, reader: &dyn StateReader) -> Option<u64> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
    let mut evaluation = gimli::Expression(EndianSlice::new(expression, LittleEndian)).evaluation(encoding);
    evaluation.set_max_iterations(1000);
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, base_type } if base_type.0 == 0 => {
                evaluation.resume_with_register(Value::Generic(reader.register(register.0)?)).ok()?
            }
            EvaluationResult::RequiresMemory { address, size, base_type, .. } if base_type.0 == 0 => {
                evaluation.resume_with_memory(Value::Generic(reader.memory(address, size)?)).ok()?
            }
            EvaluationResult::RequiresCallFrameCfa => evaluation.resume_with_call_frame_cfa(reader.cfa()?).ok()?,
            EvaluationResult::RequiresFrameBase => evaluation.resume_with_frame_base(frame_base?).ok()?,
            EvaluationResult::RequiresRelocatedAddress(address) => {
                evaluation.resume_with_relocated_address(address.wrapping_add(reader.bias())).ok()?
            }
            _ => return None,
        };
    }
    let pieces = evaluation.result();
    let [piece] = pieces.as_slice() else { return None };
    let bits = match &piece.location {
        Location::Register { register } => reader.register(register.0)?,
        Location::Address { address } => {
            if size == 0 || size > 8 {
                return None;
            }
            reader.memory(*address, size as u8)?
        }
        Location::Value { value } => value.to_u64(u64::MAX).ok()?,
        Location::Bytes { value } => {
            let mut bytes = [0u8; 8];
            let n = value.len().min(8);
            bytes[..n].copy_from_slice(&value.slice()[..n]);
            u64::from_le_bytes(bytes)
        }
        _ => return None,
    };
    Some(truncate(bits, size))
}
