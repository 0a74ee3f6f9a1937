//! The switches a compiler has for its own passes: what `switch_witnesses` tries.

use trueline_model::{CompilerKind, Program, SeamError};
use trueline_toolchain::{Compiler, Scratch};

/// Flags that each switch one pass off which the failing compilation runs; none for compilers other than
/// gcc (LLVM's pass switches are not part of its driver).
pub fn pass_switches(compiler: &Compiler, program: &Program, flags: &[String]) -> Result<Vec<String>, SeamError> {
    if compiler.id.kind != CompilerKind::Gcc {
        return Ok(Vec::new());
    }
    let failed = |e: &dyn std::fmt::Display| SeamError(e.to_string());
    let scratch = Scratch::new().map_err(|e| failed(&e))?;
    // Any program will do: what is switched on depends on the flags, and the failing one may crash.
    scratch.write("a.c", "int a;\n").map_err(|e| failed(&e))?;
    let job = compiler.job().args(&program.cflags).args(flags).args(["-S", "-o", "out", "-fdump-passes", "a.c"]);
    let outcome = job.cwd(scratch.path()).run().map_err(|e| failed(&e))?;
    Ok(switches_in(&outcome.stderr_text()))
}

fn switches_in(listing: &str) -> Vec<String> {
    let switch = |line: &str| {
        let (name, state) = line.split_once(':')?;
        let name = name.trim();
        let known = ["tree-", "rtl-", "ipa-"].iter().any(|kind| name.starts_with(kind));
        (known && state.trim() == "ON").then(|| format!("-fdisable-{name}"))
    };
    listing.lines().filter_map(switch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passes_that_run_and_have_a_name_are_switched() {
        let listing = "   *warn_unused_result   :  ON\n   tree-ccp1   :  ON\n      rtl-cse1  :  OFF\n   ipa-modref : ON\n";
        assert_eq!(switches_in(listing), ["-fdisable-tree-ccp1", "-fdisable-ipa-modref"]);
    }
}
