"""What a unit of `hunt` costs against compiling and linking it by plain drivers, and against another build of Trueline.

Programs of weave, all levels. CPU is that of every process that the hunt leaves, compilers that stay included: they are reaped
here. With --base PATH the hunts of an earlier build run in turn with those of this one. With --kills N, children of a hunt are
killed at random until N are dead, and its findings are compared with those of a hunt that nobody disturbed.
"""
import ctypes, glob, json, os, random, resource, signal, subprocess, tempfile, time

import _common

options = _common.parser(__doc__)
options.add_argument("programs", type=int, nargs="?", default=12)
options.add_argument("--trueline", default=_common.TRUELINE)
options.add_argument("--base", help="the trueline to compare with")
options.add_argument("--cc", default="gcc-16,clang-22")
options.add_argument("--seed", type=int, default=9000)
options.add_argument("--rounds", type=int, default=1)
options.add_argument("--rust", action="store_true", help="rustc and programs in Rust")
options.add_argument("--victims", choices=["all", "residents"], default="residents", help="whom --kills may kill")
options.add_argument("--weave", help="the example `weave` of the crate generate, where it is built already")
options.add_argument("--kills", type=int, default=0)
args = options.parse_args()
LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-Ofast"]
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reaped(command, **options):
    """Runs a command and waits for all it left behind; its output and the CPU seconds of all of them."""
    before = cpu_of_children()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, **options)
    output = process.communicate()[0]
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    return output, cpu_of_children() - before


def hunt(trueline, work, extra, environment=None):
    compilers = ["--cc", "rustc", "--language", "rust"] if args.rust else ["--cc", args.cc]
    database = tempfile.mktemp(suffix=".db", dir=work)
    command = [trueline, "hunt", "--generator", "weave", *compilers, "--seeds", f"{args.seed}..{args.seed + args.programs}", "--jobs", "2",
               "--no-report", "--json", "--db", database, *extra]
    output, cpu = reaped(command, env={**os.environ, **(environment or {})})
    events = [json.loads(line) for line in output.splitlines()]
    return events, cpu


def plain(work):
    """CPU seconds of the drivers that compile and link every program at every level, and how many runs that were."""
    kind, extension = ("rust", "rs") if args.rust else ("c", "c")
    weave = args.weave or _common.example("generate", "weave")
    sources = os.path.join(work, "sources")
    subprocess.run([weave, str(args.seed), kind, str(args.programs), sources], check=True)
    total, runs = 0.0, 0
    roots = os.path.expanduser("~/.local/share/trueline/toolchains/bin")
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":" + roots, "LC_ALL": "C"}
    for source in sorted(glob.glob(f"{sources}/*.{extension}")):
        for compiler in ["rustc"] if args.rust else args.cc.split(","):
            for level in LEVELS if not args.rust else ["0", "1", "2", "3", "s", "z"]:
                output = os.path.join(work, "binary")
                flags = [level, "-w", "-g"] if not args.rust else ["-C", f"opt-level={level}", "-C", "debuginfo=2", "-A", "warnings",
                                                                  "-C", "codegen-units=1", "-C", "overflow-checks=off"]
                total += reaped([compiler, *flags, source, "-o", output], env=environment)[1]
                runs += 1
    return total, runs


def verdicts(events):
    """For each unit that was done its steps and what was found in it."""
    name = lambda e: (e["program"], json.dumps(e["compiler"], sort_keys=True), e["opt"])
    return {name(e): [e["steps"], e["findings"], e["repeated"]] for e in events if e["event"] == "unit-done"}


def kill_at_random(trueline, work):
    """Kills descendants of a hunt, residents and compilers alike."""
    random.seed(args.seed)
    database = os.path.join(work, "killed.db")
    killed = 0
    command = [trueline, "hunt", "--generator", "weave", "--cc", args.cc, "--seeds", f"{args.seed}..{args.seed + args.programs}", "--jobs", "2",
               "--confirm", "none", "--no-report", "--json", "--db", database]
    undisturbed = hunt(trueline, work, ["--confirm", "none"])[0]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    while process.poll() is None and killed < args.kills:
        time.sleep(random.uniform(0.01, 0.06))
        children = subprocess.run(["ps", "-o", "pid=,etimes=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout
        found = [line.split() for line in children.splitlines()]
        # Compilations of these programs take less than a second: whoever is older stays.
        found = [(pid, age) for pid, age in found if args.victims == "all" or int(age) >= 1]
        if found:
            pid, _ = random.choice(found)
            try:
                os.kill(int(pid), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    output = process.communicate()[0]
    events = [json.loads(line) for line in output.splitlines()]
    return killed, undisturbed, events, process.returncode


with tempfile.TemporaryDirectory() as work:
    if args.kills:
        killed, undisturbed, disturbed, code = kill_at_random(args.trueline, work)
        print(f"{killed} children killed, exit code {code}")
        for name, events in (("undisturbed", undisturbed), ("disturbed", disturbed)):
            print(f"{name:12} {json.dumps(events[-1]['counts'])}")
        done, left = verdicts(undisturbed), verdicts(disturbed)
        # A unit is tried twice; one whose compilers were killed both times has failed, and has no verdict.
        wrong = [unit for unit in left if done.get(unit) != left[unit]]
        print(f"{len(done)} units undisturbed, {len(left)} disturbed; {len(wrong)} of these with another verdict")
        raise SystemExit
    cost, runs = plain(work)
    print(f"plain drivers: {runs} compilations and links, {cost:.2f} CPU-s, {1000 * cost / runs:.1f} ms each", flush=True)
    builds = {"this": args.trueline} | ({"base": args.base} if args.base else {})
    for what, extra in (("screening", ["--confirm", "none"]), ("confirmed", [])):
        rate = {name: [] for name in builds}
        for _ in range(args.rounds):
            for name, trueline in builds.items():
                events, cpu = hunt(trueline, work, extra)
                totals = events[-1]["totals"]
                rate[name].append(totals["units"] * 3600 / cpu)
                print(f"{what} {name}: {totals['units']} units, {totals.get('findings')} findings, {cpu:.2f} CPU-s, "
                      f"{rate[name][-1]:.0f} units per CPU-hour, {cpu / cost:.2f} of the plain drivers' CPU", flush=True)
        if args.base:
            ratios = [a / b for a, b in zip(rate["this"], rate["base"])]
            print(f"{what}: {min(ratios):.2f} to {max(ratios):.2f} times the units of the base", flush=True)
