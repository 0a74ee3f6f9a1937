#!/usr/bin/env python3
"""Judges a random sample of findings against evidence that does not come from the tracer: the source half by instrumented source
(below), the other half by the accused, gdb or lldb, in their own words at the finding's address. A finding is right when both halves
say so, wrong when one says no, and open when one cannot tell.

line       gcov of the same source at -O0: the line has no code there, or none that was executed
scope      the source text alone: the stop's line is outside the block that declares the variable
parameter  -O0 instrumentation: the variable is printed before every statement of its scope, at the end of every block and
           whenever a loop's condition is evaluated; the shown value never comes
value      the same for a local variable
stale      the same instrumentation: what is printed in front of the line's statement and by the next print after it, visit by
           visit; the shown value is there on no visit (wrong when on every one, open when on some)
backtrace  -O0 instrumentation: entry and exit of functions keep a stack, every statement prints it; the shown frame is
           never on it at that line
self       a row of the line table (llvm-dwarfdump) puts the address on that line, binutils' addr2line in that function (of a
           variable: gdb's `info scope` lists it there), and in the source text the line is outside the function (the block)
dwarf      llvm-dwarfdump's text of the location in force, by the rules of DWARF 5, 2.5.1: an operator that wants two
           values of one type meets two types, or too few values, or the lower half of the stack pointer is followed; where
           this does not tell, gdb's own words when the program comes by

breakpoint gcov: the line runs at -O0 (or, for one that is hit without that, does not)
lost       -O0 instrumentation: in front of the line's statement the variable has the value that another setting shows, or that
           comes back, with no other value in between; for other evidence the variable is in scope before the statement, which runs

The debugger is asked by `break *ADDRESS` and, up to 64 times, `frame`, `bt`, `info scope`, `info locals`, `print`; for a breakpoint by
`break FILE:LINE` and the stops that follow. A finding that lldb alone sees is asked of lldb. --out keeps, per finding, the command, the
debugger's words and the verdict.

Findings about arrays and about lines the instrumentation cannot reach are left open and counted as such. The last two need the
optimized build, which is made again by the finding's command.
usage: bench/run hunt-truth DB [--per-invariant 50] [--seed 1] [--only KIND,…] [--out FILE.jsonl]     (needs gcc, gcov, gdb, binutils, llvm-dwarfdump and the zstd command)
"""
import argparse, collections, json, os, random, re, shlex, shutil, sqlite3, subprocess, tempfile

parser = argparse.ArgumentParser()
parser.add_argument("db")
parser.add_argument("--per-invariant", type=int, default=50)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--only", default="")
parser.add_argument("--out")
args = parser.parse_args()
base = sqlite3.connect(args.db)


def blob(address):
    data = base.execute("SELECT data FROM blobs WHERE hash = ?", (address,)).fetchone()[0]
    return json.loads(subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout)


def run(command, work):
    return subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=60)


def build_and_run(program, text, work, flags=()):
    with open(os.path.join(work, "p.c"), "w") as out:
        out.write(text)
    built = run(["gcc", "-O0", "-w", *flags, *program["cflags"], "p.c", "-o", "p"], work)
    if built.returncode:
        return None
    return run(["./p"], work)


def block_of(lines, number):
    """First and last line of the innermost braces around the start of a line, by counting braces."""
    depth, first = 0, 1
    for at in range(number - 2, -1, -1):
        for c in reversed(lines[at]):
            depth += (c == "}") - (c == "{")
            if depth < 0:
                first = at + 1
                break
        if depth < 0:
            break
    depth, last = 0, len(lines)
    for at in range(number - 1, len(lines)):
        for c in lines[at]:
            depth += (c == "{") - (c == "}")
            if depth < 0:
                last = at + 1
                break
        if depth < 0:
            break
    return first, last


def function_of(lines, number):
    for at in range(number - 1, -1, -1):
        if lines[at] and not lines[at][0].isspace() and lines[at].rstrip().endswith("{") and "(" in lines[at]:
            return re.search(r"(\w+)\s*\(", lines[at].replace("__attribute__((always_inline))", "").replace("__attribute__((noinline))", "")).group(1), at + 1
    return None, None


