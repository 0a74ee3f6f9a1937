//! A build that runs for the checker: stepped, read, and shown through its debug information.

use crate::debug::{ConcreteFunction, FrameBase, PlacedVariable, TypeClass, frame_offset};
use crate::evaluate;
use crate::evaluate::StateReader;
use crate::relation::truncate;
use crate::snapshot::elf_entry;
use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, Register};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use trueline_machine::image::Image;
use trueline_machine::inferior::{Event, Inferior};
use trueline_toolchain::{Confinement, Job, Limits};

/// Single steps after which a run is cut off.
pub(super) const STEP_LIMIT: usize = 60_000;

pub(super) struct Live<'a> {
    image: &'a Image,
    inferior: Inferior,
    cfa: u64,
    objects: Vec<(u64, u64, u64)>,
    initial: HashMap<u64, u8>,
    /// The object that each pointer variable pointed into last.
    came_from: RefCell<HashMap<String, u64>>,
    /// Words of the frame written since the function was entered.
    touched: HashSet<u64>,
    pub(super) state: u64,
    factory: InstructionInfoFactory,
}

impl StateReader for Live<'_> {
    fn register(&self, number: u16) -> Option<u64> {
        if (17..33).contains(&number) {
            let lane = self.inferior.sse().ok()?[usize::from(number) - 17];
            return Some(u64::from_le_bytes(lane[..8].try_into().ok()?));
        }
        let n = trueline_machine::algebra::GPR_DWARF.iter().position(|d| *d == number)?;
        Some(self.gpr(n))
    }
    fn memory(&self, address: u64, size: u8) -> Option<u64> {
        let mut bytes = [0u8; 8];
        self.inferior.read(address, &mut bytes[..usize::from(size.min(8))]).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
    fn cfa(&self) -> Option<u64> {
        Some(self.cfa)
    }
    fn bias(&self) -> u64 {
        self.inferior.bias()
    }
}

impl<'a> Live<'a> {
    pub(super) fn launch(image: &'a Image, entry: u64, names: &[(String, u64)], args: &[String]) -> Result<Self, String> {
        let path = std::fs::canonicalize(&image.path).map_err(|e| e.to_string())?;
        let (start, span) = elf_entry(image);
        // A run that is cut off would look like wrong values: wait long on a busy machine.
        let limits = Limits { wall: Duration::from_secs(1200), ..Limits::seconds(60) };
        let job = Job::new(&path).args(args).limits(limits).confine(Confinement::traced());
        let mut inferior = Inferior::launch(&job, start, span).map_err(|e| e.to_string())?;
        let bias = inferior.bias();
        inferior.set_breakpoints(&[entry.wrapping_add(bias)]).map_err(|e| e.to_string())?;
        match inferior.resume().map_err(|e| e.to_string())? {
            Event::Breakpoint(_) => {}
            other => return Err(format!("the function is not reached: {other:?}")),
        }
        inferior.remove_breakpoint(entry.wrapping_add(bias)).map_err(|e| e.to_string())?;
        let cfa = inferior.regs().rsp.wrapping_add(8);
        let mut objects = Vec::new();
        for (n, (name, size)) in names.iter().enumerate() {
            if let Some(s) = image.data_symbols().find(|s| s.name == *name && s.size == *size) {
                objects.push((s.address.wrapping_add(bias), s.address.wrapping_add(bias) + size, n as u64));
            }
        }
        objects.sort_unstable();
        Ok(Self {
            image,
            inferior,
            cfa,
            objects,
            initial: HashMap::new(),
            came_from: RefCell::default(),
            touched: HashSet::new(),
            state: 0,
            factory: InstructionInfoFactory::new(),
        })
    }

    fn gpr(&self, n: usize) -> u64 {
        let r = self.inferior.regs();
        [r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15][n]
    }

    pub(super) fn pc(&self) -> u64 {
        self.inferior.regs().rip.wrapping_sub(self.inferior.bias())
    }

