"""`trueline repair` on the loop kernels: coverage as the paper counts it, proofs, ablations, CPU time, the checker.

usage: bench/run repair-kernels [CC,CC…] [--table] [--verbose] [--unchecked] [--only FUNCTION] [--json FILE]
"""
import sys

import _common

words = sys.argv[1:]
if "--help" in words:
    raise SystemExit(__doc__)
compilers = words.pop(0) if words and not words[0].startswith("-") else "gcc-12,clang-14,clang-16"
_common.run(_common.example("repair", "repair_kernels"), "bench/repair-kernels", compilers, *words)
