//! Ends what a child left behind outside its process group.
//!
//! Every child leads a session of its own. A debugger puts the program it runs into another group, and that
//! program may fork: killing the group alone would leave those processes running for ever. They cannot leave
//! the session, though (a guarded child's `setsid` does nothing), so its number finds them.

use std::io;

/// A process that forks as fast as it can is gone after two or three rounds: what is found is killed before
/// it is scheduled again. More than this many means that the kernel does not let us kill.
const ROUNDS: usize = 50;

/// Kills every process of a session but its leader, and returns how many there were. The leader must not
/// have been reaped yet, so that its number still means this session.
pub(crate) fn end(leader: i32) -> usize {
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let members = members(leader);
        if members.is_empty() {
            break;
        }
        ended += members.into_iter().filter(|&pid| kill(pid, leader).is_ok()).count();
    }
    ended
}

/// Living processes of a session, without its leader.
fn members(leader: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|&pid| pid != leader && session_of(pid) == Some(leader)).collect()
}

/// The session of a living process.
fn session_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; after it come state, parent, group and session.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(2)?.parse().ok() }
}

/// Kills one process, unless its number has gone to another session's since it was read.
fn kill(pid: i32, leader: i32) -> io::Result<()> {
    // SAFETY: system calls on integers and a null pointer, which stands for "no details"; the descriptor is ours and closed here.
    unsafe {
        let handle = libc::syscall(libc::SYS_pidfd_open, pid, 0) as i32;
        if handle < 0 {
            return Err(io::Error::last_os_error());
        }
        let result = if session_of(pid) == Some(leader) {
            libc::syscall(libc::SYS_pidfd_send_signal, handle, libc::SIGKILL, std::ptr::null::<libc::siginfo_t>(), 0)
        } else {
            0
        };
        libc::close(handle);
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Confinement, Exit, Job, Limits};
    use std::time::Duration;

    fn alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    #[test]
    fn processes_in_groups_of_their_own_end_with_a_guarded_child() {
        // `set -m` gives each background process a group of its own, as gdb does with what it runs.
        let script = "set -m; for n in $(seq 40); do sleep 1000 & echo $!; done; setsid sleep 1000 & echo $!";
        let guarded = Confinement::traced();
        let outcome = Job::new("/bin/bash").args(["-c", script]).confine(guarded).run().unwrap();
        let text = outcome.stdout_text();
        let pids: Vec<&str> = text.split_whitespace().collect();
        assert_eq!((outcome.exit, pids.len()), (Exit::Code(0), 41), "{}", outcome.stderr_text());
        let left: Vec<&&str> = pids.iter().filter(|pid| alive(pid)).collect();
        assert!(left.is_empty(), "{left:?} outlived their session");
    }

    #[test]
    fn a_tool_that_forks_without_end_is_gone_at_its_limit() {
        let mark = format!("trueline-fork-test-{}", std::process::id());
        // Every process starts the next in a group of its own and lives on; a few hundred in the time it has.
        let script = format!("set -m; f() {{ sleep 1000.{} & : {mark}; sleep 0.01; f; }}; f", std::process::id());
        let limits = Limits { wall: Duration::from_millis(600), ..Limits::default() };
        let outcome = Job::new("/bin/bash").args(["-c", &script]).limits(limits).run().unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
        let sign = format!("1000.{}", std::process::id());
        let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line.windows(sign.len()).any(|w| w == sign.as_bytes())
        });
        assert_eq!(left.count(), 0);
    }
}
