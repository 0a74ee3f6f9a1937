"""Drives lldb for a suite's runner; drive_gdb.py says how it is asked and what it answers."""
import json
import os
import sys

import lldb

sys.path.insert(0, os.environ["TRUELINE_TRACER_DIR"])
from shared import LEAVES, OUT, QUESTIONS, emit, float_text

MOST_FRAMES = 32
SETTINGS = (
    "target.load-script-from-symbol-file false", "target.load-cwd-lldbinit false", "symbols.enable-external-lookup false",
    "target.prefer-dynamic-value no-dynamic-values", "target.inherit-env false", "target.disable-aslr true", "use-color false",
    "target.process.thread.step-in-avoid-nodebug true",
)
AGGREGATES = lldb.eTypeClassStruct | lldb.eTypeClassUnion | lldb.eTypeClassClass
POINTERS = lldb.eTypeClassPointer | lldb.eTypeClassReference | lldb.eTypeClassFunction | lldb.eTypeClassMemberPointer
ARRAYS = lldb.eTypeClassArray | lldb.eTypeClassVector


def kind(name, text=None):
    return {"kind": name} if text is None else {"kind": name, "text": text}


class Lost(Exception):
    """A part without a place."""


class Unreadable(Exception):
    """A part whose place cannot be read."""


def check(value):
    error = value.GetError()
    if error.Fail():
        message = error.GetCString() or ""
        if "not available" in message or "optimized out" in message or "no location" in message:
            raise Lost()
        raise Unreadable(message)


def scalar(value, type_):
    check(value)
    if type_.GetTypeClass() & POINTERS:
        return hex(value.GetValueAsUnsigned(0))
    flags, size, error = type_.GetTypeFlags(), type_.GetByteSize(), lldb.SBError()
    if flags & lldb.eTypeIsFloat:
        data = value.GetData()
        read = {4: data.GetFloat, 8: data.GetDouble}.get(size, data.GetLongDouble)
        number = read(error, 0)
        if error.Fail():
            raise Unreadable(error.GetCString() or "")
        return float_text(number, size)
    if size == 0 or size > 16:
        raise Unreadable("it is no scalar")
    if size > 8:
        number = int.from_bytes(value.GetData().ReadRawData(error, 0, size), "little")
    else:
        number = value.GetValueAsUnsigned(error, 0)
    if error.Fail():
        raise Unreadable(error.GetCString() or "")
    # The number is the whole register or computed value; what lldb displays is the part of it that the type has.
    bits = 8 * size
    number &= (1 << bits) - 1
    if flags & lldb.eTypeIsSigned and number >> (bits - 1):
        number -= 1 << bits
    return str(number)


def render(value, budget):
    """Canonical text of a value; `?` stands for a part without location."""
    budget[0] -= 1
    if budget[0] < 0:
        return "..."
    value = value.GetNonSyntheticValue()
    type_ = value.GetType().GetCanonicalType()
    if type_.GetTypeClass() & (AGGREGATES | ARRAYS):
        children = (value.GetChildAtIndex(i, lldb.eNoDynamicValues, False) for i in range(value.GetNumChildren()))
        return "{" + ", ".join(render(child, budget) for child in children) + "}"
    try:
        text = scalar(value, type_)
    except Lost:
        budget[1] = True
        return "?"
    budget[2] = True
    return text


