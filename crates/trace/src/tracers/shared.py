"""What the tracers inside gdb and lldb share: the lines they write, how they are asked, how a number is spelled.

A tracer imports this before its debugger has printed anything that matters. The configuration comes as JSON in TRUELINE_TRACER.
A configuration {"resident": true} makes the tracer stay: each line of standard input is then a configuration of its own with
"spots", a list of [link-time address, most hits], and the program is stopped there instead of being stepped; with no hits the
address is read without running the program. A configuration with "lines", a list of [base name of the file, line], asks where
breakpoints on them go; nothing is run. Lines written:
  {"var": [name, kind, decl_line, type, holds_pointer]}      the next variable id (counted from 0)
  {"file": f, "line": n, "pc": p, "frames": [[function, inlined, file, line]...], "vars": [[id, state, value]...]}
  {"places": [number of the line asked about, [[address, file, line shown there]...]]}
  and one last line: {"end": "finished" | "cut-off"}, {"bad": what the program did}, {"binary": what is wrong with the
  binary} or {"error": what failed here}
"""
import json
import os
import struct
import traceback

LEAVES = 256  # scalars of one aggregate that are rendered; the rest is `...`

# The debugger's chatter and the program's output go nowhere; only our lines reach the reader. A dup is not inherited.
OUT = os.fdopen(os.dup(1), "w", buffering=1 << 16)
QUESTIONS = os.dup(0)
null = os.open("/dev/null", os.O_RDWR)
for standard in (0, 1, 2):
    os.dup2(null, standard)


class NoDebugInfo(Exception):
    """There is nothing to read."""


class BadProgram(Exception):
    """The program did what closed, single-threaded programs do not do."""


def emit(record):
    OUT.write(json.dumps(record, separators=(",", ":")))
    OUT.write("\n")


def emit_failure(error):
    emit({"error": "%s: %s" % (type(error).__name__, error), "trace": traceback.format_exc()})


def float_text(value, size):
    """Shortest decimal that reads back, spelled as Rust's Debug does."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    if size == 4:
        for precision in range(1, 18):
            short = "%.*g" % (precision, value)
            if struct.pack("f", float(short)) == struct.pack("f", value):
                text = repr(float(short))
                break
    if "e" in text:
        mantissa, exponent = text.split("e")
        return "%se%d" % (mantissa, int(exponent))
    return text


def load_bias(binary, pid):
    """How far from its link-time addresses the binary was loaded into the process."""
    with open(binary, "rb") as elf:
        entry = struct.unpack_from("<Q", elf.read(64), 24)[0]
    with open("/proc/%d/auxv" % pid, "rb") as auxv:
        data = auxv.read()
    for offset in range(0, len(data) - 15, 16):
        key, value = struct.unpack_from("<QQ", data, offset)
        if key == 9:  # AT_ENTRY
            return value - entry
    return 0


class Variables:
    """Variables by what tells them apart, each announced once."""

    def __init__(self):
        self.known = {}

    def number(self, descriptor):
        number = self.known.get(descriptor)
        if number is None:
            number = self.known[descriptor] = len(self.known)
            emit({"var": descriptor})
        return number


def observation(number, state, text):
    return [number, state] if text is None else [number, state, text]


def answer(tracer, config):
    """One trace, or one look at chosen spots, to its last line."""
    try:
        emit({"end": (tracer.places if "lines" in config else tracer.look if "spots" in config else tracer.trace)()})
    except BadProgram as bad:
        emit({"bad": str(bad)})
    except NoDebugInfo as error:
        emit({"binary": str(error)})
    except BaseException as error:
        emit_failure(error)
    OUT.flush()
    try:
        tracer.close()
    except BaseException:
        pass


def serve(make_tracer):
    """Everything that is asked of this process, and then its end."""
    try:
        config = json.loads(os.environ["TRUELINE_TRACER"])
        if config.get("resident"):
            for line in os.fdopen(QUESTIONS):
                config = json.loads(line)
                answer(make_tracer(config), config)
        else:
            answer(make_tracer(config), config)
    except BaseException as error:
        emit_failure(error)
    OUT.flush()
    os._exit(0)