    /// An address as object and offset, packed.
    fn canonical(&self, address: u64) -> Option<u64> {
        let n = self.objects.partition_point(|o| o.0 <= address).checked_sub(1)?;
        let (low, high, id) = self.objects[n];
        (address < high).then(|| (id + 1) << 40 | (address - low))
    }

    /// A pointer as both processes would write it.
    fn pointer(&self, value: u64, name: &str) -> u64 {
        let (start, end) = (self.canonical(value), self.canonical(value.wrapping_sub(1)).map(|c| c + 1));
        let mut objects = self.came_from.borrow_mut();
        // The end of one object may be the start of the next: a variable stays in the object that it came from.
        let own = end.filter(|e| start.is_none() || (start.is_some_and(|s| s >> 40 != e >> 40) && objects.get(name) == Some(&(e >> 40))));
        let place = own.or(start);
        if let Some(place) = place {
            objects.insert(name.to_owned(), place >> 40);
        }
        place.unwrap_or(value)
    }

    fn instruction(&self) -> Option<Instruction> {
        let pc = self.pc();
        let bytes = self.image.code_at(pc)?;
        Some(Decoder::with_ip(64, &bytes[..bytes.len().min(16)], pc, DecoderOptions::NONE).decode())
    }

    /// What the next instruction writes: address and size.
    fn written(&mut self, instruction: &Instruction) -> Vec<(u64, usize)> {
        let bias = self.inferior.bias();
        let regs = *self.inferior.regs();
        let info = self.factory.info(instruction);
        let mut found = Vec::new();
        for m in info.used_memory() {
            if !matches!(m.access(), OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite) {
                continue;
            }
            let value = |register: Register| match register {
                Register::None => Some(0),
                Register::RIP => Some(bias),
                _ => trueline_machine::lift::gpr_slice(register).map(|(n, ..)| {
                    [
                        regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi, regs.r8, regs.r9, regs.r10,
                        regs.r11, regs.r12, regs.r13, regs.r14, regs.r15,
                    ][n as usize]
                }),
            };
            let (Some(base), Some(index)) = (value(m.base()), value(m.index())) else { continue };
            let mut address = base.wrapping_add(index.wrapping_mul(u64::from(m.scale()))).wrapping_add(m.displacement());
            if instruction.is_ip_rel_memory_operand() && m.base() != Register::RIP && m.base() == Register::None {
                address = address.wrapping_add(bias);
            }
            found.push((address, m.memory_size().size().max(1)));
        }
        found
    }

    /// Executes one instruction, keeping the fingerprint; false when the function has been left.
    pub(super) fn step(&mut self) -> Result<bool, String> {
        let Some(instruction) = self.instruction() else {
            // Outside the image: run on to where the call came from.
            let mut word = [0u8; 8];
            let top = self.inferior.regs().rsp;
            self.inferior.read(top, &mut word).map_err(|e| e.to_string())?;
            return self.run_to(u64::from_le_bytes(word));
        };
        // A call through a stub is run as a whole: the loader's own work behind it is no business of ours.
        let stub = |to: u64| self.image.section_at(to).is_some_and(|s| s.name.starts_with(".plt"));
        if instruction.is_call_near() && stub(instruction.near_branch_target()) {
            let back = instruction.next_ip().wrapping_add(self.inferior.bias());
            return self.run_to(back);
        }
        let ends = instruction.mnemonic() == iced_x86::Mnemonic::Ret && self.inferior.regs().rsp.wrapping_add(8) == self.cfa;
        let written = self.written(&instruction);
        self.touched.extend(written.iter().filter(|(a, _)| *a <= self.cfa).map(|(a, _)| *a));
        let places: Vec<(u64, usize)> = written.into_iter().filter(|(a, _)| self.canonical(*a).is_some()).collect();
        let before: Vec<Vec<u8>> = places.iter().map(|p| self.bytes(*p)).collect();
        for (place, old) in places.iter().zip(&before) {
            for (n, byte) in old.iter().enumerate() {
                self.initial.entry(place.0 + n as u64).or_insert(*byte);
            }
            self.mark(*place, old);
        }
        match self.inferior.step().map_err(|e| e.to_string())? {
            Event::Stepped | Event::Breakpoint(_) => {}
            _ => return Ok(false),
        }
        for place in &places {
            let new = self.bytes(*place);
            self.mark(*place, &new);
        }
        Ok(!ends)
    }

