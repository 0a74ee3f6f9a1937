#!/bin/sh
# Shows the fault of report.md. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${CC:-clang}" "${LEVEL:--O2}" -g program.c -o "$work/a.out" || exit 2
shown=$("${GDB:-gdb}" -nx -batch -ex 'break program.c:7' -ex run -ex 'print letter' "$work/a.out" 2>&1 | tail -n 1)
echo "gdb says: $shown; letter is 114, 'r'."
[ -n "$shown" ] || exit 2
case $shown in *"Cannot access memory at address 0x72"*) exit 0 ;; esac
exit 1
