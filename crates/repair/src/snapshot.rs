//! The program's own run as a source of inputs: the state of a process at a function's entry.

use std::collections::BTreeMap;
use trueline_machine::cpu::{Cpu, Memory, PAGE};
use trueline_machine::image::Image;
use trueline_machine::inferior::{Event, Inferior};
use trueline_toolchain::{Confinement, Job, Limits};

/// A process at a function's entry.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The machine, at the function's first instruction.
    pub cpu: Cpu,
    /// The heap's range, empty when there is none.
    pub heap: (u64, u64),
    /// Memory that belongs to no file: large allocations, and what the C library keeps for itself.
    pub mappings: Vec<(u64, u64)>,
}

/// Whether the kernel chooses the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutChoice {
    /// The same in every run.
    Fixed,
    /// Another one in every run.
    Random,
}

/// Which calls of a function are looked at, from one: later ones have other arguments and another heap.
const CALLS: [usize; 6] = [1, 2, 3, 5, 9, 17];

/// Runs a program and takes snapshots at some of the first calls of each entry.
pub fn take(image: &Image, args: &[String], entries: &[u64], layout: LayoutChoice) -> Result<BTreeMap<u64, Vec<Snapshot>>, String> {
    let path = std::fs::canonicalize(&image.path).map_err(|e| format!("{}: {e}", image.path.display()))?;
    let mut job = Job::new(&path).args(args).limits(Limits::seconds(60)).confine(Confinement::traced());
    if layout == LayoutChoice::Random {
        // The environment moves the stack even where the kernel does not randomise.
        job = job.randomized().env("TRUELINE_LAYOUT", "x".repeat(1367));
    }
    let (entry, span) = elf_entry(image);
    let mut inferior = Inferior::launch(&job, entry, span).map_err(|e| e.to_string())?;
    let bias = inferior.bias();
    // Calls so far, by entry.
    let mut wanted: BTreeMap<u64, usize> = entries.iter().map(|e| (*e, 0)).collect();
    let mut budget = SNAPSHOTS;
    let addresses: Vec<u64> = entries.iter().map(|e| e.wrapping_add(bias)).collect();
    inferior.set_breakpoints(&addresses).map_err(|e| e.to_string())?;
    let mut taken: BTreeMap<u64, Vec<Snapshot>> = BTreeMap::new();
    // Snapshots of one process differ in few pages: the others are kept once.
    let mut last = Memory::default();
    while !wanted.is_empty() {
        match inferior.resume().map_err(|e| e.to_string())? {
            Event::Breakpoint(_) => {
                let pc = inferior.regs().rip.wrapping_sub(bias);
                if let Some(calls) = wanted.get_mut(&pc) {
                    *calls += 1;
                    // The first call of every function first: the others share what is left.
                    if CALLS.contains(calls) && (*calls == 1 || budget > 0) {
                        let snapshot = capture(&inferior, &path, bias, &last)?;
                        last = snapshot.cpu.memory.clone();
                        taken.entry(pc).or_default().push(snapshot);
                        budget -= usize::from(*calls > 1);
                    }
                    if *calls >= CALLS[CALLS.len() - 1] || budget == 0 {
                        wanted.remove(&pc);
                        inferior.remove_breakpoint(pc.wrapping_add(bias)).map_err(|e| e.to_string())?;
                    }
                }
            }
            Event::Stepped => {}
            _ => break,
        }
    }
    Ok(taken)
}

/// Snapshots of one run beyond the first of each function.
const SNAPSHOTS: usize = 400;

/// Entry point and address span, from the ELF header and the loaded sections.
pub fn elf_entry(image: &Image) -> (u64, (u64, u64)) {
    let entry = image.bytes.get(24..32).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()));
    let loaded = || image.sections.iter().filter(|s| s.loaded && s.address != 0);
    let low = loaded().map(|s| s.address).min().unwrap_or(0) & !(PAGE - 1);
    let high = loaded().map(|s| s.address + s.size).max().unwrap_or(0);
    (entry, (low, high))
}

fn capture(inferior: &Inferior, path: &std::path::Path, bias: u64, before: &Memory) -> Result<Snapshot, String> {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", inferior.pid())).map_err(|e| e.to_string())?;
    let mut memory = Memory::default();
    let (mut heap, mut mappings) = ((0, 0), Vec::new());
    let mut previous_own = 0;
    let mut budget: u64 = 256 << 20;
    for line in maps.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let Some((low, high)) = fields.first().and_then(|f| f.split_once('-')) else { continue };
        let (Ok(low), Ok(high)) = (u64::from_str_radix(low, 16), u64::from_str_radix(high, 16)) else { continue };
        let name = fields.get(5).copied().unwrap_or("");
        let own = std::path::Path::new(name) == path || (name.is_empty() && low == previous_own);
        if own {
            previous_own = high;
        }
        // What may be written is read whatever it belongs to: `stdout` is a variable of the C library.
        let wanted = own || name == "[stack]" || fields[1].starts_with("rw");
        if !wanted || !fields[1].starts_with('r') || high - low > budget {
            continue;
        }
        budget -= high - low;
        if name == "[heap]" {
            heap = (low, high);
        }
        if name.is_empty() && !own {
            mappings.push((low, high));
        }
        let mut bytes = vec![0; (high - low) as usize];
        if inferior.read(low, &mut bytes).is_ok() {
            memory.map_pages(low, &bytes, before);
        }
    }
    let regs = inferior.regs();
    let mut cpu = Cpu::new(memory, bias);
    cpu.gpr = [
        regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi, regs.r8, regs.r9, regs.r10, regs.r11, regs.r12,
        regs.r13, regs.r14, regs.r15,
    ];
    cpu.xmm = inferior.sse().map_err(|e| e.to_string())?.map(u128::from_le_bytes);
    cpu.fs = regs.fs_base;
    Ok(Snapshot { cpu, heap, mappings })
}
