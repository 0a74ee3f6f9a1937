//! Debuggers at the spot: gdb and lldb are asked what they show at the addresses of a build's violations.
//!
//! Stepping a build through both costs several times what compiling it does; reading single addresses costs next to
//! nothing, so that every finding can say who sees it.

use super::ReaderQuestion;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;
use trueline_dwarf::Search;
use trueline_model::{Astray, Breach, EngineKind, FileName, LineKey, Observation, Reader, Reading, Step, Violation};
use trueline_oracle::{ToldBy, has_wrong_value, shows, told_by, variables_of, views};
use trueline_toolchain::Launch;
use trueline_trace::{DebuggerPool, Engine, Placement, Spot, SpotRequest, TraceRequest, open_engine};

/// Visits of an address at which values and callers are looked at. The programs here seldom come by more often.
const VISITS: u32 = 64;

/// Equal answers about a class after which a debugger that need not confirm it is not asked to run another program for it:
/// starting one under lldb costs three quarters of what compiling it does.
const HABIT: u32 = 8;

/// Of so many answers that a habit would give, one is asked for all the same: what eight programs showed need not be so for
/// the thousandth.
const TEST_OF_HABIT: u32 = 16;

/// A debugger, started when first needed.
struct LazyDebugger {
    reader: Reader,
    kind: EngineKind,
    pool: OnceLock<Result<DebuggerPool, String>>,
    /// Who is asked where breakpoints go.
    engine: OnceLock<Result<Box<dyn Engine + Send + Sync>, String>>,
    habits: Mutex<HashMap<String, Habit>>,
}

/// How a debugger answered about the violations of a class that only a running program could show.
#[derive(Clone, Copy, Debug, Default)]
struct Habit {
    seen: u32,
    unseen: u32,
    /// Occasions to rely on it so far.
    occasions: u32,
}

impl Habit {
    /// What stands for its answer about another one; `None` when it is to be asked.
    fn answer(&mut self) -> Option<SpotAnswer> {
        let usual = self.usual()?;
        self.occasions += 1;
        (!self.occasions.is_multiple_of(TEST_OF_HABIT)).then_some(usual)
    }

    /// What it would say of another one, if it never said anything else.
    fn usual(self) -> Option<SpotAnswer> {
        let alike = |n: u32| format!("as at the {n} others of this class that it was asked about");
        match (self.seen, self.unseen) {
            (n @ HABIT.., 0) => Some(SpotAnswer::Shows(format!("shows it, {}", alike(n)))),
            (0, n @ HABIT..) => Some(SpotAnswer::ShowsOther(format!("does not show it, {}", alike(n)))),
            _ => None,
        }
    }

    fn add(&mut self, answer: &SpotAnswer) {
        match answer {
            SpotAnswer::Shows(_) => self.seen += 1,
            SpotAnswer::ShowsOther(_) => self.unseen += 1,
            SpotAnswer::Unknown => {}
        }
    }
}

/// The debuggers beside the one that screens.
pub(super) struct Debuggers(Vec<LazyDebugger>);

/// What one debugger shows of one violation at its address.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SpotAnswer {
    Shows(String),
    ShowsOther(String),
    /// It does not come by there, or came by too often to look at every visit.
    Unknown,
}

impl Debuggers {
    /// gdb and lldb, without the one that screens.
    pub(super) fn beside(screen: Reader) -> Self {
        let all = [(Reader::Gdb, EngineKind::Gdb), (Reader::Lldb, EngineKind::Lldb)];
        let debugger =
            |(reader, kind)| LazyDebugger { reader, kind, pool: OnceLock::new(), engine: OnceLock::new(), habits: Mutex::default() };
        Self(all.into_iter().filter(|(reader, _)| *reader != screen).map(debugger).collect())
    }

    /// Ends the debuggers that wait for questions.
    pub(super) fn dismiss(&self) {
        self.0.iter().filter_map(|debugger| debugger.pool.get()?.as_ref().ok()).for_each(DebuggerPool::dismiss);
    }

