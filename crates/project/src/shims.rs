//! Wrapped compilers: small scripts, one for each name that a build may call a C or C++ compiler by. Archivers are wrapped too,
//! only to write down what they were called with.
//!
//! A script writes down what it was called with, takes the project's own level, `-g0`, stripping and `_FORTIFY_SOURCE` away
//! (which calls other functions at -O0 than elsewhere), adds the level, `-g` and a map from the copy's paths to the project's,
//! and becomes the real compiler. Linkers and assemblers are called by the compilers and need no wrapper.

use crate::calls::{ObjectPath, ToolCall};
use crate::{BuildRequest, CompilerChoice, ProjectError};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use trueline_model::{CompilerKind, Language};
use trueline_toolchain::{Compiler, ToolError, quote};

/// What a wrapper does with a call that makes an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MakingCall<'a> {
    /// It makes an object from a source.
    Compile,
    /// It takes the object from one of two builds; what neither has is compiled.
    Serve(Supply<'a>),
}

/// Where objects come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supply<'a> {
    /// The tree of the -O0 build.
    pub(crate) reference: &'a Path,
    /// The tree of the optimized build.
    pub(crate) optimized: &'a Path,
    /// A file that lists the objects which are taken from the optimized build, one per line.
    pub(crate) list: &'a Path,
    /// The one object that is compiled, with the request's flags.
    pub(crate) anew: Option<&'a ObjectPath>,
}

/// The names that builds know compilers by; with a version behind them too.
const C_NAMES: [&str; 6] = ["cc", "gcc", "clang", "c99", "c89", "x86_64-linux-gnu-gcc"];
const CXX_NAMES: [&str; 4] = ["c++", "g++", "clang++", "x86_64-linux-gnu-g++"];

/// The names of archivers; with a version behind them too.
const ARCHIVERS: [&str; 5] = ["ar", "gcc-ar", "llvm-ar", "x86_64-linux-gnu-ar", "x86_64-linux-gnu-gcc-ar"];

/// Which compilers a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    C,
    Cxx,
}

/// Directory of wrapped compilers with the log that they write.
#[derive(Debug)]
pub(crate) struct CompilerShims {
    dir: PathBuf,
    log: PathBuf,
}

impl CompilerShims {
    /// Writes the scripts below `place`.
    pub(crate) fn write(
        place: &Path,
        request: &BuildRequest<'_>,
        map: (&Path, &Path),
        making: MakingCall<'_>,
    ) -> Result<Self, ProjectError> {
        let shims = Self { dir: place.join("bin"), log: place.join("log") };
        for dir in [&shims.dir, &shims.log] {
            fs::create_dir_all(dir).map_err(ProjectError::io(format!("cannot make {}", dir.display())))?;
        }
        for (name, command) in targets(&request.choice) {
            let path = shims.dir.join(&name);
            let text = script(&command, &name, &shims.log, request, map, making);
            let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
            written.map_err(ProjectError::io(format!("cannot write {}", path.display())))?;
        }
        if let Some(rustc) = given_rustc(&request.choice) {
            let path = shims.dir.join("rustc");
            let text = format!("#!/bin/sh\nexec {} \"$@\"\n", rustc.job().command_line());
            let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
            written.map_err(ProjectError::io(format!("cannot write {}", path.display())))?;
        }
        for (name, command) in installed_archivers() {
            let path = shims.dir.join(&name);
            let text = format!(
                "#!/bin/sh\nprintf '%s\\0' \"$PWD\" {} \"$@\" > {}/$$\nexec {} \"$@\"\n",
                quote(&name),
                quote(&shims.log),
                quote(&command)
            );
            let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
            written.map_err(ProjectError::io(format!("cannot write {}", path.display())))?;
        }
        Ok(shims)
    }

    /// The script of the chosen rustc, for Cargo, which need not look for one on PATH.
    pub(crate) fn rustc(&self) -> Option<PathBuf> {
        Some(self.dir.join("rustc")).filter(|path| path.exists())
    }

    /// Where the scripts are, to be put in front of PATH.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What CC or CXX should be: a script, whatever the variable names now.
    pub(crate) fn choose(&self, wanted: Option<String>, usual: &str) -> PathBuf {
        let named = wanted.and_then(|w| w.split_whitespace().last().and_then(|w| Path::new(w).file_name()).map(|n| self.dir.join(n)));
        named.filter(|path| path.exists()).unwrap_or_else(|| self.dir.join(usual))
    }

