//! Inputs: what may hold any numbers does, what indexes does not, and extremes do not stay where they are.

use std::collections::BTreeSet;
use trueline_machine::image::Image;
use trueline_repair::debug::ImageInfo;
use trueline_repair::inputs::{self, Input, InputOrigin};
use trueline_repair::observe::BuildSide;
use trueline_toolchain::{Limits, Scratch, find_compiler};

const SOURCE: &str = "int where[64], data[64], out[64];
__attribute__((noinline)) void gather(void) {
  int i;
  for (i = 0; i < 64; i++)
    out[i] = data[where[i]] + 1;
}
int main(void) { gather(); return 0; }
";

fn words(input: &Input, address: u64) -> Vec<i32> {
    let bytes = input.optimized.memory.bytes(address.wrapping_add(input.optimized.bias), 256).unwrap();
    bytes.chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect()
}

#[test]
fn indices_stay_indices_and_extremes_take_turns() {
    let scratch = Scratch::new().unwrap();
    let source = scratch.write("source.c", SOURCE).unwrap();
    let Ok(compiler) = find_compiler("gcc") else {
        eprintln!("skipped: no gcc");
        return;
    };
    let build = |level: &str, name: &str| {
        let output = scratch.join(name);
        let job = compiler.job().args([level, "-g"]).arg(&source).arg("-o").arg(&output).limits(Limits::seconds(120));
        let outcome = job.run().unwrap();
        assert!(outcome.success(), "{}", outcome.stderr_text());
        Image::open(&output).unwrap()
    };
    let (reference, optimized) = (build("-O0", "reference"), build("-O2", "optimized"));
    let (theirs, ours) = (ImageInfo::read(&reference).unwrap(), ImageInfo::read(&optimized).unwrap());
    let find = |info: &ImageInfo| info.functions.iter().position(|f| f.name == "gather").unwrap();
    let builds = (
        BuildSide::new(&reference, &theirs, &theirs.functions[find(&theirs)]),
        BuildSide::new(&optimized, &ours, &ours.functions[find(&ours)]),
    );
    let symbol = |name: &str| optimized.data_symbols().find(|s| s.name == name).unwrap().address;
    let inputs = inputs::make(&builds, None, &[], 2, 1);
    let wild: Vec<&Input> = inputs.iter().filter(|i| i.origin == InputOrigin::Wild).collect();
    assert!(wild.len() >= 8, "{}", wild.len());
    let (mut lanes, mut free) = (BTreeSet::new(), 0);
    for input in wild {
        assert!(words(input, symbol("where")).iter().all(|w| (0..64).contains(w)), "an index became something else");
        let data = words(input, symbol("data"));
        // Some start from the data as it was, with results already there.
        if data.iter().all(|d| (0..64).contains(d)) {
            continue;
        }
        free += 1;
        lanes.extend((0..64).max_by_key(|n| data[*n]).map(|n| n % 4));
    }
    assert!(free >= 8, "the data was varied freely only {free} times");
    assert_eq!(lanes.len(), 4, "the largest element stood in lanes {lanes:?} only");
    // The same seed makes the same inputs.
    let again = inputs::make(&builds, None, &[], 2, 1);
    assert!(inputs.iter().zip(&again).all(|(a, b)| words(a, symbol("data")) == words(b, symbol("data"))));
}
