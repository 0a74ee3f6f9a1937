//! Inline hooks: the first instructions of a function are moved to a trampoline and a five-byte jump to
//! our stub takes their place. Stubs save every register a caller may rely on, so that functions with
//! arguments on the stack (most of LLVM's constructors) can be observed without knowing their types.

use crate::image::Image;
use iced_x86::{BlockEncoder, BlockEncoderOptions, Decoder, DecoderOptions, FlowControl, Instruction, InstructionBlock};

/// Registers as the hooked function received them; the layout matches the pushes in `SAVE`.
#[repr(C)]
pub struct Frame {
    /// Frame pointer of the caller.
    pub rbp: u64,
    rbx: u64,
    r11: u64,
    r10: u64,
    /// The sixth argument of the call.
    pub r9: u64,
    /// The fifth argument of the call.
    pub r8: u64,
    /// The first argument of the call.
    pub rdi: u64,
    /// The second argument of the call.
    pub rsi: u64,
    /// The third argument of the call.
    pub rdx: u64,
    /// The fourth argument of the call.
    pub rcx: u64,
    rax: u64,
    /// Where the hooked function will return to.
    pub return_address: u64,
}

impl Frame {
    /// The caller's stack pointer after the return.
    pub fn caller_sp(&self) -> u64 {
        (&raw const self.return_address) as u64 + 8
    }
}

/// Called before a hooked function with its registers and the number of the hook.
pub type BeforeFn = extern "C" fn(&Frame, u32);
/// Called after a hooked pass with what it returned and the number of the hook.
pub type AfterFn = extern "C" fn(u64, u32);

// push rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rbx, rbp
const SAVE: [u8; 15] = [0x50, 0x51, 0x52, 0x56, 0x57, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53, 0x53, 0x55];
const RESTORE: [u8; 15] = [0x5d, 0x5b, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5a, 0x59, 0x58];

const POOL: usize = 256 << 10;
const JUMP: usize = 5;

/// When a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Whether a pass is watched or not.
    Always,
    /// While the switch is on.
    On,
}

/// Executable memory within reach of a 32-bit jump from the image.
pub struct Pool {
    at: u64,
    used: usize,
    /// Jumps still to be written: where and where to.
    jumps: Vec<(u64, u64)>,
}

impl Pool {
    /// Maps it below the image, or above when there is no room.
    pub fn near(image: &Image) -> Option<Self> {
        const REACH: u64 = 1 << 30;
        let step = POOL as u64;
        let below = (1..REACH / step).map(|i| image.base.wrapping_sub(i * step) & !0xfff);
        let above = (0..REACH / step).map(|i| (image.end + i * step + 0xfff) & !0xfff);
        below.chain(above).find_map(|hint| {
            let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            // SAFETY: a fresh anonymous mapping that replaces nothing.
            let at = unsafe { libc::mmap(hint as *mut libc::c_void, POOL, protection, flags, -1, 0) };
            // The first bytes are the switch that stubs ask before they do anything.
            (at != libc::MAP_FAILED).then_some(Self { at: at as u64, used: 16, jumps: Vec::new() })
        })
    }

    /// The switch: while it is 0, hooks made with [`When::On`] go straight to their function.
    pub fn switch(&self) -> *mut u8 {
        self.at as *mut u8
    }

    fn here(&self) -> u64 {
        self.at + self.used as u64
    }

    fn put(&mut self, code: &[u8]) -> Option<u64> {
        if self.used + code.len() > POOL {
            return None;
        }
        let at = self.here();
        // SAFETY: the bytes fit into our own writable mapping.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, code.len()) };
        self.used += code.len();
        Some(at)
    }

