#!/bin/sh
# Shows the fault of report.md. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${CC:-gcc}" "${LEVEL:--O2}" -g program.c -o "$work/a.out" || exit 2
shown=$("${GDB:-gdb}" -nx -batch -ex 'break program.c:7' -ex run -ex 'print step' "$work/a.out" 2>&1 |
  sed -n 's/^\$1 = //p' | tail -1)
echo "gdb shows step = $shown; the program computes 30."
case $shown in
  20) exit 0 ;;
  30) exit 1 ;;
esac
exit 2
