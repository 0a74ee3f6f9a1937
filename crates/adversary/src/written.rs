//! A wrong value as something to see again: the source, the commands, what gdb says.

use crate::judge::ValueVerdict;
use crate::program::{HostileProgram, Round};
use crate::trial::WrongShown;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a directory below `out` and returns it.
pub fn write(out: &Path, program: &HostileProgram, wrong: &WrongShown) -> io::Result<PathBuf> {
    let j = &wrong.judged;
    let label = format!("{:?}", j.label).to_lowercase();
    let name = format!(
        "{label}-{}-{}-{}{}-{}-{}-line{}",
        wrong.kind,
        program.seed,
        wrong.build.cc,
        wrong.build.level,
        j.function,
        j.variable.replace(['[', ']', '.'], "_"),
        j.line
    );
    let dir = out.join(name);
    std::fs::create_dir_all(&dir)?;
    for (file, text) in program.units() {
        std::fs::write(dir.join(file), text)?;
    }
    let ordinary: Vec<String> = program.ordinary().iter().map(Round::argument).collect();
    let (cc, level) = (&wrong.build.cc, &wrong.build.level);
    let expected = match &j.verdict {
        ValueVerdict::Wrong { expected } => expected.iter().cloned().collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    };
    let text = &program.functions[wrong.round.function];
    let script = format!(
        "#!/bin/sh -e
# {kind}: {function} line {line}: {variable} shows {shown}, -O0 has {expected}; {label}: {relation}
cd \"$(dirname \"$0\")\"
: \"${{TRUELINE:=trueline}}\"
build() {{
  out=$1; shift
  {cc} -w -O1 -c driver.c -o driver.o
  {cc} -w -g \"$@\" -c first.c -o first.o
  {cc} -w -g \"$@\" -c second.c -o second.o
  {cc} first.o second.o driver.o -o \"$out\"
}}
build reference -O0
build optimized {level}
\"$TRUELINE\" repair optimized -o repaired --reference reference --no-check --trust validated -- {ordinary}
gdb -nx -batch -ex 'set pagination off' -ex 'starti {round}' -ex 'tbreak main' -ex continue \\
  -ex 'python base = int(gdb.parse_and_eval(\"(unsigned long)&main\")) - 0x'$(nm repaired | sed -n 's/ T main$//p') \\
  -ex 'python gdb.Breakpoint(\"*%d\" % (base + {pc:#x}))' -ex continue -ex 'info locals' -ex 'info args' repaired
# The round's function alone:
{function_text}",
        kind = wrong.kind,
        function = j.function,
        line = j.line,
        variable = j.variable,
        shown = j.shown,
        relation = j.relation,
        ordinary = ordinary.join(" "),
        round = wrong.round.argument(),
        pc = j.pc,
        function_text = text.first.lines().map(|l| format!("#   {l}\n")).collect::<String>(),
    );
    std::fs::write(dir.join("reproduce.sh"), script)?;
    Ok(dir)
}
