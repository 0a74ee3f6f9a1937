#!/usr/bin/env bash
# Measures `trueline isolate` on known compiler bugs; resumable, since each bug and run is kept.
#
# usage: bench/isolate.sh [OUT-DIR]
#   BUDGET   CPU seconds per bug (600)
#   SEEDS    seeds of the runs (1 2 3)
#   SEARCHES guided random
#   BUGS     directory with bugs.json (../shared/data/compiler-bugs); bench/isolate/llvm for clang
#   JOBS     bugs at a time (the number of processors)
#   CORPUS   how many programs the plain spectrum-based rankings are given (20)
#   TESTS    a directory of developer tests to take as many from (gcc.c-torture/execute of gcc's sources, say)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/bench-isolate}
bugs=${BUGS:-../shared/data/compiler-bugs}
[ -f "$bugs/bugs.json" ] || { echo "skipped: $bugs/bugs.json is not here"; exit 0; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
corpus=${CORPUS:-20}
if [ ! -d "$out/csmith" ] && command -v csmith > /dev/null; then
    mkdir -p "$out/csmith.new"
    # Preprocessed by the compiler that will read them: headers differ between gcc and clang.
    cc=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[0].get("compiler", "gcc-12"))' "$bugs/bugs.json")
    headers=$(for d in /usr/local/include/csmith* /usr/include/csmith*; do if [ -d "$d" ]; then echo "-I$d"; fi; done | tail -1)
    for seed in $(seq 1 "$corpus"); do
        (cd "$out/csmith.new" && csmith --seed "$seed" --max-funcs 3 --max-block-depth 3 --max-block-size 3 > raw)
        # shellcheck disable=SC2086
        "$cc" -E -P -w $headers -x c "$out/csmith.new/raw" > "$out/csmith.new/$(printf %03d "$seed").c"
    done
    rm -f "$out/csmith.new/raw" "$out/csmith.new/platform.info"
    mv "$out/csmith.new" "$out/csmith"
fi
cargo build --release --locked -p trueline-isolate --example bench_isolate
run="${CARGO_TARGET_DIR:-target}/release/examples/bench_isolate"
for search in ${SEARCHES:-guided random}; do
    for seed in ${SEEDS:-1 2 3}; do
        python3 -c 'import json,sys; print("\n".join(b["file"] for b in json.load(open(sys.argv[1]))))' "$bugs/bugs.json" |
            xargs -P "${JOBS:-$(nproc)}" -I{} "$run" search "$bugs" "$out" "${BUDGET:-600}" "$seed" "$search" {}
    done
done
[ ! -d "$out/csmith" ] || "$run" corpus "$bugs" "$out" csmith "$out/csmith" "$corpus"
[ -z "${TESTS:-}" ] || "$run" corpus "$bugs" "$out" developer "$TESTS" "$corpus"
"$run" rank "$bugs" "$out"
python3 bench/isolate-summary.py "$out"
