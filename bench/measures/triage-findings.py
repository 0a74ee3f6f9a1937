#!/usr/bin/env python3
"""Triage findings of a hunt and print the figures of docs/measurements/triage.md.

usage: bench/run triage-findings TRUELINE STORE.db [--gcc 30] [--clang 30] [--seed 1] [--versions all|none|CC,…] [--keep FILE.json]

Draws findings of gcc and of clang at random from a campaign store, explains them with `trueline triage`, and then runs every printed
command again in a fresh process (the first must show the violation, the second must hide it) and each draft's reproduce.sh.
"""
import argparse, collections, json, math, os, random, resource, shlex, sqlite3, subprocess, sys, tempfile, time


def pick(db, family, count, seed, asked):
    """A random sample of the violations of one family; the same seed on the same store draws the same ones."""
    rows = sqlite3.connect(db).execute("SELECT id, document FROM findings ORDER BY id").fetchall()
    documents = [(ident, json.loads(document)) for ident, document in rows]
    idents = [ident for ident, f in documents if f["compiler"]["kind"] == family and f.get("fault") == "violation"]
    if asked:
        return [ident for ident in idents if ident in asked]
    chosen = sorted(random.Random(seed).sample(idents, min(count, len(idents))))
    print(f"{family}: {len(chosen)} of {len(idents)} findings, drawn with seed {seed}: {', '.join(map(str, chosen))}", flush=True)
    return chosen


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def shows(trueline, finding, command, source):
    """Runs one printed command on the program and checks the binary against -O0, in a fresh process."""
    with tempfile.TemporaryDirectory() as work:
        name = finding["program"]
        with open(os.path.join(work, name), "w") as out:
            out.write(source)
        cc = finding["compiler"]["path"]
        reference = [cc, "-O0", "-g", "-w", *finding["cflags"], name, "-o", "o0"]
        if subprocess.run(reference, cwd=work, capture_output=True, timeout=60).returncode:
            return None
        built = subprocess.run(["sh", "-c", command], cwd=work, capture_output=True, timeout=60)
        if built.returncode:
            return None
        key = lambda v: (v["invariant"], v["line"], v.get("variable"))
        found = set()
        # Two binaries alone tell less than a program that can be compiled, so the command's flags are asked that way too.
        plain = {cc, finding["opt"], "-w", "-g", name, "-o", "a.out", *finding["cflags"]}
        flags = [f"--cflag={word}" for word in finding["cflags"] + [w for w in shlex.split(command) if w not in plain]]
        for words in (["--reference", "o0", "--optimized", "a.out"], [name, "--cc", cc, f"--opt={finding['opt']}", *flags]):
            check = subprocess.run([trueline, "check", *words, "--json"], cwd=work, capture_output=True, timeout=300)
            if not check.stdout:
                return None
            found |= {key(v) for run in json.loads(check.stdout).get("runs", []) for v in run["violations"]}
        return key(finding["violation"]) in found


