//! The program's memory at one stop, read in few system calls, and the variables seen in it.

use super::eval::{Fault, Machine, Memory};
use super::frame::Frame;
use super::module::{BlockId, ConstantForm, FileId, Location, Module, TypeKind, VarId};
use super::op::{Binary, Op};
use super::value::{Content, Printed, print};
use crate::Vars;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use trueline_dwarf::Var;
use trueline_machine::inferior::Inferior;
use trueline_model::{Debugger, Observation, Policy, VarKind, Variable};

/// Bytes above and below the stack pointer that are read together.
const STACK_ABOVE: usize = 3072;
const STACK_BELOW: usize = 128;
/// The most that is read above the stack pointer once variables were found to be there.
const MOST_STACK: u64 = 64 << 10;
/// Static data up to this size is read together.
const MOST_DATA: u64 = 64 << 10;
/// Larger variables are not read together with others, nor watched for changes: what is printed of them is their beginning.
const MOST_STATIC: u64 = 4096;
/// Static variables that are not farther apart are read as one stretch.
const GAP: u64 = 256;

/// A stretch of memory, as it was.
#[derive(Debug, Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn get(&self, address: u64, length: usize) -> Option<&[u8]> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..at.checked_add(length)?)
    }
}

/// Buffers that live as long as the trace.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    stack: Window,
    /// Static data, in rising order.
    data: Vec<Window>,
    /// The same at the stop before.
    before: Vec<u8>,
    /// Counts the stops at which static data was found changed.
    version: u64,
    /// The end of the highest variable that was found above the stack's window.
    reached: Cell<u64>,
}

impl Windows {
    /// Prepares the window over the static variables of a module.
    pub fn new(module: &Module, bias: u64) -> Self {
        let mut stretches: Vec<(u64, u64)> = module.vars.iter().filter_map(|var| fixed_place(module, var)).collect();
        stretches.sort_unstable();
        let mut data: Vec<(u64, u64)> = Vec::new();
        for (low, high) in stretches {
            match data.last_mut() {
                Some(last) if low <= last.1.saturating_add(GAP) => last.1 = last.1.max(high),
                _ => data.push((low, high)),
            }
        }
        // What is beyond the limit is read one by one.
        let mut left = MOST_DATA;
        data.retain(|(low, high)| {
            let fits = high - low <= left;
            left -= if fits { high - low } else { 0 };
            fits
        });
        let window = |(low, high): (u64, u64)| Window { start: low.wrapping_add(bias), bytes: vec![0; (high - low) as usize] };
        Self {
            stack: Window { start: 0, bytes: Vec::with_capacity(STACK_ABOVE + STACK_BELOW) },
            data: data.into_iter().map(window).collect(),
            before: Vec::new(),
            version: 0,
            reached: Cell::new(0),
        }
    }
}

impl Windows {
    /// Whether an address is among the static data that is read together.
    fn has_data_at(&self, address: u64) -> bool {
        let after = self.data.partition_point(|w| w.start <= address);
        after.checked_sub(1).is_some_and(|at| address - self.data[at].start < self.data[at].bytes.len() as u64)
    }

    /// Notes whether static data is as it was when it was last read.
    fn compare(&mut self) {
        let Self { data, before, version, .. } = self;
        let mut rest = &before[..];
        let is_same = before.len() == data.iter().map(|w| w.bytes.len()).sum::<usize>()
            && data.iter().all(|w| {
                let (part, later) = rest.split_at(w.bytes.len());
                rest = later;
                part == &w.bytes[..]
            });
        if !is_same {
            *version += 1;
            before.clear();
            data.iter().for_each(|w| before.extend_from_slice(&w.bytes));
        }
    }
}

/// What is read at a stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Stack,
    All,
}

/// The addresses of a variable of moderate size that has one fixed place.
fn fixed_place(module: &Module, var: &Var) -> Option<(u64, u64)> {
    let Location::Everywhere(ops) = &var.location else { return None };
    let [Op::Address(address)] = ops[..] else { return None };
    let size = module.ty(var.ty).size;
    // Libraries may not be there yet.
    let is_own = (module.image.0..module.image.1).contains(&address);
    (is_own && size <= MOST_STATIC).then(|| (address, address.saturating_add(size)))
}

