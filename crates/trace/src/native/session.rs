//! A run that is stopped where somebody wants to look: breakpoints, and values of expressions in C.
//!
//! Deliberately absent: stepping (the tracer's), and anything that changes the program.

mod evaluate;
mod expression;
mod number;
mod typed;

pub use expression::{Expression, NotUnderstood};

use super::eval::{Fault, Machine};
use super::frame::{Frame, Registers};
use super::libraries;
use super::module::Module;
use super::places::{Site, sites_in, sites_of};
use super::policy::inlined_at;
use super::watch::{View, Windows};
use crate::{TraceError, TraceRequest};
use evaluate::{Evaluator, Stray};
use std::fmt;
use trueline_dwarf::{Module as Tables, Wanted};
use trueline_machine::inferior::{Event, Inferior};
use trueline_model::{LineKey, Policy};

/// Why a run stands still, or that it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// At a breakpoint, by its link-time address.
    At(u64),
    /// The program ended, in these words.
    Ended(String),
}

/// What a debugger answers when it is asked for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The value's canonical text.
    Value(String),
    /// The debug information has no place for it here.
    OptimizedOut,
    /// No variable of that name is visible here.
    NotInScope,
    /// There is a place, and it cannot be read.
    Unreadable(String),
    /// The question is understood, and has no answer: the address of what is in a register, a member that is not there.
    Refused(String),
    /// The question is none that this engine understands.
    Unsupported(String),
}

/// A program that runs from one breakpoint to the next.
pub struct Session {
    module: Module,
    inferior: Inferior,
    windows: Windows,
    policy: Policy,
    sites: Vec<Site>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("binary", &self.module.path).finish_non_exhaustive()
    }
}

impl Session {
    /// Reads a binary with the types that its pointers lead to; the result serves any number of sessions.
    pub fn read(request: &TraceRequest) -> Result<std::sync::Arc<Tables>, TraceError> {
        Ok(Tables::load(&request.binary, Wanted::Everything, &request.search)?)
    }

    /// Starts the request's program; it stands before its first instruction.
    pub fn start(request: &TraceRequest) -> Result<Self, TraceError> {
        let module = Module::of(request)?;
        let mut inferior = Inferior::launch(&request.job()?, module.entry, module.image)?;
        inferior.permit(request.launch.allowed, request.follow);
        libraries::follow(&mut inferior, &module)?;
        let windows = Windows::new(&module, inferior.bias());
        Ok(Self { module, inferior, windows, policy: request.policy, sites: Vec::new() })
    }

    /// Sets breakpoints on a line where the policy's debugger would; how many there are.
    pub fn break_at(&mut self, line: &LineKey) -> Result<usize, TraceError> {
        let found = sites_of(&self.module, self.policy, line);
        self.insert(found)
    }

    /// Sets breakpoints where a function and its inlined copies begin; how many there are.
    pub fn break_in(&mut self, function: &str) -> Result<usize, TraceError> {
        let found = sites_in(&self.module, self.policy, function);
        self.insert(found)
    }

    fn insert(&mut self, found: Vec<Site>) -> Result<usize, TraceError> {
        let bias = self.inferior.bias();
        let addresses: Vec<u64> = found.iter().map(|site| site.pc.wrapping_add(bias)).collect();
        let failed = |source| TraceError::System { what: "insert breakpoints".into(), source };
        self.inferior.set_breakpoints(&addresses).map_err(failed)?;
        self.sites.extend(found);
        Ok(addresses.len())
    }

    /// Runs to the next breakpoint or to the end.
    pub fn go_on(&mut self) -> Result<Halt, TraceError> {
        loop {
            let event = self.inferior.resume().map_err(|e| self.inferior.why(TraceError::from(e)))?;
            return Ok(Halt::Ended(match event {
                Event::Stepped => continue,
                Event::Breakpoint(at) => return Ok(Halt::At(at.wrapping_sub(self.inferior.bias()))),
                Event::Exited(code) => format!("exited with code {code}"),
                Event::Killed { signal, .. } => format!("ended by signal {signal}"),
                Event::TimedOut => "did not finish within its time".into(),
                Event::NotAllowed(_) => "did something it is not allowed to".into(),
                Event::Replaced => "was replaced by another program".into(),
                Event::OwnTrap => "raised SIGTRAP".into(),
            }));
        }
    }

    /// Reads an expression; names of the program's types make casts.
    pub fn understand(&self, text: &str) -> Result<Expression, NotUnderstood> {
        let local = |name: &str| self.module.vars.iter().any(|v| *v.name == *name);
        Expression::parse(text, &|name| !local(name) && typed::find(&self.module, name).is_some())
    }

    /// The value of an expression in the innermost frame.
    pub fn look(&mut self, expression: &Expression) -> Answer {
        let bias = self.inferior.bias();
        let registers = Registers::new(self.inferior.regs());
        let pc = self.inferior.regs().rip.wrapping_sub(bias);
        let Some(function) = self.module.function_at(pc) else { return Answer::NotInScope };
        let hidden = self.hidden_at(pc);
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: &self.module, bias, memory: &view };
        let frame = Frame::innermost(registers, pc, function);
        let scope = evaluate::scope(&self.module, pc, hidden, self.policy);
        let found = Evaluator { machine: &machine, frame: &frame, scope: &scope }.text(&expression.0);
        match found {
            Ok(text) => Answer::Value(text),
            Err(Stray::NoSymbol) => Answer::NotInScope,
            Err(Stray::Refused(reason)) => Answer::Refused(reason),
            Err(Stray::Fault(Fault::OptimizedOut | Fault::NoEntryValue)) => Answer::OptimizedOut,
            Err(Stray::Fault(Fault::Unreadable(reason) | Fault::IllFormed(reason))) => Answer::Unreadable(reason),
            Err(Stray::Fault(Fault::Unsupported(reason))) => Answer::Unsupported(reason),
        }
    }

    /// How many inlined calls begin where the program stands and are not entered yet: none of the function whose line the
    /// breakpoint was set on.
    fn hidden_at(&self, pc: u64) -> usize {
        if self.policy == Policy::Standard {
            return 0;
        }
        let asked: Vec<_> = self.sites.iter().filter(|s| s.pc == pc).filter_map(|s| s.block).collect();
        let begins = |b: &trueline_dwarf::BlockId| self.module.block(*b).entry() == pc && !asked.contains(b);
        inlined_at(&self.module, pc).iter().take_while(|b| begins(b)).count()
    }
}
