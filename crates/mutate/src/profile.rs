//! Profiling (4.1, 4.5.1): instrument sampled points, run, collect the values seen.
//!
//! The instrumented program runs under MemorySanitizer. That refuses programs that read uninitialized
//! memory, and it lets the recorder ask for every single value whether it was initialized, so that looking at
//! a variable before its first assignment is no mistake of ours. It runs twice, at different addresses, and a third
//! time as gcc builds it: C leaves the order in which operands and arguments are evaluated open, clang goes from the left and gcc
//! mostly from the right, and a program may print the same either way while a variable in between does not
//! hold the same. What differs between the runs is not a property of the program and is dropped.
//!
//! Recorders of values are ten times the text of a long program, and most of its points are never reached: there a plain run
//! tells first where values are worth recording, which changes the cost and not the profile.

use crate::env::{Env, EnvSlot};
use crate::numbers::{KnownNumbers, Progression};
use crate::point::{InsertPoint, InsertionPlace};
use crate::refusal::{MutateError, MutationRefusal};
use crate::sanitizer::{FLAGS, PLAIN_FLAGS, Profiler};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use trueline_ctree::{Edits, IntKind, Lvalue, SourceUnit};
use trueline_model::Program;
use trueline_toolchain::{BuildError, Compiler, Confinement, Exit, Job, Limits, Outcome, Permissions, Scratch, starvation};

/// Seconds a program may run: generated ones take milliseconds, or for ever.
const RUN_SECONDS: u64 = 5;

/// The signal that ends a process whose CPU time is used up (SIGXCPU).
const OUT_OF_TIME: i32 = 24;

/// Seconds by the clock after which even a process that waits for its turn is given up.
const BUSY: Duration = Duration::from_secs(300);

/// Values to be recorded from which a run that only counts pays: compiling recorders for two hundred of csmith's points takes
/// 0.7 CPU-seconds with MemorySanitizer, compiling the program with counters 0.15.
const MANY_VALUES: usize = 1500;

/// What happened at a sampled point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointVisit {
    /// It was never reached.
    Never,
    /// It was reached so many times, in these states.
    Reached(u64, Env),
}

/// The profile of a program on its one input.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The sampled points with what happened there.
    pub visits: Vec<(InsertPoint, PointVisit)>,
    /// What the program printed.
    pub output: Vec<u8>,
    /// The code it exited with.
    pub exit_code: i32,
    /// CPU time of instrumented compilation and runs.
    pub cpu: Duration,
}

impl Profile {
    /// Points that were reached with something known.
    pub fn live(&self) -> usize {
        self.visits.iter().filter(|(_, v)| matches!(v, PointVisit::Reached(_, env) if !env.is_empty())).count()
    }

    /// Points that were never reached.
    pub fn dead(&self) -> usize {
        self.visits.iter().filter(|(_, v)| *v == PointVisit::Never).count()
    }
}

/// A sampled point with what is to be recorded there.
pub(crate) struct SampledPoint {
    pub(crate) point: InsertPoint,
    pub(crate) lvalues: Vec<Lvalue>,
}

/// Bit-fields wider than `int` have types of their own in gcc and other ones in clang.
pub(crate) fn is_portable(lvalue: &Lvalue) -> bool {
    lvalue.width.is_none_or(|width| lvalue.ty.kind != IntKind::Bool && (width < 32 || lvalue.ty.bits() <= 32))
}

