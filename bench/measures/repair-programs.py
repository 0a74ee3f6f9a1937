"""`trueline repair` on zlib, bzip2, lz4, SQLite and Lua, their values compared in gdb with -O0 on two inputs.

The sources are those of the crates libz-sys, bzip2-sys, lz4-sys, libsqlite3-sys and lua-src, fetched by cargo into target/;
nothing of theirs is kept here. Each program is driven by a small workload of bench/repair-programs. The repair sees one input;
repair_sample then judges the new locations on that input and on another. Results go into target/repair-programs/results.jsonl, and what is
there is not measured again.
"""
import glob, json, os, random, resource, subprocess

import _common

CRATES = {"libz-sys": "1.1", "bzip2-sys": "0.1", "lz4-sys": "1.11", "libsqlite3-sys": "0.38", "lua-src": "547"}
ROOT = "target/repair-programs"

options = _common.parser(__doc__)
options.add_argument("--programs", default="zlib,bzip2,lz4,sqlite,lua")
options.add_argument("--builds", default="gcc-12:-O2,clang-16:-O2")
options.add_argument("--functions", type=int, default=0, help="repair only so many functions of each program, drawn by --seed (0: all)")
options.add_argument("--seed", type=int, default=1)
options.add_argument("--trueline", default=_common.TRUELINE)
options.add_argument("--sampler", help="repair_sample, if it is built already")
options.add_argument("--limit", type=int, default=60000, help="stops after which a run in gdb is cut off")
options.add_argument("--minutes", type=int, default=60, help="CPU time of one repair")
args = options.parse_args()


