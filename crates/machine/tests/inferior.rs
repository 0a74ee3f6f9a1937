//! The ptrace layer on real programs.

use object::{Object, ObjectSegment, ObjectSymbol};
use trueline_machine::inferior::InferiorError;
use trueline_machine::inferior::{Event, Inferior};
use trueline_model::{Language, OptLevel};
use trueline_toolchain::{CompileRequest, Job, JobError, Limits, Permission, Scratch, find_compiler};

struct Program {
    _scratch: Scratch,
    binary: std::path::PathBuf,
}

impl Program {
    fn build(source: &str, flags: &[&str]) -> Self {
        let scratch = Scratch::new().unwrap();
        let file = scratch.write("p.c", source).unwrap();
        let request = CompileRequest::new(file, Language::C, OptLevel::O1, scratch.join("p")).flags(flags.iter().copied());
        let binary = find_compiler("gcc").unwrap().compile(&request).unwrap().binary;
        Self { _scratch: scratch, binary }
    }

    fn launch(&self, limits: Limits) -> Inferior {
        let data = std::fs::read(&self.binary).unwrap();
        let elf = object::File::parse(&*data).unwrap();
        let low = elf.segments().map(|s| s.address()).min().unwrap();
        let high = elf.segments().map(|s| s.address() + s.size()).max().unwrap();
        Inferior::launch(&Job::new(&self.binary).limits(limits), elf.entry(), (low, high)).unwrap()
    }

    fn symbol(&self, name: &str) -> (u64, u64) {
        let data = std::fs::read(&self.binary).unwrap();
        let elf = object::File::parse(&*data).unwrap();
        let symbol = elf.symbols().find(|s| s.name() == Ok(name)).unwrap();
        (symbol.address(), symbol.size())
    }
}

/// Every instruction of `name` by a linear sweep.
fn instructions(program: &Program, name: &str) -> Vec<u64> {
    use object::ObjectSection;
    let data = std::fs::read(&program.binary).unwrap();
    let elf = object::File::parse(&*data).unwrap();
    let text = elf.section_by_name(".text").unwrap();
    let (start, size) = program.symbol(name);
    let at = (start - text.address()) as usize;
    let code = &text.data().unwrap()[at..at + size as usize];
    iced_x86::Decoder::with_ip(64, code, start, 0).iter().map(|i| i.ip()).collect()
}

const SUM: &str = r"
    int table[4] = {1, 2, 3, 4};
    __attribute__((noipa)) int twice(int x) { return x * 2; }
    __attribute__((noipa)) int pick(int x) { switch (x) { case 0: return 5; case 1: return 7; case 2: return 11; case 3: return 13; case 4: return 17; default: return 1; } }
    int (*volatile fn)(int) = twice;
    int main(void) { int s = 0; for (int i = 0; i < 4; i++) s += twice(table[i]) + fn(i) + pick(i); return s; }
";

#[test]
fn a_breakpoint_on_every_instruction_does_not_change_what_the_program_does() {
    for flags in [&["-fpie", "-pie"][..], &["-fno-pie", "-no-pie"], &["-static"]] {
        let program = Program::build(SUM, flags);
        let mut inferior = program.launch(Limits::seconds(20));
        let bias = inferior.bias();
        let mut addresses: Vec<u64> = ["main", "twice", "pick"].iter().flat_map(|f| instructions(&program, f)).collect();
        addresses.iter_mut().for_each(|a| *a += bias);
        inferior.set_breakpoints(&addresses).unwrap();
        let mut hits = 0;
        let end = loop {
            match inferior.resume().unwrap() {
                Event::Breakpoint(at) => {
                    assert_eq!(at, inferior.regs().rip);
                    hits += 1;
                }
                event => break event,
            }
        };
        assert_eq!(end, Event::Exited(20 + 12 + 36), "{flags:?}");
        assert!(hits > 80, "{hits} stops with {flags:?}");
    }
}

#[test]
fn memory_and_registers_can_be_read_and_written() {
    let program = Program::build(SUM, &[]);
    let mut inferior = program.launch(Limits::seconds(20));
    let twice = program.symbol("twice").0 + inferior.bias();
    inferior.set_breakpoints(&[twice]).unwrap();
    assert_eq!(inferior.resume().unwrap(), Event::Breakpoint(twice));
    assert_eq!(inferior.regs().rdi, 1);
    let mut regs = *inferior.regs();
    regs.rdi = 11;
    inferior.set_regs(regs).unwrap();
    let table = program.symbol("table").0 + inferior.bias();
    let mut bytes = [0u8; 4];
    inferior.read(table + 4, &mut bytes).unwrap();
    assert_eq!(bytes, [2, 0, 0, 0]);
    inferior.write(table + 4, &[3, 0, 0, 0]).unwrap();
    assert_eq!(inferior.step().unwrap(), Event::Stepped);
    inferior.remove_breakpoint(twice).unwrap();
    assert_eq!(inferior.resume().unwrap(), Event::Exited(20 + 12 + 36 + 20 + 2));
    assert!(inferior.is_gone());
}

#[test]
fn a_program_that_somebody_kills_is_called_killed_whatever_failed_first() {
    let program = Program::build(SUM, &[]);
    let is_kill = |error: InferiorError| assert!(matches!(error, InferiorError::Job(JobError::Killed { .. })), "{error}");
    let kill = |inferior: &Inferior| nix::sys::signal::kill(nix::unistd::Pid::from_raw(inferior.pid()), nix::sys::signal::SIGKILL).unwrap();
    let mut inferior = program.launch(Limits::seconds(10));
    kill(&inferior);
    let error = inferior.resume().unwrap_err();
    is_kill(inferior.why(error));
    let mut inferior = program.launch(Limits::seconds(10));
    kill(&inferior);
    let place = program.symbol("twice").0 + inferior.bias();
    // The memory of a dying process goes at some moment after the signal.
    let failed = (0..2000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        inferior.write(place, &[0xc3]).err()
    });
    let source = failed.expect("the memory goes away");
    is_kill(inferior.why(InferiorError::System { what: "write".to_owned(), source }));
    let mut inferior = program.launch(Limits::seconds(10));
    let own = InferiorError::System { what: "write".to_owned(), source: std::io::ErrorKind::Other.into() };
    assert!(matches!(inferior.why(own), InferiorError::System { .. }), "nobody killed this one");
}

#[test]
fn every_end_is_told_apart() {
    let end = |source: &str, limits: Limits| Program::build(source, &[]).launch(limits).resume().unwrap();
    let limits = || Limits::seconds(10);
    assert!(matches!(end("int main(void) { *(volatile int *)8 = 1; }", limits()), Event::Killed { signal: 11, at: Some(_) }));
    assert!(matches!(end("int abort(void); int main(void) { abort(); }", limits()), Event::Killed { signal: 6, .. }));
    assert_eq!(end("int fork(void); int main(void) { return fork() < 0; }", limits()), Event::NotAllowed(Permission::Fork));
    assert_eq!(end("int main(void) { __asm__(\"int3\"); return 0; }", limits()), Event::OwnTrap);
    assert_eq!(end("int raise(int); int main(void) { return raise(5); }", limits()), Event::OwnTrap);
    assert_eq!(end("int main(void) { for (;;) __asm__(\"\"); }", Limits::seconds(1)), Event::TimedOut);
    assert_eq!(end("int getchar(void); int main(void) { return getchar() == -1 ? 3 : 4; }", limits()), Event::Exited(3));
}
