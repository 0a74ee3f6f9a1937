//! Who is asked: the native engine under a policy, or gdb itself.

use crate::answer::{Said, SaidAnswer, Told as Verdicts, judge};
use crate::script::{Action, Place, Plan, Run, Test};
use crate::seat::{DebuggerSeat, NativeSeat, Seat};
use crate::{Format, SuiteError, dexter, rustc};
use serde::Deserialize;
use std::path::Path;
use trueline_model::{Debugger, EngineKind, FileName, Line, LineKey, Policy};
use trueline_toolchain::{Limits, Tool, ToolKind, find_tool};
use trueline_trace::native::{Answer, Halt, Session};
use trueline_trace::{TraceError, TraceRequest, ask_gdb};

const SCRIPT: &str = concat!(include_str!("gdb_common.py"), include_str!("ask.py"));
/// What all runs of one test may take together, the debugger included.
const SECONDS: u64 = 120;
const NOT_REACHED: &str = "the breakpoint is not reached";

/// Somebody who can be asked.
#[derive(Clone, Debug)]
pub enum Asker {
    /// Our own engine, with the habits of a debugger.
    Native(Policy),
    /// A real debugger, and which.
    Debugger(Tool, EngineKind),
}

/// An answer, and what was expected in the same words.
type Pair = (Said, Said);

impl Asker {
    /// Finds an engine for a suite; the policy is the native one's.
    pub fn find(kind: EngineKind, format: Format, policy: Policy) -> Result<Self, SuiteError> {
        let family = match kind.debugger() {
            None => return Ok(Self::Native(policy)),
            Some(Debugger::Gdb) => ToolKind::Gdb,
            Some(Debugger::Lldb) if format == Format::Guality => return Err(SuiteError::NoEngine(kind)),
            Some(Debugger::Lldb) => ToolKind::Lldb,
        };
        Ok(Self::Debugger(find_tool(family, kind.program().as_deref())?, kind))
    }

    /// What results call the engine.
    pub fn name(&self) -> String {
        match self {
            Self::Native(_) => "native".to_owned(),
            Self::Debugger(_, kind) => kind.to_string(),
        }
    }

    /// Which debugger it is; none for the native engine.
    pub(crate) fn debugger(&self) -> Option<Debugger> {
        match self {
            Self::Native(_) => None,
            Self::Debugger(_, kind) => kind.debugger(),
        }
    }

    /// Answers the questions of a test, by their numbers; those with a barrier stay open.
    pub(crate) fn ask(&self, binary: &Path, test: &Test) -> Vec<Verdicts> {
        let barred = |q: &crate::Question| Verdicts::not_asked(q.barrier.as_deref().unwrap_or("it was not asked"));
        let mut told: Vec<Verdicts> = test.questions.iter().map(barred).collect();
        let answers: Result<Vec<(usize, Verdicts)>, String> = match &test.plan {
            Plan::Breaks(runs) => self.breaks(binary, test, runs),
            Plan::Transcript(transcripts) => rustc::follow(self, binary, test, transcripts),
            Plan::Walk(script) => dexter::follow(self, binary, test, script),
        };
        match answers {
            Ok(answers) => answers.into_iter().for_each(|(question, verdict)| told[question] = verdict),
            Err(reason) => {
                let open = told.iter_mut().zip(&test.questions).filter(|(_, q)| q.barrier.is_none());
                open.for_each(|(told, _)| *told = Verdicts::not_asked(&reason));
            }
        }
        told
    }

    /// Somewhere to sit and drive the program from.
    pub(crate) fn seat(&self, binary: &Path, file: &str, arguments: &[String]) -> Result<Box<dyn Seat>, String> {
        Ok(match self {
            Self::Native(policy) => Box::new(NativeSeat::start(*policy, binary, file, arguments, SECONDS)?),
            Self::Debugger(tool, kind) => Box::new(DebuggerSeat::start(*kind, tool, binary, file, arguments, SECONDS)?),
        })
    }

