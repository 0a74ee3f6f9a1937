//! A walk by commands: every line of the test is stepped on, or those that its limits name.

use super::commands::{Commands, Expect, Limit, StepKind, Watched, What};
use super::structured::first_fit;
use super::value::{Fit, Look, Wanted};
use super::{MOST_STEPS, bare};
use crate::Asker;
use crate::answer::Told;
use crate::ask::file_name;
use crate::script::{Place, Test};
use crate::seat::{Move, Seat, SeatFrame, Stand};
use std::collections::HashMap;
use std::path::Path;
use trueline_trace::native::Answer;

/// Walks, and answers the questions of the commands.
pub(super) fn follow(asker: &Asker, binary: &Path, test: &Test, commands: &Commands) -> Result<Vec<(usize, Told)>, String> {
    let file = file_name(test);
    let source = std::fs::read_to_string(&test.path).map_err(|e| format!("cannot read {}: {e}", test.path.display()))?;
    let mut seat = asker.seat(binary, &file, &commands.arguments)?;
    let mut walk =
        Walk { file: &file, commands, notes: HashMap::new(), steps: Vec::new(), addresses: HashMap::new(), finish: HashMap::new() };
    if commands.limits.is_empty() {
        walk.everywhere(seat.as_mut(), source.lines().count() as u32)?;
    } else {
        walk.limited(seat.as_mut())?;
    }
    Ok(commands.expects.iter().map(|e| (e.question, walk.verdict(e))).collect())
}

/// Where one step ended.
struct Step {
    function: String,
    depth: usize,
    /// The line, in the test's file.
    line: Option<u32>,
}

/// What was seen of an expectation.
#[derive(Default)]
struct Notes {
    /// In order, without repetitions.
    texts: Vec<String>,
    /// The wanted values in the order that they were seen in, without repetitions.
    found: Vec<usize>,
    is_wrong: bool,
    open: Option<String>,
    times: usize,
}

struct Walk<'w> {
    file: &'w str,
    commands: &'w Commands,
    notes: HashMap<usize, Notes>,
    steps: Vec<Step>,
    addresses: HashMap<String, u64>,
    /// How often each command to finish was reached.
    finish: HashMap<usize, u64>,
}

impl Walk<'_> {
    /// Breakpoints on every line, steps into calls, and on where the file is left.
    fn everywhere(&mut self, seat: &mut dyn Seat, lines: u32) -> Result<(), String> {
        for line in 1..=lines {
            seat.place(&Place::Line(line))?;
        }
        let mut how = Move::Go;
        for _ in 0..MOST_STEPS {
            let Stand::At { frames, .. } = seat.go(how)? else { break };
            how = if self.is_here(&frames) { Move::Into } else { Move::Go };
            if self.arrive(seat, &frames)? {
                break;
            }
        }
        Ok(())
    }

    /// Breakpoints where limits begin; one that is reached sets those of its lines, each for one stop.
    fn limited(&mut self, seat: &mut dyn Seat) -> Result<(), String> {
        let mut leading: Vec<(u32, &Limit, u64)> = Vec::new();
        for limit in &self.commands.limits {
            if let Some(number) = seat.place(&Place::Line(limit.from))? {
                leading.push((number, limit, 0));
            }
        }
        for _ in 0..MOST_STEPS {
            let Stand::At { frames, hits, .. } = seat.go(Move::Go)? else { break };
            let mut gone = Vec::new();
            let mut counts = false;
            let mut addresses = HashMap::new();
            for &hit in &hits {
                let Some((_, limit, times)) = leading.iter_mut().find(|l| l.0 == hit) else {
                    gone.push(hit);
                    counts = true;
                    continue;
                };
                if let Some(condition) = &limit.condition {
                    let mut look = Look { seat, seen: HashMap::new(), addresses: &mut addresses };
                    if !look.is_true(condition)? {
                        continue;
                    }
                }
                counts = true;
                *times += 1;
                if limit.hits.is_some_and(|most| *times >= most) {
                    gone.push(hit);
                }
                for line in limit.from + 1..=limit.to {
                    seat.place(&Place::Line(line))?;
                }
            }
            seat.delete(&gone)?;
            if counts && self.arrive(seat, &frames)? {
                break;
            }
        }
        Ok(())
    }

    fn is_here(&self, frames: &[SeatFrame]) -> bool {
        frames.first().is_some_and(|f| f.file.as_deref() == Some(self.file))
    }

    /// Notes what a stop shows; whether it is enough.
    fn arrive(&mut self, seat: &mut dyn Seat, frames: &[SeatFrame]) -> Result<bool, String> {
        let Some(frame) = frames.first() else { return Ok(false) };
        let line = self.is_here(frames).then_some(frame.line);
        self.steps.push(Step { function: bare(&frame.function).to_owned(), depth: frames.len(), line });
        let Some(line) = line else { return Ok(false) };
        let mut addresses = std::mem::take(&mut self.addresses);
        let mut look = Look { seat, seen: HashMap::new(), addresses: &mut addresses };
        for (name, expression, at) in &self.commands.addresses {
            if *at == line
                && !look.addresses.contains_key(name)
                && let Answer::Value(text) = look.at(expression)?.answer
                && let Some(address) = text.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok())
            {
                look.addresses.insert(name.clone(), address);
            }
        }
        for expect in &self.commands.expects {
            let notes = self.notes.entry(expect.question).or_default();
            note(notes, expect, &mut look, frames, line)?;
        }
        let mut is_enough = false;
        for (number, finish) in self.commands.finish.iter().enumerate() {
            if finish.from == line && finish.condition.as_ref().map_or(Ok(true), |c| look.is_true(c))? {
                let times = self.finish.entry(number).or_default();
                *times += 1;
                is_enough |= *times > finish.hits.unwrap_or(0);
            }
        }
        self.addresses = addresses;
        Ok(is_enough)
    }

    fn verdict(&mut self, expect: &Expect) -> Told {
        if self.steps.is_empty() {
            return Told::not_reached("the program stops nowhere");
        }
        let lines = |steps: &[u32]| Answer::Value(steps.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
        let notes = self.notes.remove(&expect.question).unwrap_or_default();
        match &expect.what {
            What::Unreachable(from, to) => {
                let seen: Vec<u32> = self.steps.iter().filter_map(|s| s.line).filter(|l| (from..=to).contains(&l)).collect();
                Told::there(lines(&seen), seen.is_empty())
            }
            What::Order(wanted) => {
                let seen: Vec<u32> = self.steps.iter().filter_map(|s| s.line).filter(|l| wanted.contains(l)).collect();
                Told::there(lines(&seen), seen == *wanted)
            }
            What::Kind(kind, times) => {
                let count = self.kinds().into_iter().filter(|k| k == kind).count();
                Told::there(Answer::Value(count.to_string()), count == *times)
            }
            What::State { times, .. } => match notes.open {
                Some(reason) => Told::not_asked(&reason),
                None => {
                    let is_right = times.map_or(notes.times > 0, |times| notes.times == times);
                    Told::there(Answer::Value(format!("{} times", notes.times)), is_right)
                }
            },
            What::Watch { .. } if notes.texts.is_empty() => Told::not_reached("the program never stands there"),
            What::Watch { of, is_ordered, .. } => {
                let count = match of {
                    Watched::Value(values) => values.len(),
                    Watched::Type(names) => names.len(),
                };
                let answer = Answer::Value(notes.texts.join(", "));
                if let Some(reason) = notes.open {
                    return Told::open(answer, &reason);
                }
                let is_complete = (0..count).all(|n| notes.found.contains(&n) || is_repeated(of, n, &notes.found));
                let is_in_order = !is_ordered || is_sequence(of, &notes.found);
                Told::there(answer, !notes.is_wrong && is_complete && is_in_order)
            }
        }
    }

    /// What each step was, as Dexter names them.
    fn kinds(&self) -> Vec<StepKind> {
        let mut kinds = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let before = &self.steps[..number];
            let entered = if step.line.is_some() { StepKind::Function } else { StepKind::External };
            let Some(last) = before.last() else {
                kinds.push(entered);
                continue;
            };
            if last.depth < step.depth {
                kinds.push(entered);
                continue;
            }
            let same = before.iter().rev().find(|s| s.function == step.function && s.depth == step.depth);
            let compared = if last.depth > step.depth { same.unwrap_or(last) } else { last };
            match (compared.line, step.line) {
                (Some(a), Some(b)) if b > a => kinds.push(StepKind::Forward),
                (Some(a), Some(b)) if b < a => kinds.push(StepKind::Backward),
                _ => {}
            }
        }
        kinds
    }
}