    /// The calls so far, of compilers and archivers, sorted by directory and arguments: the order of a parallel build is
    /// nobody's choice.
    pub(crate) fn calls(&self) -> Result<Vec<ToolCall>, ProjectError> {
        let cannot = || ProjectError::io(format!("cannot read {}", self.log.display()));
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.log).map_err(cannot())? {
            let entry = entry.map_err(cannot())?;
            let at = entry.metadata().and_then(|m| m.modified()).map_err(cannot())?;
            let bytes = fs::read(entry.path()).map_err(cannot())?;
            let mut words = bytes.split(|b| *b == 0).map(|w| String::from_utf8_lossy(w).into_owned());
            let (Some(directory), Some(name)) = (words.next(), words.next()) else { continue };
            let mut args: Vec<String> = words.collect();
            // Every word ends in a zero: what follows the last one is no word.
            args.pop();
            found.push(ToolCall { directory: directory.into(), name, args, at });
        }
        found.sort_by(|a, b| (&a.directory, &a.args).cmp(&(&b.directory, &b.args)));
        Ok(found)
    }
}

/// The real command, quoted for a shell, behind each name.
fn targets(choice: &CompilerChoice) -> BTreeMap<String, String> {
    let plain = C_NAMES.iter().map(|n| (*n, Speaks::C)).chain(CXX_NAMES.iter().map(|n| (*n, Speaks::Cxx)));
    match choice {
        // rustc links by the C compiler of the machine, and build scripts call it.
        CompilerChoice::Given(compiler) if compiler.id.kind != CompilerKind::Rustc => {
            let (c, cxx) = (compiler.driver(Language::C).as_ref().unwrap_or(compiler).job().command_line(), cxx_of(compiler));
            let numbered = installed_names().into_iter().map(|(name, _, speaks)| (name, speaks));
            let names = plain.map(|(n, s)| (n.to_owned(), s)).chain(numbered);
            names.map(|(name, speaks)| (name, if speaks == Speaks::C { c.clone() } else { cxx.clone() })).collect()
        }
        CompilerChoice::Own | CompilerChoice::Given(_) => {
            installed_names().into_iter().map(|(name, path, _)| (name, quote(path))).collect()
        }
    }
}

/// The rustc that was chosen, if one was.
fn given_rustc(choice: &CompilerChoice) -> Option<&Compiler> {
    match choice {
        CompilerChoice::Given(compiler) if compiler.id.kind == CompilerKind::Rustc => Some(compiler),
        _ => None,
    }
}

/// The C++ driver beside a C driver; the C driver's own name where there is none, so that the build says what it lacks.
fn cxx_of(compiler: &Compiler) -> String {
    match compiler.driver(Language::Cpp) {
        Ok(driver) => driver.job().command_line(),
        Err(ToolError::Missing { name, .. }) => quote(name),
        Err(ToolError::Broken { path, .. }) => quote(path),
    }
}

/// Every compiler on PATH with a name that builds use, the first of each name.
fn installed_names() -> Vec<(String, PathBuf, Speaks)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: BTreeMap<String, (PathBuf, Speaks)> = BTreeMap::new();
    for dir in std::env::split_paths(&path) {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if let Some(speaks) = speaks(&name) {
                found.entry(name).or_insert((entry.path(), speaks));
            }
        }
    }
    found.into_iter().map(|(name, (path, speaks))| (name, path, speaks)).collect()
}

/// Every archiver on PATH, the first of each name.
fn installed_archivers() -> BTreeMap<String, PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = BTreeMap::new();
    for entry in std::env::split_paths(&path).flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten()) {
        if let Some(name) = entry.file_name().to_str().filter(|name| archives(name)) {
            found.entry(name.to_owned()).or_insert_with(|| entry.path());
        }
    }
    found
}

/// Whether a name is an archiver's.
pub(crate) fn archives(name: &str) -> bool {
    ARCHIVERS.contains(&unnumbered(name))
}

/// A tool's name without a version behind it.
fn unnumbered(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((base, version)) if !version.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.') => base,
        _ => name,
    }
}

