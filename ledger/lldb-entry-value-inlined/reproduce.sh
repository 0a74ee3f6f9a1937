#!/bin/sh
# Shows the fault of report.md. CC and LLDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"${CC:-gcc}" "${LEVEL:--O2}" -g program.c -o "$work/a.out" || exit 2
shown=$("${LLDB:-lldb}" -x -b -o 'breakpoint set -f program.c -l 7' -o run -o 'frame variable step' "$work/a.out" 2>&1 |
  sed -n 's/^([^)]*) \**step = //p' | tail -1)
echo "lldb shows step = $shown; the program computes 30."
case $shown in
  *DW_OP_entry_value*) exit 0 ;;
  30*) exit 1 ;;
esac
exit 2
