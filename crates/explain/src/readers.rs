//! The readers: whoever can read the same debug information is asked whether it sees a violation, too.
//!
//! One panel serves the hunt and `triage`. A reader answers in one of two ways: it steps through the build, or, where it is
//! a debugger, it looks at the violation's address alone, which costs next to nothing. [`verdict`] puts the answers together.

mod spot;

use self::spot::{Debuggers, SpotQuestions};
use std::cell::OnceCell;
use std::sync::OnceLock;
use trueline_check::{CheckOptions, CheckRun, Checker, Reference};
use trueline_model::{Debugger, EngineKind, Invariant, Policy, Reader, Reading, Violation, wording};
pub use trueline_triage::verdict;

/// A violation of a build that readers are asked about.
pub struct ReaderQuestion<'v> {
    /// What is complained of.
    pub violation: &'v Violation,
    /// Its class; a debugger that always answered alike about a class is not asked every time. Where it is empty everybody is
    /// asked.
    pub class: String,
}

/// A reader that steps through builds, and the checker that has it do so. It is made when first needed: starting a
/// debugger takes a second.
struct SteppingReader {
    reader: Reader,
    options: CheckOptions,
    checker: OnceLock<Result<Checker, String>>,
}

/// Every reader there is: the one that screens, and the others beside it.
pub struct Readers {
    screen: Reader,
    others: Vec<SteppingReader>,
    debuggers: Debuggers,
}

/// What a reader that stepped through a build saw there.
struct Stepped {
    reader: Reader,
    violations: Result<Vec<Violation>, String>,
}

/// The reader an engine is.
fn reader_of(engine: EngineKind, policy: Policy) -> Reader {
    match engine.debugger() {
        None => Reader::Native(policy),
        Some(Debugger::Gdb) => Reader::Gdb,
        Some(Debugger::Lldb) => Reader::Lldb,
    }
}

impl Readers {
    /// The readers beside the one that screens with `options`.
    pub fn beside(options: &CheckOptions) -> Self {
        let screen = reader_of(options.engine, options.policy);
        // A release is read by its own rules, not by those of another.
        let gdb = match options.engine.debugger() {
            Some(Debugger::Gdb) => options.engine.policy(),
            _ => Policy::Gdb,
        };
        let lldb = match options.engine.debugger() {
            Some(Debugger::Lldb) => options.engine.policy(),
            _ => Policy::Lldb,
        };
        let all = [
            (EngineKind::Native, gdb),
            (EngineKind::Native, lldb),
            (EngineKind::Native, Policy::Standard),
            (EngineKind::Gdb, Policy::Gdb),
            (EngineKind::Lldb, Policy::Lldb),
        ];
        let stepping = |(engine, policy): (EngineKind, Policy)| SteppingReader {
            reader: reader_of(engine, policy),
            options: CheckOptions { engine, policy, ..options.clone() },
            checker: OnceLock::new(),
        };
        // A debugger is blamed for what the reading by its own rules does not show; rules of another release are not its own.
        let misleads = |reader: Reader| !options.engine.is_predicted() && reader == Reader::Native(options.engine.policy());
        let others = all.into_iter().map(stepping).filter(|other| other.reader != screen && !misleads(other.reader)).collect();
        Self { screen, others, debuggers: Debuggers::beside(screen) }
    }

    /// The readers of the builds of one program by one compiler.
    pub fn of_program<'r>(&'r self, reference: &'r Reference) -> ProgramReaders<'r> {
        ProgramReaders { readers: self, reference, rereads: self.others.iter().map(|_| OnceCell::new()).collect() }
    }

    /// What the screening reader itself says.
    pub fn screening(&self, violation: &Violation) -> Reading {
        Reading::answer(self.screen, true, wording::sighting(violation))
    }

    /// Ends the debuggers that wait for questions.
    pub fn dismiss(&self) {
        self.debuggers.dismiss();
    }

    /// What everybody says about one violation.
    fn readings(&self, violation: &Violation, stepped: &[Stepped]) -> Vec<Reading> {
        let mut readings = vec![self.screening(violation)];
        readings.extend(stepped.iter().map(|Stepped { reader, violations }| match violations {
            // Who could not be asked is not on record as not seeing it.
            Err(reason) => Reading::unasked(*reader, reason.clone()),
            Ok(violations) => {
                let same = violations.iter().find(|v| v.same_as(violation));
                Reading::answer(*reader, same.is_some(), same.map_or_else(|| "does not see it".to_owned(), wording::sighting))
            }
        }));
        readings
    }
}

/// Each reader's view of one -O0 build, read once and kept for all levels.
pub struct ProgramReaders<'r> {
    readers: &'r Readers,
    reference: &'r Reference,
    rereads: Vec<OnceCell<Result<Reference, String>>>,
}

