//! Finding tools: by name on PATH or by explicit path, with their versions.

mod kind;

pub use kind::ToolKind;

use crate::{Job, Limits, PrivateRoots};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use trueline_model::{CompilerId, CompilerKind};

/// Why a tool cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not there.
    #[error("`{name}` was not found on PATH; {advice}")]
    Missing {
        /// The name asked for.
        name: String,
        /// The command or package that brings it.
        advice: String,
    },
    /// It is there but does not say its version.
    #[error("`{path}` does not work: {reason}")]
    Broken {
        /// Where it was found.
        path: PathBuf,
        /// What went wrong when it was run.
        reason: String,
    },
}

impl ToolError {
    /// A tool that is not there under the name asked for, or under any of its own.
    pub(crate) fn missing(kind: ToolKind, spec: Option<&str>) -> Self {
        let package = match spec {
            Some(spec) if spec.starts_with("opt-") => spec.replace("opt-", "llvm-"),
            Some(spec) if kind.homepage().is_none() && !spec.contains('/') => spec.to_owned(),
            _ => kind.package().to_owned(),
        };
        let is_release = |spec: &str| spec.starts_with(&format!("{kind}-"));
        let advice = match kind.homepage() {
            None if kind.is_debugger() && spec.is_some_and(is_release) => {
                format!("fetch it with `trueline toolchains fetch {package}`, or name another release")
            }
            Some(homepage) => format!("Debian does not have it: build it from {homepage} and put it on PATH, or give its full path"),
            None => format!("install it with `apt-get install {package}`, or give its full path"),
        };
        Self::Missing { name: spec.unwrap_or(kind.program()).to_owned(), advice }
    }
}

/// How a program is started: directly, or through the loader of a private root that brought it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Launcher {
    /// Program and arguments to put in front; empty for a direct start.
    pub prefix: Vec<String>,
    /// Arguments to put right after the program.
    pub args: Vec<String>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// What sort of tool it is.
    pub kind: ToolKind,
    /// Where it is on the disk.
    pub path: PathBuf,
    /// Its version, such as `13.1`.
    pub version: String,
}

impl Tool {
    /// A job that runs it.
    pub fn job(&self) -> Job {
        Job::new(&self.path)
    }

    /// The major version number, 0 when unreadable.
    pub fn major(&self) -> u32 {
        major(&self.version)
    }
}

/// A compiler that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its path, family and version.
    pub id: CompilerId,
    /// How it is started.
    pub launcher: Launcher,
}

impl Compiler {
    /// A job that runs it.
    pub fn job(&self) -> Job {
        let mut words = self.launcher.prefix.iter();
        match words.next() {
            None => Job::new(&self.id.path).args(&self.launcher.args).kept_as(self.behind_proxy()),
            Some(first) => Job::new(first).args(words).arg(&self.id.path).args(&self.launcher.args),
        }
    }

    /// The compiler that rustup's proxy of it runs here; `None` for all others.
    fn behind_proxy(&self) -> Option<PathBuf> {
        type Known = HashMap<(PathBuf, PathBuf), Option<PathBuf>>;
        static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
        if self.id.kind != CompilerKind::Rustc {
            return None;
        }
        let look = || {
            let is_proxy = std::fs::canonicalize(&self.id.path).ok()?.file_name()? == "rustup";
            let asked = is_proxy.then(|| Job::new(&self.id.path).args(["--print", "sysroot"]).run().ok())??;
            let path = PathBuf::from(asked.stdout_text().trim()).join("bin/rustc");
            (asked.success() && is_program(&path)).then_some(path)
        };
        // A project may ask for a toolchain of its own.
        let key = (self.id.path.clone(), std::env::current_dir().ok()?);
        KNOWN.lock().entry(key).or_insert_with(look).clone()
    }

    /// The major version number, 0 when unreadable.
    pub fn major(&self) -> u32 {
        major(&self.id.version)
    }
}

