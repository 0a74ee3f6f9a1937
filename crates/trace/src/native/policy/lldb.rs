//! lldb's `step-in`, that of lldb 16 and what lldb 22 does otherwise.
//!
//! A step ends as soon as control leaves the line's address ranges for the start of a row of another line, is_stmt or
//! not; a return to the caller ends it wherever that is, also in the middle of a row; an inlined call that starts at
//! the address is first shown from outside and then entered without executing anything. Rows without a line are
//! stepped through.
//!
//! Within its ranges lldb does not look at every instruction: it runs to the next branch and single-steps only what is
//! nearer than that. Where it happens to look at the start of an inlined call, it steps into that call as if asked to.
//!
//! lldb 22 shows an inlined call from outside only where it got there by executing one instruction: where it ran to the end of
//! its range, or out of a function of another file, and the call starts there, it is inside at once. After an inlined call that ends
//! there the next one is shown from outside as before.

use super::lldb_gait as gait;
use super::lldb_lines::LldbLines;
use super::sites::Needs;
use super::{FrameId, Position, Shown, StackId, Stepper, Verdict, call_line};
use crate::native::module::{BlockId, FileId, FunctionId, Module};
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use trueline_model::Policy;

#[derive(Debug)]
struct Place {
    inlined: Vec<BlockId>,
    hidden: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Equal,
    Younger,
    SameParent,
    Older,
}

/// The step plan between two events: all that a decision depends on besides the position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    ranges: Vec<(u64, u64)>,
    line: Option<(FileId, u32)>,
    frame: Option<FrameId>,
    parent: Option<FrameId>,
    resume_at: Option<u64>,
    hidden: usize,
    /// Where lldb last looked.
    looked_at: u64,
}

/// Decides by the plan.
pub(crate) struct LldbStepper<'m> {
    module: &'m Module,
    lines: LldbLines,
    places: HashMap<u64, Rc<Place>>,
    /// Where calls of functions of other files return to: lldb has no way to step over such a function, so it is entered
    /// and left again, which is a stop.
    detours: HashSet<u64>,
    /// By function: whether calls were inlined into it.
    inlines: Vec<bool>,
    /// Which lldb it is.
    policy: Policy,
    plan: Plan,
    generation: u64,
}

impl<'m> LldbStepper<'m> {
    pub fn new(module: &'m Module, user: &[bool], policy: Policy) -> Self {
        let lines = LldbLines::new(module);
        let is_user = |pc: u64| lines.at(pc).is_none_or(|e| user[e.file.0 as usize]);
        let detours = detours(module, is_user);
        let mut inlines = vec![false; module.functions.len()];
        for block in module.blocks.iter().filter(|b| b.is_inlined()) {
            inlines[block.function.0 as usize] = true;
        }
        Self { module, lines, places: HashMap::new(), detours, inlines, policy, plan: Plan::default(), generation: 0 }
    }

    fn place(&mut self, pc: u64) -> Rc<Place> {
        if let Some(place) = self.places.get(&pc) {
            return Rc::clone(place);
        }
        let inlined = super::inlined_at(self.module, pc);
        let blocks = self.module.lldb_blocks.as_ref();
        let starts = |b: &&BlockId| blocks.and_then(|l| l.range(**b, pc)).is_some_and(|r| r.0 == pc);
        let hidden = inlined.iter().take_while(starts).count();
        let place = Rc::new(Place { inlined, hidden });
        self.places.insert(pc, Rc::clone(&place));
        place
    }

    fn frame_id(stack: StackId, place: &Place, hidden: usize) -> FrameId {
        FrameId { stack, inlined: place.inlined.get(hidden).copied() }
    }

    /// The frame around the visible one.
    fn parent_id(position: &Position, place: &Place, hidden: usize) -> Option<FrameId> {
        if hidden < place.inlined.len() {
            return Some(Self::frame_id(position.stack, place, hidden + 1));
        }
        // The caller's innermost inlined call is not told apart: its activation decides.
        position.caller.map(|stack| FrameId { stack, inlined: None })
    }

