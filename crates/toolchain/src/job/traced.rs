//! A child that somebody else traces: it waits before its first instruction, and is ended with its group.

use crate::session;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A child that stands still under ptrace.
#[derive(Debug)]
pub struct Traced {
    pub(super) pid: i32,
    pub(super) group: ProcessGroup,
    pub(super) watchdog: Option<Watchdog>,
    /// Whether processes that it started may be in other groups.
    pub(super) leaves_others: bool,
}

impl Traced {
    /// The process id, for ptrace.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// True when the wall-clock limit killed it.
    pub fn timed_out(&self) -> bool {
        self.watchdog.as_ref().is_some_and(Watchdog::fired)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.group.kill();
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.stop();
        }
        if self.leaves_others {
            session::end(self.group.0);
        }
        reap(self.group);
    }
}

/// Time in which the kernel takes apart what was killed: it has always been milliseconds, and giving up leaves a zombie, not a hang.
pub(super) const DYING: Duration = Duration::from_secs(5);

/// Reaps what is left of a killed group. Each traced thread has to be waited for by itself, and the leader reports its end only
/// after all others are gone, so that waiting for the leader alone would never end.
pub(super) fn reap(group: ProcessGroup) {
    let started = Instant::now();
    while started.elapsed() < DYING {
        let mut status = 0;
        // SAFETY: waitpid writes one integer that lives on this stack; only children in the child's own group
        // are waited for, and nobody else asks about those.
        match unsafe { libc::waitpid(-group.0, &mut status, libc::__WALL | libc::WNOHANG) } {
            // Somebody is reaped, or stood still once more on the way to the end.
            pid if pid > 0 => {}
            0 => thread::sleep(Duration::from_micros(200)),
            // ECHILD: nobody is left.
            _ => break,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessGroup(pub(super) i32);

impl ProcessGroup {
    pub(super) fn kill(self) {
        // SAFETY: kill on a process group that this crate created; no memory is touched.
        unsafe {
            libc::kill(-self.0, libc::SIGKILL);
        }
    }
}

/// Kills a group when its time is up, unless stopped before.
#[derive(Debug)]
pub(super) struct Watchdog {
    cancel: mpsc::Sender<()>,
    fired: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Watchdog {
    pub(super) fn start(group: ProcessGroup, wall: Duration) -> Self {
        let (cancel, cancelled) = mpsc::channel::<()>();
        let fired = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&fired);
        let thread = thread::spawn(move || {
            if cancelled.recv_timeout(wall) == Err(mpsc::RecvTimeoutError::Timeout) {
                flag.store(true, Ordering::SeqCst);
                group.kill();
            }
        });
        Self { cancel, fired, thread }
    }

    pub(super) fn fired(&self) -> bool {
        self.fired.load(Ordering::SeqCst)
    }

    pub(super) fn stop(self) -> bool {
        let _ = self.cancel.send(());
        let _ = self.thread.join();
        self.fired.load(Ordering::SeqCst)
    }
}
