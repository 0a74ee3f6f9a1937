#!/usr/bin/env bash
# The whole loop: seeds, ten variants each, several compilers and levels; crashes, hangs and wrong code come out with the
# minimal set of insertions they need. Prints the programs tested per core-hour. MUTATE_SEEDS sets how many seeds.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${MUTATE_OUT:-target/mutate-findings}
cargo build --release --locked -p trueline-mutate --example equivalence
target/release/examples/equivalence "${MUTATE_GENERATOR:-csmith-default}" "${MUTATE_FIRST:-1}" "${MUTATE_SEEDS:-20}" 10 \
  "${MUTATE_CC:-gcc-11,gcc-12,clang-13,clang-14,clang-16}" "${MUTATE_LEVELS:--O2,-O3}" "$out"
