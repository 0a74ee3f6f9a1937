//! Walks of the symbolic machine from one cut point to the next, over all paths at once.

use crate::debug::{Convention, ImageInfo, TypeClass, VariableKind};
use crate::flow::Graph;
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::algebra::{Machine, Place, RSP};
use trueline_machine::emulate::{self, DecodedCode};
use trueline_machine::library;
use trueline_machine::lift::{self, CodeFlow};
use trueline_machine::symbolic::call::{Argument, Effect, Site};
use trueline_machine::symbolic::{Symbolic, unwritten};
use trueline_machine::term::Terms;

/// Where a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    /// At a cut point.
    Cut(u64),
    /// At a return.
    Return,
    /// At an instruction after which nothing is known.
    Lost(u64),
}

/// Most instructions between two cut points.
const MAX_STEPS: usize = 4000;
/// Most terms of one proof step: beyond it the solver would not answer in its time either.
const MAX_TERMS: usize = 250_000;
/// Most calls deep that a walk goes.
const MAX_DEPTH: usize = 4;

/// The order of instructions in a function, by address.
type Ranks = BTreeMap<u64, usize>;

/// A function of the image, as a call sees it.
struct Callee {
    name: String,
    arguments: Option<Vec<Argument>>,
}

/// The code that walks may enter.
pub struct CodeGround<'a> {
    code: &'a DecodedCode<'a>,
    ranks: Ranks,
    cuts: BTreeSet<u64>,
    /// Functions of the image without loops, by entry: their calls are followed.
    callees: BTreeMap<u64, Ranks>,
    /// Units of the debug information that walks may come to in them.
    pub units: BTreeSet<usize>,
    /// All functions of the image, by entry.
    functions: BTreeMap<u64, Callee>,
}

impl<'a> CodeGround<'a> {
    /// The ground of a function: cut at its entry and its loop heads.
    pub fn new(code: &'a DecodedCode<'a>, graph: &Graph, info: &ImageInfo, entry: u64) -> Self {
        let (mut callees, mut units) = (BTreeMap::new(), BTreeSet::new());
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
                units.insert(function.unit);
                work.extend(callee.calls.iter().map(|pc| (*pc, depth + 1)));
            }
        }
        let cuts = graph.loops.iter().map(|l| l.head).chain([entry]).collect();
        let functions = info.functions.iter().map(|f| (f.entry(), Callee { name: identity(info, f), arguments: arguments(f) })).collect();
        Self { code, ranks: graph.ranks(entry), cuts, callees, units, functions }
    }

    /// What the C library's model says of a call: one whose format may store something is not known.
    fn library(&self, m: &mut Symbolic, name: &str) -> (Effect, Option<Vec<Argument>>) {
        let Some(model) = library::model(name) else { return (Effect::Writes, None) };
        let safe = model.format.is_none_or(|n| m.text(n).is_some_and(|text| !stores(&text)));
        if safe { (model.effect, model.arguments) } else { (Effect::Writes, None) }
    }

    /// Makes a call of what is not followed.
    fn call(&self, m: &mut Symbolic, target: Option<u64>) {
        let outside = target.and_then(|t| self.code.outside(t));
        if let Some(name) = &outside {
            let name = library::plain(name);
            // Reserved names: a function of the image that is called so is somebody's own.
            if let Some((count, bits)) = emulate::pure_arguments(name) {
                return m.call(&Site {
                    name: Some(name),
                    arguments: Some(vec![Argument::Float(bits / 8); count]),
                    effect: Effect::Function,
                });
            }
            let (effect, arguments) = self.library(m, name);
            return m.call(&Site { name: Some(name), arguments, effect });
        }
        let own = target.and_then(|t| self.functions.get(&t));
        let arguments = own.and_then(|f| f.arguments.clone());
        m.call(&Site { name: own.map(|f| f.name.as_str()), arguments, effect: Effect::Writes });
    }
}

/// What tells a function of the program from all others in both builds: two units may have one of the same name each, and what is
/// imported may be called so too.
fn identity(info: &ImageInfo, function: &crate::debug::ConcreteFunction) -> String {
    let unit = info.units.get(function.unit).map_or("", |u| u.name.rsplit('/').next().unwrap_or(""));
    format!("{} at {unit} {}", function.name, function.line)
}

