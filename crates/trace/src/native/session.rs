//! A run that is stopped where somebody wants to look: breakpoints, steps, frames, and values of expressions in C.
//!
//! Deliberately absent: anything that changes the program, and frames further out as a place to look from.

mod evaluate;
mod expression;
mod number;
mod typed;
mod view;
mod walk;

pub use expression::{Expression, NotUnderstood};
pub use view::{Backtrace, StackFrame};
pub use walk::Gait;

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
use std::sync::Arc;
use trueline_dwarf::{Module as Tables, Wanted};
use trueline_machine::inferior::{Event, Inferior};
use trueline_model::{FileName, Line, LineKey, Policy};

/// Why a run stands still, or that it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// At a breakpoint, by its link-time address.
    At(u64),
    /// After a step, by the link-time address.
    Stepped(u64),
    /// The program ended, in these words.
    Ended(String),
}

/// What a breakpoint is set on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BreakOn {
    /// A line of a file by its base name, or of the one that main is in.
    Line(Option<String>, Line),
    /// A function and its inlined copies.
    Function(String),
    /// A link-time address.
    Address(u64),
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
    module: Arc<Module>,
    inferior: Inferior,
    windows: Windows,
    policy: Policy,
    sites: Vec<Site>,
    /// Inlined calls that begin where the program stands and are not entered yet.
    hidden: usize,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("binary", &self.module.path).finish_non_exhaustive()
    }
}

impl Session {
    /// Reads a binary with the types that its pointers lead to; the result serves any number of sessions.
    pub fn read(request: &TraceRequest) -> Result<Arc<Tables>, TraceError> {
        Ok(Tables::load(&request.binary, Wanted::Everything, &request.search)?)
    }

    /// Starts the request's program; it stands before its first instruction.
    pub fn start(request: &TraceRequest) -> Result<Self, TraceError> {
        let module = Module::of(request)?;
        let mut inferior = Inferior::launch(&request.job()?, module.entry, module.image)?;
        inferior.permit(request.launch.allowed, request.follow);
        libraries::follow(&mut inferior, &module)?;
        let windows = Windows::new(&module, inferior.bias());
        Ok(Self { module: Arc::new(module), inferior, windows, policy: request.policy, sites: Vec::new(), hidden: 0 })
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

    /// Sets breakpoints; their link-time addresses.
    pub fn break_on(&mut self, what: &BreakOn) -> Result<Vec<u64>, TraceError> {
        let found = sites_on(&self.module, self.policy, what);
        let addresses = found.iter().map(|s| s.pc).collect();
        self.insert(found)?;
        Ok(addresses)
    }

    /// Takes all breakpoints out.
    pub fn clear_breaks(&mut self) -> Result<(), TraceError> {
        let bias = self.inferior.bias();
        for site in std::mem::take(&mut self.sites) {
            let address = site.pc.wrapping_add(bias);
            // Several breakpoints may share an address.
            if self.inferior.has_breakpoint(address) {
                let failed = |source| TraceError::System { what: "remove a breakpoint".into(), source };
                self.inferior.remove_breakpoint(address).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Where breakpoints would go in a program that does not run yet.
    pub fn would_break(request: &TraceRequest, what: &BreakOn) -> Result<Vec<u64>, TraceError> {
        let module = Module::of(request)?;
        Ok(sites_on(&module, request.policy, what).iter().map(|s| s.pc).collect())
    }

    /// Runs to the next breakpoint or to the end.
    pub fn go_on(&mut self) -> Result<Halt, TraceError> {
        loop {
            match self.inferior.resume().map_err(|e| self.inferior.why(TraceError::from(e)))? {
                Event::Stepped => {}
                Event::Breakpoint(at) => {
                    let pc = at.wrapping_sub(self.inferior.bias());
                    self.hidden = self.hidden_at(pc);
                    return Ok(Halt::At(pc));
                }
                event => return Ok(Halt::Ended(spell_end(event))),
            }
        }
    }

    /// The link-time address that the program stands at.
    fn pc(&self) -> u64 {
        self.inferior.regs().rip.wrapping_sub(self.inferior.bias())
    }

    fn is_breakpoint(&self, pc: u64) -> bool {
        self.sites.iter().any(|s| s.pc == pc)
    }

    /// Reads an expression; names of the program's types make casts.
    pub fn understand(&self, text: &str) -> Result<Expression, NotUnderstood> {
        let local = |name: &str| self.module.vars.iter().any(|v| *v.name == *name);
        Expression::parse(text, &|name| !local(name) && typed::find(&self.module, name).is_some())
    }

    /// The value of an expression in the innermost frame.
    pub fn look(&mut self, expression: &Expression) -> Answer {
        let found = self.evaluate(|evaluator| evaluator.text(&expression.0));
        match found {
            Ok(text) => Answer::Value(text),
            Err(Stray::NoSymbol) => Answer::NotInScope,
            Err(Stray::Refused(reason)) => Answer::Refused(reason),
            Err(Stray::Fault(Fault::OptimizedOut | Fault::NoEntryValue)) => Answer::OptimizedOut,
            Err(Stray::Fault(Fault::Unreadable(reason) | Fault::IllFormed(reason))) => Answer::Unreadable(reason),
            Err(Stray::Fault(Fault::Unsupported(reason))) => Answer::Unsupported(reason),
        }
    }

    /// The name of an expression's type in the innermost frame; none where it has none, or one that the program does not name.
    pub fn type_name(&mut self, expression: &Expression) -> Option<String> {
        self.evaluate(|evaluator| evaluator.type_name(&expression.0)).ok()
    }

    fn evaluate(&mut self, look: impl FnOnce(&Evaluator<'_>) -> Result<String, Stray>) -> Result<String, Stray> {
        let bias = self.inferior.bias();
        let registers = Registers::new(self.inferior.regs());
        let pc = self.pc();
        let Some(function) = self.module.function_at(pc) else { return Err(Stray::NoSymbol) };
        let hidden = self.hidden;
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: &self.module, bias, memory: &view };
        let frame = Frame::innermost(registers, pc, function);
        let scope = evaluate::scope(&self.module, pc, hidden, self.policy);
        look(&Evaluator { machine: &machine, frame: &frame, scope: &scope })
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

fn sites_on(module: &Module, policy: Policy, what: &BreakOn) -> Vec<Site> {
    match what {
        BreakOn::Line(Some(file), line) => {
            let name = file.rsplit('/').next().unwrap_or(file);
            sites_of(module, policy, &LineKey { file: FileName::new(name), line: *line })
        }
        BreakOn::Line(None, line) => {
            let main = module.main().map(|m| module.function(m));
            let file = main.and_then(|m| m.decl_file).map(|f| FileName::new(module.file(f).base()));
            file.map_or_else(Vec::new, |file| sites_of(module, policy, &LineKey { file, line: *line }))
        }
        BreakOn::Function(name) => sites_in(module, policy, name),
        BreakOn::Address(pc) => vec![Site { pc: *pc, block: None }],
    }
}

/// How a program ended, as the rest of a sentence.
fn spell_end(event: Event) -> String {
    match event {
        Event::Exited(code) => format!("exited with code {code}"),
        Event::Killed { signal, .. } => format!("was ended by signal {signal}"),
        Event::TimedOut => "did not finish within its time".into(),
        Event::NotAllowed(_) => "did something it is not allowed to".into(),
        Event::Replaced => "was replaced by another program".into(),
        Event::OwnTrap => "raised SIGTRAP".into(),
        Event::Breakpoint(_) | Event::Stepped | Event::ThreadStarted => "stopped".into(),
    }
}
