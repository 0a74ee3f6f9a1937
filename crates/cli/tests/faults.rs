//! A campaign among broken things: compilers that crash, hang, are killed, fill their disk or write garbage,
//! children that anybody kills, debuggers that die, clocks that jump, databases that are full, locked or read-only. It goes on, the unit is
//! recorded with its reason, and nothing is tried more than twice. Each test prints its counts.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use trueline_store::{Store, UnitRecord};

/// A directory with a broken compiler in it.
struct TestPlace {
    dir: tempfile::TempDir,
}

impl TestPlace {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// gcc, but for what `fault` does at -O2; every such call leaves a line in `calls`. `$out` is the output file.
    fn compiler(&self, fault: &str) -> PathBuf {
        let calls = self.path("calls").display().to_string();
        let text = format!(
            "#!/bin/bash\ncase \"$*\" in *--version*|*-v) exec gcc --version;; esac\nout=${{@: -1}}\n\
             case \"$*\" in *-O2*) echo x >> {calls}\n{fault};; esac\nexec gcc \"$@\"\n"
        );
        self.script("cc", &text)
    }

    fn calls(&self) -> usize {
        std::fs::read_to_string(self.path("calls")).unwrap_or_default().lines().count()
    }

    fn hunt(&self, cc: &Path, db: &Path, seeds: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
        command.args(["hunt", "--json", "--generator", "weave", "--opt=-O1,-O2", "--confirm", "none", "--no-report", "--jobs", "1"]);
        command.args(["--seeds", seeds, "--cc"]);
        command.arg(cc).arg("--db").arg(db);
        command
    }

    /// Hunts on two programs with a compiler that is broken at -O2, and returns the -O2 units. The -O1 ones must be done.
    fn hunt_with(&self, fault: &str) -> Vec<UnitRecord> {
        let cc = self.compiler(fault);
        let db = self.path("hunt.db");
        let output = self.hunt(&cc, &db, "1..3").output().unwrap();
        succeeded(&output);
        sound_units(&db, 4, "-O1").1
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
}

/// The units of a database: those at `good`, which must all be done, and the others.
fn sound_units(db: &Path, planned: usize, good: &str) -> (Vec<UnitRecord>, Vec<UnitRecord>) {
    let store = Store::open_existing(db).unwrap();
    assert_eq!(store.integrity().unwrap(), "ok");
    let units = store.units().unwrap();
    assert_eq!(units.len(), planned, "{units:?}");
    let (fine, rest): (Vec<_>, Vec<_>) = units.into_iter().partition(|u| u.opt == good);
    assert!(fine.iter().all(|u| u.state == "done"), "{fine:?}");
    (fine, rest)
}

fn all_failed(units: &[UnitRecord], reason: &str) {
    for unit in units {
        assert_eq!(unit.state, "failed", "{unit:?}");
        assert!(unit.reason.as_deref().is_some_and(|r| r.contains(reason)), "{unit:?} should say `{reason}`");
    }
}

#[test]
fn a_compiler_that_segfaults_is_a_finding() {
    let place = TestPlace::new();
    let units = place.hunt_with("kill -SEGV $$");
    println!(
        "segfault: {} units with {} findings after {} calls",
        units.len(),
        units.iter().map(|u| u.findings).sum::<u64>(),
        place.calls()
    );
    assert!(units.iter().all(|u| u.state == "done" && u.findings == 1), "{units:?}");
    assert_eq!(place.calls(), 2, "a crash repeats itself: once per program");
}

#[test]
fn a_compiler_killed_as_the_oom_killer_does_it_fails_its_units_after_a_second_try() {
    let place = TestPlace::new();
    let units = place.hunt_with("kill -KILL $$");
    println!("killed: {} units failed after {} calls", units.len(), place.calls());
    all_failed(&units, "killed");
    assert_eq!(place.calls(), 4);
    // Another run has nothing left to try.
    succeeded(&place.hunt(&place.path("cc"), &place.path("hunt.db"), "1..3").output().unwrap());
    assert_eq!(place.calls(), 4);
}

#[test]
fn a_compiler_that_is_killed_once_succeeds_at_the_second_try() {
    let place = TestPlace::new();
    let units = place.hunt_with("[ $(wc -l < ${0%/*}/calls) = 1 ] && kill -KILL $$");
    println!("killed once: {} units done after {} calls", units.len(), place.calls());
    assert!(units.iter().all(|u| u.state == "done"), "{units:?}");
    assert_eq!(place.calls(), 3);
}

/// Every process below one.
fn descendants(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> =
        lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect();
    children.into_iter().flat_map(|child| std::iter::once(child).chain(descendants(child))).collect()
}

/// Ends one of a process's descendants now and then until it is through; which and when depends on `seed`.
fn kill_children_of(running: &mut Child, mut seed: u64) -> usize {
    let mut killed = 0;
    while running.try_wait().unwrap().is_none() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(std::time::Duration::from_millis(20 + (seed >> 33) % 400));
        let all = descendants(running.id());
        if let Some(victim) = all.get((seed >> 40) as usize % all.len().max(1)) {
            // SAFETY: a signal to a process that the hunt started a moment ago; no memory is touched.
            killed += usize::from(unsafe { libc::kill(*victim as i32, libc::SIGKILL) } == 0);
        }
    }
    killed
}

