//! Walks of the symbolic machine from one cut point to the next, over all paths at once.

use crate::debug::DebugInfo;
use crate::flow::Graph;
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::algebra::{Machine, Place, RSP};
use trueline_machine::emulate::Code;
use trueline_machine::lift::{self, Flow};
use trueline_machine::symbolic::{Store, Symbolic, unwritten};
use trueline_machine::term::Terms;

/// Where a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    /// At a cut point.
    Cut(u64),
    /// At a return.
    Return,
}

/// Most instructions between two cut points.
const MAX_STEPS: usize = 4000;
/// Most terms of one proof step: beyond it the solver would not answer in its time either.
const MAX_TERMS: usize = 250_000;
/// Most calls deep that a walk goes.
const MAX_DEPTH: usize = 4;

/// The order of instructions in a function, by address.
type Ranks = BTreeMap<u64, usize>;

/// The code that walks may enter.
pub struct Ground<'a> {
    code: &'a Code<'a>,
    ranks: Ranks,
    cuts: BTreeSet<u64>,
    /// Functions of the image without loops, by entry: their calls are followed.
    callees: BTreeMap<u64, Ranks>,
    /// Names of the image's functions, by entry.
    names: BTreeMap<u64, String>,
}

impl<'a> Ground<'a> {
    /// The ground of a function: cut at its entry and its loop heads.
    pub fn new(code: &'a Code<'a>, graph: &Graph, info: &DebugInfo, entry: u64) -> Self {
        let mut callees = BTreeMap::new();
        let mut work: Vec<(u64, usize)> = graph.calls.iter().map(|pc| (*pc, 0)).collect();
        while let Some((pc, depth)) = work.pop() {
            let Some(target) = code.at(pc).filter(iced_x86::Instruction::is_call_near).map(|i| i.near_branch_target()) else { continue };
            let Some(function) = info.functions.iter().find(|f| f.entry() == target && f.entry() != entry) else { continue };
            if callees.contains_key(&target) || depth >= MAX_DEPTH {
                continue;
            }
            let callee = Graph::build(code, function);
            if callee.incomplete.is_none() && callee.loops.is_empty() {
                callees.insert(target, callee.ranks(target));
                work.extend(callee.calls.iter().map(|pc| (*pc, depth + 1)));
            }
        }
        let cuts = graph.loops.iter().map(|l| l.head).chain([entry]).collect();
        let names = info.functions.iter().map(|f| (f.entry(), f.name.clone())).collect();
        Self { code, ranks: graph.ranks(entry), cuts, callees, names }
    }

    /// The name of what a call reaches.
    fn name(&self, target: u64) -> Option<String> {
        self.code.outside(target).or_else(|| self.names.get(&target).cloned())
    }
}

/// Machines by where they arrived, and the table of their terms.
pub type Arrivals = (Vec<(Arrival, Symbolic)>, Terms);

/// Walks from `pc` to the next cut points and returns, joining paths wherever they meet, so that the work
/// is linear in the code. `visit` sees each instruction's address with the machine before it.
pub fn walk(ground: &Ground<'_>, start: Symbolic, pc: u64, visit: &mut dyn FnMut(u64, &mut Symbolic)) -> Result<Arrivals, String> {
    walk_in(ground, &ground.ranks, start, pc, 0, visit)
}

fn walk_in(
    ground: &Ground<'_>,
    ranks: &Ranks,
    mut start: Symbolic,
    pc: u64,
    depth: usize,
    visit: &mut dyn FnMut(u64, &mut Symbolic),
) -> Result<Arrivals, String> {
    let code = ground.code;
    let mut terms = std::mem::take(&mut start.terms);
    let mut arrived: BTreeMap<Arrival, Vec<Symbolic>> = BTreeMap::new();
    let mut queue: BTreeMap<(usize, u64), Vec<Symbolic>> = BTreeMap::new();
    let rank = |pc: u64| ranks.get(&pc).copied().ok_or_else(|| format!("control leaves the function at {pc:#x}"));
    queue.insert((rank(pc)?, pc), vec![start]);
    let mut steps = 0;
    while let Some(((at, pc), machines)) = queue.pop_first() {
        steps += 1;
        if steps > MAX_STEPS {
            return Err("its paths are too long".to_owned());
        }
        if terms.len() > MAX_TERMS {
            return Err("its values grow too large between two correlated points".to_owned());
        }
        let Some(mut m) = merge(&mut terms, machines) else { continue };
        m.terms = std::mem::take(&mut terms);
        visit(pc, &mut m);
        let instruction = code.at(pc).ok_or_else(|| format!("no code at {pc:#x}"))?;
        let next = instruction.next_ip();
        let mut out: Vec<(u64, Symbolic)> = Vec::new();
        match lift::execute(&mut m, &instruction).map_err(|e| e.to_string())? {
            Flow::Next => out.push((next, m)),
            // A call in place of the return.
            Flow::Jump(to) if code.outside(to).is_some() || (!ranks.contains_key(&to) && ground.names.contains_key(&to)) => {
                m.call(ground.name(to).as_deref());
                terms = std::mem::take(&mut m.terms);
                arrived.entry(Arrival::Return).or_default().push(m);
            }
            Flow::Jump(to) => out.push((to, m)),
            Flow::Call(to) => {
                match ground.callees.get(&to).filter(|_| depth < MAX_DEPTH) {
                    Some(ranks) => m = enter(ground, ranks, m, to, depth + 1)?,
                    None => m.call(ground.name(to).as_deref()),
                }
                out.push((next, m));
            }
            Flow::CallTo(_) => {
                m.call(None);
                out.push((next, m));
            }
            Flow::Return => {
                terms = std::mem::take(&mut m.terms);
                arrived.entry(Arrival::Return).or_default().push(m);
            }
            Flow::Branch(condition, to) => match m.terms.value(condition) {
                Some(0) => out.push((next, m)),
                Some(_) => out.push((to, m)),
                None => {
                    let taken = m.terms.and(m.condition, condition);
                    let not = m.terms.not(condition);
                    let passed = m.terms.and(m.condition, not);
                    let shared = std::mem::take(&mut m.terms);
                    let mut other = m.clone();
                    other.condition = passed;
                    m.condition = taken;
                    m.terms = shared;
                    out.push((next, other));
                    out.push((to, m));
                }
            },
            Flow::JumpTo(_) => return Err("it has a computed jump".to_owned()),
            Flow::Stop => return Err("it has a trap".to_owned()),
        }
        for (to, mut m) in out {
            if !m.terms.is_empty() {
                terms = std::mem::take(&mut m.terms);
            }
            if depth == 0 && ground.cuts.contains(&to) {
                arrived.entry(Arrival::Cut(to)).or_default().push(m);
                continue;
            }
            let order = rank(to)?;
            if order <= at {
                return Err(format!("it has a loop at {to:#x} that is no natural one"));
            }
            queue.entry((order, to)).or_default().push(m);
        }
    }
    let done = arrived.into_iter().filter_map(|(a, ms)| Some((a, merge(&mut terms, ms)?))).collect();
    Ok((done, terms))
}