/// True when a format of `printf` has a conversion that stores.
fn stores(format: &[u8]) -> bool {
    let mut conversion = false;
    for byte in format {
        match byte {
            b'%' => conversion = !conversion,
            b'n' if conversion => return true,
            b'a'..=b'z' | b'A'..=b'Z' if conversion && !b"hlLqjzt".contains(byte) => conversion = false,
            _ => {}
        }
    }
    false
}

/// How a function's parameters are passed; `None` when one is passed in memory or in several registers, or when more is passed
/// than the parameters that have a name.
fn arguments(function: &crate::debug::ConcreteFunction) -> Option<Vec<Argument>> {
    if function.convention != Convention::Plain {
        return None;
    }
    let parameters = function.variables.iter().filter(|v| v.kind == VariableKind::Parameter && !v.inlined && v.function == function.name);
    parameters
        .map(|v| match (v.ty.class, v.ty.size) {
            (TypeClass::Signed | TypeClass::Unsigned | TypeClass::Pointer, 1 | 2 | 4 | 8) => Some(Argument::Integer(v.ty.size as u32)),
            (TypeClass::Float, 4 | 8) => Some(Argument::Float(v.ty.size as u32)),
            _ => None,
        })
        .collect()
}

/// Machines by where they arrived.
pub type Arrivals = Vec<(Arrival, Symbolic)>;

/// Walks from `pc` to the next cut points and returns, joining paths wherever they meet, so that the work
/// is linear in the code. `visit` sees each instruction's address with the machine before it. Machines share `terms`.
pub fn walk(
    ground: &CodeGround<'_>,
    terms: &mut Terms,
    start: Symbolic,
    pc: u64,
    visit: &mut dyn FnMut(u64, &Symbolic),
) -> Result<Arrivals, String> {
    walk_in(ground, &ground.ranks, terms, start, pc, 0, visit)
}

fn walk_in(
    ground: &CodeGround<'_>,
    ranks: &Ranks,
    terms: &mut Terms,
    start: Symbolic,
    pc: u64,
    depth: usize,
    visit: &mut dyn FnMut(u64, &Symbolic),
) -> Result<Arrivals, String> {
    let code = ground.code;
    let mut arrived: BTreeMap<Arrival, Vec<Symbolic>> = BTreeMap::new();
    let mut queue: BTreeMap<(usize, u64), Vec<Symbolic>> = BTreeMap::new();
    let first = ranks.get(&pc).copied().ok_or_else(|| format!("{pc:#x} is not in the function"))?;
    queue.insert((first, pc), vec![start]);
    let mut steps = 0;
    while let Some(((at, pc), machines)) = queue.pop_first() {
        steps += 1;
        if steps > MAX_STEPS {
            return Err("its paths are too long".to_owned());
        }
        if terms.len() > MAX_TERMS {
            return Err("its values grow too large between two correlated points".to_owned());
        }
        let Some(mut m) = merge(terms, machines) else { continue };
        visit(pc, &m);
        let instruction = code.at(pc);
        let flow = instruction.map(|i| with(terms, &mut m, |m| lift::execute(m, &i)));
        let (Some(instruction), Some(Ok(flow))) = (instruction, flow) else {
            arrived.entry(Arrival::Lost(pc)).or_default().push(m);
            continue;
        };
        let next = instruction.next_ip();
        let mut out: Vec<(u64, Symbolic)> = Vec::new();
        match flow {
            CodeFlow::Next => out.push((next, m)),
            // A call in place of the return.
            CodeFlow::Jump(to) if code.outside(to).is_some() || (!ranks.contains_key(&to) && ground.functions.contains_key(&to)) => {
                with(terms, &mut m, |m| ground.call(m, Some(to)));
                arrived.entry(Arrival::Return).or_default().push(m);
            }
            CodeFlow::Jump(to) => out.push((to, m)),
            CodeFlow::Call(to) => match call(ground, terms, m, to, depth) {
                Called::Back(m) => out.push((next, *m)),
                Called::Never => {}
                Called::Unknown(m) => arrived.entry(Arrival::Lost(pc)).or_default().push(*m),
            },
            CodeFlow::CallTo(_) => {
                with(terms, &mut m, |m| ground.call(m, None));
                out.push((next, m));
            }
            CodeFlow::Return => arrived.entry(Arrival::Return).or_default().push(m),
            CodeFlow::Branch(condition, to) => match terms.value(condition) {
                Some(0) => out.push((next, m)),
                Some(_) => out.push((to, m)),
                None => {
                    let taken = terms.and(m.condition, condition);
                    let not = terms.not(condition);
                    let passed = terms.and(m.condition, not);
                    let mut other = m.clone();
                    other.condition = passed;
                    m.condition = taken;
                    out.push((next, other));
                    out.push((to, m));
                }
            },
            CodeFlow::JumpTo(target) => match with(terms, &mut m, |m| m.cases(target)) {
                Some(cases) => {
                    for (condition, to) in cases {
                        let mut taken = m.clone();
                        taken.condition = terms.and(m.condition, condition);
                        out.push((to, taken));
                    }
                }
                None => arrived.entry(Arrival::Lost(pc)).or_default().push(m),
            },
            // No run without undefined behaviour goes on from here.
            CodeFlow::Stop => {}
        }
        for (to, m) in out {
            if terms.value(m.condition) == Some(0) {
                continue;
            }
            if depth == 0 && ground.cuts.contains(&to) {
                arrived.entry(Arrival::Cut(to)).or_default().push(m);
                continue;
            }
            match ranks.get(&to) {
                Some(order) if *order > at => queue.entry((*order, to)).or_default().push(m),
                // Out of the function, or back into what is no natural loop.
                _ => arrived.entry(Arrival::Lost(pc)).or_default().push(m),
            }
        }
    }
    Ok(arrived.into_iter().filter_map(|(a, ms)| Some((a, merge(terms, ms)?))).collect())
}

