//! gdb's `step`: that of gdb 13, and where the module is read as gdb 16 or later does, theirs.
//!
//! A step ends at the start of another line's statement in the same frame, at a function entered (after its
//! prologue), or at an inlined call. Arriving in the middle of a line, as returns do, only moves the range being
//! stepped over. Calls into code without lines, and functions of other files, are stepped over.

use super::gdb_lines::{GdbLines, Sal};
use super::sites::Needs;
use super::{FrameId, Position, PositionKind, Shown, StackId, Stepper, Verdict, call_line};
use crate::native::module::{BlockId, BlockKind, FileId, FunctionId, Module, Producer};
use std::collections::HashMap;
use std::rc::Rc;

/// What gdb makes of an address, whatever the frame.
#[derive(Debug)]
struct Place {
    sal: Option<Sal>,
    /// Inlined calls, innermost first.
    inlined: Vec<BlockId>,
    /// How many of them start here.
    hidden: usize,
}

/// The stepping state between two events.
pub(crate) struct GdbStepper<'m> {
    module: &'m Module,
    lines: GdbLines,
    user: Vec<bool>,
    places: HashMap<u64, Rc<Place>>,
    prologues: HashMap<FunctionId, u64>,
    range: (u64, u64),
    line: (Option<FileId>, u32),
    frame: Option<FrameId>,
    stack: Option<StackId>,
    /// Run here before anything else is considered: the end of a prologue.
    resume_at: Option<u64>,
    hidden: usize,
    generation: u64,
}

impl<'m> GdbStepper<'m> {
    pub fn new(module: &'m Module, user: Vec<bool>) -> Self {
        Self {
            module,
            lines: GdbLines::new(module),
            user,
            places: HashMap::new(),
            prologues: HashMap::new(),
            range: (0, 0),
            line: (None, 0),
            frame: None,
            stack: None,
            resume_at: None,
            hidden: 0,
            generation: 0,
        }
    }

    fn place(&mut self, pc: u64) -> Rc<Place> {
        if let Some(place) = self.places.get(&pc) {
            return Rc::clone(place);
        }
        let inlined = super::inlined_at(self.module, pc);
        let hidden = inlined.iter().take_while(|&&b| self.module.entry_of(b) == pc || self.starts_at(pc, b)).count();
        let place = Rc::new(Place { sal: self.lines.at(pc), inlined, hidden });
        self.places.insert(pc, Rc::clone(&place));
        place
    }

    /// gdb's second way to tell that a block is entered at an address: the byte before belongs to a block that is
    /// not inside it. Known only where the unit has blocks of several ranges.
    fn starts_at(&self, pc: u64, block: BlockId) -> bool {
        let unit = self.module.function(self.module.block(block).function).unit;
        if !self.module.unit(unit).has_split_block {
            return false;
        }
        self.module.block_at(pc - 1).is_none_or(|before| !self.module.is_within(before, block))
    }

    /// gdb 16 and later: when a step that began in an inlined call comes to another range of it, the calls that were under way
    /// are not hidden again. How many stay hidden.
    fn still_hidden(&self, stack: StackId, place: &Place) -> usize {
        let stepped = self.frame.and_then(|f| f.inlined).filter(|_| self.stack == Some(stack));
        let (Some(_), Some(inlined)) = (&self.module.gdb_blocks, stepped) else { return place.hidden };
        // The frame is known by the entry of its call: what is under way is what holds that address.
        let Some(before) = self.module.block_at(self.module.entry_of(inlined)) else { return place.hidden };
        place.inlined.iter().take(place.hidden).take_while(|&&b| !self.module.is_within(before, b)).count()
    }

    fn frame_id(stack: StackId, place: &Place, hidden: usize) -> FrameId {
        FrameId { stack, inlined: place.inlined.get(hidden).copied() }
    }

    /// File and line of the visible frame.
    fn shown(&self, place: &Place, hidden: usize) -> Option<Shown> {
        let call = hidden.checked_sub(1).map(|last| call_line(self.module, place.inlined[last]));
        let (file, line) = match call {
            Some(call) => call?,
            None => place.sal.map(|s| (s.file, s.line))?,
        };
        Some(Shown { hidden, line, file })
    }

    fn stop(&mut self, place: &Place, hidden: usize) -> Verdict {
        self.generation += 1;
        self.hidden = hidden;
        self.resume_at = None;
        match self.shown(place, hidden) {
            Some(shown) => Verdict::Stop(shown),
            // A call without a line: gdb stops, and whoever steps on enters what is hidden.
            None if self.may_enter(place, hidden) => self.stop(place, hidden - 1),
            None => Verdict::Run,
        }
    }

