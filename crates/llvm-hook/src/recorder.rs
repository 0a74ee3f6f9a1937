//! The state behind the hooks: which pass runs, what it did so far, and the stream it goes to.
//!
//! A pass that runs other passes is abandoned when the first of them starts, so that every event belongs
//! to the innermost pass. Snapshots are kept from one pass to the next as long as nothing can have
//! changed in between, and none is taken after a pass that manipulated nothing.

use crate::capi::{Api, Ref};
use crate::fast::{FastMap, FastSet, Recent};
use crate::patch::Frame;
use crate::snapshot;
use crate::stream::Stream;
use crate::unwind::{Registers, Unwinder};
use crate::variables::Variables;
use crate::wire::{Encoder, EventKind, Record};

/// What a pass runs on, which says how to get at its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One function.
    Function,
    /// One loop of a function.
    Loop,
    /// A nest of loops of a function.
    LoopNest,
    /// The whole module.
    Module,
    /// A component of the call graph.
    Component,
    /// One function, by a pass of the code generator's manager.
    LegacyFunction,
    /// One loop of a function, by such a pass.
    LegacyLoop,
}

impl Unit {
    /// Whether a pass of the code generator's manager works on it: it gets it as its second argument and returns whether it
    /// changed it, and what ran in front of it was not all watched.
    fn is_legacy(self) -> bool {
        matches!(self, Unit::LegacyFunction | Unit::LegacyLoop)
    }
}

/// A hooked pass.
pub struct PassHook {
    /// Its class.
    pub name: String,
    /// What it runs on.
    pub unit: Unit,
    /// Whether it is worth observing.
    pub watch: Watch,
}

/// Whether a pass is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Snapshots and events.
    Observe,
    /// It changes nothing: printers, verifiers.
    Pure,
    /// It changes the IR in ways that are no updates (making or stripping debug information), or only runs other passes.
    Ignore,
}

struct Running {
    hook: u32,
    /// Stack pointer at its start: unwinding stops here.
    limit: u64,
    /// The functions of its unit.
    functions: Vec<Ref>,
    /// The module, when functions may come and go.
    module: Option<Ref>,
    /// Whether a manipulation happened.
    manipulated: bool,
    abandoned: bool,
}

/// The one recorder of the process.
pub struct Recorder {
    api: Api,
    /// Names and kinds of the hooked passes, by hook number.
    pub passes: Vec<PassHook>,
    all_preserved: u64,
    /// The word of an LLVM SmallPtrSet that holds the address of its slots.
    set_slots: usize,
    stream: Stream,
    encoder: Encoder,
    /// The buffer of snapshots.
    record: Encoder,
    writer: snapshot::Writer,
    unwinder: Option<Unwinder>,
    frames: Vec<u64>,
    stacks: FastMap<Vec<u64>, u32>,
    /// The locations that were written.
    locations: FastSet<u64>,
    /// Some of them, at hand.
    recent: Recent,
    running: Vec<Running>,
    /// The switch of the hooks, on while a watched pass runs.
    switch: *mut u8,
    /// Instructions created or moved by the running pass: only their location writes matter.
    touched: FastSet<u64>,
    /// An instruction whose clone is being constructed.
    cloning: Option<u64>,
    snapshots: FastMap<u64, u32>,
    next_snapshot: u32,
}

impl Recorder {
    /// A recorder that writes to `stream`.
    pub fn new(api: &Api, stream: Stream, unwinder: Option<Unwinder>, all_preserved: u64, major: u32, switch: *mut u8) -> Self {
        Self {
            api: *api,
            passes: Vec::new(),
            all_preserved,
            // Until LLVM 19 the address of the inline slots stood in front of it.
            set_slots: usize::from(major < 20),
            stream,
            encoder: Encoder::default(),
            record: Encoder::default(),
            unwinder,
            frames: Vec::new(),
            stacks: FastMap::default(),
            locations: FastSet::default(),
            recent: Recent::default(),
            writer: snapshot::Writer::default(),
            running: Vec::new(),
            switch,
            touched: FastSet::default(),
            cloning: None,
            snapshots: FastMap::default(),
            next_snapshot: 0,
        }
    }

    /// From now on variables are watched too.
    pub fn watch_variables(&mut self, variables: Variables) {
        self.writer.variables = Some(variables);
    }

    /// Appends a record.
    pub fn emit(&mut self, record: &Record) {
        self.encoder.record(record);
        self.stream.write(&self.encoder.bytes);
        self.encoder.bytes.clear();
    }

    /// Ends the stream.
    pub fn finish(&mut self) {
        self.stream.finish();
    }

    /// Whether events are of interest now.
    fn active(&self) -> bool {
        self.running.last().is_some_and(|r| !r.abandoned && self.passes[r.hook as usize].watch == Watch::Observe)
    }