    fn breaks(&self, binary: &Path, test: &Test, runs: &[Run]) -> Result<Vec<(usize, Verdicts)>, String> {
        let order = runs.iter().flat_map(|r| &r.actions).filter_map(|a| match a {
            Action::Ask(question) => Some(*question),
            Action::Run => None,
        });
        let order: Vec<usize> = order.collect();
        let mut answers = match self {
            Self::Native(policy) => native(binary, *policy, test, runs).map_err(|e| e.to_string())?,
            Self::Debugger(tool, _) => gdb(tool, binary, test, runs)?,
        };
        // A debugger that ends early leaves questions open.
        answers.resize(order.len(), not_asked("the debugger ended before it answered"));
        let judged = answers.into_iter().map(|(said, expected)| Verdicts { verdict: judge(&said, &expected), said });
        Ok(order.into_iter().zip(judged).collect())
    }
}

fn not_asked(reason: &str) -> Pair {
    (Said::NotAsked(reason.to_owned()), Said::NotAsked(reason.to_owned()))
}

pub(crate) fn file_name(test: &Test) -> String {
    test.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

fn native(binary: &Path, policy: Policy, test: &Test, runs: &[Run]) -> Result<Vec<Pair>, TraceError> {
    let mut request = TraceRequest::new(binary);
    request.policy = policy;
    request.limits = Limits::seconds(SECONDS);
    request.debug = Some(Session::read(&request)?);
    let mut answers = Vec::new();
    for run in runs {
        native_run(&request, test, run, &mut answers)?;
    }
    Ok(answers)
}

fn native_run(request: &TraceRequest, test: &Test, run: &Run, answers: &mut Vec<Pair>) -> Result<(), TraceError> {
    let mut session = Session::start(request)?;
    let mut placed = 0;
    for place in &run.breaks {
        placed += match place {
            Place::Line(line) => session.break_at(&LineKey { file: FileName::new(&file_name(test)), line: Line(*line) })?,
            Place::Function(name) => session.break_in(name)?,
        };
    }
    let mut is_there = false;
    for (number, action) in run.actions.iter().enumerate() {
        match action {
            Action::Run => is_there = placed > 0 && (number == 0 || is_there) && matches!(session.go_on()?, Halt::At(_)),
            Action::Ask(_) if !is_there => answers.push((Said::NotReached(NOT_REACHED.into()), Said::NotReached(NOT_REACHED.into()))),
            Action::Ask(question) => {
                let question = &test.questions[*question];
                let mut look = |text: &str| match session.understand(text) {
                    Ok(expression) => session.look(&expression),
                    Err(reason) => Answer::Unsupported(reason.to_string()),
                };
                let answer = look(&question.expression);
                let expected = look(question.expected.text());
                answers.push((Said::There(answer), Said::There(expected)));
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Told {
    answer: SaidAnswer,
    expected: Option<SaidAnswer>,
}

fn gdb(tool: &Tool, binary: &Path, test: &Test, runs: &[Run]) -> Result<Vec<Pair>, String> {
    let file = file_name(test);
    let place = |place: &Place| match place {
        Place::Line(line) => format!("{file}:{line}"),
        Place::Function(name) => name.clone(),
    };
    let action = |action: &Action| match action {
        Action::Run => serde_json::Value::Null,
        Action::Ask(question) => {
            let question = &test.questions[*question];
            serde_json::json!([question.expression, question.expected.text()])
        }
    };
    let runs: Vec<serde_json::Value> = runs
        .iter()
        .map(|run| {
            let (breaks, actions): (Vec<_>, Vec<_>) = (run.breaks.iter().map(place).collect(), run.actions.iter().map(action).collect());
            serde_json::json!({ "breaks": breaks, "actions": actions })
        })
        .collect();
    let questions = serde_json::Value::Array(runs).to_string();
    let outcome = ask_gdb(tool, SCRIPT, &questions, binary, Limits::seconds(SECONDS)).map_err(|e| e.to_string())?;
    let text = outcome.stdout_text();
    let said = text.lines().filter_map(|line| serde_json::from_str::<Told>(line).ok());
    let pair = |line: Told| {
        let expected = line.expected.map_or_else(|| Said::NotAsked("gdb was not asked what is expected".into()), Said::from);
        (Said::from(line.answer), expected)
    };
    Ok(said.map(pair).collect())
}
