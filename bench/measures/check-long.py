"""What giving addresses up costs and saves: one pair of builds, checked in full and with limited patience.

    bench/run check-long --reference gzip.O0 --optimized gzip.O2 --visits 0,32 -- -c FILE

For each patience it prints CPU time and peak of memory of the command with all its children, stops, findings and groups; then what
one patience finds on lines that both saw and the first one does not, which has to be nothing.
"""
import json, os, subprocess, sys

import _common

options = _common.parser(__doc__)
options.add_argument("--trueline", default=_common.TRUELINE)
options.add_argument("--reference", required=True)
options.add_argument("--optimized", required=True)
options.add_argument("--visits", default="0,32")
options.add_argument("--time-limit", default="3600")
options.add_argument("args", nargs="*")
args = options.parse_args()


def check(visits):
    """The run's document, CPU seconds and the peak of memory in megabytes."""
    command = [args.trueline, "check", "--reference", args.reference, "--optimized", args.optimized, "--json"]
    command += ["--visits", visits, "--max-steps", "1000000000", "--time-limit", args.time_limit, "--", *args.args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    document = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) > 1:
        sys.exit(f"--visits {visits}: not checked")
    return json.loads(document)["runs"][0], usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def complaints(run):
    return {(v["invariant"], v["file"], v["line"], v.get("variable")) for v in run["violations"]}


print("| visits | CPU-s | MB | stops at -O0 | at -O2 | given up | violations | groups |\n|---|---|---|---|---|---|---|---|")
runs = []
for visits in args.visits.split(","):
    run, cpu, memory = check(visits)
    given_up = sum(note["given_up"] for note in run.get("notes", []) if note["kind"] == "partial")
    counts = f"{len(run['violations'])} | {len(run.get('groups', []))}"
    print(f"| {visits} | {cpu:.1f} | {memory:.0f} | {run['reference_steps']} | {run['optimized_steps']} | {given_up} | {counts} |", flush=True)
    runs.append((visits, run))
first = complaints(runs[0][1])
for visits, run in runs[1:]:
    more, fewer = complaints(run) - first, first - complaints(run)
    print(f"\n--visits {visits} against {runs[0][0]}: {len(more)} more {sorted(more, key=str)}, {len(fewer)} fewer {sorted(fewer, key=str)}")