    fn flip(&mut self) {
        // SAFETY: the switch is a byte of the hooks' own memory, which is never unmapped.
        unsafe { self.switch.write_volatile(u8::from(self.active())) };
    }

    // ---- passes

    /// A pass begins.
    pub fn pass_started(&mut self, frame: &Frame, hook: u32) {
        if let Some(outer) = self.running.last_mut()
            && !outer.abandoned
        {
            outer.abandoned = true;
            if self.passes[outer.hook as usize].watch == Watch::Observe {
                self.emit(&Record::PassAbandoned);
                // Whatever it changed so far was not looked at.
                self.snapshots.clear();
            }
        }
        let (unit, watch) = (self.passes[hook as usize].unit, self.passes[hook as usize].watch);
        let subject = if unit.is_legacy() { frame.rsi } else { frame.rdx };
        let (functions, module) = if watch == Watch::Observe { self.functions_of(unit, subject) } else { (Vec::new(), None) };
        self.touched.clear();
        self.cloning = None;
        if watch == Watch::Observe {
            let cached = if unit.is_legacy() { Cached::Refused } else { Cached::Allowed };
            let before = functions.iter().map(|f| self.snapshot(*f, cached)).collect();
            let name = match functions.as_slice() {
                [one] if unit != Unit::Module => snapshot::value_name(&self.api, *one),
                _ => String::new(),
            };
            let pass = self.passes[hook as usize].name.clone();
            self.emit(&Record::PassStart { pass, unit: name, before });
        }
        self.running.push(Running { hook, limit: frame.caller_sp(), functions, module, manipulated: false, abandoned: false });
        self.flip();
    }

    /// The innermost pass ended and returned `preserved`.
    pub fn pass_finished(&mut self, preserved: u64) {
        let Some(pass) = self.running.pop() else { return };
        self.flip();
        let hook = &self.passes[pass.hook as usize];
        match hook.watch {
            Watch::Pure => return,
            Watch::Ignore => {
                self.snapshots.clear();
                return;
            }
            Watch::Observe => {}
        }
        if pass.abandoned {
            self.snapshots.clear();
            return;
        }
        let unit = hook.unit;
        let mut after = Vec::new();
        if pass.manipulated {
            // Functions may have come or gone: only those that the module still lists can be read.
            let functions = match (unit, pass.module.map(|module| self.defined_functions(module))) {
                (Unit::Component, Some(live)) => pass.functions.into_iter().filter(|f| live.contains(f)).collect(),
                (_, Some(live)) => live,
                (_, None) => pass.functions,
            };
            after = functions.iter().map(|f| self.snapshot(*f, Cached::Refused)).collect();
        } else if unit.is_legacy() || !self.everything_preserved(preserved) {
            match unit {
                Unit::Module | Unit::Component => self.snapshots.clear(),
                _ => self.snapshots.retain(|at, _| !pass.functions.iter().any(|f| *f as u64 == *at)),
            }
        }
        self.emit(&Record::PassFinish { after });
        self.touched.clear();
    }

    /// Whether a `PreservedAnalyses` says "all": its set of identifiers, an LLVM SmallPtrSet, holds the one
    /// key that stands for all of them.
    fn everything_preserved(&self, preserved: u64) -> bool {
        if preserved == 0 || self.all_preserved == 0 {
            return false;
        }
        // SAFETY: the pass returned the address of the object it filled in; the set has the address of its
        // slots there, of which there are at least two.
        unsafe {
            let current = *(preserved as *const u64).add(self.set_slots);
            current != 0 && *(current as *const u64) == self.all_preserved
        }
    }

    /// The functions of a unit, and the module when the unit may gain or lose functions.
    fn functions_of(&self, unit: Unit, at: u64) -> (Vec<Ref>, Option<Ref>) {
        if at == 0 {
            return (Vec::new(), None);
        }
        // SAFETY: `at` is the unit that LLVM passes to the pass. The offsets used are those of LoopBase
        // (parent, sub-loops, blocks), LoopNest (depth, loops) and LazyCallGraph::SCC (outer, nodes; graph,
        // function), which are the same in LLVM 13 to 19.
        unsafe {
            let word = |at: u64, index: usize| *(at as *const u64).add(index);
            let function_of_loop = |at: u64| (self.api.function_of_block)(word(word(at, 4), 0) as Ref);
            match unit {
                Unit::Function | Unit::LegacyFunction => (vec![at as Ref], None),
                Unit::Loop | Unit::LegacyLoop => (vec![function_of_loop(at)], None),
                Unit::LoopNest => (vec![function_of_loop(word(word(at, 1), 0))], None),
                Unit::Module => (self.defined_functions(at as Ref), Some(at as Ref)),
                Unit::Component => {
                    let (nodes, count) = (word(at, 1), word(at, 2) as u32 as usize);
                    let functions: Vec<Ref> = (0..count).map(|i| word(word(nodes, i), 1) as Ref).collect();
                    let module = functions.first().map(|f| (self.api.module_of)(*f));
                    let is_defined = |f: &Ref| !(self.api.first_block)(*f).is_null();
                    (functions.into_iter().filter(is_defined).collect(), module)
                }
            }
        }
    }

