//! What a root has to do before it becomes visible.

use super::{PrivateRootError, family, last_lines};
use crate::{Job, Limits, ToolKind, find_compiler, find_tool};
use std::path::Path;

/// Tries what a name stands for.
pub(super) fn run(name: &str, program: &Path) -> Result<(), PrivateRootError> {
    match family(name) {
        "opt" => try_optimizer(name, program),
        "gdb" | "lldb" => try_debugger(name, program),
        _ => try_compiler(name, program),
    }
}

/// Runs a program to its end, and Python.
fn try_debugger(name: &str, program: &Path) -> Result<(), PrivateRootError> {
    let (quiet, command, python) = match family(name) {
        "gdb" => (["-nx", "-batch"], "-ex", "python"),
        _ => (["--no-lldbinit", "--batch"], "-o", "script"),
    };
    let calculation = format!("{python} import json, struct, shlex; print('it is', 6 * 7)");
    let job = Job::new(program).args(quiet).args([command, &calculation, command, "run"]).arg("/bin/true");
    let outcome = job.limits(Limits { memory: None, ..Limits::seconds(120) }).run()?;
    let said = outcome.stdout_text();
    if said.contains("it is 42") && (said.contains("exited normally") || said.contains("exited with status = 0")) {
        return Ok(());
    }
    Err(PrivateRootError::Unusable { name: name.to_owned(), message: last_lines(&(said + &outcome.stderr_text())) })
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
