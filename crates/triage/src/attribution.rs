//! The answer of a search, and the choice of the search by compiler family.

use crate::probe::{CachedProbe, Presence, Probe, ProbeError, Setting};
use crate::{gcc, llvm};
use serde::Serialize;
use trueline_model::{CompilerKind, PassName, PassRole};

/// The commands that show the fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Show {
    /// The nearest build that shows it: differs from the one that hides it by the pass alone.
    pub command: String,
    /// The whole pipeline, when that is another command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<String>,
}

impl Show {
    pub(crate) fn new(command: &str) -> Self {
        Self { command: command.to_owned(), full: None }
    }
}

/// What a pass (or none) has to do with a fault, with the two command lines that prove it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// Guilty, enabling, a set, none, or nothing that can be switched off.
    pub role: PassRole,
    /// The pass, or the set joined with `+`; `None` when no pass is named.
    pub name: Option<PassName>,
    /// Number of the pass execution (LLVM), or of the change inside the pass (gcc's debug counter).
    pub execution: Option<u64>,
    /// How many of them a whole compilation has.
    pub of: u64,
    /// What the pass ran on, where the compiler says so.
    pub function: Option<String>,
    /// The command that shows the fault.
    pub with: Show,
    /// Hides it; `None` when nothing does.
    pub without: Option<String>,
    /// Why this role and not another.
    pub evidence: String,
    /// Compilations that the search took.
    pub builds: usize,
}

impl Attribution {
    pub(crate) fn without_pass(role: PassRole, with: Show, evidence: String) -> Self {
        Self { role, name: None, execution: None, of: 0, function: None, with, without: None, evidence, builds: 0 }
    }

    /// What [`Attribution::execution`] counts: gcc names its passes with their family in front.
    pub fn step_name(&self) -> &'static str {
        let of_gcc = self.name.as_ref().is_some_and(|n| ["tree-", "rtl-", "ipa-"].iter().any(|family| n.0.starts_with(family)));
        if of_gcc { "change" } else { "execution" }
    }

    /// The pass as a fingerprint writes it: its name without the number of its instance in the pipeline,
    /// which changes from version to version.
    pub fn fingerprint_name(&self) -> Option<PassName> {
        self.name.as_ref().map(|name| {
            let stable: Vec<&str> = name.0.split('+').map(|p| p.trim_end_matches(|c: char| c.is_ascii_digit())).collect();
            PassName(stable.join("+"))
        })
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AttributeError {
    /// Nothing to explain: the fault is not there.
    #[error("{compiler} at {opt} does not show this fault (any more)")]
    NotPresent {
        /// The compiler that was run.
        compiler: String,
        /// The level of optimization it was run at.
        opt: String,
    },
    /// This compiler does not build the program, or the build cannot be judged.
    #[error("{compiler} at {opt} cannot be judged: {reason}")]
    Unbuildable {
        /// The compiler that was run.
        compiler: String,
        /// The level of optimization it was run at.
        opt: String,
        /// The reason, as a sentence for people.
        reason: String,
    },
    /// A family without switches.
    #[error("{0} offers no way to switch passes off; only gcc, clang and rustc can be searched")]
    NoSwitches(String),
    /// A build could not be judged.
    #[error(transparent)]
    Probe(#[from] ProbeError),
}

/// Finds out which pass is behind the fault that `cached` looks for.
pub fn attribute(cached: &CachedProbe<'_>, setting: &Setting) -> Result<Attribution, AttributeError> {
    let id = &setting.compiler.id;
    let before = cached.builds();
    let listing = match id.kind {
        CompilerKind::Clang | CompilerKind::Rustc => llvm::listing_flags(id.kind),
        CompilerKind::Gcc => gcc::listing_flags(),
        CompilerKind::Other => return Err(AttributeError::NoSwitches(id.to_string())),
    };
    let full = cached.probe(setting, &listing)?;
    let (compiler, opt) = (id.to_string(), setting.opt.to_string());
    match &full.presence {
        Presence::Absent => return Err(AttributeError::NotPresent { compiler, opt }),
        Presence::Unjudged(reason) => return Err(AttributeError::Unbuildable { compiler, opt, reason: reason.clone() }),
        Presence::Present => {}
    }
    let mut attribution = match id.kind {
        CompilerKind::Gcc => gcc::search(cached, setting, &full)?,
        _ => llvm::bisect(cached, setting, &full)?,
    };
    attribution.builds = cached.builds() - before;
    Ok(attribution)
}

/// Whether the pass behind the fault is still `expected` (a name as [`Attribution::name`] gives it): the
/// question of a reducer, cheaper than a full search where the compiler can switch the pass off by name.
pub fn confirm(cached: &CachedProbe<'_>, setting: &Setting, expected: &str) -> Result<bool, AttributeError> {
    if setting.compiler.id.kind == CompilerKind::Gcc
        && let Some(flags) = gcc::flags_of_name(expected)
    {
        let shown = cached.probe(setting, &[])?.presence == Presence::Present;
        return Ok(shown && cached.probe(setting, &flags)?.presence == Presence::Absent);
    }
    if matches!(setting.compiler.id.kind, CompilerKind::Clang | CompilerKind::Rustc) {
        return Ok(llvm::confirm(cached, setting, expected)?);
    }
    match attribute(cached, setting) {
        Ok(attribution) => Ok(attribution.name.is_some_and(|n| n.0 == expected)),
        Err(AttributeError::Probe(error)) => Err(error.into()),
        Err(_) => Ok(false),
    }
}
