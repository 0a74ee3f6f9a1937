"""How much more of a compiler ten variants of each csmith seed run than the seeds alone.

With all strategies and with the dead-region one alone. Blocks of the stock compiler, measured with one-shot breakpoints.
"""
import json, shutil

import _common

options = _common.parser(__doc__)
options.add_argument("--first", default="1")
options.add_argument("--seeds", default="50")
options.add_argument("--cc", default="gcc-12,clang-16")
options.add_argument("--level", default="-O2")
options.add_argument("--out", default="target/mutate-reach")
args = options.parse_args()
derive, reach = _common.example("mutate", "derive"), _common.example("coverage", "reach")
shutil.rmtree(args.out, ignore_errors=True)
seeds = f"{args.out}/seeds"
made = _common.run(derive, "csmith", args.first, args.seeds, "10", seeds, f"{args.out}/all", capture_output=True, text=True)
_common.run(derive, "csmith", args.first, args.seeds, "10", seeds, f"{args.out}/dead", "dead", capture_output=True)
includes = " ".join(word for word in made.stdout.split() if word.startswith("-I"))
for compiler in args.cc.split(","):
    for kind in ("all", "dead"):
        flags = f"{args.level} {includes}"
        text = _common.run(reach, compiler, flags, seeds, f"{args.out}/{kind}", capture_output=True, text=True).stdout
        with open(f"{args.out}/{compiler}-{kind}.json", "w") as out:
            out.write(text)
        d = json.loads(text)
        a, b, total = d["a"]["blocks"], d["b"]["blocks"], d["watched_blocks"]
        print(f"{compiler} {kind}: seeds {a} of {total} blocks ({a/total:.1%}), with variants {b} ({b/total:.1%}): {b/a-1:+.1%}", flush=True)
