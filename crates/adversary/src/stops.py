"""Stops a program at chosen addresses and writes what gdb shows there, one JSON line per stop.

The configuration names the binary, its arguments, the units whose lines count, the shared objects that are compared as
memory, and the addresses. Without addresses every row of the named functions is a stop, and the stack below a function
that is entered is filled with a pattern first, so that what nobody wrote can be told by it.
"""
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


def frames(frame, shared, scopes, inline_only):
    """The newest frame and those around it that belong to the same code, at most three."""
    found = []
    while frame is not None and len(found) < 3:
        sal = frame.find_sal()
        unit = os.path.basename(sal.symtab.filename) if sal.symtab else ""
        if unit not in CONFIG["units"]:
            break
        found.append([frame.name() or "", sal.line, variables(frame, len(found), shared, scopes)])
        if inline_only and frame.type() != gdb.INLINE_FRAME:
            break
        frame = frame.older()
    return found


def rows():
    """Every row of the units' line tables, by address."""
    found = {}
    for unit in CONFIG["units"]:
        try:
            symtab = gdb.decode_line(f"{unit}:1")[1][0].symtab
        except gdb.error:
            continue
        for entry in symtab.linetable() or []:
            if entry.line > 0:
                found[entry.pc] = entry.line
    return found


def function_at(address):
    """The block of the function whose code this is."""
    block = gdb.block_for_pc(address)
    while block is not None and (block.function is None or block.superblock.function is not None):
        block = block.superblock
        if block is not None and block.superblock is None:
            return None
    return block


def entries(addresses):
    """The first address of each function, with its second row: gdb's own prologue is not asked."""
    found = {}
    for address in sorted(addresses):
        block = function_at(address)
        if block is None:
            continue
        if address == block.start:
            found[address] = None
        elif found.get(block.start, 0) is None:
            found[block.start] = address
    return found


def wanted(addresses):
    names = set(CONFIG["functions"])
    if not names:
        return set(addresses)
    found = set()
    for address in addresses:
        block = function_at(address)
        if block is not None and block.function.name in names:
            found.add(address)
    return found


def instructions(ranges):
    found = set()
    architecture = gdb.selected_frame().architecture()
    for low, high in ranges:
        for one in architecture.disassemble(low, high - 1):
            found.add(one["addr"])
    return found


def main():
    for setting in ("pagination off", "confirm off", "breakpoint always-inserted on", "displaced-stepping on", "width 0",
                    "startup-with-shell off", "print inferior-events off", "disable-randomization on", "style enabled off",
                    "print frame-info short-location", "auto-solib-add off"):
        gdb.execute("set " + setting)
    gdb.execute("file " + CONFIG["binary"])
    before = address_of("main")
    inferior = gdb.selected_inferior()
    breakpoints = []
    for number, arguments in enumerate(CONFIG["runs"]):
        gdb.execute("set args " + " ".join(arguments))
        # `delete breakpoints` leaves internal ones alone.
        while breakpoints:
            breakpoints.pop().delete()
        gdb.execute("tbreak main", to_string=True)
        gdb.execute("run", to_string=True)
        bias = address_of("main") - before
        shared, scopes = Shared(), Scopes()
        mark = address_of(CONFIG["mark"]) if CONFIG["mark"] else 0
        table = rows()
        reference = CONFIG["ranges"] is None
        first_rows = {}
        if reference:
            places = wanted(table)
            first_rows = entries(places)
        else:
            places = instructions([(low + bias, high + bias) for low, high in CONFIG["ranges"]])
        for place in sorted(places):
            breakpoints.append(gdb.Breakpoint(f"*{place:#x}", internal=True))
            breakpoints[-1].silent = True
        second_rows = {second: first for first, second in first_rows.items() if second}
        stops = 0
        say(run=number)
        while True:
            gdb.execute("continue", to_string=True)
            if inferior.pid == 0:
                break
            frame = gdb.newest_frame()
            pc = frame.pc()
            if pc not in places:
                say(end=f"stopped at {pc - bias:#x}, where no stop was asked for")
                gdb.execute("kill", to_string=True)
                break
            stops += 1
            if stops > CONFIG["limit"]:
                say(cut=number)
                gdb.execute("kill", to_string=True)
                break
            if pc in first_rows:
                sp = int(frame.read_register("rsp"))
                inferior.write_memory(sp - len(FILL), FILL)
                if first_rows[pc] is not None:
                    continue
            chain = frames(frame, shared, scopes, not reference)
            if not chain:
                continue
            stop = {"pc": pc - bias, "row": int(pc in table), "memory": shared.digest(inferior), "frames": chain}
            if mark:
                stop["mark"] = int.from_bytes(inferior.read_memory(mark, 4).tobytes(), "little")
            if reference:
                stop["base"] = int(frame.read_register("rbp"))
                if pc in second_rows:
                    stop["opening"] = table[second_rows[pc]]
            OUT.write(json.dumps(stop, separators=(",", ":")) + "\n")
        say(done=number)
    OUT.close()


try:
    main()
except Exception as trouble:  # gdb prints Python errors to stderr and goes on
    say(end=f"{type(trouble).__name__}: {trouble}")
    OUT.close()
gdb.execute("quit")
