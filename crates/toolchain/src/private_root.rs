//! Compilers, and LLVM's `opt`, from other Debian suites, each in a directory of its own, run through its own loader.
//!
//! apt does the resolving, the downloading and the verification (signed release file, then checksums)
//! with state, cache and sources of its own; `dpkg -x` unpacks. The programs that matter become small
//! shell scripts that start the real ones through the loader and the libraries that came with them, so
//! that a driver which starts itself or its `cc1` again ends up in the same place. A gcc brings the assembler
//! and the linker of its suite where they are newer than the host's: it writes directives that an older
//! assembler does not know. Headers and the C library are the host's: the programs must run here.
//!
//! Deliberately absent: anything system-wide. Removing the directory removes the toolchain.

use crate::script::{Preparation, Script};
use crate::{Exit, Job, JobError, Limits, ToolKind, find_compiler, find_tool};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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
    #[error("`{0}` is not something to fetch; use clang-N, gcc-N or opt-N, for instance clang-18")]
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

    /// Fetches `clang-N`, `gcc-N` or `opt-N`, tries it on a program, and only then makes it visible.
    pub fn fetch(&self, name: &str, options: &FetchOptions, progress: &dyn Fn(&str)) -> Result<PrivateRoot, PrivateRootError> {
        if !matches!(family(name), "clang" | "gcc" | "opt") || number(name).is_none() {
            return Err(PrivateRootError::BadName(name.to_owned()));
        }
        if let Some(root) = self.read(name) {
            return Err(PrivateRootError::Present { name: name.to_owned(), dir: root.dir });
        }
        let mirror = options.mirror.clone().unwrap_or_else(|| DEFAULT_MIRROR.to_owned());
        let (apt, version) = self.find_suite(name, &mirror, options.suite.as_deref(), progress)?;
        progress(&format!("downloading {name} {version} from {}", apt.suite));
        let packages = apt.download(&package_of(name))?;
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
        match family(name) {
            "opt" => try_optimizer(name, &link)?,
            _ => try_compiler(name, &link)?,
        }
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
            if let Some(version) = apt.candidate(&package_of(name))? {
                return Ok((apt, version));
            }
            have.extend(apt.compilers()?);
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

/// The Debian package that brings it: `opt` comes with LLVM's tools.
fn package_of(name: &str) -> String {
    name.strip_prefix("opt-").map_or_else(|| name.to_owned(), |number| format!("llvm-{number}"))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

/// apt with everything of its own, for one suite.
struct Apt {
    dir: PathBuf,
    suite: String,
    mirror: String,
}

impl Apt {
    fn prepare(parent: &Path, suite: &str, mirror: &str) -> Result<Self, PrivateRootError> {
        // Two mirrors of one suite keep separate lists, so that a wrong one never spoils the other's.
        let host: String = mirror.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let dir = parent.join(format!("{suite}-{host}"));
        for sub in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(sub)).map_err(at(&dir))?;
        }
        let source = format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n");
        for (file, content) in [("status", ""), ("empty", ""), ("sources.list", source.as_str())] {
            fs::write(dir.join(file), content).map_err(at(&dir))?;
        }
        Ok(Self { dir, suite: suite.to_owned(), mirror: mirror.to_owned() })
    }

    fn job(&self, program: &str) -> Job {
        let file = |name: &str| self.dir.join(name).display().to_string();
        let settings = [
            ("Dir::Etc::main", "/dev/null".to_owned()),
            ("Dir::Etc::parts", "/dev/null".to_owned()),
            ("Dir::Etc::sourcelist", file("sources.list")),
            ("Dir::Etc::sourceparts", "/dev/null".to_owned()),
            ("Dir::Etc::preferences", "/dev/null".to_owned()),
            ("Dir::Etc::preferencesparts", "/dev/null".to_owned()),
            ("Dir::State", self.dir.display().to_string()),
            ("Dir::State::lists", file("lists")),
            ("Dir::State::status", file("status")),
            ("Dir::Cache", file("cache")),
            ("Dir::Log", "/dev/null".to_owned()),
            ("APT::Architecture", "amd64".to_owned()),
            ("APT::Install-Recommends", "false".to_owned()),
            ("APT::Sandbox::User", String::new()),
            ("Acquire::Languages", "none".to_owned()),
            ("Acquire::Retries", "2".to_owned()),
            ("Acquire::http::Timeout", "20".to_owned()),
            ("Acquire::https::Timeout", "20".to_owned()),
            ("Debug::NoLocking", "true".to_owned()),
        ];
        let mut job = Job::new(program).limits(Limits { memory: None, ..Limits::seconds(900) });
        for name in ["http_proxy", "https_proxy", "no_proxy"] {
            if let Some(value) = std::env::var_os(name) {
                job = job.env(name, value);
            }
        }
        for (key, value) in settings {
            job = job.arg("-o").arg(format!("{key}={value}"));
        }
        job
    }

    fn update(&self) -> Result<(), PrivateRootError> {
        let stamp = self.dir.join("updated");
        let fresh = |t: SystemTime| t.elapsed().is_ok_and(|age| age < LISTS_AGE);
        if fs::metadata(&stamp).and_then(|m| m.modified()).is_ok_and(fresh) {
            return Ok(());
        }
        let outcome = self.job("apt-get").arg("update").run().map_err(no_apt)?;
        let errors = outcome.stderr_text();
        let lines: Vec<&str> = errors.lines().filter(|l| l.starts_with("E:") || l.starts_with("W:")).collect();
        // apt exits with 0 when a mirror does not answer and only old lists (here: none) remain.
        if !outcome.success() || lines.iter().any(|l| l.contains("Failed to fetch") || l.contains("not signed")) {
            let message = if outcome.exit == Exit::TimedOut { "no answer in time".to_owned() } else { lines.join("; ") };
            return Err(PrivateRootError::Unreachable { suite: self.suite.clone(), mirror: self.mirror.clone(), message });
        }
        fs::write(&stamp, "").map_err(at(&stamp))
    }

    fn candidate(&self, package: &str) -> Result<Option<String>, PrivateRootError> {
        let outcome = self.job("apt-cache").args(["show", "--no-all-versions", package]).run().map_err(no_apt)?;
        Ok(outcome.stdout_text().lines().find_map(|l| l.strip_prefix("Version: ")).map(str::to_owned))
    }

    fn compilers(&self) -> Result<Vec<String>, PrivateRootError> {
        let outcome = self.job("apt-cache").arg("pkgnames").run().map_err(no_apt)?;
        let is_compiler = |n: &&str| matches!(family(n), "clang" | "gcc") && number(n).is_some();
        Ok(outcome.stdout_text().lines().filter(is_compiler).map(str::to_owned).collect())
    }

    /// Downloads the package and all that it depends on, and says which files to unpack.
    fn download(&self, package: &str) -> Result<Vec<PathBuf>, PrivateRootError> {
        let archives = self.dir.join("cache/archives");
        // What an earlier fetch of another compiler left is not part of this one.
        for entry in fs::read_dir(&archives).map_err(at(&archives))?.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "deb"))
        {
            let _ = fs::remove_file(entry.path());
        }
        let outcome = self.job("apt-get").args(["-y", "-q", "--download-only", "install", package]).run().map_err(no_apt)?;
        if !outcome.success() {
            let what = format!("downloading {package} from {}", self.suite);
            return Err(PrivateRootError::Failed { what, message: last_lines(&outcome.stderr_text()) });
        }
        let skipped: Vec<&str> = SKIPPED.into_iter().chain(BINUTILS.into_iter().filter(|_| family(package) != "gcc")).collect();
        let wanted = |path: &PathBuf| {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
            name.ends_with(".deb") && !skipped.iter().any(|s| name.split('_').next().is_some_and(|n| n.starts_with(s)))
        };
        let mut files: Vec<PathBuf> = fs::read_dir(&archives).map_err(at(&archives))?.flatten().map(|e| e.path()).filter(wanted).collect();
        files.sort();
        Ok(files)
    }
}

