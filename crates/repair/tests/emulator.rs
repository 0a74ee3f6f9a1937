//! The emulator against the processor over whole functions: a process is single-stepped through every kernel of a file and the
//! emulator, started from a snapshot of it, must have the same registers at every instruction.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use trueline_machine::emulate::{self, DecodedCode, EmulatorStop};
use trueline_machine::image::Image;
use trueline_machine::inferior::{Event, Inferior};
use trueline_repair::debug::ImageInfo;
use trueline_repair::snapshot::{self, LayoutChoice};
use trueline_toolchain::{Confinement, Job, Limits, Scratch, find_compiler};

/// Instructions compared per function.
const STEPS: usize = 3_000;

fn compile(scratch: &Scratch, cc: &str, source: &Path) -> Option<PathBuf> {
    let Ok(compiler) = find_compiler(cc) else {
        eprintln!("skipped: no {cc}");
        return None;
    };
    let output = scratch.join("program");
    let job = compiler.job().args(["-O3", "-msse4.2", "-g", "-w"]).arg(source).arg("-o").arg(&output).arg("-lm");
    let outcome = job.limits(Limits::seconds(120)).run().unwrap();
    assert!(outcome.success(), "{cc}: {}", outcome.stderr_text());
    Some(output)
}

/// Registers of a real run at each instruction of a function's own code, until it returns or calls.
fn real_run(image: &Image, entry: u64, inside: impl Fn(u64) -> bool) -> Vec<(u64, [u64; 16], [u128; 16])> {
    let (start, span) = snapshot::elf_entry(image);
    let job = Job::new(&image.path).limits(Limits::seconds(60)).confine(Confinement::traced());
    let mut inferior = Inferior::launch(&job, start, span).unwrap();
    let bias = inferior.bias();
    inferior.set_breakpoints(&[entry.wrapping_add(bias)]).unwrap();
    if !matches!(inferior.resume().unwrap(), Event::Breakpoint(_)) {
        return Vec::new();
    }
    inferior.remove_breakpoint(entry.wrapping_add(bias)).unwrap();
    let mut seen: Vec<(u64, [u64; 16], [u128; 16])> = Vec::new();
    while seen.len() < STEPS {
        let r = *inferior.regs();
        let pc = r.rip.wrapping_sub(bias);
        if !inside(pc) {
            break;
        }
        let gpr = [r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15];
        // The processor stops after each round of a repeated string move; the emulator takes it as a whole.
        if seen.last().is_none_or(|s| s.0 != pc) {
            seen.push((pc, gpr, inferior.sse().unwrap().map(u128::from_le_bytes)));
        }
        if !matches!(inferior.step().unwrap(), Event::Stepped | Event::Breakpoint(_)) {
            break;
        }
    }
    seen
}

#[test]
fn the_emulator_has_the_processors_registers_at_every_instruction_of_the_kernels() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/repair-kernels");
    let scratch = Scratch::new().unwrap();
    for (cc, file) in [("gcc-12", "two_dimensional.c"), ("gcc-12", "gather_scatter.c"), ("clang-16", "reductions.c")] {
        let Some(binary) = compile(&scratch, cc, &kernels.join(file)) else { continue };
        let image = Image::open(&binary).unwrap();
        let info = ImageInfo::read(&image).unwrap();
        let entries: Vec<u64> =
            info.functions.iter().filter(|f| f.name != "main").map(trueline_repair::debug::ConcreteFunction::entry).collect();
        let snapshots = snapshot::take(&image, &[], &entries, LayoutChoice::Fixed).unwrap();
        assert!(!snapshots.is_empty(), "{cc} {file}");
        let code = DecodedCode::new(&image);
        for function in info.functions.iter().filter(|f| snapshots.contains_key(&f.entry())) {
            let entry = function.entry();
            let real = real_run(&image, entry, |pc| function.contains(pc));
            assert!(real.len() > 3, "{cc} {}", function.name);
            let mut cpu = snapshots[&entry][0].cpu.clone();
            let mut n = 0;
            let stop = emulate::run(&code, &mut cpu, entry, STEPS as u64, &mut |instant| {
                let Some((pc, gpr, xmm)) = real.get(n) else { return ControlFlow::Break(()) };
                let at = format!("{cc} {} after {n} instructions, at {pc:#x}", function.name);
                assert_eq!(instant.pc, *pc, "{at}");
                assert_eq!(instant.cpu.gpr, *gpr, "{at}: {:x?} {:x?}", instant.cpu.gpr, gpr);
                assert_eq!(instant.cpu.xmm, *xmm, "{at}: {:x?} {:x?}", instant.cpu.xmm, xmm);
                n += 1;
                ControlFlow::Continue(())
            });
            assert!(matches!(stop, EmulatorStop::Cut | EmulatorStop::Returned), "{cc} {}: {stop:?}", function.name);
            assert_eq!(n, real.len(), "{cc} {}", function.name);
        }
    }
}