STATEMENT = re.compile(r"^\s+(?!\?|:|case\b|default\b|}|else\b|struct\b|goto\b.*|out_|again_)(?=.*[;{]\s*$)")


LOOP = re.compile(r"^(\s*(?:} )?while \()(.*)(\)(?:;| {)\s*)$")
FOR = re.compile(r"^(\s*for \([^;]*;)([^;]*)(;[^;]*\) {\s*)$")


def probed(lines, first, last, probe):
    """The text with a probe before every statement of these lines that starts one, at the end of blocks and in the conditions
    of loops, so that a value that no statement meets any more is printed too."""
    out = []
    for number, line in enumerate(lines, 1):
        if first <= number <= last:
            # The variable of a `for` exists in its own condition; what a block declares is gone in the condition after it.
            loop = FOR.match(line) or (number > first and LOOP.match(line))
            if loop and not (line.lstrip().startswith("}") and number == last):
                line = f"{loop.group(1)}({{ {probe(number)} 1; }}) && ({loop.group(2).strip() or 1}){loop.group(3)}"
            if number > first and re.match(r"^\s*}", line) and not line.rstrip().endswith("};") and number > 1 and lines[number - 2].rstrip().endswith((";", "}")):
                out.append(f"{probe(number)} {line}")
                continue
        starts = first < number <= last and STATEMENT.match(line) and not line.strip().startswith(("} ", "{"))
        inside = number >= 2 and lines[number - 2].rstrip().endswith((";", "{", "}"))
        braceless = number >= 2 and re.match(r"^\s+if \(.*\)$", lines[number - 2])
        out.append(f"{probe(number)} {line}" if starts and inside and not braceless else line)
    return "\n".join(out) + "\n"


def judge_line(program, v, work):
    lines = program["source"].split("\n")
    name = program["name"]
    with open(os.path.join(work, name), "w") as out:
        out.write(program["source"])
    if run(["gcc", "-O0", "-w", "--coverage", *program["cflags"], name, "-o", "p"], work).returncode:
        return None
    run(["./p"], work)
    notes = [f for f in os.listdir(work) if f.endswith(".gcda")]
    if not notes:
        return None
    run(["gcov", notes[0]], work)
    for line in open(os.path.join(work, name + ".gcov")):
        count, number, _ = line.split(":", 2)
        if int(number) == v["line"]:
            return count.strip() in ("-", "#####", "=====")
    return None


def judge_scope(program, v, work):
    lines = program["source"].split("\n")
    number = v["declared"]
    name, start = function_of(lines, number)
    if name and number == start:  # a parameter: its function's braces
        first, last = block_of(lines, number + 1)
        return not (start <= v["line"] <= last)
    first, last = block_of(lines, number)
    if re.match(r"\s*for \(", lines[number - 1]):  # a loop variable: the loop's braces too
        _, last = block_of(lines, number + 1)
        first = number
    return not (first <= v["line"] <= last)


def leaf_of(lines, declaration, name, index):
    """The text of one scalar of a structure, counted over all its scalars; None when it cannot be told from the text."""
    tag = re.search(rf"struct (\w+)\b[^(]*\b{name}\b|struct (\w+) {name}\b", declaration)
    if not tag:
        return None
    wanted = [g for g in re.findall(rf"struct (\w+) {name}\b", declaration)] or [tag.group(1)]
    start = next((n for n, l in enumerate(lines) if re.match(rf"\s*struct {wanted[0]} {{", l)), None)
    leaves = []
    for line in lines[start + 1:] if start is not None else []:
        if line.strip().startswith("}"):
            break
        field = re.match(r"\s*[\w ]+?(\w+)\s*(?:\[(\d+)\])?\s*(?::\s*\d+)?;", line)
        if not field:
            return None
        leaves += [f"{name}.{field.group(1)}[{k}]" for k in range(int(field.group(2)))] if field.group(2) else [f"{name}.{field.group(1)}"]
    return leaves[index] if index < len(leaves) else None


