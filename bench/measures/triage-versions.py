#!/usr/bin/env python3
"""Which violations a newer compiler still has: the paper's figure 2 and the share of its section 5.1, from a hunt.

usage: trueline hunt --cc gcc-11,gcc-12,clang-13,…,clang-19 --opt=… --seeds A..B --db STORE.db
       triage-versions.py STORE.db

Every program of the store was checked with every version. A violation is the same in two versions when program,
level, invariant, line, function and variable are. Only programs that every version of a family finished count.
"""
import collections, json, sqlite3, sys

db = sqlite3.connect(sys.argv[1])
done = collections.defaultdict(set)
for program, kind, version, opt, state in db.execute(
    "SELECT u.program, c.kind, c.version, u.opt, u.state FROM units u JOIN compilers c ON c.id = u.compiler"):
    if state == "done":
        done[kind, version].add((program, opt))
number = lambda version: tuple(int(part) for part in version.split("."))
seen = collections.defaultdict(set)
for program, kind, version, opt, document in db.execute(
    "SELECT u.program, c.kind, c.version, u.opt, f.document FROM findings f JOIN units u ON u.id = f.unit JOIN compilers c ON c.id = u.compiler"):
    finding = json.loads(document)
    if finding.get("fault") == "violation":
        v = finding["violation"] if "violation" in finding else finding
        seen[kind, version].add((program, opt, v["invariant"], v["line"], v["function"], v.get("variable")))

for family in sorted({kind for kind, _ in done}):
    versions = sorted((v for kind, v in done if kind == family), key=number)
    common = set.intersection(*(done[family, v] for v in versions))
    levels = sorted({opt for _, opt in common})
    per = {v: {f for f in seen[family, v] if (f[0], f[1]) in common} for v in versions}
    print(f"\n{family}: {len({p for p, _ in common})} programs\n\n| version | " + " | ".join(levels) + " | all |\n|---" + "|---:" * (len(levels) + 1) + "|")
    for v in versions:
        counts = collections.Counter(f[1] for f in per[v])
        print(f"| {v} | " + " | ".join(str(counts[opt]) for opt in levels) + f" | {len(per[v])} |")
    if len(versions) > 1 and per[versions[0]]:
        old, new = per[versions[0]], per[versions[-1]]
        gone = len(old - new)
        print(f"\nOf {len(old)} violations on {versions[0]}, {gone} ({100 * gone / len(old):.0f}%) are gone on {versions[-1]}, which has {len(new - old)} that {versions[0]} has not.")
        for invariant in sorted({f[2] for f in old}):
            mine = {f for f in old if f[2] == invariant}
            print(f"- {invariant}: {len(mine - new)} of {len(mine)} gone")
