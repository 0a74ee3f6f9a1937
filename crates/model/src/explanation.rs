//! What `triage` found out about a finding, as its document and the store keep it and as reports read it back.

use crate::{CompilerId, Fault, FindingId, OptLevel, PassName, PassRole, Reading, Verdict, Violation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The explanation of one finding. `U` tells a wrong update inside the guilty pass: as whoever watched the pass has it, or
/// the part of it that a reader of the document wants.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explanation<U = MissingUpdate> {
    /// Its number, when it comes from a store.
    #[serde(default)]
    pub id: Option<FindingId>,
    /// An invariant, or crash, hang, wrong-code.
    pub kind: String,
    /// The program's file name.
    pub program: String,
    /// Flags of every compilation of the program.
    pub cflags: Vec<String>,
    /// The compiler.
    pub compiler: CompilerId,
    /// The level.
    pub opt: OptLevel,
    /// Whether it can be seen again.
    pub state: ExplanationState,
    /// What is to be said of that.
    pub note: Option<String>,
    /// Whose fault, when several readers were asked.
    pub verdict: Option<Verdict>,
    /// Why.
    pub verdict_reason: Option<String>,
    /// What each reader said.
    pub readings: Vec<Reading>,
    /// The pass behind it; none when a debugger is to blame.
    pub pass: Option<BlamedPass>,
    /// By compiler version: a pass, `absent`, or why nothing can be said.
    pub fingerprint: BTreeMap<String, String>,
    /// Findings with the same number are the same bug.
    pub cluster: usize,
    /// The known bug that it is.
    pub known: Option<KnownAs>,
    /// The wrong debug information.
    pub dwarf: Option<String>,
    /// What watching the guilty pass of clang showed.
    pub update: Option<WatchedUpdates<U>>,
    /// The compiler's source files that the pass lives in.
    pub source_files: Vec<String>,
    /// The command that ranks the compiler's files, where no pass is to blame.
    pub isolate: Option<String>,
    /// Versions that could not build the program, and why.
    pub unbuildable: BTreeMap<String, String>,
    /// What is wrong, for a broken invariant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
    /// What is wrong, otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// Whether a finding can be seen again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExplanationState {
    /// It can.
    Shows,
    /// It cannot, or not every time.
    NotReproducible,
}

/// A pass and the two command lines that prove it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlamedPass {
    /// guilty, enabling, set, none or unswitchable.
    pub role: PassRole,
    /// Its name; several joined with `+` for a set.
    pub name: Option<PassName>,
    /// Which of its executions.
    pub execution: Option<u64>,
    /// How many a whole compilation has.
    pub of: u64,
    /// What it ran on.
    pub function: Option<String>,
    /// Shows the fault.
    pub with: String,
    /// The whole pipeline, when that is another command.
    pub with_all_passes: Option<String>,
    /// Hides it.
    pub without: Option<String>,
    /// Why this role.
    pub evidence: String,
    /// Compilations that the search took.
    pub compilations: usize,
}

impl BlamedPass {
    /// The pass with its role, `guilty tree-ccp1`; the role alone where no pass is named.
    pub fn title(&self) -> String {
        let role = self.role.name();
        self.name.as_ref().map_or_else(|| role.to_owned(), |name| format!("{role} {}", name.0))
    }
}

/// A known bug that a finding is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownAs {
    /// Its short name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it is tracked.
    pub url: Option<String>,
}

/// What watching the guilty pass showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedUpdates<U> {
    /// How far the pass could be watched.
    pub state: WatchState,
    /// One sentence.
    pub summary: String,
    /// How many of the errors, which stand first, are about the violated line.
    pub on_the_line: usize,
    /// The wrong updates.
    pub errors: Vec<U>,
}

/// How far a pass could be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchState {
    /// All its updates were seen.
    Watched,
    /// It belongs to code generation, which is not seen.
    CodeGeneration,
    /// It could not be watched.
    Unwatched,
}

/// Of a wrong update, what a report shows: the update that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingUpdate {
    /// In the paper's form and as LLVM code.
    pub skeleton: String,
}