/// Kills hit the driver, the compiler proper, the assembler, the linker, the program and the traced program alike.
#[test]
fn children_that_are_killed_at_random_cost_units_and_never_a_verdict() {
    let place = TestPlace::new();
    let gcc = Path::new("/usr/bin/gcc");
    let undisturbed = place.path("undisturbed.db");
    succeeded(&place.hunt(gcc, &undisturbed, "1..7").output().unwrap());
    let findings = |units: &[UnitRecord]| units.iter().map(|u| u.findings).collect::<Vec<_>>();
    let expected = Store::open_existing(&undisturbed).unwrap().units().unwrap();
    for seed in 1..6 {
        let db = place.path(&format!("{seed}.db"));
        let mut running = place.hunt(gcc, &db, "1..7").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let killed = kill_children_of(&mut running, seed);
        // A kill before the first unit is a hunt that did not start; both are what an operator starts again.
        succeeded(&place.hunt(gcc, &db, "1..7").output().unwrap());
        let units = Store::open_existing(&db).unwrap().units().unwrap();
        let done = units.iter().filter(|u| u.state == "done").count();
        println!("{killed} children killed: {done} of {} units done, {:?} findings", units.len(), findings(&units));
        assert_eq!(units.len(), expected.len());
        for (unit, undisturbed) in units.iter().zip(&expected) {
            assert_eq!((&unit.program, &unit.opt), (&undisturbed.program, &undisturbed.opt));
            match unit.state.as_str() {
                "done" => assert_eq!(unit.findings, undisturbed.findings, "{unit:?}"),
                "failed" => {}
                _ => panic!("a kill became a verdict: {unit:?}"),
            }
        }
    }
}

#[test]
fn a_compiler_that_hangs_with_three_hundred_children_is_a_finding_and_leaves_none_behind() {
    let place = TestPlace::new();
    let sign = format!("4000.{}", std::process::id());
    let fault = format!("set -m; for n in $(seq 300); do sleep {sign} & done; sleep {sign}");
    let cc = place.compiler(&fault);
    let db = place.path("hunt.db");
    succeeded(&place.hunt(&cc, &db, "1..2").output().unwrap());
    let (_, units) = sound_units(&db, 2, "-O1");
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(sign.len()).any(|w| w == sign.as_bytes())
    });
    let left = left.count();
    println!("hang with 300 children: {} finding after {} call, {left} processes left", units[0].findings, place.calls());
    assert!(units[0].state == "done" && units[0].findings == 1, "{units:?}");
    assert_eq!((place.calls(), left), (1, 0));
}

#[test]
fn a_compiler_that_writes_garbage_debug_information_fails_its_units() {
    let place = TestPlace::new();
    let fault =
        "gcc \"$@\" && head -c 3000 /dev/urandom > $out.junk && objcopy --update-section .debug_info=$out.junk $out && rm $out.junk; exit";
    let units = place.hunt_with(fault);
    println!("garbage debug information: {} units failed after {} calls", units.len(), place.calls());
    all_failed(&units, "debug information");
    assert_eq!(place.calls(), 4);
}