/// Memory during one stop.
pub(crate) struct View<'v> {
    inferior: &'v Inferior,
    windows: RefCell<&'v mut Windows>,
    filled: Cell<bool>,
    /// Whether static data was read too: where only locals are wanted it need not be.
    has_data: Cell<bool>,
    sse: OnceCell<Option<[[u8; 16]; 16]>>,
    avx: OnceCell<Option<[[u8; 32]; 16]>>,
    x87: OnceCell<Option<[[u8; 16]; 8]>>,
}

impl<'v> View<'v> {
    pub fn new(inferior: &'v Inferior, windows: &'v mut Windows) -> Self {
        Self {
            inferior,
            windows: RefCell::new(windows),
            filled: Cell::new(false),
            has_data: Cell::new(false),
            sse: OnceCell::new(),
            avx: OnceCell::new(),
            x87: OnceCell::new(),
        }
    }

    /// Reads static data and, in the same system call, the stack, if that has not been done yet.
    fn fill_all(&self) {
        if self.has_data.replace(true) {
            return;
        }
        if self.filled.get() {
            let mut windows = self.windows.borrow_mut();
            let mut places: Vec<(u64, &mut [u8])> = windows.data.iter_mut().map(|w| (w.start, &mut w.bytes[..])).collect();
            self.inferior.read_many(&mut places);
            windows.compare();
        } else {
            self.read_windows(Extent::All);
        }
    }

    fn fill(&self) {
        if !self.filled.get() {
            self.read_windows(Extent::Stack);
        }
    }

    fn read_windows(&self, extent: Extent) {
        self.filled.set(true);
        let mut windows = self.windows.borrow_mut();
        let Windows { stack, data, reached, .. } = &mut **windows;
        let sp = self.inferior.regs().rsp;
        stack.start = sp.wrapping_sub(STACK_BELOW as u64);
        let above = reached.get().checked_sub(sp).filter(|&n| n <= MOST_STACK).map_or(STACK_ABOVE, |n| STACK_ABOVE.max(n as usize));
        let wanted = above + STACK_BELOW;
        stack.bytes.resize(wanted, 0);
        let mut places: Vec<(u64, &mut [u8])> = match extent {
            Extent::Stack => Vec::new(),
            Extent::All => data.iter_mut().map(|w| (w.start, &mut w.bytes[..])).collect(),
        };
        let data_length: usize = places.iter().map(|place| place.1.len()).sum();
        places.push((stack.start, &mut stack.bytes));
        let arrived = self.inferior.read_many(&mut places);
        // The stack may end before the window does.
        stack.bytes.truncate(arrived.saturating_sub(data_length));
        if stack.bytes.len() < wanted {
            // Partial transfers stop at page boundaries of a request: ask for the rest of the last page too.
            let missing = 4096 - (stack.start as usize & 4095);
            if stack.bytes.is_empty() {
                stack.bytes.resize(missing.min(wanted), 0);
                let length = stack.bytes.len();
                let got = self.inferior.read_many(&mut [(stack.start, &mut stack.bytes)]);
                stack.bytes.truncate(if got == length { length } else { 0 });
            }
        }
        if extent == Extent::All {
            windows.compare();
        }
    }
}

impl View<'_> {
    /// How often static data had changed up to this stop.
    pub fn version(&self) -> u64 {
        self.fill_all();
        self.windows.borrow().version
    }
}

