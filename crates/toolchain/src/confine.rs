//! What a child may reach beyond its own memory: files, network, other processes.
//!
//! Landlock keeps writes inside named directories and signals inside the child's own domain; seccomp
//! takes away sockets and, for programs under test, new processes. Both work without privileges and cost
//! microseconds, which namespaces do not; only a child that may open sockets gets one (`network`). On a kernel without Landlock the file rules are not enforced;
//! [`confinement_support`] says so, and `doctor` prints it.
//!
//! Everything is prepared in the parent; the child only makes system calls between fork and exec.

use crate::network::OwnNetwork;
use crate::{Permission, Permissions};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope, path_beneath_rules,
};
use parking_lot::Mutex;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition, SeccompFilter,
    SeccompRule as Rule, TargetArch,
};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

/// How far a child is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// A tool that we chose to run: limits only.
    #[default]
    Tool,
    /// A tool that handles untrusted input and needs children of its own, such as a debugger: no network,
    /// and it may write only below these directories.
    Guarded {
        /// Where it may write.
        writable: Vec<PathBuf>,
        /// What it may do all the same.
        allowed: Permissions,
    },
    /// A program under our own tracer: as for a guarded tool, and the tracer is stopped at calls that may be refused.
    Traced {
        /// Where it may write.
        writable: Vec<PathBuf>,
        /// What it may do all the same.
        allowed: Permissions,
    },
    /// A program under test: as above, and no new processes; an attempt ends it with SIGSYS.
    Program {
        /// Where it may write.
        writable: Vec<PathBuf>,
        /// What it may do all the same.
        allowed: Permissions,
    },
}

impl Confinement {
    /// For programs that run under a tracer or in a debugger: nothing may be written and there is no network;
    /// the tracer itself sees and reports new processes.
    pub fn traced() -> Self {
        Self::Guarded { writable: Vec::new(), allowed: Permissions::default() }
    }

    /// Whether it gives a permission; a trusted tool has all.
    pub fn allows(&self, permission: Permission) -> bool {
        match self {
            Self::Tool => true,
            Self::Guarded { allowed, .. } | Self::Traced { allowed, .. } | Self::Program { allowed, .. } => allowed.allow(permission),
        }
    }

    /// For programs under test that run by themselves and write nothing but their output.
    pub fn closed() -> Self {
        Self::Program { writable: Vec::new(), allowed: Permissions::default() }
    }
}

/// What the running kernel can enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfinementSupport {
    /// Files, signals, network and processes.
    Full,
    /// Network and processes only: the kernel has no Landlock.
    NoFileRules,
}

/// Asks the kernel what it can enforce.
pub fn confinement_support() -> ConfinementSupport {
    const VERSION_QUERY: usize = 1;
    // SAFETY: a null attribute of size 0 with the version flag is the documented way to ask for the ABI.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION_QUERY) };
    if abi >= 1 { ConfinementSupport::Full } else { ConfinementSupport::NoFileRules }
}

/// Rules made ready in the parent, to be entered by the child.
pub(crate) struct PreparedRules {
    /// For a child that may open sockets.
    network: Option<OwnNetwork>,
    files: Option<OwnedFd>,
    filters: &'static [BpfProgram],
}

impl PreparedRules {
    /// Prepares the rules; `None` for a trusted tool.
    pub(crate) fn prepare(confinement: &Confinement) -> io::Result<Option<Self>> {
        let (writable, allowed, kind) = match confinement {
            Confinement::Tool => return Ok(None),
            Confinement::Guarded { writable, allowed } => (writable, *allowed, AccessKind::Guarded),
            // Whoever the program starts is let go, and a watched call without a tracer fails.
            Confinement::Traced { writable, allowed } if allowed.allow(Permission::Fork) => (writable, *allowed, AccessKind::Guarded),
            Confinement::Traced { writable, allowed } => (writable, *allowed, AccessKind::Traced),
            Confinement::Program { writable, allowed } => (writable, *allowed, AccessKind::Program),
        };
        let network = allowed.allow(Permission::Net).then(OwnNetwork::prepare).transpose()?;
        Ok(Some(Self { network, files: file_rules(writable, allowed)?, filters: filters(kind, allowed) }))
    }

