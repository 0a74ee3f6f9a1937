//! -O0 under a microscope: what a variable held after every store, and where it was initialised.
//!
//! The program runs twice, stopping after every instruction that writes memory and at every line row. On each
//! entry of a function the stack below it is filled with a pattern, another one in each run: bytes that differ
//! between the runs were never written, so the variable is not initialised there. The C library fills what it allocates with two
//! patterns as well, so that copies of uninitialised memory from the heap are known for what they are. This is what makes a
//! `value` report certain: the value shown never was.

use crate::leaves::{Leaf, leaves, text_of};
use crate::line_code::changes_memory;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, Register};
use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use trueline_dwarf::op::Op;
use trueline_dwarf::{Function, FunctionCopy, Location, Module, VarId};
use trueline_machine::inferior::{Event, Follow, Inferior};
use trueline_model::{LineKey, VarKey};
use trueline_oracle::{Testimony, Witness};
use trueline_toolchain::{JobError, Launch, Limits, Onlooker};
use trueline_trace::TraceError;
use trueline_trace::native::library_spans;

/// Stops of one run after which the witness gives up.
const MOST_STOPS: usize = 400_000;
/// Bytes of variables remembered in one run.
const MOST_BYTES: usize = 48 << 20;
/// The DWARF number of rbp.
const RBP: u16 = 6;
/// What memory that was never written holds in the two runs.
const PATTERNS: [u8; 2] = [0xa5, 0x5a];
/// Tells the C library to fill what it allocates.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Stack that is filled below a function's entry.
const FILL: [usize; 3] = [32 << 10, 4 << 10, 512];

/// Notes who would have to be asked; says nothing.
#[derive(Debug, Default)]
pub(crate) struct Summons(RefCell<BTreeSet<VarKey>>);

impl Summons {
    pub(crate) fn names(&self) -> BTreeSet<VarKey> {
        self.0.borrow().clone()
    }
}

impl Witness for Summons {
    fn testify(&self, variable: &VarKey) -> Option<Testimony> {
        self.0.borrow_mut().insert(variable.clone());
        None
    }
}

/// What variables did, as far as they were watched; `None` for those that could not be.
#[derive(Debug, Default)]
pub(crate) struct Record(BTreeMap<VarKey, Option<Testimony>>);

impl Record {
    /// Watches those of the variables that were not watched before: the levels of a compiler ask about the same ones. With the launch
    /// goes how many threads are followed beside the first.
    pub(crate) fn complete(
        &mut self,
        module: &Module,
        binary: &Path,
        launch: (&Launch, u32),
        limits: &Limits,
        variables: BTreeSet<VarKey>,
    ) -> Result<(), JobError> {
        let new: BTreeSet<VarKey> = variables.into_iter().filter(|v| !self.0.contains_key(v)).collect();
        let mut testimonies = watch(module, binary, launch, limits, &new)?;
        self.0.extend(new.into_iter().map(|variable| {
            let testimony = testimonies.remove(&variable);
            (variable, testimony)
        }));
        Ok(())
    }
}