def declaration_of(lines, name, seen_on):
    """The line that declares a variable as seen on a line: the innermost of several that shadow one another."""
    declares = rf"^\s+(?:for \()?(?!return\b|goto\b)(?:unsigned |signed |const |volatile |struct )*\w+ \**{name}\b(?: =|;|\[)"
    inner = [n for n, l in enumerate(lines, 1) if re.search(declares, l) and n <= seen_on <= block_of(lines, n)[1]]
    return inner[-1] if inner else next((n for n, l in enumerate(lines, 1) if re.search(rf"\b{name}\b", l)), None)


def prints(program, v, work):
    """The statements that the -O0 program comes by in the variable's scope, in order, each with what the variable is in front of
    it; None when that cannot be told."""
    lines = program["source"].split("\n")
    name = v["variable"]
    declared = declaration_of(lines, name, v["line"])
    if declared is None or not re.fullmatch(r"-?\d+", str(v.get("value"))):
        return None
    shown = name
    if v.get("element") is not None:
        shown = leaf_of(lines, lines[declared - 1], name, v["element"])
        if shown is None:
            return None
    function, start = function_of(lines, declared)
    if function is None:
        return None
    if declared == start:
        first, last = start, block_of(lines, start + 1)[1]
    else:
        first, last = declared, block_of(lines, declared)[1]
    text = probed(lines, first, last, lambda n: f'__builtin_printf("@{n} %ld\\n", (long){shown});')
    ran = build_and_run(program, text, work)
    if ran is None or ran.returncode:
        return None
    return [(int(line), value) for line, value in re.findall(r"^@(\d+) (-?\d+)$", ran.stdout, re.M)] or None


def judge_value(program, v, work):
    printed = prints(program, v, work)
    return None if printed is None else str(v["value"]) not in {value for _, value in printed}


def judge_stale(program, v, work):
    printed = prints(program, v, work)
    if printed is None:
        return None
    # Of each visit of the line what is printed in front of it, and by the next print: what the line leaves behind.
    visits = [{value for _, value in printed[at:at + 2]} for at, (line, _) in enumerate(printed) if line == v["line"]]
    has_it = [str(v["value"]) in values for values in visits]
    if not visits or (any(has_it) and not all(has_it)):
        return None
    return not any(has_it)


def judge_backtrace(program, v, work):
    lines = program["source"].split("\n")
    function, start = function_of(lines, v["line"])
    if function is None:
        return None
    shown = set(v["frames"]) - {function}
    last = block_of(lines, start + 1)[1]
    hooks = (
        'static const char *tl_stack[64]; static int tl_top;\n'
        '#define TL_ENTER(f) tl_stack[tl_top++ & 63] = f\n'
    )
    # Functions announce themselves at their opening brace; the stack is unwound by a cleanup attribute.
    text = []
    for number, line in enumerate(lines, 1):
        owner, at = function_of(lines, number)
        if at == number:
            line = line + f' __attribute__((cleanup(tl_leave))) int tl_mark = tl_enter("{owner}");'
        text.append(line)
    probe = lambda n: '{ for (int tl_i = 0; tl_i < tl_top; tl_i++) if (' + str(n) + ' == ' + str(v["line"]) + ') __builtin_printf("@%s\\n", tl_stack[tl_i]); }'
    body = probed(text, start, last, probe)
    head = hooks + 'static void tl_leave(int *m) { tl_top = *m; }\nstatic int tl_enter(const char *f) { tl_stack[tl_top] = f; return tl_top++; }\n'
    ran = build_and_run(program, head + body, work)
    if ran is None or ran.returncode:
        return None
    active = set(re.findall(r"^@(\w+)$", ran.stdout, re.M))
    return bool(set(v["frames"]) - active) if active else None


DWARFDUMP = next((d for d in ["llvm-dwarfdump", "llvm-dwarfdump-16"] if shutil.which(d)), "llvm-dwarfdump")


def rebuild(program, v, work):
    """The optimized build, by the command of the finding."""
    with open(os.path.join(work, program["name"]), "w") as out:
        out.write(program["source"])
    command = shlex.split(blob(v["blob"])["optimized"]["command"])
    run(command, work)
    return command[command.index("-o") + 1]