impl<'r> ProgramReaders<'r> {
    /// The readers of one build, and what they are to be asked.
    pub fn of_build<'b>(&'b self, run: &'b CheckRun, user_file: &'b String, questions: Vec<ReaderQuestion<'b>>) -> BuildReaders<'b, 'r> {
        let (spot, natives, all) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        BuildReaders { program: self, run, user_file, questions, spot, natives, all }
    }

    fn step(&self, run: &CheckRun, wanted: impl Fn(Reader) -> bool) -> Vec<Stepped> {
        let others = self.readers.others.iter().zip(&self.rereads).filter(|(other, _)| wanted(other.reader));
        others.map(|(other, reread)| Stepped { reader: other.reader, violations: self.ask(other, reread, run) }).collect()
    }

    fn ask(&self, other: &SteppingReader, reread: &OnceCell<Result<Reference, String>>, run: &CheckRun) -> Result<Vec<Violation>, String> {
        let made = other.checker.get_or_init(|| Checker::new(other.options.clone()).map_err(|e| e.to_string()));
        let checker = made.as_ref().map_err(Clone::clone)?;
        // An engine that stands in for another is no reader of its own.
        if checker.engine().kind() != other.options.engine {
            return Err(format!("the {} engine is not available", other.options.engine));
        }
        let reference = reread.get_or_init(|| checker.reread(self.reference).map_err(|e| e.to_string()));
        let reference = reference.as_ref().map_err(Clone::clone)?;
        Ok(checker.recheck(reference, run).map_err(|e| e.to_string())?.violations)
    }
}

/// The readers of one build; everything is asked once, and only when needed.
pub struct BuildReaders<'b, 'r> {
    program: &'b ProgramReaders<'r>,
    run: &'b CheckRun,
    user_file: &'b String,
    questions: Vec<ReaderQuestion<'b>>,
    spot: OnceCell<Vec<Vec<Reading>>>,
    natives: OnceCell<Vec<Stepped>>,
    all: OnceCell<Vec<Stepped>>,
}

impl<'b> BuildReaders<'b, '_> {
    /// What is asked.
    pub fn questions(&self) -> &[ReaderQuestion<'b>] {
        &self.questions
    }

    /// The screening reader's answer alone.
    pub fn screening(&self, index: usize) -> Reading {
        self.program.readers.screening(self.questions[index].violation)
    }

    /// Every reader steps through the build. What stepping cannot tell the debuggers are asked at the spot.
    pub fn step_through(&self, index: usize) -> Vec<Reading> {
        if !is_told_by_steps(self.questions[index].violation.invariant()) {
            return self.at_the_spot(index);
        }
        let all = self.all.get_or_init(|| self.program.step(self.run, |_| true));
        self.program.readers.readings(self.questions[index].violation, all)
    }

    /// The debuggers' answers about the violation's address; none of one that does not come by there.
    pub fn debuggers_at_the_spot(&self, index: usize) -> &[Reading] {
        let ask = || {
            let asked = SpotQuestions {
                binary: &self.run.binary,
                launch: self.program.reference.launch(),
                user_files: std::slice::from_ref(self.user_file),
                questions: &self.questions,
            };
            self.program.readers.debuggers.look(&asked)
        };
        &self.spot.get_or_init(ask)[index]
    }

    /// The debuggers look at the address, and the build is read natively by the other policies: every reader answers, as
    /// it does when all step, so that the verdict is the same.
    pub fn at_the_spot(&self, index: usize) -> Vec<Reading> {
        let natives = self.natives.get_or_init(|| self.program.step(self.run, |reader| matches!(reader, Reader::Native(_))));
        let mut readings = self.program.readers.readings(self.questions[index].violation, natives);
        readings.extend(self.debuggers_at_the_spot(index).iter().cloned());
        readings
    }
}

/// Whether a debugger's steps tell if it sees a violation. Which call a value belongs to, and what a lost variable's value
/// is, the native engine alone can find out. Whether the value shows, or is optimized out, is then a debugger's to say at the
/// address. A debugger that stepped would be on record as not seeing what it never looked for.
fn is_told_by_steps(invariant: Invariant) -> bool {
    !matches!(invariant, Invariant::Stale | Invariant::Lost)
}

/// A violation counts once a real debugger shows it too, or where none could be asked.
pub fn is_confirmed(readings: &[Reading], screen: EngineKind) -> bool {
    let mut debuggers = readings.iter().filter(|r| !matches!(r.reader, Reader::Native(_))).filter_map(|r| r.sees).peekable();
    screen != EngineKind::Native || debuggers.peek().is_none() || debuggers.any(|sees| sees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_no_policy_predicts_is_not_held_against_one() {
        let has = |engine: EngineKind, policy: Policy| {
            let readers = Readers::beside(&CheckOptions { engine, ..CheckOptions::default() });
            readers.others.iter().any(|other| other.reader == Reader::Native(policy))
        };
        assert!(has(EngineKind::Gdb, Policy::Gdb) && has(EngineKind::Numbered(Debugger::Gdb, 13), Policy::Gdb));
        let new = EngineKind::Numbered(Debugger::Gdb, 18);
        assert!(has(new, Policy::Gdb18) && !has(new, Policy::Gdb) && has(new, Policy::Lldb));
        let unknown = EngineKind::Numbered(Debugger::Gdb, 17);
        assert!(!has(unknown, Policy::Gdb16) && !has(unknown, Policy::Gdb) && has(unknown, Policy::Lldb));
        let lldb = EngineKind::Numbered(Debugger::Lldb, 22);
        assert!(has(lldb, Policy::Lldb22) && !has(lldb, Policy::Lldb) && has(lldb, Policy::Gdb));
    }
}
