#!/bin/sh
# Shows the fault of report.md. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${CC:-gcc}" "${LEVEL:--O1}" -g program.c -o "$work/a.out" || exit 2
"${GDB:-gdb}" -nx -batch -ex 'break find' -ex run -ex step -ex step "$work/a.out" >"$work/said" 2>&1
grep -q '^Breakpoint 1, ' "$work/said" || exit 2
grep -E '^[0-9]+[[:space:]]' "$work/said"
grep -q '^6[[:space:]]' "$work/said"