impl Memory for View<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let is_data = self.windows.borrow().has_data_at(address);
        if is_data {
            self.fill_all();
        } else {
            self.fill();
        }
        let windows = self.windows.borrow();
        let after = windows.data.partition_point(|w| w.start <= address);
        let data = after.checked_sub(1).filter(|_| is_data).map(|at| &windows.data[at]);
        for window in [Some(&windows.stack), data].into_iter().flatten() {
            if let Some(bytes) = window.get(address, buffer.len()) {
                buffer.copy_from_slice(bytes);
                return true;
            }
        }
        if buffer.is_empty() {
            return true;
        }
        let is_read = self.inferior.read(address, buffer).is_ok();
        let end = address.wrapping_add(buffer.len() as u64);
        if is_read && end.wrapping_sub(self.inferior.regs().rsp) <= MOST_STACK {
            windows.reached.set(windows.reached.get().max(end));
        }
        is_read
    }

    fn thread_pointer(&self) -> Option<u64> {
        Some(self.inferior.regs().fs_base)
    }

    fn sse(&self, register: usize) -> Option<[u8; 16]> {
        self.sse.get_or_init(|| self.inferior.sse().ok()).as_ref().map(|all| all[register])
    }

    fn avx(&self, register: usize) -> Option<[u8; 32]> {
        self.avx.get_or_init(|| self.inferior.avx().ok()).as_ref().map(|all| all[register])
    }

    fn x87(&self, register: usize) -> Option<[u8; 16]> {
        self.x87.get_or_init(|| self.inferior.x87().ok()).as_ref().map(|all| all[register])
    }
}

/// The variables that are visible from an address.
pub(crate) struct Scope {
    /// In the order in which they are listed.
    pub all: Vec<VarId>,
    /// Static variables of moderate size that have one fixed place.
    pub statics: Vec<VarId>,
    /// The variables that are not static.
    pub others: Vec<VarId>,
    /// The state of static data at which the static ones were last looked at.
    looked_at: Cell<u64>,
    was_told: Cell<bool>,
}

impl Scope {
    /// True the first time that it is asked.
    pub fn is_new(&self) -> bool {
        !self.was_told.replace(true)
    }
}

/// The last thing seen of a variable: most stay as they were from one stop to the next.
struct Seen {
    variable: Variable,
    bytes: Vec<u8>,
    is_value: bool,
    /// What it shows lies in part behind its bytes, which tell nothing of it then.
    looks_behind: bool,
}

/// Variables as they are shown.
pub(crate) struct Watch {
    seen: Vec<Option<Seen>>,
    content: Content,
    text: String,
    policy: Policy,
    vars: Vars,
}

impl Watch {
    pub fn new(module: &Module, policy: Policy, vars: Vars) -> Self {
        let seen = (0..module.vars.len()).map(|_| None).collect();
        Self { seen, content: Content::default(), text: String::new(), policy, vars }
    }

    /// Sorts visible variables by what may become of them.
    pub fn scope(&self, module: &Module, all: Vec<VarId>) -> Scope {
        let is_fixed = |v: &VarId| matches!(&module.var(*v).location, Location::Everywhere(ops) if matches!(**ops, [Op::Address(_)]));
        // What lies behind a static variable changes without it.
        let is_whole = |v: &VarId| self.vars != Vars::All || !module.looks_behind(module.var(*v).ty);
        let is_static = |v: &&VarId| module.var(**v).kind == VarKind::Global && is_fixed(v) && is_whole(v);
        let others = all.iter().filter(|v| !is_static(v)).copied().collect();
        let statics = all.iter().filter(is_static).filter(|v| fixed_place(module, module.var(**v)).is_some()).copied().collect();
        Scope { all, statics, others, looked_at: Cell::new(0), was_told: Cell::new(false) }
    }

    /// Whether static data has changed since the static variables of a scope were looked at.
    pub fn is_due(&self, scope: &Scope, version: u64) -> bool {
        !scope.statics.is_empty() && scope.looked_at.replace(version) != version
    }

    /// A variable if it is not as it was when it was last looked at.
    pub fn observe_change(&mut self, machine: &Machine<'_>, frame: &Frame, var: VarId) -> Option<Variable> {
        let before = self.seen[var.0 as usize].as_ref().map(|seen| seen.variable.observation.clone());
        self.observe(machine, frame, var).filter(|now| before.as_ref() != Some(&now.observation))
    }

