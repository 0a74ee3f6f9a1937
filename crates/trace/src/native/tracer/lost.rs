//! What to make of an arrival when addresses before it were passed without a stop: the stack is compared with memory, and the policy
//! goes on from wherever the program may have come.

use super::super::eval::Machine;
use super::super::frame::{Frame as Machinery, Registers};
use super::super::module::{BlockKind, FunctionId};
use super::super::policy::{Position, PositionKind, StackId, Verdict, inlined_at};
use super::super::retire::Origin;
use super::super::stack::Unwound;
use super::super::watch::View;
use super::{Tracer, breakpoint_failed, lines_at, lines_by_address};
use crate::TraceError;
use std::rc::Rc;
use std::sync::Arc;
use trueline_model::{LineKey, StepSink};

/// Frames that are looked at in search of main.
const MOST_UNWOUND: usize = 100_000;
/// Sites that a way is followed back, and ways to one address that are compared.
const MOST_LEGS: usize = 6;
const MOST_WAYS: usize = 64;

impl Tracer<'_> {
    /// True when every address of the user's code is stopped at, from main on.
    pub(super) fn is_complete(&self) -> bool {
        self.retirement.is_idle() && self.request.focus.after.is_none()
    }

    /// Stops no more at an address.
    pub(super) fn retire(&mut self, pc: u64, sink: &mut dyn StepSink) -> Result<(), TraceError> {
        let address = pc.wrapping_add(self.inferior.bias());
        self.inferior.mute(&[address]).map_err(breakpoint_failed)?;
        self.muted.retain(|&muted| muted != address);
        let (lines, functions) = self.what_is_at(pc);
        sink.give_up(&lines, &functions);
        Ok(())
    }

    /// The lines of an address and the functions whose code it is.
    pub(super) fn what_is_at(&mut self, pc: u64) -> (Vec<LineKey>, Vec<Arc<str>>) {
        let rows = self.rows.get_or_insert_with(|| lines_by_address(self.module, self.request));
        let lines = lines_at(rows, pc);
        let inlined = inlined_at(self.module, pc).into_iter().filter_map(|block| match &self.module.block(block).kind {
            BlockKind::Inlined { name, .. } => Some(Arc::clone(name)),
            _ => None,
        });
        let function = self.module.function_at(pc).map(|f| Arc::clone(&self.module.function(f).name));
        (lines, inlined.chain(function).collect())
    }

    /// Makes the stack what it is in memory; false where the program is in code that foreign code called.
    pub(super) fn mend_stack(&mut self, pc: u64, id: StackId, registers: &Registers) -> bool {
        if self.agrees_with_memory(pc, id, registers) {
            return true;
        }
        match self.unwind(pc, id.function, registers) {
            Ok(chain) => {
                self.stack.replace(&chain);
                true
            }
            Err(below) => {
                self.stack.lose(below);
                false
            }
        }
    }

    /// Whether the activations around `id` are those that were seen last, and the call that made it can be told.
    fn agrees_with_memory(&mut self, pc: u64, id: StackId, registers: &Registers) -> bool {
        if self.stack.is_foreign(id.cfa) {
            return false;
        }
        let mut is_known = self.stack.activations[0].id.cfa == id.cfa;
        let mut words: Vec<[u8; 8]> = Vec::new();
        let mut wanted: Vec<(u64, u64)> = Vec::new();
        for (activation, witness) in self.stack.activations.iter().skip(1).zip(self.stack.witnesses(self.inferior.bias())) {
            if activation.id.cfa < id.cfa {
                break;
            }
            is_known |= activation.id.cfa == id.cfa;
            wanted.push(witness);
        }
        words.resize(wanted.len(), [0; 8]);
        for (words, wanted) in words.chunks_mut(512).zip(wanted.chunks(512)) {
            let mut places: Vec<(u64, &mut [u8])> = words.iter_mut().zip(wanted).map(|(word, w)| (w.0, &mut word[..])).collect();
            if self.inferior.read_many(&mut places) < wanted.len() * 8 {
                return false;
            }
        }
        if words.iter().zip(&wanted).any(|(word, w)| u64::from_le_bytes(*word) != w.1) {
            return false;
        }
        if is_known {
            return true;
        }
        let outer = self.stack.activations.iter().rev().find(|a| a.id.cfa > id.cfa).map(|a| a.id);
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: self.module, bias: self.inferior.bias(), memory: &view };
        let frame = Machinery::innermost(*registers, pc, id.function);
        // A call from foreign code is seen as such by whoever brings the stack up to date. Code that is not stopped in is passed over.
        let mut next = machine.caller(&frame);
        while let Some(caller) = next.filter(|c| !self.retirement.is_stopped_in(self.module, c.function)) {
            next = machine.caller(caller);
        }
        next.is_none_or(|caller| {
            let cfa = machine.cfa(caller);
            cfa.is_some_and(|cfa| Some(StackId { cfa, function: caller.function }) == outer)
        })
    }

    /// The activations from main's callee to the innermost, each with where it returns to, or the lowest address of those that
    /// foreign code called.
    fn unwind(&mut self, pc: u64, function: FunctionId, registers: &Registers) -> Result<Vec<Unwound>, u64> {
        let main = self.stack.activations[0].id.cfa;
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: self.module, bias: self.inferior.bias(), memory: &view };
        let innermost = Machinery::innermost(*registers, pc, function);
        let mut chain: Vec<Unwound> = Vec::new();
        let mut frame = &innermost;
        let mut reached = 0;
        while chain.len() < MOST_UNWOUND {
            let Some(cfa) = machine.cfa(frame).filter(|&cfa| cfa <= main && cfa > reached) else { return Err(reached) };
            if cfa == main {
                chain.reverse();
                return Ok(chain);
            }
            let Some(caller) = machine.caller(frame) else { return Err(cfa) };
            if self.retirement.is_stopped_in(self.module, frame.function) {
                chain.push(Unwound { id: StackId { cfa, function: frame.function }, return_pc: caller.pc, called_from: caller.pc });
            } else if let Some(last) = chain.last_mut() {
                last.called_from = caller.pc;
            }
            (frame, reached) = (caller, cfa);
        }
        Err(reached)
    }

    /// What the policy makes of an arrival. Where it may have missed something, it is asked what it would do on every way there,
    /// and a stop that it would not make on each is not shown.
    pub(super) fn judge_arrival(&mut self, position: &Position) -> Verdict {
        let (pc, function) = (position.pc, position.stack.function);
        let stepping = self.stepper.activation();
        let is_entry = self.module.function(function).entry() == pc;
        if is_entry {
            match stepping {
                // Called once more from where it was called last, or come back to by a jump: nobody can tell.
                Some(activation) if activation == position.stack => {
                    self.stepper.rejoin(position);
                    return Verdict::Run;
                }
                Some(activation) if Some(activation) == position.caller => {}
                _ => {
                    self.place(&Origin::Call, position);
                }
            }
            return self.stepper.arrive(position);
        }
        let awaited = self.stepper.awaited();
        let is_landing = awaited.is_some_and(|at| !self.retirement.is_retired(at) && self.module.function_at(at) == Some(function));
        let is_at_home = awaited.is_none() && stepping.is_none_or(|a| a == position.stack);
        if is_landing || is_at_home && self.retirement.is_sure(self.module, pc, function) {
            return self.stepper.arrive(position);
        }
        let agreed = match self.retirement.agreed.get(&pc) {
            Some(known) => known.clone(),
            None => {
                let found = self.agreement(position);
                self.retirement.agreed.insert(pc, found.clone());
                found
            }
        };
        match agreed {
            Some(origin) => {
                self.place(&origin, position);
                self.stepper.arrive(position)
            }
            None => {
                self.stepper.rejoin(position);
                Verdict::Run
            }
        }
    }

    /// One of the ways to a position, when the policy does the same on all of them.
    fn agreement(&mut self, position: &Position) -> Option<Origin> {
        let lands = self.stepper.landing(position.stack.function) == Some(position.pc);
        let mut ways = Vec::new();
        let is_call = lands && position.caller.is_some();
        if !self.find_ways(position, position.pc, lands, &mut Vec::new(), &mut ways) {
            return None;
        }
        let origins: Vec<Origin> = ways.into_iter().map(Origin::Way).chain(is_call.then_some(Origin::Call)).collect();
        let mut verdicts = origins.iter().map(|origin| self.place(origin, position).then(|| self.stepper.arrive(position)));
        let first = verdicts.next()??;
        let agree = verdicts.all(|verdict| verdict == Some(first));
        agree.then(|| origins[0].clone())
    }

    /// The ways to `pc`, each from a site where the state of the policy is known; false when there are too many. `later` is the
    /// rest of the way, backwards.
    fn find_ways(&mut self, position: &Position, pc: u64, lands: bool, later: &mut Vec<u64>, ways: &mut Vec<Rc<[u64]>>) -> bool {
        if later.len() >= MOST_LEGS || ways.len() >= MOST_WAYS {
            return false;
        }
        let function = position.stack.function;
        let before = self.module.function(function).entry()..pc;
        for site in self.retirement.origins(self.module, pc, function) {
            // Who steps into a function hears nothing of its prologue. A way in a circle comes to nothing new.
            if lands && before.contains(&site) || later.contains(&site) {
                continue;
            }
            later.push(site);
            if self.stepper.rejoin(&Position { pc: site, ..*position }) {
                ways.push(later.iter().rev().copied().collect());
            } else if !self.find_ways(position, site, false, later, ways) {
                return false;
            }
            later.pop();
        }
        true
    }

    /// Puts the policy where the program may have been before it came to a position.
    fn place(&mut self, origin: &Origin, position: &Position) -> bool {
        match origin {
            Origin::Way(sites) => {
                let mut is_known = true;
                for (leg, &pc) in sites.iter().enumerate() {
                    let at = Position { pc, ..*position };
                    if leg == 0 {
                        is_known = self.stepper.rejoin(&at);
                        continue;
                    }
                    let mut verdict = self.stepper.arrive(&at);
                    while let Verdict::Stop(_) = verdict {
                        verdict = self.stepper.step(&at);
                    }
                }
                is_known
            }
            Origin::Call => self.call_of_top().is_some_and(|call| self.stepper.rejoin(&call)),
        }
    }

    /// Where the caller of the top activation stands.
    fn call_of_top(&self) -> Option<Position> {
        let at = self.stack.activations.len().checked_sub(2)?;
        let caller = at.checked_sub(1).map(|i| self.stack.activations[i].id);
        let pc = self.stack.activations[at + 1].return_pc.wrapping_sub(1);
        Some(Position { pc, stack: self.stack.activations[at].id, caller, kind: PositionKind::Real })
    }
}
