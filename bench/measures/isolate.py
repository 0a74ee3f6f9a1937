"""`trueline isolate` on known compiler bugs; resumable, since each bug and run is kept.

Needs a directory with bugs.json and the programs it names; bench/isolate/llvm has one for clang. Hours at the full budget;
--budget 60 --seeds 1 for a look.
"""
import concurrent.futures, glob, json, os, runpy, shutil, subprocess, sys

import _common

options = _common.parser(__doc__)
options.add_argument("out", nargs="?", default="target/bench-isolate")
options.add_argument("--budget", default="600", help="CPU seconds per bug")
options.add_argument("--seeds", default="1,2,3", help="seeds of the runs")
options.add_argument("--searches", default="guided,random")
options.add_argument("--bugs", default="../shared/data/compiler-bugs")
options.add_argument("--jobs", type=int, default=os.cpu_count(), help="bugs at a time")
options.add_argument("--corpus", default="20", help="programs for the plain spectrum-based rankings")
options.add_argument("--tests", help="a directory of developer tests to take as many from (gcc.c-torture/execute, say)")
args = options.parse_args()
if not os.path.exists(f"{args.bugs}/bugs.json"):
    raise SystemExit(f"skipped: {args.bugs}/bugs.json is not here")
bugs = json.load(open(f"{args.bugs}/bugs.json"))
os.makedirs(args.out, exist_ok=True)
out = os.path.abspath(args.out)
csmith = f"{out}/csmith"
if not os.path.isdir(csmith) and shutil.which("csmith"):
    os.makedirs(f"{csmith}.new", exist_ok=True)
    # Preprocessed by the compiler that will read them: headers differ between gcc and clang.
    compiler = bugs[0].get("compiler", "gcc-12")
    headers = [f"-I{d}" for d in glob.glob("/usr/local/include/csmith*") + glob.glob("/usr/include/csmith*") if os.path.isdir(d)][-1:]
    for seed in range(1, int(args.corpus) + 1):
        shape = ["--max-funcs", "3", "--max-block-depth", "3", "--max-block-size", "3"]
        raw = _common.run("csmith", "--seed", seed, *shape, cwd=f"{csmith}.new", capture_output=True).stdout
        with open(f"{csmith}.new/{seed:03}.c", "wb") as program:
            _common.run(compiler, "-E", "-P", "-w", *headers, "-x", "c", "-", input=raw, stdout=program)
    if os.path.exists(f"{csmith}.new/platform.info"):
        os.remove(f"{csmith}.new/platform.info")
    os.rename(f"{csmith}.new", csmith)
bench = _common.example("isolate", "bench_isolate")


def search(job):
    bug, seed, how = job
    return subprocess.run([bench, "search", args.bugs, out, args.budget, seed, how, bug["file"]]).returncode


jobs = [(bug, seed, how) for how in args.searches.split(",") for seed in args.seeds.split(",") for bug in bugs]
with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
    failed = [job for job, code in zip(jobs, pool.map(search, jobs)) if code]
if failed:
    raise SystemExit("failed: " + ", ".join(f"{bug['file']} {how} {seed}" for bug, seed, how in failed))
if os.path.isdir(csmith):
    _common.run(bench, "corpus", args.bugs, out, "csmith", csmith, args.corpus)
if args.tests:
    _common.run(bench, "corpus", args.bugs, out, "developer", args.tests, args.corpus)
_common.run(bench, "rank", args.bugs, out)
sys.argv[1:] = [out]
runpy.run_path(os.path.join(os.path.dirname(__file__), "isolate-summary.py"), run_name="__main__")
