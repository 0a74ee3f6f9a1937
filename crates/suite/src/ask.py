"""Asks gdb what a suite's tests ask; shared.py says how it writes. TRUELINE_QUESTIONS holds a list of runs, each with "breaks"
(places as gdb takes them) and "actions": null to run on, or [expression, expected expression or null] to ask where the program
stands. One line is written for each question: {"answer": ..., "expected": ... or null}."""


def complex_number(value, expression):
    """Its parts, each as any number is written: gdb's own text has more digits than the shortest."""
    if value.is_optimized_out:
        return kind("optimized-out")
    parts = [gdb.parse_and_eval("%s(%s)" % (part, expression)) for part in ("$_creal", "$_cimag")]
    return kind("value", "%s + %si" % tuple(render(part, part.type.strip_typedefs(), [LEAVES, False, False]) for part in parts))


def ask(expression):
    try:
        value = gdb.parse_and_eval(expression)
        type_ = value.type.strip_typedefs()
        if type_.code in (gdb.TYPE_CODE_REF, getattr(gdb, "TYPE_CODE_RVALUE_REF", -1)):
            value = value.referenced_value()
            type_ = value.type.strip_typedefs()
        if type_.code == gdb.TYPE_CODE_VOID:
            return kind("refused", "its type has no values")
        if type_.code == gdb.TYPE_CODE_COMPLEX:
            return complex_number(value, expression)
        budget = [LEAVES, False, False]
        text = render(value, type_, budget)
        if budget[1] and not budget[2] and "synthetic" not in text:
            return kind("optimized-out")
        return kind("value", text)
    except (gdb.error, gdb.MemoryError) as error:
        return refusal(error)
    except (OverflowError, RuntimeError, ValueError, TypeError) as error:
        return kind("unreadable", str(error))


def stand(runs):
    """To the next breakpoint; why not, where there is none."""
    try:
        gdb.execute("continue" if runs else "run", to_string=True)
    except gdb.error as error:
        return str(error)
    if gdb.selected_inferior().pid == 0:
        return "the breakpoint is not reached"
    return None


def put(run):
    gdb.execute("delete", to_string=True)
    placed, failed = 0, "there is no breakpoint"
    for place in run["breaks"]:
        try:
            gdb.execute("break " + place, to_string=True)
            placed += 1
        except gdb.error as error:
            failed = str(error)
    trouble, runs = "the program was not started", 0
    for action in run["actions"]:
        if action is None:
            if runs == 0 or trouble is None:
                trouble = stand(runs) if placed else failed
            runs += 1
        elif trouble is not None:
            answer = kind("not-reached", trouble)
            emit({"answer": answer, "expected": answer})
        else:
            expression, expected = action
            emit({"answer": ask(expression), "expected": None if expected is None else ask(expected)})
    if gdb.selected_inferior().pid != 0:
        gdb.execute("kill", to_string=True)


prepare()
for setting in SETTINGS:
    gdb.execute(setting, to_string=True)
for run in json.loads(os.environ["TRUELINE_QUESTIONS"]):
    put(run)
    OUT.flush()
OUT.flush()
os._exit(0)
