#!/bin/sh
# Shows the fault of report.md. CC and GDB may name others. Exit 0: it shows. 1: it does not. 2: it cannot be told.
cd "$(dirname "$0")" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
for clang in clang clang-22 clang-19 clang-16; do
  command -v "$clang" > /dev/null && break
done
"${CC:-$clang}" "${LEVEL:--O2}" -fno-inline -g program.c -o "$work/a.out" 2>/dev/null || exit 2
said=$("${GDB:-gdb}" -nx -batch -ex run -ex 'frame' "$work/a.out" 2>/dev/null | grep '^#0')
echo "gdb shows the crash as: $said"
echo "The store that crashes has line 0, no line at all; line 5 is a test that did not crash."
case $said in
  *program.c:5*) exit 0 ;;
  '#0'*) exit 1 ;;
esac
exit 2
