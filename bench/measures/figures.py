#!/usr/bin/env python3
"""Every short figure, five times, peers beside us, into docs/measurements/runs.md.

    bench/run figures [--runs 5] [--only NAME,…] [--bin DIR] [--fresh] [--write docs/measurements/runs.md]

Each measurement below is one command in a small size. A command says its figures in lines `figure NAME VALUE UNIT`; for
programs that print tables of their own, the measurement has a reader. Resumable: every finished run is a line of
target/bench/runs.jsonl, and runs made by the same commit are not made again. Times are CPU times (user and system, children
included), so a busy machine does little harm (debuggers, which switch between processes all the time, look worse on one); ratios
are taken inside one run. Medians stand in the table, with the smallest
and the largest value beside them.
"""
import argparse, collections, datetime, json, os, platform, re, resource, shlex, statistics, subprocess, sys, textwrap

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--only", default="")
parser.add_argument("--bin", default=os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release"))
parser.add_argument("--log", default="target/bench/runs.jsonl")
parser.add_argument("--fresh", action="store_true", help="measure again what this commit has measured")
parser.add_argument("--write", default="docs/measurements/runs.md")
args = parser.parse_args()
binaries = os.path.abspath(args.bin)
trueline = os.path.join(binaries, "trueline")


def example(name):
    return os.path.join(binaries, "examples", name)


def agreement(output):
    """The table of the `agree` example: stops that agree, and CPU of the debugger over ours."""
    lines = output.splitlines()
    header = next((line.split() for line in lines if line.startswith("compiler level")), None)
    rows = [dict(zip(header, line.split())) for line in lines if header and re.match(r"(gcc|clang)\S* -O", line)]
    if not rows:
        raise ValueError("no table")
    stops = sum(int(r["stops"]) for r in rows)
    yield "agreed", sum(int(r["stops"]) * float(r["agreed%"]) for r in rows) / stops, "%"
    yield "cpu", sum(float(r["cpu-debugger"]) for r in rows) / sum(float(r["cpu-native"]) for r in rows), "x"
    yield "cpu, lowest program", min(float(r["lowest"]) for r in rows), "x"


def hunt(output):
    yield "cpu-over-compiling", float(re.search(r"^native .*: ([0-9.]+)x", output, re.M)[1]), "x"
    yield "units-over-gdb", float(re.search(r"native does ([0-9.]+)x", output)[1]), "x"


def validity(output):
    total, failing = re.search(r"variants +(\d+) .*of which (\d+) fail", output).groups()
    yield "failing-variants", int(failing), f"of {total}"


def overhead(output):
    for row in re.findall(r"^\| (\S+) \| (\S+) \| ([0-9.]+) \| ([0-9.]+) \|", output, re.M):
        yield f"overhead {row[0]} {row[1]}", float(row[3]) - float(row[2]), "ms"
        if row[0].startswith("csmith:"):
            yield f"overhead-share {row[0]} {row[1]}", 100 * (float(row[3]) / float(row[2]) - 1), "%"


def kernels(output):
    yield "improved", float(re.search(r"improved \((\d+)%\)", output)[1]), "%"
    yield "fully-proved", float(re.search(r"fully proved \((\d+)%\)", output)[1]), "%"
    yield "wrong-pairs that the compiler wrote and that stay", int(re.search(r"wrong pairs \d+ → (\d+)", output)[1]), "pairs"


def bisection(output):
    found = json.loads(output)["findings"][0]["pass"]
    yield "compilations", found["compilations"], f"of {found['of']} passes"


def memory(output):
    yield "peak-memory", int(re.search(r"VmHWM:\s*(\d+) kB", output)[1]) / 1000, "MB"


def plain(output):
    """Lines `figure NAME VALUE UNIT`."""
    for name, value, unit in re.findall(r"^figure (\S+) ([-0-9.eE]+) ?(.*)$", output, re.M):
        yield name, float(value), unit


Measure = collections.namedtuple("Measure", "name command reader")


def measures(run):
    """The commands of one run; `run` chooses the seeds, so that five runs are five samples."""
    seeds = f"{1 + 3 * run}..{4 + 3 * run}"
    levels = ["--cc", "gcc-12,clang-16", "--opt", "-O0,-Og,-O2", "--seeds", seeds, "--max-steps", "60"]
    return [
        Measure("native-against-gdb", [example("agree"), "gdb", *levels], agreement),
        Measure("native-against-lldb", [example("agree"), "lldb", *levels], agreement),
        Measure("million-steps", [example("million")], memory),
        Measure("hunt", ["bench/run", "hunt-cpu", "3", trueline], hunt),
        Measure("mutate-weave", [example("validity"), "weave", str(1000 + 10 * run), "2", "5", "last"], validity),
        Measure("mutate-csmith", [example("validity"), "csmith", str(1000 + 10 * run), "1", "5", "last"], validity),
        Measure("hook", ["bench/run", "passes-overhead", "--hook", os.path.join(binaries, "libtrueline_llvm_hook.so"), "--runs", "31",
                         "examples/tail-recursion.ll tailcallelim", "examples/sunk-call.c default<O2>", "csmith:7 default<O2>"], overhead),
        Measure("repair-gcc", [example("repair_kernels"), "bench/repair-kernels/induction.c", "gcc-12"], kernels),
        Measure("repair-clang", [example("repair_kernels"), "bench/repair-kernels/induction.c", "clang-16"], kernels),
        Measure("repair-large", [example("rewrite_large"), trueline], plain),
        Measure("bisect-clang", [trueline, "triage", "examples/typed-convert.c", "--cc", "clang-16", "--opt", "-O2", "--versions", "none",
                                 "--no-readers", "--json"], bisection),
        Measure("bisect-gcc", [trueline, "triage", "examples/merged-return.c", "--cc", "gcc-12", "--opt", "-Og", "--versions", "none",
                               "--no-readers", "--json"], bisection),
    ]


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""


def version(*command):
    lines = output_of(*command).strip().splitlines()
    return next((line.strip() for line in lines if re.search(r"\d+\.\d+", line)), None)


def describe_machine():
    model = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    system = re.search(r'PRETTY_NAME="(.*)"', open("/etc/os-release").read())
    tools = [["gcc-12", "--version"], ["clang-16", "--version"], ["gdb", "--version"], ["lldb-16", "--version"], ["opt-16", "--version"],
             ["csmith", "--version"], ["cvc5", "--version"]]
    found = [version(*tool) for tool in tools]
    text = (f"{os.cpu_count()} × {model[1] if model else platform.machine()}, {system[1] if system else platform.system()}, "
            f"Linux {platform.release()}. " + "; ".join(v for v in found if v))
    return textwrap.fill(text, 108, break_long_words=False, break_on_hyphens=False)


commit = output_of("git", "rev-parse", "--short", "HEAD").strip() or "unknown"
os.makedirs(os.path.dirname(args.log), exist_ok=True)
known = []
if os.path.exists(args.log) and not args.fresh:
    known = [json.loads(line) for line in open(args.log)]
done = {(k["measure"], k["run"]) for k in known if k["commit"] == commit}
wanted = set(filter(None, args.only.split(",")))
with open(args.log, "a" if known else "w") as log:
    for run in range(args.runs):
        for measure in measures(run):
            if (wanted and measure.name not in wanted) or (measure.name, run) in done:
                continue
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                result = subprocess.run(measure.command, capture_output=True, text=True, timeout=1800)
                figures = list(plain(result.stdout)) or list(measure.reader(result.stdout))
            except (OSError, ValueError, TypeError, KeyError, IndexError, subprocess.TimeoutExpired) as error:
                print(f"{measure.name}, run {run + 1}: no figure ({error})", file=sys.stderr)
                continue
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            record = {"commit": commit, "measure": measure.name, "run": run, "cpu": round(cpu, 2), "figures": figures}
            known.append(record)
            log.write(json.dumps(record) + "\n")
            log.flush()
            print(f"{measure.name}, run {run + 1}: " + ", ".join(f"{n} {v:g} {u}" for n, v, u in figures) + f" · {cpu:.1f} CPU-s")

rows = []
for measure in measures(0):
    records = [k for k in known if k["measure"] == measure.name]
    # The newest commit that has all the runs asked for, else whatever the newest has.
    commits = list(dict.fromkeys(k["commit"] for k in records))
    full = [c for c in commits if len({k["run"] for k in records if k["commit"] == c}) >= args.runs]
    chosen = (full or commits or [None])[-1]
    records = [k for k in records if k["commit"] == chosen]
    values = collections.defaultdict(list)
    for name, value, unit in (f for k in records for f in k["figures"]):
        values[name, unit if not unit.startswith("of ") else ""].append(value)
    for (name, unit), list_ in values.items():
        middle, low, high = statistics.median(list_), min(list_), max(list_)
        spread = "every time" if low == high else f"{low:.4g}–{high:.4g}"
        cpu = statistics.median(k["cpu"] for k in records)
        rows.append(f"| {measure.name} | {name} | {middle:.4g} {unit.replace('x', '×')} | {spread} | {len(list_)} | {cpu:.0f} | {chosen} |")
table = "\n".join(["| measurement | figure | median | spread | runs | CPU-s a run | commit |", "|---|---|---:|---|---:|---:|---|", *rows])
# One block of commands, each on a line of its own: they are for copying, and a list would have to break them.
commands = "\n".join(f"# {m.name}\n{shlex.join(m.command).replace(binaries, 'target/release')}" for m in measures(0))
section = f"<!-- bench/run: begin -->\n{describe_machine()}\n\nDate: {datetime.date.today():%B %Y}.\n\n{table}\n\nThe commands of the first run:\n\n```sh\n{commands}\n```\n<!-- bench/run: end -->"
text = open(args.write).read()
begin, end = text.find("<!-- bench/run: begin -->"), text.find("<!-- bench/run: end -->")
if begin < 0:
    text = text.rstrip() + "\n\n" + section + "\n"
else:
    text = text[:begin] + section + text[end + len("<!-- bench/run: end -->"):]
open(args.write, "w").write(text)
print(f"{len(rows)} figures in {args.write}")
