#!/usr/bin/env bash
# Rewrites a large binary (about 50 MB, more than 100,000 DIEs) without edits and prints how long it took.
# usage: bench/repair-large.sh BINARY   (any ELF file with DWARF, for instance a debug build of this project)
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo run --release -q -p trueline-repair --example rewrite_large -- "$1"
