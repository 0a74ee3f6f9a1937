//! Both builds of one function, run in the emulator on the same input.
//!
//! The reference run becomes a list of *moments* (statement stops with the values of all variables) and
//! loop instances; the optimized run becomes *instants* (a PC with the readable state and where in its
//! loops it is). What both have in common is the fingerprint of shared memory.

use crate::debug::{ConcreteFunction, FrameBase, ImageInfo, TypeClass, frame_offset};
use crate::flow::Graph;
use crate::relation::MachineState;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use trueline_machine::algebra::RSP;
use trueline_machine::cpu::{Cpu, Tracker};
use trueline_machine::emulate::{self, DecodedCode, EmulatorStop, POISON};
use trueline_machine::image::Image;

/// Instructions after which a run is cut off: a second or so of emulation.
pub const RUN_LIMIT: u64 = 3_000_000;
/// Moments after which the reference run is cut off.
const MOMENT_LIMIT: usize = 300_000;
/// Instants kept per PC and run.
const SAMPLES_PER_PC: u64 = 18;
/// Frame words kept per instant.
const FRAME_WORDS: usize = 40;

/// A file (by the hash of its name) and a line.
pub type Place = (u64, u64);

/// One build of the function.
pub struct BuildSide<'a> {
    /// The file that the build is in.
    pub image: &'a Image,
    /// Its debug information.
    pub info: &'a ImageInfo,
    /// The function in it.
    pub function: &'a ConcreteFunction,
    /// The code of the file, decoded when it is run.
    pub code: DecodedCode<'a>,
    /// Its control flow.
    pub graph: Graph,
}

impl<'a> BuildSide<'a> {
    /// Reads one build.
    pub fn new(image: &'a Image, info: &'a ImageInfo, function: &'a ConcreteFunction) -> Self {
        let code = DecodedCode::new(image);
        let graph = Graph::build(&code, function);
        Self { image, info, function, code, graph }
    }

    /// The same build of an object with its parts elsewhere; its code is where it was.
    pub fn placed<'b>(&self, image: &'b Image) -> BuildSide<'b>
    where
        'a: 'b,
    {
        BuildSide::new(image, self.info, self.function)
    }

    /// The source points of the function: where control comes to a line from another one, before any of its effects.
    pub fn source_points(&self) -> BTreeMap<u64, Place> {
        let (graph, info) = (&self.graph, self.info);
        let mut found = BTreeMap::new();
        for row in info.rows_of(self.function).filter(|r| !r.end && r.line != 0 && r.is_stmt) {
            let place = info.place_at(row.address);
            let from = graph.predecessors.get(&row.address);
            if row.address == self.function.entry() || place.1 == 0 || !graph.instructions.contains_key(&row.address) {
                continue;
            }
            // Going on inside a line is no arrival at it.
            if from.is_some_and(|list| list.iter().any(|pc| info.place_at(*pc) != place)) {
                found.insert(row.address, place);
            }
        }
        // A loop written on one line is arrived at once per iteration, at its head.
        for l in &graph.loops {
            let place = info.place_at(l.head);
            if place.1 != 0 && !l.body.iter().any(|pc| found.contains_key(pc)) {
                found.insert(l.head, place);
            }
        }
        found
    }

    /// The source lines of a loop's body.
    pub fn loop_lines(&self, index: usize) -> std::collections::BTreeSet<u64> {
        self.graph.loops[index].body.iter().map(|pc| self.info.line_at(*pc)).filter(|l| *l != 0).collect()
    }
}

/// A source variable that both builds know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The function that declares it.
    pub function: String,
    /// The name that the source gives it.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
}

/// Where the reference build keeps a variable.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The variable that is kept there.
    pub key: Key,
    /// Offset from the canonical frame address.
    pub offset: i64,
    /// How many bytes the variable has.
    pub size: u64,
    /// What a value of the variable is.
    pub class: TypeClass,
    /// Where it is in scope.
    pub scope: Vec<(u64, u64)>,
}

