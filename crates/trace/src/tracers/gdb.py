"""Steps a program inside gdb and writes what gdb shows; shared.py says how it is asked and what it writes."""
import os
import shlex
import sys

import gdb

sys.path.insert(0, os.environ["TRUELINE_TRACER_DIR"])
from gdb_values import POINTERS, prepare, render
from shared import LEAVES, BadProgram, NoDebugInfo, Variables, emit, load_bias, observation, serve

FORKS = "starts another process; --allow fork lets it"


def debug_files(directories):
    """The command that makes gdb look for debug files in these directories only."""
    return "set debug-file-directory " + (":".join(directories) or "/nonexistent")


def holds_pointer(type_, depth=0):
    type_ = type_.strip_typedefs()
    if type_.code in POINTERS:
        return True
    if depth > 16:
        return True
    if type_.code == gdb.TYPE_CODE_ARRAY:
        return holds_pointer(type_.target(), depth + 1)
    if type_.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return any(holds_pointer(f.type, depth + 1) for f in type_.fields() if f.type is not None)
    return False


def observe(symbol, frame, type_):
    try:
        value = symbol.value(frame) if symbol.needs_frame else symbol.value()
        budget = [LEAVES, False, False]
        text = render(value, type_, budget)
        if "synthetic" in text:
            return "v", text
        if budget[1] and not budget[2]:
            return "o", None
        return "v", text
    except gdb.error as error:
        message = str(error)
        if "optimized out" in message:
            return "o", None
        return "u", None
    except (OverflowError, RuntimeError, ValueError, TypeError):
        return "u", None


