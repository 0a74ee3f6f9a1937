//! Compilers, LLVM's `opt` and debuggers from other Debian suites, each in a directory of its own, run through its own loader.
//!
//! apt does the resolving, the downloading and the verification (signed release file, then checksums)
//! with state, cache and sources of its own; `dpkg -x` unpacks. The programs that matter become small
//! shell scripts that start the real ones through the loader and the libraries that came with them, so
//! that a driver which starts itself or its `cc1` again ends up in the same place. A gcc brings the assembler
//! and the linker of its suite where they are newer than the host's: it writes directives that an older
//! assembler does not know. Headers and the C library are the host's: the programs must run here.
//!
//! Deliberately absent: anything system-wide. Removing the directory removes the toolchain.

mod apt;
mod trial;
mod wrapping;

use crate::{Job, JobError, Limits};
use apt::Apt;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wrapping::Wrapping;

const ARCH: &str = "x86_64-linux-gnu";
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Stable suites first, newest before oldest, then the moving ones.
const SUITES: [&str; 5] = ["trixie", "bookworm", "bullseye", "forky", "sid"];
/// Package lists older than this are fetched again.
const LISTS_AGE: Duration = Duration::from_secs(24 * 3600);
/// Packages that are depended on and never used: programs are compiled for this machine, with its C library.
const SKIPPED: [&str; 6] = ["perl", "libperl", "linux-libc-dev", "libc6-dev", "libc-dev-bin", "debconf"];
/// Packages that only gcc uses: clang assembles by itself and links with the host's linker.
const BINUTILS: [&str; 2] = ["binutils", "libbinutils"];

/// Why a toolchain could not be fetched, or removed.
#[derive(Debug, thiserror::Error)]
pub enum PrivateRootError {
    /// Not a name that we can fetch.
    #[error("`{0}` is not something to fetch; use clang-N, gcc-N, opt-N, gdb-N or lldb-N, for instance clang-18")]
    BadName(String),
    /// It is there already.
    #[error("{name} is there already, in {dir}; `trueline toolchains remove {name}` removes it", dir = dir.display())]
    Present {
        /// The toolchain that is already there.
        name: String,
        /// The directory that it is in.
        dir: PathBuf,
    },
    /// It was never fetched.
    #[error("{name} is not among the fetched toolchains ({have}); compilers of the host are not ours to remove")]
    Absent {
        /// The toolchain that was not fetched.
        name: String,
        /// The toolchains that are there.
        have: String,
    },
    /// apt or dpkg is missing: not a Debian system.
    #[error(
        "`{tool}` is needed to fetch toolchains and was not found; on a system without apt, install the compiler yourself and give its path"
    )]
    NoApt {
        /// The program that is missing.
        tool: String,
    },
    /// The mirror does not answer, or its signature is wrong.
    #[error("cannot read suite {suite} from {mirror}: {message}\ncheck the network, or name another mirror with --mirror URL")]
    Unreachable {
        /// The suite that was asked.
        suite: String,
        /// The mirror that was asked.
        mirror: String,
        /// What apt said about it.
        message: String,
    },
    /// No suite has it.
    #[error("no Debian suite at {mirror} has {name} (looked in {suites}); {hint}")]
    NoSuite {
        /// The toolchain that no suite has.
        name: String,
        /// The mirror that was asked.
        mirror: String,
        /// The suites that were asked.
        suites: String,
        /// What they do have.
        hint: String,
    },
    /// A download or an unpacking failed; nothing was kept.
    #[error("{what} failed: {message}")]
    Failed {
        /// The step that did not work.
        what: String,
        /// What the tool said.
        message: String,
    },
    /// It was unpacked but does not compile a program; nothing was kept.
    #[error("{name} was unpacked but does not work here: {message}")]
    Unusable {
        /// The toolchain that failed its trial.
        name: String,
        /// What it said when it was tried.
        message: String,
    },
    /// A process could not be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The directory cannot be used.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or directory in question.
        path: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
}

/// A toolchain that was fetched.
#[derive(Clone, Debug)]
pub struct PrivateRoot {
    /// Its name, `clang-18` or `opt-18`.
    pub name: String,
    /// The suite it came from.
    pub suite: String,
    /// The Debian version of its package.
    pub package_version: String,
    /// The directory that holds all of it.
    pub dir: PathBuf,
    /// The program to run.
    pub program: PathBuf,
}

/// Where to fetch from.
#[derive(Clone, Debug, Default)]
pub struct FetchOptions {
    /// Another mirror than Debian's own.
    pub mirror: Option<String>,
    /// One suite instead of all of them.
    pub suite: Option<String>,
}

