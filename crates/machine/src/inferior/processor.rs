//! One processor for the tracer and the program. They never run at the same time, and to hand over to somebody on another processor
//! costs an interrupt and often the end of that processor's sleep: on the same one a stop costs a seventh less CPU time, and
//! on a busy machine half as much time by the clock.
//!
//! For long runs only: many tracers that begin at the same time may choose the same processor.

use super::Inferior;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// The processors that the tracer's thread had before; it has them again when this is dropped.
pub(super) struct Shared(CpuSet);

impl Drop for Shared {
    fn drop(&mut self) {
        // What cannot be given back was never taken.
        let _ = sched_setaffinity(Pid::from_raw(0), &self.0);
    }
}

impl Inferior {
    /// Keeps the followed thread and the calling one on the processor that this runs on. Without the right to do so all stays as it is.
    pub fn share_processor(&mut self) {
        if self.shared.is_none() {
            self.shared = self.try_to_share().ok();
        }
    }

    fn try_to_share(&self) -> nix::Result<Shared> {
        let us = Pid::from_raw(0);
        let before = sched_getaffinity(us)?;
        let mut one = CpuSet::new();
        one.set(sched_getcpu()?)?;
        sched_setaffinity(self.pid, &one)?;
        sched_setaffinity(us, &one)?;
        Ok(Shared(before))
    }
}