    /// One variable at one stop; nothing when this engine has no way to evaluate it, which is nobody's fault but its own.
    pub fn observe(&mut self, machine: &Machine<'_>, frame: &Frame, var: VarId) -> Option<Variable> {
        let module = machine.module;
        let outcome = match (self.policy, &module.var(var).location) {
            // lldb 16 does not know the form and finds no data.
            (Policy::Lldb | Policy::Lldb22, Location::Constant(_, ConstantForm::Abbreviation)) => {
                Err(Fault::Unreadable("no constant data".into()))
            }
            _ => fetch(machine, frame, var, &mut self.content),
        };
        if let (Ok(()), Some(seen)) = (&outcome, &self.seen[var.0 as usize])
            && seen.is_value
            && !seen.looks_behind
            && self.content.missing.is_none()
            && self.content.synthetic.is_none()
            && self.content.computed.is_none()
            && seen.bytes == self.content.bytes
        {
            return Some(seen.variable.clone());
        }
        if let Err(Fault::Unsupported(_)) = outcome {
            return None;
        }
        let observation = match (outcome, self.as_lldb_computes(machine, frame, var)) {
            (Ok(()), _) if self.content.synthetic.is_some() && self.policy.debugger() == Some(Debugger::Lldb) => Observation::Unreadable,
            (Ok(()), Some(text)) => Observation::Value(text),
            (Ok(()), None) => match print(module, self.memory_behind(machine), module.var(var).ty, &self.content, &mut self.text) {
                Printed::Text => Observation::Value(Arc::from(self.text.as_str())),
                Printed::AllMissing => Observation::OptimizedOut,
            },
            (Err(Fault::OptimizedOut), _) => Observation::OptimizedOut,
            (Err(Fault::NoEntryValue), _) if self.policy.debugger() != Some(Debugger::Lldb) => Observation::OptimizedOut,
            (Err(Fault::NoEntryValue | Fault::Unreadable(_) | Fault::IllFormed(_) | Fault::Unsupported(_)), _) => Observation::Unreadable,
        };
        let is_value = matches!(observation, Observation::Value(_))
            && self.content.missing.is_none()
            && self.content.synthetic.is_none()
            && self.content.computed.is_none();
        let slot = &mut self.seen[var.0 as usize];
        let policy = self.policy;
        let looks_behind = self.vars == Vars::All && module.looks_behind(module.var(var).ty);
        let seen =
            slot.get_or_insert_with(|| Seen { variable: describe(module, var, policy), bytes: Vec::new(), is_value: false, looks_behind });
        seen.variable.observation = observation;
        seen.is_value = is_value;
        seen.bytes.clear();
        seen.bytes.extend_from_slice(&self.content.bytes);
        Some(seen.variable.clone())
    }
}

impl Watch {
    /// The memory that readers look into, where they are wanted.
    fn memory_behind<'m>(&self, machine: &Machine<'m>) -> Option<&'m dyn Memory> {
        (self.vars == Vars::All).then_some(machine.memory)
    }

    /// In lldb 16 a pointer computed from an address of the binary prints as it stands in the debug information, not relocated.
    fn as_lldb_computes(&self, machine: &Machine<'_>, frame: &Frame, var: VarId) -> Option<Arc<str>> {
        let bits = self.content.computed.filter(|_| self.policy.debugger() == Some(Debugger::Lldb))?;
        let var = machine.module.var(var);
        if !matches!(machine.module.ty(var.ty).kind, TypeKind::Pointer | TypeKind::Reference(_)) {
            return None;
        }
        let ops = machine.module.in_force(&var.location, frame.lookup, frame.function)?.ok()?;
        is_address_sum(ops).then(|| format!("{:#x}", bits.wrapping_sub(machine.bias)).into())
    }
}

/// True for an address of the binary, possibly with constants added, given as a value.
fn is_address_sum(ops: &[Op]) -> bool {
    let adds = |op: &Op| matches!(op, Op::Const(_) | Op::PlusConst(_) | Op::Binary(Binary::Plus) | Op::StackValue);
    matches!(ops, [Op::Address(_), rest @ ..] if rest.iter().all(adds))
}

