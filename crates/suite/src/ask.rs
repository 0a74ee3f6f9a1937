//! Who is asked: the native engine under a policy, or gdb itself.

use crate::answer::EngineSaid;
use crate::script::{Action, BreakpointPlace, ExpectedAnswer, ScriptRun, Test};
use crate::{SuiteError, printed};
use serde::Deserialize;
use std::path::Path;
use trueline_model::{Debugger, EngineKind, FileName, Line, LineKey, Policy};
use trueline_toolchain::{Limits, Tool, ToolKind, find_tool};
use trueline_trace::native::{Answer, Halt, Session};
use trueline_trace::{TraceError, TraceRequest, ask_gdb};

const SCRIPT: &str = include_str!("ask.py");
/// What all runs of one test may take together, the debugger included.
const SECONDS: u64 = 120;
const NOT_REACHED: &str = "the breakpoint is not reached";

/// Somebody who can be asked.
#[derive(Clone, Debug)]
pub enum Asker {
    /// Our own engine, with the habits of a debugger.
    Native(Policy),
    /// gdb, and which.
    Gdb(Tool, EngineKind),
}

/// An answer, and what was expected in the same words.
pub(crate) type Pair = (EngineSaid, EngineSaid);

impl Asker {
    /// Finds an engine.
    pub fn find(kind: EngineKind) -> Result<Self, SuiteError> {
        if kind == EngineKind::Native {
            return Ok(Self::Native(Policy::Gdb));
        }
        if kind.debugger() == Some(Debugger::Gdb) {
            return Ok(Self::Gdb(find_tool(ToolKind::Gdb, kind.program().as_deref())?, kind));
        }
        Err(SuiteError::NoEngine(kind))
    }

    /// What results call the engine.
    pub fn name(&self) -> String {
        match self {
            Self::Native(_) => "native".to_owned(),
            Self::Gdb(_, kind) => kind.to_string(),
        }
    }

    /// Answers the questions of a test, by their numbers; those with a barrier stay open.
    pub(crate) fn ask(&self, binary: &Path, test: &Test) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = test.questions.iter().map(|q| not_asked(q.barrier.as_deref().unwrap_or("it was not asked"))).collect();
        let order = test.runs.iter().flat_map(|r| &r.actions).filter_map(|a| match a {
            Action::Ask(question) => Some(*question),
            Action::Run => None,
        });
        let answers = match self {
            Self::Native(policy) => native(binary, *policy, test).map_err(|e| e.to_string()),
            Self::Gdb(tool, _) => gdb(tool, binary, test),
        };
        match answers {
            Ok(mut answers) => {
                // A debugger that ends early leaves questions open.
                let order: Vec<usize> = order.collect();
                answers.resize(order.len(), not_asked("the debugger ended before it answered"));
                order.into_iter().zip(answers).for_each(|(question, pair)| pairs[question] = pair);
            }
            Err(reason) => order.for_each(|question| pairs[question] = not_asked(&reason)),
        }
        pairs
    }
}

fn not_asked(reason: &str) -> Pair {
    (EngineSaid::NotAsked(reason.to_owned()), EngineSaid::NotAsked(reason.to_owned()))
}

