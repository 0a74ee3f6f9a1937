//! One test: built once, put to every engine.

use crate::answer::{Said, Told, agree};
use crate::script::{Question, Test};
use crate::{Asker, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueline_model::OptLevel;
use trueline_toolchain::{CompileRequest, Compiler, Scratch};
use trueline_trace::native::Answer;

/// What one engine said to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EngineOutcome {
    /// The engine.
    pub engine: String,
    /// What it said.
    pub said: String,
    /// Whether that is right.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// One question with everybody's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Asked {
    /// The line of the breakpoint.
    pub line: u32,
    /// What was asked for.
    pub expression: String,
    /// What it must be.
    pub expected: String,
    /// One for each engine, in the order they were named.
    pub outcomes: Vec<EngineOutcome>,
    /// Whether all engines gave one answer; none where fewer than two could be asked.
    pub same: Option<bool>,
}

/// One test at one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TestOutcome {
    /// The file.
    pub test: PathBuf,
    /// The compiler that built it.
    pub compiler: String,
    /// The level it was built at.
    pub level: String,
    /// Its questions.
    pub asked: Vec<Asked>,
}

/// Verdicts of one engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// Right values.
    pub pass: usize,
    /// Wrong or missing ones.
    pub fail: usize,
    /// Questions that nobody can judge.
    pub unsupported: usize,
}

/// How many questions several engines gave one answer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Agreement {
    /// Questions with one answer.
    pub same: usize,
    /// Questions that at least two engines could be asked.
    pub of: usize,
}

/// Builds a test and asks every engine.
pub fn run_test(test: &Test, compiler: &Compiler, level: OptLevel, flags: &[String], askers: &[Asker]) -> TestOutcome {
    let built = match &test.skipped {
        Some(reason) => Err(reason.clone()),
        None => build(test, compiler, level, flags),
    };
    let answers: Vec<Vec<Told>> = askers
        .iter()
        .map(|asker| match &built {
            Ok((binary, _)) => asker.ask(binary, test),
            Err(reason) => vec![Told::not_asked(reason); test.questions.len()],
        })
        .collect();
    let asked = test.questions.iter().enumerate().map(|(number, question)| {
        let here: Vec<&Told> = answers.iter().map(|of| &of[number]).collect();
        asked(question, askers, &here)
    });
    let compiler = compiler.id.to_string();
    TestOutcome { test: test.path.clone(), compiler, level: level.to_string(), asked: asked.collect() }
}

fn asked(question: &Question, askers: &[Asker], answers: &[&Told]) -> Asked {
    let of = |told: &&Told| -> (Said, Verdict) { (told.said.clone(), told.verdict.clone()) };
    // Who was not asked has no part in whether those who were agree.
    let asked: Vec<(Said, Verdict)> = answers.iter().filter(|t| !matches!(t.said, Said::NotAsked(_))).map(of).collect();
    let pairs: Vec<bool> = asked.windows(2).filter_map(|pair| agree((&pair[0].0, &pair[0].1), (&pair[1].0, &pair[1].1))).collect();
    let same = (!pairs.is_empty()).then(|| pairs.iter().all(|&same| same));
    let outcomes = askers.iter().zip(answers).map(|(asker, told)| EngineOutcome {
        engine: asker.name(),
        said: spell(&told.said),
        verdict: told.verdict.clone(),
    });
    let expected = question.expected.text().to_owned();
    Asked { line: question.line, expression: question.expression.clone(), expected, outcomes: outcomes.collect(), same }
}

fn spell(said: &Said) -> String {
    match said {
        Said::There(Answer::Value(text)) => text.clone(),
        Said::There(Answer::OptimizedOut) => "<optimized out>".into(),
        Said::There(Answer::NotInScope) => "<not in scope>".into(),
        Said::There(Answer::Unreadable(reason)) => format!("<unreadable: {reason}>"),
        Said::There(Answer::Refused(reason)) => format!("<refused: {reason}>"),
        Said::There(Answer::Unsupported(reason)) => format!("<not understood: {reason}>"),
        Said::NotReached(reason) => format!("<not reached: {reason}>"),
        Said::NotAsked(reason) => format!("<not asked: {reason}>"),
    }
}

fn build(test: &Test, compiler: &Compiler, level: OptLevel, flags: &[String]) -> Result<(PathBuf, Scratch), String> {
    let scratch = Scratch::new().map_err(|e| format!("cannot make a scratch directory: {e}"))?;
    let mut request = CompileRequest::new(&test.path, test.language, level, scratch.join("program"));
    // The level is the caller's; a test that names its own gets that, as it comes later.
    request = request.flags(flags.iter().chain(&test.options).cloned());
    request = request.flags(test.sources.iter().map(|s| s.display().to_string()));
    if test.language != trueline_model::Language::Rust {
        request = request.flags(["-lm"]);
    }
    let first_line = |text: String| text.lines().find(|l| l.contains("error")).or(text.lines().next()).unwrap_or_default().to_owned();
    let built = compiler.compile(&request).map_err(|e| format!("it does not build: {}", first_line(e.to_string())))?;
    Ok((built.binary, scratch))
}

/// Verdicts of an engine over all tests.
pub fn tally<'a>(outcomes: impl IntoIterator<Item = &'a TestOutcome>, engine: &str) -> Tally {
    let mut tally = Tally::default();
    for outcome in outcomes.into_iter().flat_map(|t| &t.asked).flat_map(|a| &a.outcomes).filter(|o| o.engine == engine) {
        match outcome.verdict {
            Verdict::Pass => tally.pass += 1,
            Verdict::Fail => tally.fail += 1,
            Verdict::Unsupported { .. } => tally.unsupported += 1,
        }
    }
    tally
}

/// Why questions of an engine are open, and how many for each reason.
pub fn reasons<'a>(outcomes: impl IntoIterator<Item = &'a TestOutcome>, engine: &str) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for outcome in outcomes.into_iter().flat_map(|t| &t.asked).flat_map(|a| &a.outcomes).filter(|o| o.engine == engine) {
        if let Verdict::Unsupported { reason } = &outcome.verdict {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
    }
    reasons
}

/// How far the engines agree over all tests.
pub fn agreement<'a>(outcomes: impl IntoIterator<Item = &'a TestOutcome>) -> Agreement {
    let told = outcomes.into_iter().flat_map(|t| &t.asked).filter_map(|a| a.same);
    told.fold(Agreement::default(), |sum, same| Agreement { same: sum.same + usize::from(same), of: sum.of + 1 })
}