/// lldb shows the static variables of every block of the function, wherever in it the program stands.
fn add_statics(module: &Module, block: BlockId, vars: &mut Vec<VarId>) {
    for &child in module.block(block).children.iter().filter(|&&c| !module.block(c).is_inlined()) {
        let is_static = |v: &VarId| module.var(*v).kind != VarKind::Param && is_static_to_lldb(&module.var(*v).location);
        let found: Vec<VarId> = module.block(child).vars.iter().copied().filter(is_static).filter(|v| !vars.contains(v)).collect();
        vars.extend(found);
        add_statics(module, child, vars);
    }
}

/// What lldb 16 takes for static: a location that holds everywhere and mentions an address, whatever is done with it; and
/// a location list that holds nowhere, which it reads as a global that was optimized out.
fn is_static_to_lldb(location: &Location) -> bool {
    match location {
        Location::Everywhere(ops) => ops.iter().any(|op| matches!(op, Op::Address(_))),
        Location::List(list) => list.iter().all(|entry| entry.low >= entry.high),
        Location::None | Location::Constant(..) | Location::Broken(_) => false,
    }
}

fn describe(module: &Module, id: VarId, policy: Policy) -> Variable {
    let var = module.var(id);
    let kind = match var.kind {
        VarKind::Local if policy.debugger() == Some(Debugger::Lldb) && is_static_to_lldb(&var.location) => VarKind::Global,
        kind => kind,
    };
    Variable {
        name: Arc::clone(&var.name),
        kind,
        decl_line: var.decl_line,
        type_name: Arc::clone(&module.ty(var.ty).name),
        holds_pointer: module.holds_pointer(var.ty),
        observation: Observation::OptimizedOut,
    }
}

/// Brings the bytes of a variable into `content`, or says why there are none.
pub(crate) fn fetch(machine: &Machine<'_>, frame: &Frame, id: VarId, content: &mut Content) -> Result<(), Fault> {
    let var = machine.module.var(id);
    if let Location::Constant(bytes, _) = &var.location {
        let size = machine.module.ty(var.ty).size as usize;
        content.bytes.clear();
        content.bytes.extend_from_slice(bytes.get(..size).unwrap_or(bytes));
        content.bytes.resize(size.min(1 << 16), 0);
        content.missing = None;
        content.synthetic = None;
        content.computed = None;
        return Ok(());
    }
    match machine.module.in_force(&var.location, frame.lookup, frame.function) {
        None => Err(Fault::OptimizedOut),
        Some(Err(reason)) => Err(Fault::IllFormed(reason.to_string())),
        Some(Ok(ops)) if ops.is_empty() => Err(Fault::OptimizedOut),
        Some(Ok(ops)) => {
            let placement = machine.locate(frame, ops)?;
            machine.fetch(frame, &placement, var.ty, content)
        }
    }
}

/// Variables visible from an address, innermost block first, then the unit's globals of the user's files. lldb leaves out
/// globals without a location and variables of blocks without addresses.
pub(crate) fn visible(module: &Module, pc: u64, hidden: usize, policy: Policy, user: impl Fn(FileId) -> bool) -> Vec<VarId> {
    let mut chain = module.chain_at(pc).into_iter();
    // Blocks inside inlined calls that are not entered yet are not visible.
    let mut left = hidden;
    while left > 0 {
        match chain.next() {
            Some(block) if module.block(block).is_inlined() => left -= 1,
            Some(_) => {}
            None => break,
        }
    }
    let mut vars = Vec::new();
    let mut outermost = None;
    for id in chain {
        let block = module.block(id);
        vars.extend_from_slice(&block.vars);
        outermost = Some(id);
        if block.is_inlined() {
            break;
        }
    }
    if let (Policy::Lldb | Policy::Lldb22, Some(block)) = (policy, outermost) {
        add_statics(module, block, &mut vars);
    }
    if let Some(function) = module.function_at(pc) {
        let globals = &module.unit(module.function(function).unit).globals;
        vars.extend(globals.iter().filter(|&&g| module.var(g).decl_file.is_none_or(&user)));
    }
    if policy.debugger() == Some(Debugger::Lldb) {
        vars.retain(|&v| {
            let var = module.var(v);
            let lost_global = var.kind == VarKind::Global && matches!(var.location, Location::None);
            !var.is_adopted() && !lost_global
        });
    }
    vars
}
