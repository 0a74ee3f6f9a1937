"""Asks gdb about each violation of a `check --json` document, by a breakpoint at its address; knows nothing of Trueline's engines.

Runs inside gdb (`gdb -nx -batch -x`), with CONFIRM in the environment: JSON of binary, argv0, args, document, out.

A violation is confirmed when, at some visit of its address, gdb shows what is complained of: the line; the
functions on the stack; the variable as visible; its value; a frame of the function on that line; an error for the variable.
Where inlined functions begin, what their callers see counts as well, since stepping shows that first. The first 5,000 visits count.

With "mode": "breakpoints" the violations of `breakpoint` are asked about instead, by `break FILE:LINE` and a breakpoint at the
instruction with the line's effect. One is confirmed when the effect comes and gdb has not stopped on the line in its function
before, or, for a line that never runs, when gdb does stop on it.
"""
import collections
import json
import os
import re
import shlex
import struct

import gdb

VISITS = 5000
config = json.loads(os.environ["CONFIRM"])


def run(command):
    return gdb.execute(command, to_string=True)


def render(value, type_, depth=0):
    """The scalars of a value in order, as decimal text; `None` for a part that cannot be read."""
    code = type_.code
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return [s for f in type_.fields() if hasattr(f, "bitpos") for s in render(value[f], f.type.strip_typedefs(), depth + 1)]
    if code == gdb.TYPE_CODE_ARRAY:
        low, high = type_.range()
        element = type_.target().strip_typedefs()
        return [s for i in range(low, min(high, low + 255) + 1) for s in render(value[i], element, depth + 1)]
    if value.is_optimized_out:
        return [None]
    if code == gdb.TYPE_CODE_FLT:
        return [repr(float(value))]
    return [str(int(value))]


def views():
    """What a stop can be taken for: (line, file, functions, frame), the innermost first."""
    frame = gdb.newest_frame()
    frames = []
    while frame is not None and len(frames) < 400:
        if frame.function() is not None:
            sal = frame.find_sal()
            frames.append((sal.line, os.path.basename(sal.symtab.filename) if sal.symtab else None, frame.function().name, frame))
            if frame.function().name == "main" and frame.type() != gdb.INLINE_FRAME:
                break
        frame = frame.older()
    for depth in range(len(frames)):
        yield frames[depth:]
        if frames[depth][3].type() != gdb.INLINE_FRAME:
            break


def visible(frame, name):
    block = frame.block()
    while block is not None:
        for symbol in block:
            if symbol.name == name:
                yield symbol
        if block.function is not None:
            break
        block = block.superblock
    for block in (frame.block().static_block, frame.block().global_block):
        for symbol in block or ():
            if symbol.name == name:
                yield symbol


def plain(name):
    """A function's name without template arguments, parameters and qualifiers, which debuggers spell in several ways."""
    while True:
        shorter = re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}| const$| \[clone [^]]*\]", "", name.replace("operator<", "operator").replace("->", ""))
        if shorter == name:
            return name.split("::")[-1].strip()
        name = shorter


def names(functions):
    seen = []
    for name in map(plain, functions):
        if name not in seen:
            seen.append(name)
    return seen


def stands_on(frame, line):
    """Whether a frame is on a line. gdb 13 keeps the line of an inlined call in 16 bits."""
    return frame[0] == line or line > 0xFFFF and frame[0] == line & 0xFFFF


def shows(violation, frames):
    kind, line, variable = violation["invariant"], violation["line"], violation.get("variable")
    here = frames[0]
    if kind == "line":
        return stands_on(here, line)
    if kind == "backtrace":
        return stands_on(here, line) and names(f[2] for f in frames) == names(violation["frames"])
    if kind == "self" and variable is None:
        return any(plain(f[2]) == plain(violation["function"]) and stands_on(f, line) for f in frames)
    if kind in ("scope", "self"):
        return stands_on(here, line) and plain(here[2]) == plain(violation["function"]) and any(True for _ in visible(here[3], variable))
    for symbol in visible(here[3], variable):
        try:
            value = symbol.value(here[3]) if symbol.needs_frame else symbol.value()
            texts = render(value, symbol.type.strip_typedefs())
            if kind == "dwarf":
                continue
            if violation.get("value") in texts or violation.get("value") in [str(float(t)) for t in texts if t and "." in t]:
                return True
        except (gdb.error, RuntimeError, ValueError, OverflowError) as error:
            if kind == "dwarf" and "optimized out" not in str(error):
                return True
    return False


