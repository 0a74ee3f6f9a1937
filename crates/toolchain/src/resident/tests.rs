//! What a copy is told, what it may do and how it ends is compared with a fresh process's; what kills a resident is tried.

use super::*;
use crate::{Exit, Job, JobError, Limits, Outcome, Scratch};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SH: &str = "/bin/sh";

fn both(job: &Job) -> [Outcome; 2] {
    [job.clone().kept(), job.clone().afresh()].map(|job| job.run().unwrap())
}

/// The residents of a copy of the shell of this test's own: tests run side by side.
fn own_shell(scratch: &Scratch) -> PathBuf {
    let shell = scratch.join("shell");
    std::fs::copy(SH, &shell).unwrap();
    shell
}

fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn kill(pid: i32) {
    // SAFETY: a system call on integers, on a process of this test's own.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

#[test]
fn a_copy_sees_what_a_fresh_process_sees() {
    let scratch = Scratch::new().unwrap();
    let shell = own_shell(&scratch);
    let script = r#"pwd; echo "$0" "$#" "$@"; env | grep -v ^_=; ulimit -a | grep -v ^process; cat; echo err >&2; umask; trap
        for fd in /proc/$$/fd/*; do echo "${fd##*/}"; done; while read -r key value; do
            case $key in Sig[BIC]*|Threads*|Seccomp*|NoNewPrivs*|TracerPid*) echo "$key $value"; esac
        done < /proc/$$/status
        read -r pid name state parent group session rest < /proc/$$/stat; [ "$pid $pid" = "$group $session" ] && echo "$name $parent"
        readlink /proc/$$/exe; exit 7"#;
    let limits = Limits { cpu: Duration::from_secs(7), memory: Some(3 << 30), file_size: 12345, ..Limits::default() };
    let job = Job::new(&shell).args(["-c", script, "zero", "one two", ""]).env("COLOUR", "a=b c").limits(limits).stdin("some text\n");
    for job in [job.clone(), job.clone().inside(scratch.path()), job.argv0("other name")] {
        let [kept, fresh] = both(&job);
        assert_eq!((kept.stdout_text(), kept.stderr_text(), kept.exit), (fresh.stdout_text(), fresh.stderr_text(), fresh.exit));
        assert!(kept.exit == Exit::Code(7) && kept.stdout_text().contains("some text"), "{}", kept.stdout_text());
    }
    assert_eq!(pids_of(&shell).len(), 2, "one for each name");
}

#[test]
fn a_copy_ends_as_a_fresh_process_ends() {
    let scratch = Scratch::new().unwrap();
    let shell = own_shell(&scratch);
    let in_time = Limits { wall: Duration::from_millis(400), ..Limits::default() };
    let little = Limits { cpu: Duration::from_millis(150), ..Limits::default() };
    let second = Limits { cpu: Duration::from_secs(1), ..Limits::default() };
    let short = Limits { output: 1 << 16, ..Limits::default() };
    for (script, limits, exit) in [
        ("kill -SEGV $$", Limits::default(), Exit::Signal(libc::SIGSEGV)),
        ("exit 255", Limits::default(), Exit::Code(255)),
        ("sleep 1000", in_time, Exit::TimedOut),
        ("while :; do :; done", little, Exit::TimedOut),
        ("trap '' XCPU; while :; do :; done", second, Exit::TimedOut),
        ("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", short, Exit::TooMuchOutput),
    ] {
        let outcomes = both(&Job::new(&shell).args(["-c", script]).limits(limits));
        assert_eq!(outcomes.map(|outcome| outcome.exit), [exit, exit], "{script}");
    }
    let killed = Job::new(&shell).args(["-c", "kill -KILL $$"]).kept().run();
    assert!(matches!(killed, Err(JobError::Killed { .. })), "{killed:?}");
    assert_eq!(pids_of(&shell).len(), 1, "the resident saw all of it and is there");
}

#[test]
fn what_a_copy_started_ends_with_it() {
    let scratch = Scratch::new().unwrap();
    let job = Job::new(own_shell(&scratch)).args(["-c", "sleep 1000 & echo $!; sleep 1000"]).kept();
    let outcome = job.limits(Limits { wall: Duration::from_millis(300), ..Limits::default() }).run().unwrap();
    let pid: i32 = outcome.stdout_text().trim().parse().unwrap();
    assert!(
        outcome.exit == Exit::TimedOut
            && (0..100).any(|_| {
                std::thread::sleep(Duration::from_millis(20));
                !is_alive(pid)
            })
    );
}

#[test]
fn a_resident_that_is_killed_is_made_anew_and_no_job_notices() {
    let scratch = Scratch::new().unwrap();
    let shell = own_shell(&scratch);
    let mut seen = std::collections::BTreeSet::new();
    for n in 0..20 {
        let outcome = Job::new(&shell).args(["-c", &format!("echo {n}")]).kept().run().unwrap();
        assert_eq!((outcome.exit, outcome.stdout_text()), (Exit::Code(0), format!("{n}\n")));
        let pids = pids_of(&shell);
        seen.extend(pids.iter().copied());
        pids.into_iter().for_each(kill);
    }
    assert_eq!(seen.len(), 20, "{seen:?}");
}

