#!/usr/bin/env bash
# Reach: how much more of a compiler ten variants of each csmith seed run than the seeds alone, with all strategies and with the
# dead-region one alone. Blocks of the stock compiler, measured with one-shot breakpoints.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${MUTATE_OUT:-target/mutate-reach}
seeds=${MUTATE_SEEDS:-50}
cargo build --release --locked -p trueline-mutate --example derive
cargo build --release --locked -p trueline-coverage --example reach
rm -rf "$out"
flags=$(target/release/examples/derive csmith "${MUTATE_FIRST:-1}" "$seeds" 10 "$out/seeds" "$out/all")
target/release/examples/derive csmith "${MUTATE_FIRST:-1}" "$seeds" 10 "$out/seeds" "$out/dead" dead > /dev/null
includes=$(tr ' ' '\n' <<< "$flags" | grep '^-I' | tr '\n' ' ')
for compiler in ${MUTATE_CC:-gcc-12 clang-16}; do
  for kind in all dead; do
    target/release/examples/reach "$compiler" "${MUTATE_LEVEL:--O2} $includes" "$out/seeds" "$out/$kind" > "$out/$compiler-$kind.json"
    python3 - "$out/$compiler-$kind.json" "$compiler" "$kind" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
a, b, total = d["a"]["blocks"], d["b"]["blocks"], d["watched_blocks"]
print(f"{sys.argv[2]} {sys.argv[3]}: seeds {a} of {total} blocks ({a/total:.1%}), with variants {b} ({b/total:.1%}): {b/a-1:+.1%} relative")
PY
  done
done