impl Witness for Record {
    fn testify(&self, variable: &VarKey) -> Option<Testimony> {
        self.0.get(variable).cloned().flatten()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Static(u64),
    /// Offset from the canonical frame address of the innermost activation.
    Frame(i64),
}

struct Watched {
    key: VarKey,
    base: Base,
    function: Option<usize>,
    leaves: Arc<[Leaf]>,
    size: usize,
}

type Testimonies = BTreeMap<VarKey, Testimony>;

/// Watches `variables` of the -O0 build; those it cannot watch are absent from the answer.
fn watch(
    module: &Module,
    binary: &Path,
    (launch, threads): (&Launch, u32),
    limits: &Limits,
    variables: &BTreeSet<VarKey>,
) -> Result<Testimonies, JobError> {
    let plan = Plan::make(module, variables);
    if plan.watched.is_empty() {
        return Ok(Testimonies::new());
    }
    let run = |pattern: u8, thread: u32| match plan.run(module, binary, launch, limits, pattern, thread) {
        Err(TraceError::Job(killed @ JobError::Killed { .. })) => Err(killed),
        // A run that fails or does not repeat says nothing; candidates then stay unconfirmed.
        Err(_) => Ok(None),
        Ok(run) => Ok(run),
    };
    let mut all = Testimonies::new();
    for thread in 0..=threads {
        // A run that is too long is so the second time as well.
        let Some(first) = run(PATTERNS[0], thread)? else { return Ok(Testimonies::new()) };
        let Some(second) = run(PATTERNS[1], thread)? else { return Ok(Testimonies::new()) };
        let found = plan.compare(module, &first, &second);
        // What one thread did cannot be told, so that nothing is known of the variables.
        if found.is_empty() {
            return Ok(found);
        }
        for (variable, testimony) in found {
            match all.entry(variable) {
                Entry::Vacant(place) => drop(place.insert(testimony)),
                Entry::Occupied(mut known) => add(known.get_mut(), testimony),
            }
        }
    }
    Ok(all)
}

/// Adds what was seen in another thread.
fn add(known: &mut Testimony, other: Testimony) {
    known.values.iter_mut().zip(other.values).for_each(|(all, more)| all.extend(more));
    known.uninitialised_on.extend(other.uninitialised_on);
    known.lines.extend(other.lines);
}

struct Plan {
    watched: Vec<Watched>,
    stops: HashSet<u64>,
    /// Entry address of a watched function, by which its activations are known.
    entries: HashMap<u64, usize>,
    returns: HashMap<u64, usize>,
    /// Entry addresses of the other functions: a struct in their frames may be copied to a watched variable.
    others: HashSet<u64>,
    functions: usize,
}

/// One run: the addresses stopped at, and the variables' bytes at each stop.
#[derive(Default)]
struct Run {
    stops: Vec<u64>,
    /// For each stop, the variables that were alive, by index.
    alive: Vec<(u32, u16)>,
    bytes: Vec<u8>,
}

impl Plan {
    fn make(module: &Module, variables: &BTreeSet<VarKey>) -> Self {
        let mut plan = Self {
            watched: Vec::new(),
            stops: HashSet::new(),
            entries: HashMap::new(),
            returns: HashMap::new(),
            others: HashSet::new(),
            functions: 0,
        };
        let real: Vec<FunctionCopy<'_>> = module.copies().filter(|c| !c.is_inlined()).collect();
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        for key in variables {
            let Some((base, function, leaves)) = find(module, &real, key) else { continue };
            let size = leaves.iter().map(|l| l.offset.saturating_add(l.size) as usize).max().unwrap_or(0);
            if size == 0 || size > 1 << 16 {
                continue;
            }
            let function = function.map(|f| {
                let entry = f.entry();
                let next = numbers.len();
                let number = *numbers.entry(entry).or_insert(next);
                plan.entries.insert(entry, number);
                number
            });
            plan.watched.push(Watched { key: key.clone(), base, function, leaves, size });
        }
        plan.functions = numbers.len();
        for function in real.iter().map(FunctionCopy::around) {
            plan.add_stops(module, function, numbers.get(&function.entry()).copied());
        }
        plan
    }

    fn add_stops(&mut self, module: &Module, function: &Function, number: Option<usize>) {
        let mut factory = InstructionInfoFactory::new();
        for (start, end) in function.ranges.iter().copied() {
            let Some(code) = module.code_at(start) else { continue };
            let code = &code[..code.len().min((end - start) as usize)];
            for instruction in &mut Decoder::with_ip(64, code, start, DecoderOptions::NONE) {
                if let (FlowControl::Return, Some(number)) = (instruction.flow_control(), number) {
                    self.returns.insert(instruction.ip(), number);
                    self.stops.insert(instruction.ip());
                }
                if changes_memory(&instruction, &mut factory) && instruction.next_ip() < end {
                    self.stops.insert(instruction.next_ip());
                }
            }
        }
        for &(low, high) in &function.ranges {
            self.stops.extend(module.rows_in(low, high).map(|i| module.rows[i].address));
        }
        self.stops.insert(function.entry());
        if number.is_none() {
            self.others.insert(function.entry());
        }
    }

