//! The functions of a project's guilty unit that must be optimized for its finding to show.
//!
//! All others are left alone by pragmas in the preprocessed unit (`optimize off` of clang, `optimize("O0")` of gcc). Such a function
//! is not inlined either, so that a finding in inlined code needs both functions, and both are named.

use crate::error::ExplainError;
use crate::project::{AskedFinding, ProjectExplainer};
use std::cell::Cell;
use trueline_project::{ObjectPath, ProjectError, UnitFunction, UnitFunctions, find_guilty};
use trueline_triage::Presence;

/// What is known of the functions behind a finding.
#[derive(Clone, Debug)]
pub enum Functions {
    /// These must be optimized, and no other of the unit.
    Guilty {
        /// The functions, with file and line.
        functions: Vec<String>,
        /// How many the unit has.
        of: usize,
        /// How many times the unit was compiled and linked to find them.
        compilations: usize,
    },
    /// They could not be told apart.
    Unknown(String),
}

impl ProjectExplainer<'_> {
    /// Searches the functions of an object's unit.
    pub(crate) fn guilty_functions(&self, question: &AskedFinding, object: &ObjectPath) -> Result<Functions, ExplainError> {
        let unknown = |reason: &str| Ok(Functions::Unknown(reason.to_owned()));
        let unit = match self.mixer.functions_of(object) {
            Ok(Some(unit)) => unit,
            Ok(None) => return unknown("the recorded calls of the build cannot be repeated"),
            Err(error) => return Ok(Functions::Unknown(error.to_string())),
        };
        let all = unit.functions();
        if all.is_empty() {
            return unknown("no function of the project was found in the unit");
        }
        let search = FunctionSearch { explainer: self, question, object, unit: &unit, compilations: Cell::new(0) };
        if !search.shows(all)? {
            return unknown("the finding does not show when the unit is preprocessed before it is compiled");
        }
        if search.shows(&[])? {
            return unknown("the finding shows with every function of the unit at -O0: it is in code of headers, or of the linker");
        }
        let found = find_guilty(all, &mut |kept: &[UnitFunction]| search.shows(kept))?;
        let functions = found.iter().map(ToString::to_string).collect();
        Ok(Functions::Guilty { functions, of: all.len(), compilations: search.compilations.get() })
    }
}

struct FunctionSearch<'a> {
    explainer: &'a ProjectExplainer<'a>,
    question: &'a AskedFinding,
    object: &'a ObjectPath,
    unit: &'a UnitFunctions,
    compilations: Cell<usize>,
}

impl FunctionSearch<'_> {
    /// Whether the finding shows with only these functions optimized. What does not compile or run does not show it.
    fn shows(&self, kept: &[UnitFunction]) -> Result<bool, ExplainError> {
        let explainer = self.explainer;
        self.compilations.set(self.compilations.get() + 1);
        let kind = explainer.setting.compiler.id.kind;
        let compiled = match explainer.mixer.compile_functions(self.object, self.unit, (kept, kind)) {
            Ok(Some(compiled)) => compiled,
            Ok(None) | Err(ProjectError::CallFailed { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mixed = explainer.mixer.link_with(self.object, &compiled)?;
        Ok(self.question.presence(&mixed, explainer)? == Presence::Present)
    }
}
