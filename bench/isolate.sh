#!/usr/bin/env bash
# Measures `trueline isolate` on the known bugs of gcc 12; resumable, since each bug and run is kept.
#
# usage: bench/isolate.sh [OUT-DIR]
#   BUDGET   CPU seconds per bug (600)
#   SEEDS    seeds of the runs (1 2 3)
#   SEARCHES guided random
#   BUGS     directory with bugs.json (../shared/data/compiler-bugs)
#   CC       the compiler (gcc-12)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/bench-isolate}
bugs=${BUGS:-../shared/data/compiler-bugs}
[ -f "$bugs/bugs.json" ] || { echo "skipped: $bugs/bugs.json is not here"; exit 0; }
mkdir -p "$out"
# Passing programs for the comparison with plain spectrum-based ranking.
if [ ! -d "$out/corpus" ] && command -v csmith > /dev/null; then
    mkdir -p "$out/corpus.new"
    headers=$(for d in /usr/include/csmith* /usr/local/include/csmith*; do [ -d "$d" ] && echo "-I$d"; done | head -1)
    for seed in $(seq 1 20); do
        csmith --seed "$seed" > "$out/corpus.new/raw.c"
        # shellcheck disable=SC2086
        gcc -E -P -w $headers "$out/corpus.new/raw.c" > "$out/corpus.new/csmith-$seed.c"
        rm "$out/corpus.new/raw.c"
    done
    mv "$out/corpus.new" "$out/corpus"
fi
[ ! -d "$out/corpus" ] || export BENCH_CORPUS="$PWD/$out/corpus"
case "$out" in /*) [ ! -d "$out/corpus" ] || export BENCH_CORPUS="$out/corpus" ;; esac
cargo build --release --locked -p trueline-isolate --example bench_isolate
for search in ${SEARCHES:-guided random}; do
    for seed in ${SEEDS:-1 2 3}; do
        "${CARGO_TARGET_DIR:-target}/release/examples/bench_isolate" "$bugs" "$out" "${CC:-gcc-12}" "${BUDGET:-600}" "$seed" "$search"
    done
done
python3 bench/isolate-summary.py "$out"
