//! The program's memory at one stop, read in few system calls, and the variables seen in it.

use super::eval::{Fault, Machine, Memory};
use super::frame::Frame;
use super::module::{BlockId, ConstantForm, FileId, Location, Module, TypeKind, VarId};
use super::op::{Binary, Op};
use super::value::{Content, Printed, print};
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use trueline_machine::inferior::Inferior;
use trueline_model::{Observation, Policy, VarKind, Variable};

/// Bytes above and below the stack pointer that are read together.
const STACK_ABOVE: usize = 3072;
const STACK_BELOW: usize = 128;
/// The most that is read above the stack pointer once variables were found to be there.
const MOST_STACK: u64 = 64 << 10;
/// Static data up to this size is read as a whole.
const MOST_DATA: u64 = 64 << 10;

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
    data: Window,
    /// The end of the highest variable that was found above the stack's window.
    reached: Cell<u64>,
}

impl Windows {
    /// Prepares the window over the static variables of a module.
    pub fn new(module: &Module, bias: u64) -> Self {
        let mut bounds: Option<(u64, u64)> = None;
        for var in &module.vars {
            if let Location::Everywhere(ops) = &var.location
                && let [Op::Address(address)] = **ops
                && (module.image.0..module.image.1).contains(&address)
            {
                let end = address.saturating_add(module.ty(var.ty).size);
                bounds = Some(bounds.map_or((address, end), |(low, high)| (low.min(address), high.max(end))));
            }
        }
        let (low, high) = bounds.filter(|b| b.1 - b.0 <= MOST_DATA).unwrap_or((0, 0));
        Self {
            stack: Window { start: 0, bytes: Vec::with_capacity(STACK_ABOVE + STACK_BELOW) },
            data: Window { start: low.wrapping_add(bias), bytes: vec![0; (high - low) as usize] },
            reached: Cell::new(0),
        }
    }
}

/// Memory during one stop.
pub(crate) struct View<'v> {
    inferior: &'v Inferior,
    windows: RefCell<&'v mut Windows>,
    filled: Cell<bool>,
    sse: OnceCell<Option<[[u8; 16]; 16]>>,
    x87: OnceCell<Option<[[u8; 16]; 8]>>,
}

impl<'v> View<'v> {
    pub fn new(inferior: &'v Inferior, windows: &'v mut Windows) -> Self {
        Self { inferior, windows: RefCell::new(windows), filled: Cell::new(false), sse: OnceCell::new(), x87: OnceCell::new() }
    }

    fn fill(&self) {
        if self.filled.replace(true) {
            return;
        }
        let mut windows = self.windows.borrow_mut();
        let Windows { stack, data, reached } = &mut **windows;
        let sp = self.inferior.regs().rsp;
        stack.start = sp.wrapping_sub(STACK_BELOW as u64);
        let above = reached.get().checked_sub(sp).filter(|&n| n <= MOST_STACK).map_or(STACK_ABOVE, |n| STACK_ABOVE.max(n as usize));
        let wanted = above + STACK_BELOW;
        stack.bytes.resize(wanted, 0);
        let data_length = data.bytes.len();
        let arrived = self.inferior.read_many(&mut [(data.start, &mut data.bytes), (stack.start, &mut stack.bytes)]);
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
    }
}

impl Memory for View<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.fill();
        let windows = self.windows.borrow();
        for window in [&windows.stack, &windows.data] {
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

    fn x87(&self, register: usize) -> Option<[u8; 16]> {
        self.x87.get_or_init(|| self.inferior.x87().ok()).as_ref().map(|all| all[register])
    }
}

/// The last thing seen of a variable: most stay as they were from one stop to the next.
struct Seen {
    variable: Variable,
    bytes: Vec<u8>,
    is_value: bool,
}

/// Variables as they are shown.
pub(crate) struct Watch {
    seen: Vec<Option<Seen>>,
    content: Content,
    text: String,
    policy: Policy,
}

impl Watch {
    pub fn new(module: &Module, policy: Policy) -> Self {
        let seen = (0..module.vars.len()).map(|_| None).collect();
        Self { seen, content: Content::default(), text: String::new(), policy }
    }

