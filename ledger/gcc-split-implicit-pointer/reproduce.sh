#!/bin/sh
# Shows the fault of report.md. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cp program.c "$work" && cd "$work" || exit 2
"${CC:-gcc}" "${LEVEL:--O2}" -g -gsplit-dwarf program.c -o a.out || exit 2
shown=$("${GDB:-gdb}" -nx -batch -ex 'break program.c:7' -ex run -ex 'print at->x' a.out 2>&1 | tail -1)
echo "gdb prints at->x: $shown"
echo 'Without -gsplit-dwarf it prints $1 = 1.'
case $shown in
  *'Cannot find DIE at 0x0'*) exit 0 ;;
  '$1 = 1') exit 1 ;;
esac
exit 2