    /// Enters the rules. Runs between fork and exec: system calls only.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.network.as_ref().map_or(Ok(()), OwnNetwork::enter)?;
        // SAFETY: two system calls on integers.
        unsafe {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            if let Some(files) = &self.files
                && libc::syscall(libc::SYS_landlock_restrict_self, files.as_raw_fd(), 0) < 0
            {
                return Err(io::Error::last_os_error());
            }
        }
        for filter in self.filters {
            seccompiler::apply_filter(filter).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum AccessKind {
    Guarded,
    Traced,
    Program,
}

/// The filters for a kind of child, compiled once.
fn filters(kind: AccessKind, allowed: Permissions) -> &'static [BpfProgram] {
    type Compiled = HashMap<(AccessKind, Permissions), &'static [BpfProgram]>;
    static KNOWN: OnceLock<Mutex<Compiled>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock();
    known.entry((kind, allowed)).or_insert_with(|| Vec::leak(compile(kind, allowed)))
}

fn compile(kind: AccessKind, allowed: Permissions) -> Vec<BpfProgram> {
    let refuse = |errno: i32| SeccompAction::Errno(errno as u32);
    // A new session would hide a process from the end of its job. Nobody needs one, so that the call succeeds and does nothing.
    let no_session = || filter(BTreeMap::from([(libc::SYS_setsid, vec![])]), refuse(0));
    match kind {
        AccessKind::Guarded => {
            let network = (!allowed.allow(Permission::Net)).then(|| filter(no_network(), refuse(libc::EPERM)));
            network.into_iter().chain([no_session()]).collect()
        }
        AccessKind::Traced => vec![no_session(), filter(watched_calls(allowed), SeccompAction::Trace(0))],
        AccessKind::Program => {
            // The C library falls back to clone, whose flags a filter can read, when clone3 is absent.
            let no_clone3 = filter(BTreeMap::from([(libc::SYS_clone3, vec![])]), refuse(libc::ENOSYS));
            vec![filter(no_processes(allowed), SeccompAction::Trap), no_clone3]
        }
    }
}

fn file_rules(writable: &[PathBuf], allowed: Permissions) -> io::Result<Option<OwnedFd>> {
    let abi = ABI::V6;
    let error = |e: landlock::RulesetError| io::Error::other(format!("landlock: {e}"));
    // Reading and executing stay free; /dev/null, /dev/tty and friends are opened for writing by everyone.
    let writes = AccessFs::from_write(abi);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(writes).map_err(error)?;
    if !allowed.allow(Permission::Net) {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi)).map_err(error)?;
    }
    let ruleset = ruleset
        .scope(Scope::from_all(abi))
        .map_err(error)?
        .create()
        .map_err(error)?
        .add_rules(path_beneath_rules(writable, writes))
        .map_err(error)?
        .add_rules(path_beneath_rules(["/dev/null", "/dev/tty", "/dev/full", "/dev/zero"], AccessFs::WriteFile))
        .map_err(error)?;
    Ok(ruleset.into())
}

type Rules = BTreeMap<i64, Vec<Rule>>;

fn no_network() -> Rules {
    let family = |value: i32| rule(Condition::new(0, Len::Dword, Op::Eq, value as u64));
    BTreeMap::from([(
        libc::SYS_socket,
        vec![family(libc::AF_INET), family(libc::AF_INET6), family(libc::AF_PACKET), family(libc::AF_NETLINK)],
    )])
}

/// A system call that a confinement may refuse, and that a tracer is stopped at.
#[derive(Clone, Copy, Debug)]
pub struct WatchedCall {
    /// The number that the kernel knows it by.
    pub number: i64,
    /// The name that reports give it.
    pub name: &'static str,
    /// Which argument is a path, counted from 0.
    pub path: Option<usize>,
}