    /// Whether a step enters the outermost hidden call: those whose call is in a file of others are stepped over.
    fn may_enter(&self, place: &Place, hidden: usize) -> bool {
        hidden > 0 && self.shown(place, hidden - 1).is_none_or(|s| self.user[s.file.0 as usize])
    }

    /// Whether the frame that is visible with `hidden` calls hidden, or one between it and the stepped frame, is at a
    /// line of another file: such inlined functions are not entered.
    fn is_skipped(&self, stack: StackId, place: &Place, hidden: usize) -> bool {
        (hidden..place.inlined.len())
            .take_while(|&h| Some(Self::frame_id(stack, place, h)) != self.frame)
            .any(|h| self.shown(place, h).is_some_and(|s| !self.user[s.file.0 as usize]))
    }

    /// Where gdb stops after stepping into a function.
    fn after_prologue(&mut self, function: FunctionId) -> u64 {
        if let Some(&pc) = self.prologues.get(&function) {
            return pc;
        }
        let f = self.module.function(function);
        let mut pc = match self.module.unit(f.unit).producer {
            Producer::Llvm => skip_prologue(self.module, &self.lines, function),
            _ => after_frame_setup(self.module, function),
        };
        if let Some(sal) = self.lines.at(pc)
            && sal.start != pc
            && sal.end < f.entry_end()
        {
            pc = sal.end;
        }
        self.prologues.insert(function, pc);
        pc
    }
}

impl Stepper for GdbStepper<'_> {
    fn first_stop(&self, main: FunctionId) -> u64 {
        body_start(self.module, &self.lines, main)
    }

    fn begin(&mut self, position: &Position) -> Verdict {
        let place = self.place(position.pc);
        self.stop(&place, place.hidden)
    }

    fn step(&mut self, position: &Position) -> Verdict {
        self.generation += 1;
        let place = self.place(position.pc);
        self.frame = Some(Self::frame_id(position.stack, &place, self.hidden));
        self.stack = Some(position.stack);
        self.line = self.shown(&place, self.hidden).map_or((None, 0), |s| (Some(s.file), s.line));
        if self.may_enter(&place, self.hidden) {
            return self.stop(&place, self.hidden - 1);
        }
        self.range = place.sal.map_or((position.pc, position.pc + 1), |s| (s.start, s.end));
        self.hidden = 0;
        Verdict::Run
    }

    fn arrive(&mut self, position: &Position) -> Verdict {
        let pc = position.pc;
        match self.resume_at {
            Some(at) if at != pc => return Verdict::Run,
            None => {}
            Some(_) => {
                self.generation += 1;
                self.resume_at = None;
            }
        }
        if self.range.0 <= pc && pc < self.range.1 {
            return Verdict::Run;
        }
        let place = self.place(pc);
        if Some(position.stack) != self.stack && position.caller.is_some() && position.caller == self.stack {
            let target = self.after_prologue(position.stack.function);
            if target == pc {
                return self.stop(&place, place.hidden);
            }
            self.generation += 1;
            self.resume_at = Some(target);
            self.range = (self.range.0, self.range.0);
            return Verdict::Run;
        }
        let Some(mut sal) = place.sal else { return Verdict::Run };
        let hidden = self.still_hidden(position.stack, &place);
        let visible = Self::frame_id(position.stack, &place, hidden);
        if Some(visible) == self.frame && hidden > 0 {
            let call = call_line(self.module, place.inlined[hidden - 1]);
            let same_line = call.is_some_and(|(file, line)| self.line == (Some(file), line));
            if same_line {
                return match self.is_skipped(position.stack, &place, hidden - 1) {
                    true => Verdict::Run,
                    false => self.stop(&place, hidden - 1),
                };
            }
            return self.stop(&place, hidden);
        }
        let mut outer = place.inlined.iter().skip(hidden + 1).map(|&b| Some(b)).chain([None]);
        let stepped_in = visible.inlined.is_some()
            && Some(visible) != self.frame
            && outer.any(|inlined| Some(FrameId { stack: position.stack, inlined }) == self.frame);
        if stepped_in {
            return match self.is_skipped(position.stack, &place, hidden) {
                true => Verdict::Run,
                false => self.stop(&place, hidden),
            };
        }
        let mut refresh = true;
        if pc == sal.start && self.line != (Some(sal.file), sal.line) {
            if sal.is_stmt && position.kind == PositionKind::Real {
                return self.stop(&place, hidden);
            }
            if Some(visible) == self.frame {
                refresh = false;
            } else {
                sal.line = 0;
            }
        }
        self.generation += 1;
        self.range = (sal.start, sal.end);
        if refresh {
            self.frame = Some(visible);
            self.stack = Some(position.stack);
            self.line = (Some(sal.file), sal.line);
        }
        Verdict::Run
    }

    fn line_at(&self, pc: u64) -> Option<(FileId, u32)> {
        self.lines.at(pc).map(|s| (s.file, s.line))
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn sites(&self) -> Needs {
        Needs::Rows
    }

    fn rejoin(&mut self, position: &Position) -> bool {
        let place = self.place(position.pc);
        self.generation += 1;
        self.resume_at = None;
        self.hidden = 0;
        self.frame = Some(Self::frame_id(position.stack, &place, 0));
        self.stack = Some(position.stack);
        self.line = place.sal.map_or((None, 0), |s| (Some(s.file), s.line));
        self.range = place.sal.map_or((position.pc, position.pc + 1), |s| (s.start, s.end));
        // At the start of a row that is no statement gdb may keep the line that it came from.
        place.sal.is_some_and(|s| s.is_stmt || s.start != position.pc)
    }

    fn landing(&mut self, function: FunctionId) -> Option<u64> {
        Some(self.after_prologue(function))
    }

    fn awaited(&self) -> Option<u64> {
        self.resume_at
    }

    fn activation(&self) -> Option<StackId> {
        self.stack
    }
}