/// Profiles a program at the given points.
pub(crate) fn profile(
    unit: &SourceUnit,
    program: &Program,
    sampled: Vec<SampledPoint>,
    profiler: &Profiler,
) -> Result<Profile, MutateError> {
    let mut session = ProfileSession::open(unit, program, profiler)?;
    let many = sampled.iter().map(|s| s.lvalues.len()).sum::<usize>() > MANY_VALUES;
    let reached = match &profiler.gcc {
        Some(gcc) if many => session.count(gcc, &instrument(unit, &sampled, |_| false))?,
        _ => None,
    };
    match reached {
        Some(reached) => session.write(&instrument(unit, &sampled, |id| reached.contains_key(&id)))?,
        None => session.write(&instrument(unit, &sampled, |_| true))?,
    }
    let built = session.build(&profiler.compiler, &FLAGS, "profiled")?;
    if !built.success() {
        let message = built.stderr_text();
        let line = error_line(&message, SOURCE_NAME).unwrap_or(1);
        let silent = if built.exit == Exit::TimedOut { "it takes too long" } else { "no reason given" };
        let first = message.lines().find(|l| l.contains("error")).unwrap_or(silent).to_owned();
        return Err(session.refusal(line, format!("{} does not compile it: {first}", profiler.compiler.id)).into());
    }
    let mut runs = vec![session.run("profiled", "first")?, session.run("profiled", "second")?];
    // A program that gcc does not compile will not be mutated for gcc.
    if let Some(gcc) = &profiler.gcc
        && session.build(gcc, &PLAIN_FLAGS, "reordered")?.success()
    {
        runs.push(session.run("reordered", "third")?);
    }
    if !runs[0].behaves_as(&runs[1]) {
        return Err(session.refusal(1, "two runs of the program print different things".to_owned()).into());
    }
    if runs.get(2).is_some_and(|third| !third.behaves_as(&runs[0])) {
        return Err(session.refusal(1, "what the program prints depends on the compiler, already at -O0".to_owned()).into());
    }
    let records: Vec<&Record> = runs.iter().map(|run| &run.record).collect();
    let visits = merge(sampled, &records);
    let ProfiledRun { output, exit_code, .. } = runs.swap_remove(0);
    Ok(Profile { visits, output, exit_code, cpu: session.cpu })
}

/// The name of the instrumented program's file.
const SOURCE_NAME: &str = "profiled.c";

/// The builds and runs of one profile, and what they cost.
struct ProfileSession<'s> {
    unit: &'s SourceUnit,
    program: &'s Program,
    profiler: &'s Profiler,
    scratch: Scratch,
    cpu: Duration,
}

/// One good run of an instrumented program.
struct ProfiledRun {
    output: Vec<u8>,
    exit_code: i32,
    record: Record,
}

impl ProfiledRun {
    fn behaves_as(&self, other: &Self) -> bool {
        (&self.output, self.exit_code) == (&other.output, other.exit_code)
    }
}

impl<'s> ProfileSession<'s> {
    fn open(unit: &'s SourceUnit, program: &'s Program, profiler: &'s Profiler) -> Result<Self, MutateError> {
        let scratch = Scratch::new().map_err(|source| MutateError::Io { path: std::env::temp_dir(), source })?;
        Ok(Self { unit, program, profiler, scratch, cpu: Duration::ZERO })
    }

    fn refusal(&self, line: u32, reason: String) -> MutationRefusal {
        MutationRefusal { name: self.unit.name().to_owned(), line, reason }
    }

    /// Puts an instrumented text in the place of the one before.
    fn write(&self, text: &str) -> Result<(), MutateError> {
        let written = self.scratch.write(SOURCE_NAME, text);
        written.map(drop).map_err(|source| MutateError::Io { path: self.scratch.join(SOURCE_NAME), source })
    }

    fn build(&mut self, compiler: &Compiler, flags: &[&str], name: &str) -> Result<Outcome, MutateError> {
        let source = self.scratch.join(SOURCE_NAME);
        let job = compiler.job().args(flags).args(&self.program.cflags).arg(&source).arg(&self.profiler.runtime);
        let job = job.arg("-o").arg(self.scratch.join(name)).env("TMPDIR", self.scratch.path());
        // CPU time is what is limited: on a busy machine everything waits longer than it works.
        let built = job.limits(Limits { wall: BUSY, ..Limits::seconds(60) }).run()?;
        self.cpu += built.cpu;
        match starvation(&built.stderr_text(), built.exit) {
            Some(reason) => Err(BuildError::Starved { compiler: compiler.id.to_string(), source_file: source, reason }.into()),
            None => Ok(built),
        }
    }

