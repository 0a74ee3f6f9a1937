"""What the scripts inside gdb share: the configuration, the output, and what gdb shows of a frame's variables."""
import hashlib
import json
import os

import gdb

CONFIG = json.load(open(os.environ["TRUELINE_STOPS"]))
OUT = open(CONFIG["output"], "w")
SCALARS = {gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM}
FILL = bytes([CONFIG["pattern"]]) * 2048


def say(**record):
    OUT.write(json.dumps(record, separators=(",", ":")) + "\n")


def address_of(name):
    return int(gdb.parse_and_eval("(unsigned long)&" + name))


class Shared:
    """The objects that both builds have, where this run has them."""

    def __init__(self):
        self.objects = []
        for name, size in CONFIG["shared"]:
            try:
                self.objects.append((name, address_of(name), size))
            except gdb.error:
                pass
        self.low = min((a for _, a, _ in self.objects), default=0)
        self.high = max((a + s for _, a, s in self.objects), default=0)
        # One read where they lie together, as they nearly always do.
        self.together = self.high - self.low < 1 << 16

    def digest(self, inferior):
        state = hashlib.md5()
        if self.together:
            whole = inferior.read_memory(self.low, self.high - self.low) if self.objects else b""
            for _, address, size in self.objects:
                state.update(whole[address - self.low : address - self.low + size])
        else:
            for _, address, size in self.objects:
                state.update(inferior.read_memory(address, size).tobytes())
        return state.hexdigest()[:16]

    def place(self, value):
        """A pointer in words that both builds share; None when it points elsewhere."""
        if value == 0:
            return "null"
        if not self.low <= value <= self.high:
            return None
        names = [f"{n}+{value - a}" for n, a, s in self.objects if a <= value <= a + s]
        return "&" + "|".join(names) if names else None


def leaves(value, shared, path, found):
    """Scalars of a value, each under its path: [path, text] or [path, None] where gdb shows nothing."""
    if len(found) > 24:
        return
    kind = value.type.strip_typedefs()
    code = kind.code
    try:
        if code in SCALARS:
            found.append([path, None if value.is_optimized_out else str(int(value))])
        elif code == gdb.TYPE_CODE_ARRAY:
            low, high = kind.range()
            for n in range(low, min(high, low + 15) + 1):
                leaves(value[n], shared, f"{path}[{n}]", found)
        elif code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            for field in kind.fields():
                if hasattr(field, "bitpos"):
                    leaves(value[field], shared, f"{path}.{field.name}", found)
        elif value.is_optimized_out:
            found.append([path, None])
        elif code == gdb.TYPE_CODE_FLT:
            found.append([path, float(value).hex()])
        elif code == gdb.TYPE_CODE_PTR:
            found.append([path, shared.place(int(value) & (2**64 - 1)) or "elsewhere"])
        else:
            found.append([path, "elsewhere"])
    except (gdb.error, gdb.MemoryError) as trouble:
        found.append([path, "!" + str(trouble)])


class Scopes:
    """The variables in scope, per address and depth: found once."""

    def __init__(self):
        self.known = {}

    def of(self, frame, depth):
        key = (frame.pc(), depth, frame.name())
        if key not in self.known:
            self.known[key] = list(self.find(frame))
        return self.known[key]

    @staticmethod
    def find(frame):
        try:
            block = frame.block()
        except RuntimeError:
            return
        seen = set()
        while block is not None:
            for symbol in block:
                key = (symbol.name, symbol.line)
                fixed = symbol.addr_class in (gdb.SYMBOL_LOC_STATIC, gdb.SYMBOL_LOC_OPTIMIZED_OUT)
                if (symbol.is_variable or symbol.is_argument) and not fixed and key not in seen:
                    seen.add(key)
                    yield symbol, symbol.name, symbol.line, 1 if symbol.is_argument else 0
            if block.function is not None:
                return
            block = block.superblock


def variables(frame, depth, shared, scopes):
    found = []
    for symbol, name, line, argument in scopes.of(frame, depth):
        values = []
        try:
            leaves(symbol.value(frame), shared, "", values)
        except (gdb.error, gdb.MemoryError, ValueError) as trouble:
            values.append(["", "!" + str(trouble)])
        found.append([name, line, argument, values])
    return found


def settings():
    for setting in ("pagination off", "confirm off", "breakpoint always-inserted on", "displaced-stepping on", "width 0",
                    "startup-with-shell off", "print inferior-events off", "disable-randomization on", "style enabled off",
                    "print frame-info short-location", "auto-solib-add off"):
        gdb.execute("set " + setting)


def guarded(main):
    """gdb prints Python errors and goes on; here they end the output, so that nobody takes half of it for all."""
    try:
        main()
    except Exception as trouble:
        say(end=f"{type(trouble).__name__}: {trouble}")
        OUT.close()
    gdb.execute("quit")
