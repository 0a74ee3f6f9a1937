//! One run of a build, as far as effects and breakpoints go.

use super::sites::{Act, Build};
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, Register};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use trueline_machine::inferior::{Event, Follow, Inferior, Regs};
use trueline_machine::lift::gpr_slice;
use trueline_model::LineEffect;
use trueline_toolchain::Onlooker;
use trueline_trace::{TraceError, TraceRequest};

/// Stops of one run after which it is given up.
const MOST_STOPS: usize = 200_000;
/// Stops after which a run counts as long.
const LONG: usize = 10_000;

/// Which effects are tied with one another: calls of one function, stores of one size to one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EffectKey {
    pub(super) effect: LineEffect,
    pub(super) offset: u64,
    pub(super) size: usize,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// The program came to a place of a breakpoint.
    Hit(u64),
    /// An effect took place.
    Did(Deed),
}

/// An effect that took place.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    /// The number of its key.
    pub(super) key: usize,
    /// The instruction; none where it is not known which one it is.
    pub(super) pc: Option<u64>,
    /// What was stored.
    pub(super) value: u64,
    /// The integer arguments of a call, as far as registers hold them.
    pub(super) arguments: [u64; 6],
}

/// What happened, in order.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) keys: Vec<EffectKey>,
    pub(super) happenings: Vec<Happening>,
    /// How often each place was come by; 1 at most for those watched once.
    pub(super) hits: HashMap<u64, u32>,
    numbers: HashMap<EffectKey, usize>,
}

impl Run {
    /// Watches a run; `None` when it is too long or does what cannot be followed.
    pub(super) fn watch(
        build: &Build,
        request: &TraceRequest,
        hit: &HashSet<u64>,
        once: &HashSet<u64>,
    ) -> Result<Option<Self>, TraceError> {
        let prepared = request.launch.job(&request.binary, Onlooker::Tracer, &request.limits);
        let job = prepared.map_err(|source| TraceError::System { what: "cannot prepare a run".into(), source })?;
        let mut inferior = Inferior::launch(&job, build.debug.entry, build.debug.image)?;
        inferior.permit(request.launch.allowed, Follow::Parent);
        let mut run = Self::default();
        let ended = run.go(build, &mut inferior, hit, once).map_err(|e| inferior.why(e))?;
        Ok(ended.then_some(run))
    }

    /// Whether the run came by a place.
    pub(super) fn was_hit(&self, pc: u64) -> bool {
        self.hits.contains_key(&pc)
    }

