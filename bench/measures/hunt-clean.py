"""Of N weave programs none may trip UBSan, ASan, MSan or valgrind, and all builds must print the same.

Resumable: programs already judged are in the log.
"""
import os, shutil, subprocess, tempfile

import _common

options = _common.parser(__doc__)
options.add_argument("programs", type=int, nargs="?", default=200)
options.add_argument("log", nargs="?", default="target/hunt-clean.log")
options.add_argument("--kind", choices=("c", "wide-c", "swarm-c"), default="c")
args = options.parse_args()
weave = _common.example("generate", "weave")
gcc, clang = shutil.which("gcc-12") or "gcc", shutil.which("clang-16") or "clang"
fatal = "-fno-sanitize-recover=all"
BUILDS = {
    "gcc-asan-ubsan": [gcc, "-O1", "-fsanitize=undefined,address", fatal],
    "clang-asan-ubsan": [clang, "-O1", "-fsanitize=undefined,address", fatal],
    "clang-msan": [clang, "-O1", "-fsanitize=memory", fatal],
    "valgrind": [gcc, "-O0", "-g"],
}


def judge(seed, work):
    source, program = os.path.join(work, "p.c"), os.path.join(work, "p")
    with open(source, "w") as out:
        subprocess.run([weave, str(seed), args.kind], stdout=out, check=True)
    wanted = None
    for name, compiler in BUILDS.items():
        if name == "valgrind" and not shutil.which("valgrind"):
            continue
        if subprocess.run([*compiler, "-w", source, "-o", program], capture_output=True).returncode:
            return f"{name} does not compile"
        wrapper = ["valgrind", "-q", "--error-exitcode=9"] if name == "valgrind" else []
        ran = subprocess.run([*wrapper, program], capture_output=True, text=True, timeout=120)
        if ran.returncode:
            return f"{name} fails: {(ran.stderr.splitlines() or ['without a word'])[0]}"
        wanted = ran.stdout if wanted is None else wanted
        if ran.stdout != wanted:
            return f"{name} prints {ran.stdout!r} instead of {wanted!r}"
    return "clean"


os.makedirs(os.path.dirname(args.log) or ".", exist_ok=True)
verdicts = dict(line.strip().split(" ", 1) for line in open(args.log)) if os.path.exists(args.log) else {}
with tempfile.TemporaryDirectory() as work, open(args.log, "a") as log:
    for seed in range(50001, 50001 + args.programs):
        if str(seed) not in verdicts:
            verdicts[str(seed)] = judge(seed, work)
            print(seed, verdicts[str(seed)], file=log, flush=True)
unclean = {seed: verdict for seed, verdict in verdicts.items() if verdict != "clean"}
print(f"{len(verdicts)} programs, {len(verdicts) - len(unclean)} clean")
for seed, verdict in list(unclean.items())[:10]:
    print(seed, verdict)