fn note(notes: &mut Notes, expect: &Expect, look: &mut Look<'_>, frames: &[SeatFrame], line: u32) -> Result<(), String> {
    match &expect.what {
        What::Watch { expression, of, lines: (from, to), .. } if (from..=to).contains(&&line) => {
            let (text, fit) = match of {
                Watched::Value(wanted) => first_fit(look, expression, wanted)?,
                Watched::Type(names) => match look.at(expression)?.type_name {
                    Some(name) => (name.clone(), names.iter().position(|n| *n == name).ok_or(Fit::No)),
                    None => ("<no type>".to_owned(), Err(Fit::Open("the type has no name here".to_owned()))),
                },
            };
            if notes.texts.last() != Some(&text) {
                notes.texts.push(text);
                notes.found.extend(fit.as_ref().ok());
            }
            match fit {
                Ok(_) => {}
                Err(Fit::Open(reason)) => notes.open = Some(reason),
                Err(_) => notes.is_wrong = true,
            }
        }
        What::State { frames: wanted, watches, .. } => {
            let is_like = |(number, line): (usize, &Option<u32>)| line.is_none_or(|l| frames.get(number).is_some_and(|f| f.line == l));
            if frames.len() < wanted.len() || !wanted.iter().enumerate().all(is_like) {
                return Ok(());
            }
            for (expression, wanted) in watches {
                match look.fits(expression, wanted)? {
                    Fit::Yes => {}
                    Fit::No => return Ok(()),
                    Fit::Open(reason) => {
                        notes.open = Some(reason);
                        return Ok(());
                    }
                }
            }
            notes.times += 1;
        }
        _ => {}
    }
    Ok(())
}

/// Whether a wanted value is the same as an earlier one that was seen as often as it is wanted.
fn is_repeated(of: &Watched, number: usize, found: &[usize]) -> bool {
    let Watched::Value(values) = of else { return false };
    let Some(first) = values.iter().position(|v| same(v, &values[number])) else { return false };
    let earlier = values[..=number].iter().filter(|v| same(v, &values[number])).count();
    first < number && found.iter().filter(|&&n| n == first).count() >= earlier
}

/// Whether values were seen in the order that they are wanted in; each time the first of its kind is noted.
fn is_sequence(of: &Watched, found: &[usize]) -> bool {
    let Watched::Value(values) = of else { return found.is_sorted() };
    let first = |number: usize| values.iter().position(|v| same(v, &values[number])).unwrap_or(number);
    let wanted: Vec<usize> = (0..values.len()).map(first).filter(|n| found.contains(n)).collect();
    let mut shown = wanted.clone();
    shown.dedup();
    found == wanted || found == shown
}

fn same(a: &Wanted, b: &Wanted) -> bool {
    a == b
}
