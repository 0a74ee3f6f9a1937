#!/usr/bin/env bash
# Measures `trueline isolate` on known compiler bugs; resumable, since each bug and run is kept.
#
# usage: bench/isolate.sh [OUT-DIR]
#   BUDGET   CPU seconds per bug (600)
#   SEEDS    seeds of the runs (1 2 3)
#   SEARCHES guided random
#   BUGS     directory with bugs.json (../shared/data/compiler-bugs); bench/isolate/llvm for clang
#   JOBS     bugs at a time (the number of processors)
#   CORPUS   how many csmith programs the plain spectrum-based rankings are given (6)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/bench-isolate}
bugs=${BUGS:-../shared/data/compiler-bugs}
[ -f "$bugs/bugs.json" ] || { echo "skipped: $bugs/bugs.json is not here"; exit 0; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ ! -d "$out/corpus" ] && command -v csmith > /dev/null; then
    mkdir -p "$out/corpus.new"
    headers=$(for d in /usr/include/csmith* /usr/local/include/csmith*; do [ -d "$d" ] && echo "-I$d"; done | head -1)
    for seed in $(seq 1 "${CORPUS:-6}"); do
        (cd "$out/corpus.new" && csmith --seed "$seed" --max-funcs 3 --max-block-depth 3 --max-block-size 3 > raw)
        # shellcheck disable=SC2086
        gcc -E -P -w $headers -x c "$out/corpus.new/raw" > "$out/corpus.new/csmith-$seed.c"
    done
    rm -f "$out/corpus.new/raw" "$out/corpus.new/platform.info"
    mv "$out/corpus.new" "$out/corpus"
fi
[ ! -d "$out/corpus" ] || export BENCH_CORPUS="$out/corpus"
cargo build --release --locked -p trueline-isolate --example bench_isolate
run="${CARGO_TARGET_DIR:-target}/release/examples/bench_isolate"
for search in ${SEARCHES:-guided random}; do
    for seed in ${SEEDS:-1 2 3}; do
        python3 -c 'import json,sys; print("\n".join(b["file"] for b in json.load(open(sys.argv[1]))))' "$bugs/bugs.json" |
            xargs -P "${JOBS:-$(nproc)}" -I{} "$run" search "$bugs" "$out" "${BUDGET:-600}" "$seed" "$search" {}
    done
done
"$run" rank "$bugs" "$out"
python3 bench/isolate-summary.py "$out"
