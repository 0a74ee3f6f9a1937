//! Scripts in place of an unpacked root's programs, which start the real ones through the loader and the libraries of the root.

use super::{ARCH, PrivateRootError, at, family, is_debugger, number};
use crate::Job;
use crate::script::{Preparation, Script};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Turns the programs of an unpacked root into scripts that find their own loader and libraries.
pub(super) struct Wrapping {
    root: PathBuf,
    name: String,
    loader: PathBuf,
    libraries: String,
}

impl Wrapping {
    pub(super) fn of(root: &Path, name: &str) -> Result<Self, PrivateRootError> {
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

    pub(super) fn wrap_all(&self) -> Result<(), PrivateRootError> {
        let version = number(&self.name).unwrap_or(0);
        let driver = self.root.join("usr/bin").join(&self.name);
        if family(&self.name) == "clang" {
            return self.wrap(&driver, Preparation::Clang);
        }
        if family(&self.name) == "opt" {
            return self.wrap(&driver, Preparation::None);
        }
        if is_debugger(&self.name) {
            return self.wrap_debugger(version);
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

    /// A debugger, which has to find its own Python and, of gdb, its own scripts, or, of lldb, its own server.
    fn wrap_debugger(&self, version: u32) -> Result<(), PrivateRootError> {
        let quoted = |path: PathBuf| format!("'{}'", path.display());
        let usr = self.root.join("usr");
        // Its Python must not write compiled modules beside those that are there.
        let python = format!("export PYTHONHOME={} PYTHONDONTWRITEBYTECODE=1\n", quoted(usr.clone()));
        let program = usr.join("bin").join(if family(&self.name) == "gdb" { "gdb" } else { &self.name });
        let (settings, options) = if family(&self.name) == "gdb" {
            (String::new(), format!("set -- --data-directory={} \"$@\"\n", quoted(usr.join("share/gdb"))))
        } else {
            let server = usr.join(format!("lib/llvm-{version}/bin/lldb-server"));
            self.wrap(&server, Preparation::None)?;
            (format!("export LLDB_DEBUGSERVER_PATH={}\n", quoted(server)), String::new())
        };
        self.wrap(&program, Preparation::None)?;
        let missing = |_| PrivateRootError::Unusable { name: self.name.clone(), message: "its script is not there".to_owned() };
        let text = fs::read_to_string(&program).map_err(missing)?;
        let text = text.replacen("#!/bin/sh\n", &format!("#!/bin/sh\n{python}{settings}{options}"), 1);
        write_program(&usr.join("bin").join(&self.name), &text)
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

    pub(super) fn wrap(&self, program: &Path, preparation: Preparation) -> Result<(), PrivateRootError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

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

    #[test]
    fn a_wrapped_debugger_is_told_where_its_python_and_its_scripts_are() {
        let scratch = Scratch::new().unwrap();
        let root = scratch.join("root");
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::create_dir_all(root.join("usr/lib/llvm-99/bin")).unwrap();
        for program in ["usr/bin/gdb", "usr/bin/lldb-99", "usr/lib/llvm-99/bin/lldb-server"] {
            fs::copy("/bin/echo", root.join(program)).unwrap();
        }
        for name in ["gdb-99", "lldb-99"] {
            Wrapping::of(&root, name).unwrap().wrap_all().unwrap();
            let script = fs::read_to_string(root.join("usr/bin").join(name)).unwrap();
            assert!(script.contains("PYTHONHOME="), "{script}");
            let said = Job::new(root.join("usr/bin").join(name)).arg("-batch").run().unwrap().stdout_text();
            let home = root.join("usr/share/gdb");
            let expected = if name == "gdb-99" { format!("--data-directory={} -batch\n", home.display()) } else { "-batch\n".to_owned() };
            assert_eq!(said, expected);
        }
        let server = Job::new(root.join("usr/lib/llvm-99/bin/lldb-server")).arg("v").run().unwrap();
        assert_eq!(server.stdout_text(), "v\n");
    }
}
