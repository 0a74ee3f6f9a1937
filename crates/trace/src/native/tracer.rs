//! The run: from stop to stop under a policy, each shown stop pushed to the sink.

mod lost;
mod moments;
mod start;
#[cfg(test)]
mod tests;

use super::cfi::CfaRule;
use super::coverage::{lines_at, lines_by_address};
use super::eval::Machine;
use super::frame::{Frame as Machinery, RSP, Registers};
use super::glide::{Glide, Met, Moves, Terrain};
use super::libraries;
use super::module::{BlockKind, FileId, Function, FunctionId, Module};
use super::path::PathId;
use super::policy::gdb::GdbStepper;
use super::policy::lldb::LldbStepper;
use super::policy::standard::StandardStepper;
use super::policy::{Position, PositionKind, Shown, StackId, Stepper, Verdict, call_line, has_lost_caller, inlined_at, sites};
use super::retire::{AT_FIRST, Retirement};
use super::stack::{Activation, Change, Entered, Stack};
use super::tailcall;
use super::watch::{Scope, View, Watch, Windows, visible};
use crate::{Patience, TraceEnd, TraceError, TraceRequest, Vars};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use trueline_dwarf::is_languages_own;
use trueline_machine::inferior::{AddressHasher, Event, Inferior, Refusal};
use trueline_model::{Debugger, FileName, Frame, FrameKind, Line, LineKey, News, Policy, Statics, Step, StepSink};
use trueline_toolchain::Permission;

type ByAddress<T> = HashMap<u64, T, BuildHasherDefault<AddressHasher>>;

/// What never changes about a breakpoint's address.
struct Site {
    function: FunctionId,
    cfa: CfaRule,
    is_entry: bool,
    /// How often in a row nothing happened here, and since when.
    quiet: Cell<(u64, u64, u32)>,
}

/// Visits without effect after which a breakpoint is taken out until something changes.
const QUIET_VISITS: u32 = 3;

/// Whether stops that cannot matter are worked out ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Foresight {
    Full,
    /// Every stop is made, to compare with.
    #[cfg(test)]
    None,
}

/// Arrivals after which a run counts as long.
const LONG: u64 = 10_000;

/// Frames between two functions of the user's that are unwound.
const MOST_BETWEEN: usize = 256;

/// Frames that are kept for the next time, over all backtraces: some 60 MB.
const MOST_FRAMES: usize = 1 << 20;

/// Way from main, address, hidden inlined calls and line shown.
type BacktraceKey = (PathId, u64, usize, u32);

/// Backtraces built so far.
#[derive(Default)]
struct Backtraces {
    known: HashMap<BacktraceKey, Arc<[Frame]>>,
    frames: usize,
}

impl Backtraces {
    fn keep(&mut self, key: BacktraceKey, frames: &Arc<[Frame]>) {
        // A deep recursion takes a new way at each level; what is thrown away is built again when needed.
        if self.frames > MOST_FRAMES {
            self.known.clear();
            self.frames = 0;
        }
        self.frames += frames.len();
        self.known.insert(key, Arc::clone(frames));
    }
}

/// How the run ended and what it cost.
pub(super) struct Run {
    pub end: TraceEnd,
    pub steps: u64,
    pub program_cpu: std::time::Duration,
    pub refusals: Vec<Refusal>,
    pub threads: u32,
    /// Addresses that were come to.
    pub addresses: HashSet<u64>,
    /// Those among them that were no longer stopped at.
    pub given_up: HashSet<u64>,
}

impl Run {
    /// Adds a run that followed another thread.
    pub fn add(&mut self, other: Self) {
        self.end = other.end;
        self.steps += other.steps;
        self.program_cpu += other.program_cpu;
        self.threads = self.threads.max(other.threads);
        self.refusals.extend(other.refusals);
        self.refusals.sort();
        self.refusals.dedup();
        self.addresses.extend(other.addresses);
        self.given_up.extend(other.given_up);
    }
}