    /// File and line of the visible frame; line 0 stands for none.
    fn line_of(&self, pc: u64, place: &Place, hidden: usize) -> Option<(FileId, u32)> {
        match hidden.checked_sub(1) {
            Some(last) => call_line(self.module, place.inlined[last]),
            None => self.lines.at(pc).map(|e| (e.file, e.line)),
        }
    }

    fn order(&self, position: &Position, visible: FrameId, parent: Option<FrameId>) -> Order {
        let Some(start) = self.plan.frame else { return Order::Equal };
        if visible == start {
            return Order::Equal;
        }
        let younger = if visible.stack.cfa != start.stack.cfa {
            visible.stack.cfa < start.stack.cfa
        } else if visible.stack.function == start.stack.function {
            let function = self.module.function(position.stack.function).block;
            let block = |f: FrameId| f.inlined.unwrap_or(function);
            self.module.is_within(block(visible), block(start))
        } else {
            false
        };
        if younger {
            Order::Younger
        } else if parent.is_some() && parent == self.plan.parent {
            Order::SameParent
        } else {
            Order::Older
        }
    }

    fn set_plan(&mut self, position: &Position, place: &Place, hidden: usize) {
        self.generation += 1;
        self.plan.frame = Some(Self::frame_id(position.stack, place, hidden));
        self.plan.parent = Self::parent_id(position, place, hidden);
        self.plan.line = self.line_of(position.pc, place, hidden);
        self.plan.ranges.clear();
        self.plan.ranges.extend(self.lines.range(position.pc));
        self.plan.looked_at = if self.inlines(position) { position.pc } else { 0 };
    }

    /// Where lldb looks only matters where it may step into an inlined call.
    fn inlines(&self, position: &Position) -> bool {
        self.inlines[position.stack.function.0 as usize]
    }

    /// In the middle of a step: goes on, unless lldb looks here and an inlined call starts.
    fn go_on(&mut self, position: &Position, place: &Place, hidden: usize) -> Verdict {
        if !self.inlines(position) {
            return Verdict::Run;
        }
        let pc = position.pc;
        let end_at = |at: u64| self.plan.ranges.iter().find(|r| r.0 <= at && at < r.1).map_or(pc, |r| r.1);
        let (end, before) = (end_at(pc), end_at(self.plan.looked_at));
        let (seen, last) = gait::looks(self.module, self.plan.looked_at, pc, before);
        self.plan.looked_at = last;
        // Outside of its ranges lldb does not know how far it could run, and executes one instruction.
        if hidden == 0 || !seen || gait::next(self.module, pc, end).is_some_and(|n| n.runs) {
            return Verdict::Run;
        }
        match self.line_of(pc, place, hidden - 1) {
            Some((_, line)) if line != 0 => self.stop(pc, place, hidden - 1),
            _ => {
                self.set_plan(position, place, hidden - 1);
                Verdict::Run
            }
        }
    }

    /// Whether an inlined call starts here and lldb 22 has run to it rather than executed one instruction: to the end of its
    /// range, in a call that is inside of the step's own function, or out of a function that it left at once.
    fn is_run_into(&self, position: &Position, place: &Place) -> bool {
        if self.policy != Policy::Lldb22 || place.hidden == 0 {
            return false;
        }
        let looked_at = self.plan.looked_at;
        // A jump may lead behind a call too; then the step began further on.
        if self.detours.contains(&position.pc) {
            return looked_at < position.pc;
        }
        let inside = Self::frame_id(position.stack, place, 0);
        if self.order(position, inside, Self::parent_id(position, place, 0)) != Order::Younger {
            return false;
        }
        let range = self.plan.ranges.iter().find(|r| r.0 <= looked_at && looked_at < r.1);
        range.is_some_and(|&(_, end)| end == position.pc && gait::runs_to_end(self.module, looked_at, end))
    }

    fn stop(&mut self, pc: u64, place: &Place, hidden: usize) -> Verdict {
        match self.line_of(pc, place, hidden) {
            Some((file, line)) if line != 0 => {
                self.generation += 1;
                self.plan.hidden = hidden;
                Verdict::Stop(Shown { hidden, line, file })
            }
            _ => Verdict::Run,
        }
    }

