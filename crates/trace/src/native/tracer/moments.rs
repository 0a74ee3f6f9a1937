//! A second run of a build that stops at chosen addresses only and records what the source could tell there: the call that
//! the program is in, chosen variables, and the observable state (`observable`). Nothing is stepped and no policy asked.

use super::super::observable::{LibraryCalls, Observable};
use super::{Tracer, breakpoint_failed, inlined_at};
use crate::TraceError;
use crate::native::eval::Machine;
use crate::native::frame::{Frame as Machinery, Registers};
use crate::native::watch::{View, visible};
use crate::native::{CallNote, Moment, MomentPlan, Moments};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use trueline_machine::image::Image;
use trueline_machine::inferior::Event;
use trueline_model::{CallId, Observation, VarKind};

/// Stack that is filled below a function's entry: as much of it as is mapped.
const FILL: [usize; 3] = [32 << 10, 4 << 10, 512];

/// A variable that is read at an address, by its place in the plan.
type Wanted = Rc<[(usize, crate::native::module::VarId)]>;

impl Tracer<'_> {
    /// Runs from main to its return and records what the plan asks for.
    pub(in crate::native) fn record(mut self, image: &Image, plan: &MomentPlan) -> Result<Moments, TraceError> {
        self.record_all(image, plan).map_err(|e| self.inferior.why(e))
    }

    fn record_all(&mut self, image: &Image, plan: &MomentPlan) -> Result<Moments, TraceError> {
        let bias = self.inferior.bias();
        let Some(leave) = self.begin()? else { return Ok(Moments::default()) };
        let library = LibraryCalls::of(image, self.module);
        let mut observable = Observable::new(self.module, library, bias);
        let mut moments = Moments { components: observable.names(), ..Moments::default() };
        let mut states: HashMap<Arc<[u64]>, u32> = HashMap::new();
        let mut wanted: HashMap<u64, Wanted> = HashMap::new();
        let entries: HashSet<u64> = self.user_entries();
        let owners: HashSet<&str> = plan.variables.iter().map(|v| &*v.function).collect();
        let stops = plan.points.keys().copied().chain(entries.iter().copied()).chain(observable.library.sites());
        let mut all: Vec<u64> = stops.map(|a| a.wrapping_add(bias)).collect();
        all.push(leave);
        self.set_breakpoints(&all)?;
        let entry = self.module.function(self.stack.activations[0].id.function).entry();
        self.note_call(entry, &mut moments);
        self.fill_stack(plan, &owners)?;
        let mut here = Some(entry);
        loop {
            if let Some(pc) = here.filter(|pc| plan.points.contains_key(pc)) {
                if moments.moments.len() >= plan.most {
                    moments.is_cut = true;
                    return Ok(moments);
                }
                let hidden = plan.points[&pc].map_or(0, |n| inlined_at(self.module, pc).len().saturating_sub(n));
                let list = wanted.entry(pc).or_insert_with(|| self.wanted_at(pc, hidden, plan)).clone();
                let values = self.read(pc, &list, plan.variables.len());
                let next = states.len() as u32;
                let state = *states.entry(observable.look(&self.inferior)).or_insert(next);
                let call = self.stack.top().map_or(CallId::default(), |top| top.call);
                moments.moments.push(Moment { pc, call, values, state });
            }
            here = match self.inferior.resume()? {
                Event::Breakpoint(at) if at == leave && self.is_back_in_mains_caller() => break,
                Event::Breakpoint(at) => {
                    let pc = at.wrapping_sub(bias);
                    observable.library.arrive(pc);
                    let is_entry = entries.contains(&pc);
                    let counts = is_entry || plan.points.contains_key(&pc);
                    let last_call = self.stack.last_call;
                    if !counts || self.arrive(pc).is_none() {
                        None
                    } else {
                        if last_call != self.stack.last_call {
                            self.note_call(pc, &mut moments);
                        }
                        if is_entry {
                            self.fill_stack(plan, &owners)?;
                        }
                        Some(pc)
                    }
                }
                Event::Stepped => None,
                Event::Exited(_) => break,
                event => return self.ended(event).map(|_| moments),
            };
        }
        moments.last = observable.look(&self.inferior);
        let mut listed: Vec<(u32, Arc<[u64]>)> = states.into_iter().map(|(state, number)| (number, state)).collect();
        listed.sort_unstable_by_key(|s| s.0);
        moments.states = listed.into_iter().map(|s| s.1).collect();
        Ok(moments)
    }

    /// The entries of the user's functions.
    fn user_entries(&self) -> HashSet<u64> {
        let entry_of = |i: usize| self.module.functions[i].entry();
        let is_user = |pc: u64| self.stepper.line_at(pc).is_some_and(|(file, _)| self.user[file.0 as usize]);
        (0..self.module.functions.len()).map(entry_of).filter(|&pc| is_user(pc)).collect()
    }

    fn note_call(&mut self, pc: u64, moments: &mut Moments) {
        let top = self.stack.top().expect("main is never popped");
        let call = top.call;
        let caller = self.stack.activations.len().checked_sub(2).map(|outer| self.stack.activations[outer].call);
        let frames = self.call_frames(pc);
        moments.calls.push(CallNote { call, caller, frames });
    }

    /// Fills what a function that was just entered may use as its frame: bytes that two runs with two patterns do not agree on
    /// were never written.
    fn fill_stack(&mut self, plan: &MomentPlan, owners: &HashSet<&str>) -> Result<(), TraceError> {
        let (Some(pattern), Some(top)) = (plan.fill, self.stack.top()) else { return Ok(()) };
        if !owners.contains(&*self.module.function(top.id.function).name) {
            return Ok(());
        }
        let rsp = self.inferior.regs().rsp;
        let fill = |n: usize| self.inferior.write(rsp.wrapping_sub(n as u64), &vec![pattern; n]);
        fill(FILL[0]).or_else(|_| fill(FILL[1])).or_else(|_| fill(FILL[2])).map_err(breakpoint_failed)
    }

    /// The variables of the plan that are visible at an address, the innermost of those with one name and line.
    fn wanted_at(&self, pc: u64, hidden: usize, plan: &MomentPlan) -> Wanted {
        let owner = inlined_at(self.module, pc).into_iter().nth(hidden);
        let owner = match owner.map(|b| &self.module.block(b).kind) {
            Some(super::BlockKind::Inlined { name, .. }) => Some(Arc::clone(name)),
            _ => self.module.function_at(pc).map(|f| Arc::clone(&self.module.function(f).name)),
        };
        let mut found = BTreeMap::new();
        for id in visible(self.module, pc, hidden, self.request.policy, |f| self.user[f.0 as usize]) {
            let var = self.module.var(id);
            let function = if var.kind == VarKind::Global { "" } else { owner.as_deref().unwrap_or("") };
            let is_it = |k: &trueline_model::VarKey| k.name == var.name && k.decl_line == var.decl_line && *k.function == *function;
            if let Some(place) = plan.variables.iter().position(is_it) {
                found.entry(place).or_insert(id);
            }
        }
        found.into_iter().collect()
    }

    fn read(&mut self, pc: u64, wanted: &Wanted, count: usize) -> Box<[Option<Arc<str>>]> {
        let mut values = vec![None; count].into_boxed_slice();
        let Some(top) = self.stack.top() else { return values };
        let function = top.id.function;
        let view = View::new(&self.inferior, &mut self.windows);
        let machine = Machine { module: self.module, bias: self.inferior.bias(), memory: &view };
        let frame = Machinery::innermost(Registers::new(self.inferior.regs()), pc, function);
        for &(place, var) in wanted.iter() {
            if let Some(Observation::Value(text)) = self.watch.observe(&machine, &frame, var).map(|v| v.observation) {
                values[place] = Some(text);
            }
        }
        values
    }
}