/// A traced run.
pub(super) struct Tracer<'t> {
    module: &'t Module,
    request: &'t TraceRequest,
    /// The number of the thread that is followed.
    thread: u32,
    user: Vec<bool>,
    stepper: Box<dyn Stepper + 't>,
    inferior: Inferior,
    stack: Stack,
    sites: ByAddress<Rc<Site>>,
    scopes: HashMap<(u64, usize), Rc<Scope>>,
    backtraces: Backtraces,
    /// Ways and addresses that the sink was told of.
    passed: HashSet<(PathId, u64)>,
    /// The user's rows, read when first asked for.
    rows: Option<Vec<(u64, Option<LineKey>)>>,
    windows: Windows,
    watch: Watch,
    steps: u64,
    muted: Vec<u64>,
    glide: Glide,
    foresight: Foresight,
    retirement: Retirement,
    /// Arrivals before which no address is given up.
    at_first: u64,
    /// Breakpoints that the program came to.
    arrivals: u64,
}

impl<'t> Tracer<'t> {
    /// Starts the program. The first thread has the number 0; the others are counted as they are started.
    pub fn launch(module: &'t Module, request: &'t TraceRequest, thread: u32) -> Result<Self, TraceError> {
        let user: Vec<bool> = module.files.iter().map(|f| is_user(request, f)).collect();
        let stepper: Box<dyn Stepper + 't> = match request.policy {
            Policy::Gdb | Policy::Gdb16 | Policy::Gdb18 => Box::new(GdbStepper::new(module, user.clone())),
            Policy::Lldb | Policy::Lldb22 => Box::new(LldbStepper::new(module, &user, request.policy)),
            Policy::Standard => Box::new(StandardStepper::new(module)),
        };
        let mut inferior = Inferior::launch(&request.job()?, module.entry, module.image)?;
        inferior.permit(request.launch.allowed, request.follow);
        libraries::follow(&mut inferior, module)?;
        let windows = Windows::new(module, inferior.bias());
        Ok(Self {
            module,
            request,
            thread,
            user,
            stepper,
            inferior,
            stack: Stack::default(),
            sites: HashMap::default(),
            scopes: HashMap::new(),
            backtraces: Backtraces::default(),
            passed: HashSet::new(),
            rows: None,
            windows,
            watch: Watch::new(module, request.policy, request.vars),
            steps: 0,
            muted: Vec::new(),
            glide: Glide::default(),
            foresight: Foresight::Full,
            retirement: Retirement::default(),
            at_first: AT_FIRST,
            arrivals: 0,
        })
    }

    /// Runs from main to its return, or of another thread from its first function of the user's to that one's.
    pub fn run(mut self, sink: &mut dyn StepSink) -> Result<Run, TraceError> {
        let end = self.trace(sink).map_err(|e| self.inferior.why(e))?;
        let (refusals, threads) = (self.inferior.refusals().to_vec(), self.inferior.threads_beside());
        let (addresses, given_up) = (self.retirement.visited().collect(), self.retirement.given_up().collect());
        Ok(Run { end, steps: self.steps, program_cpu: self.inferior.cpu(), refusals, threads, addresses, given_up })
    }

    fn trace(&mut self, sink: &mut dyn StepSink) -> Result<TraceEnd, TraceError> {
        let bias = self.inferior.bias();
        // What others did before them says nothing of the calls of further threads.
        let wants_calls = self.thread == 0 && sink.wants_calls();
        let begun = if self.thread == 0 { self.begin()? } else { self.begin_thread()? };
        let Some(leave) = begun else { return Ok(TraceEnd::Finished) };
        let root = self.stack.activations[0].id.function;
        let entry = self.module.function(root).entry();
        let mut first = self.stepper.first_stop(root);
        let found = sites::find(self.module, self.stepper.sites(), |pc| {
            self.module.function_at(pc).is_some_and(|f| self.is_users(self.module.function(f)))
        });
        self.glide = Glide::new(found.returns);
        let visits = match self.request.patience {
            Patience::Visits(visits) if self.request.policy.debugger() != Some(Debugger::Lldb) => Some(visits),
            _ => None,
        };
        self.retirement = Retirement::new(&found.all, visits, self.at_first);
        let mut all = self.narrow(found.all, sink);
        let mut position = Position { pc: first, stack: self.stack.activations[0].id, caller: None, kind: PositionKind::Real };
        let mut verdict = Verdict::Run;
        if let Some(landmark) = &self.request.focus.after {
            position = self.run_to(landmark, leave)?;
            first = position.pc;
        }
        if self.retirement.is_idle() {
            all.push(first);
        }
        all.iter_mut().for_each(|a| *a = a.wrapping_add(bias));
        all.push(leave);
        self.set_breakpoints(&all)?;

        // Run on to the first stop, past the prologue.
        if self.request.focus.after.is_none() && self.retirement.is_idle() {
            if first != entry {
                loop {
                    match self.inferior.resume()? {
                        Event::Breakpoint(at) if at == first.wrapping_add(bias) => break,
                        Event::Breakpoint(at) if at == leave => return Ok(TraceEnd::Finished),
                        Event::Breakpoint(_) => {}
                        event => return self.ended(event),
                    }
                }
            }
            verdict = self.stepper.begin(&position);
        }
        if wants_calls && self.is_complete() {
            self.tell_call(entry, sink);
        }
        // Whether the policy has heard of where the program stands.
        let mut is_followed = true;
        let mut visited = None;
        let mut told = News::Nothing;
        loop {
            while let Verdict::Stop(shown) = verdict {
                if self.user[shown.file.0 as usize] {
                    if self.steps >= self.request.max_steps {
                        return Ok(TraceEnd::CutOff);
                    }
                    let step = self.show(&position, shown, sink.statics());
                    self.steps += 1;
                    if let (true, Some(top)) = (wants_calls, self.stack.top()) {
                        sink.stand(top.call);
                    }
                    if sink.step(step).is_break() {
                        return Ok(TraceEnd::Stopped);
                    }
                    told = told.max(sink.news());
                }
                verdict = self.stepper.step(&position);
            }
            if let Some(pc) = visited.take()
                && self.retirement.visit(pc, told, self.arrivals)
            {
                self.retire(pc, sink)?;
            }
            if is_followed {
                self.look_ahead(&position)?;
            }
            match self.inferior.resume()? {
                Event::Breakpoint(at) if at == leave && self.is_back_in_mains_caller() => return Ok(TraceEnd::Finished),
                Event::Breakpoint(at) => {
                    self.arrivals += 1;
                    if self.arrivals == LONG {
                        self.inferior.share_processor();
                    }
                    if self.request.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        return Ok(TraceEnd::OutOfTime);
                    }
                    let pc = at.wrapping_sub(bias);
                    let before = (self.stepper.generation(), self.stack.changes);
                    match self.glide.meet(pc) {
                        Met::Quiet => {
                            self.inferior.mute(&[at]).map_err(breakpoint_failed)?;
                            continue;
                        }
                        Met::Exit(plan) => self.stepper.follow(&plan),
                        Met::Stop => {}
                    }
                    let last_call = self.stack.last_call;
                    let here = self.arrive(pc);
                    if last_call != self.stack.last_call && wants_calls && self.is_complete() {
                        self.tell_call(pc, sink);
                    }
                    is_followed = here.is_some();
                    verdict = Verdict::Run;
                    (visited, told) = (Some(pc), News::Nothing);
                    if let Some(here) = here {
                        position = here;
                        if sink.wants_passes() && self.tell_pass(pc, sink) {
                            told = sink.news();
                        }
                        verdict = if self.is_complete() { self.stepper.arrive(&position) } else { self.judge_arrival(&position) };
                        self.settle(pc, before)?;
                    }
                }
                event => return self.ended(event),
            }
        }
    }

    /// Runs to the first instruction of main; the address that main returns to, or nothing when the program ends before.
    fn begin(&mut self) -> Result<Option<u64>, TraceError> {
        let bias = self.inferior.bias();
        let main = self.module.main().ok_or_else(|| TraceError::BadBinary {
            binary: self.module.path.clone(),
            reason: "there is no function main with debug information".into(),
        })?;
        let entry = self.module.function(main).entry();
        self.set_breakpoints(&[entry.wrapping_add(bias)])?;
        match self.inferior.resume()? {
            Event::Breakpoint(_) => {}
            event => return self.ended(event).map(|_| None),
        }
        let sp = self.inferior.regs().rsp;
        let leave = self.return_address().ok_or_else(|| self.bad_program("has no readable stack"))?;
        self.stack = Stack::begin(main, sp.wrapping_add(8), leave.wrapping_sub(bias));
        Ok(Some(leave))
    }

    /// Takes breakpoints out of loops in which no debugger would notice anything, and puts them back on any change. Never
    /// at function entries, which tell calls, nor in recursive functions, where the same address of another activation
    /// may matter.
    fn settle(&mut self, pc: u64, before: (u64, u64)) -> Result<(), TraceError> {
        let bias = self.inferior.bias();
        let now = (self.stepper.generation(), self.stack.changes);
        if now != before {
            return self.unsettle();
        }
        let Some(site) = self.sites.get(&pc) else { return Ok(()) };
        let visits = match site.quiet.get() {
            (generation, changes, visits) if (generation, changes) == now => visits + 1,
            _ => 1,
        };
        site.quiet.set((now.0, now.1, visits));
        if visits >= QUIET_VISITS && !site.is_entry {
            let active = self.stack.activations.iter().filter(|a| a.id.function == site.function).count();
            if active == 1 {
                let address = pc.wrapping_add(bias);
                self.inferior.mute(&[address]).map_err(breakpoint_failed)?;
                self.muted.push(address);
            }
        }
        Ok(())
    }

    /// Puts back what [`Self::settle`] took out.
    fn unsettle(&mut self) -> Result<(), TraceError> {
        let mut muted = std::mem::take(&mut self.muted);
        let bias = self.inferior.bias();
        muted.retain(|address| !self.retirement.is_retired(address.wrapping_sub(bias)));
        self.inferior.unmute(&muted).map_err(breakpoint_failed)
    }

    /// Before the program runs on from where the policy knows it to be: lets it pass what cannot matter.
    fn look_ahead(&mut self, position: &Position) -> Result<(), TraceError> {
        if self.foresight != Foresight::Full || self.glide.is_under_way() || self.stepper.plan().is_none() {
            return Ok(());
        }
        let (module, bias, inferior, sites) = (self.module, self.inferior.bias(), &self.inferior, &mut self.sites);
        let is_site = |pc: u64| inferior.has_breakpoint(pc.wrapping_add(bias));
        let mut is_same_activation = |pc: u64| {
            let site = site(module, sites, pc);
            site.is_some_and(|s| s.function == position.stack.function && !s.is_entry && matches!(s.cfa, CfaRule::RegisterOffset(..)))
        };
        let mut terrain = Terrain {
            module,
            stepper: &mut *self.stepper,
            user: &self.user,
            is_site: &is_site,
            is_same_activation: &mut is_same_activation,
        };
        let Moves { arm, mute } = self.glide.begin(&mut terrain, position);
        let moved = |pcs: Vec<u64>| pcs.into_iter().map(|pc| pc.wrapping_add(bias)).collect::<Vec<_>>();
        if self.glide.is_under_way() {
            self.unsettle()?;
        }
        self.inferior.unmute(&moved(arm)).map_err(breakpoint_failed)?;
        self.inferior.mute(&moved(mute)).map_err(breakpoint_failed)
    }

    fn is_back_in_mains_caller(&self) -> bool {
        self.stack.activations.first().is_some_and(|main| self.inferior.regs().rsp >= main.id.cfa)
    }

    fn set_breakpoints(&mut self, addresses: &[u64]) -> Result<(), TraceError> {
        self.inferior.set_breakpoints(addresses).map_err(|source| TraceError::System { what: "insert breakpoints".into(), source })
    }

    /// The word at the top of the stack, at a function's entry.
    fn return_address(&self) -> Option<u64> {
        let mut bytes = [0u8; 8];
        self.inferior.read(self.inferior.regs().rsp, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Where a breakpoint is on the stack; `None` when no debugger would look.
    fn arrive(&mut self, pc: u64) -> Option<Position> {
        let site = site(self.module, &mut self.sites, pc)?;
        let registers = Registers::new(self.inferior.regs());
        let bias = self.inferior.bias();
        let cfa = match &site.cfa {
            CfaRule::RegisterOffset(register, offset) => registers.get(*register)?.wrapping_add_signed(*offset),
            CfaRule::Expression(_) => {
                let view = View::new(&self.inferior, &mut self.windows);
                let machine = Machine { module: self.module, bias, memory: &view };
                machine.cfa(&Machinery::innermost(registers, pc, site.function))?
            }
        };
        let id = StackId { cfa, function: site.function };
        if !self.is_complete() && !self.mend_stack(pc, id, &registers) {
            return None;
        }
        let inferior = &self.inferior;
        let module = self.module;
        let entered = || {
            let mut bytes = [0u8; 8];
            inferior.read(cfa.wrapping_sub(8), &mut bytes).ok()?;
            let return_pc = u64::from_le_bytes(bytes).wrapping_sub(bias);
            let caller_cfa = if site.is_entry { cfa_of_caller(module, &registers, cfa, return_pc) } else { None };
            Some(Entered { return_pc, caller_cfa })
        };
        let windows = &mut self.windows;
        let through = |alive: &[Activation]| {
            let view = View::new(inferior, windows);
            let machine = Machine { module, bias, memory: &view };
            let innermost = Machinery::innermost(registers, pc, site.function);
            let mut frame = &innermost;
            for _ in 0..MOST_BETWEEN {
                frame = machine.caller(frame)?;
                let id = StackId { cfa: machine.cfa(frame)?, function: frame.function };
                if let Some(depth) = alive.iter().rposition(|a| a.id == id) {
                    return Some((depth, frame.pc));
                }
            }
            None
        };
        let stepper = &mut self.stepper;
        // A return that nobody stopped at still moves the debugger's idea of where it is.
        let returned = |stack: &Stack, to: u64| {
            // Where a breakpoint is, the stop itself was seen.
            if let Some(top) = stack.top()
                && !inferior.has_breakpoint(to.wrapping_add(bias))
            {
                let position = Position { pc: to, stack: top.id, caller: stack.caller(), kind: PositionKind::Returned };
                let _ = stepper.arrive(&position);
            }
        };
        match self.stack.update(module, id, site.is_entry, entered, through, returned) {
            Change::Here => Some(Position { pc, stack: id, caller: self.stack.caller(), kind: PositionKind::Real }),
            Change::Foreign => None,
        }
    }

    /// Tells that the program came to an address, once for each way to it; true when it did.
    fn tell_pass(&mut self, pc: u64, sink: &mut dyn StepSink) -> bool {
        let top = self.stack.top().expect("main is never popped");
        if !self.passed.insert((top.path, pc)) {
            return false;
        }
        if self.passed.len() > MOST_FRAMES {
            self.passed.clear();
        }
        let rows = self.rows.get_or_insert_with(|| lines_by_address(self.module, self.request));
        let lines = lines_at(rows, pc);
        if let (false, Some((file, line))) = (lines.is_empty(), self.stepper.line_at(pc)) {
            let frames = self.frames(pc, Shown { hidden: 0, line, file });
            sink.pass(&lines, &frames);
            return true;
        }
        false
    }

    /// Tells of the call that the top of the stack is.
    fn tell_call(&mut self, pc: u64, sink: &mut dyn StepSink) {
        let top = self.stack.top().expect("main is never popped");
        let (call, depth) = (top.call, self.stack.activations.len());
        let caller = depth.checked_sub(2).map(|outer| self.stack.activations[outer].call);
        let frames = self.call_frames(pc);
        sink.call(call, caller, &frames);
    }

    /// The frames from the function with code outwards at an address of the top activation.
    fn call_frames(&mut self, pc: u64) -> Vec<Frame> {
        let (file, line) = self.stepper.line_at(pc).unwrap_or((FileId(0), 0));
        let frames = self.frames(pc, Shown { hidden: 0, line, file });
        frames.iter().skip_while(|f| f.kind == FrameKind::Inlined).cloned().collect()
    }

    fn show(&mut self, position: &Position, shown: Shown, statics: Statics) -> Step {
        let frames = self.frames(position.pc, shown);
        let vars = match self.request.vars {
            Vars::None => Vec::new(),
            Vars::All | Vars::Layout => self.variables(position, shown.hidden, statics),
        };
        Step {
            step: self.steps,
            file: Some(self.module.file(shown.file).clone()),
            line: Some(Line(shown.line)),
            pc: position.pc,
            frames,
            vars,
        }
    }

    fn variables(&mut self, position: &Position, hidden: usize, statics: Statics) -> Vec<trueline_model::Variable> {
        let key = (position.pc, hidden);
        let scope = match self.scopes.get(&key) {
            Some(scope) => Rc::clone(scope),
            None => {
                let all = visible(self.module, position.pc, hidden, self.request.policy, |f| self.user[f.0 as usize]);
                let scope = Rc::new(self.watch.scope(self.module, all));
                self.scopes.insert(key, Rc::clone(&scope));
                scope
            }
        };
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: self.module, bias: self.inferior.bias(), memory: &view };
        let frame = Machinery::innermost(Registers::new(self.inferior.regs()), position.pc, position.stack.function);
        if statics == Statics::Changed && !scope.statics.is_empty() {
            // With the stack in one system call.
            view.version();
        }
        let watch = &mut self.watch;
        // What is visible at an address is told once in full, whatever values are wanted.
        let wanted = if scope.is_new() { Statics::All } else { statics };
        match wanted {
            Statics::All => scope.all.iter().filter_map(|&var| watch.observe(&machine, &frame, var)).collect(),
            Statics::None => scope.others.iter().filter_map(|&var| watch.observe(&machine, &frame, var)).collect(),
            Statics::Changed => {
                let mut vars: Vec<_> = scope.others.iter().filter_map(|&var| watch.observe(&machine, &frame, var)).collect();
                if watch.is_due(&scope, view.version()) {
                    vars.extend(scope.statics.iter().filter_map(|&var| watch.observe_change(&machine, &frame, var)));
                }
                vars
            }
        }
    }

    fn frames(&mut self, pc: u64, shown: Shown) -> Arc<[Frame]> {
        let top = self.stack.top().expect("main is never popped");
        let key = (top.path, pc, shown.hidden, shown.line);
        if let Some(frames) = self.backtraces.known.get(&key) {
            return Arc::clone(frames);
        }
        let mut frames = Vec::new();
        let here = Some((shown.file, shown.line));
        self.push_frames(pc, shown.hidden, here, top.id.function, &mut frames);
        for pair in self.stack.activations.windows(2).rev() {
            let Some(called_from) = pair[1].called_from else {
                let function = Arc::clone(&self.module.function(pair[0].id.function).name);
                frames.push(Frame { function, kind: FrameKind::Real, file: None, line: None });
                continue;
            };
            if called_from == pair[1].return_pc {
                for (function, after) in tailcall::chain(self.module, self.request.policy, called_from, pair[1].id.function) {
                    let call = after.wrapping_sub(1);
                    let others = frames.len();
                    self.push_frames(call, 0, self.stepper.line_at(call), function, &mut frames);
                    // gdb has one frame for a tail call, with the name of the innermost inlined function at the jump.
                    if self.request.policy.debugger() == Some(Debugger::Gdb) {
                        frames.truncate(others + 1);
                        frames[others].kind = FrameKind::Real;
                    }
                }
            }
            let call = called_from.wrapping_sub(1);
            let line = self.stepper.line_at(call);
            self.push_frames(call, 0, line, pair[0].id.function, &mut frames);
        }
        let frames: Arc<[Frame]> = frames.into();
        self.backtraces.keep(key, &frames);
        frames
    }

    /// The frames of one activation, innermost first.
    fn push_frames(&self, pc: u64, hidden: usize, here: Option<(FileId, u32)>, function: FunctionId, frames: &mut Vec<Frame>) {
        let mut line = here;
        let frame = |name: &Arc<str>, kind, line: Option<(FileId, u32)>| Frame {
            function: Arc::clone(name),
            kind,
            file: line.map(|l| self.module.file(l.0).clone()),
            line: line.map(|l| Line(l.1)),
        };
        for block in inlined_at(self.module, pc).into_iter().skip(hidden) {
            // A header of somebody else's between two functions of the user's has no stop of its own at -O0 and is not shown.
            if let BlockKind::Inlined { name, decl_file, .. } = &self.module.block(block).kind
                && (frames.is_empty() || decl_file.is_none_or(|f| self.user[f.0 as usize]))
            {
                frames.push(frame(name, FrameKind::Inlined, line));
            }
            if has_lost_caller(self.module, block, pc) {
                return;
            }
            line = call_line(self.module, block);
        }
        frames.push(frame(&self.module.function(function).name, FrameKind::Real, line));
    }

    /// Whether a function is the user's. By its declaration: the first row of an optimized function may be that of a header whose code
    /// was moved there. What has no row at its entry is a thunk of the compiler's.
    fn is_users(&self, function: &Function) -> bool {
        let entry = self.stepper.line_at(function.entry());
        entry.is_some_and(|(file, _)| self.user[function.decl_file.unwrap_or(file).0 as usize])
    }

    fn bad_program(&self, reason: &str) -> TraceError {
        TraceError::BadProgram { binary: self.module.path.clone(), reason: reason.to_owned() }
    }

    /// What an end of the run means; `Ok` when it is a good one.
    fn ended(&self, event: Event) -> Result<TraceEnd, TraceError> {
        let at_line = |pc: Option<u64>| {
            let pc = pc.map(|pc| pc.wrapping_sub(self.inferior.bias()));
            pc.and_then(|pc| self.stepper.line_at(pc)).map_or(String::new(), |(_, line)| format!(" at line {line}"))
        };
        match event {
            Event::Exited(_) | Event::Replaced => Ok(TraceEnd::Finished),
            // It was known to end, and the trace to take as long as it takes.
            Event::TimedOut if self.request.deadline.is_some() => Ok(TraceEnd::OutOfTime),
            Event::Killed { signal, at } => {
                let name =
                    nix::sys::signal::Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |s| s.as_str().to_owned());
                Err(self.bad_program(&format!("crashed with {name}{}", at_line(at))))
            }
            Event::TimedOut => Err(self.bad_program(&format!("did not finish within {} s", self.request.limits.wall.as_secs()))),
            Event::NotAllowed(permission) => Err(self.bad_program(&not_allowed(permission))),
            Event::OwnTrap => Err(self.bad_program("raised SIGTRAP")),
            Event::Breakpoint(_) | Event::Stepped | Event::ThreadStarted => Ok(TraceEnd::Finished),
        }
    }
}