    fn in_range(&mut self, pc: u64, place: &Place, hidden: usize) -> bool {
        if self.plan.ranges.iter().any(|r| r.0 <= pc && pc < r.1) {
            return true;
        }
        let (Some((file, line)), Some(now)) = (self.plan.line, self.line_of(pc, place, hidden)) else { return false };
        if now.0 != file {
            return false;
        }
        self.generation += 1;
        if now.1 == line || now.1 == 0 {
            // An inlined call seen from outside has a line but no range of its own.
            let from = if hidden == 0 { self.lines.start(pc) } else { pc };
            self.plan.ranges.extend(self.lines.same_line_range(from, file, line));
            return true;
        }
        let Some(range) = self.lines.range(pc).filter(|r| hidden == 0 && r.0 != pc) else { return false };
        self.plan.line = Some(now);
        self.plan.ranges.clear();
        self.plan.ranges.push(range);
        true
    }
}

impl Stepper for LldbStepper<'_> {
    fn first_stop(&self, main: FunctionId) -> u64 {
        self.lines.after_prologue(self.module, main)
    }

    fn begin(&mut self, position: &Position) -> Verdict {
        let place = self.place(position.pc);
        // A breakpoint of the user's shows the innermost frame.
        self.stop(position.pc, &place, 0)
    }

    fn step(&mut self, position: &Position) -> Verdict {
        let place = self.place(position.pc);
        if self.plan.hidden > 0 {
            let verdict = self.stop(position.pc, &place, self.plan.hidden - 1);
            if verdict != Verdict::Run {
                return verdict;
            }
            self.plan.hidden = 0;
        }
        self.set_plan(position, &place, 0);
        Verdict::Run
    }

    fn arrive(&mut self, position: &Position) -> Verdict {
        let pc = position.pc;
        let resumed = match self.plan.resume_at {
            Some(at) if at != pc => return Verdict::Run,
            at => at.is_some(),
        };
        if resumed {
            self.generation += 1;
            self.plan.resume_at = None;
        }
        let place = self.place(pc);
        let hidden = if self.is_run_into(position, &place) { 0 } else { place.hidden };
        if self.detours.contains(&pc) {
            return self.stop(pc, &place, hidden);
        }
        let visible = Self::frame_id(position.stack, &place, hidden);
        let parent = Self::parent_id(position, &place, hidden);
        let order = self.order(position, visible, parent);
        if order == Order::Equal {
            return match self.in_range(pc, &place, hidden) {
                true => self.go_on(position, &place, hidden),
                false => self.stop(pc, &place, hidden),
            };
        }
        let line = self.line_of(pc, &place, hidden);
        if line.is_none_or(|l| l.1 == 0) {
            // Step through what has no line, then look again.
            self.set_plan(position, &place, hidden);
            return Verdict::Run;
        }
        let entry = self.module.function(position.stack.function).entry();
        if order == Order::Younger && !resumed && pc == entry {
            let body = self.lines.after_prologue(self.module, position.stack.function);
            if body != pc {
                self.generation += 1;
                self.plan.resume_at = Some(body);
                return Verdict::Run;
            }
        }
        self.stop(pc, &place, hidden)
    }

    fn line_at(&self, pc: u64) -> Option<(FileId, u32)> {
        self.lines.at(pc).map(|e| (e.file, e.line)).filter(|l| l.1 != 0)
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.plan)
    }

    fn follow(&mut self, plan: &Plan) {
        self.generation += 1;
        self.plan.clone_from(plan);
    }

    fn sites(&self) -> Needs {
        Needs::Returns
    }
}

/// The addresses after calls from the user's functions to functions with debug information of other files.
fn detours(module: &Module, is_user: impl Fn(u64) -> bool) -> HashSet<u64> {
    let mut found = HashSet::new();
    for &(low, high, _) in module.by_address.iter().filter(|r| is_user(r.0)) {
        let code = module.code_at(low).unwrap_or_default();
        let code = &code[..code.len().min((high - low) as usize)];
        for instruction in &mut Decoder::with_ip(64, code, low, DecoderOptions::NONE) {
            let target = instruction.near_branch64();
            let is_call = instruction.flow_control() == FlowControl::Call;
            if is_call && module.function_at(target).is_some_and(|f| module.function(f).entry() == target) && !is_user(target) {
                found.insert(instruction.next_ip());
            }
        }
    }
    found
}
