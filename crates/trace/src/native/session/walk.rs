//! Steps of a person at a debugger: into the next line, over calls, out of a function.
//!
//! The program is single-stepped; the policy hears of the same places as in a trace, and says where its debugger would stop.
//! Code without debug information is run through.

use super::super::frame::{Frame, Registers};
use super::super::policy::{Position, PositionKind, StackId, Stepper, Verdict, inlined_at, sites};
use super::super::policy::{gdb::GdbStepper, lldb::LldbStepper, standard::StandardStepper};
use super::{Halt, Machine, Module, Session, View};
use crate::TraceError;
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use trueline_machine::inferior::Event;
use trueline_model::Policy;

/// What becomes of calls on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gait {
    /// They are entered.
    Into,
    /// They are run through.
    Over,
}

/// The way of stepping of a policy's debugger; every file that was read counts.
pub(super) fn stepper<'m>(module: &'m Module, policy: Policy) -> Box<dyn Stepper + 'm> {
    let user = vec![true; module.files.len()];
    match policy {
        Policy::Gdb | Policy::Gdb16 | Policy::Gdb18 => Box::new(GdbStepper::new(module, user)),
        Policy::Lldb | Policy::Lldb22 => Box::new(LldbStepper::new(module, &user, policy)),
        Policy::Standard => Box::new(StandardStepper::new(module)),
    }
}

impl Session {
    /// To the next line, as the policy's debugger steps.
    pub fn step(&mut self, gait: Gait) -> Result<Halt, TraceError> {
        let Some(start) = self.position() else { return self.go_on() };
        // The policy holds the tables while the program is moved.
        let module = std::sync::Arc::clone(&self.module);
        let mut stepper = stepper(&module, self.policy);
        let all = sites::find(&module, stepper.sites(), |_| true).all;
        let mut verdict = stepper.begin(&start);
        while let Verdict::Stop(shown) = verdict
            && shown.hidden > self.hidden
        {
            verdict = stepper.step(&start);
        }
        let depth = inlined_at(&module, start.pc).len().saturating_sub(self.hidden);
        let mut at = start;
        verdict = stepper.step(&start);
        loop {
            if let Verdict::Stop(shown) = verdict {
                let here = inlined_at(&module, at.pc).len().saturating_sub(shown.hidden);
                // An inlined call is a call to those who step over calls.
                let is_call = gait == Gait::Over && at.stack == start.stack && here > depth;
                if !is_call {
                    self.hidden = shown.hidden;
                    return Ok(Halt::Stepped(at.pc));
                }
            }
            if let Some(halt) = self.advance(gait)? {
                return Ok(halt);
            }
            let Some(next) = self.position() else { return self.go_on() };
            if self.is_breakpoint(next.pc) {
                self.hidden = self.hidden_at(next.pc);
                return Ok(Halt::At(next.pc));
            }
            let has_returned = next.stack.cfa > at.stack.cfa;
            verdict = if all.binary_search(&next.pc).is_ok() {
                stepper.arrive(&next)
            } else {
                if has_returned {
                    let _ = stepper.arrive(&Position { kind: PositionKind::Returned, ..next });
                }
                Verdict::Run
            };
            at = next;
        }
    }

    /// Runs until the function that the program stands in has returned; an inlined one, until the program is out of it.
    pub fn finish(&mut self) -> Result<Halt, TraceError> {
        let Some(start) = self.position() else { return self.go_on() };
        let module = std::sync::Arc::clone(&self.module);
        let inlined = inlined_at(&module, start.pc).get(self.hidden).copied();
        if let Some(block) = inlined {
            loop {
                if let Some(halt) = self.advance(Gait::Over)? {
                    return Ok(halt);
                }
                let Some(next) = self.position() else { return self.go_on() };
                let is_inside = next.stack == start.stack && module.block_at(next.pc).is_some_and(|b| module.is_within(b, block));
                if !is_inside {
                    self.hidden = self.hidden_at(next.pc);
                    return Ok(Halt::Stepped(next.pc));
                }
            }
        }
        let return_slot = start.stack.cfa.wrapping_sub(8);
        let Some(to) = self.word(return_slot) else { return self.go_on() };
        match self.run_to(to, return_slot)? {
            Some(halt) => Ok(halt),
            None => {
                let pc = self.pc();
                self.hidden = self.hidden_at(pc);
                Ok(Halt::Stepped(pc))
            }
        }
    }

