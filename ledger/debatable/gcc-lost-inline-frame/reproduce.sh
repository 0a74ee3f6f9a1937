#!/bin/sh
# Shows what report.md describes. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${CC:-gcc}" "${LEVEL:--O2}" -g program.c -o "$work/a.out" || exit 2
"${GDB:-gdb}" -nx -batch -ex 'break main' -ex run -ex frame -ex step -ex frame -ex step -ex frame -ex step -ex frame \
  "$work/a.out" >"$work/said" 2>&1
grep -q '^Breakpoint 1, ' "$work/said" || exit 2
grep -A1 '^#0' "$work/said"
# A frame of main or prepare on line 5.
grep -E '^#0 .*(main|prepare) \(\) at program.c:5' "$work/said"
