#!/usr/bin/env bash
# What `check` costs on a program of a million steps: steps, CPU time and the peak of memory.
# usage: bench/check-million.sh [CC] [LEVEL]   (default gcc-12 -O2)
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release -p trueline-check --example check_million
"${CARGO_TARGET_DIR:-target}/release/examples/check_million" "${1:-gcc-12}" "${2:--O2}"
