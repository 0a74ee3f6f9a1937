//! Compilers that stay. Much of a small compilation is its start: loading libraries of a hundred megabytes, binding their
//! symbols, running their constructors. A program that is started again and again is therefore started once, stopped
//! where its `main` would begin, and copied for every job (`hook/resident.rs`). A copy leads a session of its own under
//! the job's limits, is our own child, and ends as any other job: what it writes is what a fresh process writes.
//!
//! Whatever stands in the way means a fresh process, never an error: a static program, a script, a kernel or a C library
//! that does not play along, a resident that was killed (the next job starts another).
//!
//! Deliberately absent: confined jobs, and jobs with a fixed address layout or preloaded libraries of their own. They start
//! afresh.

mod keeper;
mod wire;

use crate::script::Script;
use keeper::{PATIENCE, Resident, ResidentStart};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use wire::CopyAnswer;
pub(crate) use wire::{RequestNumbers, UNLIMITED};

/// Set to `off`, every program starts afresh.
const SWITCH: &str = "TRUELINE_RESIDENT";

/// As many programs are kept at most: each holds some ten megabytes of its own. Further ones start afresh.
const MOST: usize = 48;

/// A program that could not be started, or died, this often in a row without having done a job is left alone.
const TRIES: u32 = 3;

/// What a job's program is, as far as starting it goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ResidentKey {
    start: ResidentStart,
    /// Of the program's file: one that is replaced is another.
    identity: [u64; 5],
}

/// Programs may take this much memory in all to settle, that is: to move their code into huge pages while their copies work.
/// A clang has two hundred megabytes, a `cc1` thirty.
const MOST_SETTLED: u64 = 2 << 30;

#[derive(Debug, Default)]
struct ResidentPlace {
    resident: Option<Resident>,
    failures: u32,
    /// Whether the program here may settle; not known before its first job.
    settles: Option<bool>,
}

impl ResidentPlace {
    fn may_settle(&mut self, movable: u64) -> bool {
        static HAVE_HUGE_PAGES: LazyLock<bool> = LazyLock::new(|| {
            let mode = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
            mode.contains("[always]") || mode.contains("[madvise]")
        });
        static SETTLED: AtomicU64 = AtomicU64::new(0);
        let decide = || *HAVE_HUGE_PAGES && movable > 0 && SETTLED.fetch_add(movable, Ordering::Relaxed) + movable <= MOST_SETTLED;
        *self.settles.get_or_insert_with(decide)
    }
}

static PLACES: LazyLock<Mutex<HashMap<ResidentKey, Arc<Mutex<ResidentPlace>>>>> = LazyLock::new(Mutex::default);

/// What a program's file turned out to be.
#[derive(Clone, Debug)]
enum ProgramKind {
    Elf,
    Script(Script),
    /// A file that is neither.
    Other,
}

/// A request to a resident: a job without its streams.
pub(crate) struct ResidentRequest<'a> {
    pub program: &'a Path,
    pub name: Option<&'a OsString>,
    pub args: &'a [OsString],
    pub directory: Option<&'a Path>,
    /// The environment that every tool gets, and that a resident starts in.
    pub usual: Vec<(OsString, OsString)>,
    /// The job's whole environment.
    pub env: Vec<(OsString, OsString)>,
    pub numbers: RequestNumbers,
}

/// Whether programs may stay at all, as far as the user has a say.
pub(crate) fn is_on() -> bool {
    static ON: LazyLock<bool> = LazyLock::new(|| std::env::var_os(SWITCH).is_none_or(|value| value != "off"));
    *ON
}

/// Has a copy of a resident program do a job, with these streams. Its process id, or `None` when a fresh process has to do it.
pub(crate) fn start(order: &ResidentRequest<'_>, streams: [BorrowedFd<'_>; 3]) -> Option<i32> {
    let is_loading = |name: &OsString| name.as_encoded_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES";
    if !is_on() || order.env.iter().any(|(name, _)| is_loading(name)) {
        return None;
    }
    let (key, arguments) = prepare(order)?;
    let directory = order.directory.map_or_else(std::env::current_dir, std::path::absolute).ok()?;
    let variables = order.env.iter().map(|(name, value)| {
        let mut variable = name.clone();
        variable.push("=");
        variable.push(value);
        variable
    });
    let mut request = wire::request(order.numbers, &directory, &arguments, variables)?;
    let place = {
        let mut places = PLACES.lock();
        if places.len() >= MOST && !places.contains_key(&key) {
            return None;
        }
        Arc::clone(places.entry(key.clone()).or_default())
    };
    // One that was killed since its last job is replaced at once.
    (0..2).find_map(|_| ask(&place, &key.start, &mut request, streams).ok())
}

/// CPU time of all that stay: their starts, and making the copies. The copies' own is a job's, as any child's is.
pub(crate) fn cpu_time() -> Duration {
    let places: Vec<_> = PLACES.lock().values().map(Arc::clone).collect();
    places.iter().filter_map(|place| place.lock().resident.as_ref().map(Resident::cpu_time)).sum()
}

