"""CPU per unit against the CPU of its compilations, and units per CPU-hour against stepping every build in gdb.

The same programs and levels, both in one run.
"""
import json, os, tempfile

import _common

options = _common.parser(__doc__)
options.add_argument("programs", type=int, nargs="?", default=20)
options.add_argument("trueline", nargs="?", default=_common.TRUELINE)
args = options.parse_args()
rate = {}
with tempfile.TemporaryDirectory() as work:
    for engine in ("native", "gdb"):
        command = [args.trueline, "hunt", "--generator", "weave", "--engine", engine, "--confirm", "none", "--cc", "gcc-12,clang-16", "--jobs", "2",
                   "--seeds", f"1..{args.programs + 1}", "--no-report", "--json", "--db", os.path.join(work, f"{engine}.db")]
        events = _common.run(*command, capture_output=True, text=True).stdout
        t = json.loads(events.strip().splitlines()[-1])["totals"]
        rate[engine] = t["units"] * 3600 / t["cpu"]
        print(f"{engine:7} {t['units']} units, {t['cpu']:.1f} CPU-s of which {t['compile_cpu']:.1f} compiling: "
              f"{t['cpu'] / t['compile_cpu']:.2f}x, {rate[engine]:.0f} units per CPU-hour", flush=True)
print(f"native does {rate['native'] / rate['gdb']:.2f}x the units of gdb per CPU-hour")