def judge_self(program, v, work):
    binary, lines = rebuild(program, v, work), program["source"].split("\n")
    # Two lines per frame, innermost first: the function and where it stands, callers of inlined functions at their calls.
    frames = run(["addr2line", "-fie", binary, hex(v["pc"])], work).stdout.split("\n")
    places = [(name, int(re.search(r":(\d+)", place).group(1))) for name, place in zip(frames[::2], frames[1::2]) if re.search(r":\d+", place)]
    # Several rows may stand at one address, of which addr2line knows the last alone.
    rows = re.findall(rf"^{v['pc']:#018x} +(\d+) .* is_stmt", run([DWARFDUMP, "--debug-line", binary], work).stdout, re.M)
    places += [(frames[0], int(line)) for line in rows]
    if not v.get("variable"):
        owner, start = function_of(lines, v["line"])
        inside = owner == v["function"] and v["line"] <= block_of(lines, start + 1)[1]
        # A caller that was not inlined stands where it called, which this address does not tell.
        return not inside if (v["function"], v["line"]) in places else None
    scope = run(["gdb", "-nx", "-batch", "-ex", f"info scope *{v['pc']:#x}", binary], work).stdout
    declared = [n for n, l in enumerate(lines, 1) if re.search(rf"\b{v['variable']}\b(?: =|;|\[)", l)]
    if not declared or (v["function"], v["line"]) not in places or not re.search(rf"Symbol {v['variable']} ", scope):
        return None
    first, last = block_of(lines, declared[0])
    return not first <= v["line"] <= last


BINARY = "and or xor plus minus mul div mod eq ge gt le lt ne".split()


def is_ill_formed(expression):
    """Whether following the operators of an expression, types alone, fails by DWARF 5, 2.5.1, or follows half of the stack pointer, below
    which no stack of this machine lies; None at an operator not known here."""
    if re.search(r"DW_OP_breg7 RSP\+\d+, DW_OP_constu 0xffffffff, DW_OP_and, DW_OP_deref", expression):
        return True
    stack = []
    for operation in re.findall(r"DW_OP_\w+(?:\s\((?:0x)?[0-9a-f]+\)(?:\s\"[^\"]*\")?)?", expression):
        name = re.match(r"DW_OP_(\w+)", operation).group(1)
        wanted = 2 if name in BINARY or name in ("shl", "shr", "shra") else 1 if name in ("convert", "stack_value", "plus_uconst", "dup", "neg", "not", "abs", "deref") else 0
        if len(stack) < wanted:
            return True
        if re.fullmatch(r"lit\d+|const\w+|breg\w+|addrx?|fbreg|call_frame_cfa", name):
            stack.append("generic")
        elif re.fullmatch(r"reg\w+", name):
            stack.append("register")
        elif name == "convert":
            base = re.search(r"\((?:0x)?([0-9a-f]+)\)", operation).group(1)
            stack[-1] = "generic" if int(base, 16) == 0 else base
        elif name in BINARY:
            right, left = stack.pop(), stack.pop()
            if left != right:
                return True
            stack.append("generic" if name in BINARY[8:] else left)
        elif name in ("shl", "shr", "shra"):
            stack.pop()
        elif name == "dup":
            stack.append(stack[-1])
        elif name == "deref":
            stack[-1] = "generic"
        elif name in ("stack_value", "piece"):
            # A location description ends here; the next one starts with nothing.
            stack = [] if name == "piece" else stack
        elif name not in ("plus_uconst", "neg", "not", "abs"):
            return None
    return False


def judge_dwarf(program, v, work):
    binary = rebuild(program, v, work)
    text = run([DWARFDUMP, "--name", v["variable"], binary], work).stdout
    ranges = re.findall(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\): (DW_OP.*?)\)?$", text, re.M)
    answers = {is_ill_formed(e) for low, high, e in ranges if int(low, 16) <= v["pc"] < int(high, 16)}
    # One location for the whole of a scope; which of several variables of this name is meant the text does not tell.
    answers |= {is_ill_formed(e) for e in re.findall(r"DW_AT_location\t\((DW_OP.*)\)$", text, re.M)}
    return True if answers == {True} else ask_gdb(v, binary, work)