/// The calls that Landlock refuses outside of the writable directories, and `socket`.
pub const WATCHED_CALLS: &[WatchedCall] = &[
    watched(libc::SYS_open, "open", 0),
    watched(libc::SYS_openat, "openat", 1),
    watched(libc::SYS_creat, "creat", 0),
    watched(libc::SYS_mkdir, "mkdir", 0),
    watched(libc::SYS_mkdirat, "mkdirat", 1),
    watched(libc::SYS_mknodat, "mknodat", 1),
    watched(libc::SYS_unlink, "unlink", 0),
    watched(libc::SYS_unlinkat, "unlinkat", 1),
    watched(libc::SYS_rmdir, "rmdir", 0),
    watched(libc::SYS_rename, "rename", 0),
    watched(libc::SYS_renameat, "renameat", 1),
    watched(libc::SYS_renameat2, "renameat2", 1),
    watched(libc::SYS_link, "link", 0),
    watched(libc::SYS_linkat, "linkat", 1),
    watched(libc::SYS_symlink, "symlink", 0),
    watched(libc::SYS_truncate, "truncate", 0),
    WatchedCall { number: libc::SYS_socket, name: "socket", path: None },
];

const fn watched(number: i64, name: &'static str, path: usize) -> WatchedCall {
    WatchedCall { number, name, path: Some(path) }
}

/// When a tracer is stopped: opening to write, changing directories, opening sockets of the network.
fn watched_calls(allowed: Permissions) -> Rules {
    let mut rules = BTreeMap::new();
    for call in WATCHED_CALLS {
        let writes = |argument| {
            let masked = |mask: i32, value: i32| rule(Condition::new(argument, Len::Dword, Op::MaskedEq(mask as u64), value as u64));
            let access = |value| masked(libc::O_ACCMODE, value);
            vec![access(libc::O_WRONLY), access(libc::O_RDWR), masked(libc::O_CREAT, libc::O_CREAT)]
        };
        let conditions = match call.number {
            libc::SYS_open => writes(1),
            libc::SYS_openat => writes(2),
            _ => vec![],
        };
        rules.insert(call.number, conditions);
    }
    rules.remove(&libc::SYS_socket);
    if !allowed.allow(Permission::Net) {
        rules.extend(no_network());
    }
    rules
}

fn no_processes(allowed: Permissions) -> Rules {
    // Threads and the leak checker's helper share memory (CLONE_VM); a fork does not. vfork shares it too
    // but only to exec, which a closed program has no reason to do.
    let not_shared = rule(Condition::new(0, Len::Qword, Op::MaskedEq(libc::CLONE_VM as u64), 0));
    let vfork_like = rule(Condition::new(0, Len::Qword, Op::MaskedEq(libc::CLONE_VFORK as u64), libc::CLONE_VFORK as u64));
    let mut rules = BTreeMap::new();
    if !allowed.allow(Permission::Fork) {
        rules.insert(libc::SYS_clone, vec![not_shared, vfork_like]);
        rules.extend([libc::SYS_fork, libc::SYS_vfork].map(|call| (call, vec![])));
    }
    if !allowed.allow(Permission::Net) {
        rules.insert(libc::SYS_socket, vec![]);
    }
    for call in
        [libc::SYS_setsid, libc::SYS_setpgid, libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_bpf, libc::SYS_io_uring_setup]
    {
        rules.insert(call, vec![]);
    }
    rules
}

fn rule(condition: Result<Condition, seccompiler::BackendError>) -> Rule {
    Rule::new(vec![condition.expect("argument indexes are below six")]).expect("one condition is not none")
}