    fn go(&mut self, build: &Build, inferior: &mut Inferior, hit: &HashSet<u64>, once: &HashSet<u64>) -> Result<bool, TraceError> {
        let system = |what: &str| {
            let what = what.to_owned();
            move |source| TraceError::System { what, source }
        };
        let bias = inferior.bias();
        let places: HashSet<u64> = build.acts.keys().chain(hit).chain(once).map(|pc| pc.wrapping_add(bias)).collect();
        let places: Vec<u64> = places.into_iter().collect();
        inferior.set_breakpoints(&places).map_err(system("insert breakpoints"))?;
        let mut factory = InstructionInfoFactory::new();
        let mut event = inferior.resume()?;
        for stop in 0..MOST_STOPS {
            if stop == LONG {
                inferior.share_processor();
            }
            match event {
                Event::Breakpoint(at) => {
                    let pc = at.wrapping_sub(bias);
                    if hit.contains(&pc) {
                        *self.hits.entry(pc).or_default() += 1;
                        self.happenings.push(Happening::Hit(pc));
                    }
                    if once.contains(&pc) {
                        self.hits.entry(pc).or_insert(1);
                        if !build.acts.contains_key(&pc) {
                            inferior.remove_breakpoint(at).map_err(system("remove a breakpoint"))?;
                        }
                    }
                    let stepped = match build.acts.get(&pc) {
                        Some(Act::Store(instruction)) => self.store(build, inferior, pc, instruction, &mut factory)?,
                        Some(Act::Call(callee)) => {
                            let deed = self.deed(LineEffect::Call { callee: Arc::clone(callee) }, 0, 0, Some(pc), 0);
                            self.happenings.push(Happening::Did(Deed { arguments: arguments(inferior.regs()), ..deed }));
                            None
                        }
                        Some(Act::Enter(function)) => {
                            let mut bytes = [0u8; 8];
                            inferior.read(inferior.regs().rsp, &mut bytes).map_err(system("read the stack"))?;
                            let back = u64::from_le_bytes(bytes).wrapping_sub(bias);
                            let from = build.calls.get(&back).copied();
                            let deed = self.deed(LineEffect::Call { callee: Arc::clone(function) }, 0, 0, from, 0);
                            self.happenings.push(Happening::Did(deed));
                            None
                        }
                        None => None,
                    };
                    event = match stepped {
                        Some(Event::Stepped) if inferior.has_breakpoint(inferior.regs().rip) => Event::Breakpoint(inferior.regs().rip),
                        Some(Event::Stepped) | None => inferior.resume()?,
                        Some(other) => other,
                    };
                }
                Event::Stepped => event = inferior.resume()?,
                Event::Exited(_) => return Ok(true),
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    fn deed(&mut self, effect: LineEffect, offset: u64, size: usize, pc: Option<u64>, value: u64) -> Deed {
        let key = EffectKey { effect, offset, size };
        let next = self.keys.len();
        let number = *self.numbers.entry(key).or_insert_with_key(|key| {
            self.keys.push(key.clone());
            next
        });
        Deed { key: number, pc, value, arguments: [0; 6] }
    }

    /// Executes a store; it counts when it is to a global variable. The event is that of the single step, none where none was made.
    fn store(
        &mut self,
        build: &Build,
        inferior: &mut Inferior,
        pc: u64,
        instruction: &Instruction,
        factory: &mut InstructionInfoFactory,
    ) -> Result<Option<Event>, TraceError> {
        let bias = inferior.bias();
        let (address, size) = match written(instruction, inferior.regs(), bias, factory) {
            Some((address, size)) => (address.wrapping_sub(bias), size),
            None => return Ok(None),
        };
        if !build.image.section_at(address).is_some_and(|s| s.writable) {
            return Ok(None);
        }
        let Some(symbol) = build.image.symbol_near(address).filter(|s| address < s.address + s.size) else { return Ok(None) };
        let effect = LineEffect::Store { object: symbol.name.as_str().into() };
        let offset = address - symbol.address;
        let event = inferior.step()?;
        let mut bytes = [0u8; 8];
        // What is wider than a register is told apart by its size alone.
        let known = size.min(8);
        if inferior.read(address.wrapping_add(bias), &mut bytes[..known]).is_err() {
            return Ok(Some(event));
        }
        let deed = self.deed(effect, offset, size, Some(pc), u64::from_le_bytes(bytes));
        self.happenings.push(Happening::Did(deed));
        Ok(Some(event))
    }
}

/// The registers that hold a call's integer arguments, in order.
pub(super) const ARGUMENTS: [Register; 6] = [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

fn arguments(regs: &Regs) -> [u64; 6] {
    [regs.rdi, regs.rsi, regs.rdx, regs.rcx, regs.r8, regs.r9]
}

/// The one place that an instruction writes, as it will: run-time address and size. None for several, and for loops of stores.
fn written(instruction: &Instruction, regs: &Regs, bias: u64, factory: &mut InstructionInfoFactory) -> Option<(u64, usize)> {
    if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
        return None;
    }
    let value = |register: Register| match register {
        Register::None => Some(0),
        _ => gpr_slice(register).map(|(number, ..)| {
            [
                regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi, regs.r8, regs.r9, regs.r10, regs.r11,
                regs.r12, regs.r13, regs.r14, regs.r15,
            ][number as usize]
        }),
    };
    let writes = |access| matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
    let info = factory.info(instruction);
    let mut places = info.used_memory().iter().filter(|m| writes(m.access()));
    let (place, None) = (places.next()?, places.next()) else { return None };
    let address = match instruction.is_ip_rel_memory_operand() {
        true => instruction.ip_rel_memory_address().wrapping_add(bias),
        false => {
            let index = value(place.index())?.wrapping_mul(u64::from(place.scale()));
            value(place.base())?.wrapping_add(index).wrapping_add(place.displacement())
        }
    };
    Some((address, place.memory_size().size().max(1)))
}