def ask_gdb(v, binary, work):
    """What gdb says when the program comes by for the first time; None when it does not see the variable there."""
    main = next(line.split()[0] for line in run(["nm", binary], work).stdout.split("\n") if line.endswith(" T main"))
    spot = f"break *((unsigned long)&main - 0x{main} + {v['pc']:#x})"
    words = ["gdb", "-nx", "-batch", "-ex", "starti", "-ex", spot, "-ex", "continue", "-ex", f"print {v['variable']}", binary]
    said = run(words, work)
    if re.search(r"Division by zero|Incompatible types on DWARF stack|Cannot access memory at address", said.stderr):
        return True
    return False if re.search(r"^\$1 = ", said.stdout, re.M) else None


def judge_breakpoint(program, v, work):
    never_runs = judge_line(program, v, work)
    return never_runs if v["astray"] == "not-run" or never_runs is None else not never_runs


def judge_lost(program, v, work):
    evidence = v["evidence"]
    if evidence["because"] in ("other-setting", "returns"):
        printed = prints(program, {**v, "value": evidence["value"]}, work)
        if printed is None or not any(line == v["line"] for line, _ in printed):
            return None
        # It has the value in front of the line; where it comes back, without having been anything else in between.
        here = [at for at, seen in enumerate(printed) if seen == (v["line"], evidence["value"])]
        if evidence["because"] == "other-setting":
            return bool(here)
        after = [next((n for n in range(at, len(printed)) if printed[n][0] == evidence["back_on"]), None) for at in here]
        return any(end is not None and {value for _, value in printed[at:end + 1]} == {evidence["value"]} for at, end in zip(here, after))
    lines = program["source"].split("\n")
    if not re.search(rf"\b{v['variable']}\b", program["source"]):
        return None
    probe = f'(void)({v["variable"]}); __builtin_printf("@here\\n");'
    at = v["line"] - 1
    # In front of the statement: of the line itself where it starts one, else of the one that it belongs to.
    while at > 0 and not lines[at - 1].rstrip().endswith((";", "{", "}")):
        at -= 1
    lines[at] = f"{{ {probe} }} {lines[at]}"
    ran = build_and_run(program, "\n".join(lines) + "\n", work)
    if ran is None or ran.returncode:
        return None
    return "@here" in ran.stdout


VISITS = 64


def in_gdb(commands, binary, work):
    words = ["gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", "set pagination off", "-ex", "set debug-file-directory /nonexistent"]
    script = os.path.join(work, "commands")
    with open(script, "w") as out:
        out.write("\n".join(commands) + "\n")
    said = run([*words, "-x", script, binary], work)
    return "gdb -x <<(" + "; ".join(commands) + ")", said.stdout + said.stderr


def in_lldb(commands, binary, work):
    words = ["lldb-16" if shutil.which("lldb-16") else "lldb", "-X", "-b"]
    said = run([*words, *(w for c in commands for w in ("-o", c)), binary], work)
    return "lldb " + " ".join(f"-o '{c}'" for c in commands), said.stdout + said.stderr