    /// One instruction, and through code that is not looked at; where that ends the run or meets a breakpoint, how.
    fn advance(&mut self, gait: Gait) -> Result<Option<Halt>, TraceError> {
        let flow = self.flow();
        match self.inferior.step().map_err(|e| self.inferior.why(TraceError::from(e)))? {
            Event::Stepped | Event::Breakpoint(_) => {}
            event => return Ok(Some(Halt::Ended(super::spell_end(event)))),
        }
        let is_call = matches!(flow, FlowControl::Call | FlowControl::IndirectCall);
        let is_known = self.module.function_at(self.pc()).is_some();
        match flow {
            _ if is_known && !(is_call && gait == Gait::Over) => Ok(None),
            FlowControl::Return => Ok(Some(self.go_on()?)),
            // A jump out of the function is its last call.
            _ => {
                let slot = self.inferior.regs().rsp;
                match self.word(slot) {
                    Some(to) => self.run_to(to, slot),
                    None => Ok(Some(self.go_on()?)),
                }
            }
        }
    }

    /// Runs to where the word in a stack slot leads, once that slot is gone; another halt where one comes first.
    fn run_to(&mut self, to: u64, slot: u64) -> Result<Option<Halt>, TraceError> {
        let failed = |source| TraceError::System { what: "insert breakpoints".into(), source };
        let was_set = self.inferior.has_breakpoint(to);
        self.inferior.set_breakpoints(&[to]).map_err(failed)?;
        let halt = loop {
            match self.inferior.resume().map_err(|e| self.inferior.why(TraceError::from(e)))? {
                Event::Stepped => {}
                Event::Breakpoint(at) if at == to => {
                    if self.inferior.regs().rsp > slot {
                        break None;
                    }
                    if was_set {
                        break Some(self.at_breakpoint());
                    }
                }
                Event::Breakpoint(_) => break Some(self.at_breakpoint()),
                event => break Some(Halt::Ended(super::spell_end(event))),
            }
        };
        if !was_set && !self.inferior.is_gone() {
            self.inferior.remove_breakpoint(to).map_err(failed)?;
        }
        Ok(halt)
    }

    fn at_breakpoint(&mut self) -> Halt {
        let pc = self.pc();
        self.hidden = self.hidden_at(pc);
        Halt::At(pc)
    }

    /// How the instruction that the program stands on goes on.
    fn flow(&self) -> FlowControl {
        let code = self.module.code_at(self.pc()).unwrap_or_default();
        let mut decoder = Decoder::with_ip(64, &code[..code.len().min(16)], self.pc(), DecoderOptions::NONE);
        decoder.decode().flow_control()
    }

    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0u8; 8];
        self.inferior.read(address, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Where the program stands on the stack; nothing in code without debug information.
    pub(super) fn position(&mut self) -> Option<Position> {
        let bias = self.inferior.bias();
        let pc = self.pc();
        let function = self.module.function_at(pc)?;
        let registers = Registers::new(self.inferior.regs());
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: &self.module, bias, memory: &view };
        let frame = Frame::innermost(registers, pc, function);
        let cfa = machine.cfa(&frame)?;
        let caller = machine.caller(&frame).and_then(|c| Some(StackId { cfa: machine.cfa(c)?, function: c.function }));
        Some(Position { pc, stack: StackId { cfa, function }, caller, kind: PositionKind::Real })
    }
}
