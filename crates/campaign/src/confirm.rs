//! The other readers: whoever else can read the same debug information is shown the same two builds.

use crate::glance::Posts;
use std::cell::OnceCell;
use std::sync::OnceLock;
use trueline_check::{CheckOptions, CheckRun, Checker, Reference};
use trueline_model::{EngineKind, Policy, Reader, Violation};
use trueline_store::ReaderRecord;

/// A reader and the checker that asks it, made when first needed: starting a debugger takes a second.
struct Seat {
    reader: Reader,
    options: CheckOptions,
    checker: OnceLock<Result<Checker, String>>,
}

/// Every reader but the one that screens.
pub struct Readers {
    screen: Reader,
    seats: Vec<Seat>,
    posts: Posts,
}

/// What a reader sees of a build, asked once per unit and reader.
pub struct Testimony {
    reader: Reader,
    violations: Result<Vec<Violation>, String>,
}

/// The reader an engine is.
pub fn reader_of(engine: EngineKind, policy: Policy) -> Reader {
    match engine {
        EngineKind::Native => Reader::Native(policy),
        EngineKind::Gdb => Reader::Gdb,
        EngineKind::Lldb => Reader::Lldb,
    }
}

impl Readers {
    /// The readers beside the one that screens with `options`.
    pub fn beside(options: &CheckOptions) -> Self {
        let screen = reader_of(options.engine, options.policy);
        let all = [
            (EngineKind::Native, Policy::Gdb),
            (EngineKind::Native, Policy::Lldb),
            (EngineKind::Native, Policy::Standard),
            (EngineKind::Gdb, Policy::Gdb),
            (EngineKind::Lldb, Policy::Lldb),
        ];
        let seat = |(engine, policy): (EngineKind, Policy)| Seat {
            reader: reader_of(engine, policy),
            options: CheckOptions { engine, policy, ..options.clone() },
            checker: OnceLock::new(),
        };
        Self { screen, seats: all.into_iter().map(seat).filter(|s| s.reader != screen).collect(), posts: Posts::beside(screen) }
    }

    /// A hearing about the builds of one program by one compiler.
    pub fn hearing<'r>(&'r self, reference: &'r Reference) -> Hearing<'r> {
        Hearing { readers: self, reference, rereads: self.seats.iter().map(|_| OnceCell::new()).collect() }
    }

    /// The debuggers that are asked at the spot.
    pub fn posts(&self) -> &Posts {
        &self.posts
    }

    /// What the screening reader itself says.
    pub fn screening(&self, violation: &Violation) -> ReaderRecord {
        ReaderRecord { reader: self.screen, sees: true, detail: shown(violation) }
    }

    /// What everybody says about one violation.
    pub fn records(&self, violation: &Violation, testimonies: &[Testimony]) -> Vec<ReaderRecord> {
        let mut records = vec![self.screening(violation)];
        for testimony in testimonies {
            // Who could not be asked is not on record as not seeing it.
            let Ok(violations) = &testimony.violations else { continue };
            let same = violations.iter().find(|v| v.same_as(violation));
            let detail = same.map_or_else(|| "does not see it".to_owned(), shown);
            records.push(ReaderRecord { reader: testimony.reader, sees: same.is_some(), detail });
        }
        records
    }

    /// Readers that could not be asked, with their reasons.
    pub fn silent<'t>(&self, testimonies: &'t [Testimony]) -> Vec<(Reader, &'t str)> {
        testimonies.iter().filter_map(|t| t.violations.as_ref().err().map(|e| (t.reader, e.as_str()))).collect()
    }
}

/// Each reader's view of one -O0 build, read once and kept for all levels.
pub struct Hearing<'r> {
    readers: &'r Readers,
    reference: &'r Reference,
    rereads: Vec<OnceCell<Result<Reference, String>>>,
}

impl Hearing<'_> {
    /// Shows a build to every reader, each of which steps through it.
    pub fn ask(&self, run: &CheckRun) -> Vec<Testimony> {
        self.ask_those(run, |_| true)
    }

    /// Reads a build natively by the other policies: the cheap half of [`Hearing::ask`].
    pub fn ask_natives(&self, run: &CheckRun) -> Vec<Testimony> {
        self.ask_those(run, |reader| matches!(reader, Reader::Native(_)))
    }

    fn ask_those(&self, run: &CheckRun, wanted: impl Fn(Reader) -> bool) -> Vec<Testimony> {
        let seats = self.readers.seats.iter().zip(&self.rereads).filter(|(seat, _)| wanted(seat.reader));
        seats.map(|(seat, reread)| Testimony { reader: seat.reader, violations: self.question(seat, reread, run) }).collect()
    }

    fn question(&self, seat: &Seat, reread: &OnceCell<Result<Reference, String>>, run: &CheckRun) -> Result<Vec<Violation>, String> {
        let made = seat.checker.get_or_init(|| Checker::new(seat.options.clone()).map_err(|e| e.to_string()));
        let checker = made.as_ref().map_err(Clone::clone)?;
        let reference = reread.get_or_init(|| checker.reread(self.reference).map_err(|e| e.to_string()));
        let reference = reference.as_ref().map_err(Clone::clone)?;
        Ok(checker.recheck(reference, run).map_err(|e| e.to_string())?.violations)
    }
}

fn shown(v: &Violation) -> String {
    let frames = v.frames.join(" < ");
    match (&v.variable, &v.value) {
        (Some(variable), Some(value)) => format!("line {} in {frames}: {variable} = {value}", v.line),
        (Some(variable), None) => format!("line {} in {frames}: {variable} is visible", v.line),
        _ => format!("line {} in {frames}", v.line),
    }
}

/// A violation counts once a real debugger shows it too, or two independent readings where none could be asked.
pub fn confirmed(records: &[ReaderRecord], screen_is_debugger: bool) -> bool {
    let debuggers: Vec<&ReaderRecord> = records.iter().filter(|r| !matches!(r.reader, Reader::Native(_))).collect();
    screen_is_debugger || debuggers.is_empty() || debuggers.iter().any(|r| r.sees)
}