    fn defined_functions(&self, module: Ref) -> Vec<Ref> {
        let mut functions = Vec::new();
        // SAFETY: a live module's list of functions.
        unsafe {
            let mut function = (self.api.first_function)(module);
            while !function.is_null() {
                if !(self.api.first_block)(function).is_null() {
                    functions.push(function);
                }
                function = (self.api.next_function)(function);
            }
        }
        functions
    }

    /// The number of a snapshot of the function, taken now unless one is known to be still true.
    fn snapshot(&mut self, function: Ref, cached: Cached) -> u32 {
        if let (Cached::Allowed, Some(id)) = (cached, self.snapshots.get(&(function as u64))) {
            return *id;
        }
        let api = self.api;
        self.next_snapshot += 1;
        let id = self.next_snapshot;
        let mut record = std::mem::take(&mut self.record);
        record.bytes.clear();
        record.snapshot(id);
        let (mut fresh, known, recent) = (Vec::new(), &self.locations, &mut self.recent);
        let see = |location: Ref| {
            if !recent.saw(location as u64) && !known.contains(&(location as u64)) {
                fresh.push(location as u64);
            }
        };
        // SAFETY: a live function of the running unit.
        unsafe { self.writer.write(&api, function, &mut record, see) };
        fresh.into_iter().for_each(|location| self.define_location(location));
        self.stream.write(&record.bytes);
        self.record = record;
        let described = self.writer.variables.as_mut().map(|v| std::mem::take(&mut v.fresh)).unwrap_or_default();
        described.iter().for_each(|record| self.emit(record));
        self.snapshots.insert(function as u64, id);
        id
    }

    fn define_location(&mut self, at: u64) {
        if !self.locations.insert(at) {
            return;
        }
        let (api, location) = (self.api, at as Ref);
        // SAFETY: a live DILocation.
        let inlined_at = unsafe { (api.inlined_at)(location) as u64 };
        // The reader knows a call site only when it has been told of it.
        if inlined_at != 0 {
            self.define_location(inlined_at);
        }
        // SAFETY: a live DILocation; locations belong to the context and outlive the pass.
        let record = unsafe {
            let scope = (api.scope)(location);
            let file = if scope.is_null() { std::ptr::null_mut() } else { (api.file_of_scope)(scope) };
            let mut length = 0u32;
            let name = if file.is_null() { std::ptr::null() } else { (api.file_name)(file, &raw mut length) };
            let file = if name.is_null() {
                String::new()
            } else {
                String::from_utf8_lossy(std::slice::from_raw_parts(name.cast(), length as usize)).into_owned()
            };
            let subprogram = self.writer.variables.as_mut().map_or(0, |v| {
                v.define_scopes(scope);
                v.subprogram_of(scope)
            });
            let (line, column) = ((api.line)(location), (api.column)(location));
            Record::Location { at, line, column, scope: scope as u64, inlined_at, file, subprogram }
        };
        self.emit(&record);
    }

    // ---- events

    fn event(&mut self, frame: &Frame, kind: EventKind, inst: u64, other: u64) {
        // A pair is told by the place of its manipulation; taking an instruction out is half of a move.
        use EventKind::{Clone, Create, Move, RecordClone, RecordCreate, RecordDeath, Redescribe, Replace, Salvage};
        let describes = matches!(kind, RecordCreate | RecordClone | RecordDeath | Redescribe | Salvage);
        let manipulates = matches!(kind, Create | Clone | Move | Replace) || describes;
        if manipulates {
            self.running.last_mut().expect("a pass runs").manipulated = true;
        }
        let tells = kind == EventKind::Remove || kind == EventKind::Death && self.death_tells(inst);
        let stack = if manipulates || tells { self.stack(frame) } else { 0 };
        self.emit(&Record::Event { kind, inst, other, stack });
    }

    /// Whether the place where an instruction dies is asked for: that of a call or a store, which may describe a variable or be
    /// what a line does. Of others, the place where their descriptions are taken away is told when that happens.
    fn death_tells(&self, inst: u64) -> bool {
        const STORE: u32 = 28;
        const CALL: u32 = 45;
        // SAFETY: an instruction that is about to be destroyed is still one.
        self.writer.variables.is_some() && matches!(unsafe { (self.api.opcode)(inst as Ref) }, STORE | CALL)
    }

