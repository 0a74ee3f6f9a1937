"""Stops a program at chosen addresses and writes what gdb shows there, one JSON line per stop.

The configuration names the binary, its arguments, the units whose lines count, the shared objects that are compared as
memory, and the addresses. Without addresses every row of the named functions is a stop, and the stack below a function
that is entered is filled with a pattern first, so that what nobody wrote can be told by it.
"""

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
    settings()
    gdb.execute("file " + CONFIG["binary"])
    before = address_of("main")
    inferior = gdb.selected_inferior()
    gdb.execute("set args " + " ".join(CONFIG["args"]))
    gdb.execute("tbreak main", to_string=True)
    gdb.execute("run", to_string=True)
    bias = address_of("main") - before
    shared, scopes = Shared(), Scopes()
    mark = address_of(CONFIG["mark"]) if CONFIG["mark"] else 0
    table = rows()
    reference = "functions" in CONFIG
    first_rows = {}
    if reference:
        places = wanted(table)
        first_rows = entries(places)
    else:
        places = instructions([(low + bias, high + bias) for low, high in CONFIG["ranges"]])
    for place in sorted(places):
        gdb.Breakpoint(f"*{place:#x}", internal=True).silent = True
    second_rows = {second: first for first, second in first_rows.items() if second}
    stops = 0
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
            say(cut=stops)
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
    say(done=stops)
    OUT.close()


guarded(main)
