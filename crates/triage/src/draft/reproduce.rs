//! `reproduce.sh`: shows the fault with a compiler and a debugger alone.
//!
//! A violation is looked for where it is: on every row that the line table has for its line, asked of the debugger after
//! the build, because another compiler puts the rows elsewhere. Stepping alone passes over rows (the second one of a
//! line, rows that a breakpoint reaches first) and is asked when breakpoints show nothing.

use super::{Draft, compiler_name, crash_key, flags, shown_file};
use std::fmt::Write as _;
use trueline_model::{Fault, Invariant, Reader, Violation, WrongValue, wording};
use trueline_toolchain::quote;

/// What every script for a violation does, given the variables in front of it.
const VIOLATION: &str = include_str!("violation.sh");

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
            let key = quote(crash_key(message));
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
        Fault::Explosion { resource, used, neighbour } => {
            let (used, neighbour) = (quote(resource.amount(*used)), quote(resource.amount(*neighbour)));
            let _ = write!(script, "echo expected: {neighbour}, found: {used}\nTIMEFORMAT='%U s of CPU time'\ntime {compile}\n");
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
    let expected = wording::report(draft.fault).expected;
    let held = violation.breach.wrong_value();
    let frames = violation.frames.iter().map(|f| bare(f)).collect::<Vec<_>>().join(" ");
    let function = bare(&violation.function);
    let line = violation.line.to_string();
    // The script counts the scalars of what a debugger prints, and a variable without members is its first.
    let element = held.and_then(|held| held.element).unwrap_or(0).to_string();
    // A value of another moment is one that the unoptimized program has: it alone counts.
    let allowed = held.filter(|_| violation.invariant() != Invariant::Stale).map(allowed).unwrap_or_default();
    let debuggers = if is_seen_by_lldb_only(draft) { "lldb gdb" } else { "gdb lldb" };
    let all = [
        ("KIND", violation.invariant().name()),
        ("FILE", violation.file.base()),
        ("LINE", &line),
        ("FUNCTION", &function),
        ("FRAMES", &frames),
        ("VARIABLE", violation.variable().map_or("", |name| name)),
        ("VALUE", held.map_or("", |held| held.value)),
        ("ALLOWED", &allowed),
        ("ELEMENT", &element),
        ("EXPECTED", &expected),
        ("DEBUGGERS", debuggers),
    ];
    all.iter().map(|(name, value)| format!("{name}={}\n", quote(value))).collect()
}

/// A function's name as the script reads it from a frame: no signature, and nothing behind the first blank. Debuggers do not
/// agree on the rest of a C++ name.
fn bare(name: &str) -> String {
    let name = name.replace("(anonymous namespace)", "{anonymous}");
    name.split([' ', '(', '+']).next().unwrap_or_default().to_owned()
}

/// The values that the unoptimized program has, where all of them are known.
fn allowed(held: WrongValue<'_>) -> String {
    if held.allowed.cut { String::new() } else { held.allowed.first.join(", ") }
}

fn is_seen_by_lldb_only(draft: &Draft<'_>) -> bool {
    let sees = |reader: Reader| draft.readings.iter().any(|r| r.reader == reader && r.sees == Some(true));
    sees(Reader::Lldb) && !sees(Reader::Gdb)
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn names_of_cpp_are_compared_without_their_signatures() {
        assert_eq!(bare("Basket::print(int) const"), "Basket::print");
        assert_eq!(bare("(anonymous namespace)::use(Part const&)"), "{anonymous}::use");
        assert_eq!(bare("weave::run"), "weave::run");
        assert_eq!(bare("main"), "main");
    }
}