/// Follows a call of a function in the image to its return.
fn enter(ground: &Ground<'_>, ranks: &Ranks, mut m: Symbolic, pc: u64, depth: usize) -> Result<Symbolic, String> {
    m.move_stack(-8);
    let stack = m.get(Place::Gpr(RSP));
    let (done, terms) = walk_in(ground, ranks, m, pc, depth, &mut |_, _| {})?;
    let (_, mut m) = done.into_iter().next().ok_or("a callee does not return")?;
    m.terms = terms;
    if m.get(Place::Gpr(RSP)) != stack {
        return Err("a callee does not restore the stack".to_owned());
    }
    m.move_stack(8);
    Ok(m)
}

/// Joins machines that arrived at the same place: differing values become choices on the paths'
/// conditions. `terms` is the shared table.
pub fn merge(terms: &mut Terms, machines: Vec<Symbolic>) -> Option<Symbolic> {
    let mut machines = machines.into_iter();
    let mut joined = machines.next()?;
    for m in machines {
        // What tells the two apart: the rest of their conditions is the same, and no state takes both ways.
        let (ours, theirs) = (terms.conjuncts(joined.condition), terms.conjuncts(m.condition));
        let own: Vec<_> = theirs.difference(&ours).copied().collect();
        let condition = if own.is_empty() { m.condition } else { terms.conjunction(&own) };
        let places: BTreeSet<Place> = joined.places.keys().chain(m.places.keys()).copied().collect();
        for place in places {
            let start = unwritten(terms, joined.side, place);
            let (a, b) = (joined.places.get(&place).copied().unwrap_or(start), m.places.get(&place).copied().unwrap_or(start));
            let value = terms.ite(condition, b, a);
            joined.places.insert(place, value);
        }
        let offsets: BTreeSet<i64> = joined.frame.keys().chain(m.frame.keys()).copied().collect();
        for offset in offsets {
            match (joined.frame.get(&offset), m.frame.get(&offset)) {
                (Some(a), Some(b)) if terms.width(*a) == terms.width(*b) => {
                    let value = terms.ite(condition, *b, *a);
                    joined.frame.insert(offset, value);
                }
                (Some(v), None) | (None, Some(v)) => {
                    // One path read or wrote it first: on the other it still is what it was at the start, if nothing
                    // else was stored there.
                    let bytes = terms.width(*v) / 8;
                    let other = if joined.frame.contains_key(&offset) { &m.written } else { &joined.written };
                    let stale = other.range(offset..offset + i64::from(bytes)).next().is_some();
                    let name = format!("frame_{}_{offset}_{bytes}", joined.side);
                    let start = if stale { terms.fresh(bytes * 8) } else { terms.var(bytes * 8, &name) };
                    let (a, b) = (joined.frame.get(&offset).copied().unwrap_or(start), m.frame.get(&offset).copied().unwrap_or(start));
                    let value = terms.ite(condition, b, a);
                    joined.frame.insert(offset, value);
                }
                _ => {
                    joined.frame.remove(&offset);
                    joined.written.insert(offset);
                }
            }
        }
        joined.written.extend(m.written);
        joined.calls = joined.calls.max(m.calls);
        joined.lost = joined.lost.max(m.lost);
        if joined.memory != m.memory {
            joined.forget_memory();
        } else if joined.stores != m.stores {
            let common = joined.stores.iter().zip(&m.stores).take_while(|(a, b)| a == b).count();
            let not = terms.not(condition);
            for store in joined.stores.iter_mut().skip(common) {
                store.guard = terms.and(store.guard, not);
            }
            for store in m.stores.into_iter().skip(common) {
                let guard = terms.and(store.guard, condition);
                joined.stores.push(Store { guard, ..store });
            }
        }
        joined.condition = terms.either(joined.condition, m.condition);
    }
    Some(joined)
}
