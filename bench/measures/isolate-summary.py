#!/usr/bin/env python3
"""Summarizes what `make bench-isolate` measured.

usage: bench/run isolate-summary OUT-DIR   (after `bench_isolate rank`)

Per method: share of bugs whose first buggy file is within the top 1, 5, 10 and 20, mean first rank, mean
average rank, the same counted once per distinct set of buggy files, and a Wilcoxon signed-rank p against
the default. The median over seeds is taken per bug.
"""
import collections
import json
import math
import os
import statistics
import sys


def wilcoxon(a, b):
    """Two-sided p of the signed-rank test by the normal approximation, ties corrected."""
    pairs = [x - y for x, y in zip(a, b) if x != y]
    n = len(pairs)
    if n == 0:
        return 1.0
    order = sorted(range(n), key=lambda i: abs(pairs[i]))
    ranks, ties, i = [0.0] * n, 0.0, 0
    while i < n:
        j = i
        while j < n and abs(pairs[order[j]]) == abs(pairs[order[i]]):
            j += 1
        for k in range(i, j):
            ranks[order[k]] = (i + j + 1) / 2
        ties += (j - i) ** 3 - (j - i)
        i = j
    plus = sum(r for r, d in zip(ranks, pairs) if d > 0)
    mean = n * (n + 1) / 4
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48)
    if spread == 0:
        return 1.0
    z = (abs(plus - mean) - 0.5) / spread
    return math.erfc(max(z, 0) / math.sqrt(2))


def effort(out):
    """How many mutants the runs judged, since CPU seconds differ from machine to machine."""
    judged, witnesses = collections.defaultdict(list), collections.defaultdict(list)
    for name in sorted(os.listdir(out)):
        path = os.path.join(out, name, "done.json")
        if os.path.exists(path):
            done = json.load(open(path))
            run = "-".join(name.rsplit("-", 2)[1:])
            judged[run].append(done["judged"])
            witnesses[run].append(len(done["rules"]))
    for run in judged:
        print(f"{run:<12} {len(judged[run])} bugs, median of mutants {statistics.median(judged[run]):g}, of witnesses "
              f"{statistics.median(witnesses[run]):g}")


def each_run(runs):
    """The default's figures run by run."""
    for strategy in ("guided", "random"):
        per_bug = [ranks for (method, _), ranks in runs.items() if method == (strategy, "default")]
        for index in range(max(map(len, per_bug), default=0)):
            first = [ranks[index][0] for ranks in per_bug if len(ranks) > index]
            top = "/".join(f"{100 * sum(x <= k for x in first) / len(first):.0f}" for k in (1, 5, 10, 20))
            print(f"{strategy} run {index + 1}: {len(first)} bugs {top}, mean first rank {statistics.mean(first):.1f}")


def main(out):
    runs = collections.defaultdict(list)
    buggy = {}
    for name in sorted(os.listdir(out)):
        path = os.path.join(out, name, "ranks.json")
        if os.path.exists(path):
            run = json.load(open(path))
            buggy[run["file"]] = tuple(run["buggy_files"])
            for method, ranks in run["ranks"].items():
                # What does not use the search's witnesses is the same in every run.
                searched = "default" in method or method.startswith("witnesses") or method == "functions"
                strategy = run["strategy"] if searched else "-"
                runs[(strategy, method), run["file"]].append(ranks)
    table = {}
    for method in sorted({key[0] for key in runs}):
        files = [file for key, file in runs if key == method]
        first = {f: statistics.median(r[0] for r in runs[method, f]) for f in files}
        average = {f: statistics.median(statistics.mean(r) for r in runs[method, f]) for f in files}
        table[method] = (first, average)
    base = table.get(("guided", "default"), ({}, {}))[0]
    effort(out)
    print(f"{'search, method':<54} bugs  top-1/5/10/20 %    MFR    MAR   once per file set  MFR   p against default")
    for method, (first, average) in table.items():
        values = list(first.values())
        top = lambda v: "/".join(f"{100 * sum(x <= k for x in v) / len(v):.0f}" for k in (1, 5, 10, 20))
        sets = collections.defaultdict(list)
        for file, rank in first.items():
            sets[buggy[file]].append(rank)
        once = [statistics.median(r) for r in sets.values()]
        common = [f for f in first if f in base]
        p = wilcoxon([base[f] for f in common], [first[f] for f in common])
        p = "-" if method in (("guided", "default"), ("guided", "functions")) else f"{p:.2g}"
        print(f"{method[0] + ', ' + method[1]:<54} {len(values):>4}  {top(values):<16} {statistics.mean(values):>6.1f} "
              f"{statistics.mean(average.values()):>6.1f}   {top(once):<16} {statistics.mean(once):>6.1f}   {p}")
    print()
    each_run(runs)
    print()
    for file in sorted(base):
        ranks = [r[0] for r in runs[("guided", "default"), file]]
        print(f"{file:<16} {' '.join(map(str, ranks)):<12} {', '.join(buggy[file])}")


main(sys.argv[1])