/// What a name stands for: `gcc`, `g++-12`, `clang-16`, not `gcc-ar` or `clang-format`.
fn speaks(name: &str) -> Option<Speaks> {
    let base = unnumbered(name);
    if C_NAMES.contains(&base) { Some(Speaks::C) } else { CXX_NAMES.contains(&base).then_some(Speaks::Cxx) }
}

/// The text of a wrapper. The word after an option that takes one is left alone, whatever it looks like.
fn script(
    command: &str,
    name: &str,
    log: &Path,
    request: &BuildRequest<'_>,
    (copy, project): (&Path, &Path),
    making: MakingCall<'_>,
) -> String {
    let (log, name, level) = (quote(log), quote(name), request.level);
    let flags: String = request.flags.iter().map(|f| format!(" {}", quote(f))).collect();
    let map = quote(format!("-ffile-prefix-map={}={}", copy.display(), project.display()));
    let serve = match making {
        MakingCall::Compile => String::new(),
        MakingCall::Serve(supply) => serving(supply, copy),
    };
    format!(
        r#"#!/bin/sh
# The compiler at {level}, with debug information; what it is called with is written down.
printf '%s\0' "$PWD" {name} "$@" > {log}/$$
before= object= depends= source= compiles=
left=$#
while [ "$left" -gt 0 ]; do
  word=$1
  shift
  left=$((left - 1))
  case $before in
    -o|-I|-D|-U|-L|-T|-x|-z|-include|-imacros|-isystem|-iquote|-MF|-MT|-MQ|-Xlinker|-Xassembler|-Xpreprocessor|-Xclang|-mllvm)
      case $before in
        -o) object=$word ;;
        -MF) depends=$word ;;
      esac
      set -- "$@" "$word"
      before= ;;
    *)
      before=$word
      case $word in
        -c) compiles=yes ;;
        -o?*) object=${{word#-o}} ;;
        -*) ;;
        *.c|*.i|*.cc|*.cpp|*.cxx|*.C|*.ii|*.S|*.s) source=$word ;;
      esac
      case $word in
        -O*|-g0|-s|-Wl,-s|-Wl,-S|-Wl,--strip-all|-Wl,--strip-debug|-D_FORTIFY_SOURCE*|-Wp,-D_FORTIFY_SOURCE*) ;;
        *) set -- "$@" "$word" ;;
      esac ;;
  esac
done
{serve}exec {command} "$@" -g {level} {map}{flags}
"#
    )
}

/// The part of a wrapper that takes an object from one of two builds, and the list of its sources for make beside it.
fn serving(supply: Supply<'_>, copy: &Path) -> String {
    let (reference, optimized, list) = (quote(supply.reference), quote(supply.optimized), quote(supply.list));
    let (root, anew) = (quote(copy), quote(supply.anew.map_or("", |o| &o.0)));
    format!(
        r#"if [ "$compiles" = yes ]; then
  if [ -z "$object" ]; then
    object=${{source##*/}}
    object=${{object%.*}}.o
  fi
  case $object in
    /*) ;;
    *) object=$PWD/$object ;;
  esac
  root={root}
  path=${{object#"$root"/}}
  tree={reference}
  if grep -Fxq -e "$path" {list}; then tree={optimized}; fi
  if [ "$path" != {anew} ] && [ -f "$tree/$path" ]; then
    case $depends in
      '') ;;
      /*) cp -f "$tree/${{depends#"$root"/}}" "$depends" 2> /dev/null ;;
      *) cp -f "$tree/${{PWD#"$root"}}/$depends" "$depends" 2> /dev/null ;;
    esac
    exec cp -f "$tree/$path" "$object"
  fi
fi
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_compilers_are_wrapped() {
        assert_eq!(speaks("gcc"), Some(Speaks::C));
        assert_eq!(speaks("clang++-16"), Some(Speaks::Cxx));
        assert_eq!(speaks("x86_64-linux-gnu-gcc-12"), Some(Speaks::C));
        assert_eq!(speaks("gcc-ar"), None);
        assert_eq!(speaks("clang-format"), None);
        assert!(archives("ar") && archives("llvm-ar-16") && !archives("tar"));
    }
}
