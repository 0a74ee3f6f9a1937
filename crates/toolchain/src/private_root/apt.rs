//! apt with state, cache and sources of its own: which suite has a toolchain, and its packages on the disk.

use super::{BINUTILS, KEYRING, LISTS_AGE, PrivateRootError, SKIPPED, at, family, is_debugger, last_lines, no_apt, number, packages_of};
use crate::{Exit, Job, Limits};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A suite whose packages depend on those of another one.
const EXPERIMENTAL: &str = "experimental";
const BELOW_EXPERIMENTAL: &str = "sid";

/// The release in a package's version, `18` in `18.1-3`.
fn release_of(version: &str) -> Option<u32> {
    let upstream = version.split_once(':').map_or(version, |(_, upstream)| upstream);
    upstream.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// apt with everything of its own, for one suite.
pub(super) struct Apt {
    dir: PathBuf,
    pub(super) suite: String,
    mirror: String,
}

impl Apt {
    pub(super) fn prepare(parent: &Path, suite: &str, mirror: &str) -> Result<Self, PrivateRootError> {
        // Two mirrors of one suite keep separate lists, so that a wrong one never spoils the other's.
        let host: String = mirror.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let dir = parent.join(format!("{suite}-{host}"));
        for sub in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(sub)).map_err(at(&dir))?;
        }
        let suites = if suite == EXPERIMENTAL { vec![suite, BELOW_EXPERIMENTAL] } else { vec![suite] };
        let source: String = suites.iter().map(|suite| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n")).collect();
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
        // What experimental has is not taken by itself, not even by packages of experimental that need it.
        let release = (self.suite == EXPERIMENTAL).then(|| ("APT::Default-Release", EXPERIMENTAL.to_owned()));
        for (key, value) in settings.into_iter().chain(release) {
            job = job.arg("-o").arg(format!("{key}={value}"));
        }
        job
    }

    pub(super) fn update(&self) -> Result<(), PrivateRootError> {
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

    /// The version of what a name stands for, where the suite has it.
    pub(super) fn candidate(&self, name: &str) -> Result<Option<String>, PrivateRootError> {
        let version = self.version_of(&packages_of(name)[0])?;
        // All releases of gdb have one package name.
        Ok(version.filter(|version| family(name) != "gdb" || number(name) == release_of(version)))
    }

    fn version_of(&self, package: &str) -> Result<Option<String>, PrivateRootError> {
        let outcome = self.job("apt-cache").args(["show", "--no-all-versions", package]).run().map_err(no_apt)?;
        Ok(outcome.stdout_text().lines().find_map(|l| l.strip_prefix("Version: ")).map(str::to_owned))
    }

    /// What it has of the families that can be fetched: compilers, or debuggers.
    pub(super) fn relatives(&self, name: &str) -> Result<Vec<String>, PrivateRootError> {
        let outcome = self.job("apt-cache").arg("pkgnames").run().map_err(no_apt)?;
        let families: &[&str] = if is_debugger(name) { &["lldb"] } else { &["clang", "gcc"] };
        let is_one = |n: &&str| families.contains(&family(n)) && number(n).is_some();
        let mut found: Vec<String> = outcome.stdout_text().lines().filter(is_one).map(str::to_owned).collect();
        if is_debugger(name) {
            found.extend(self.version_of("gdb")?.and_then(|version| Some(format!("gdb-{}", release_of(&version)?))));
        }
        Ok(found)
    }

    /// Downloads what a name stands for and all that it depends on, and says which files to unpack.
    pub(super) fn download(&self, name: &str) -> Result<Vec<PathBuf>, PrivateRootError> {
        let archives = self.dir.join("cache/archives");
        // What an earlier fetch of another compiler left is not part of this one.
        for entry in fs::read_dir(&archives).map_err(at(&archives))?.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "deb"))
        {
            let _ = fs::remove_file(entry.path());
        }
        let outcome = self.job("apt-get").args(["-y", "-q", "--download-only", "install"]).args(packages_of(name)).run().map_err(no_apt)?;
        if !outcome.success() {
            let what = format!("downloading {name} from {}", self.suite);
            return Err(PrivateRootError::Failed { what, message: last_lines(&outcome.stderr_text()) });
        }
        let skipped: Vec<&str> = SKIPPED.into_iter().chain(BINUTILS.into_iter().filter(|_| family(name) != "gcc")).collect();
        let wanted = |path: &PathBuf| {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
            name.ends_with(".deb") && !skipped.iter().any(|s| name.split('_').next().is_some_and(|n| n.starts_with(s)))
        };
        let mut files: Vec<PathBuf> = fs::read_dir(&archives).map_err(at(&archives))?.flatten().map(|e| e.path()).filter(wanted).collect();
        files.sort();
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_of_a_package_is_read_without_its_epoch() {
        assert_eq!(release_of("18.1-3"), Some(18));
        assert_eq!(release_of("1:22.1.8-1+b2"), Some(22));
        assert_eq!(release_of("experimental"), None);
    }
}