fn filter(rules: Rules, on_match: SeccompAction) -> BpfProgram {
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, on_match, TargetArch::x86_64).expect("the two actions differ");
    filter.try_into().expect("a filter of a dozen rules compiles")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileRequest, Exit, Job, Scratch, find_compiler};
    use trueline_model::{Language, OptLevel};

    /// Compiles a program that tries something and runs it confined, its own directory writable.
    fn attempt(code: &str) -> (Exit, Scratch) {
        attempt_with(Permissions::default(), code)
    }

    fn attempt_with(allowed: Permissions, code: &str) -> (Exit, Scratch) {
        let scratch = Scratch::new().unwrap();
        let source = scratch.write("try.c", format!("#define _GNU_SOURCE\n#include <fcntl.h>\n#include <signal.h>\n#include <sys/socket.h>\n#include <arpa/inet.h>\n#include <errno.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(void) {{ {code} }}\n")).unwrap();
        let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("try"));
        let build = find_compiler("gcc").unwrap().compile(&request).unwrap();
        std::fs::create_dir(scratch.join("own")).unwrap();
        let confinement = Confinement::Program { writable: vec![scratch.join("own")], allowed };
        let exit = Job::new(build.binary).cwd(scratch.join("own")).confine(confinement).run().unwrap().exit;
        (exit, scratch)
    }

    #[test]
    fn a_program_writes_in_its_own_directory_and_nowhere_else() {
        if confinement_support() != ConfinementSupport::Full {
            eprintln!("skipped: this kernel has no Landlock");
            return;
        }
        let (exit, scratch) = attempt(
            "int in = open(\"mine\", O_CREAT | O_WRONLY, 0600); int out = open(\"../theirs\", O_CREAT | O_WRONLY, 0600); return (in >= 0) * 2 + (out >= 0);",
        );
        assert_eq!(exit, Exit::Code(2));
        assert!(scratch.join("own/mine").exists() && !scratch.join("theirs").exists());
    }

    #[test]
    fn a_program_may_read_what_it_needs_and_write_to_dev_null() {
        let (exit, _scratch) = attempt("return !(fopen(\"/etc/passwd\", \"r\") && fopen(\"/dev/null\", \"w\"));");
        assert_eq!(exit, Exit::Code(0));
    }

    #[test]
    fn a_program_that_forks_is_ended() {
        assert_eq!(attempt("return fork();").0, Exit::Signal(libc::SIGSYS));
        assert_eq!(attempt("return system_like();} int system_like(void) { return vfork();").0, Exit::Signal(libc::SIGSYS));
    }

    #[test]
    fn a_program_that_leaves_its_group_is_ended() {
        assert_eq!(attempt("return setpgid(0, 0);").0, Exit::Signal(libc::SIGSYS));
    }

    #[test]
    fn a_program_has_no_network() {
        assert_eq!(attempt("return socket(AF_INET, SOCK_STREAM, 0) < 0;").0, Exit::Signal(libc::SIGSYS));
    }

    #[test]
    fn a_program_that_may_use_the_network_reaches_itself_and_nobody_else() {
        let code = r"
            struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, other = own;
            socklen_t length = sizeof own;
            int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
            if (bind(server, (void *)&own, length) || listen(server, 1) || getsockname(server, (void *)&own, &length)) return 1;
            if (connect(client, (void *)&own, length) || accept(server, 0, 0) < 0) return 2;
            other.sin_addr.s_addr = htonl(0xc0000201), other.sin_port = htons(53);
            int away = socket(AF_INET, SOCK_DGRAM, 0);
            if (connect(away, (void *)&other, length) == 0) return 3;
            return errno == ENETUNREACH ? 7 : 4;";
        let (exit, _scratch) = attempt_with([Permission::Net].into_iter().collect(), code);
        assert_eq!(exit, Exit::Code(7));
    }

    #[test]
    fn a_program_cannot_signal_others() {
        if confinement_support() != ConfinementSupport::Full {
            eprintln!("skipped: this kernel has no Landlock");
            return;
        }
        assert_eq!(attempt("return kill(getppid(), 0) == 0;").0, Exit::Code(0));
    }

    #[test]
    fn a_guarded_tool_may_fork_but_not_reach_the_network() {
        let scratch = Scratch::new().unwrap();
        let guarded = Confinement::Guarded { writable: vec![scratch.path().to_owned()], allowed: Permissions::default() };
        let script = "(exit 3); test $? = 3 && echo x > inside && ! (exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null && ! echo y 2>/dev/null > ../trueline-outside";
        let outcome = Job::new("/bin/bash").args(["-c", script]).cwd(scratch.path()).confine(guarded).run().unwrap();
        assert_eq!(outcome.exit, Exit::Code(0), "{}", outcome.stderr_text());
        assert!(scratch.join("inside").exists());
    }
}
