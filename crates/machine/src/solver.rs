//! Asks an SMT solver, in one confined process per batch, under limits.

use crate::algebra::Bin;
use crate::hash::Mixing;
use crate::term::{Pinned, Term, Terms};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::Duration;
use trueline_toolchain::{Confinement, Exit, Limits, Tool, ToolKind, find_tool};

/// What one question may cost, counted in the solver's own steps: the same answer on a busy machine as on an idle
/// one. About two seconds of CPU time each; a vectorised maximum takes one.
const Z3_EFFORT: u64 = 10_000_000;
const CVC5_EFFORT: u64 = 50_000;
/// CPU time that the solver may use for one function. What is asked afterwards is not answered, so less is proved.
const FUNCTION_BUDGET: Duration = Duration::from_secs(5);

/// Times that what is pinned down is put in: it may pin down more.
const ROUNDS: usize = 3;

/// A question: do the assumptions imply the claim?
#[derive(Clone, Debug)]
pub struct Question {
    /// Terms of one bit that are taken to be true.
    pub assumptions: Vec<Term>,
    /// A one-bit term.
    pub claim: Term,
}

/// What the solver says of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverAnswer {
    /// The conclusion always follows from the assumptions.
    Valid,
    /// There is a counterexample.
    Refuted,
    /// The solver gave up.
    Unknown,
}

/// A solver with what it has cost so far.
#[derive(Debug)]
pub struct Solver {
    tool: Option<Tool>,
    patience: Duration,
    /// CPU time spent in it for the function in hand.
    pub cpu: Duration,
    /// Questions it was asked.
    pub asked: usize,
    /// Why it cannot answer, or not everything.
    pub missing: Option<String>,
}

impl Solver {
    /// Finds z3, else cvc5. With neither, only what holds by rewriting is valid. One that leaves a batch of questions unanswered
    /// for `patience` without computing is not asked again.
    pub fn find(spec: Option<&str>, patience: Duration) -> Self {
        let kinds: &[ToolKind] = match spec {
            Some(s) if s.contains("cvc5") => &[ToolKind::Cvc5],
            Some(_) => &[ToolKind::Z3],
            None => &[ToolKind::Z3, ToolKind::Cvc5],
        };
        let mut missing = None;
        for kind in kinds {
            match find_tool(*kind, spec) {
                Ok(tool) => return Self { tool: Some(tool), patience, cpu: Duration::ZERO, asked: 0, missing: None },
                Err(e) => missing = Some(e.to_string()),
            }
        }
        Self { tool: None, patience, cpu: Duration::ZERO, asked: 0, missing }
    }

    /// Turns to the next function, with a new budget.
    pub fn turn(&mut self) {
        self.cpu = Duration::ZERO;
        if self.tool.is_some() {
            self.missing = None;
        }
    }

    /// The solver's name and version.
    pub fn name(&self) -> String {
        self.tool.as_ref().map_or_else(|| "no solver".to_owned(), |t| format!("{} {}", t.kind, t.version))
    }

    /// Answers all questions; what rewriting settles never reaches the process.
    pub fn ask(&mut self, terms: &mut Terms, questions: &[Question]) -> Vec<SolverAnswer> {
        let mut rewritten = Rewriting::default();
        let questions: Vec<Option<Question>> = questions.iter().map(|q| rewritten.simplify(terms, q)).collect();
        let open: Vec<&Question> = questions.iter().flatten().collect();
        let mut found = if open.is_empty() { Vec::new() } else { self.run(terms, &open) }.into_iter();
        let answer = |q: &Option<Question>| if q.is_some() { found.next().unwrap_or(SolverAnswer::Unknown) } else { SolverAnswer::Valid };
        questions.iter().map(answer).collect()
    }