def fetched():
    """Where cargo keeps the sources of each crate."""
    os.makedirs(f"{ROOT}/fetch/src", exist_ok=True)
    with open(f"{ROOT}/fetch/Cargo.toml", "w") as manifest:
        manifest.write('[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n')
        manifest.writelines(f'{name} = "{version}"\n' for name, version in CRATES.items())
    open(f"{ROOT}/fetch/src/lib.rs", "w").close()
    command = ["cargo", "metadata", "--format-version", "1", "--manifest-path", f"{ROOT}/fetch/Cargo.toml"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    return {p["name"]: os.path.dirname(p["manifest_path"]) for p in packages if p["name"] in CRATES}


def programs(where):
    """Sources, flags, driver and the two inputs of each program."""
    zlib, lz4 = f"{where['libz-sys']}/src/zlib", f"{where['lz4-sys']}/liblz4/lib"
    bzip2 = glob.glob(f"{where['bzip2-sys']}/bzip2-*")[0]
    sqlite, lua = f"{where['libsqlite3-sys']}/sqlite3", sorted(glob.glob(f"{where['lua-src']}/lua-5.4*"))[0]
    zlib_units = "adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil".split()
    bzip2_units = "blocksort bzlib compress crctable decompress huffman randtable".split()
    own = os.path.abspath("bench/repair-programs")
    script = f"{own}/work.lua"
    return {
        "zlib": ([f"{zlib}/{u}.c" for u in zlib_units], [f"-I{zlib}"], [f"{own}/zlib.c"], ["1", "3000", "6"], ["9", "1234", "1"]),
        "bzip2": ([f"{bzip2}/{u}.c" for u in bzip2_units], [f"-I{bzip2}", "-DBZ_NO_STDIO"], [f"{own}/bzip2.c"], ["1", "1500"], ["9", "40"]),
        "lz4": ([f"{lz4}/lz4.c", f"{lz4}/lz4hc.c"], [f"-I{lz4}"], [f"{own}/lz4.c"], ["1", "3000", "9"], ["9", "700", "3"]),
        "sqlite": ([f"{sqlite}/sqlite3.c"], [f"-I{sqlite}", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"], [f"{own}/sqlite.c"],
                   ["12", "7"], ["5", "3"]),
        "lua": ([p for p in sorted(glob.glob(f"{lua}/*.c")) if os.path.basename(p) not in ("lua.c", "luac.c")], [f"-I{lua}"], [f"{lua}/lua.c"],
                [script, "5"], [script, "9"]),
    }


def build(cc, level, name, program):
    """The library's units with debug information, the driver without."""
    sources, flags, driver, *_ = program
    out = f"{ROOT}/{name}-{cc}{level}"
    objects = []
    for unit, own in [(s, [level, "-g"]) for s in sources] + [(d, ["-O1"]) for d in driver]:
        target = f"{out}.{os.path.basename(unit)}.{len(objects)}.o"
        _common.run(cc, "-w", *own, *flags, "-c", unit, "-o", target)
        objects.append(target)
    _common.run(cc, *objects, "-o", out, "-lm")
    for one in objects:
        os.remove(one)
    return out


def chosen(binary):
    """Some functions by name, the same for the same seed."""
    symbols = subprocess.run(["nm", "--defined-only", binary], check=True, capture_output=True, text=True).stdout
    names = sorted({l.split()[2] for l in symbols.splitlines() if l.split()[1] in "tT" and "." not in l.split()[2] and not l.split()[2].startswith("_")})
    names = [n for n in names if n not in ("main", "deregister_tm_clones", "register_tm_clones", "frame_dummy", "row", "bz_internal_error")]
    return random.Random(args.seed).sample(names, min(args.functions, len(names)))


def measure(name, program, cc, level):
    inputs = program[3:]
    reference, optimized = build(cc, "-O0", name, program), build(cc, level, name, program)
    repaired = optimized + ".repaired"
    words = [args.trueline, "repair", optimized, "-o", repaired, "--reference", reference, "--no-check", "--trust", "validated"]
    if args.functions:
        words += [w for f in chosen(optimized) for w in ("--function", f)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (args.minutes * 60, args.minutes * 60))
    done = subprocess.run([*words, "--", *inputs[0]], capture_output=True, text=True, preexec_fn=limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = {"program": name, "build": f"{cc} {level}", "cpu": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
              "largest_resident_mb": after.ru_maxrss // 1024}
    if done.returncode != 0:
        return {**result, "failed": f"exit {done.returncode}: {done.stderr.strip()[:300]}"}
    functions = json.load(open(repaired + ".repair.json"))["functions"]
    reasons = {}
    for reason in (f["reason"] for f in functions if f["reason"]):
        general = "".join("#" if c.isdigit() else c for c in reason)
        reasons[general] = reasons.get(general, 0) + 1
    total = lambda key: sum(f[key] for f in functions)
    result.update(functions=len(functions), left_alone=reasons, improved=sum(f["U"] > 0 for f in functions), proved=total("proved"),
                  validated=total("validated"), no_moment=total("no_moment"), no_relation=total("no_relation"), withheld=total("withheld"))
    for which, words in zip(("own", "other"), inputs):
        command = [sampler, reference, repaired, "--seed", args.seed, "--limit", args.limit, "--", *words]
        done = subprocess.run([str(w) for w in command], capture_output=True, text=True)
        result[which] = json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr.strip()[:300]}
    return result


def summary(result):
    text = f"{result['program']} {result['build']}: {result['cpu']} CPU-s, {result['largest_resident_mb']} MB"
    if "failed" in result:
        return f"{text}; {result['failed']}"
    text += f"; {result['functions']} functions, {result['improved']} improved, {sum(result['left_alone'].values())} left alone"
    text += f"; pairs proved {result['proved']}, validated {result['validated']}"
    for which in ("own", "other"):
        one = result[which]
        if "failed" in one:
            text += f"\n  {which} input: {one['failed']}"
            continue
        counts = one["counts"] or {}
        parts = [f"{label} {c['right'] + c['wrong']} compared at {one['places'].get(label, 0)} places, {c['wrong']} wrong, {sum(c['unjudged'].values())} not judged"
                 for label, c in counts.items()]
        text += f"\n  {which} input: {one['functions']} functions; " + "; ".join(parts)
    return text


sampler = args.sampler or _common.example("adversary", "repair_sample")
os.makedirs(ROOT, exist_ok=True)
ledger = f"{ROOT}/results.jsonl"
before = [json.loads(line) for line in open(ledger)] if os.path.exists(ledger) else []
known = {(r["program"], r["build"]): r for r in before}
everything = programs(fetched())
for name in args.programs.split(","):
    for one in args.builds.split(","):
        cc, level = one.split(":")
        result = known.get((name, f"{cc} {level}"))
        if result is None:
            result = measure(name, everything[name], cc, level)
            with open(ledger, "a") as out:
                out.write(json.dumps(result) + "\n")
        print(summary(result), flush=True)
