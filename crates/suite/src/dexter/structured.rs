//! A walk by a script of nodes: the program is stopped where a state may begin, stepped while one lasts, and run otherwise.

use super::nodes::{Expect, Order, State, Then, What};
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

/// Walks, and answers the script's questions.
pub(super) fn follow(asker: &Asker, binary: &Path, test: &Test, states: &[State]) -> Result<Vec<(usize, Told)>, String> {
    let file = file_name(test);
    let mut seat = asker.seat(binary, &file, &[])?;
    let mut walk = Walk { file: &file, breaks: HashMap::new(), memory: HashMap::new(), notes: HashMap::new(), addresses: HashMap::new() };
    for state in states {
        walk.wait_for(seat.as_mut(), state)?;
    }
    let mut how = Move::Go;
    for _ in 0..MOST_STEPS {
        let Stand::At { frames, .. } = seat.go(how)? else { break };
        match walk.arrive(seat.as_mut(), states, &frames)? {
            Some(next) => how = next,
            None => break,
        }
    }
    let mut told = Vec::new();
    all(states, &mut |state| told.extend(state.expects.iter().map(|e| (e.question, walk.verdict(e)))));
    Ok(told)
}

fn all<'s>(states: &'s [State], visit: &mut dyn FnMut(&'s State)) {
    for state in states {
        visit(state);
        all(&state.states, visit);
    }
}

/// What was seen of an expectation.
#[derive(Default)]
struct Notes {
    /// In order, without repetitions.
    texts: Vec<String>,
    /// The wanted values that were seen.
    found: Vec<usize>,
    is_wrong: bool,
    open: Option<String>,
    /// The lines that were stepped on.
    lines: Vec<u32>,
}

/// What is known of a state from one stop to the next.
#[derive(Clone, Copy, Default)]
struct Memory {
    was_there: bool,
    hits: u64,
    /// Whether the condition held when its frame was last the innermost.
    held: bool,
}

struct Walk<'w> {
    file: &'w str,
    /// Breakpoints that wait for a state.
    breaks: HashMap<usize, Vec<u32>>,
    memory: HashMap<usize, Memory>,
    notes: HashMap<usize, Notes>,
    addresses: HashMap<String, u64>,
}

/// What one stop means.
#[derive(Default)]
struct Match<'s> {
    /// States and the frames that they match.
    active: Vec<(&'s State, usize)>,
    /// States whose frame may be called next.
    pending: Vec<&'s State>,
}

