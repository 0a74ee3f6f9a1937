#!/bin/sh
# Shows the fault of report.md. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${CC:-clang}" "${LEVEL:--O2}" -g program.c -o "$work/a.out" || exit 2
shown=$("${GDB:-gdb}" -nx -batch -ex 'break program.c:10' -ex run -ex 'print half' "$work/a.out" 2>/dev/null | sed -n 's/^\$1 = //p')
echo "gdb shows half = $shown; the program computes 6."
[ -n "$shown" ] || exit 2
[ "$shown" = 2147483654 ]