/// The variables of the reference build that can be read.
pub fn slots(info: &ImageInfo, names: &[String]) -> Vec<Slot> {
    let mut found = Vec::new();
    for function in info.functions.iter().filter(|f| names.contains(&f.name)) {
        for variable in
            function.variables.iter().filter(|v| !v.inlined && v.ty.class != TypeClass::Other && matches!(v.ty.size, 1 | 2 | 4 | 8))
        {
            let Some(offset) = frame_offset(variable) else { continue };
            let offset = match function.frame_base {
                FrameBase::Cfa => offset,
                FrameBase::FramePointer => offset - 16,
                FrameBase::Other => continue,
            };
            let key = Key { function: function.name.clone(), name: variable.name.clone(), line: variable.line };
            found.push(Slot { key, offset, size: variable.ty.size, class: variable.ty.class, scope: variable.scope.clone() });
        }
    }
    found
}

/// A statement stop of the reference run.
#[derive(Clone, Debug)]
pub struct SourceMoment {
    /// Fingerprint of shared memory.
    pub state: u64,
    /// The line of the source that it stops on.
    pub line: u64,
    /// Whether control comes to the line here: going on inside a line is a moment of it, but not its first.
    pub arrival: bool,
    /// Values by slot; `None` where not in a frame or not initialised.
    pub values: Box<[Option<u64>]>,
}

/// An arrival at a loop's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Moments or instants before it.
    pub position: usize,
    /// Fingerprint of shared memory.
    pub state: u64,
    /// Bytes stored there so far.
    pub stored: u64,
}

/// One entry into a loop until it is left.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The number of the loop in the function's graph.
    pub index: usize,
    /// Arrivals at the head.
    pub arrivals: Vec<Arrival>,
    /// Position at which it was left.
    pub end: usize,
}

/// The reference run.
#[derive(Clone, Debug)]
pub struct ReferenceRun {
    /// Moments in order.
    pub moments: Vec<SourceMoment>,
    /// Loop instances in order of entry.
    pub instances: Vec<Instance>,
    /// How it ended.
    pub stop: EmulatorStop,
    /// Pointers as the optimized build would hold them: region and offset of each pointer value seen.
    pub final_state: u64,
}

/// Follows loops while a run goes on.
struct LoopWatch<'a> {
    graph: &'a Graph,
    heads: HashMap<u64, usize>,
    active: Vec<(usize, usize)>,
    instances: Vec<Instance>,
}

impl<'a> LoopWatch<'a> {
    fn new(graph: &'a Graph) -> Self {
        let heads = graph.loops.iter().enumerate().map(|(n, l)| (l.head, n)).collect();
        Self { graph, heads, active: Vec::new(), instances: Vec::new() }
    }

    /// Notes a PC of the function itself; true when it is an arrival at a head.
    fn step(&mut self, pc: u64, position: usize, tracker: &Tracker) -> bool {
        while let Some((index, instance)) = self.active.last().copied() {
            if self.graph.loops[index].body.contains(&pc) {
                break;
            }
            self.instances[instance].end = position;
            self.active.pop();
        }
        let Some(index) = self.heads.get(&pc).copied() else { return false };
        if self.active.last().map(|a| a.0) != Some(index) {
            self.instances.push(Instance { index, arrivals: Vec::new(), end: usize::MAX });
            self.active.push((index, self.instances.len() - 1));
        }
        if let Some((_, instance)) = self.active.last() {
            self.instances[*instance].arrivals.push(Arrival { position, state: tracker.state, stored: tracker.stored });
        }
        true
    }

    fn finish(mut self, position: usize) -> Vec<Instance> {
        for instance in &mut self.instances {
            instance.end = instance.end.min(position);
        }
        self.instances
    }
}

