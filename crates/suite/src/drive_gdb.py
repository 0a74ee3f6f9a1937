"""Drives gdb for a suite's runner, one line of JSON for each question and one for its answer. A question is a list: its first word
says what is to be done. "go" runs to the next stop, "over", "into" and "out" step; the answer holds the frames where the program
stands, or {"over": how it ended}."""
import re
import shlex

# Frames that are told: scripts look a few callers up.
MOST_FRAMES = 32


def declared(expression):
    """The type that a variable was declared with: of an enum it still has every variant."""
    try:
        symbol = gdb.lookup_symbol(expression)[0] if expression.isidentifier() else None
    except gdb.error:
        symbol = None
    return symbol.type if symbol is not None else None


def canonical(value, type_):
    type_ = (type_ or value.type).strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, getattr(gdb, "TYPE_CODE_RVALUE_REF", -1)):
        value = value.referenced_value()
        type_ = value.type.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_VOID:
        return kind("refused", "its type has no values")
    budget = [LEAVES, False, False]
    text = render(value, type_, budget)
    if budget[1] and not budget[2] and "synthetic" not in text:
        return kind("optimized-out")
    return kind("value", text)


def say(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error as error:
        return str(error)


def look(expression, command):
    printed = re.sub(r"^\$\d+ = ", "", say(command or "print " + expression).strip())
    type_ = None
    try:
        value = gdb.parse_and_eval(expression)
        type_ = str(value.type)
        answer = canonical(value, declared(expression))
    except (gdb.error, gdb.MemoryError) as error:
        answer = refusal(error)
    except (OverflowError, RuntimeError, ValueError, TypeError) as error:
        answer = kind("unreadable", str(error))
    return {"answer": answer, "printed": printed, "type": type_}


class Driver:
    def __init__(self):
        self.ended = None
        self.signal = None
        self.hits = []

    def on_stop(self, event):
        if isinstance(event, gdb.BreakpointEvent):
            self.hits = [b.number for b in event.breakpoints]
        elif isinstance(event, gdb.SignalEvent):
            self.signal = event.stop_signal

    def open(self, binary, arguments):
        for setting in SETTINGS:
            gdb.execute(setting, to_string=True)
        gdb.execute("file " + binary, to_string=True)
        prepare()  # the program's machine says how wide a pointer is
        gdb.execute("set args " + shlex.join(arguments), to_string=True)
        gdb.events.stop.connect(self.on_stop)
        return {}

    def place(self, where):
        try:
            breakpoint = gdb.Breakpoint(where)
        except (gdb.error, RuntimeError) as error:
            return {"id": None, "why": str(error)}
        if breakpoint.pending:
            breakpoint.delete()
            return {"id": None, "why": "there is no code for it"}
        return {"id": breakpoint.number}

    def delete(self, numbers):
        for number in numbers:
            say("delete %d" % number)
        return {}

    def moved(self, command):
        """The answer after the program has moved, and what gdb printed on it."""
        self.hits, self.signal = [], None
        text = say(command)
        told = self.stand()
        told["text"] = text
        return told

    def stand(self):
        if gdb.selected_inferior().pid == 0:
            return {"over": "the program ended"}
        if self.signal is not None:
            return {"over": "the program got " + self.signal}
        frames = []
        frame = gdb.newest_frame()
        while frame is not None and len(frames) < MOST_FRAMES:
            sal = frame.find_sal()
            file = os.path.basename(sal.symtab.filename) if sal.symtab is not None else None
            frames.append([frame.name() or "", 1 if frame.type() == gdb.INLINE_FRAME else 0, file, sal.line])
            try:
                frame = frame.older()
            except gdb.error:
                break
        return {"frames": frames, "hits": self.hits}

    def answer(self, question):
        word, rest = question[0], question[1:]
        if word == "open":
            return self.open(*rest)
        if word == "line":
            return self.place("%s:%d" % tuple(rest))
        if word == "function":
            return self.place("-function " + rest[0])
        if word == "delete":
            return self.delete(*rest)
        if word == "go":
            return self.moved("continue" if gdb.selected_inferior().pid else "run")
        if word in ("over", "into", "out"):
            return self.moved({"over": "next", "into": "step", "out": "finish"}[word])
        if word == "look":
            return look(*rest)
        return {"text": say(rest[0])}


def end():
    if gdb.selected_inferior().pid:
        gdb.execute("kill", to_string=True)


serve(Driver(), end)