/// Turns the programs of an unpacked root into scripts that find their own loader and libraries.
struct Wrapping {
    root: PathBuf,
    name: String,
    loader: PathBuf,
    libraries: String,
}

impl Wrapping {
    fn of(root: &Path, name: &str) -> Result<Self, PrivateRootError> {
        let lib_dirs = [root.join("usr/lib").join(ARCH), root.join("lib").join(ARCH)];
        let own = lib_dirs.iter().map(|d| d.join("ld-linux-x86-64.so.2")).find(|l| l.exists());
        // A loader before glibc 2.33 has no --argv0, which drivers need to find their parts. The host's
        // loader runs what was linked against an older C library, with the host's C library.
        let modern = |l: &PathBuf| Job::new(l).arg("--help").run().is_ok_and(|o| o.stdout_text().contains("--argv0"));
        let loader = match own.filter(modern) {
            Some(loader) => loader,
            None => {
                lib_dirs.iter().try_for_each(|dir| remove_c_library(dir))?;
                PathBuf::from("/lib64/ld-linux-x86-64.so.2")
            }
        };
        let llvm = fs::read_dir(root.join("usr/lib")).into_iter().flatten().flatten().map(|e| e.path().join("lib"));
        let dirs: Vec<String> = lib_dirs.iter().cloned().chain(llvm).filter(|d| d.is_dir()).map(|d| d.display().to_string()).collect();
        Ok(Self { root: root.to_owned(), name: name.to_owned(), loader, libraries: dirs.join(":") })
    }

