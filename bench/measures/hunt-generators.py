#!/usr/bin/env python3
"""Distinct violations per CPU-hour of each generator, with and without mutation: medians and Mann-Whitney p.

Every run gets programs of its own and the same CPU budget; budgets are spent in slices, so that a run ends close to
it. Resumable: finished runs are lines of the log. Distinct is counted twice: by class (compiler, invariant, kind of
statement, shape of the fault) and by guilty pass (compiler, invariant, pass), for which the first findings of each class
are explained by `trueline triage`. The CPU of triage is no part of the budget.

usage: bench/run hunt-generators [--runs 10] [--first 0] [--budget CPU-SECONDS] [--per-class 2] [--variants 4] [--trueline PATH] [--log FILE] [GENERATOR[+mutate]...]
"""
import argparse, json, math, os, re, shutil, sqlite3, statistics, subprocess, tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=10)
parser.add_argument("--first", type=int, default=0, help="number of the first run; runs of other numbers have other programs")
parser.add_argument("--budget", type=float, default=60.0)
parser.add_argument("--slice", type=int, default=1, help="programs per slice")
parser.add_argument("--per-class", type=int, default=2, help="findings of each class that are explained; 0 for none")
parser.add_argument("--variants", type=int, default=4, help="variants per program with +mutate")
parser.add_argument("--trueline", default="target/release/trueline")
parser.add_argument("--log", default="target/hunt-generators.jsonl")
parser.add_argument("--opt", default="-Og,-O2,-O3")
parser.add_argument("sources", nargs="*")
args = parser.parse_args()
sources = args.sources or ["weave", "csmith", "csmith-default", "weave+mutate", "csmith+mutate", "csmith-default+mutate"]
if not args.sources and shutil.which("yarpgen"):
    sources += ["yarpgen", "yarpgen+mutate"]


def guilty_passes(db, base):
    """The passes behind the first findings of each class; numbers of a pass's executions tell no bugs apart."""
    rows = base.execute("SELECT id, class FROM findings ORDER BY id").fetchall()
    chosen, taken = [], {}
    for ident, kind in rows:
        taken[kind] = taken.get(kind, 0) + 1
        if taken[kind] <= args.per_class:
            chosen.append(str(ident))
    if not chosen:
        return []
    command = [args.trueline, "triage", "--db", db, *chosen, "--versions", "none", "--no-readers", "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode > 1 or not run.stdout:
        raise SystemExit(f"triage of {db} failed: {run.stderr.strip()}")
    keys = set()
    for finding in json.loads(run.stdout)["findings"]:
        if finding["state"] == "shows" and finding["pass"]:
            passes = re.sub(r"(?<=[a-z])\d+(?=\+|$)", "", finding["pass"].get("name") or finding["pass"]["role"])
            keys.add((finding["compiler"]["kind"], finding["kind"], passes))
    return sorted(keys)


def one_run(source, number):
    name, _, mutate = source.partition("+")
    with tempfile.TemporaryDirectory() as work:
        db = os.path.join(work, "run.db")
        cpu, seed = 0.0, 1 + number * 100_000
        while cpu < args.budget:
            command = [args.trueline, "hunt", "--generator", name, "--cc", "gcc-12,clang-16", f"--opt={args.opt}", "--confirm", "none",
                       "--no-report", "--json", "--jobs", "1", "--max-steps", "5000", "--seeds", f"{seed}..{seed + args.slice}", "--db", db]
            command += ["--mutate", str(args.variants), "--minimize", "none"] if mutate else []
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            cpu += json.loads(out.strip().splitlines()[-1])["totals"]["cpu"]
            seed += args.slice
        base = sqlite3.connect(db)
        distinct, findings = base.execute("SELECT count(DISTINCT class), count(*) FROM findings").fetchone()
        units = base.execute("SELECT count(*) FROM units WHERE state = 'done'").fetchone()[0]
        passes = guilty_passes(db, base) if args.per_class else []
    return {"source": source, "run": number, "cpu": cpu, "distinct": distinct, "passes": passes, "findings": findings, "units": units}


def mann_whitney(a, b):
    """Two-sided p, normal approximation with tie correction."""
    ranked = sorted([(x, 0) for x in a] + [(x, 1) for x in b])
    ranks, ties, i = [0.0] * len(ranked), 0, 0
    while i < len(ranked):
        j = i
        while j < len(ranked) and ranked[j][0] == ranked[i][0]:
            j += 1
        for k in range(i, j):
            ranks[k] = (i + j + 1) / 2
        ties += (j - i) ** 3 - (j - i)
        i = j
    n, m = len(a), len(b)
    u = sum(r for r, (_, who) in zip(ranks, ranked) if who == 0) - n * (n + 1) / 2
    spread = math.sqrt(n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1))))
    return 1.0 if spread == 0 else math.erfc(abs(u - n * m / 2) / spread / math.sqrt(2))


done = [json.loads(line) for line in open(args.log)] if os.path.exists(args.log) else []
for number in range(args.first, args.first + args.runs):
    for source in sources:
        if not any(d["source"] == source and d["run"] == number for d in done):
            done.append(one_run(source, number))
            with open(args.log, "a") as log:
                log.write(json.dumps(done[-1]) + "\n")

counts = {"class": lambda d: d["distinct"], "guilty pass": lambda d: len(d["passes"])}
for what, count in counts.items():
    rates = {s: [count(d) * 3600 / d["cpu"] for d in done if d["source"] == s] for s in sources}
    print(f"\ndistinct by {what}")
    print(f"{'generator':22} {'runs':>4} {'distinct/run':>12} {'per CPU-hour':>12} {'units/run':>9}  p against weave")
    for source in sources:
        mine = [d for d in done if d["source"] == source]
        p = "" if source == "weave" or not rates.get("weave") else f"{mann_whitney(rates['weave'], rates[source]):.4f}"
        print(f"{source:22} {len(mine):4} {statistics.median(count(d) for d in mine):12.1f} {statistics.median(rates[source]):12.0f} "
              f"{statistics.median(d['units'] for d in mine):9.0f}  {p}")
