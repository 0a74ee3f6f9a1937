"""Agreement and speed of the native engine against gdb and lldb on csmith programs, as ratios of one run."""
import os

import _common

options = _common.parser(__doc__)
options.add_argument("--seeds", default="3..29", help="some 20 programs by default")
options.add_argument("--max-steps", default="200")
args = options.parse_args()
print(f"{os.cpu_count()} processors", flush=True)
for tool in ("gcc-12", "clang-16", "gdb", "lldb-16"):
    _common.run("sh", "-c", f"{tool} --version | head -1")
agree = _common.example("trace", "agree")
for debugger in ("gdb", "lldb"):
    print(f"== native against {debugger}", flush=True)
    levels = ["--cc", "gcc-12,clang-16", "--opt", "-O0,-O1,-O2,-O3,-Og"]
    _common.run(agree, debugger, *levels, "--seeds", args.seeds, "--max-steps", args.max_steps)
print("== memory of a trace of a million steps", flush=True)
_common.run(_common.example("trace", "million"))