    /// One run, with the eyes on one thread; `None` when it is too long to be remembered, or not what a closed program does.
    fn run(
        &self,
        module: &Module,
        binary: &Path,
        launch: &Launch,
        limits: &Limits,
        pattern: u8,
        thread: u32,
    ) -> Result<Option<Run>, TraceError> {
        let prepared = launch.job(binary, Onlooker::Tracer, limits);
        let mut job = prepared.map_err(|source| TraceError::System { what: "cannot prepare a run".into(), source })?;
        // What comes back from a thread's own cache is not filled, so that there is none. Numbers of equal length, since the environment lies on the stack. Those who tune their C library themselves have their way.
        if !launch.env.iter().any(|(name, _)| name == TUNABLES) {
            job = job.env(
                TUNABLES,
                format!("glibc.malloc.tcache_count=0:glibc.malloc.perturb={}", if pattern == PATTERNS[0] { 165 } else { 218 }),
            );
        }
        let mut inferior = Inferior::launch(&job, module.entry, module.image)?;
        inferior.permit(launch.allowed, Follow::Parent);
        if !module.libraries.is_empty() {
            inferior.follow_libraries(library_spans(module, inferior.bias()))?;
        }
        if thread > 0 {
            inferior.follow_thread(thread);
            if inferior.resume()? != Event::ThreadStarted {
                return Ok(None);
            }
        }
        self.run_through(&mut inferior, pattern).map_err(|e| inferior.why(e))
    }

    fn run_through(&self, inferior: &mut Inferior, pattern: u8) -> Result<Option<Run>, TraceError> {
        let system = |what: &str| {
            let what = what.to_owned();
            move |source| TraceError::System { what, source }
        };
        let bias = inferior.bias();
        let places: Vec<u64> = self.stops.iter().map(|a| a + bias).collect();
        inferior.set_breakpoints(&places).map_err(system("insert breakpoints"))?;
        let mut activations: Vec<Vec<u64>> = vec![Vec::new(); self.functions];
        let mut run = Run::default();
        let mut places = Vec::new();
        loop {
            match inferior.resume()? {
                Event::Breakpoint(at) => {
                    let pc = at - bias;
                    if let Some(number) = self.entries.get(&pc) {
                        let rsp = inferior.regs().rsp;
                        activations[*number].push(rsp + 8);
                        let fill = |n: usize| inferior.write(rsp - n as u64, &vec![pattern; n]);
                        fill(FILL[0]).or_else(|_| fill(FILL[1])).or_else(|_| fill(FILL[2])).map_err(system("fill the stack"))?;
                    }
                    if self.others.contains(&pc) {
                        // At the very end of the stack there may be less of it.
                        let _ = inferior.write(inferior.regs().rsp - FILL[1] as u64, &[pattern; FILL[1]]);
                    }
                    places.clear();
                    for (index, watched) in self.watched.iter().enumerate() {
                        let address = match (watched.base, watched.function.and_then(|f| activations[f].last())) {
                            (Base::Static(address), _) => address + bias,
                            (Base::Frame(offset), Some(cfa)) => cfa.wrapping_add_signed(offset),
                            (Base::Frame(_), None) => continue,
                        };
                        run.alive.push((run.stops.len() as u32, index as u16));
                        places.push((address, watched.size));
                    }
                    read_all(inferior, &places, &mut run.bytes).map_err(system("read variables"))?;
                    run.stops.push(pc);
                    if let Some(number) = self.returns.get(&pc) {
                        activations[*number].pop();
                    }
                    if run.stops.len() > MOST_STOPS || run.bytes.len() > MOST_BYTES {
                        return Ok(None);
                    }
                }
                Event::Exited(_) => return Ok(Some(run)),
                Event::Stepped => {}
                _ => return Ok(None),
            }
        }
    }