class Tracer:
    def __init__(self, config):
        self.config = config
        self.user = set(config["user_files"])
        self.vars = Variables()
        self.blocks = {}    # block key -> [(id, symbol, type)]
        self.names = {}     # file name -> full name
        self.exit = None
        self.killed = False
        self.signal = None
        self.bias = 0
        self.started = False
        self.spawned = False
        self.spots = {}     # address -> [breakpoint, hits left]

    def is_user(self, symtab):
        if symtab is None:
            return False
        return not self.user or os.path.basename(symtab.filename) in self.user

    def full(self, symtab):
        name = self.names.get(symtab.filename)
        if name is None:
            name = self.names[symtab.filename] = os.path.normpath(symtab.fullname())
        return name

    def setup(self):
        run = lambda command: gdb.execute(command, to_string=True)
        wrapper = self.wrapper()
        for command in (
            "set pagination off", "set confirm off", "set width 0", "set height 0", "set debuginfod enabled off",
            debug_files(self.config["library_debug_dirs"]), "set print frame-arguments none", "set print frame-info short-location",
            "set print entry-values no", "set disable-randomization on", "set style enabled off", "set step-mode off",
            "set detach-on-fork " + ("on" if self.config["fork"] else "off"),
            "set follow-fork-mode " + ("child" if self.config["follow_child"] else "parent"), "set schedule-multiple off", "set max-completions 0",
            "set cwd " + (self.config["directory"] or os.getcwd()),
            "unset environment", "set unwindonsignal on", "set backtrace limit 4096", "set max-value-size 65536",
            "set startup-with-shell " + ("on" if self.config["shell"] or wrapper else "off"),
            "set exec-wrapper " + wrapper if wrapper else "unset exec-wrapper",
        ):
            run(command)
        gdb.events.exited.connect(self.on_exit)
        gdb.events.stop.connect(self.on_stop)

    def wrapper(self):
        """What starts the program under another name, with an environment and an input of its own; None when there is no need."""
        name, env, stdin = self.config["name"], self.config["env"], self.config["stdin"]
        if name is None and not env and stdin is None:
            return None
        quote = lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        entries = ", ".join(quote(key) + " => " + quote(value) for key, value in env)
        code = "%%ENV = (%s); my $program = shift; " % entries
        if stdin is not None:
            code += "open(STDIN, '<', %s) or die; " % quote(stdin)
        code += "exec { $program } %s, @ARGV;" % ("$program" if name is None else quote(name))
        return "/usr/bin/perl -e " + shlex.quote(code)

    def start(self):
        """To the beginning of main."""
        run = lambda command: gdb.execute(command, to_string=True)
        self.skip_other_files()
        run("start")
        self.started = True

    def skip_other_files(self):
        """`step` walks over functions of other files instead of entering them."""
        if not self.user:
            return
        text = gdb.execute("info sources", to_string=True)
        names = set()
        for line in text.splitlines():
            for name in line.split(", "):
                name = name.strip()
                if name.startswith("/") and os.path.basename(name) not in self.user:
                    names.add(name)
        for name in sorted(names):
            gdb.execute("skip file " + name, to_string=True)

    def on_exit(self, event):
        # A parent that is let go leaves too.
        if self.config["follow_child"] and not hasattr(event, "exit_code"):
            return
        # A death by signal has no exit code, and every signal but SIGKILL stops the program before it dies of it.
        self.killed = not hasattr(event, "exit_code")
        self.exit = getattr(event, "exit_code", None)

    def on_stop(self, event):
        if isinstance(event, gdb.SignalEvent):
            self.signal = event.stop_signal

    def run(self, command):
        try:
            gdb.execute(command, to_string=True)
        except gdb.error as error:
            if "vfork" in str(error):
                raise BadProgram(FORKS)
            raise
        # A child is kept, stopped, as an inferior of its own.
        self.spawned |= len(gdb.inferiors()) > 1 and not self.config["fork"]

    def describe(self, symbol, kind):
        type_ = symbol.type.strip_typedefs()
        descriptor = (symbol.name, kind, symbol.line, str(symbol.type), holds_pointer(type_))
        return self.vars.number(descriptor), symbol, type_

    def symbols_of(self, block, is_file_scope):
        found = []
        for symbol in block:
            if symbol.is_argument:
                kind = "param"
            elif symbol.is_variable or symbol.is_constant:
                if symbol.addr_class == gdb.SYMBOL_LOC_UNRESOLVED:
                    continue
                static = symbol.addr_class == gdb.SYMBOL_LOC_STATIC
                kind = "global" if static or is_file_scope else "local"
                if symbol.is_constant and symbol.type.code == gdb.TYPE_CODE_ENUM:
                    if any(f.name == symbol.name for f in symbol.type.fields()):
                        continue
            else:
                continue
            if symbol.type is None or symbol.type.code in (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_VOID):
                continue
            if symbol.type.name == "__CORE_ADDR":
                continue  # a label that lost its address looks like a variable
            if is_file_scope and not self.is_user(symbol.symtab):
                continue
            found.append(self.describe(symbol, kind))
        return found

    def variables(self, frame):
        out = []
        try:
            block = frame.block()
        except RuntimeError:
            return out
        chain = []
        in_function = True
        while block is not None:
            function = block.function
            chain.append((block, in_function))
            if function is not None:
                in_function = False
            if block.is_global:
                break
            block = block.superblock
        depth = len(chain)
        for block, inside in chain:
            file_scope = block.is_static or block.is_global
            depth -= 1
            if not inside and not file_scope:
                continue
            key = (block.start, block.end, depth, file_scope)
            listed = self.blocks.get(key)
            if listed is None:
                listed = self.blocks[key] = self.symbols_of(block, file_scope)
            for number, symbol, type_ in listed:
                state, text = observe(symbol, frame, type_)
                out.append(observation(number, state, text))
        return out

    def frames(self):
        """The user's frames down to main, `None` when main is not among them."""
        found = []
        frame = gdb.newest_frame()
        while frame is not None:
            function = frame.function()
            if function is not None:
                sal = frame.find_sal()
                inlined = 1 if frame.type() == gdb.INLINE_FRAME else 0
                if self.is_user(function.symtab) or found == []:
                    file = self.full(sal.symtab) if sal.symtab is not None else None
                    found.append([function.name, inlined, file, sal.line])
                if function.name == self.main and not inlined:
                    return found
            try:
                frame = frame.older()
            except gdb.error:
                return found
        return None if self.main is not None else found

    def ended(self):
        if self.killed:
            raise RuntimeError("the program was killed (signal 9)")
        if self.exit is not None or gdb.selected_inferior().pid == 0:
            return True
        if self.spawned:
            raise BadProgram(FORKS)
        if self.signal is not None:
            sal = gdb.newest_frame().find_sal()
            where = " at line %d" % sal.line if sal.symtab is not None and sal.line else ""
            verb = "raised SIGTRAP" if self.signal == "SIGTRAP" else "crashed with " + self.signal
            raise BadProgram(verb + where)
        return False

    def emit_stop(self, frame, sal, frames):
        emit({
            "file": self.full(sal.symtab), "line": sal.line, "pc": frame.pc() - self.bias,
            "frames": frames, "vars": self.variables(frame) if self.config["vars"] else [],
        })

    def emit_views(self):
        """A stop at a spot; where inlined functions begin, also as their callers see it, which stepping shows first."""
        frame, frames = gdb.newest_frame(), self.frames()
        for depth in range(len(frames)):
            sal = frame.find_sal()
            if sal.symtab is not None and self.is_user(sal.symtab):
                self.emit_stop(frame, sal, frames[depth:])
            if frame.type() != gdb.INLINE_FRAME or not self.begins(frame):
                break
            frame = frame.older()

    def begins(self, frame):
        """Whether the function of a frame starts at the frame's address."""
        block = frame.block()
        while block.function is None and block.superblock is not None:
            block = block.superblock
        return block.start == frame.pc()

    def read(self, pc):
        """What gdb has to say about an address of a program that does not run: line, inlined functions, names in scope."""
        sal = gdb.find_pc_line(pc)
        if sal.symtab is None or not self.is_user(sal.symtab):
            return
        frames, names = [], []
        block = gdb.block_for_pc(pc)
        while block is not None and not (block.is_static or block.is_global):
            if not frames:
                names += [[number, "o"] for number, _, _ in self.symbols_of(block, False)]
            if block.function is not None:
                # Where an inlined function was called from is known to frames alone.
                line = 0 if frames else sal.line
                frames.append([block.function.name, 0, self.full(sal.symtab), line])
            block = block.superblock
        for frame in frames[:-1]:
            frame[1] = 1
        emit({"file": self.full(sal.symtab), "line": sal.line, "pc": pc, "frames": frames, "vars": names})

    def look(self):
        """Stops at the spots only. One `step` after each stop: at the entry of an inlined function it goes in without moving."""
        self.setup()
        run = lambda command: gdb.execute(command, to_string=True)
        run(debug_files(self.config["debug_dirs"]))
        run("file " + self.config["binary"])
        run(debug_files(self.config["library_debug_dirs"]))
        self.main = None
        for address, hits in self.config["spots"]:
            if hits == 0:
                self.read(address)
        if not any(hits for _, hits in self.config["spots"]):
            return "finished"
        run("set args " + shlex.join(self.config["args"]))
        run("starti")
        self.bias = load_bias(self.config["binary"], gdb.selected_inferior().pid)
        for address, hits in self.config["spots"]:
            if hits > 0:
                self.spots[address] = [gdb.Breakpoint("*%d" % (address + self.bias), internal=True), hits]
        self.started = True
        self.signal = None
        self.run("continue")
        while not self.ended():
            pc = gdb.newest_frame().pc() - self.bias
            spot = self.spots.get(pc)
            if spot is None or spot[1] == 0:
                self.run("continue")
                continue
            spot[1] -= 1
            if spot[1] == 0:
                spot[0].enabled = False
            for _ in range(8):
                self.emit_views()
                self.run("step")
                if self.ended() or gdb.newest_frame().pc() - self.bias != pc:
                    break
            if all(left == 0 for _, left in self.spots.values()):
                break
            # A step that ended on another spot has hit it.
            if not self.ended() and gdb.newest_frame().pc() - self.bias not in self.spots:
                self.run("continue")
        return "finished"

    def places(self):
        """Where breakpoints on lines go, in the addresses of the file."""
        self.setup()
        gdb.execute(debug_files(self.config["debug_dirs"]), to_string=True)
        gdb.execute("file " + self.config["binary"], to_string=True)
        for number, (file, line) in enumerate(self.config["lines"]):
            breakpoint = gdb.Breakpoint("%s:%d" % (file, line), internal=True)
            found = []
            if not breakpoint.pending:
                for address in sorted(set(location.address for location in breakpoint.locations)):
                    sal = gdb.find_pc_line(address)
                    found.append([address, sal.symtab and sal.symtab.filename, sal.line])
            breakpoint.delete()
            emit({"places": [number, found]})
        return "finished"

    def close(self):
        gdb.events.exited.disconnect(self.on_exit)
        gdb.events.stop.disconnect(self.on_stop)
        for breakpoint, _ in self.spots.values():
            breakpoint.delete()
        for inferior in gdb.inferiors():
            try:
                gdb.execute("kill inferiors %d" % inferior.num, to_string=True)
            except gdb.error:
                pass

    def trace(self):
        self.setup()
        self.start()
        if self.ended():
            raise BadProgram("ended before main")
        self.bias = load_bias(self.config["binary"], gdb.selected_inferior().pid)
        frame = gdb.newest_frame()
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
        if frame.function() is None:
            raise NoDebugInfo("main has no debug information")
        self.main = frame.function().name
        steps = 0
        while True:
            frame = gdb.newest_frame()
            sal = frame.find_sal()
            user = sal.symtab is not None and self.is_user(sal.symtab)
            if user:
                frames = self.frames()
                if frames is None:
                    return "finished"
                self.emit_stop(frame, sal, frames)
                steps += 1
                if steps >= self.config["max_steps"]:
                    return "cut-off"
            elif self.frames() is None:
                return "finished"
            if user or frame.type() == gdb.INLINE_FRAME or sal.symtab is not None and not frame.older():
                self.run("step")
            else:
                self.run("finish")
            if self.ended():
                return "finished"


def tracer(config):
    prepare()
    return Tracer(config)


serve(tracer)
