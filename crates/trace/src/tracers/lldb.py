"""Steps a program inside lldb and writes what lldb shows; shared.py says how it is asked and what it writes.

Loaded with `command script import`.
"""
import os
import sys

import lldb

sys.path.insert(0, os.environ["TRUELINE_TRACER_DIR"])
from shared import LEAVES, BadProgram, Variables, emit, float_text, load_bias, observation, serve

SPAWNERS = ("fork", "vfork", "_Fork", "posix_spawn", "posix_spawnp")


class Unreadable(Exception):
    pass


class OptimizedOut(Exception):
    pass


def check(value):
    error = value.GetError()
    if error.Fail():
        message = error.GetCString() or ""
        if "not available" in message or "optimized out" in message or "no location" in message:
            raise OptimizedOut()
        raise Unreadable()


AGGREGATES = lldb.eTypeClassStruct | lldb.eTypeClassUnion | lldb.eTypeClassClass
POINTERS = lldb.eTypeClassPointer | lldb.eTypeClassReference | lldb.eTypeClassFunction | lldb.eTypeClassMemberPointer
ARRAYS = lldb.eTypeClassArray | lldb.eTypeClassVector


def render(value, type_, budget):
    """Canonical text of a value; `?` stands for a part without location."""
    budget[0] -= 1
    if budget[0] < 0:
        return "..."
    kind = type_.GetTypeClass()
    if kind & (AGGREGATES | ARRAYS):
        parts = []
        for index in range(value.GetNumChildren()):
            child = value.GetChildAtIndex(index, lldb.eNoDynamicValues, False)
            parts.append(render(child, child.GetType().GetCanonicalType(), budget))
            if budget[0] < 0:
                break
        return "{" + ", ".join(parts) + "}"
    try:
        check(value)
    except OptimizedOut:
        budget[1] = True
        return "?"
    budget[2] = True
    if kind & POINTERS:
        return hex(value.GetValueAsUnsigned(0))
    flags = type_.GetTypeFlags()
    error = lldb.SBError()
    if flags & lldb.eTypeIsFloat:
        data, size = value.GetData(), type_.GetByteSize()
        if size == 4:
            number = data.GetFloat(error, 0)
        elif size == 8:
            number = data.GetDouble(error, 0)
        else:
            number = data.GetLongDouble(error, 0)
        if error.Fail():
            raise Unreadable()
        return float_text(number, size)
    if flags & lldb.eTypeIsComplex:
        return value.GetValue() or "?"
    if type_.GetByteSize() > 8:
        data = value.GetData()
        raw = data.ReadRawData(error, 0, type_.GetByteSize())
        if error.Fail():
            raise Unreadable()
        return str(int.from_bytes(raw, "little", signed=bool(flags & lldb.eTypeIsSigned)))
    if flags & lldb.eTypeIsSigned:
        number = value.GetValueAsSigned(error, 0)
    else:
        number = value.GetValueAsUnsigned(error, 0)
    if error.Fail():
        raise Unreadable()
    # The number is the whole register or computed value; what lldb displays is the part of it that the type has.
    bits = 8 * type_.GetByteSize()
    number &= (1 << bits) - 1
    if flags & lldb.eTypeIsSigned and number >> (bits - 1):
        number -= 1 << bits
    return str(number)


def holds_pointer(type_, depth=0):
    type_ = type_.GetCanonicalType()
    kind = type_.GetTypeClass()
    if kind & POINTERS or depth > 16:
        return True
    if kind & ARRAYS:
        return holds_pointer(type_.GetArrayElementType(), depth + 1)
    if kind & AGGREGATES:
        return any(holds_pointer(type_.GetFieldAtIndex(i).GetType(), depth + 1) for i in range(type_.GetNumberOfFields()))
    return False


def debug_files(directories):
    """The setting that makes lldb look for debug files in these directories."""
    return "target.debug-file-search-paths " + (" ".join("'%s'" % d for d in directories) or "/nonexistent")


