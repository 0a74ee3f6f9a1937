//! What can be switched off in a compiler: its passes, its debug counters, and the options that the failing
//! compilation was given.

use crate::switch::CompilerSwitch;
use trueline_model::{CompilerKind, Program, SeamError};
use trueline_toolchain::{Compiler, Scratch};

/// Everything worth switching off for a compilation with these flags.
pub fn compiler_switches(compiler: &Compiler, program: &Program, flags: &[String]) -> Result<Vec<CompilerSwitch>, SeamError> {
    let mut switches: Vec<CompilerSwitch> =
        flags.iter().filter_map(|flag| opposite(flag)).map(|flag| CompilerSwitch::Off(vec![flag])).collect();
    match compiler.id.kind {
        CompilerKind::Gcc => {
            switches.extend(debug_counters(compiler)?.into_iter().map(|name| CompilerSwitch::Dial(vec![format!("-fdbg-cnt={name}:")])));
            let with: Vec<String> = flags.iter().cloned().chain(["-fdump-passes".to_owned()]).collect();
            let passes = listing(compiler, &program.cflags, &with)?;
            switches.extend(passes_in(&passes).into_iter().map(|flag| CompilerSwitch::Off(vec![flag])));
        }
        // One number for all optional passes of a compilation, in the order in which they run.
        CompilerKind::Clang => switches.push(CompilerSwitch::Dial(vec!["-mllvm".to_owned(), "-opt-bisect-limit=".to_owned()])),
        _ => {}
    }
    Ok(switches)
}

/// The names of gcc's debug counters, in gcc's order.
pub fn debug_counters(compiler: &Compiler) -> Result<Vec<String>, SeamError> {
    Ok(counters_in(&listing(compiler, &[], &["-fdbg-cnt-list".to_owned()])?))
}

/// The pass that LLVM runs last under `-opt-bisect-limit`, as its log calls it.
pub fn bisected_pass(compiler: &Compiler, program: &Program, flags: &[String], limit: u64) -> Option<String> {
    let scratch = Scratch::new().ok()?;
    scratch.write("a.c", &program.source).ok()?;
    let limit_flag = format!("-opt-bisect-limit={limit}");
    let job = compiler.job().args(&program.cflags).args(flags).args(["-mllvm", &limit_flag, "-c", "-o", "out", "a.c"]);
    let log = job.inside(scratch.path()).run().ok()?.stderr_text();
    last_pass_in(&log)
}

fn last_pass_in(log: &str) -> Option<String> {
    let line = log.lines().rev().find_map(|line| line.strip_prefix("BISECT: running pass ("))?;
    let (_, rest) = line.split_once(") ")?;
    Some(rest.rsplit_once(" on ").map_or(rest, |(name, _)| name).to_owned())
}

/// What gcc says about itself when it is asked to with a flag.
fn listing(compiler: &Compiler, cflags: &[String], flags: &[String]) -> Result<String, SeamError> {
    let failed = |e: &dyn std::fmt::Display| SeamError(e.to_string());
    let scratch = Scratch::new().map_err(|e| failed(&e))?;
    // Any program will do: what is switched on depends on the flags, and the failing one may crash.
    scratch.write("a.c", "int a;\n").map_err(|e| failed(&e))?;
    let job = compiler.job().args(cflags).args(flags).args(["-S", "-o", "out", "a.c"]);
    Ok(job.inside(scratch.path()).run().map_err(|e| failed(&e))?.stderr_text())
}

fn passes_in(listing: &str) -> Vec<String> {
    let switch = |line: &str| {
        let (name, state) = line.split_once(':')?;
        let name = name.trim();
        let known = ["tree-", "rtl-", "ipa-"].iter().any(|kind| name.starts_with(kind));
        (known && state.trim() == "ON").then(|| format!("-fdisable-{name}"))
    };
    listing.lines().filter_map(switch).collect()
}

fn counters_in(listing: &str) -> Vec<String> {
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    listing.lines().skip_while(|line| !line.starts_with("---")).skip(1).filter_map(name).collect()
}

/// The flag that takes an option back; `None` for those that have no opposite.
fn opposite(flag: &str) -> Option<String> {
    let (kind, name) = flag.split_at_checked(2)?;
    if !matches!(kind, "-f" | "-m" | "-W") || name.is_empty() || name.starts_with("l,") || name.starts_with("a,") || name.starts_with("p,")
    {
        return None;
    }
    // `-fx=3` is taken back by `-fno-x`.
    let name = name.split('=').next().unwrap_or(name);
    Some(match name.strip_prefix("no-") {
        Some(positive) => format!("{kind}{positive}"),
        None => format!("{kind}no-{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passes_that_run_and_have_a_name_are_switched() {
        let listing = "   *warn_unused_result   :  ON\n   tree-ccp1   :  ON\n      rtl-cse1  :  OFF\n   ipa-modref : ON\n";
        assert_eq!(passes_in(listing), ["-fdisable-tree-ccp1", "-fdisable-ipa-modref"]);
    }

    #[test]
    fn options_are_taken_back() {
        assert_eq!(opposite("-Wformat-overflow=1").as_deref(), Some("-Wno-format-overflow"));
        assert_eq!(opposite("-fno-tree-fre").as_deref(), Some("-ftree-fre"));
        assert_eq!(opposite("-mavx2").as_deref(), Some("-mno-avx2"));
        assert_eq!([opposite("-O2"), opposite("-std=gnu2x"), opposite("-f"), opposite("-Wl,-x")], [None, None, None, None]);
    }

    #[test]
    fn the_last_pass_of_a_bisection_is_named() {
        let log =
            "BISECT: running pass (7) SROAPass on main\nBISECT: running pass (8) GVNPass on main\nBISECT: NOT running pass (9) X on main\n";
        assert_eq!(last_pass_in(log).as_deref(), Some("GVNPass"));
    }

    #[test]
    fn debug_counters_are_read_from_their_list() {
        let listing = "  counter name     closed intervals\n-----------------\n  dce   unset\n  match   unset\n";
        assert_eq!(counters_in(listing), ["dce", "match"]);
    }
}
