#!/bin/sh
# Shows the fault of report.md. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${CC:-clang}" "${LEVEL:--O2}" -g program.c -o "$work/a.out" || exit 2
"${GDB:-gdb}" -nx -batch -ex 'break program.c:5' -ex run -ex 'print half' "$work/a.out" >"$work/said" 2>&1
grep -q '^Breakpoint 1, ' "$work/said" || exit 2
echo "gdb says: $(tail -n 1 "$work/said")"
tail -n 1 "$work/said" | grep -q 'Incompatible types on DWARF stack'
