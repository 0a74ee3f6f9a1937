#!/usr/bin/env bash
# What `check` reports on csmith programs, by invariant, compiler and level; programs with reports are kept for judging by hand.
# usage: bench/check-precision.sh DIR [SEEDS]   (default 1..101, gcc-12 and clang-16 at -Og and -O2)
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:?a directory for the programs}"
cargo build --release -p trueline-check --example survey
"${CARGO_TARGET_DIR:-target}/release/examples/survey" "$1" --seeds "${2:-1..101}"