    fn run(&mut self, binary: &str, name: &str) -> Result<ProfiledRun, MutateError> {
        let record = self.scratch.join(name);
        let outcome = run_profiled(&self.scratch.join(binary), &record, self.profiler)?;
        self.cpu += outcome.cpu;
        let exit_code = judge_run(&outcome, SOURCE_NAME).map_err(|(line, reason)| self.refusal(line, reason))?;
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        if !text.ends_with("end\n") {
            let reason = "the program does not end by returning from `main` or calling `exit`";
            return Err(self.refusal(1, reason.to_owned()).into());
        }
        Ok(ProfiledRun { output: outcome.stdout, exit_code, record: read_record(&text) })
    }

    /// What a text that only counts reaches; `None` when it does not compile or ends badly, for which the sanitizer may have a
    /// better reason. One that does not end will not end there either.
    fn count(&mut self, compiler: &Compiler, text: &str) -> Result<Option<Record>, MutateError> {
        self.write(text)?;
        if !self.build(compiler, &PLAIN_FLAGS, "counting")?.success() {
            return Ok(None);
        }
        let before = self.cpu;
        match self.run("counting", "counted") {
            Ok(run) => Ok(Some(run.record)),
            Err(MutateError::Refused(_)) if self.cpu - before < Duration::from_secs(RUN_SECONDS) / 2 => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The text with a recorder in front of every sampled statement; it only counts where values are not wanted. Reports name
/// the lines of the original.
fn instrument(unit: &SourceUnit, sampled: &[SampledPoint], wants_values: impl Fn(usize) -> bool) -> String {
    let mut edits = Edits::new();
    // On a line of its own: the program may begin with a directive.
    edits.insert_before(0, format!("extern void __tl_point(int, const long long *, int);\n#line 1 \"{SOURCE_NAME}\"\n"));
    for (id, sample) in sampled.iter().enumerate() {
        let values: Vec<String> = sample.lvalues.iter().map(|l| format!("(long long){}", l.path)).collect();
        let recorder = if values.is_empty() || !wants_values(id) {
            format!("__tl_point({id}, 0, 0); ")
        } else {
            format!("{{ long long __tl_v[] = {{ {} }}; __tl_point({id}, __tl_v, {}); }} ", values.join(", "), values.len())
        };
        match sample.point.place {
            InsertionPlace::Block => edits.insert_before(sample.point.span.start, recorder),
            InsertionPlace::Alone => edits.wrap(sample.point.span, format!("{{ {recorder}"), " }"),
        };
    }
    edits.apply(unit.text()).expect("insertions at statement borders fit the text they came from")
}

fn run_profiled(binary: &std::path::Path, record: &std::path::Path, profiler: &Profiler) -> Result<Outcome, MutateError> {
    // MemorySanitizer reserves terabytes of address space.
    let limits = Limits { memory: None, output: 4 << 20, wall: BUSY, ..Limits::seconds(RUN_SECONDS) };
    let mut job = Job::new(binary).env("TRUELINE_PROFILE", record).env("MSAN_OPTIONS", "exit_code=86:print_summary=0").limits(limits);
    // The program is a stranger's: it may write its record and nothing else.
    job = job
        .confine(Confinement::Guarded { writable: record.parent().map(Into::into).into_iter().collect(), allowed: Permissions::default() });
    if let Some(symbolizer) = &profiler.symbolizer {
        job = job.env("MSAN_SYMBOLIZER_PATH", symbolizer);
    }
    Ok(job.run()?)
}

/// The exit code of a good run, or line and reason of a bad one.
fn judge_run(outcome: &Outcome, source_name: &str) -> Result<i32, (u32, String)> {
    let report = outcome.stderr_text();
    if report.contains("MemorySanitizer: use-of-uninitialized-value") {
        let line = error_line(&report, source_name).unwrap_or(1);
        return Err((line, "the program reads uninitialized memory".to_owned()));
    }
    // MemorySanitizer catches deadly signals, reports them with their line and exits by itself.
    if let Some(at) = report.find("ERROR: MemorySanitizer: ") {
        let word = report[at + "ERROR: MemorySanitizer: ".len()..].split_whitespace().next().unwrap_or("an error");
        return Err((error_line(&report, source_name).unwrap_or(1), format!("the program dies of a signal ({word})")));
    }
    match outcome.exit {
        Exit::Code(code) => Ok(code),
        Exit::Signal(OUT_OF_TIME) => Err((1, format!("the program runs for more than {RUN_SECONDS} s"))),
        Exit::Signal(signal) => Err((error_line(&report, source_name).unwrap_or(1), format!("the program dies of signal {signal}"))),
        Exit::TimedOut => Err((1, format!("the program runs for more than {RUN_SECONDS} s"))),
        Exit::TooMuchOutput | Exit::Stopped => Err((1, "the program prints more than 4 MiB".to_owned())),
    }
}

/// The first `profiled.c:LINE` of a report.
fn error_line(report: &str, source_name: &str) -> Option<u32> {
    let at = report.find(&format!("{source_name}:"))? + source_name.len() + 1;
    let digits: String = report[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

type Record = BTreeMap<usize, (u64, BTreeMap<usize, SeenNumbers>)>;

/// What a slot was seen to hold, its 64 bits read as signed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SeenNumbers {
    /// Few enough values to list them all.
    Values(BTreeSet<i64>),
    /// Too many to list: from the first to the second, at distances that the third divides.
    Interval(i64, i64, u64),
}

impl SeenNumbers {
    /// The numbers of a variable; `None` where an interval of signed numbers is none of unsigned ones.
    fn numbers(&self, is_signed: bool) -> Option<KnownNumbers> {
        let number = |n: i64| if is_signed { i128::from(n) } else { i128::from(n as u64) };
        match self {
            Self::Values(values) => Some(values.iter().map(|&v| number(v)).collect()),
            Self::Interval(low, high, _) if number(*low) > number(*high) => None,
            Self::Interval(low, high, step) => Some(KnownNumbers::Spaced(Progression::new(number(*low), number(*high), i128::from(*step)))),
        }
    }
}

fn read_record(text: &str) -> Record {
    let mut record = Record::new();
    let mut current = 0;
    for line in text.lines() {
        let mut words = line.split(' ');
        let kind = words.next();
        let mut numbers = words.clone().filter_map(|w| w.parse::<i64>().ok());
        match kind {
            Some("p") => {
                current = numbers.next().unwrap_or_default() as usize;
                record.insert(current, (numbers.next().unwrap_or_default() as u64, BTreeMap::new()));
            }
            Some("s") => {
                if let (Some(slot), Some(point)) = (numbers.next(), record.get_mut(&current)) {
                    point.1.insert(slot as usize, SeenNumbers::Values(numbers.collect()));
                }
            }
            Some("r") => {
                let step = words.next_back().and_then(|w| w.parse::<u64>().ok());
                let ends = (numbers.next(), numbers.next(), numbers.next());
                if let ((Some(slot), Some(low), Some(high)), Some(step), Some(point)) = (ends, step, record.get_mut(&current)) {
                    point.1.insert(slot as usize, SeenNumbers::Interval(low, high, step));
                }
            }
            _ => {}
        }
    }
    record
}

/// Keeps what all runs agree on.
fn merge(sampled: Vec<SampledPoint>, records: &[&Record]) -> Vec<(InsertPoint, PointVisit)> {
    let visit = |(id, sample): (usize, SampledPoint)| {
        let seen: Vec<_> = records.iter().filter_map(|record| record.get(&id)).collect();
        let Some((hits, first)) = seen.first() else { return (sample.point, PointVisit::Never) };
        if seen.len() < records.len() {
            // Reached in some runs only: the program is not as deterministic as its output; leave it alone.
            return (sample.point, PointVisit::Reached(1, Env::default()));
        }
        let slots = sample.lvalues.into_iter().enumerate().filter_map(|(i, lvalue)| {
            let values = first.get(&i).filter(|values| seen.iter().all(|(_, other)| other.get(&i) == Some(values)))?;
            let values = values.numbers(lvalue.ty.signed)?;
            Some(EnvSlot { path: lvalue.path, ty: lvalue.ty, width: lvalue.width, access: lvalue.access, reach: lvalue.reach, values })
        });
        (sample.point, PointVisit::Reached(*hits, Env { slots: slots.collect() }))
    };
    sampled.into_iter().enumerate().map(visit).collect()
}