fn site(module: &Module, sites: &mut ByAddress<Rc<Site>>, pc: u64) -> Option<Rc<Site>> {
    if let Some(site) = sites.get(&pc) {
        return Some(Rc::clone(site));
    }
    let function = module.function_at(pc)?;
    let cfa = module.cfi.at(pc)?.cfa.clone();
    let site = Rc::new(Site { function, cfa, is_entry: module.function(function).entry() == pc, quiet: Cell::new((0, 0, 0)) });
    sites.insert(pc, Rc::clone(&site));
    Some(site)
}

/// The canonical frame address of the activation that has just made a call: at the entry of what it called, whose own frame
/// address is `cfa`, no register but the stack pointer differs from what it was at the call.
fn cfa_of_caller(module: &Module, registers: &Registers, cfa: u64, return_pc: u64) -> Option<u64> {
    match &module.cfi.at(return_pc.wrapping_sub(1))?.cfa {
        CfaRule::RegisterOffset(register, offset) if usize::from(*register) == RSP => Some(cfa.wrapping_add_signed(*offset)),
        CfaRule::RegisterOffset(register, offset) => Some(registers.get(*register)?.wrapping_add_signed(*offset)),
        CfaRule::Expression(_) => None,
    }
}

/// What a program did without leave, and how to give it.
pub(super) fn not_allowed(permission: Permission) -> String {
    match permission {
        Permission::Exec => "replaces itself by another program; --allow exec lets it".to_owned(),
        _ => "starts another process; --allow fork lets it".to_owned(),
    }
}

fn breakpoint_failed(source: std::io::Error) -> TraceError {
    TraceError::System { what: "move a breakpoint".into(), source }
}

/// Whether a file is the user's: by base name, or any when no names are given.
pub(super) fn is_user(request: &TraceRequest, file: &FileName) -> bool {
    !is_languages_own(file) && (request.user_files.is_empty() || request.user_files.iter().any(|n| n == file.base()))
}
