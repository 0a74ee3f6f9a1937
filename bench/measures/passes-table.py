#!/usr/bin/env python3
"""Runs `trueline passes` over LLVM's regression tests for the Scalar passes and prints a table per pass.

    bench/run passes-fetch-tests 16 DIR
    bench/run passes-table DIR/Transforms --opt-tool opt-16 [--out reports.json] [--sample 40 --seed 1] [--verify]

The sample is of distinct sites, drawn with the given seed, one line each, for judging by hand.
"""
import argparse, collections, json, os, random, subprocess, sys

SCALAR = """ADCE AlignmentFromAssumptions BDCE CallSiteSplitting ConstantHoisting ConstraintElimination CorrelatedValuePropagation DCE
DFAJumpThreading DeadStoreElimination DivRemPairs EarlyCSE Float2Int GVN GVNHoist GVNSink GuardWidening IRCE IndVarSimplify
InferAddressSpaces InstSimplify JumpThreading LICM LoopBoundSplit LoopDataPrefetch LoopDeletion LoopDistribute LoopFlatten LoopFusion
LoopIdiom LoopInstSimplify LoopInterchange LoopLoadElim LoopPredication LoopReroll LoopRotate LoopSimplifyCFG LoopStrengthReduce
LoopTransformWarning LoopUnroll LoopUnrollAndJam LoopVersioningLICM LowerAtomic LowerConstantIntrinsics LowerExpectIntrinsic
LowerGuardIntrinsic LowerMatrixIntrinsics LowerWidenableCondition MakeGuardsExplicit MemCpyOpt MergeICmps MergedLoadStoreMotion
NaryReassociate NewGVN PartiallyInlineLibCalls PlaceSafepoints Reassociate Reg2Mem RewriteStatepointsForGC SCCP SROA
ScalarizeMaskedMemIntrin Scalarizer SeparateConstOffsetFromGEP SimpleLoopUnswitch SimplifyCFG Sink SpeculativeExecution
StraightLineStrengthReduce StructurizeCFG TailCallElim""".split()

def site_key(error):
    return (error["pass"], error["site"]["function"], error["site"]["address"], error["manipulation"], error["kind"])

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests")
    parser.add_argument("--trueline", default="target/release/trueline")
    parser.add_argument("--opt-tool", default="opt-16")
    parser.add_argument("--out")
    parser.add_argument("--read", help="read earlier reports instead of running")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--only", help="comma list of directories")
    args = parser.parse_args()
    if args.read:
        files = json.load(open(args.read))["files"]
    else:
        names = args.only.split(",") if args.only else SCALAR
        dirs = [os.path.join(args.tests, d) for d in names if os.path.isdir(os.path.join(args.tests, d))]
        command = [args.trueline, "passes", "--json", "--opt-tool", args.opt_tool] + (["--verify-output"] if args.verify else []) + dirs
        text = subprocess.run(command, stdout=subprocess.PIPE).stdout
        if args.out:
            open(args.out, "wb").write(text)
        files = json.loads(text)["files"]
    problems = collections.Counter(p["kind"] for f in files for p in f["problems"])
    rows = collections.defaultdict(lambda: [0, 0, 0, set()])
    examples = {}
    for f in files:
        for name, count in f["by_pass"].items():
            row = rows[name]
            row[0] += count["runs"]; row[1] += count["pairs"]; row[2] += count["errors"]
        for error in f["errors"]:
            rows[error["pass"]][3].add(site_key(error))
            examples.setdefault(site_key(error), (f["file"], error))
    print(f"{len(files)} files; problems: {dict(problems)}")
    print("| pass | runs | pairs | errors | distinct sites |\n|---|---:|---:|---:|---:|")
    for name, (runs, pairs, errors, sites) in sorted(rows.items()):
        if pairs:
            print(f"| {name} | {runs} | {pairs} | {errors} | {len(sites)} |")
    total = [sum(r[i] for r in rows.values()) for i in range(3)]
    print(f"| all | {total[0]} | {total[1]} | {total[2]} | {len(examples)} |")
    if args.sample:
        keys = sorted(examples)
        random.Random(args.seed).shuffle(keys)
        for number, key in enumerate(keys[: args.sample], 1):
            file, e = examples[key]
            show = lambda i: f"{i['text']} [{i['block']}] line {i['line']}"
            print(f"\n{number}. {e['pass']} {e['kind']} {e['manipulation']} expected {e['expected']} observed {e['observed']}")
            print(f"   {os.path.relpath(file, args.tests)} @{e['function']} x{e['instances']}")
            print(f"   dst {show(e['dst'])}\n   src " + "; ".join(show(s) for s in e["srcs"]))
            if e.get("evidence"): print(f"   evidence {e['evidence']}")
            print("   " + " > ".join(e["site"]["chain"][-5:]) + f" +{e['site']['address']:#x}")

main()