/// Lends the shared table to a machine.
pub fn with<T>(terms: &mut Terms, m: &mut Symbolic, f: impl FnOnce(&mut Symbolic) -> T) -> T {
    std::mem::swap(terms, &mut m.terms);
    let result = f(m);
    std::mem::swap(terms, &mut m.terms);
    result
}

/// How a call goes on.
enum Called {
    Back(Box<Symbolic>),
    Never,
    Unknown(Box<Symbolic>),
}

/// Follows a call of a function in the image to its return, or takes it as a whole.
fn call(ground: &CodeGround<'_>, terms: &mut Terms, mut m: Symbolic, to: u64, depth: usize) -> Called {
    let outside = ground.code.outside(to);
    match outside.as_deref().map(library::ending) {
        Some(library::LibraryEnding::Never) => return Called::Never,
        Some(library::LibraryEnding::Strange) => return Called::Unknown(Box::new(m)),
        _ => {}
    }
    if let Some(ranks) = ground.callees.get(&to).filter(|_| depth < MAX_DEPTH)
        && let Some(m) = enter(ground, ranks, terms, m.clone(), to, depth + 1)
    {
        return Called::Back(Box::new(m));
    }
    with(terms, &mut m, |m| ground.call(m, Some(to)));
    Called::Back(Box::new(m))
}

fn enter(ground: &CodeGround<'_>, ranks: &Ranks, terms: &mut Terms, mut m: Symbolic, pc: u64, depth: usize) -> Option<Symbolic> {
    let stack = with(terms, &mut m, |m| {
        m.move_stack(-8);
        m.get(Place::Gpr(RSP))
    });
    let done = walk_in(ground, ranks, terms, m, pc, depth, &mut |_, _| {}).ok()?;
    let [(Arrival::Return, m)] = <[_; 1]>::try_from(done).ok()? else { return None };
    let mut m = m;
    with(terms, &mut m, |m| (m.get(Place::Gpr(RSP)) == stack).then(|| m.move_stack(8)))?;
    Some(m)
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
        joined.frame.join(terms, condition, &m.frame);
        joined.memory.join(terms, condition, &m.memory);
        joined.condition = terms.either(joined.condition, m.condition);
    }
    Some(joined)
}