    /// Shows the violations of a build to each debugger: their answers, one list per violation.
    pub(super) fn look(&self, asked: &SpotQuestions<'_>) -> Vec<Vec<Reading>> {
        let mut readings: Vec<Vec<Reading>> = asked.questions.iter().map(|_| Vec::new()).collect();
        for debugger in &self.0 {
            let is_confirmed = |i: usize| readings[i].iter().any(|r| r.sees == Some(true));
            match debugger.answers(asked, is_confirmed) {
                Ok(answers) => {
                    for (readings, answer) in readings.iter_mut().zip(answers) {
                        let (sees, detail) = match answer {
                            SpotAnswer::Shows(detail) => (true, detail),
                            SpotAnswer::ShowsOther(detail) => (false, detail),
                            SpotAnswer::Unknown => continue,
                        };
                        readings.push(Reading::answer(debugger.reader, sees, detail));
                    }
                }
                Err(reason) => readings.iter_mut().for_each(|r| r.push(Reading::unasked(debugger.reader, reason.clone()))),
            }
        }
        readings
    }
}

/// The build that a debugger is asked about, and what for.
#[derive(Clone, Copy)]
pub(super) struct SpotQuestions<'s> {
    pub(super) binary: &'s Path,
    /// How the program is started: without its arguments it may not come by.
    pub(super) launch: &'s Launch,
    pub(super) user_files: &'s [String],
    pub(super) questions: &'s [ReaderQuestion<'s>],
}

impl SpotQuestions<'_> {
    /// Has a debugger look at the places of the violations in `open`; what it can tell goes into `answers`.
    fn inspect(&self, pool: &DebuggerPool, open: &[usize], visits: u32, answers: &mut [SpotAnswer]) -> Result<(), String> {
        let Self { binary, launch, user_files, questions } = *self;
        let mut spots: Vec<Spot> = open.iter().filter_map(|i| questions[*i].violation.pc).map(|pc| Spot(pc, visits)).collect();
        spots.sort();
        spots.dedup();
        if spots.is_empty() {
            return Ok(());
        }
        let search = &Search::default();
        let trace = pool.look(&SpotRequest { binary, launch, user_files, search, spots: &spots }).map_err(|e| e.to_string())?;
        for &i in open {
            let violation = questions[i].violation;
            let steps: Vec<&Step> = trace.steps.iter().filter(|s| Some(s.pc) == violation.pc).collect();
            match answer_of(violation, &steps, visits) {
                // A run that does not come by takes nothing back.
                SpotAnswer::Unknown => {}
                known => answers[i] = known,
            }
        }
        Ok(())
    }
}

impl LazyDebugger {
    /// What the debugger says; of what is confirmed already, it may be what it always says.
    fn answers(&self, asked_of: &SpotQuestions<'_>, is_confirmed: impl Fn(usize) -> bool) -> Result<Vec<SpotAnswer>, String> {
        let made = self.pool.get_or_init(|| match DebuggerPool::find(self.kind) {
            Ok(Some(pool)) => Ok(pool),
            Ok(None) => Err("no debugger".to_owned()),
            Err(e) => Err(e.to_string()),
        });
        let pool = made.as_ref().map_err(Clone::clone)?;
        let questions = asked_of.questions;
        let mut answers = vec![SpotAnswer::Unknown; questions.len()];
        self.place(asked_of, &mut answers)?;
        // First what can be read without running; then whatever needs values or callers, or may be seen in another way.
        let readable: Vec<usize> = (0..questions.len()).filter(|i| !needs_values(questions[*i].violation)).collect();
        asked_of.inspect(pool, &readable, 0, &mut answers)?;
        let mut asked = Vec::new();
        for (i, question) in questions.iter().enumerate().filter(|(_, q)| !is_placed(q.violation)) {
            match &answers[i] {
                SpotAnswer::Shows(_) => continue,
                SpotAnswer::ShowsOther(_) if reads_all_views(self.kind) => continue,
                SpotAnswer::ShowsOther(_) | SpotAnswer::Unknown => {}
            }
            let usual = if is_confirmed(i) && !question.class.is_empty() { self.with_habit(&question.class, Habit::answer) } else { None };
            match usual {
                Some(usual) => answers[i] = usual,
                None => asked.push(i),
            }
        }
        asked_of.inspect(pool, &asked, VISITS, &mut answers)?;
        for i in asked {
            self.with_habit(&questions[i].class, |habit| habit.add(&answers[i]));
        }
        Ok(answers)
    }

