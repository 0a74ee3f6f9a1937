#!/usr/bin/env bash
# CPU per unit against the CPU of the compilations it needs, and units per CPU-hour against stepping every build
# in gdb: the same programs and levels, both in one run. usage: hunt-cpu.sh [PROGRAMS] [TRUELINE]
set -eu
n=${1:-20}; trueline=${2:-target/release/trueline}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
for engine in native gdb; do
  "$trueline" hunt --engine $engine --confirm none --cc gcc-12,clang-16 --seeds 1..$((n + 1)) --jobs 2 --no-report --json \
    --db "$work/$engine.db" | tail -1 > "$work/$engine.json"
done
python3 - "$work" <<'P'
import json, sys
rate = {}
for engine in ("native", "gdb"):
    t = json.load(open(f"{sys.argv[1]}/{engine}.json"))["totals"]
    rate[engine] = t["units"] * 3600 / t["cpu"]
    print(f"{engine:7} {t['units']} units, {t['cpu']:.1f} CPU-s of which {t['compile_cpu']:.1f} compiling: "
          f"{t['cpu'] / t['compile_cpu']:.2f}x, {rate[engine]:.0f} units per CPU-hour")
print(f"native does {rate['native'] / rate['gdb']:.2f}x the units of gdb per CPU-hour")
P