/// The directory of fetched toolchains.
#[derive(Clone, Debug)]
pub struct PrivateRoots {
    dir: PathBuf,
}

impl PrivateRoots {
    /// The user's: `$TRUELINE_TOOLCHAINS`, else `trueline/toolchains` under `$XDG_DATA_HOME` or `~/.local/share`.
    pub fn of_user() -> Option<Self> {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let data = || var("XDG_DATA_HOME").or_else(|| Some(var("HOME")?.join(".local/share")));
        let dir = var("TRUELINE_TOOLCHAINS").or_else(|| Some(data()?.join("trueline/toolchains")))?;
        Some(Self { dir })
    }

    /// One at a place of the caller's choice.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The directory of all fetched toolchains.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the programs of all roots are, to be searched after `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.dir.join("bin")
    }

    /// What has been fetched, by name.
    pub fn list(&self) -> Vec<PrivateRoot> {
        let mut roots: Vec<PrivateRoot> =
            fs::read_dir(&self.dir).into_iter().flatten().flatten().filter_map(|e| self.read(e.file_name().to_str()?)).collect();
        roots.sort_by(|a, b| (family(&a.name), number(&a.name)).cmp(&(family(&b.name), number(&b.name))));
        roots
    }

    fn read(&self, name: &str) -> Option<PrivateRoot> {
        let dir = self.dir.join(name);
        let manifest = fs::read_to_string(dir.join("manifest")).ok()?;
        let field = |key: &str| manifest.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('=')).unwrap_or("").to_owned();
        let program = self.bin().join(name);
        Some(PrivateRoot { name: name.to_owned(), suite: field("suite"), package_version: field("version"), program, dir })
    }

    /// Removes a fetched toolchain.
    pub fn remove(&self, name: &str) -> Result<PrivateRoot, PrivateRootError> {
        let names = || self.list().iter().map(|r| r.name.clone()).collect::<Vec<_>>().join(", ");
        let have = || if self.list().is_empty() { "none".to_owned() } else { names() };
        let absent = || PrivateRootError::Absent { name: name.to_owned(), have: have() };
        let root = Some(name).filter(|n| !n.contains('/')).and_then(|n| self.read(n)).ok_or_else(absent)?;
        let _ = fs::remove_file(&root.program);
        fs::remove_dir_all(&root.dir).map_err(at(&root.dir))?;
        Ok(root)
    }

    /// Fetches `clang-N`, `gcc-N`, `opt-N`, `gdb-N` or `lldb-N`, tries it on a program, and only then makes it visible.
    pub fn fetch(&self, name: &str, options: &FetchOptions, progress: &dyn Fn(&str)) -> Result<PrivateRoot, PrivateRootError> {
        if !matches!(family(name), "clang" | "gcc" | "opt" | "gdb" | "lldb") || number(name).is_none() {
            return Err(PrivateRootError::BadName(name.to_owned()));
        }
        if let Some(root) = self.read(name) {
            return Err(PrivateRootError::Present { name: name.to_owned(), dir: root.dir });
        }
        let mirror = options.mirror.clone().unwrap_or_else(|| DEFAULT_MIRROR.to_owned());
        let (apt, version) = self.find_suite(name, &mirror, options.suite.as_deref(), progress)?;
        progress(&format!("downloading {name} {version} from {}", apt.suite));
        let packages = apt.download(name)?;
        let dir = self.dir.join(name);
        // A directory without a manifest is what an interrupted fetch left behind.
        let _ = fs::remove_dir_all(&dir);
        let result = self.install(name, &version, &apt, &packages, progress);
        packages.iter().for_each(|package| drop(fs::remove_file(package)));
        if result.is_err() {
            let _ = fs::remove_dir_all(&dir);
            let _ = fs::remove_file(self.bin().join(name));
        }
        result
    }

    fn install(
        &self,
        name: &str,
        version: &str,
        apt: &Apt,
        packages: &[PathBuf],
        progress: &dyn Fn(&str),
    ) -> Result<PrivateRoot, PrivateRootError> {
        let dir = self.dir.join(name);
        fs::create_dir_all(&dir).map_err(at(&dir))?;
        for (index, package) in packages.iter().enumerate() {
            progress(&format!("unpacking {} of {}", index + 1, packages.len()));
            let outcome = Job::new("dpkg-deb").arg("-x").arg(package).arg(&dir).limits(Limits::seconds(120)).run().map_err(no_apt)?;
            if !outcome.success() {
                let what = format!("unpacking {}", package.display());
                return Err(PrivateRootError::Failed { what, message: last_lines(&outcome.stderr_text()) });
            }
        }
        Wrapping::of(&dir, name)?.wrap_all()?;
        let bin = self.bin();
        fs::create_dir_all(&bin).map_err(at(&bin))?;
        let link = bin.join(name);
        let _ = fs::remove_file(&link);
        symlink(format!("../{name}/usr/bin/{name}"), &link).map_err(at(&link))?;
        progress(&format!("trying {name}"));
        trial::run(name, &link)?;
        let manifest = dir.join("manifest");
        fs::write(&manifest, format!("suite={}\nversion={version}\n", apt.suite)).map_err(at(&manifest))?;
        self.read(name).ok_or_else(|| PrivateRootError::Unusable { name: name.to_owned(), message: "no manifest".to_owned() })
    }

    fn find_suite(&self, name: &str, mirror: &str, only: Option<&str>, progress: &dyn Fn(&str)) -> Result<(Apt, String), PrivateRootError> {
        let suites: Vec<&str> = only.map_or_else(|| SUITES.to_vec(), |suite| vec![suite]);
        let mut have: Vec<String> = Vec::new();
        let mut failure = None;
        for suite in &suites {
            let apt = Apt::prepare(&self.dir.join("apt"), suite, mirror)?;
            progress(&format!("reading the package lists of {suite}"));
            match apt.update() {
                Ok(()) => {}
                Err(error @ PrivateRootError::Unreachable { .. }) => {
                    failure.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            }
            if let Some(version) = apt.candidate(name)? {
                return Ok((apt, version));
            }
            have.extend(apt.relatives(name)?);
        }
        match failure {
            Some(failure) if have.is_empty() => Err(failure),
            _ => {
                have.sort_by_key(|n| (family(n).to_owned(), number(n)));
                have.dedup();
                let hint = format!("there are {}", have.join(", "));
                Err(PrivateRootError::NoSuite { name: name.to_owned(), mirror: mirror.to_owned(), suites: suites.join(", "), hint })
            }
        }
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> PrivateRootError {
    let path = path.to_owned();
    move |source| PrivateRootError::Io { path: path.clone(), source }
}

fn no_apt(error: JobError) -> PrivateRootError {
    match error {
        JobError::Spawn { program, source } if source.kind() == io::ErrorKind::NotFound => {
            PrivateRootError::NoApt { tool: program.display().to_string() }
        }
        error => error.into(),
    }
}

fn family(name: &str) -> &str {
    name.split('-').next().unwrap_or("")
}

fn number(name: &str) -> Option<u32> {
    let (_, number) = name.split_once('-')?;
    number.parse().ok()
}

/// Whether it is run on programs rather than on sources.
fn is_debugger(name: &str) -> bool {
    matches!(family(name), "gdb" | "lldb")
}

/// The Debian packages that bring it, its own first: `opt` comes with LLVM's tools, lldb's Python by itself, and every
/// release of gdb under one name.
fn packages_of(name: &str) -> Vec<String> {
    match name.split_once('-') {
        Some(("opt", number)) => vec![format!("llvm-{number}")],
        Some(("gdb", _)) => vec!["gdb".to_owned()],
        Some(("lldb", _)) => vec![name.to_owned(), format!("python3-{name}")],
        _ => vec![name.to_owned()],
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn only_numbered_compilers_can_be_fetched_and_only_fetched_ones_removed() {
        let scratch = Scratch::new().unwrap();
        let roots = PrivateRoots::at(scratch.join("roots"));
        for name in ["gcc", "../gcc-13", "clang-x", "rustc-1", "gdb", "lldb-"] {
            let error = roots.fetch(name, &FetchOptions::default(), &|_| {}).unwrap_err();
            assert!(matches!(error, PrivateRootError::BadName(_)), "{name}: {error}");
        }
        let error = roots.remove("gcc-12").unwrap_err().to_string();
        assert!(error.contains("not among the fetched toolchains (none)"), "{error}");
        assert!(roots.list().is_empty());
    }

    #[test]
    fn an_unreachable_mirror_is_named_and_leaves_nothing_behind() {
        if Job::new("apt-get").arg("--version").run().is_err() {
            println!("skipped: no apt-get here");
            return;
        }
        let scratch = Scratch::new().unwrap();
        let roots = PrivateRoots::at(scratch.join("roots"));
        // Port 9 on the loopback refuses at once.
        let options = FetchOptions { mirror: Some("http://127.0.0.1:9/debian".to_owned()), suite: Some("trixie".to_owned()) };
        let error = roots.fetch("clang-18", &options, &|_| {}).unwrap_err();
        assert!(matches!(&error, PrivateRootError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("--mirror"), "{error}");
        assert!(roots.list().is_empty() && !roots.dir().join("clang-18").exists());
    }
}