    /// Asks where breakpoints go, for the violations that this tells.
    fn place(&self, asked: &SpotQuestions<'_>, answers: &mut [SpotAnswer]) -> Result<(), String> {
        let open: Vec<usize> = (0..asked.questions.len()).filter(|i| is_placed(asked.questions[*i].violation)).collect();
        if open.is_empty() {
            return Ok(());
        }
        let made = self.engine.get_or_init(|| open_engine(self.kind).map_err(|e| e.to_string()));
        let engine = made.as_ref().map_err(Clone::clone)?;
        let line = |i: &usize| {
            let violation = asked.questions[*i].violation;
            LineKey { file: FileName::new(violation.file.base()), line: violation.line }
        };
        let lines: Vec<LineKey> = open.iter().map(line).collect();
        let mut request = TraceRequest::new(asked.binary);
        request.user_files = asked.user_files.to_vec();
        let places = engine.places(&request, &lines).map_err(|e| e.to_string())?;
        for (i, line) in open.into_iter().zip(lines) {
            let placed = places.get(&line).map_or(&[][..], |p| &p[..]);
            answers[i] = placement_answer(asked.questions[i].violation, &line, placed);
        }
        Ok(())
    }

    fn with_habit<T>(&self, class: &str, f: impl FnOnce(&mut Habit) -> T) -> T {
        let mut habits = self.habits.lock();
        f(habits.entry(class.to_owned()).or_default())
    }
}

/// Whether a violation is told by where a debugger puts a breakpoint.
fn is_placed(violation: &Violation) -> bool {
    told_by(violation.invariant()) == ToldBy::Placement
}

/// What the places of a debugger's breakpoint say of a violation. That the program does not come by the places that a
/// violation names, or does, was seen when it was found.
fn placement_answer(violation: &Violation, line: &LineKey, placed: &[Placement]) -> SpotAnswer {
    let exact: Vec<u64> = placed.iter().filter(|p| p.shown.as_ref() == Some(line)).map(|p| p.pc).collect();
    let sees = match &violation.breach {
        Breach::Breakpoint(Astray::NeverHit { places, .. }) => !exact.is_empty() && exact.iter().all(|pc| places.contains(pc)),
        Breach::Breakpoint(Astray::Moved { .. }) => exact.is_empty(),
        Breach::Breakpoint(Astray::NotRun { places }) => exact.iter().any(|pc| places.contains(pc)),
        _ => return SpotAnswer::Unknown,
    };
    let goes: Vec<String> = placed
        .iter()
        .map(|p| format!("{:#x}{}", p.pc, p.shown.as_ref().map_or(String::new(), |l| format!(" (line {})", l.line))))
        .collect();
    let said = if goes.is_empty() { "finds no place for it".to_owned() } else { format!("puts it at {}", goes.join(", ")) };
    if sees { SpotAnswer::Shows(said) } else { SpotAnswer::ShowsOther(said) }
}

/// Whether a debugger tells, without running, every way in which it may show an address. Where inlined functions begin it
/// can be shown as their callers see it; gdb knows where a call stands from frames alone.
fn reads_all_views(kind: EngineKind) -> bool {
    kind.debugger() == Some(trueline_model::Debugger::Lldb)
}

/// Whether only a running program can show it.
fn needs_values(violation: &Violation) -> bool {
    !matches!(told_by(violation.invariant()), ToldBy::Address | ToldBy::Callers)
}