fn file_name(test: &Test) -> String {
    test.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

fn native(binary: &Path, policy: Policy, test: &Test) -> Result<Vec<Pair>, TraceError> {
    let mut request = TraceRequest::new(binary);
    request.policy = policy;
    request.limits = Limits::seconds(SECONDS);
    request.debug = Some(Session::read(&request)?);
    let mut answers = Vec::new();
    for run in &test.runs {
        native_run(&request, test, run, &mut answers)?;
    }
    Ok(answers)
}

fn native_run(request: &TraceRequest, test: &Test, run: &ScriptRun, answers: &mut Vec<Pair>) -> Result<(), TraceError> {
    let mut session = Session::start(request)?;
    let mut placed = 0;
    for place in &run.breaks {
        placed += match place {
            BreakpointPlace::Line(line) => session.break_at(&LineKey { file: FileName::new(&file_name(test)), line: Line(*line) })?,
            BreakpointPlace::Function(name) => session.break_in(name)?,
        };
    }
    let mut is_there = false;
    for (number, action) in run.actions.iter().enumerate() {
        match action {
            Action::Run => is_there = placed > 0 && (number == 0 || is_there) && matches!(session.go_on()?, Halt::At(_)),
            Action::Ask(_) if !is_there => {
                answers.push((EngineSaid::NotReached(NOT_REACHED.into()), EngineSaid::NotReached(NOT_REACHED.into())))
            }
            Action::Ask(question) => {
                let question = &test.questions[*question];
                let mut look = |text: &str| match session.understand(text) {
                    Ok(expression) => session.look(&expression),
                    Err(reason) => Answer::Unsupported(reason.to_string()),
                };
                let answer = look(&question.expression);
                let expected = match &question.expected {
                    ExpectedAnswer::Expression(text) => look(text),
                    ExpectedAnswer::Printed(pattern) => printed::expected(pattern, &answer),
                };
                answers.push((EngineSaid::There(answer), EngineSaid::There(expected)));
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct ToldAnswer {
    answer: SaidAnswer,
    expected: Option<SaidAnswer>,
    printed: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "text")]
enum SaidAnswer {
    Value(String),
    OptimizedOut,
    NotInScope,
    Unreadable(String),
    Refused(String),
    Unsupported(String),
    NotReached(String),
}

impl From<SaidAnswer> for EngineSaid {
    fn from(said: SaidAnswer) -> Self {
        Self::There(match said {
            SaidAnswer::Value(text) => Answer::Value(text),
            SaidAnswer::OptimizedOut => Answer::OptimizedOut,
            SaidAnswer::NotInScope => Answer::NotInScope,
            SaidAnswer::Unreadable(reason) => Answer::Unreadable(reason),
            SaidAnswer::Refused(reason) => Answer::Refused(reason),
            SaidAnswer::Unsupported(reason) => Answer::Unsupported(reason),
            SaidAnswer::NotReached(reason) => return Self::NotReached(reason),
        })
    }
}

fn gdb(tool: &Tool, binary: &Path, test: &Test) -> Result<Vec<Pair>, String> {
    let file = file_name(test);
    let place = |place: &BreakpointPlace| match place {
        BreakpointPlace::Line(line) => format!("{file}:{line}"),
        BreakpointPlace::Function(name) => name.clone(),
    };
    let action = |action: &Action| match action {
        Action::Run => serde_json::Value::Null,
        Action::Ask(question) => {
            let question = &test.questions[*question];
            let expected = match &question.expected {
                ExpectedAnswer::Expression(text) => Some(text),
                ExpectedAnswer::Printed(_) => None,
            };
            serde_json::json!([question.expression, expected])
        }
    };
    let runs: Vec<serde_json::Value> = test
        .runs
        .iter()
        .map(|run| {
            let (breaks, actions): (Vec<_>, Vec<_>) = (run.breaks.iter().map(place).collect(), run.actions.iter().map(action).collect());
            serde_json::json!({ "breaks": breaks, "actions": actions })
        })
        .collect();
    let questions = serde_json::Value::Array(runs).to_string();
    let outcome = ask_gdb(tool, SCRIPT, &questions, binary, Limits::seconds(SECONDS)).map_err(|e| e.to_string())?;
    let text = outcome.stdout_text();
    let said = text.lines().filter_map(|line| serde_json::from_str::<ToldAnswer>(line).ok());
    let asked = test.runs.iter().flat_map(|r| &r.actions).filter_map(|a| match a {
        Action::Ask(question) => Some(&test.questions[*question]),
        Action::Run => None,
    });
    let pair = |(question, line): (&crate::script::TestQuestion, ToldAnswer)| {
        let answer = EngineSaid::from(line.answer);
        let expected = match (line.expected, &question.expected) {
            (Some(expected), _) => expected.into(),
            (None, ExpectedAnswer::Printed(pattern)) => EngineSaid::There(printed::in_gdbs_words(pattern, &line.printed, &answer)),
            (None, ExpectedAnswer::Expression(_)) => EngineSaid::NotAsked("gdb was not asked what is expected".into()),
        };
        (answer, expected)
    };
    Ok(asked.zip(said).map(pair).collect())
}