/// Where breakpoints of a function go at the earliest.
pub(crate) fn body_start(module: &Module, lines: &GdbLines, function: FunctionId) -> u64 {
    let f = module.function(function);
    let unit = module.unit(f.unit);
    // gdb trusts optimized gcc code to describe its variables from the first instruction on.
    if unit.producer == Producer::Gcc && unit.has_loclist {
        return f.entry();
    }
    let pc = skip_prologue(module, lines, function);
    match lines.at(pc) {
        Some(sal) if sal.start != pc && f.entry() <= sal.end && sal.end < f.entry_end() => sal.end,
        _ => pc,
    }
}

/// gdb's reading of an x86-64 prologue: by lines for LLVM's code, by instructions otherwise.
fn skip_prologue(module: &Module, lines: &GdbLines, function: FunctionId) -> u64 {
    let f = module.function(function);
    let start = f.entry();
    let by_lines = match module.unit(f.unit).producer {
        Producer::Llvm => marked_end(module, lines, function).or_else(|| second_line(module, lines, function)),
        _ => marked_end(module, lines, function),
    };
    by_lines.map_or_else(|| after_frame_setup(module, function), |pc| pc.max(start))
}

/// The first row of a function, in the file of its entry, that is marked as the end of a prologue.
fn marked_end(module: &Module, lines: &GdbLines, function: FunctionId) -> Option<u64> {
    let f = module.function(function);
    let (start, end) = (f.entry(), f.entry_end());
    let table = lines.table(start, lines.at(start)?.file)?;
    let first = table.partition_point(|i| i.pc < start);
    table[first..].iter().take_while(|i| i.pc < end).find(|i| i.prologue_end).map(|i| i.pc)
}

/// The address after the instructions that set up a frame pointer, or the entry. This is all that gdb goes by when it
/// steps into a function, unless it knows the code for LLVM's; breakpoints go by lines first.
fn after_frame_setup(module: &Module, function: FunctionId) -> u64 {
    let start = module.function(function).entry();
    let code = module.code_at(start).unwrap_or_default();
    let after_endbr = if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
    let rest = &code[after_endbr.min(code.len())..];
    let moves: [&[u8]; 4] =
        [&[0x55, 0x48, 0x89, 0xe5], &[0x55, 0x48, 0x8b, 0xec], &[0x40, 0x55, 0x48, 0x89, 0xe5], &[0x40, 0x55, 0x48, 0x8b, 0xec]];
    match moves.iter().find(|m| rest.starts_with(m)) {
        Some(m) => start + after_endbr as u64 + m.len() as u64,
        None => start,
    }
}

/// The address where the second line of a function starts.
fn second_line(module: &Module, lines: &GdbLines, function: FunctionId) -> Option<u64> {
    let f = module.function(function);
    let (start, end) = (f.entry(), f.entry_end());
    let mut sal = lines.at(start)?;
    // Two entries at the entry address: a prologue without instructions.
    let table = lines.table(start, sal.file)?;
    let index = table.iter().position(|i| i.pc == sal.start && i.line != 0)?;
    if table.get(index + 1).is_some_and(|i| i.line != 0 && i.pc == start) {
        return Some(start);
    }
    if sal.end >= end {
        return None;
    }
    while sal.end < end {
        let Some(next) = lines.at(sal.end) else { break };
        if next.line >= sal.line || next.file != sal.file {
            break;
        }
        // A smaller line number says nothing inside an inlined call.
        let chain = module.chain_at(sal.end);
        if chain
            .iter()
            .map(|&b| &module.block(b).kind)
            .find(|k| !matches!(k, BlockKind::Lexical))
            .is_some_and(|k| matches!(k, BlockKind::Inlined { .. }))
        {
            break;
        }
        sal = next;
    }
    Some(if sal.end < end { sal.end } else { sal.start })
}