#[test]
fn residents_killed_at_any_moment_lose_no_job() {
    let scratch = Scratch::new().unwrap();
    let shell = own_shell(&scratch);
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut kills = 0;
            for pause in (0u64..).map(|n| n * 7919 % 1500) {
                std::thread::sleep(Duration::from_micros(pause));
                if over.load(std::sync::atomic::Ordering::SeqCst) {
                    return kills;
                }
                // Under the lock of its place a resident has not been waited for: the number is its own.
                let places: Vec<_> = PLACES.lock().iter().filter(|(k, _)| k.start.program == shell).map(|(_, p)| Arc::clone(p)).collect();
                for place in places {
                    if let Some(resident) = place.lock().resident.as_ref() {
                        kill(resident.pid());
                        kills += 1;
                    }
                }
            }
            kills
        });
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let shell = &shell;
                scope.spawn(move || {
                    for n in 0..100 {
                        let outcome = Job::new(shell).args(["-c", &format!("echo {worker} {n}")]).kept().run().unwrap();
                        assert_eq!((outcome.exit, outcome.stdout_text()), (Exit::Code(0), format!("{worker} {n}\n")));
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(killer.join().unwrap() > 0);
    });
}

#[test]
fn what_cannot_stay_starts_afresh() {
    let scratch = Scratch::new().unwrap();
    let script = scratch.write("script", "#!/bin/sh\necho script \"$@\"\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let source =
        scratch.write("a.c", "#include <stdio.h>\nint main(int c, char **v) { printf(\"static %s\\n\", v[1]); return 0; }\n").unwrap();
    let fixed = scratch.join("static");
    assert!(Job::new("gcc").arg("-static").arg(source).arg("-o").arg(&fixed).run().unwrap().success());
    for (program, said) in [(&script, "script x\n"), (&fixed, "static x\n")] {
        for _ in 0..5 {
            assert_eq!(Job::new(program).arg("x").kept().run().unwrap().stdout_text(), said);
        }
        assert!(pids_of(program).is_empty());
    }
    // A library of the job's own is loaded when a program starts, and at no other time.
    let shell = own_shell(&scratch);
    assert!(Job::new(&shell).args(["-c", ":"]).env("LD_LIBRARY_PATH", "/x").kept().run().unwrap().success());
    let missing = Job::new(&shell).args(["-c", ":"]).cwd(scratch.join("nowhere")).kept().run();
    assert!(matches!(missing, Err(JobError::Spawn { .. })), "{missing:?}");
    assert!(Job::new(&shell).args(["-c", ":"]).args(vec!["x".repeat(1000); 200]).kept().run().unwrap().success());
}

#[test]
fn a_program_that_is_replaced_is_started_anew() {
    let scratch = Scratch::new().unwrap();
    let program = scratch.join("program");
    for (from, said) in [("/bin/echo", "one\n"), ("/bin/true", "")] {
        let fresh = scratch.join("new");
        std::fs::copy(from, &fresh).unwrap();
        std::fs::rename(&fresh, &program).unwrap();
        assert_eq!(Job::new(&program).arg("one").kept().run().unwrap().stdout_text(), said);
    }
}

/// Not a test of its own: the process that the next test ends.
#[test]
fn somebody_who_keeps_a_program() {
    if std::env::var_os("TRUELINE_TEST_KEEPS").is_some() {
        let job = Job::new(SH).args(["-c", "echo done; sleep 1000"]).kept();
        std::thread::scope(|scope| {
            scope.spawn(|| job.run());
            while pids_of(Path::new(SH)).is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let copy = std::iter::repeat_with(|| children_but(&pids_of(Path::new(SH)))).find(|pids| !pids.is_empty()).unwrap();
            println!("kept {} copy {}", pids_of(Path::new(SH))[0], copy[0]);
            std::thread::sleep(Duration::from_secs(1000));
        });
    }
}

fn children_but(known: &[i32]) -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let text: String = tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default()).collect();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).filter(|pid| !known.contains(pid)).collect()
}

#[test]
fn residents_and_their_copies_end_with_whoever_keeps_them() {
    let name = "resident::tests::somebody_who_keeps_a_program";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env("TRUELINE_TEST_KEEPS", "1").stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = io::BufRead::lines(io::BufReader::new(child.stdout.take().unwrap()));
    let line = lines.find_map(|line| line.unwrap().split_once("kept ").map(|(_, pids)| pids.to_owned())).unwrap();
    let pids: Vec<i32> = line.split(" copy ").map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.len() == 2 && pids.iter().all(|&pid| is_alive(pid)), "{pids:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let started = Instant::now();
    while pids.iter().any(|&pid| is_alive(pid)) {
        assert!(started.elapsed() < Duration::from_secs(20), "{pids:?} outlived their keeper");
        std::thread::sleep(Duration::from_millis(10));
    }
}
