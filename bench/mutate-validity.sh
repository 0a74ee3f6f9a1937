#!/usr/bin/env bash
# Validity and cost of mutation: 200 csmith seeds and 200 weave seeds with five variants each. Every variant must compile and
# print its seed's output at gcc -O0 and clang -O0; sanitizers run on the last variant of each seed, which has the insertions
# of the four before it (MUTATE_SANITIZE=all runs them on every one). MUTATE_OPTIONS=hunt takes the options of hunts instead of
# the defaults. About 15 CPU-minutes, 40 with all.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=${MUTATE_FAILED:-target/mutate-failed}
cargo build --release --locked -p trueline-mutate --example validity
for generator in weave csmith; do
  echo "== $generator"
  target/release/examples/validity "$generator" "${MUTATE_FIRST:-1000}" "${MUTATE_SEEDS:-200}" 5 "${MUTATE_SANITIZE:-last}" "$failed" "${MUTATE_OPTIONS:-}"
done