    fn compare(&self, module: &Module, first: &Run, second: &Run) -> Testimonies {
        if first.stops != second.stops || first.alive != second.alive {
            return Testimonies::new();
        }
        let mut record: Vec<Testimony> =
            self.watched.iter().map(|w| Testimony { values: vec![BTreeSet::new(); w.leaves.len()], ..Testimony::default() }).collect();
        let mut raw: Vec<HashSet<(usize, Vec<u8>)>> = vec![HashSet::new(); self.watched.len()];
        let mut lines: HashMap<u64, Option<LineKey>> = HashMap::new();
        let mut at = 0;
        for (stop, index) in &first.alive {
            let watched = &self.watched[*index as usize];
            let (one, two) = (&first.bytes[at..at + watched.size], &second.bytes[at..at + watched.size]);
            at += watched.size;
            let pc = first.stops[*stop as usize];
            let testimony = &mut record[*index as usize];
            let line = lines.entry(pc).or_insert_with(|| module.row_around(pc).and_then(|r| module.line_key(r.file, r.line)));
            if let Some(line) = line
                && !testimony.lines.contains(line)
            {
                testimony.lines.insert(line.clone());
            }
            for (number, leaf) in watched.leaves.iter().enumerate() {
                let range = leaf.offset as usize..(leaf.offset + leaf.size) as usize;
                let (one, two) = (&one[range.clone()], &two[range]);
                if one != two {
                    if let Some(line) = line {
                        testimony.uninitialised_on.insert((line.clone(), number));
                    }
                    continue;
                }
                if raw[*index as usize].insert((number, one.to_vec())) {
                    let local = Leaf { offset: 0, ..leaf.clone() };
                    testimony.values[number].extend(text_of(&local, one));
                }
            }
        }
        self.watched.iter().map(|w| w.key.clone()).zip(record).collect()
    }
}

/// Appends what is at some places, in few system calls.
fn read_all(inferior: &Inferior, places: &[(u64, usize)], bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let (start, wanted) = (bytes.len(), places.iter().map(|p| p.1).sum());
    bytes.resize(start + wanted, 0);
    let mut rest = &mut bytes[start..];
    let mut parts: Vec<(u64, &mut [u8])> = Vec::with_capacity(places.len());
    for &(address, size) in places {
        let (part, later) = rest.split_at_mut(size);
        parts.push((address, part));
        rest = later;
    }
    if inferior.read_many(&mut parts) < wanted {
        return Err(std::io::Error::other("a variable has no memory"));
    }
    Ok(())
}

/// Where a variable lives at -O0, the function whose frame that is, and its scalar parts.
type Home<'a> = (Base, Option<&'a Function>, Arc<[Leaf]>);

/// A variable's home at -O0, when it is one that can be watched.
fn find<'a>(module: &'a Module, functions: &[FunctionCopy<'a>], key: &VarKey) -> Option<Home<'a>> {
    let is_it = |v: &VarId| {
        let var = module.var(*v);
        var.name == key.name && var.decl_line == key.decl_line && !var.is_artificial
    };
    let own = |f: &FunctionCopy<'a>| f.vars().into_iter().map(|v| v.var).filter(is_it).collect::<Vec<_>>();
    let parts = |v: VarId| leaves(module, module.var(v).ty).map(Arc::from);
    if key.function.is_empty() {
        let globals = module.units.iter().flat_map(|u| &u.globals).copied().filter(is_it);
        let (var, address) = globals.chain(functions.iter().flat_map(own)).find_map(|v| match only_operation(module, v)? {
            Op::Address(address) => Some((v, *address)),
            _ => None,
        })?;
        return Some((Base::Static(address), None, parts(var)?));
    }
    let mut found = functions.iter().filter(|f| *f.name() == key.function).flat_map(|f| own(f).into_iter().map(|v| (f.around(), v)));
    let (function, var) = found.next()?;
    // Two variables of one name on one line, or two functions of one name: not to be told apart.
    if found.next().is_some() || function.ranges.len() != 1 || !has_plain_frame(module, function) {
        return None;
    }
    let Some(Op::FrameOffset(offset)) = only_operation(module, var) else { return None };
    let offset = match &function.frame_base {
        // The frame address is rbp + 16 once an -O0 prologue is over.
        Location::Everywhere(ops) if matches!(**ops, [Op::Cfa]) => *offset,
        Location::Everywhere(ops) if matches!(**ops, [Op::Register(RBP)]) => offset - 16,
        _ => return None,
    };
    Some((Base::Frame(offset), Some(function), parts(var)?))
}

/// The operation that is a variable's whole location.
fn only_operation(module: &Module, var: VarId) -> Option<&Op> {
    match &module.var(var).location {
        Location::Everywhere(ops) => match &**ops {
            [op] => Some(op),
            _ => None,
        },
        _ => None,
    }
}

/// True for the usual prologue `push rbp; mov rbp, rsp`, after which the frame address is rbp + 16.
fn has_plain_frame(module: &Module, function: &Function) -> bool {
    let start = function.entry();
    let Some(code) = module.code_at(start) else { return false };
    let mut decoder = Decoder::with_ip(64, &code[..code.len().min(32)], start, DecoderOptions::NONE);
    let mut first = decoder.decode();
    if first.code() == Code::Endbr64 {
        first = decoder.decode();
    }
    let second = decoder.decode();
    first.mnemonic() == Mnemonic::Push
        && first.op0_register() == Register::RBP
        && second.mnemonic() == Mnemonic::Mov
        && second.op0_register() == Register::RBP
        && second.op1_register() == Register::RSP
}