    fn stack(&mut self, frame: &Frame) -> u32 {
        let Some(unwinder) = &mut self.unwinder else { return 0 };
        let limit = self.running.last().expect("a pass runs").limit;
        let registers = Registers { pc: frame.return_address, sp: frame.caller_sp(), rbp: frame.rbp };
        unwinder.walk(registers, limit, &mut self.frames);
        if let Some(id) = self.stacks.get(&self.frames) {
            return *id;
        }
        let id = self.stacks.len() as u32 + 1;
        self.stacks.insert(self.frames.clone(), id);
        let frames = self.frames.iter().map(|frame| (*frame, unwinder.function_of(*frame))).collect();
        self.emit(&Record::Stack { id, frames });
        id
    }

    /// An instruction is about to be constructed.
    pub fn constructed(&mut self, frame: &Frame) {
        let original = self.cloning.take();
        if !self.active() {
            return;
        }
        self.touched.insert(frame.rdi);
        match original {
            Some(original) => self.event(frame, EventKind::Clone, frame.rdi, original),
            None => self.event(frame, EventKind::Create, frame.rdi, 0),
        }
    }

    /// A debug record is about to be constructed, as a copy of `from` unless that is 0.
    pub fn record_constructed(&mut self, frame: &Frame, from: u64) {
        if self.watches_variables() {
            let kind = if from == 0 { EventKind::RecordCreate } else { EventKind::RecordClone };
            self.event(frame, kind, frame.rdi, from);
        }
    }

    /// A debug record is about to be deleted.
    pub fn record_deleted(&mut self, frame: &Frame) {
        if self.watches_variables() {
            self.event(frame, EventKind::RecordDeath, frame.rdi, 0);
        }
    }

    /// Descriptions that name one value are about to name another.
    pub fn redescribed(&mut self, frame: &Frame) {
        if self.watches_variables() {
            // SAFETY: both are live values.
            unsafe { self.mention(frame.rsi) };
            self.event(frame, EventKind::Redescribe, frame.rdi, frame.rsi);
        }
    }

    /// LLVM was asked to express a value, which is about to die, by others.
    pub fn salvaging(&mut self, frame: &Frame) {
        if self.watches_variables() {
            self.event(frame, EventKind::Salvage, frame.rdi, 0);
        }
    }

    fn watches_variables(&self) -> bool {
        self.writer.variables.is_some() && self.active()
    }

    /// # Safety
    /// `value` must be a live value.
    unsafe fn mention(&mut self, value: u64) {
        if let Some(variables) = &mut self.writer.variables {
            // SAFETY: as the caller promises.
            unsafe { variables.mention(value) };
            let described = std::mem::take(&mut variables.fresh);
            described.iter().for_each(|record| self.emit(record));
        }
    }

    /// `Instruction::clone` was called: the next construction is the copy.
    pub fn cloning(&mut self, frame: &Frame) {
        if self.active() {
            self.cloning = Some(frame.rdi);
        }
    }

    /// An instruction is about to be destroyed.
    pub fn destroyed(&mut self, frame: &Frame) {
        if self.active() {
            self.touched.remove(&frame.rdi);
            self.event(frame, EventKind::Death, frame.rdi, 0);
            // A block without it has another description of variables, perhaps.
            if self.writer.variables.is_some()
                && let Some(pass) = self.running.last_mut()
            {
                pass.manipulated = true;
            }
        } else if self.running.is_empty() {
            self.snapshots.clear();
        }
    }

    /// A basic block is about to be constructed.
    pub fn block_constructed(&mut self, frame: &Frame) {
        if self.active() {
            self.emit(&Record::Event { kind: EventKind::BlockCreate, inst: frame.rdi, other: 0, stack: 0 });
        }
    }

    /// One of the functions whose `this` is an instruction was called.
    pub fn called(&mut self, frame: &Frame, kind: EventKind) {
        if !self.active() {
            return;
        }
        if matches!(kind, EventKind::Move | EventKind::Remove) {
            self.touched.insert(frame.rdi);
        }
        let other = if kind == EventKind::Replace { frame.rsi } else { 0 };
        if other != 0 {
            // SAFETY: the replacement is a live value.
            unsafe { self.mention(other) };
        }
        self.event(frame, kind, frame.rdi, other);
    }

    /// A reference at `slot` is about to point to the metadata at `to` (0: to nothing any more).
    pub fn tracked(&mut self, frame: &Frame, slot: u64, to: u64) {
        if !self.active() {
            return;
        }
        let Some(inst) = self.writer.location_offset.map(|offset| slot.wrapping_sub(offset)) else { return };
        if !self.touched.contains(&inst) {
            return;
        }
        if to == 0 {
            self.event(frame, EventKind::ClearLocation, inst, 0);
        } else {
            self.define_location(to);
            self.event(frame, EventKind::SetLocation, inst, to);
        }
    }
}

/// Whether an earlier snapshot may stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cached {
    Allowed,
    Refused,
}