class Driver:
    def open(self, binary, arguments):
        self.debugger = lldb.SBDebugger.Create(False)
        self.debugger.SetAsync(False)
        self.interpreter = self.debugger.GetCommandInterpreter()
        for setting in SETTINGS:
            self.debugger.HandleCommand("settings set " + setting)
        error = lldb.SBError()
        self.target = self.debugger.CreateTarget(binary, None, None, False, error)
        if not self.target.IsValid():
            raise RuntimeError("lldb does not load the binary: %s" % error.GetCString())
        self.debugger.SetSelectedTarget(self.target)
        self.arguments = arguments
        self.process = None
        return {}

    def place(self, breakpoint):
        if breakpoint.GetNumLocations() == 0:
            self.target.BreakpointDelete(breakpoint.GetID())
            return {"id": None, "why": "there is no code for it"}
        return {"id": breakpoint.GetID()}

    def launch(self):
        info = lldb.SBLaunchInfo(self.arguments)
        info.SetEnvironmentEntries([], False)
        info.SetLaunchFlags(lldb.eLaunchFlagDisableASLR)
        info.SetWorkingDirectory(os.getcwd())
        info.AddOpenFileAction(0, "/dev/null", True, False)
        info.AddOpenFileAction(1, "/dev/null", False, True)
        info.AddOpenFileAction(2, "/dev/null", False, True)
        error = lldb.SBError()
        self.process = self.target.Launch(info, error)
        if error.Fail() or not self.process.IsValid():
            raise RuntimeError("lldb does not start the program: %s" % error.GetCString())

    def thread(self):
        for thread in self.process:
            if thread.GetStopReason() not in (lldb.eStopReasonNone, lldb.eStopReasonInvalid):
                self.process.SetSelectedThread(thread)
                return thread
        return self.process.GetSelectedThread()

    def go(self, word):
        if self.process is None:
            self.launch()
        elif word == "go":
            self.process.Continue()
        else:
            thread = self.thread()
            {"over": thread.StepOver, "into": thread.StepInto, "out": thread.StepOut}[word]()
        return self.stand()

    def stand(self):
        if self.process is None or self.process.GetState() != lldb.eStateStopped:
            return {"over": "the program ended"}
        thread = self.thread()
        reason = thread.GetStopReason()
        if reason in (lldb.eStopReasonSignal, lldb.eStopReasonException):
            return {"over": "the program got a signal"}
        hits = []
        if reason == lldb.eStopReasonBreakpoint:
            hits = [thread.GetStopReasonDataAtIndex(i) for i in range(0, thread.GetStopReasonDataCount(), 2)]
        frames = []
        for frame in list(thread)[:MOST_FRAMES]:
            entry = frame.GetLineEntry()
            name = frame.GetFunctionName() or ""
            frames.append([name, 1 if frame.IsInlined() else 0, entry.GetFileSpec().GetFilename(), entry.GetLine()])
        # What is said next is said where the program stands.
        thread.SetSelectedFrame(0)
        return {"frames": frames, "hits": hits}

    def say(self, command):
        result = lldb.SBCommandReturnObject()
        self.interpreter.HandleCommand(command, result)
        return (result.GetOutput() or "") + (result.GetError() or "")

    def look(self, expression, command):
        printed = self.say(command) if command else ""
        if self.process is None or self.process.GetState() != lldb.eStateStopped:
            return {"answer": kind("not-reached", "the program does not run"), "printed": printed, "type": None}
        frame = self.thread().GetFrameAtIndex(0)
        value = frame.GetValueForVariablePath(expression, lldb.eNoDynamicValues)
        if not value.IsValid() or value.GetError().Fail() and not value.GetType().IsValid():
            options = lldb.SBExpressionOptions()
            options.SetIgnoreBreakpoints(True)
            options.SetTimeoutInMicroSeconds(5000000)
            options.SetAllowJIT(False)
            value = frame.EvaluateExpression(expression, options)
        type_ = value.GetType().GetDisplayTypeName() if value.IsValid() else None
        return {"answer": self.answer_of(value), "printed": printed or self.spell(value), "type": type_ or None}

    def spell(self, value):
        """What lldb displays of a value: its number or name, else its summary."""
        return value.GetValue() or value.GetSummary() or ""

    def answer_of(self, value):
        error = value.GetError()
        message = (error.GetCString() or "") if error.Fail() else ""
        if "undeclared identifier" in message or "no variable named" in message:
            return kind("not-in-scope")
        if "error:" in message:
            return kind("refused", message.strip().splitlines()[0])
        budget = [LEAVES, False, False]
        try:
            if not value.GetType().IsValid():
                check(value)
                return kind("refused", message or "it has no type")
            text = render(value, budget)
        except Lost:
            return kind("optimized-out")
        except Unreadable as reason:
            return kind("unreadable", str(reason))
        if budget[1] and not budget[2]:
            return kind("optimized-out")
        return kind("value", text)

    def answer(self, question):
        word, rest = question[0], question[1:]
        if word == "open":
            return self.open(*rest)
        if word == "line":
            return self.place(self.target.BreakpointCreateByLocation(*rest))
        if word == "function":
            return self.place(self.target.BreakpointCreateByName(*rest))
        if word == "delete":
            for number in rest[0]:
                self.target.BreakpointDelete(number)
            return {}
        if word in ("go", "over", "into", "out"):
            return self.go(word)
        if word == "look":
            return self.look(*rest)
        return {"text": self.say(rest[0])}


driver = Driver()


def end():
    if driver.process is not None:
        driver.process.Kill()


serve(driver, end)