    /// One variable at one stop; nothing when this engine has no way to evaluate it, which is nobody's fault but its own.
    pub fn observe(&mut self, machine: &Machine<'_>, frame: &Frame, var: VarId) -> Option<Variable> {
        let module = machine.module;
        let outcome = match (self.policy, &module.var(var).location) {
            // lldb 16 does not know the form and finds no data.
            (Policy::Lldb, Location::Constant(_, ConstantForm::Abbreviation)) => Err(Fault::Unreadable("no constant data".into())),
            _ => fetch(machine, frame, var, &mut self.content),
        };
        if let (Ok(()), Some(seen)) = (&outcome, &self.seen[var.0 as usize])
            && seen.is_value
            && self.content.missing.is_none()
            && !self.content.is_synthetic
            && self.content.computed.is_none()
            && seen.bytes == self.content.bytes
        {
            return Some(seen.variable.clone());
        }
        if let Err(Fault::Unsupported(_)) = outcome {
            return None;
        }
        let observation = match (outcome, self.as_lldb_computes(machine, frame, var)) {
            (Ok(()), _) if self.content.is_synthetic && self.policy == Policy::Lldb => Observation::Unreadable,
            (Ok(()), Some(text)) => Observation::Value(text),
            (Ok(()), None) => match print(module, module.var(var).ty, &self.content, &mut self.text) {
                Printed::Text => Observation::Value(Arc::from(self.text.as_str())),
                Printed::AllMissing => Observation::OptimizedOut,
            },
            (Err(Fault::OptimizedOut), _) => Observation::OptimizedOut,
            (Err(Fault::NoEntryValue), _) if self.policy != Policy::Lldb => Observation::OptimizedOut,
            (Err(Fault::NoEntryValue | Fault::Unreadable(_) | Fault::IllFormed(_) | Fault::Unsupported(_)), _) => Observation::Unreadable,
        };
        let is_value = matches!(observation, Observation::Value(_))
            && self.content.missing.is_none()
            && !self.content.is_synthetic
            && self.content.computed.is_none();
        let slot = &mut self.seen[var.0 as usize];
        let policy = self.policy;
        let seen = slot.get_or_insert_with(|| Seen { variable: describe(module, var, policy), bytes: Vec::new(), is_value: false });
        seen.variable.observation = observation;
        seen.is_value = is_value;
        seen.bytes.clear();
        seen.bytes.extend_from_slice(&self.content.bytes);
        Some(seen.variable.clone())
    }
}

impl Watch {
    /// In lldb 16 a pointer computed from an address of the binary prints as it stands in the debug information, not relocated.
    fn as_lldb_computes(&self, machine: &Machine<'_>, frame: &Frame, var: VarId) -> Option<Arc<str>> {
        let bits = self.content.computed.filter(|_| self.policy == Policy::Lldb)?;
        let var = machine.module.var(var);
        if !matches!(machine.module.ty(var.ty).kind, TypeKind::Pointer) {
            return None;
        }
        let entry = machine.module.function(frame.function).entry();
        let ops = var.location.at(frame.lookup, entry)?.ok()?;
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
        VarKind::Local if policy == Policy::Lldb && is_static_to_lldb(&var.location) => VarKind::Global,
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
        content.is_synthetic = false;
        content.computed = None;
        return Ok(());
    }
    let entry = machine.module.function(frame.function).entry();
    match var.location.at(frame.lookup, entry) {
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
    if let (Policy::Lldb, Some(block)) = (policy, outermost) {
        add_statics(module, block, &mut vars);
    }
    if let Some(function) = module.function_at(pc) {
        let globals = &module.unit(module.function(function).unit).globals;
        vars.extend(globals.iter().filter(|&&g| module.var(g).decl_file.is_none_or(&user)));
    }
    if policy == Policy::Lldb {
        vars.retain(|&v| {
            let var = module.var(v);
            let lost_global = var.kind == VarKind::Global && matches!(var.location, Location::None);
            !var.is_adopted() && !lost_global
        });
    }
    vars
}
