//! DWARF expressions of a stranger: how `repair` evaluates them.
#![no_main]
use libfuzzer_sys::fuzz_target;
use trueline_repair::evaluate::{StateReader, evaluate};

/// A machine that has an answer to everything.
struct Anything;

impl StateReader for Anything {
    fn register(&self, number: u16) -> Option<u64> {
        (number < 33).then_some(u64::from(number) << 40)
    }
    fn memory(&self, address: u64, size: u8) -> Option<u64> {
        (size <= 8).then_some(address.rotate_left(17))
    }
    fn cfa(&self) -> Option<u64> {
        Some(0x7fff_fff0)
    }
    fn bias(&self) -> u64 {
        u64::MAX - 7
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&size, expression)) = data.split_first() else { return };
    evaluate(expression, Some(u64::MAX - 3), u64::from(size), &Anything);
});