/// Runs the reference build.
pub fn run_reference(side: &BuildSide<'_>, slots: &[Slot], mut cpu: Cpu) -> ReferenceRun {
    let points = side.source_points();
    let mut stops = side.graph.stops(side.info);
    stops.extend(points.iter().map(|(pc, place)| (*pc, place.1)));
    let starts: BTreeMap<u64, (u64, usize)> =
        side.info.functions.iter().enumerate().flat_map(|(n, f)| f.ranges.iter().map(move |(l, h)| (*l, (*h, n)))).collect();
    let function_at = |pc: u64| starts.range(..=pc).next_back().filter(|(_, (high, _))| pc < *high).map(|(_, (_, n))| *n);
    let mut moments: Vec<SourceMoment> = Vec::new();
    let mut watch = LoopWatch::new(&side.graph);
    // (function, canonical frame address) by depth.
    let mut frames: Vec<(Option<usize>, u64)> = Vec::new();
    if emulate::enter(&mut cpu).is_err() {
        return ReferenceRun {
            moments,
            instances: Vec::new(),
            stop: EmulatorStop::Failed("the stack is not mapped".to_owned()),
            final_state: 0,
        };
    }
    let mut observe = |instant: emulate::Instant<'_>| {
        let cpu = instant.cpu;
        frames.truncate(instant.depth + 1);
        if frames.len() <= instant.depth {
            frames.resize(instant.depth, (None, 0));
            frames.push((function_at(instant.pc), cpu.gpr[RSP as usize].wrapping_add(8)));
        }
        if instant.depth == 0 {
            watch.step(instant.pc, moments.len(), &cpu.tracker);
        }
        if let Some(line) = stops.get(&instant.pc) {
            let values = slots
                .iter()
                .map(|slot| {
                    let frame = frames.iter().rev().find(|(f, _)| f.is_some_and(|f| side.info.functions[f].name == slot.key.function))?;
                    let address = frame.1.wrapping_add(slot.offset as u64);
                    let bits = cpu.memory.read(address, slot.size as u32).ok()? as u64;
                    (bits != crate::relation::truncate(POISON as u64, slot.size)).then_some(bits)
                })
                .collect();
            let arrival = !side.function.contains(instant.pc) || points.contains_key(&instant.pc);
            moments.push(SourceMoment { state: cpu.tracker.state, line: *line, arrival, values });
        }
        if moments.len() >= MOMENT_LIMIT { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let stop = emulate::run(&side.code, &mut cpu, side.function.entry(), RUN_LIMIT, &mut observe);
    let total = moments.len();
    ReferenceRun { moments, instances: watch.finish(total), stop, final_state: cpu.tracker.state }
}

/// One visit of a PC in the optimized run.
#[derive(Clone, Debug)]
pub struct MachineInstant {
    /// The address that control is at.
    pub pc: u64,
    /// What a debugger can read.
    pub machine: MachineState,
    /// Fingerprints since the last loop head (or the start), the current one last.
    pub states: Vec<u64>,
    /// Innermost loop instance and iteration.
    pub place: Option<(usize, usize)>,
    /// Instances entered before.
    pub entered: usize,
}

/// The optimized run.
#[derive(Clone, Debug)]
pub struct OptimizedRun {
    /// The instants that were kept, of the many that there were.
    pub instants: Vec<MachineInstant>,
    /// Loop instances in order of entry.
    pub instances: Vec<Instance>,
    /// How it ended.
    pub stop: EmulatorStop,
    /// Fingerprint at the end.
    pub final_state: u64,
    /// Visits by PC.
    pub visits: BTreeMap<u64, u64>,
}

/// Registers that a call may have overwritten, whatever this run's callee did: what is still in them is no relation until the
/// function writes them again. The registers of results are not among them.
#[derive(Default)]
struct Leftovers {
    general: Vec<usize>,
    vectors: Vec<usize>,
    before: Option<(u64, [u64; 16], [u128; 16])>,
}

impl Leftovers {
    /// Notes the machine before an instruction of the function itself.
    fn step(&mut self, graph: &Graph, pc: u64, cpu: &Cpu) {
        if let Some((last, gpr, xmm)) = self.before {
            if graph.calls.binary_search(&last).is_ok() {
                (self.general, self.vectors) = (vec![1, 6, 7, 8, 9, 10, 11], (1..16).collect());
            } else if !(self.general.is_empty() && self.vectors.is_empty()) {
                let target = graph.instructions.get(&last).map(iced_x86::Instruction::op0_register).unwrap_or_default();
                let written = trueline_machine::lift::gpr_slice(target).map(|r| usize::from(r.0));
                let vector = trueline_machine::lift::xmm_number(target).map(usize::from);
                self.general.retain(|n| cpu.gpr[*n] == gpr[*n] && Some(*n) != written);
                self.vectors.retain(|n| cpu.xmm[*n] == xmm[*n] && Some(*n) != vector);
            }
        }
        self.before = Some((pc, cpu.gpr, cpu.xmm));
    }

    /// The registers as a set of bits: the general ones, above them the vector registers.
    fn bits(&self) -> u32 {
        self.general.iter().copied().chain(self.vectors.iter().map(|n| 16 + n)).fold(0, |bits, n| bits | 1 << n)
    }
}

/// Runs the optimized build: once to count, once to sample.
pub fn run_optimized(side: &BuildSide<'_>, mut start: Cpu) -> OptimizedRun {
    let failed = |reason: String| OptimizedRun {
        instants: Vec::new(),
        instances: Vec::new(),
        stop: EmulatorStop::Failed(reason),
        final_state: 0,
        visits: BTreeMap::new(),
    };
    if emulate::enter(&mut start).is_err() {
        return failed("the stack is not mapped".to_owned());
    }
    let mut visits: HashMap<u64, u64> = HashMap::new();
    let mut cpu = start.clone();
    let first = emulate::run(&side.code, &mut cpu, side.function.entry(), RUN_LIMIT, &mut |instant| {
        if instant.depth == 0 {
            *visits.entry(instant.pc).or_insert(0) += 1;
        }
        ControlFlow::Continue(())
    });
    if let EmulatorStop::Failed(reason) = first {
        return failed(reason);
    }
    let final_state = cpu.tracker.state;
    let cfa = start.gpr[RSP as usize].wrapping_add(8);
    let mut watch = LoopWatch::new(&side.graph);
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut instants = Vec::new();
    let mut states = vec![start.tracker.state];
    let mut leftovers = Leftovers::default();
    let mut count = 0usize;
    let mut cpu = start;
    let stop = emulate::run(&side.code, &mut cpu, side.function.entry(), RUN_LIMIT, &mut |instant| {
        if instant.depth > 0 {
            return ControlFlow::Continue(());
        }
        let (cpu, pc) = (instant.cpu, instant.pc);
        leftovers.step(&side.graph, pc, cpu);
        let state = cpu.tracker.state;
        if watch.step(pc, count, &cpu.tracker) {
            states.clear();
        }
        if states.last() != Some(&state) {
            states.push(state);
        }
        count += 1;
        let total = visits.get(&pc).copied().unwrap_or(0);
        let visit = seen.entry(pc).or_insert(0);
        let wanted = *visit < SAMPLES_PER_PC / 3
            || *visit + SAMPLES_PER_PC / 6 >= total
            || (*visit).is_multiple_of((total * 2 / SAMPLES_PER_PC).max(1));
        *visit += 1;
        if wanted {
            let low = cpu.gpr[RSP as usize].wrapping_sub(128);
            let words = ((cfa.wrapping_sub(low) / 8) as usize).min(FRAME_WORDS);
            let frame = (1..=words).map_while(|n| cpu.memory.read(cfa.wrapping_sub(8 * n as u64), 8).ok().map(|w| w as u64)).collect();
            let machine = MachineState { gpr: cpu.gpr, xmm: cpu.xmm, bias: cpu.bias, cfa, frame, leftover: leftovers.bits() };
            let place = watch.active.last().map(|(_, instance)| (*instance, watch.instances[*instance].arrivals.len() - 1));
            instants.push(MachineInstant { pc, machine, states: states.clone(), place, entered: watch.instances.len() });
        }
        ControlFlow::Continue(())
    });
    OptimizedRun { instants, instances: watch.finish(count), stop, final_state, visits: visits.into_iter().collect() }
}
