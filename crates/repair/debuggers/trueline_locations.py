"""Says in gdb or lldb whether what is shown of a variable was proved.

gdb:   source trueline_locations.py, then: trueline [VARIABLE]
lldb:  command script import trueline_locations.py, then: trueline [VARIABLE]
"""
import json
import struct

SECTION = b".note.trueline"


def sections(path):
    """Name, address, offset and size of each section of an ELF file."""
    with open(path, "rb") as file:
        data = file.read()
    start = struct.unpack_from("<Q", data, 0x28)[0]
    count, names = struct.unpack_from("<HH", data, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", data, start + 64 * n) for n in range(count)]
    table = headers[names][4]
    for name, _, _, address, offset, size in headers:
        end = data.index(b"\0", table + name)
        yield data[table + name : end], address, data[offset : offset + size]


def locations(path):
    """The new locations of a file: low, high, variable, line, worth."""
    for name, _, data in sections(path):
        if name == SECTION:
            owner, length = struct.unpack_from("<II", data)
            at = 12 + (owner + 3) // 4 * 4
            return json.loads(data[at : at + length])["locations"]
    return []


def lines(path, pc, wanted):
    """What is to be said at an address of the file."""
    found = [one for one in locations(path) if one[0] <= pc < one[1] and wanted in ("", one[2])]
    if not found:
        return ["the compiler's own location" if wanted else "no new locations here"]
    return ["%s (line %d): %s" % (variable, line, worth) for _, _, variable, line, worth in found]


try:
    import gdb
except ImportError:
    gdb = None

if gdb:

    class Trueline(gdb.Command):
        """trueline [VARIABLE]: whether what is shown here was proved or only validated by trueline repair."""

        def __init__(self):
            super().__init__("trueline", gdb.COMMAND_DATA)

        def invoke(self, argument, from_tty):
            frame = gdb.selected_frame()
            table = frame.find_sal().symtab
            if table is None:
                raise gdb.GdbError("there is no debug information here")
            path = table.objfile.filename
            pc = frame.pc()
            # Where the loader has put the code: gdb lists the sections as they lie in the process.
            linked = {name.decode(): address for name, address, _ in sections(path)}
            moved = 0
            for line in gdb.execute("info files", to_string=True).splitlines():
                words = line.split()
                if len(words) > 4 and words[3] == "is" and int(words[0], 16) <= pc < int(words[2], 16):
                    moved = int(words[0], 16) - linked.get(words[4], int(words[0], 16))
            for line in lines(path, pc - moved, argument.strip()):
                print(line)

    Trueline()


def __lldb_init_module(debugger, _):
    debugger.HandleCommand("command script add -f %s.trueline trueline" % __name__)


def trueline(debugger, argument, result, _):
    """trueline [VARIABLE]: whether what is shown here was proved or only validated by trueline repair."""
    frame = debugger.GetSelectedTarget().GetProcess().GetSelectedThread().GetSelectedFrame()
    path = frame.GetModule().GetFileSpec().fullpath
    for line in lines(path, frame.GetPCAddress().GetFileAddress(), argument.strip()):
        result.AppendMessage(line)
