#!/usr/bin/env python3
"""Judges a random sample of findings against evidence that does not come from the tracer.

line       gcov of the same source at -O0: the line has no code there, or none that was executed
scope      the source text alone: the stop's line is outside the block that declares the variable
parameter  -O0 instrumentation: the variable is printed before every statement of its scope, at the end of every block and
           whenever a loop's condition is evaluated; the shown value never comes
value      the same for a local variable
backtrace  -O0 instrumentation: entry and exit of functions keep a stack, every statement prints it; the shown frame is
           never on it at that line

Findings about arrays and about lines the instrumentation cannot reach are left open and counted as such.
usage: hunt-truth.py DB [--per-invariant 50] [--seed 1]     (needs gcc, gcov and the zstd command)
"""
import argparse, collections, json, os, random, re, sqlite3, subprocess, tempfile

parser = argparse.ArgumentParser()
parser.add_argument("db")
parser.add_argument("--per-invariant", type=int, default=50)
parser.add_argument("--seed", type=int, default=1)
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
    declared = re.search(r"declared on line (\d+)", v.get("expected") or "")
    if not declared:
        return None
    number = int(declared.group(1))
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


def judge_value(program, v, work):
    lines = program["source"].split("\n")
    name = v["variable"]
    declared = next((n for n, l in enumerate(lines, 1) if re.search(rf"\b{name}\b", l)), None)
    if declared is None or "{" in str(v.get("value")):
        return None
    shown = name
    element = re.match(r"element (\d+) of the aggregate", v.get("why") or "")
    if element:
        shown = leaf_of(lines, lines[declared - 1], name, int(element.group(1)))
        if shown is None:
            return None
    function, start = function_of(lines, declared)
    if function is None or not re.fullmatch(r"-?\d+", str(v.get("value"))):
        return None
    if declared == start:
        first, last = start, block_of(lines, start + 1)[1]
    else:
        first, last = declared, block_of(lines, declared)[1]
    text = probed(lines, first, last, lambda n: f'__builtin_printf("@%ld\\n", (long){shown});')
    ran = build_and_run(program, text, work)
    if ran is None or ran.returncode:
        return None
    values = set(re.findall(r"^@(-?\d+)$", ran.stdout, re.M))
    return str(v["value"]) not in values if values else None


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


JUDGES = {"line": judge_line, "scope": judge_scope, "parameter": judge_value, "value": judge_value, "backtrace": judge_backtrace}
rows = base.execute("SELECT id, kind, document FROM findings").fetchall()
random.Random(args.seed).shuffle(rows)
table = collections.defaultdict(lambda: [0, 0, 0, []])
for number, kind, document in rows:
    row = table[kind]
    if kind not in JUDGES or row[0] + row[1] >= args.per_invariant:
        continue
    violation = json.loads(document)
    program = blob(violation["program"])
    if program["language"] != "c":
        continue
    with tempfile.TemporaryDirectory() as work:
        try:
            right = JUDGES[kind](program, violation, work)
        except (subprocess.TimeoutExpired, OSError):
            right = None
    if right is None:
        row[2] += 1
    elif right:
        row[0] += 1
    else:
        row[1] += 1
        row[3].append(number)
print(f"{'invariant':10} {'right':>6} {'wrong':>6} {'open':>6}  wrong ones")
for kind in JUDGES:
    right, wrong, unknown, which = table[kind]
    print(f"{kind:10} {right:6} {wrong:6} {unknown:6}  {' '.join(map(str, which[:12]))}")
