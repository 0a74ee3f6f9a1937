"""The ledger over the compilers at hand: entries by versions, with the levels at which each fault shows.

    bench/run ledger-table                  every compiler that `trueline toolchains list` shows
    bench/run ledger-table --json FILE      from a document that `trueline ledger verify --json` wrote

Prints a table in Markdown for each family, the number of builds, the CPU time, and how many builds contradict the ledger.
"""
import json, os, subprocess, sys, tomllib

import _common

LEVELS = ["-Og", "-O1", "-O2", "-O3", "-Os"]
options = _common.parser(__doc__)
options.add_argument("--trueline", default=_common.TRUELINE)
options.add_argument("--ledger", default="ledger")
options.add_argument("--json")
args = options.parse_args()

if args.json:
    text, cost = open(args.json).read(), None
else:
    process = subprocess.Popen([args.trueline, "ledger", "verify", args.ledger, "--json"], stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    cost = usage.ru_utime + usage.ru_stime
    if os.waitstatus_to_exitcode(status) > 1:
        sys.exit("the ledger could not be verified")
entries = json.loads(text)["entries"]


def bug(name):
    """An entry's bug.toml and its path in the ledger."""
    for path in (name, f"debatable/{name}"):
        file = os.path.join(args.ledger, path, "bug.toml")
        if os.path.exists(file):
            with open(file, "rb") as stream:
                return tomllib.load(stream), path
    sys.exit(f"{name} is not in {args.ledger}")


def cell(builds, version):
    tried = [b for b in builds if b["version"] == version]
    shows = [level for level in LEVELS if any(b["level"] == level and b["state"] == "shows" for b in tried)]
    if not tried:
        return "?"
    return "all" if shows == LEVELS else " ".join(level[2:] for level in shows) or "·"


for family in ("gcc", "llvm", "rustc"):
    rows = [(e, *bug(e["id"])) for e in entries]
    rows = [row for row in rows if row[1]["component"] == family]
    versions = sorted({b["version"] for e, _, _ in rows for b in e["builds"]}, key=lambda v: [int(n) for n in v.split()[1].split(".")])
    if not versions:
        continue
    print(f"| {family} | " + " | ".join(v.split()[1] for v in versions) + " | public |\n|---|" + "---|" * (len(versions) + 1))
    for entry, about, path in rows:
        print(f"| {path} | " + " | ".join(cell(entry["builds"], v) for v in versions) + f" | {about['status']} |")
    print()
builds = [b for e in entries for b in e["builds"]]
news = sum((b["state"] == "shows") != (b["recorded"] == "shows") for b in builds if b["recorded"] != "nothing" and b["state"] != "not-checked")
spent = f", {cost:.0f} CPU-s" if cost else ""
print(f"{len(entries)} entries, {len(builds)} builds{spent}; {news} builds contradict the ledger")
