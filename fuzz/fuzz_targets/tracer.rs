//! The JSON Lines that the tracers inside gdb and lldb write, in chunks of any size.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::ops::ControlFlow;
use trueline_model::{Step, StepSink};

struct Count(usize);

impl StepSink for Count {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        self.0 += step.vars.len();
        ControlFlow::Continue(())
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&size, stream)) = data.split_first() else { return };
    trueline_trace::read_tracer_output(stream.chunks(usize::from(size).max(1)), &mut Count(0));
});
