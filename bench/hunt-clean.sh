#!/usr/bin/env bash
# Of N weave programs none may trip UBSan, ASan (gcc and clang), MSan (clang) or valgrind, and all builds must
# print the same. Resumable: programs already judged are in the log. usage: hunt-clean.sh [N] [LOG]
set -u
n=${1:-200}; log=${2:-target/hunt-clean.log}
cd "$(dirname "$0")/.." && mkdir -p "$(dirname "$log")" && touch "$log"
cargo build -q -p trueline-generate --example weave
weave=${CARGO_TARGET_DIR:-target}/debug/examples/weave
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
gcc=$(command -v gcc-12 || command -v gcc); clang=$(command -v clang-16 || command -v clang)
for seed in $(seq 50001 $((50000 + n))); do
  grep -q "^$seed " "$log" && continue
  "$weave" "$seed" c > "$work/p.c"
  verdict=clean; want=""
  check() { # name, compiler and flags
    local name=$1; shift
    if ! "$@" -w "$work/p.c" -o "$work/p" 2> "$work/err"; then verdict="$name does not compile"; return; fi
    local out; out=$(${run:-} "$work/p" 2> "$work/err") || verdict="$name fails: $(head -1 "$work/err")"
    [ -z "$want" ] && want=$out
    [ "$out" = "$want" ] || verdict="$name prints $out instead of $want"
  }
  check gcc-asan-ubsan "$gcc" -O1 -fsanitize=undefined,address -fno-sanitize-recover=all
  check clang-asan-ubsan "$clang" -O1 -fsanitize=undefined,address -fno-sanitize-recover=all
  check clang-msan "$clang" -O1 -fsanitize=memory -fno-sanitize-recover=all
  if command -v valgrind > /dev/null; then
    run="valgrind -q --error-exitcode=9" check valgrind "$gcc" -O0 -g
  fi
  echo "$seed $verdict" >> "$log"
done
echo "$(wc -l < "$log") programs, $(grep -c ' clean$' "$log") clean"
grep -v ' clean$' "$log" | head
