"""What both of the suites' scripts inside gdb have: its settings, and what its errors stand for. It stands in front of each."""
import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["TRUELINE_TRACER_DIR"])
from gdb_values import prepare, render
from shared import LEAVES, OUT, QUESTIONS, emit

SETTINGS = (
    "set pagination off", "set confirm off", "set width 0", "set height 0", "set style enabled off", "set print entry-values no",
    "set breakpoint pending off", "set startup-with-shell off", "set disable-randomization on", "unset environment",
    "set print elements 0", "set print repeats 0",
)


def kind(name, text=None):
    return {"kind": name} if text is None else {"kind": name, "text": text}


def refusal(error):
    """What an error of gdb's stands for."""
    reason = str(error)
    if reason.startswith("No symbol") or "has unknown type" in reason:
        return kind("not-in-scope")
    if "optimized out" in reason:
        return kind("optimized-out")
    if reason.startswith(("Cannot access memory", "Unhandled dwarf", "Cannot find", "Asked for position")):
        return kind("unreadable", reason)
    if "syntax error" in reason or reason.startswith(("Invalid number", "Unmatched", "Invalid character")):
        return kind("unsupported", reason)
    return kind("refused", reason)