def prove(trueline, finding, drafts, scripts):
    """Runs the two printed commands and the draft's reproduce.sh as a user would."""
    finding["proof"] = finding["reproduced"] = None
    names = os.listdir(drafts)
    if not names:
        return
    draft = os.path.join(drafts, names[0])
    source = open(os.path.join(draft, "program.c")).read()
    if scripts:
        script = subprocess.run([os.path.join(draft, "reproduce.sh")], capture_output=True, env={**os.environ, "CC": finding["compiler"]["path"]})
        finding["reproduced"] = script.returncode == 0
    if finding["pass"]:
        with_, without = finding["pass"]["with"], finding["pass"]["without"]
        finding["proof"] = shows(trueline, finding, with_, source) is True and (not without or shows(trueline, finding, without, source) is False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trueline")
    parser.add_argument("store")
    parser.add_argument("--gcc", type=int, default=30)
    parser.add_argument("--clang", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--versions", default="all")
    parser.add_argument("--no-readers", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--ids", help="these findings instead of a choice, separated by commas")
    parser.add_argument("--no-scripts", action="store_true", help="do not run each draft's reproduce.sh")
    parser.add_argument("--tables", action="store_true", help="STORE.db is a document of `trueline triage --json`: print its tables only")
    args = parser.parse_args()
    if args.tables:
        findings = json.load(open(args.store))["findings"]
        print(f"{len(findings)} findings")
        return tables([f for f in findings if f["state"] == "shows"])
    args.trueline, results = os.path.abspath(args.trueline), []
    for family, count in (("gcc", args.gcc), ("clang", args.clang)):
        chosen = pick(args.store, family, count, args.seed, [int(word) for word in args.ids.split(",")] if args.ids else None)
        for ident in chosen:
            before, started = children_cpu(), time.time()
            command = [args.trueline, "triage", "--db", args.store, str(ident), "--json", "--versions", args.versions]
            command += ["--no-readers"] if args.no_readers else []
            drafts = tempfile.mkdtemp()
            run = subprocess.run(command + ["--out", drafts], capture_output=True)
            if run.returncode:
                print(f"finding {ident}: {run.stderr.decode().strip()}", file=sys.stderr)
                continue
            for finding in json.loads(run.stdout)["findings"]:
                finding["cpu"], finding["wall"], finding["family"] = children_cpu() - before, time.time() - started, family
                prove(args.trueline, finding, drafts, not args.no_scripts)
                results.append(finding)
                if args.keep:
                    json.dump(results, open(args.keep, "w"), indent=1)
                role = (finding["pass"] or {}).get("role")
                print(f"finding {ident}: {finding['kind']} {finding['opt']} {role} {(finding['pass'] or {}).get('name')} {finding['cpu']:.1f} s", file=sys.stderr)
    report(results)


def report(results):
    shown = [f for f in results if f["state"] == "shows"]
    print(f"{len(results)} findings, {len(shown)} reproducible\n\n| family | guilty | enabling | set | none | unswitchable | guilty or enabling | compilations median / max | CPU s median |\n|---|---|---|---|---|---|---|---|---|")
    for family in ("gcc", "clang"):
        mine = [f for f in shown if f["family"] == family and f["pass"]]
        if not mine:
            continue
        roles = collections.Counter(f["pass"]["role"] for f in mine)
        named = roles["guilty"] + roles["enabling"]
        builds = sorted(f["pass"]["compilations"] for f in mine)
        cpu = sorted(f["cpu"] for f in mine)
        cells = [roles[r] for r in ("guilty", "enabling", "set", "none", "unswitchable")]
        print(f"| {family} | {' | '.join(map(str, cells))} | {named} of {len(mine)} ({100 * named / len(mine):.0f}%) | {builds[len(builds) // 2]} / {builds[-1]} | {cpu[len(cpu) // 2]:.1f} |")
    over = [f["id"] for f in shown if f["pass"] and f["pass"]["compilations"] > (80 if f["family"] == "gcc" else 2 * math.log2(max(f["pass"]["of"], 2)) + 4)]
    print(f"\nsearches over their limit of compilations: {over or 'none'}")
    updates = collections.Counter(f["update"]["state"] if not f["update"]["errors"] else "wrong update named" for f in shown if f.get("update"))
    print(f"the pass watched at its execution (clang's line, backtrace and scope violations): {dict(updates)}")
    proofs = [f["proof"] for f in shown if f["proof"] is not None]
    print(f"\nprinted commands show and hide the violation in a fresh process: {sum(proofs)} of {len(proofs)}; reproduce.sh with gdb or lldb alone: {sum(bool(f['reproduced']) for f in shown)} of {sum(f['reproduced'] is not None for f in shown)}")
    tables(shown)


def tables(shown):
    """The paper's tables 1 and 3 and its figure 2 on what was explained."""
    print("\n### Findings / unique fingerprints per level\n")
    kinds = sorted({f["kind"] for f in shown})
    print("| level | " + " | ".join([*kinds, "all"]) + " |\n|---" + "|---" * (len(kinds) + 1) + "|")
    for opt in sorted({f["opt"] for f in shown}):
        cells = []
        for kind in kinds:
            mine = [json.dumps(f["fingerprint"], sort_keys=True) for f in shown if f["opt"] == opt and f["kind"] == kind]
            cells.append(f"{len(mine)} / {len(set(mine))}" if mine else "·")
        mine = [json.dumps(f["fingerprint"], sort_keys=True) for f in shown if f["opt"] == opt]
        cells.append(f"{len(mine)} / {len(set(mine))}")
        print(f"| {opt} | " + " | ".join(cells) + " |")
    print("\n### Findings per pass\n\n| family | pass | findings |\n|---|---|---|")
    passes = collections.Counter((f["compiler"]["kind"], (f["pass"] or {}).get("name") or (f["pass"] or {}).get("role", "?")) for f in shown)
    for (family, name), count in passes.most_common():
        print(f"| {family} | {name} | {count} |")
    print("\n### Affected versions and levels (show / asked)\n\n| version | " + " | ".join(sorted({f["opt"] for f in shown})) + " |\n|---" + "|---" * len({f["opt"] for f in shown}) + "|")
    for version in sorted({v for f in shown for v in f["fingerprint"]}):
        cells = []
        for opt in sorted({f["opt"] for f in shown}):
            asked = [f["fingerprint"][version] for f in shown if f["opt"] == opt and version in f["fingerprint"]]
            cells.append(f"{sum(e not in ('absent', 'unbuildable') for e in asked)} / {len(asked)}" if asked else "·")
        print(f"| {version} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
