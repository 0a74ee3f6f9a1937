//! What tests that repair programs of their own share.

use std::path::PathBuf;
use trueline_toolchain::{Limits, Scratch, find_compiler};

/// Builds a program; `None` where the compiler is missing.
pub fn build(scratch: &Scratch, cc: &str, source: &str, flags: &[&str], name: &str) -> Option<PathBuf> {
    let source = scratch.write("source.c", source).unwrap();
    let Ok(compiler) = find_compiler(cc) else {
        eprintln!("skipped: no {cc}");
        return None;
    };
    let output = scratch.join(name);
    let outcome = compiler.job().args(flags).arg(&source).arg("-o").arg(&output).limits(Limits::seconds(120)).run().unwrap();
    assert!(outcome.success(), "{}", outcome.stderr_text());
    Some(output)
}