def bias():
    with open(config["binary"], "rb") as elf:
        entry = struct.unpack_from("<Q", elf.read(64), 24)[0]
    with open("/proc/%d/auxv" % gdb.selected_inferior().pid, "rb") as auxv:
        data = auxv.read()
    for offset in range(0, len(data) - 15, 16):
        key, value = struct.unpack_from("<QQ", data, offset)
        if key == 9:
            return value - entry
    return 0


def visit_addresses(violations, slide):
    """Stops at the address of each violation and looks at what gdb shows there."""
    waiting = collections.defaultdict(list)
    for index, violation in enumerate(violations):
        waiting[violation["pc"]].append(index)
    points = {pc: [gdb.Breakpoint("*%d" % (pc + slide), internal=True), VISITS] for pc in waiting}
    state = ["not reached"] * len(violations)
    try:
        run("continue")
        while points and gdb.selected_inferior().pid != 0:
            pc = gdb.newest_frame().pc() - slide
            point = points.get(pc)
            if point is None:
                run("continue")
                continue
            # Where inlined functions begin, `step` goes in without moving.
            for _ in range(8):
                for index in list(waiting[pc]):
                    if any(shows(violations[index], frames) for frames in views()):
                        state[index] = "confirmed"
                        waiting[pc].remove(index)
                    elif state[index] == "not reached":
                        state[index] = "not shown"
                if not waiting[pc]:
                    break
                run("step")
                if gdb.selected_inferior().pid == 0 or gdb.newest_frame().pc() - slide != pc:
                    break
            point[1] -= 1
            if not waiting[pc] or point[1] == 0:
                point[0].delete()
                del points[pc]
            # A step that ended on another address of interest has come to it.
            if gdb.selected_inferior().pid != 0 and gdb.newest_frame().pc() - slide == pc:
                run("continue")
    except gdb.error as error:
        print("gdb:", error)
    return state


def try_breakpoints(violations, slide):
    """Puts a breakpoint on the line of each violation and one on the instruction with the line's effect."""
    place = lambda v: "%s:%d" % (os.path.basename(v["file"]), v["line"])
    lines = {p: gdb.Breakpoint(p) for p in map(place, violations)}
    effects = {pc: gdb.Breakpoint("*%d" % (pc + slide), internal=True) for pc in {v["pc"] for v in violations if v["astray"] != "not-run"}}
    state = ["not reached"] * len(violations)
    try:
        run("continue")
        while "not reached" in state and gdb.selected_inferior().pid != 0:
            here = next(views(), [(0, None, "", None)])[0]
            pc = gdb.newest_frame().pc()
            for index, v in enumerate(violations):
                if state[index] != "not reached":
                    continue
                never_runs = v["astray"] == "not-run"
                at_place = any(l.address == pc for l in lines[place(v)].locations)
                shown = stands_on(here, v["line"]) and here[1] == os.path.basename(v["file"])
                if at_place and shown and (never_runs or plain(here[2]) == plain(v["function"])):
                    state[index] = "confirmed" if never_runs else "hit"
                elif not never_runs and pc - slide == v["pc"]:
                    state[index] = "confirmed"
            needed = [v for v, s in zip(violations, state) if s == "not reached"]
            for points, wanted in ((lines, set(map(place, needed))), (effects, {v["pc"] for v in needed})):
                for key in points.keys() - wanted:
                    points.pop(key).delete()
            run("continue")
    except gdb.error as error:
        print("gdb:", error)
    return state


BREAKPOINTS = config.get("mode") == "breakpoints"
with open(config["document"]) as document:
    found = [v for r in json.load(document)["runs"] for v in r["violations"] if v.get("pc") is not None]
violations = [v for v in found if (v["invariant"] == "breakpoint") == BREAKPOINTS]
for command in (
    "set pagination off", "set confirm off", "set width 0", "set debuginfod enabled off", "set disable-randomization on",
    "set style enabled off", "set max-value-size 65536", "set backtrace limit 400", "unset environment", "file " + config["binary"],
):
    run(command)
quote = lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
code = "%ENV = (); my $p = shift; exec { $p } " + quote(config["argv0"]) + ", @ARGV;"
run("set startup-with-shell on")
run("set exec-wrapper /usr/bin/perl -e " + shlex.quote(code))
run("set args " + shlex.join(config["args"]) + " > /dev/null 2>&1 < /dev/null")
run("starti")
slide = bias()
state = (try_breakpoints if BREAKPOINTS else visit_addresses)(violations, slide)
with open(config["out"], "w") as out:
    json.dump([{**v, "gdb": s} for v, s in zip(violations, state)], out)
os._exit(0)
