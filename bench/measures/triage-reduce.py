#!/usr/bin/env python3
"""Reduce findings of a hunt and print the figures of docs/measurements/reduce.md.

usage: bench/run triage-reduce TRUELINE STORE.db ID… [--tool builtin|cvise] [--time SECONDS] [--any-pass] [--keep DIR]

Each result is judged again in a fresh process (`trueline check`), built and run with UBSan and ASan (clang) and MSan.
"""
import argparse, json, os, resource, sqlite3, statistics, subprocess, sys, tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("trueline"), parser.add_argument("store"), parser.add_argument("ids", nargs="+")
parser.add_argument("--tool", default="builtin"), parser.add_argument("--time", default="300")
parser.add_argument("--any-pass", action="store_true"), parser.add_argument("--keep")
args = parser.parse_args()


def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def flags_of(store, evidence):
    """Flags that every compilation of the program needs (csmith's runtime)."""
    data = sqlite3.connect(store).execute("SELECT data FROM blobs WHERE hash = ?", (evidence,)).fetchone()[0]
    return json.loads(subprocess.run(["zstd", "-dc"], input=data, capture_output=True).stdout or data)["program"]["cflags"]


def is_clean(source, work, cflags):
    for sanitizers in ("undefined,address", "memory"):
        binary = os.path.join(work, "sane")
        flags = ["-O0", "-g", "-w", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
        if subprocess.run(["clang-16", *flags, *cflags, source, "-o", binary], capture_output=True).returncode:
            return False
        run = subprocess.run([binary], capture_output=True, timeout=60, env={"ASAN_OPTIONS": "detect_leaks=0"})
        if b"ERROR" in run.stderr or b"runtime error" in run.stderr or b"WARNING" in run.stderr:
            return False
    return True


rows = []
for ident in args.ids:
    document, evidence = sqlite3.connect(args.store).execute("SELECT document, evidence FROM findings WHERE id = ?", (ident,)).fetchone()
    finding, cflags = json.loads(document), flags_of(args.store, evidence)
    work = args.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    out = os.path.join(work, f"{ident}-{args.tool}.c")
    command = [args.trueline, "reduce", "--db", args.store, ident, "--tool", args.tool, "--time", args.time, "-o", out, "--json"]
    before = cpu()
    run = subprocess.run(command + (["--any-pass"] if args.any_pass else []), capture_output=True)
    spent = cpu() - before
    if run.returncode or not os.path.exists(out):
        print(f"finding {ident}: {run.stderr.decode().strip()}", file=sys.stderr)
        continue
    told = json.loads(run.stdout)
    compiler, opt = finding["compiler"], finding["opt"]
    check = subprocess.run([args.trueline, "check", out, "--cc", compiler["path"], f"--opt={opt}", *(f"--cflag={f}" for f in cflags), "--json"], capture_output=True)
    found = [v["invariant"] for r in json.loads(check.stdout or b'{"runs":[]}')["runs"] for v in r["violations"]]
    lines = sum(1 for line in open(out) if line.strip())
    rows.append((lines, spent, finding["invariant"] in found, is_clean(out, work, cflags)))
    print(f"| {ident} | {compiler['kind']} {compiler['version']} {opt} | {finding['invariant']} | {told['pass']} | {told['lines_before']} | {lines} | {spent:.0f} | {told['end']} | {'yes' if rows[-1][2] else 'NO'} | {'yes' if rows[-1][3] else 'NO'} |", flush=True)
if rows:
    print(f"\n{args.tool}: {len(rows)} reduced, median {statistics.median(r[0] for r in rows)} lines, {statistics.median(r[1] for r in rows):.0f} CPU s; "
          f"still violate in a fresh process: {sum(r[2] for r in rows)}; clean under UBSan, ASan and MSan: {sum(r[3] for r in rows)}")