fn major(version: &str) -> u32 {
    version.split('.').next().and_then(|m| m.parse().ok()).unwrap_or(0)
}

/// Finds a tool. `spec` is a name (`gdb`, `lldb-16`) or a path; `None` means the plain name, then the
/// newest versioned one on PATH; of `opt`, whose plain name is whatever a distribution defaults to, the newest of all;
/// of debuggers, whose answers differ from release to release, a fetched one only where the host has none.
pub fn find_tool(kind: ToolKind, spec: Option<&str>) -> Result<Tool, ToolError> {
    let path = match spec {
        Some(spec) => locate(spec).or_else(|| unnumbered(kind, spec)),
        None if kind.is_debugger() => {
            let newest = |dirs: Vec<PathBuf>| versioned_in(kind.program(), dirs).into_values().next_back();
            locate(kind.program()).or_else(|| newest(host_dirs())).or_else(|| newest(path_dirs()))
        }
        None => {
            let newest = || versioned(kind.program()).into_iter().next_back();
            match (kind, locate(kind.program()), newest()) {
                (ToolKind::Opt, Some(plain), Some((number, path))) => {
                    let plain_is_newer = version_of(&plain).is_ok_and(|version| major(&version) > number);
                    Some(if plain_is_newer { plain } else { path })
                }
                (_, plain, newest) => plain.or(newest.map(|(_, path)| path)),
            }
        }
    };
    let path = path.ok_or_else(|| ToolError::missing(kind, spec))?;
    let version = version_of(&path)?;
    Ok(Tool { kind, path, version })
}

/// Finds a compiler by name (`gcc`, `clang-16`, `rustc`) or path.
pub fn find_compiler(spec: &str) -> Result<Compiler, ToolError> {
    let path = locate(spec).ok_or_else(|| ToolError::Missing { name: spec.to_owned(), advice: advice_on_compiler(spec) })?;
    let banner = banner_of(&path)?;
    let version = version_in(&banner).ok_or_else(|| ToolError::Broken { path: path.clone(), reason: "it prints no version".to_owned() })?;
    let kind = kind_in(&banner);
    Ok(Compiler { id: CompilerId { path, kind, version }, launcher: Launcher::default() })
}

/// Every gcc, gcc-N, clang, clang-N and rustc on PATH or fetched, one per real file, oldest first within a family.
pub fn installed_compilers() -> Vec<Compiler> {
    let mut found: BTreeMap<PathBuf, Compiler> = BTreeMap::new();
    for name in ["gcc", "clang", "rustc"] {
        let numbered = versioned(name).into_values();
        for path in numbered.chain(locate(name)) {
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if let (false, Ok(compiler)) = (found.contains_key(&real), find_compiler(&path.to_string_lossy())) {
                found.insert(real, compiler);
            }
        }
    }
    let mut compilers: Vec<_> = found.into_values().collect();
    compilers.sort_by_key(|c| (c.id.kind, c.major(), c.id.version.clone()));
    compilers
}

/// Every `opt-N` and the plain `opt`, on PATH or fetched, one per real file, oldest first.
pub fn installed_optimizers() -> Vec<Tool> {
    let mut found: BTreeMap<PathBuf, Tool> = BTreeMap::new();
    for path in versioned("opt").into_values().chain(locate("opt")) {
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let (false, Ok(tool)) = (found.contains_key(&real), find_tool(ToolKind::Opt, Some(&path.to_string_lossy()))) {
            found.insert(real, tool);
        }
    }
    let mut tools: Vec<Tool> = found.into_values().collect();
    tools.sort_by_key(|t| (t.major(), t.version.clone()));
    tools
}