    fn bytes(&self, (address, size): (u64, usize)) -> Vec<u8> {
        let mut bytes = vec![0; size];
        let _ = self.inferior.read(address, &mut bytes);
        bytes
    }

    /// Takes the contribution of bytes in or out of the fingerprint.
    fn mark(&mut self, (address, size): (u64, usize), bytes: &[u8]) {
        let whole = if size == 8 { self.canonical(u64::from_le_bytes(bytes.try_into().unwrap_or_default())) } else { None };
        for (n, byte) in bytes.iter().enumerate() {
            let at = address + n as u64;
            if self.initial.get(&at) == Some(byte) {
                continue;
            }
            let byte = whole.map_or(*byte, |w| w.to_le_bytes()[n]);
            if let Some(c) = self.canonical(at) {
                let mut x = (c << 8 | u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                self.state ^= x ^ x >> 32;
            }
        }
    }

    fn run_to(&mut self, address: u64) -> Result<bool, String> {
        // Memory that outside code writes (memset, memcpy) is compared object by object afterwards.
        let before: Vec<Vec<u8>> = self.objects.clone().iter().map(|o| self.bytes((o.0, (o.1 - o.0) as usize))).collect();
        let fresh = !self.inferior.has_breakpoint(address);
        if fresh {
            self.inferior.set_breakpoints(&[address]).map_err(|e| e.to_string())?;
        }
        let event = self.inferior.resume().map_err(|e| e.to_string())?;
        if fresh {
            self.inferior.remove_breakpoint(address).map_err(|e| e.to_string())?;
        }
        for (object, old) in self.objects.clone().iter().zip(before) {
            let new = self.bytes((object.0, old.len()));
            for n in (0..old.len()).filter(|n| old[*n] != new[*n]) {
                self.initial.entry(object.0 + n as u64).or_insert(old[n]);
                self.mark((object.0 + n as u64, 1), &old[n..=n]);
                self.mark((object.0 + n as u64, 1), &new[n..=n]);
            }
        }
        Ok(matches!(event, Event::Breakpoint(_)) && self.inferior.regs().rsp <= self.cfa)
    }

    /// False while an -O0 variable has not been written: what it shows is garbage.
    pub(super) fn defined(&self, function: &ConcreteFunction, variable: &PlacedVariable) -> bool {
        let base = match function.frame_base {
            FrameBase::Cfa => self.cfa,
            _ => self.cfa.wrapping_sub(16),
        };
        frame_offset(variable).is_none_or(|o| self.touched.contains(&base.wrapping_add(o as u64)))
    }

    pub(super) fn show(&self, function: &ConcreteFunction, variable: &PlacedVariable, pc: u64) -> Option<u64> {
        let base = match function.frame_base {
            FrameBase::Cfa => self.cfa,
            FrameBase::FramePointer => self.gpr(5),
            FrameBase::Other => self.gpr(4),
        };
        let bits = match variable.constant {
            Some(c) => truncate(c as u64, variable.ty.size),
            None => {
                let location = variable.locations.iter().find(|l| pc >= l.low && pc < l.high)?;
                evaluate::evaluate(&location.expression, Some(base), variable.ty.size, self)?
            }
        };
        Some(if variable.ty.class == TypeClass::Pointer { self.pointer(bits, &variable.name) } else { bits })
    }
}
