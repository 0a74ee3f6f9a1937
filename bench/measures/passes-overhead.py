#!/usr/bin/env python3
"""What the hooks cost: CPU time of `opt` with and without them, medians of N runs each, interleaved.

    bench/run passes-overhead --hook target/release/libtrueline_llvm_hook.so --opt-tool opt-16 [--runs 15] CASE…

A case is `FILE PIPELINE` in one argument, e.g. "a.ll licm". C files are compiled with the clang of that version;
`csmith:SEED` stands for a program that csmith writes now.
"""
import argparse, glob, os, resource, statistics, subprocess, tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("cases", nargs="+")
parser.add_argument("--hook", default="target/release/libtrueline_llvm_hook.so")
parser.add_argument("--opt-tool", default="opt-16")
parser.add_argument("--runs", type=int, default=15)
args = parser.parse_args()

def cpu(command, env):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000

with tempfile.TemporaryDirectory() as directory:
    events = os.path.join(directory, "events")
    watched = dict(os.environ, LD_PRELOAD=os.path.abspath(args.hook), TRUELINE_HOOK_OUT=events)
    print("| input | pipeline | without (ms CPU) | with (ms CPU) | added | stream (kB) |\n|---|---|---:|---:|---:|---:|")
    for case in args.cases:
        file, pipeline = case.split(" ", 1)
        module = os.path.join(directory, "module.bc")
        if file.startswith("csmith:"):
            source = os.path.join(directory, "random.c")
            with open(source, "w") as out:
                subprocess.run(["csmith", "--seed", file.removeprefix("csmith:")], cwd=directory, stdout=out, check=True)
        else:
            source = file
        if source.endswith(".c"):
            clang = args.opt_tool.replace("opt", "clang")
            headers = [f"-I{place}" for place in glob.glob("/usr/include/csmith*") + glob.glob("/usr/local/include/csmith*")]
            subprocess.run([clang, *headers, "-g", "-O2", "-w", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", source, "-o", module], check=True)
        else:
            subprocess.run([args.opt_tool, "-passes=debugify", "-debugify-level=locations", file, "-o", module], check=True, stderr=subprocess.DEVNULL)
        command = [args.opt_tool, f"-passes={pipeline}", module, "-disable-output"]
        times = [(cpu(command, os.environ), cpu(command, watched)) for _ in range(args.runs)]
        plain, hooked = (statistics.median(t[i] for t in times) for i in (0, 1))
        print(f"| {os.path.basename(file)} | {pipeline} | {plain:.1f} | {hooked:.1f} | {hooked - plain:+.1f} ms, {100 * (hooked / plain - 1):+.0f}% | {os.path.getsize(events) / 1000:.0f} |")