    fn wrap_all(&self) -> Result<(), PrivateRootError> {
        let version = number(&self.name).unwrap_or(0);
        let driver = self.root.join("usr/bin").join(&self.name);
        if family(&self.name) == "clang" {
            return self.wrap(&driver, Preparation::Clang);
        }
        if family(&self.name) == "opt" {
            return self.wrap(&driver, Preparation::None);
        }
        for base in ["usr/libexec/gcc", "usr/lib/gcc"] {
            let parts = self.root.join(base).join(ARCH).join(version.to_string());
            for part in ["cc1", "collect2", "lto-wrapper", "lto1"] {
                let path = parts.join(part);
                if path.exists() {
                    self.wrap(&path, Preparation::None)?;
                }
            }
            // Where the parts are, the driver and `collect2` look before they look on PATH.
            if parts.join("cc1").exists() {
                for tool in ["as", "ld"] {
                    self.give_binutil(tool, &parts.join(tool))?;
                }
            }
        }
        self.wrap(&driver, Preparation::Gcc)
    }

    /// Puts the root's assembler or linker at `place` where it is newer than the host's. An older one stays unused: its
    /// linker might not know what the host's C library is made of.
    fn give_binutil(&self, tool: &str, place: &Path) -> Result<(), PrivateRootError> {
        let Ok(program) = fs::canonicalize(self.root.join("usr/bin").join(format!("{ARCH}-{tool}"))) else { return Ok(()) };
        let script = Script {
            loader: self.loader.clone(),
            name: place.to_owned(),
            libraries: self.libraries.clone(),
            program,
            preparation: Preparation::None,
        };
        write_program(place, &script.text())?;
        let release = |path: &Path| crate::tool::version_of(path).ok().map(|v| dotted(&v));
        if release(place).is_none_or(|own| release(Path::new(tool)).is_some_and(|host| host >= own)) {
            fs::remove_file(place).map_err(at(place))?;
        }
        Ok(())
    }

    fn wrap(&self, program: &Path, preparation: Preparation) -> Result<(), PrivateRootError> {
        let missing = |_| PrivateRootError::Unusable { name: self.name.clone(), message: format!("it has no {}", program.display()) };
        let real = fs::canonicalize(program).map_err(missing)?;
        let hidden = real.with_file_name(format!("{}.real", real.file_name().and_then(|n| n.to_str()).unwrap_or("program")));
        fs::rename(&real, &hidden).map_err(at(&real))?;
        let _ = fs::remove_file(program);
        let script = Script {
            loader: self.loader.clone(),
            name: program.to_owned(),
            libraries: self.libraries.clone(),
            program: hidden,
            preparation,
        };
        write_program(program, &script.text())
    }
}

