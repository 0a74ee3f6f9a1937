"""Stops a program of any size at chosen places of chosen calls of its functions, and writes what gdb shows there.

Memory of such programs cannot be compared: it lies elsewhere in each build. A stop is tied to its function's call instead: the n-th
call, counted at the function's first instruction, with the caller of every call written down so that the two builds'
sequences of calls can be compared. Configuration: `functions`, each with its entry (an address, or none: by name) and its places
(addresses, or lines of the source), `calls` the numbers of the calls that are looked at.
"""
CHOSEN = set(CONFIG["calls"])
LAST = max(CHOSEN)
PER_CALL = 500


class Heap(Shared):
    """Names pointers by their distance from the start of the heap: both builds allocate the same objects in the same order."""

    def __init__(self, inferior):
        super().__init__()
        self.pid = inferior.pid
        self.heap = None

    def place(self, value):
        if value == 0:
            return "null"
        if self.heap is None:
            with open(f"/proc/{self.pid}/maps") as maps:
                self.heap = next((int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith("[heap]")), None)
        if self.heap is not None and self.heap <= value < self.heap + (1 << 28):
            return f"&heap+{value - self.heap}"
        return None


class Function:
    """One function, its breakpoints and its calls so far."""

    def __init__(self, name, entry, places):
        self.name, self.entry, self.places = name, entry, places
        self.calls = 0
        self.callers = []
        self.base_of = {}
        self.stops = {}
        self.inner = []
        self.outer = gdb.Breakpoint(f"*{entry:#x}", internal=True)
        self.outer.silent = True

    def enable(self, on):
        for one in self.inner:
            if one.enabled != on:
                one.enabled = on


def find(name):
    symbol = gdb.lookup_global_symbol(name, gdb.SYMBOL_VAR_DOMAIN) or gdb.lookup_static_symbol(name, gdb.SYMBOL_VAR_DOMAIN)
    return int(symbol.value().address) if symbol is not None and symbol.type.code == gdb.TYPE_CODE_FUNC else None


def rows_of(entry, lines):
    """Rows of a function at these lines, by address."""
    block = gdb.block_for_pc(entry)
    while block is not None and block.function is None:
        block = block.superblock
    if block is None:
        return {}, None, None
    table = sorted({(e.pc, e.line) for e in block.function.symtab.linetable() if block.start <= e.pc < block.end and e.line > 0})
    second = next((pc for pc, _ in table if pc > block.start), None)
    return {pc: line for pc, line in table if line in lines and pc != block.start}, second, block.function.line


def inner_blocks(frame):
    """Names of variables whose scope is smaller than the function: they are stale between two iterations, so they do not count."""
    found = set()
    block = frame.block()
    while block is not None and block.function is None:
        found |= {(s.name, s.line) for s in block}
        block = block.superblock
    return found


def main():
    settings()
    gdb.execute("file " + CONFIG["binary"])
    before = address_of("main")
    inferior = gdb.selected_inferior()
    gdb.execute("set args " + " ".join(CONFIG["args"]))
    gdb.execute("tbreak main", to_string=True)
    gdb.execute("run", to_string=True)
    bias = address_of("main") - before
    shared, scopes = Heap(inferior), Scopes()
    by_entry, by_place, second_rows = {}, {}, {}
    for name, entry, places in CONFIG["functions"]:
        reference = entry is None
        address = find(name) if reference else entry + bias
        if address is None or address in by_entry:
            continue
        if reference:
            rows, second, opening = rows_of(address, set(places))
            if second and opening in places:
                rows.setdefault(second, 0)
                second_rows[second] = opening
            places = rows
        else:
            places = {p + bias: 0 for p in places}
        function = by_entry[address] = Function(name, address, places)
        for place in places:
            by_place[place] = function
            if place != address:
                function.inner.append(gdb.Breakpoint(f"*{place:#x}", internal=True))
                function.inner[-1].silent = True
        function.enable(False)
    total = 0
    while True:
        gdb.execute("continue", to_string=True)
        if inferior.pid == 0:
            break
        total += 1
        if total > CONFIG["limit"]:
            say(cut=total)
            gdb.execute("kill", to_string=True)
            break
        frame = gdb.newest_frame()
        pc = frame.pc()
        function = by_entry.get(pc)
        if function is not None:
            function.calls += 1
            caller = frame.older()
            function.callers.append(caller.name() or "" if caller is not None else "")
            sp = int(frame.read_register("rsp"))
            function.base_of[sp + 8] = function.calls
            if CONFIG["fill"]:
                inferior.write_memory(sp - len(FILL), FILL)
            function.enable(function.calls in CHOSEN)
            if function.calls >= LAST + 1:
                function.outer.delete()
                for one in function.inner:
                    one.delete()
                function.inner = []
                del by_entry[pc]
        function = by_place.get(pc)
        if function is None or frame.type() != gdb.NORMAL_FRAME or (CONFIG["fill"] and pc == function.entry):
            continue
        older = frame.older()
        call = function.base_of.get(int(older.read_register("rsp"))) if older is not None else None
        if call not in CHOSEN:
            continue
        function.stops[call] = function.stops.get(call, 0) + 1
        if function.stops[call] > PER_CALL:
            if function.stops[call] == PER_CALL + 1:
                say(overflow=f"{function.name}#{call}")
            function.enable(False)
            continue
        stale = inner_blocks(frame) if CONFIG["fill"] else set()
        shown = [v for v in variables(frame, 0, shared, scopes) if (v[0], v[1]) not in stale]
        stop = {"pc": pc - bias, "row": 0, "memory": f"{function.name}#{call}", "frames": [[frame.name() or "", frame.find_sal().line, shown]],
                "base": int(frame.read_register("rbp"))}
        if pc in second_rows:
            stop["opening"] = second_rows[pc]
        OUT.write(json.dumps(stop, separators=(",", ":")) + "\n")
    for function in {id(f): f for f in list(by_place.values())}.values():
        say(function=function.name, callers=function.callers)
    say(done=total)
    OUT.close()


guarded(main)
