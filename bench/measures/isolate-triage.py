#!/usr/bin/env python3
"""The baseline that isolation is compared with: the guilty pass of `trueline triage`, mapped to its source files.

    bench/run isolate-triage [--bugs ../shared/data/compiler-bugs] [--trueline target/release/trueline] [--files 330] [--keep FILE]

Each known bug of gcc is explained by `trueline triage` at its first failing level. The files of the pass come first, all other
files (--files of them run in a compilation) are equals behind them, and ties rank worst, as everywhere.
"""
import argparse, json, os, resource, statistics, subprocess

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--bugs", default="../shared/data/compiler-bugs")
parser.add_argument("--trueline", default="target/release/trueline")
parser.add_argument("--files", type=int, default=330)
parser.add_argument("--keep")
args = parser.parse_args()
listed = os.path.join(args.bugs, "bugs.json")
if not os.path.exists(listed):
    raise SystemExit(f"skipped: {listed} is not here")
include = os.path.abspath("bench/isolate/include")
ranks, rows = [], []
for bug in json.load(open(listed)):
    compiler, level = bug.get("compiler", "gcc-12"), bug["gcc12_fails_at"][0]
    command = [args.trueline, "triage", os.path.join(args.bugs, bug["file"]), "--cc", compiler, f"--opt={level}", "--versions", "none", "--no-readers", "--json"]
    # A header of gcc's test-suite stands beside the bench; levels among the options would reach the reference as well.
    command += [f"--cflag=-I{include}"] + [f"--cflag={flag}" for flag in bug["options"] if not flag.startswith("-O")]
    run = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(run.stdout)["findings"] if run.stdout.startswith("{") else []
    faults = [f for f in found if f["kind"] in ("crash", "hang", "wrong-code") and f["pass"]]
    passes = sorted({f["pass"].get("name") or f["pass"]["role"] for f in faults})
    files = {os.path.basename(file) for f in faults for file in f.get("source_files", [])}
    rank = len(files) if files & set(bug["buggy_files"]) else args.files
    ranks.append(rank)
    rows.append({"bug": bug["file"], "level": level, "passes": passes, "files": sorted(files), "fixed": bug["buggy_files"], "rank": rank})
    said = "" if faults else (run.stderr.strip().splitlines() or ["no fault seen"])[-1]
    print(f"{bug['file']:16} {level:4} {'+'.join(passes) or '–':40} {' '.join(sorted(files)) or '–':40} {rank:4} {said}", flush=True)
    if args.keep:
        json.dump(rows, open(args.keep, "w"), indent=1)
shares = "/".join(f"{100 * sum(r <= top for r in ranks) / len(ranks):.0f}" for top in (1, 5, 10, 20))
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{len(ranks)} bugs: {shares} %, mean first rank {statistics.mean(ranks):.1f}, {(usage.ru_utime + usage.ru_stime) / len(ranks):.1f} CPU-s per bug")