/// A shell in a mount namespace of its own with a small file system at `$SMALL`, `None` where that is not allowed.
fn with_small_disk(place: &TestPlace, size: &str, script: &str) -> Option<Output> {
    let small = place.path("small");
    std::fs::create_dir_all(&small).unwrap();
    let allowed = Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|o| o.status.success());
    if !allowed {
        return None;
    }
    let script = format!("mount -t tmpfs -o size={size} none \"$SMALL\" || exit 99\n{script}");
    let output = Command::new("unshare").args(["-m", "bash", "-c", &script]).env("SMALL", small).output().unwrap();
    (output.status.code() != Some(99)).then_some(output)
}

fn shell(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| format!("'{}'", w.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_compiler_that_fills_its_temporary_directory_fails_its_units_and_the_room_comes_back() {
    let place = TestPlace::new();
    let cc = place.compiler("head -c 100000000 /dev/zero > \"$TMPDIR/junk\" 2> /dev/null");
    let db = place.path("hunt.db");
    let script = format!("TMPDIR=$SMALL {} && df --output=avail \"$SMALL\" | tail -n 1 >&2", shell(&place.hunt(&cc, &db, "1..3")));
    let Some(output) = with_small_disk(&place, "8m", &script) else { return println!("skipped: no mount namespace here") };
    succeeded(&output);
    let (_, units) = sound_units(&db, 4, "-O1");
    let room: u64 = String::from_utf8_lossy(&output.stderr).lines().last().unwrap().trim().parse().unwrap();
    println!("temporary directory filled: {} units failed after {} calls, {room} of 8192 KB free again", units.len(), place.calls());
    all_failed(&units, "No space left");
    assert_eq!(place.calls(), 4);
    assert!(room > 8000, "{room} KB");
}

#[test]
fn a_database_on_a_full_disk_waits_for_room_and_goes_on() {
    let place = TestPlace::new();
    let db = place.path("small/hunt.db");
    let hunt = place.hunt(Path::new("gcc"), &db, "1..21");
    // The ballast goes two seconds after the disk is full: when the hunt says so.
    let script = format!(
        "head -c 11m /dev/zero > \"$SMALL/ballast\"\n{} > \"$SMALL/../events\" &\nhunt=$!\n\
         until grep -q 'is full' \"$SMALL/../events\"; do sleep 0.2; kill -0 $hunt 2> /dev/null || break; done\n\
         rm \"$SMALL/ballast\"; wait $hunt; code=$?; cp \"$SMALL/hunt.db\"* \"$SMALL/..\"; exit $code",
        shell(&hunt)
    );
    let Some(output) = with_small_disk(&place, "12m", &script) else { return println!("skipped: no mount namespace here") };
    let events = std::fs::read_to_string(place.path("events")).unwrap_or_default();
    assert!(output.status.success(), "{events}\n{}", String::from_utf8_lossy(&output.stderr));
    let waits = events.lines().filter(|l| l.contains("is full")).count();
    let (fine, rest) = sound_units(&place.path("hunt.db"), 40, "-O1");
    println!("full disk: waited ({waits} warnings), then {} units done", fine.len() + rest.len());
    assert!(waits > 0, "the disk was never full: {events}");
    assert!(rest.iter().all(|u| u.state == "done"), "{rest:?}");
}

#[test]
fn a_read_only_database_is_named_and_left_as_it_was() {
    let place = TestPlace::new();
    let db = place.path("small/hunt.db");
    let hunt = shell(&place.hunt(Path::new("gcc"), &db, "1..2"));
    let more = shell(&place.hunt(Path::new("gcc"), &db, "1..4"));
    let script = format!(
        "{hunt} > /dev/null && mount -o remount,ro \"$SMALL\" && {more}; code=$?; mount -o remount,rw \"$SMALL\"; cp \"$SMALL/hunt.db\"* \"$SMALL/..\"; exit $code"
    );
    let Some(output) = with_small_disk(&place, "20m", &script) else { return println!("skipped: no mount namespace here") };
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("cannot be written"), "{text}");
    let (fine, rest) = sound_units(&place.path("hunt.db"), 2, "-O1");
    println!("read-only: exit code 2, {} units still there", fine.len() + rest.len());
}

#[test]
fn a_database_that_another_program_locks_is_waited_for() {
    let place = TestPlace::new();
    let db = place.path("hunt.db");
    drop(Store::open(&db).unwrap());
    let mut child = place.hunt(Path::new("gcc"), &db, "1..4").stdout(std::process::Stdio::null()).spawn().unwrap();
    let lock = rusqlite::Connection::open(&db).unwrap();
    lock.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    let mut locked = 0;
    for _ in 0..5 {
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        locked += 1;
        std::thread::sleep(std::time::Duration::from_millis(400));
        lock.execute_batch("COMMIT").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(lock);
    assert!(child.wait().unwrap().success());
    let (fine, rest) = sound_units(&db, 6, "-O1");
    println!("busy: locked {locked} times, {} units done", fine.len() + rest.len());
    assert!(rest.iter().all(|u| u.state == "done"), "{rest:?}");
}

#[test]
fn a_debugger_that_dies_in_the_middle_of_a_trace_fails_the_unit_after_a_second_try() {
    if !Path::new("/usr/bin/gdb").exists() {
        return println!("skipped: gdb is not installed");
    }
    let place = TestPlace::new();
    // It dies of a signal after some steps of every -O2 build. What it does cannot be counted in a file: it may not write.
    place.script(
        "gdb",
        "#!/bin/bash\ncase \"$*\" in *--version*) exec /usr/bin/gdb --version;; esac\n\
         binary=${TRUELINE_TRACER#*\\\"binary\\\":\\\"}\nbinary=${binary%%\\\"*}\n\
         grep -q -e ' -O2' \"$binary\" || exec /usr/bin/gdb \"$@\"\n/usr/bin/gdb \"$@\" | head -c 2500\nkill -SEGV $$\n",
    );
    let db = place.path("hunt.db");
    let mut hunt = place.hunt(Path::new("gcc"), &db, "1..3");
    let path = format!("{}:{}", place.dir.path().display(), std::env::var("PATH").unwrap());
    let output = hunt.args(["--engine", "gdb"]).env("PATH", path).output().unwrap();
    succeeded(&output);
    let (_, units) = sound_units(&db, 4, "-O1");
    let tries = String::from_utf8_lossy(&output.stdout).lines().filter(|l| l.contains("\"unit-failed\"")).count();
    println!("debugger died: {} units failed after {tries} tries", units.len());
    all_failed(&units, "gdb");
    assert_eq!(tries, 4);
}

/// Every answer to "what time is it" is another: days before, years after.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static long jump(void) { static unsigned n; static const long by[] = {0, -86400, 94608000, 3, -31536000}; return by[__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 5]; }
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int r = real(id, t);
  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) t->tv_sec += jump();
  return r;
}
int gettimeofday(struct timeval *t, void *zone) { struct timespec s; clock_gettime(CLOCK_REALTIME, &s); t->tv_sec = s.tv_sec; t->tv_usec = s.tv_nsec / 1000; (void)zone; return 0; }
time_t time(time_t *t) { struct timespec s; clock_gettime(CLOCK_REALTIME, &s); if (t) *t = s.tv_sec; return s.tv_sec; }
"#;

#[test]
fn a_clock_that_jumps_by_years_changes_nothing() {
    let place = TestPlace::new();
    let (source, library) = (place.path("clock.c"), place.path("clock.so"));
    std::fs::write(&source, CLOCK).unwrap();
    assert!(Command::new("gcc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl").status().unwrap().success());
    let (jumping, calm) = (place.path("jumping.db"), place.path("calm.db"));
    let mut hunt = place.hunt(Path::new("gcc"), &jumping, "1..6");
    // A time limit far above what the programs take: a campaign that used the clock of the wall would end at once.
    succeeded(&hunt.args(["--for", "10m"]).env("LD_PRELOAD", &library).output().unwrap());
    succeeded(&place.hunt(Path::new("gcc"), &calm, "1..6").output().unwrap());
    let units = |db: &Path| Store::open_existing(db).unwrap().units().unwrap();
    println!("clock jumps: {} units as without", units(&jumping).len());
    assert_eq!(units(&jumping), units(&calm));
    assert_eq!(units(&jumping).iter().filter(|u| u.state == "done").count(), 10);
    let report = Command::new(env!("CARGO_BIN_EXE_trueline")).args(["report", "--json", "--db"]).arg(&jumping).output().unwrap();
    succeeded(&report);
}