fn write_program(path: &Path, text: &str) -> Result<(), PrivateRootError> {
    fs::write(path, text).map_err(at(path))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(at(path))
}

/// The numbers of a version, to be compared.
fn dotted(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

fn remove_c_library(dir: &Path) -> Result<(), PrivateRootError> {
    const PARTS: [&str; 12] =
        ["ld-", "libc.", "libc-", "libm.", "libm-", "libmvec", "libpthread", "libdl.", "libdl-", "librt.", "librt-", "libresolv"];
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let file = entry.file_name();
        if file.to_str().is_some_and(|f| PARTS.iter().any(|p| f.starts_with(p))) {
            fs::remove_file(entry.path()).map_err(at(&entry.path()))?;
        }
    }
    Ok(())
}

/// Compiles, links and runs a program with system headers.
fn try_compiler(name: &str, program: &Path) -> Result<(), PrivateRootError> {
    let unusable = |message: String| PrivateRootError::Unusable { name: name.to_owned(), message };
    let compiler = find_compiler(&program.to_string_lossy()).map_err(|e| unusable(e.to_string()))?;
    let scratch = crate::Scratch::new().map_err(|e| unusable(e.to_string()))?;
    // A long string constant is what the newest compilers write with a directive of their own.
    let long = "long string ".repeat(400);
    let text = format!(
        "#include <stdint.h>\n#include <stdio.h>\nconst char text[] = \"{long}\";\nint main(void) {{ return printf(\"%d\", (int)sizeof(uint64_t)) != 1; }}\n"
    );
    let source = scratch.write("try.c", &text).map_err(|e| unusable(e.to_string()))?;
    let request = crate::CompileRequest::new(source, trueline_model::Language::C, trueline_model::OptLevel::O2, scratch.join("try"));
    let build = compiler.compile(&request).map_err(|e| unusable(e.to_string()))?;
    let outcome = Job::new(&build.binary).run()?;
    if !outcome.success() || outcome.stdout != b"8" {
        return Err(unusable("a program it compiled does not run".to_owned()));
    }
    Ok(())
}

/// Runs a pass on a module.
fn try_optimizer(name: &str, program: &Path) -> Result<(), PrivateRootError> {
    let unusable = |message: String| PrivateRootError::Unusable { name: name.to_owned(), message };
    let tool = find_tool(ToolKind::Opt, Some(&program.to_string_lossy())).map_err(|e| unusable(e.to_string()))?;
    let module = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n";
    let outcome = tool.job().args(["-passes=instsimplify", "-S", "-o", "-"]).stdin(module).run()?;
    if !outcome.success() || outcome.stdout_text().contains("add i32") {
        return Err(unusable(last_lines(&outcome.stderr_text())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn only_numbered_compilers_can_be_fetched_and_only_fetched_ones_removed() {
        let scratch = Scratch::new().unwrap();
        let roots = PrivateRoots::at(scratch.join("roots"));
        for name in ["gcc", "../gcc-13", "clang-x", "rustc-1"] {
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

    #[test]
    fn a_wrapped_program_runs_with_the_name_it_was_started_by() {
        let scratch = Scratch::new().unwrap();
        let root = scratch.join("root");
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::copy("/bin/sh", root.join("usr/bin/clang-99")).unwrap();
        let wrapping = Wrapping::of(&root, "clang-99").unwrap();
        let program = root.join("usr/bin/clang-99");
        wrapping.wrap(&program, Preparation::None).unwrap();
        let outcome = Job::new(&program).args(["-c", "echo $0"]).run().unwrap();
        assert!(outcome.success(), "{}", outcome.stderr_text());
        assert!(outcome.stdout_text().contains("clang-99"), "{}", outcome.stdout_text());
    }
}