/// Whether the stops at the address decide it without a running program. What shows another line at the address does not
/// show this one with any callers.
fn is_static(violation: &Violation, steps: &[&Step]) -> bool {
    let may_differ = |step: &&Step| views(step).any(|(line, _)| line == Some(violation.line));
    match told_by(violation.invariant()) {
        ToldBy::Address => true,
        ToldBy::Callers => !steps.iter().any(may_differ),
        ToldBy::Values | ToldBy::Placement | ToldBy::Build => false,
    }
}

fn answer_of(violation: &Violation, steps: &[&Step], visits: u32) -> SpotAnswer {
    let Some(first) = steps.first() else { return SpotAnswer::Unknown };
    if let Some(step) = steps.iter().find(|step| shows(violation, step)) {
        return SpotAnswer::Shows(describe(violation, step));
    }
    let looked_at_all = visits > 0 && steps.len() < visits as usize;
    match looked_at_all || is_static(violation, steps) {
        true => SpotAnswer::ShowsOther(format!("shows {}", describe(violation, first))),
        false => SpotAnswer::Unknown,
    }
}

fn describe(violation: &Violation, step: &Step) -> String {
    let frames: Vec<&str> = step.frames.iter().map(|f| &*f.function).collect();
    let line = step.line.map_or_else(|| "no line".to_owned(), |l| format!("line {l}"));
    let place = format!("{line} in {}", frames.join(" < "));
    let Some(name) = violation.variable() else { return place };
    let mut shown: Vec<&Observation> = variables_of(violation, step).map(|v| &v.observation).collect();
    // Of variables with one name, the one that is complained of.
    shown.sort_by_key(|observation| !has_wrong_value(violation, observation));
    match shown.first().copied() {
        Some(Observation::Value(value)) => format!("{place}: {name} = {value}"),
        Some(Observation::Unreadable) => format!("{place}: {name} cannot be read"),
        Some(_) => format!("{place}: {name} is in scope"),
        None => format!("{place}: no {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debugger_is_taken_at_its_habit_only_after_many_answers_that_were_all_the_same() {
        let mut habit = Habit::default();
        let unseen = SpotAnswer::ShowsOther(String::new());
        (1..HABIT).for_each(|_| habit.add(&unseen));
        habit.add(&SpotAnswer::Unknown);
        assert_eq!(habit.answer(), None);
        habit.add(&unseen);
        assert!(matches!(habit.answer(), Some(SpotAnswer::ShowsOther(detail)) if detail.contains("8 others of this class")));
        habit.add(&SpotAnswer::Shows(String::new()));
        assert_eq!(habit.answer(), None);
    }

    #[test]
    fn a_habit_is_tested_now_and_then() {
        let mut habit = Habit::default();
        (0..HABIT).for_each(|_| habit.add(&SpotAnswer::Shows(String::new())));
        let relied_on = (0..10 * TEST_OF_HABIT).filter(|_| habit.answer().is_some()).count();
        assert_eq!(relied_on as u32, 10 * (TEST_OF_HABIT - 1));
    }

    #[test]
    fn of_variables_that_shadow_one_another_the_one_complained_of_counts() {
        let step: Step = serde_json::from_str(
            r#"{"step":0,"file":"a.c","line":7,"pc":64,"frames":[{"function":"main","kind":"real","file":"a.c","line":7}],"vars":[
                {"name":"n","kind":"local","decl_line":6,"state":"optimized-out"},
                {"name":"n","kind":"local","decl_line":4,"state":"value","value":"3"}]}"#,
        )
        .unwrap();
        let complaint = |value: &str| -> Violation {
            let document = r#"{"invariant":"value","file":"a.c","line":7,"function":"main","frames":["main"],"pc":64,
                    "variable":"n","value":"VALUE","allowed":{"first":[],"cut":false}}"#;
            serde_json::from_str(&document.replace("VALUE", value)).unwrap()
        };
        assert_eq!(answer_of(&complaint("3"), &[&step], VISITS), SpotAnswer::Shows("line 7 in main: n = 3".to_owned()));
        assert!(matches!(answer_of(&complaint("4"), &[&step], VISITS), SpotAnswer::ShowsOther(_)));
    }
}