/// Every gdb and lldb that an engine's name can ask for: the host's, then those fetched, oldest first within a family.
pub fn installed_debuggers() -> Vec<Tool> {
    let mut found: BTreeMap<PathBuf, Tool> = BTreeMap::new();
    for kind in [ToolKind::Gdb, ToolKind::Lldb] {
        for path in versioned(kind.program()).into_values().chain(locate(kind.program())) {
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if let (false, Ok(tool)) = (found.contains_key(&real), find_tool(kind, Some(&path.to_string_lossy()))) {
                found.insert(real, tool);
            }
        }
    }
    let mut tools: Vec<Tool> = found.into_values().collect();
    tools.sort_by_key(|t| (t.kind, t.major(), t.version.clone()));
    tools
}

/// The host's own debugger without a number in its name, where it is of the release that was asked for.
fn unnumbered(kind: ToolKind, spec: &str) -> Option<PathBuf> {
    let release: u32 = spec.strip_prefix(kind.program())?.strip_prefix('-')?.parse().ok()?;
    let plain = kind.is_debugger().then(|| locate(kind.program()))??;
    version_of(&plain).is_ok_and(|version| major(&version) == release).then_some(plain)
}

/// What brings a compiler of this name.
fn advice_on_compiler(spec: &str) -> String {
    let (family, number) = spec.rsplit_once('-').unwrap_or((spec, ""));
    let is_number = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    match family {
        "gcc" | "clang" if is_number => format!(
            "install it with `apt-get install {spec}`, fetch it from another Debian suite with `trueline toolchains fetch {spec}`, or give its full path"
        ),
        "gcc" | "clang" | "rustc" if number.is_empty() => format!("install it with `apt-get install {spec}`, or give its full path"),
        _ => "`trueline doctor` lists the compilers that are here; name one of them, or give a full path".to_owned(),
    }
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The directories of PATH.
fn host_dirs() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default()
}

/// PATH, then the toolchains fetched into private roots: the host's own win.
fn path_dirs() -> Vec<PathBuf> {
    host_dirs().into_iter().chain(PrivateRoots::of_user().map(|roots| roots.bin())).collect()
}

fn locate(spec: &str) -> Option<PathBuf> {
    if spec.contains('/') {
        let path = PathBuf::from(spec);
        return is_program(&path).then(|| std::path::absolute(&path).unwrap_or(path));
    }
    path_dirs().into_iter().map(|dir| dir.join(spec)).find(|p| is_program(p))
}

/// `name-N` programs on PATH, by N.
fn versioned(name: &str) -> BTreeMap<u32, PathBuf> {
    versioned_in(name, path_dirs())
}

fn versioned_in(name: &str, dirs: Vec<PathBuf>) -> BTreeMap<u32, PathBuf> {
    let mut found = BTreeMap::new();
    for dir in dirs {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let number = file.to_str().and_then(|f| f.strip_prefix(name)?.strip_prefix('-')?.parse::<u32>().ok());
            if let Some(number) = number
                && is_program(&entry.path())
            {
                found.entry(number).or_insert_with(|| entry.path());
            }
        }
    }
    found
}

/// Version banners do not change while we run, and campaigns ask for them thousands of times.
fn banner_of(path: &Path) -> Result<Arc<str>, ToolError> {
    static BANNERS: OnceLock<Mutex<BTreeMap<PathBuf, Arc<str>>>> = OnceLock::new();
    let banners = BANNERS.get_or_init(Mutex::default);
    if let Some(banner) = banners.lock().get(path) {
        return Ok(Arc::clone(banner));
    }
    let broken = |reason: String| ToolError::Broken { path: path.to_owned(), reason };
    let mut outcome = Job::new(path).arg("--version").limits(Limits::seconds(20)).run().map_err(|e| broken(e.to_string()))?;
    if !outcome.success() {
        outcome = Job::new(path).arg("-v").limits(Limits::seconds(20)).run().map_err(|e| broken(e.to_string()))?;
    }
    let text = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
    if !outcome.success() || text.trim().is_empty() {
        return Err(broken(format!("`{} --version` failed: {}", path.display(), text.lines().next().unwrap_or("no output"))));
    }
    let banner: Arc<str> = Arc::from(text.as_str());
    banners.lock().insert(path.to_owned(), Arc::clone(&banner));
    Ok(banner)
}