    fn run(&mut self, terms: &Terms, questions: &[&Question]) -> Vec<SolverAnswer> {
        let Some(tool) = self.tool.clone() else { return Vec::new() };
        let left = FUNCTION_BUDGET.saturating_sub(self.cpu);
        if left < Duration::from_secs(1) {
            self.missing.get_or_insert_with(|| format!("it used its {} CPU-seconds for this function", FUNCTION_BUDGET.as_secs()));
            return Vec::new();
        }
        self.asked += questions.len();
        let roots: Vec<Term> = questions.iter().flat_map(|q| q.assumptions.iter().copied().chain([q.claim])).collect();
        let cvc5 = tool.kind == ToolKind::Cvc5;
        let mut text = String::new();
        if !cvc5 {
            let _ = writeln!(text, "(set-option :rlimit {Z3_EFFORT})");
        }
        text.push_str("(set-logic QF_UFBV)\n");
        text.push_str(&terms.smt(&roots));
        for (n, q) in questions.iter().enumerate() {
            text.push_str("(push 1)\n");
            for a in q.assumptions.iter().filter(|a| terms.value(**a) != Some(1)) {
                let _ = writeln!(text, "(assert (= {} #b1))", Terms::name(*a));
            }
            // The number comes back before the answer: nothing else on the way can shift one answer to another question.
            let _ = writeln!(text, "(assert (= {} #b0))\n(echo \"question {n}\")\n(check-sat)\n(pop 1)", Terms::name(q.claim));
        }
        let job = if cvc5 {
            tool.job().args(["--lang=smt2", "--incremental"]).arg(format!("--rlimit-per={CVC5_EFFORT}")).arg("-")
        } else {
            tool.job().args(["-in", "-smt2"])
        };
        let limits = Limits { wall: self.patience, ..Limits::seconds(left.as_secs()) };
        match job.stdin(text).limits(limits).confine(Confinement::closed()).run() {
            Ok(outcome) => {
                self.cpu += outcome.cpu;
                if outcome.exit == Exit::TimedOut && outcome.cpu * 2 < self.patience && outcome.wall >= self.patience {
                    self.tool = None;
                    self.missing = Some(format!("{} did nothing for {} s", tool.path.display(), self.patience.as_secs()));
                }
                let (answers, complaint) = read_answers(&outcome.stdout_text(), questions.len());
                if let Some(complaint) = complaint {
                    self.missing.get_or_insert_with(|| format!("{} complained: {complaint}", tool.path.display()));
                }
                answers
            }
            Err(_) => Vec::new(),
        }
    }
}

/// The answers in the solver's output, each under the number of its question, and the first complaint. After an error nothing that
/// it says is believed: an assertion may have been left out.
pub fn read_answers(output: &str, questions: usize) -> (Vec<SolverAnswer>, Option<String>) {
    let mut answers = vec![SolverAnswer::Unknown; questions];
    let mut number: Option<usize> = None;
    for line in output.lines().map(str::trim) {
        if line.starts_with("(error") {
            return (vec![SolverAnswer::Unknown; questions], Some(line.to_owned()));
        }
        if let Some(n) = line.trim_matches('"').strip_prefix("question ") {
            number = n.parse().ok();
            continue;
        }
        let answer = match line {
            "unsat" => SolverAnswer::Valid,
            "sat" => SolverAnswer::Refuted,
            _ => continue,
        };
        if let Some(slot) = number.take().and_then(|n| answers.get_mut(n)) {
            *slot = answer;
        }
    }
    (answers, None)
}

/// Rewriting of questions by what they assume, kept for those that assume the same.
#[derive(Default)]
struct Rewriting {
    done: BTreeMap<Pinned, HashMap<Term, Term, Mixing>>,
}

impl Rewriting {
    /// The question with everything put in that its assumptions pin down; `None` when nothing is left to ask.
    fn simplify(&mut self, terms: &mut Terms, question: &Question) -> Option<Question> {
        let mut known: BTreeSet<Term> = question.assumptions.iter().flat_map(|a| terms.conjuncts(*a)).collect();
        let mut claim = question.claim;
        for _ in 0..ROUNDS {
            let impossible = known.iter().any(|a| {
                let not = terms.not(*a);
                terms.value(*a) == Some(0) || known.contains(&not)
            });
            if impossible || terms.conjuncts(claim).is_subset(&known) {
                return None;
            }
            let pinned = terms.pinned(&known);
            if pinned.is_empty() {
                break;
            }
            let done = self.done.entry(pinned.clone()).or_default();
            claim = terms.replace(claim, &pinned, done);
            let parts: Vec<Term> = known.iter().map(|a| terms.replace(*a, &pinned, done)).collect();
            known = parts.iter().flat_map(|a| terms.conjuncts(*a)).collect();
        }
        Some(Question { assumptions: known.into_iter().collect(), claim })
    }
}

/// `a = b` as a one-bit term.
pub fn equal(terms: &mut Terms, a: Term, b: Term) -> Term {
    terms.bin(Bin::Eq, a, b)
}