    /// Hooks `target` so that `before` runs first, once [`Pool::install`] is called.
    pub fn observe(&mut self, target: u64, size: u64, before: BeforeFn, id: u32, when: When) -> Result<(), &'static str> {
        let trampoline = self.trampoline(target, size)?;
        let mut code = Vec::new();
        if when == When::On {
            let next = self.here() + 7;
            code.extend([0x80, 0x3d]); // cmp byte [rip + switch], 0
            code.extend(((self.at as i64 - next as i64) as i32).to_le_bytes());
            code.extend([0x00, 0x0f]); // je trampoline
            jump(&mut code, self.here(), trampoline, 0x84);
        }
        code.extend(call_before(before, id));
        jump(&mut code, self.here(), trampoline, 0xe9);
        let stub = self.put(&code).ok_or("no room for stubs")?;
        self.jumps.push((target, stub));
        Ok(())
    }

    /// Hooks a pass: `before`, the pass, `after`, once [`Pool::install`] is called. Its arguments are all in registers.
    pub fn surround(&mut self, target: u64, size: u64, before: BeforeFn, after: AfterFn, id: u32) -> Result<(), &'static str> {
        let trampoline = self.trampoline(target, size)?;
        let stub = self.put_around(trampoline, before, after, id)?;
        self.jumps.push((target, stub));
        Ok(())
    }

    /// Hooks a virtual function where its table names it, at once: functions without a symbol can be had no other way.
    ///
    /// # Safety
    /// `slot` must be the place of a function of the image in one of its tables.
    pub unsafe fn surround_slot(&mut self, slot: u64, before: BeforeFn, after: AfterFn, id: u32) -> Result<(), &'static str> {
        // SAFETY: as the caller promises.
        let target = unsafe { *(slot as *const u64) };
        if (self.at..self.at + POOL as u64).contains(&target) {
            return Ok(());
        }
        let stub = self.put_around(target, before, after, id)?;
        let page = slot & !0xfff;
        // SAFETY: a page of the library's data, private to this process; it stays writable, as it was while it was loaded.
        if unsafe { libc::mprotect(page as *mut libc::c_void, (slot + 8 - page) as usize, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return Err("its table cannot be made writable");
        }
        // SAFETY: writable now, and aligned as every table is.
        unsafe { *(slot as *mut u64) = stub };
        Ok(())
    }

    /// A stub that calls `before`, the code at `inner` and `after`.
    fn put_around(&mut self, inner: u64, before: BeforeFn, after: AfterFn, id: u32) -> Result<u64, &'static str> {
        let mut code = call_before(before, id);
        code.extend([0x48, 0x83, 0xec, 0x08]); // sub rsp, 8
        jump(&mut code, self.here(), inner, 0xe8);
        code.extend([0x48, 0x89, 0x04, 0x24]); // mov [rsp], rax
        code.extend([0x48, 0x89, 0xc7, 0xbe]); // mov rdi, rax; mov esi, id
        code.extend(id.to_le_bytes());
        code.extend([0x48, 0xb8]); // mov rax, after
        code.extend((after as usize as u64).to_le_bytes());
        code.extend([0xff, 0xd0, 0x58, 0xc3]); // call rax; pop rax; ret
        self.put(&code).ok_or("no room for stubs")
    }

    /// Moves the first instructions of `target` elsewhere, followed by a jump to the rest.
    fn trampoline(&mut self, target: u64, size: u64) -> Result<u64, &'static str> {
        if (size as usize) < JUMP {
            return Err("shorter than a jump");
        }
        // SAFETY: the function's own bytes, and never more than the longest five instructions.
        let bytes = unsafe { std::slice::from_raw_parts(target as *const u8, (size as usize).min(64)) };
        let mut decoder = Decoder::with_ip(64, bytes, target, DecoderOptions::NONE);
        let mut moved: Vec<Instruction> = Vec::new();
        while ((decoder.ip() - target) as usize) < JUMP {
            if !decoder.can_decode() {
                return Err("ends within a jump's length");
            }
            let instruction = decoder.decode();
            let ends =
                matches!(instruction.flow_control(), FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch);
            if instruction.is_invalid() || (ends && ((decoder.ip() - target) as usize) < JUMP) {
                return Err("ends within a jump's length");
            }
            moved.push(instruction);
        }
        let resume = decoder.ip();
        // The jump back stays outside the block: inside, the encoder would take it for a branch of the block's.
        let block = InstructionBlock::new(&moved, self.here());
        let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).map_err(|_| "its first instructions cannot be moved")?;
        let mut code = encoded.code_buffer;
        jump(&mut code, self.here(), resume, 0xe9);
        self.put(&code).ok_or("no room for trampolines")
    }

    /// Writes the jumps over the first bytes of all functions hooked. The text between the first and the last of them becomes
    /// writable in one call: a call for each would split the mapping three hundred times, which costs more than the rest.
    pub fn install(&mut self) -> Result<(), &'static str> {
        let targets = self.jumps.iter().map(|(target, _)| *target);
        let (Some(first), Some(last)) = (targets.clone().min(), targets.max()) else { return Ok(()) };
        let (page, length) = (first & !0xfff, (last + JUMP as u64 - (first & !0xfff)) as usize);
        // SAFETY: functions of one library lie in its one executable segment, private to this process; nothing executes them
        // yet, since this runs before `main`.
        let protect = |protection| unsafe { libc::mprotect(page as *mut libc::c_void, length, protection) == 0 };
        if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
            return Err("its text cannot be made writable");
        }
        for (target, stub) in self.jumps.drain(..) {
            let mut code = Vec::with_capacity(JUMP);
            jump(&mut code, target, stub, 0xe9);
            // SAFETY: the functions have at least as many bytes, and their pages are writable now.
            unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), target as *mut u8, JUMP) };
        }
        protect(libc::PROT_READ | libc::PROT_EXEC);
        Ok(())
    }
}

/// Appends a jump or call with a 32-bit displacement; `start` is the address of the code's first byte.
fn jump(code: &mut Vec<u8>, start: u64, to: u64, opcode: u8) {
    let next = start + code.len() as u64 + JUMP as u64;
    code.push(opcode);
    code.extend(((to as i64 - next as i64) as i32).to_le_bytes());
}

fn call_before(before: BeforeFn, id: u32) -> Vec<u8> {
    let mut code = SAVE.to_vec();
    code.extend([0x48, 0x89, 0xe7, 0xbe]); // mov rdi, rsp; mov esi, id
    code.extend(id.to_le_bytes());
    code.extend([0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xf0]); // mov rbx, rsp; and rsp, -16
    code.extend([0x48, 0xb8]); // mov rax, before
    code.extend((before as usize as u64).to_le_bytes());
    code.extend([0xff, 0xd0, 0x48, 0x89, 0xdc]); // call rax; mov rsp, rbx
    code.extend(RESTORE);
    code
}