class Tracer:
    def __init__(self, config):
        self.config = config
        self.user = set(config["user_files"])
        self.vars = Variables()
        self.pointers = {}   # type name -> holds a pointer
        self.debugger = None
        self.process = None
        self.way_out = None  # the breakpoint that every program passes when it exits

    def is_user(self, spec):
        name = spec.GetFilename()
        return name is not None and (not self.user or name in self.user)

    def full(self, spec):
        return os.path.normpath(os.path.join(spec.GetDirectory() or "", spec.GetFilename()))

    def setup(self):
        self.debugger = lldb.SBDebugger.Create(False)
        self.debugger.SetAsync(False)
        for setting in (
            "target.load-script-from-symbol-file false", "target.load-cwd-lldbinit false", "symbols.enable-external-lookup false",
            debug_files(self.config["debug_dirs"]), "target.process.thread.step-in-avoid-nodebug true",
            "target.process.thread.step-avoid-libraries libc.so.6 ld-linux-x86-64.so.2 libm.so.6",
            "target.prefer-dynamic-value no-dynamic-values", "target.enable-synthetic-value false",
            "target.process.stop-on-exec false", "target.inherit-env false", "target.disable-aslr true",
        ):
            self.debugger.HandleCommand("settings set " + setting)
        error = lldb.SBError()
        self.target = self.debugger.CreateTarget(self.config["binary"], None, None, False, error)
        if not self.target.IsValid():
            raise RuntimeError("lldb does not load the binary: %s" % error.GetCString())
        self.target.GetModuleAtIndex(0).GetNumSymbols()  # finds the binary's debug file, before the libraries' are looked for
        self.debugger.HandleCommand("settings set " + debug_files(self.config["library_debug_dirs"]))

    def launch(self):
        # Under lldb 16 a program is always told its path as its name, whatever target.arg0 says.
        info = lldb.SBLaunchInfo(self.config["args"])
        info.SetEnvironmentEntries(["%s=%s" % (key, value) for key, value in self.config["env"]], False)
        info.SetLaunchFlags(lldb.eLaunchFlagDisableASLR)
        info.SetWorkingDirectory(self.config["directory"] or os.getcwd())
        info.AddOpenFileAction(0, self.config["stdin"] or "/dev/null", True, False)
        info.AddOpenFileAction(1, "/dev/null", False, True)
        info.AddOpenFileAction(2, "/dev/null", False, True)
        error = lldb.SBError()
        self.process = self.target.Launch(info, error)
        if error.Fail() or not self.process.IsValid():
            raise RuntimeError("lldb does not start the program: %s" % error.GetCString())

    def observe(self, value):
        try:
            check(value)
            budget = [LEAVES, False, False]
            text = render(value, value.GetType().GetCanonicalType(), budget)
            if budget[1] and not budget[2]:
                return "o", None
            return "v", text
        except OptimizedOut:
            return "o", None
        except Unreadable:
            return "u", None

    def describe(self, value, kind="local"):
        """The id of a variable."""
        type_name = value.GetTypeName() or ""
        pointer = self.pointers.get(type_name)
        if pointer is None:
            pointer = self.pointers[type_name] = holds_pointer(value.GetType())
        name = (value.GetName() or "").removeprefix("::")
        descriptor = (name, kind, value.GetDeclaration().GetLine(), type_name, pointer)
        return self.vars.number(descriptor)

    def variables(self, frame):
        out = []
        for value in frame.GetVariables(True, True, True, True, lldb.eNoDynamicValues):
            scope = value.GetValueType()
            if scope == lldb.eValueTypeVariableArgument:
                kind = "param"
            elif scope == lldb.eValueTypeVariableLocal:
                kind = "local"
            else:
                kind = "global"
                if not self.is_user(value.GetDeclaration().GetFileSpec()):
                    continue
            number = self.describe(value, kind)
            state, text = self.observe(value)
            out.append(observation(number, state, text))
        return out

    def frames(self, thread):
        """The user's frames down to main, `None` when main is not among them."""
        found = []
        lost = False
        for frame in thread:
            entry = frame.GetLineEntry()
            inlined = frame.IsInlined()
            if frame.GetFunction().IsValid() or inlined:
                name = frame.GetFunctionName() or ""
                spec = entry.GetFileSpec()
                if self.is_user(spec) or not found:
                    found.append([name, 1 if inlined else 0, self.full(spec) if spec.GetFilename() else None, entry.GetLine()])
                if name == self.main and not inlined:
                    return found
                # lldb may not find the caller of an inlined call; the function around both it always knows.
                lost = lost or inlined and frame.GetFunction().GetName() == self.main
        return found if lost or self.main is None else None

    def guard_exit(self):
        """lldb does not tell an exit code of 9 from a death by SIGKILL: who did not pass here was killed."""
        self.way_out = self.target.BreakpointCreateByName("_exit").GetID()

    def ended(self):
        """True when the program is over; complains when it did what closed programs do not do."""
        state = self.process.GetState()
        if state == lldb.eStateExited and self.process.GetExitStatus() == 9:
            raise RuntimeError("the program was killed (signal 9)")
        if state in (lldb.eStateExited, lldb.eStateDetached, lldb.eStateInvalid):
            return True
        thread = self.process.GetThreadAtIndex(0)
        for other in self.process:
            if other.GetStopReason() == lldb.eStopReasonBreakpoint:
                thread = other
        reason = thread.GetStopReason()
        if reason in (lldb.eStopReasonSignal, lldb.eStopReasonException):
            line = thread.GetFrameAtIndex(0).GetLineEntry().GetLine()
            where = " at line %d" % line if line else ""
            signal = thread.GetStopReasonDataAtIndex(0) if thread.GetStopReasonDataCount() else 0
            name = self.process.GetUnixSignals().GetSignalAsCString(signal) or "signal %d" % signal
            raise BadProgram(("raised SIGTRAP" if name == "SIGTRAP" else "crashed with " + name) + where)
        if reason in (lldb.eStopReasonFork, lldb.eStopReasonVFork):
            raise BadProgram("starts another process; --allow fork lets it")
        if reason == lldb.eStopReasonBreakpoint:
            stopped_by = thread.GetStopReasonDataAtIndex(0)
            if stopped_by in self.guards:
                raise BadProgram("starts another process; --allow fork lets it")
            return stopped_by == self.way_out
        return False

    def emit_stop(self, frame, entry, frames):
        emit({
            "file": self.full(entry.GetFileSpec()), "line": entry.GetLine(), "pc": frame.GetPC() - self.bias,
            "frames": frames, "vars": self.variables(frame) if self.config["vars"] else [],
        })

    def emit_views(self, thread):
        """A stop at a spot; where inlined functions begin, also as their callers see it, which stepping shows first."""
        frames = self.frames(thread)
        for depth in range(len(frames)):
            frame = thread.GetFrameAtIndex(depth)
            entry = frame.GetLineEntry()
            if self.is_user(entry.GetFileSpec()):
                self.emit_stop(frame, entry, frames[depth:])
            if not frame.IsInlined() or not self.begins(frame.GetFrameBlock(), frame.GetPC() - self.bias):
                break

    def begins(self, block, pc):
        """Whether a block has a range that starts at an address."""
        return any(block.GetRangeStartAddress(i).GetFileAddress() == pc for i in range(block.GetNumRanges()))

    def read(self, pc, place):
        """What lldb has to say about an address of a program that does not run: line, inlined functions, names in scope; where
        inlined functions begin, also as their callers see it, since that is what lldb shows first when it steps there."""
        entry = place.GetLineEntry()
        spec = entry.GetFileSpec()
        if not self.is_user(spec):
            return
        line, file = entry.GetLine(), self.full(spec)
        frames, names, begins = [], [[]], []
        block = place.GetBlock()
        while block.IsValid():
            names[-1] += [[self.describe(value), "o"] for value in block.GetVariables(self.target, True, True, True)]
            if block.IsInlined():
                frames.append([block.GetInlinedName(), 1, file, line])
                line, file = block.GetInlinedCallSiteLine(), self.full(block.GetInlinedCallSiteFile())
                names.append([])
                begins.append(self.begins(block, pc))
            block = block.GetParent()
        frames.append([place.GetFunction().GetName() or "", 0, file, line])
        for depth, (_, _, file, line) in enumerate(frames):
            emit({"file": file, "line": line, "pc": pc, "frames": frames[depth:], "vars": names[depth]})
            if depth < len(begins) and not begins[depth]:
                break

    def look(self):
        """Stops at the spots only. One step after each stop: at the entry of an inlined function it goes in without moving."""
        self.guards = set()
        self.main = None
        self.setup()
        left, breakpoints = {}, {}
        module = self.target.GetModuleAtIndex(0)
        for address, hits in self.config["spots"]:
            place = module.ResolveFileAddress(address)
            if hits == 0:
                self.read(address, place)
            else:
                breakpoints[address] = self.target.BreakpointCreateBySBAddress(place)
                left[address] = hits
        if not left:
            return "finished"
        self.guard_exit()
        self.launch()
        if self.ended():
            return "finished"
        self.bias = load_bias(self.config["binary"], self.process.GetProcessID())
        while not self.ended():
            thread = self.process.GetSelectedThread()
            pc = thread.GetFrameAtIndex(0).GetPC() - self.bias
            if not left.get(pc):
                self.process.Continue()
                continue
            left[pc] -= 1
            if left[pc] == 0:
                breakpoints[pc].SetEnabled(False)
            for _ in range(8):
                self.emit_views(thread)
                thread.StepInto()
                if self.ended() or thread.GetFrameAtIndex(0).GetPC() - self.bias != pc:
                    break
            if not any(left.values()):
                break
            if not self.ended() and thread.GetFrameAtIndex(0).GetPC() - self.bias not in left:
                self.process.Continue()
        return "finished"

    def places(self):
        """Where breakpoints on lines go, in the addresses of the file."""
        self.setup()
        for number, (file, line) in enumerate(self.config["lines"]):
            breakpoint = self.target.BreakpointCreateByLocation(file, line)
            places = [location.GetAddress() for location in breakpoint]
            found = []
            for place in sorted(places, key=lambda p: p.GetFileAddress()):
                entry = place.GetLineEntry()
                found.append([place.GetFileAddress(), entry.GetFileSpec().GetFilename(), entry.GetLine()])
            self.target.BreakpointDelete(breakpoint.GetID())
            emit({"places": [number, found]})
        return "finished"

    def close(self):
        if self.process is not None:
            self.process.Kill()
        if self.debugger is not None:
            lldb.SBDebugger.Destroy(self.debugger)
            lldb.SBDebugger.MemoryPressureDetected()

    def trace(self):
        self.guards = set()
        self.setup()
        if self.target.BreakpointCreateByName("main").GetNumLocations() == 0:
            raise RuntimeError("there is no function main")
        self.guard_exit()
        self.launch()
        while True:
            if self.ended():
                raise BadProgram("ended before main")
            thread = self.process.GetSelectedThread()
            frame = thread.GetFrameAtIndex(0)
            if self.is_user(frame.GetLineEntry().GetFileSpec()):
                break
            if self.process.Continue().Fail():
                raise RuntimeError("lldb does not reach main")
        # The first stop may already be inside something that was inlined into main.
        real = next((f for f in thread if not f.IsInlined()), frame)
        self.main = real.GetFunctionName()
        self.target.DeleteAllBreakpoints()
        self.guard_exit()
        for name in SPAWNERS:
            self.guards.add(self.target.BreakpointCreateByName(name).GetID())
        self.bias = load_bias(self.config["binary"], self.process.GetProcessID())
        steps = 0
        while True:
            frame = thread.GetFrameAtIndex(0)
            entry = frame.GetLineEntry()
            user = self.is_user(entry.GetFileSpec())
            if user:
                frames = self.frames(thread)
                if frames is None:
                    return "finished"
                self.emit_stop(frame, entry, frames)
                steps += 1
                if steps >= self.config["max_steps"]:
                    return "cut-off"
            elif self.frames(thread) is None:
                return "finished"
            if user or frame.IsInlined():
                thread.StepInto()
            else:
                thread.StepOut()
            if self.ended():
                return "finished"


serve(Tracer)