def the_accused(kind, program, v, work):
    """The command, the debugger's words, and whether they say what the finding says."""
    binary = rebuild(program, v, work)
    place, name, pc = f"{os.path.basename(v['file'])}:{v['line']}", v.get("variable"), v.get("pc")
    on_line = re.compile(rf"at (?:\S*/)?{re.escape(place)}(?!\d)")
    if kind == "breakpoint":
        loop = ["set $n = 0", "while $n < 200", "frame", "continue", "set $n = $n + 1", "end"]
        command, words = in_gdb([f"break {place}", "run >/dev/null", *loop], binary, work)
        stops = re.findall(r"^#0 .*$", words, re.M)
        hit = any(on_line.search(s) and re.search(rf"\b{re.escape(v['function'])} \(", s) for s in stops)
        return command, words, hit == (v["astray"] == "not-run")
    if "gdb" not in v["seen_by"] and "lldb" in v["seen_by"] and kind in ("line", "scope", "self"):
        command, words = in_lldb([f"image lookup --verbose --address {pc:#x}"], binary, work)
        if kind == "scope":
            return command, words, bool(re.search(rf'name = "{name}"', words))
        return command, words, bool(re.search(rf"LineEntry: .*{re.escape(place)}(?!\d)|{re.escape(place)}(?!\d)", words))
    main = next(line.split()[0] for line in run(["nm", binary], work).stdout.split("\n") if line.endswith(" T main"))
    asks = {"line": ["frame"], "backtrace": ["bt"], "self": ["bt"], "scope": ["frame", "info locals", "info args"]}.get(kind, ["frame", f"print {name}", f"print/d {name}"])
    if name and kind == "self":
        asks += ["info locals", "info args"]
    asks = [a if not a.startswith("print") else f"frame apply 1 -q -s -- {a}" for a in asks]
    loop = ["set $n = 0", f"while $n < {VISITS}", "continue", "echo @@\\n", *asks, "set $n = $n + 1", "end"]
    # At the entry of an inlined function gdb shows the caller first, and goes in without moving.
    step = ["step", "echo @@\\n", *asks] if kind in ("line", "backtrace", "scope", "self") else []
    commands = ["starti >/dev/null", f"break *((unsigned long)&main - 0x{main} + {pc:#x})", *loop[:4], *loop[4:-2], *step, *loop[-2:]]
    command, words = in_gdb(commands, binary, work)
    stops = words.split("@@\n")[1:]
    def shows(stop):
        frames = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?([\w:.]+)", stop, re.M)
        if kind == "line":
            return on_line.search(stop)
        if kind == "backtrace":
            return list(dict.fromkeys(frames)) == list(dict.fromkeys(v["frames"])) and on_line.search(stop.split("\n")[0])
        if kind == "self" and not name:
            return any(on_line.search(l) and re.search(rf"\b{re.escape(v['function'])} \(", l) for l in stop.split("\n"))
        if kind in ("scope", "self"):
            return on_line.search(stop) and re.search(rf"^{name} = ", stop, re.M)
        if kind == "lost":
            return re.search(r"^\$\d+ = <optimized out>", stop, re.M)
        if kind == "stale" and not on_line.search(stop):
            return False
        return re.search(rf"(?<![\w-]){re.escape(str(v['value']))}(?!\w)", "\n".join(l for l in stop.split("\n") if not l.startswith("#")))
    if kind == "dwarf":
        return command, words, True if judge_dwarf(program, v, work) else None
    return command, words, any(shows(s) for s in stops) if stops else None


JUDGES = {"line": judge_line, "scope": judge_scope, "parameter": judge_value, "value": judge_value, "stale": judge_stale, "backtrace": judge_backtrace,
          "self": judge_self, "dwarf": judge_dwarf, "breakpoint": judge_breakpoint, "lost": judge_lost}
wanted = args.only.split(",") if args.only else list(JUDGES)
rows = base.execute("SELECT id, kind, document, evidence FROM findings").fetchall()
random.Random(args.seed).shuffle(rows)
table = collections.defaultdict(lambda: [0, 0, 0, []])
kept = open(args.out, "w") if args.out else None
for number, kind, document, evidence in rows:
    row = table[kind]
    if kind not in wanted or row[0] + row[1] >= args.per_invariant:
        continue
    violation = {**json.loads(document), "blob": evidence}
    program = blob(violation["program"])
    if program["language"] != "c":
        continue
    source = shown = None
    command = words = ""
    with tempfile.TemporaryDirectory() as work:
        try:
            source = JUDGES[kind](program, violation, work)
            command, words, shown = the_accused(kind, program, violation, work)
        except (subprocess.TimeoutExpired, OSError, StopIteration, ValueError) as error:
            words += f"not asked: {error}"
    halves = [None if half is None else bool(half) for half in (source, shown)]
    verdict = "wrong" if False in halves else "open" if None in halves else "right"
    row[["right", "wrong", "open"].index(verdict)] += 1
    if verdict == "wrong":
        row[3].append(number)
    if kept:
        facts = {k: violation[k] for k in ("file", "line", "function", "variable", "value", "pc", "astray") if k in violation}
        kept.write(json.dumps({"id": number, "kind": kind, **facts, "source": halves[0], "debugger": halves[1], "command": command, "words": words[-2000:], "verdict": verdict}) + "\n")
        kept.flush()
print(f"{'invariant':10} {'right':>6} {'wrong':>6} {'open':>6}  wrong ones")
for kind in wanted:
    right, wrong, unknown, which = table[kind]
    print(f"{kind:10} {right:6} {wrong:6} {unknown:6}  {' '.join(map(str, which[:12]))}")
