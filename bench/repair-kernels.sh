#!/usr/bin/env bash
# Measures `trueline repair` on the loop kernels: coverage as the paper counts it, proofs, the four ablation
# variants, CPU time, and the independent checker. usage: bench/repair-kernels.sh [CC,CC...] [--table] [--verbose] [--unchecked]
# [--only FUNCTION] [--json FILE]
set -euo pipefail
cd "$(dirname "$0")/.."
compilers=${1:-gcc-12,clang-14,clang-16}
shift || true
exec cargo run --release -q -p trueline-repair --example repair_kernels -- bench/repair-kernels "$compilers" "$@"
