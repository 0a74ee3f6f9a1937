//! What becomes of children: their output, their end, and what they leave behind.

use super::*;

fn sh(script: &str) -> Job {
    Job::new("/bin/sh").args(["-c", script])
}

#[test]
fn a_job_inside_a_directory_leaves_its_temporary_files_there() {
    let scratch = crate::Scratch::new().unwrap();
    let made = sh("mktemp; pwd").inside(scratch.path()).run().unwrap().stdout_text();
    assert!(made.lines().count() == 2 && made.lines().all(|line| Path::new(line).starts_with(scratch.path())), "{made}");
}

#[test]
fn outputs_and_exit_code_come_back() {
    let outcome = sh("echo out; echo err >&2; exit 3").run().unwrap();
    assert_eq!(outcome.exit, Exit::Code(3));
    assert_eq!(outcome.stdout, b"out\n");
    assert_eq!(outcome.stderr, b"err\n");
}

#[test]
fn a_grandchild_dies_with_the_group_at_the_limit() {
    let scratch = crate::Scratch::new().unwrap();
    let mark = scratch.join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", mark.display());
    let limits = Limits { wall: Duration::from_millis(400), ..Limits::default() };
    let outcome = sh(&script).limits(limits).run().unwrap();
    assert_eq!(outcome.exit, Exit::TimedOut);
    let pid: i32 = std::fs::read_to_string(mark).unwrap().trim().parse().unwrap();
    let gone = (0..50).any(|_| {
        thread::sleep(Duration::from_millis(20));
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
    assert!(gone, "the grandchild {pid} outlived its group");
}

#[test]
fn a_grandchild_that_escaped_and_holds_the_pipes_does_not_hold_us() {
    let started = Instant::now();
    let outcome = sh("setsid sleep 20 & echo started").run().unwrap();
    assert_eq!((outcome.exit, outcome.stdout.as_slice()), (Exit::Code(0), &b"started\n"[..]));
    assert!(started.elapsed() < Duration::from_secs(15), "waited for the escaped process");
}

#[test]
fn a_child_that_somebody_kills_has_no_outcome() {
    let killed = sh("echo half; kill -KILL $$").run();
    assert!(matches!(killed, Err(JobError::Killed { .. })), "{killed:?}");
}

#[test]
fn a_child_that_ignores_its_cpu_limit_ran_out_of_time() {
    let limits = Limits { cpu: Duration::from_secs(1), ..Limits::default() };
    let outcome = sh("trap '' XCPU; while :; do :; done").limits(limits).run().unwrap();
    assert_eq!(outcome.exit, Exit::TimedOut);
}

#[test]
fn a_gigabyte_of_output_is_cut_off() {
    let limits = Limits { output: 1 << 20, ..Limits::default() };
    let outcome = sh("yes").limits(limits).run().unwrap();
    assert_eq!(outcome.exit, Exit::TooMuchOutput);
}

#[test]
fn a_busy_loop_ends_at_a_limit_below_a_second() {
    let limits = Limits { cpu: Duration::from_millis(150), ..Limits::default() };
    let outcome = sh("while :; do :; done").limits(limits).run().unwrap();
    assert_eq!(outcome.exit, Exit::TimedOut);
    assert!(outcome.cpu < Duration::from_millis(900), "{:?}", outcome.cpu);
}

#[test]
fn a_busy_loop_ends_at_its_cpu_limit() {
    let limits = Limits { cpu: Duration::from_secs(1), ..Limits::default() };
    let outcome = sh("while :; do :; done").limits(limits).run().unwrap();
    assert_eq!(outcome.exit, Exit::TimedOut);
}

#[test]
fn the_environment_is_scrubbed() {
    let outcome = sh("echo $DEBUGINFOD_URLS$CARGO_MANIFEST_DIR$LC_ALL").run().unwrap();
    assert_eq!(outcome.stdout, b"C\n");
}

#[test]
fn a_missing_program_is_named_in_the_error() {
    let error = Job::new("/nonexistent/tool").run().unwrap_err();
    assert!(error.to_string().contains("/nonexistent/tool"));
}

#[test]
fn command_lines_can_be_pasted_into_a_shell() {
    let line = Job::new("cc").args(["-DX=a b", "it's"]).command_line();
    assert_eq!(line, "cc '-DX=a b' \"it's\"");
}
