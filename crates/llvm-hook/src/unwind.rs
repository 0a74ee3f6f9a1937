//! Call stacks inside libLLVM from its own unwind table, one cached rule per return address in a table of its own, so
//! that a stack costs a few loads. Frames outside libLLVM end the stack: the pass is inside.

use crate::fast::FastMap;
use crate::image::Image;
use gimli::{BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, RegisterRule, UnwindContext, UnwindSection, X86_64};

/// The registers that frame addresses are computed from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registers {
    /// Return address of the current frame.
    pub pc: u64,
    /// Stack pointer after the return.
    pub sp: u64,
    /// The frame pointer, register rbp.
    pub rbp: u64,
}

/// How to leave one frame.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// Start of the function, relative to the image.
    function: u64,
    cfa_from_rbp: bool,
    cfa_offset: i64,
    /// Where the caller's rbp lies, relative to the canonical frame address.
    saved_rbp: Option<i64>,
}

/// A rule that was met, in few bytes: those of a deep stack should stay in the first cache.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    /// The return address relative to the image, 0 for none yet.
    frame: u32,
    /// The offset of the canonical frame address, a multiple of eight; its lowest bit says that it is one from rbp.
    cfa: i32,
    /// Where the caller's rbp lies relative to that address, 0 (where the return address ends) when it is not saved.
    saved_rbp: i32,
}

/// How many rules lie ready by the low bits of their return address; two that share them take turns.
const READY: usize = 1 << 12;

/// The unwinder of one image.
pub struct Unwinder {
    image: Image,
    header: gimli::ParsedEhFrameHdr<EndianSlice<'static, LittleEndian>>,
    frames: EhFrame<EndianSlice<'static, LittleEndian>>,
    bases: BaseAddresses,
    context: UnwindContext<usize>,
    /// All rules met, by return address.
    rules: FastMap<u64, Option<Rule>>,
    /// The rules that were met last.
    ready: Box<[Ready]>,
}

impl Unwinder {
    /// Reads the image's unwind table; `None` when it has none.
    pub fn new(image: &Image) -> Option<Self> {
        if image.eh_frame_hdr == 0 {
            return None;
        }
        // SAFETY: header and table lie in one read-only segment, which stays mapped for the life of the process.
        let slice = |at: u64| unsafe { std::slice::from_raw_parts(at as *const u8, (image.eh_frame_end - at) as usize) };
        let bases = BaseAddresses::default().set_eh_frame_hdr(image.eh_frame_hdr);
        let header = EhFrameHdr::new(slice(image.eh_frame_hdr), LittleEndian).parse(&bases, 8).ok()?;
        let gimli::Pointer::Direct(eh_frame) = header.eh_frame_ptr() else { return None };
        let bases = bases.set_eh_frame(eh_frame);
        let frames = EhFrame::new(slice(eh_frame), LittleEndian);
        let ready = vec![Ready::default(); READY].into_boxed_slice();
        Some(Self { image: image.clone(), header, frames, bases, context: UnwindContext::new(), rules: FastMap::default(), ready })
    }

    fn rule(&mut self, pc: u64) -> Option<Rule> {
        if let Some(known) = self.rules.get(&pc) {
            return *known;
        }
        let rule = self.compute(pc);
        self.rules.insert(pc, rule);
        rule
    }

    /// The rule of a frame, whose return address is relative to the image.
    fn ready(&mut self, frame: u64) -> Option<Ready> {
        let slot = frame as usize % READY;
        if u64::from(self.ready[slot].frame) != frame {
            let rule = self.rule(frame + self.image.base)?;
            let cfa = i32::try_from(rule.cfa_offset).ok()? | i32::from(rule.cfa_from_rbp);
            let saved_rbp = i32::try_from(rule.saved_rbp.unwrap_or(0)).ok()?;
            self.ready[slot] = Ready { frame: u32::try_from(frame).ok()?, cfa, saved_rbp };
        }
        Some(self.ready[slot])
    }

    /// The start of the function that a frame of `walk` lies in, both relative to the image; 0 where it is unknown.
    pub fn function_of(&mut self, frame: u64) -> u64 {
        self.rule(frame + self.image.base).map_or(0, |rule| rule.function)
    }

    fn compute(&mut self, pc: u64) -> Option<Rule> {
        // A return address may lie just past a function that ends in a call.
        let inside = pc - 1;
        let table = self.header.table()?;
        let fde = table.fde_for_address(&self.frames, &self.bases, inside, EhFrame::cie_from_offset).ok()?;
        let row = fde.unwind_info_for_address(&self.frames, &self.bases, &mut self.context, inside).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
        let cfa_from_rbp = register == X86_64::RBP;
        if !cfa_from_rbp && register != X86_64::RSP {
            return None;
        }
        let saved_rbp = match row.register(X86_64::RBP) {
            Some(RegisterRule::Offset(offset)) => Some(offset),
            _ => None,
        };
        Some(Rule { function: fde.initial_address() - self.image.base, cfa_from_rbp, cfa_offset: offset, saved_rbp })
    }

    /// The return addresses, relative to the image, from `registers` outwards, until the stack pointer passes `limit` or the
    /// image is left.
    pub fn walk(&mut self, mut registers: Registers, limit: u64, frames: &mut Vec<u64>) {
        const DEEPEST: usize = 40;
        frames.clear();
        while frames.len() < DEEPEST && registers.sp < limit && (self.image.base..self.image.end).contains(&registers.pc) {
            let frame = registers.pc - self.image.base;
            frames.push(frame);
            let Some(rule) = self.ready(frame) else { return };
            let from = if rule.cfa & 1 == 1 { registers.rbp } else { registers.sp };
            let cfa = from.wrapping_add_signed(i64::from(rule.cfa & !1));
            if cfa <= registers.sp || cfa > limit {
                return;
            }
            // SAFETY: the addresses lie on our own stack between the current frame and `limit`.
            let load = |offset: i64| unsafe { *(cfa.wrapping_add_signed(offset) as *const u64) };
            if rule.saved_rbp != 0 {
                registers.rbp = load(i64::from(rule.saved_rbp));
            }
            registers.pc = load(-8);
            registers.sp = cfa;
        }
    }
}
