//! `reproduce.sh`: shows the fault with a compiler and a debugger alone.
//!
//! A violation is looked for where it is: on every row that the line table has for its line, asked of the debugger after
//! the build, because another compiler puts the rows elsewhere. Stepping alone passes over rows (the second one of a
//! line, rows that a breakpoint reaches first) and is asked when breakpoints show nothing.

use super::{Draft, compiler_name, crash_key, describe, flags, shown_file};
use std::fmt::Write as _;
use trueline_model::{Fault, Invariant, Reader, Violation};
use trueline_toolchain::quote;

/// What every script for a violation does, given the variables in front of it.
const VIOLATION: &str = include_str!("violation.sh");

/// From this many allowed values on the oracle's list may have been cut off.
const LISTED: usize = 8;

/// The script. Exit code 0: the fault shows, 1: it does not, 2: it cannot be told.
pub(super) fn script(draft: &Draft<'_>) -> String {
    let mut script = String::new();
    let file = shown_file(draft);
    let name = compiler_name(draft.compiler);
    let _ = write!(
        script,
        "#!/bin/sh\n# Shows the fault described in report.md. Needs a compiler and, for debug information, a debugger:\n\
         #   CC=… GDB=… LLDB=… ./reproduce.sh\n\
         # Exit 0: the fault shows. Exit 1: it does not. Exit 2: it cannot be told (nothing compiles, no debugger).\n\
         set -u\nexport LC_ALL=C\ncd \"$(dirname \"$0\")\" || exit 2\nCC=${{CC:-{name}}}\nGDB=${{GDB:-gdb}}\n\
         LLDB=${{LLDB:-$(ls /usr/bin/lldb /usr/bin/lldb-[0-9]* 2>/dev/null | head -n 1)}}\nLLDB=${{LLDB:-lldb}}\n\
         work=$(mktemp -d) || exit 2\ntrap 'rm -rf \"$work\"' EXIT\n"
    );
    let compile = format!("\"$CC\" {} {file} -o \"$work/a.out\"", flags(draft));
    match draft.fault {
        Fault::Violation(violation) => {
            let _ = write!(script, "set -x\n{compile} 2>\"$work/cc.log\" || {{ cat \"$work/cc.log\"; exit 2; }}\nset +x\n\n");
            script.push_str(&variables(draft, violation));
            let _ = write!(script, "\n{VIOLATION}");
        }
        Fault::Crash { message } => {
            // The place in the message, not its line numbers, identifies the crash.
            let key = quote(&crash_key(message));
            let _ = write!(
                script,
                "echo 'expected: the program compiles'\n{compile} 2>\"$work/cc.log\"\necho \"$CC says:\"\ncat \"$work/cc.log\"\n\
                 grep -q -F -- {key} \"$work/cc.log\" && echo 'The fault shows.'\n"
            );
        }
        Fault::Hang { seconds } => {
            let _ = write!(
                script,
                "echo 'expected: the program compiles'\ntimeout -k 1 {seconds} {compile}\n\
                 [ $? -ge 124 ] && echo \"$CC says: nothing for {seconds} s. The fault shows.\"\n"
            );
        }
        Fault::WrongCode { .. } => {
            let reference = flags(draft).replacen(draft.opt.flag(), "-O0", 1);
            let _ = write!(
                script,
                "\"$CC\" {reference} {file} -o \"$work/o0\" || exit 2\n{compile} || exit 2\n\
                 timeout 10 \"$work/o0\" >\"$work/expected\"; echo \"exit $?\" >>\"$work/expected\"\n\
                 timeout 10 \"$work/a.out\" >\"$work/actual\"; echo \"exit $?\" >>\"$work/actual\"\n\
                 ! diff \"$work/expected\" \"$work/actual\" && echo 'The fault shows.'\n"
            );
        }
    }
    script
}

/// The variables that the script of a violation reads.
fn variables(draft: &Draft<'_>, violation: &Violation) -> String {
    let (_, expected, _) = describe(draft.fault);
    let frames = violation.frames.iter().map(std::convert::AsRef::as_ref).collect::<Vec<_>>().join(" ");
    let line = violation.line.to_string();
    let element = element_of(violation).to_string();
    let debuggers = if is_seen_by_lldb_only(draft) { "lldb gdb" } else { "gdb lldb" };
    let all = [
        ("KIND", violation.invariant.name()),
        ("FILE", violation.file.base()),
        ("LINE", &line),
        ("FUNCTION", &violation.function),
        ("FRAMES", &frames),
        ("VARIABLE", violation.variable.as_deref().unwrap_or("")),
        ("VALUE", violation.value.as_deref().unwrap_or("")),
        ("ALLOWED", allowed(violation)),
        ("ELEMENT", &element),
        ("EXPECTED", &expected),
        ("DEBUGGERS", debuggers),
    ];
    all.iter().map(|(name, value)| format!("{name}={}\n", quote(value))).collect()
}

/// Which scalar of the variable is wrong: the oracle compares aggregates scalar by scalar and says so in words.
fn element_of(violation: &Violation) -> usize {
    let number = violation.why.as_deref().and_then(|why| why.strip_prefix("element ")?.split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}

/// The values that the unoptimized program has, where the oracle lists all of them.
fn allowed(violation: &Violation) -> &str {
    let list = match violation.invariant {
        Invariant::Parameter | Invariant::Value => violation.expected.as_deref().unwrap_or(""),
        _ => "",
    };
    if list.split(", ").count() < LISTED { list } else { "" }
}

fn is_seen_by_lldb_only(draft: &Draft<'_>) -> bool {
    let sees = |reader: Reader| draft.readings.iter().any(|r| r.reader == reader && r.sees == Some(true));
    sees(Reader::Lldb) && !sees(Reader::Gdb)
}
