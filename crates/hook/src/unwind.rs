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
    /// Frame pointer.
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

/// How many rules lie ready by the low bits of their return address; two that share them take turns.
const READY: usize = 1 << 12;

/// The unwinder of one image.
pub struct Unwinder {
    image: Image,
    header: gimli::ParsedEhFrameHdr<EndianSlice<'static, LittleEndian>>,
    frames: EhFrame<EndianSlice<'static, LittleEndian>>,
    bases: BaseAddresses,
    context: UnwindContext<usize>,
    rules: FastMap<u64, Option<Rule>>,
    /// The rules met last, each with its return address.
    ready: Box<[(u64, Option<Rule>)]>,
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
        let ready = vec![(0, None); READY].into_boxed_slice();
        Some(Self { image: image.clone(), header, frames, bases, context: UnwindContext::new(), rules: FastMap::default(), ready })
    }

    fn rule(&mut self, pc: u64) -> Option<Rule> {
        let slot = pc as usize % READY;
        if self.ready[slot].0 != pc {
            let known = self.rules.get(&pc).copied();
            let rule = known.unwrap_or_else(|| self.compute(pc));
            if known.is_none() {
                self.rules.insert(pc, rule);
            }
            self.ready[slot] = (pc, rule);
        }
        self.ready[slot].1
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
            frames.push(registers.pc - self.image.base);
            let Some(rule) = self.rule(registers.pc) else { return };
            let cfa = (if rule.cfa_from_rbp { registers.rbp } else { registers.sp }).wrapping_add_signed(rule.cfa_offset);
            if cfa <= registers.sp || cfa > limit {
                return;
            }
            // SAFETY: the addresses lie on our own stack between the current frame and `limit`.
            let load = |offset: i64| unsafe { *(cfa.wrapping_add_signed(offset) as *const u64) };
            if let Some(offset) = rule.saved_rbp {
                registers.rbp = load(offset);
            }
            registers.pc = load(-8);
            registers.sp = cfa;
        }
    }
}
