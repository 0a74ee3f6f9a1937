"""The campaign behind the ledger: a hunt with fixed seeds, explained, with findings by invariant and by pass.

    bench/run ledger-hunt --cc gcc-16,clang-22 --seeds 1..40
    bench/run ledger-hunt --cc gcc-15,clang-21 --seeds 1..40    the same programs with the releases before

Goes on where it stopped: the same command on the same database. Prints CPU time, programs, findings by compiler and invariant,
and the passes that `trueline triage` names, with how many findings each explains and how many the ledger knows.
"""
import collections, json, os, subprocess, sys

import _common

options = _common.parser(__doc__)
options.add_argument("--trueline", default=_common.TRUELINE)
options.add_argument("--cc", default="gcc-16,clang-22")
options.add_argument("--opt", default="-O1,-O2")
options.add_argument("--generator", default="weave")
options.add_argument("--seeds", default="1..40")
options.add_argument("--budget", default="30m", help="the longest that the hunt may take")
options.add_argument("--jobs", default="2")
options.add_argument("--db", default=None)
args = options.parse_args()
db = args.db or os.path.join(_common.TARGET, f"ledger-hunt-{args.cc.replace(',', '-')}-{args.generator}.db")


def timed(*command):
    """What a command prints, and its CPU seconds with all its children."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command[:2])} failed")
    return text, usage.ru_utime + usage.ru_stime


hunt = [args.trueline, "hunt", "--cc", args.cc, f"--opt={args.opt}", "--generator", args.generator, "--seeds", args.seeds]
_, hunting = timed(*hunt, "--for", args.budget, "--jobs", args.jobs, "--db", db, "--confirm", "none", "--no-report", "--json")
text, explaining = timed(args.trueline, "triage", "--db", db, "--versions", "none", "--json")
findings = json.loads(text)["findings"]

counted = collections.Counter((f"{f['compiler']['kind']} {f['compiler']['version']}", f["kind"]) for f in findings)
kinds = sorted({kind for _, kind in counted})
print("| compiler | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
for compiler in sorted({c for c, _ in counted}):
    print(f"| {compiler} | " + " | ".join(str(counted[compiler, kind] or "·") for kind in kinds) + " |")

passes = collections.defaultdict(list)
for finding in findings:
    named = finding.get("pass") or {}
    passes[f"{finding['compiler']['kind']} {named.get('name') or named.get('role') or 'none'}", finding["kind"]].append(finding)
print("\n| pass | invariant | findings | known |\n|---|---|---|---|")
for (name, kind), group in sorted(passes.items(), key=lambda item: -len(item[1])):
    print(f"| {name} | {kind} | {len(group)} | {sum(bool(f.get('known')) for f in group)} |")
known = sum(bool(f.get("known")) for f in findings)
print(f"\n{len(findings)} findings, {known} of them known; hunt {hunting:.0f} CPU-s, triage {explaining:.0f} CPU-s")