/// Asks the resident of a place, which is started where there is none.
fn ask(
    place: &Mutex<ResidentPlace>,
    start: &ResidentStart,
    request: &mut [u8],
    [stdin, stdout, stderr]: [BorrowedFd<'_>; 3],
) -> io::Result<i32> {
    let (ours, theirs) = UnixStream::pair()?;
    let number = {
        let mut place = place.lock();
        if place.failures >= TRIES {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let resident = match place.resident.take() {
            Some(resident) => Ok(resident),
            None => Resident::start(start),
        };
        let sent = resident.and_then(|resident| {
            if place.may_settle(resident.movable) {
                wire::let_settle(request);
            }
            wire::send(&resident.control, request, [theirs.as_fd(), stdin, stdout, stderr])?;
            Ok(resident)
        });
        match sent {
            Ok(resident) => place.resident.insert(resident).pid(),
            Err(error) => {
                place.failures += 1;
                return Err(error);
            }
        }
    };
    // The copy is made without the lock: others may ask meanwhile.
    drop(theirs);
    match wire::answer(&ours, PATIENCE) {
        Ok(CopyAnswer { pid, errno: 0 }) => {
            place.lock().failures = 0;
            // One that was killed meanwhile does not hear it; whoever waits for it will know.
            let _ = (&ours).write_all(&[1]);
            Ok(pid)
        }
        // A directory that is not there, say: a fresh process tells it in the words that it always had.
        Ok(CopyAnswer { pid, errno }) => {
            keeper::reap(pid);
            Err(io::Error::from_raw_os_error(errno))
        }
        Err(error) => {
            let mut place = place.lock();
            if place.resident.as_ref().is_some_and(|resident| resident.pid() == number) {
                place.resident = None;
                place.failures += 1;
            }
            Err(error)
        }
    }
}

/// Which resident a job needs, and the arguments of its `main`; `None` for programs that cannot stay.
fn prepare(order: &ResidentRequest<'_>) -> Option<(ResidentKey, Vec<OsString>)> {
    let path = locate(order.program)?;
    let about = std::fs::metadata(&path).ok()?;
    let identity = [about.dev(), about.ino(), about.size(), about.mtime() as u64, about.mtime_nsec() as u64];
    let env = order.usual.clone();
    let given = order.name.cloned().unwrap_or_else(|| order.program.as_os_str().to_owned());
    let (start, name, front) = match kind(&path, identity) {
        ProgramKind::Other => return None,
        ProgramKind::Elf => (ResidentStart { program: path, args: Vec::new(), name: given.clone(), env }, given, None),
        ProgramKind::Script(script) => {
            let front = script.preparation.in_front_of(order.args.first().map(OsString::as_os_str));
            let name = script.name.into_os_string();
            let args = ["--argv0".into(), name.clone(), "--library-path".into(), script.libraries.into(), script.program.into_os_string()];
            let start = ResidentStart { name: script.loader.clone().into_os_string(), program: script.loader, args: args.to_vec(), env };
            (start, name, front)
        }
    };
    let arguments = [name].into_iter().chain(front.map(OsString::from)).chain(order.args.iter().cloned()).collect();
    Some((ResidentKey { start, identity }, arguments))
}

/// The file of a program; `None` where it would depend on the job's directory.
fn locate(program: &Path) -> Option<PathBuf> {
    if program.is_absolute() {
        return Some(program.to_owned());
    }
    if program.components().count() != 1 {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// What a program's file is, looked at once.
fn kind(path: &Path, identity: [u64; 5]) -> ProgramKind {
    static KNOWN: LazyLock<Mutex<HashMap<[u64; 5], ProgramKind>>> = LazyLock::new(Mutex::default);
    let look = || {
        let mut magic = [0; 4];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
        match (read, Script::at(path)) {
            (Ok(()), _) if magic == *b"\x7fELF" => ProgramKind::Elf,
            (Ok(()), Some(script)) => ProgramKind::Script(script),
            _ => ProgramKind::Other,
        }
    };
    KNOWN.lock().entry(identity).or_insert_with(look).clone()
}

/// The residents of a program, for tests that do to them what others might.
#[cfg(test)]
fn pids_of(program: &Path) -> Vec<i32> {
    let places = PLACES.lock();
    let of_program = places.iter().filter(|(key, _)| key.start.program == program);
    of_program.filter_map(|(_, place)| place.lock().resident.as_ref().map(Resident::pid)).collect()
}

/// Whether programs stay here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResidentSupport {
    /// Copies of compilers can be kept.
    Works,
    /// The user does not want it.
    Off,
    /// Every program starts afresh, for this reason.
    Unavailable(String),
}

/// Tries it with a program that every system has.
pub fn resident_support() -> ResidentSupport {
    if !is_on() {
        return ResidentSupport::Off;
    }
    let start = ResidentStart { program: "/bin/true".into(), args: Vec::new(), name: "true".into(), env: Vec::new() };
    match Resident::start(&start) {
        Ok(_) => ResidentSupport::Works,
        Err(error) => ResidentSupport::Unavailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
