//! What a person sees where the program stands: the line, the frames, the variables.

use super::super::frame::{Frame as Machinery, Registers};
use super::super::module::BlockKind;
use super::super::policy::{call_line, inlined_at};
use super::super::watch::Watch;
use super::walk::stepper;
use super::{Machine, Session, View};
use crate::Vars;
use trueline_dwarf::{FileId, VarId};
use trueline_model::{Frame, FrameKind, Line, VarKind, Variable};

/// Frames of a backtrace that are unwound.
const MOST_FRAMES: usize = 256;

/// A frame of a backtrace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The function, its kind and its line.
    pub frame: Frame,
    /// The link-time address that it stands at.
    pub pc: u64,
}

/// A backtrace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backtrace {
    /// Innermost first.
    pub frames: Vec<StackFrame>,
    /// Where the last one was called from, when that is code of the program that was not read.
    pub unread: Option<u64>,
}

impl Session {
    /// The frames from where the program stands outwards, as far as code has debug information.
    pub fn backtrace(&mut self) -> Backtrace {
        let bias = self.inferior.bias();
        let pc = self.pc();
        let Some(function) = self.module.function_at(pc) else { return Backtrace { frames: Vec::new(), unread: self.in_image(pc) } };
        let registers = Registers::new(self.inferior.regs());
        let hidden = self.hidden;
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: &self.module, bias, memory: &view };
        let module = &self.module;
        let stepper = stepper(module, self.policy);
        let innermost = Machinery::innermost(registers, pc, function);
        let (mut at, mut found, mut left) = (&innermost, Vec::new(), hidden);
        let mut unread = None;
        while found.len() < MOST_FRAMES {
            let mut line = stepper.line_at(at.lookup);
            let mut push = |name: &std::sync::Arc<str>, kind, line: Option<(FileId, u32)>| {
                let frame = Frame {
                    function: std::sync::Arc::clone(name),
                    kind,
                    file: line.map(|l| module.file(l.0).clone()),
                    line: line.map(|l| Line(l.1)),
                };
                found.push(StackFrame { frame, pc: at.pc });
            };
            for block in inlined_at(module, at.lookup) {
                if left > 0 {
                    left -= 1;
                } else if let BlockKind::Inlined { name, .. } = &module.block(block).kind {
                    push(name, FrameKind::Inlined, line);
                }
                line = call_line(module, block);
            }
            push(&module.function(at.function).name, FrameKind::Real, line);
            left = 0;
            match machine.caller(at) {
                Some(caller) => at = caller,
                None => {
                    unread = machine.return_address(at);
                    break;
                }
            }
        }
        let unread = unread.and_then(|pc| self.in_image(pc)).filter(|&pc| self.module.function_at(pc.wrapping_sub(1)).is_none());
        Backtrace { frames: found, unread }
    }

    fn in_image(&self, pc: u64) -> Option<u64> {
        (self.module.image.0..self.module.image.1).contains(&pc).then_some(pc)
    }

    /// The variables of a kind in the innermost frame's blocks, innermost block first; statics count as locals.
    pub fn variables(&mut self, params: bool) -> Vec<Variable> {
        let bias = self.inferior.bias();
        let pc = self.pc();
        let Some(function) = self.module.function_at(pc) else { return Vec::new() };
        let registers = Registers::new(self.inferior.regs());
        let scope = super::evaluate::scope(&self.module, pc, self.hidden, self.policy);
        let globals = &self.module.unit(self.module.function(function).unit).globals;
        let mut vars: Vec<VarId> = Vec::new();
        for named in scope {
            if let super::evaluate::Named::Variable(var) = named
                && !globals.contains(&var)
                && !vars.contains(&var)
                && (self.module.var(var).kind == VarKind::Param) == params
            {
                vars.push(var);
            }
        }
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: &self.module, bias, memory: &view };
        let frame = Machinery::innermost(registers, pc, function);
        let mut watch = Watch::new(&self.module, self.policy, Vars::All);
        vars.into_iter().filter_map(|var| watch.observe(&machine, &frame, var)).collect()
    }
}