pub(crate) fn version_of(path: &Path) -> Result<String, ToolError> {
    let banner = banner_of(path)?;
    version_in(&banner).ok_or_else(|| ToolError::Broken { path: path.to_owned(), reason: "it prints no version".to_owned() })
}

fn kind_in(banner: &str) -> CompilerKind {
    let first = banner.lines().next().unwrap_or("");
    if banner.contains("clang version") {
        CompilerKind::Clang
    } else if first.starts_with("rustc ") {
        CompilerKind::Rustc
    } else if banner.contains("Free Software Foundation") {
        CompilerKind::Gcc
    } else {
        CompilerKind::Other
    }
}

/// The last dotted number of the first line that has one: tools put distribution suffixes in front.
fn version_in(banner: &str) -> Option<String> {
    let in_line = |line: &str| {
        let clean = |word: &str| {
            let word = word.trim_matches(|c: char| !c.is_ascii_digit());
            let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
            word[..end].trim_end_matches('.').to_owned()
        };
        let words = line.split(|c: char| c.is_whitespace() || "(),".contains(c));
        let versions: Vec<String> = words.map(clean).filter(|w| w.contains('.') && w.split('.').all(|p| !p.is_empty())).collect();
        if line.contains("version ") || line.starts_with("rustc") { versions.first().cloned() } else { versions.last().cloned() }
    };
    banner.lines().find_map(in_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_real_banners() {
        let cases = [
            ("gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.", "12.2.0", CompilerKind::Gcc),
            ("Debian clang version 16.0.6 (15~deb12u1)\nTarget: x86_64-pc-linux-gnu", "16.0.6", CompilerKind::Clang),
            ("rustc 1.95.0 (59807616e 2026-04-14)", "1.95.0", CompilerKind::Rustc),
            ("tcc version 0.9.27 (x86_64 Linux)", "0.9.27", CompilerKind::Other),
        ];
        for (banner, version, kind) in cases {
            assert_eq!(version_in(banner).as_deref(), Some(version), "{banner}");
            assert_eq!(kind_in(banner), kind, "{banner}");
        }
        assert_eq!(version_in("GNU gdb (Debian 13.1-3) 13.1").as_deref(), Some("13.1"));
        assert_eq!(version_in("lldb version 16.0.6").as_deref(), Some("16.0.6"));
        assert_eq!(version_in("This is cvc5 version 1.0.3 [git tag 1.0.3 branch HEAD]").as_deref(), Some("1.0.3"));
    }

    #[test]
    fn the_host_compiler_is_found_by_name_and_by_path() {
        let by_name = find_compiler("gcc").unwrap();
        assert_eq!(by_name.id.kind, CompilerKind::Gcc);
        let by_path = find_compiler(&by_name.id.path.to_string_lossy()).unwrap();
        assert_eq!(by_path, by_name);
    }

    #[test]
    fn a_missing_compiler_names_the_package_that_brings_it() {
        let error = find_compiler("clang-77").unwrap_err().to_string();
        assert!(error.contains("apt-get install clang-77") && error.contains("toolchains fetch clang-77"), "{error}");
        let error = find_tool(ToolKind::Opt, Some("opt-77")).unwrap_err().to_string();
        assert!(error.contains("apt-get install llvm-77"), "{error}");
    }

    #[test]
    fn what_no_archive_has_is_not_asked_of_one() {
        let error = find_compiler("nosuchcc").unwrap_err().to_string();
        assert!(!error.contains("apt-get") && error.contains("trueline doctor"), "{error}");
        let error = ToolError::missing(ToolKind::Yarpgen, None).to_string();
        assert!(!error.contains("apt-get") && error.contains("github.com/intel/yarpgen"), "{error}");
    }
}
