#!/usr/bin/env bash
# Agreement and speed of the native engine against gdb and lldb on csmith programs, printed as ratios of one run.
# usage: bench/trace-agreement.sh [SEEDS] [MAX-STEPS]   (default 3..29 200: some 20 programs)
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-3..29}
steps=${2:-200}
cargo build --release -p trueline-trace --examples
agree=${CARGO_TARGET_DIR:-target}/release/examples/agree
memory=${CARGO_TARGET_DIR:-target}/release/examples/million
nproc
gcc-12 --version | head -1
clang-16 --version | head -1
gdb --version | head -1
lldb-16 --version
for debugger in gdb lldb; do
  echo "== native against $debugger"
  "$agree" "$debugger" --cc gcc-12,clang-16 --opt -O0,-O1,-O2,-O3,-Og --seeds "$seeds" --max-steps "$steps"
done
echo "== memory of a trace of a million steps"
"$memory"
