//! CPU time used so far, for budgets that count what work costs rather than how busy the machine is.

use std::time::Duration;

/// CPU time of this process, of every child it has waited for, and of the programs that stay, user and system.
pub fn cpu_time() -> Duration {
    let waited_for: Duration = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].into_iter().map(usage_of).sum();
    waited_for + crate::resident::cpu_time()
}

fn usage_of(who: libc::c_int) -> Duration {
    // SAFETY: an all-zero rusage is a valid value, and getrusage writes only to the place it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_children_counts() {
        let before = cpu_time();
        crate::Job::new("/bin/sh").args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).run().unwrap();
        assert!(cpu_time() > before);
    }
}