impl Walk<'_> {
    fn wait_for(&mut self, seat: &mut dyn Seat, state: &State) -> Result<(), String> {
        let mut numbers = Vec::new();
        if let Some(function) = &state.function {
            numbers.extend(seat.place(&Place::Function(function.clone()))?);
        } else if let Some((first, last)) = state.lines {
            for line in first..=last {
                numbers.extend(seat.place(&Place::Line(line))?);
            }
        }
        self.breaks.insert(state.number, numbers);
        Ok(())
    }

    /// Notes what a stop shows; how to go on, or that it is enough.
    fn arrive(&mut self, seat: &mut dyn Seat, states: &[State], frames: &[SeatFrame]) -> Result<Option<Move>, String> {
        let mut found = Match::default();
        let mut addresses = std::mem::take(&mut self.addresses);
        let mut look = Look { seat: &mut *seat, seen: HashMap::new(), addresses: &mut addresses };
        for state in states {
            self.visit(state, None, frames, &mut look, &mut found)?;
        }
        for (state, frame) in &found.active {
            if *frame == 0 {
                for expect in &state.expects {
                    let notes = self.notes.entry(expect.question).or_default();
                    note(notes, expect, &mut look, frames)?;
                }
            }
        }
        self.addresses = addresses;
        self.renew(seat, states, &found)?;
        let then = found.active.iter().find_map(|(state, _)| state.then);
        Ok(match then {
            Some(Then::Finish) => None,
            Some(Then::StepOut) => Some(Move::Out),
            None if found.active.iter().any(|(_, frame)| *frame == 0) => Some(Move::Over),
            None if !found.active.is_empty() => Some(Move::Out),
            None => Some(Move::Go),
        })
    }

    fn renew(&mut self, seat: &mut dyn Seat, states: &[State], found: &Match<'_>) -> Result<(), String> {
        let is_wanted = |number: &usize| states.iter().chain(found.pending.iter().copied()).any(|s| s.number == *number);
        let gone: Vec<usize> = self.breaks.keys().filter(|n| !is_wanted(n)).copied().collect();
        for number in gone {
            seat.delete(&self.breaks.remove(&number).unwrap_or_default())?;
        }
        for state in &found.pending {
            if !self.breaks.contains_key(&state.number) {
                self.wait_for(seat, state)?;
            }
        }
        Ok(())
    }

    fn visit<'s>(
        &mut self,
        state: &'s State,
        parent: Option<usize>,
        frames: &[SeatFrame],
        look: &mut Look<'_>,
        found: &mut Match<'s>,
    ) -> Result<(), String> {
        let frame = match parent {
            // The outermost that matches.
            None => (0..frames.len()).rev().find(|&n| self.is_like(state, &frames[n])),
            Some(0) if !state.is_and => {
                found.pending.push(state);
                None
            }
            Some(parent) => Some(if state.is_and { parent } else { parent - 1 }).filter(|&n| self.is_like(state, &frames[n])),
        };
        let mut memory = self.memory.get(&state.number).copied().unwrap_or_default();
        if let (Some(condition), Some(frame)) = (&state.condition, frame) {
            if frame == 0 {
                memory.held = look.is_true(condition)?;
            }
        } else {
            memory.held = true;
        }
        let frame = frame.filter(|_| memory.held);
        if frame.is_some() && !memory.was_there {
            memory.hits += 1;
        }
        memory.was_there = frame.is_some();
        self.memory.insert(state.number, memory);
        let is_due = memory.hits > state.after_hits && state.for_hits.is_none_or(|most| memory.hits <= state.after_hits + most);
        if let Some(frame) = frame.filter(|_| is_due) {
            found.active.push((state, frame));
            for inner in &state.states {
                self.visit(inner, Some(frame), frames, look, found)?;
            }
        } else {
            self.leave(&state.states);
        }
        Ok(())
    }

    /// States inside one that is left are not there either.
    fn leave(&mut self, states: &[State]) {
        all(states, &mut |state| {
            if let Some(memory) = self.memory.get_mut(&state.number) {
                memory.was_there = false;
            }
        });
    }

    fn is_like(&self, state: &State, frame: &SeatFrame) -> bool {
        let is_function = state.function.as_deref().is_none_or(|name| name == bare(&frame.function));
        let is_line = state.lines.is_none_or(|(first, last)| (first..=last).contains(&frame.line));
        let file = match &state.file {
            Some(file) => Some(file.rsplit('/').next().unwrap_or(file)),
            // Lines of a state that stands alone are the test's.
            None => (state.lines.is_some() && !state.is_and).then_some(self.file),
        };
        is_function && is_line && file.is_none_or(|file| frame.file.as_deref() == Some(file))
    }

    fn verdict(&mut self, expect: &Expect) -> Told {
        let Some(notes) = self.notes.remove(&expect.question) else { return Told::not_reached("the program never stands there") };
        match &expect.what {
            What::Steps(order, wanted) => {
                let is_right = match order {
                    Order::Exactly => notes.lines == *wanted,
                    Order::AtLeast => {
                        let mut left = wanted.iter().peekable();
                        for line in &notes.lines {
                            left.next_if(|wanted| *wanted == line);
                        }
                        left.peek().is_none()
                    }
                    Order::Never => !notes.lines.iter().any(|l| wanted.contains(l)),
                };
                let lines: Vec<String> = notes.lines.iter().map(u32::to_string).collect();
                Told::there(Answer::Value(lines.join(", ")), is_right)
            }
            What::Value(_, wanted) => settle(notes, wanted.len()),
            What::Type(_, wanted) => settle(notes, wanted.len()),
        }
    }
}

/// All that was seen is wanted, and all that is wanted was seen.
fn settle(notes: Notes, wanted: usize) -> Told {
    let answer = Answer::Value(notes.texts.join(", "));
    match notes.open {
        Some(reason) => Told::open(answer, &reason),
        None => Told::there(answer, !notes.is_wrong && (0..wanted).all(|n| notes.found.contains(&n))),
    }
}

fn note(notes: &mut Notes, expect: &Expect, look: &mut Look<'_>, frames: &[SeatFrame]) -> Result<(), String> {
    match &expect.what {
        What::Steps(..) => notes.lines.extend(frames.first().map(|f| f.line)),
        What::Value(expression, wanted) => {
            let (text, fit) = first_fit(look, expression, wanted)?;
            record(notes, text, fit);
        }
        What::Type(expression, wanted) => {
            let seen = look.at(expression)?;
            let (text, fit) = match seen.type_name {
                Some(name) => (name.clone(), wanted.iter().position(|w| *w == name).ok_or(Fit::No)),
                None => ("<no type>".to_owned(), Err(Fit::Open("the type has no name here".to_owned()))),
            };
            record(notes, text, fit);
        }
    }
    Ok(())
}

fn record(notes: &mut Notes, text: String, fit: Result<usize, Fit>) {
    if notes.texts.last() != Some(&text) {
        notes.texts.push(text);
    }
    match fit {
        Ok(number) => notes.found.push(number),
        Err(Fit::Open(reason)) => notes.open = Some(reason),
        Err(_) => notes.is_wrong = true,
    }
}

/// What is seen of an expression, and the first wanted value that it is.
pub(super) fn first_fit(look: &mut Look<'_>, expression: &str, wanted: &[Wanted]) -> Result<(String, Result<usize, Fit>), String> {
    let Some(first) = wanted.first() else { return Ok((String::new(), Err(Fit::No))) };
    let text = look.spell(expression, first)?;
    let mut open = None;
    for (number, wanted) in wanted.iter().enumerate() {
        match look.fits(expression, wanted)? {
            Fit::Yes => return Ok((text, Ok(number))),
            Fit::Open(reason) => open = Some(reason),
            Fit::No => {}
        }
    }
    Ok((text, Err(open.map_or(Fit::No, Fit::Open))))
}
