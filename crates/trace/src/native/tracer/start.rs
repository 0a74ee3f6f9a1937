//! Where a trace begins and what it leaves out from the start.

use super::super::frame::Registers;
use super::super::policy::{Position, PositionKind, StackId};
use super::super::stack::Stack;
use super::{Tracer, site};
use crate::native::cfi::CfaRule;
use crate::{Landmark, TraceError};
use trueline_machine::inferior::Event;
use trueline_model::StepSink;

impl Tracer<'_> {
    /// Runs until the thread comes to its first function of the user's, and takes that for what main is to the first thread; the
    /// address that it returns to, or nothing when the thread has no such function.
    pub(super) fn begin_thread(&mut self) -> Result<Option<u64>, TraceError> {
        self.inferior.follow_thread(self.thread);
        match self.inferior.resume()? {
            Event::ThreadStarted => {}
            event => return self.ended(event).map(|_| None),
        }
        let bias = self.inferior.bias();
        let users = self.module.functions.iter().filter(|f| self.is_users(f));
        let entries: Vec<u64> = users.map(|f| f.entry().wrapping_add(bias)).collect();
        self.set_breakpoints(&entries)?;
        let at = match self.inferior.resume()? {
            Event::Breakpoint(at) => at,
            event => return self.ended(event).map(|_| None),
        };
        let Some(function) = self.module.function_at(at.wrapping_sub(bias)) else { return Ok(None) };
        let sp = self.inferior.regs().rsp;
        let leave = self.return_address().ok_or_else(|| self.bad_program("has no readable stack"))?;
        self.stack = Stack::begin(function, sp.wrapping_add(8), leave.wrapping_sub(bias));
        Ok(Some(leave))
    }

    /// Leaves out the addresses that the request does not ask for, and returns the others.
    pub(super) fn narrow(&mut self, all: Vec<u64>, sink: &mut dyn StepSink) -> Vec<u64> {
        let focus = &self.request.focus;
        if focus.is_everywhere() {
            return all;
        }
        let (wanted, others): (Vec<u64>, Vec<u64>) = all.into_iter().partition(|&pc| {
            let (lines, functions) = self.what_is_at(pc);
            focus.accepts(functions.iter().map(|f| &**f), lines.iter().map(|l| l.file.base()))
        });
        for &pc in &others {
            let (lines, functions) = self.what_is_at(pc);
            sink.give_up(&lines, &functions);
        }
        self.retirement.leave_out(others.into_iter());
        wanted
    }

    /// Runs on, looking at nothing, until the program comes to a landmark; the policy then begins there.
    pub(super) fn run_to(&mut self, landmark: &Landmark, leave: u64) -> Result<Position, TraceError> {
        let bias = self.inferior.bias();
        let (places, mut left) = self.addresses_of(landmark);
        if places.is_empty() {
            let reason = format!("it has no code for {landmark}; a function that was inlined everywhere has none of its own");
            return Err(TraceError::BadBinary { binary: self.module.path.clone(), reason });
        }
        let mut addresses: Vec<u64> = places.iter().map(|pc| pc.wrapping_add(bias)).collect();
        addresses.push(leave);
        self.set_breakpoints(&addresses)?;
        let never = self.bad_program(&format!("never comes to {landmark}"));
        // The program stands at the entry of main, which may be the landmark.
        let mut pc = self.inferior.regs().rip.wrapping_sub(bias);
        loop {
            if places.contains(&pc) {
                left -= 1;
                if left == 0 {
                    break;
                }
            }
            match self.inferior.resume()? {
                Event::Breakpoint(at) if at == leave && self.is_back_in_mains_caller() => return Err(never),
                Event::Breakpoint(at) => pc = at.wrapping_sub(bias),
                event => return Err(self.ended(event).err().unwrap_or(never)),
            }
        }
        let reason = format!("comes to {landmark} with a stack that cannot be read");
        let nowhere = || TraceError::BadProgram { binary: self.module.path.clone(), reason };
        let Some(found) = site(self.module, &mut self.sites, pc) else { return Err(nowhere()) };
        let registers = Registers::new(self.inferior.regs());
        let cfa = match &found.cfa {
            CfaRule::RegisterOffset(register, offset) => registers.get(*register).map(|r| r.wrapping_add_signed(*offset)),
            CfaRule::Expression(_) => None,
        };
        let Some(cfa) = cfa else { return Err(nowhere()) };
        let id = StackId { cfa, function: found.function };
        self.mend_stack(pc, id, &registers);
        let top = self.stack.top().map_or(id, |top| top.id);
        let position = Position { pc, stack: top, caller: self.stack.caller(), kind: PositionKind::Real };
        self.stepper.rejoin(&position);
        Ok(position)
    }

    /// Where a landmark is in the code, and at which arrival.
    fn addresses_of(&self, landmark: &Landmark) -> (Vec<u64>, u32) {
        match landmark {
            Landmark::Call { function, number } => {
                let named = self.module.functions.iter().filter(|f| *f.name == **function || f.name.rsplit("::").next() == Some(function));
                (named.map(trueline_dwarf::Function::entry).collect(), *number)
            }
            Landmark::Line { file, line } => {
                let is_it = |r: &&trueline_dwarf::line::Row| r.line == *line && r.flags.is_stmt && !r.flags.end_sequence;
                let rows = self.module.rows.iter().filter(is_it).filter(|r| self.module.file(r.file).base() == file);
                (rows.map(|r| r.address).filter(|&pc| self.module.function_at(pc).is_some()).collect(), 1)
            }
        }
    }
}
