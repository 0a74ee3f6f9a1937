//! Hundreds of violations by their causes, as far as those show from outside: the inlined call or the block whose addresses reach too
//! far, the variable whose location is wrong, the function whose rows are. One fault of a compiler shows on many lines.
//!
//! Deliberately absent: which pass did it; `triage` tells.

use crate::shape::Shape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use trueline_dwarf::{BlockId, BlockKind, Module};
use trueline_model::{Breach, Contradiction, Invariant, Violation};

/// Causes up to which a report is put together by cause where nobody asks for something else.
const MOST_CAUSES: usize = 60;

/// What violations are put together by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupBy {
    /// The cause as it shows from outside.
    #[default]
    Cause,
    /// The invariant, and what the cause looks like in the debug information.
    Shape,
    /// The function that a violation is about.
    Function,
    /// The function and the variable.
    Variable,
    /// The invariant that is broken.
    Invariant,
    /// Nothing: each stands alone.
    None,
}

impl FromStr for GroupBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "cause" => Self::Cause,
            "shape" => Self::Shape,
            "function" => Self::Function,
            "variable" => Self::Variable,
            "invariant" => Self::Invariant,
            "none" => Self::None,
            _ => return Err(format!("`{text}` is nothing to group by; use cause, shape, function, variable, invariant or none")),
        })
    }
}

/// What the violations of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Cause {
    /// An inlined call whose addresses reach where it is not active.
    InlinedCall {
        /// The function that was called.
        callee: Arc<str>,
        /// The function that the call was inlined into.
        caller: Arc<str>,
    },
    /// A block of a function whose addresses reach beyond it.
    Block {
        /// The function that the block is part of.
        function: Arc<str>,
    },
    /// A variable whose location is wrong.
    Variable {
        /// The function that shows it.
        function: Arc<str>,
        /// The name of the variable.
        variable: Arc<str>,
    },
    /// The rows or frames of a function.
    Function {
        /// The function's name.
        function: Arc<str>,
    },
    /// All violations of an invariant.
    Invariant {
        /// The invariant that is broken.
        invariant: Invariant,
    },
    /// All causes that look alike in the debug information.
    Shape {
        /// The invariant that is broken.
        invariant: Invariant,
        /// Where the debug information goes wrong.
        shape: Shape,
    },
    /// The build as a whole.
    Build,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InlinedCall { callee, caller } => write!(f, "`{callee}` inlined into `{caller}`"),
            Self::Block { function } => write!(f, "blocks of `{function}`"),
            Self::Variable { function, variable } => write!(f, "`{variable}` of `{function}`"),
            Self::Function { function } => write!(f, "`{function}`"),
            Self::Invariant { invariant } => write!(f, "{invariant}"),
            Self::Shape { invariant, shape } => write!(f, "{invariant} {shape}"),
            Self::Build => f.write_str("the build"),
        }
    }
}

/// Violations of one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Group {
    /// What they have in common.
    pub cause: Cause,
    /// How many of each invariant.
    pub counts: BTreeMap<Invariant, usize>,
    /// Their places in the list of violations, the worst first.
    pub violations: Vec<usize>,
}

/// How bad a violation is: values that were never there mislead most, then frames, then names out of scope, then lines.
fn severity(invariant: Invariant) -> u8 {
    match invariant {
        Invariant::Value | Invariant::Parameter => 0,
        Invariant::Backtrace | Invariant::SelfContradiction => 1,
        Invariant::Scope => 2,
        Invariant::Line => 3,
        _ => 4,
    }
}

/// Puts the violations of a build together as somebody asks, or by cause; by shape where the causes are too many to be read.
pub fn group_for_report(violations: &[Violation], module: &Module, by: Option<GroupBy>) -> Vec<Group> {
    let Some(by) = by else {
        let causes = group(violations, module, GroupBy::Cause);
        return if causes.len() <= MOST_CAUSES { causes } else { group(violations, module, GroupBy::Shape) };
    };
    group(violations, module, by)
}

/// Puts the violations of a build together, the worst group first; of equally bad ones the largest.
pub fn group(violations: &[Violation], module: &Module, by: GroupBy) -> Vec<Group> {
    let mut found: BTreeMap<(Cause, usize), Vec<usize>> = BTreeMap::new();
    for (index, violation) in violations.iter().enumerate() {
        let alone = if by == GroupBy::None { index } else { 0 };
        found.entry((cause_of(violation, module, by), alone)).or_default().push(index);
    }
    let mut groups: Vec<Group> = found
        .into_iter()
        .map(|((cause, _), mut members)| {
            members.sort_by_key(|&i| (severity(violations[i].invariant()), i));
            let mut counts = BTreeMap::new();
            members.iter().for_each(|&i| *counts.entry(violations[i].invariant()).or_default() += 1);
            Group { cause, counts, violations: members }
        })
        .collect();
    groups.sort_by_key(|g| (severity(violations[g.violations[0]].invariant()), std::cmp::Reverse(g.violations.len()), g.violations[0]));
    groups
}

/// What a violation is put under.
pub fn cause_of(v: &Violation, module: &Module, by: GroupBy) -> Cause {
    let function = || Cause::Function { function: Arc::clone(&v.function) };
    let variable = |name: &Arc<str>| Cause::Variable { function: Arc::clone(&v.function), variable: Arc::clone(name) };
    match by {
        GroupBy::Function => return function(),
        GroupBy::Variable => return v.variable().map_or_else(function, variable),
        GroupBy::Invariant => return Cause::Invariant { invariant: v.invariant() },
        GroupBy::Shape => {
            let shape = Shape::of(v, &cause_of(v, module, GroupBy::Cause), module);
            return Cause::Shape { invariant: v.invariant(), shape };
        }
        GroupBy::Cause | GroupBy::None => {}
    }
    let at = |name: &str| v.pc.and_then(|pc| call_of(module, pc, name));
    match &v.breach {
        Breach::Codegen(_) => Cause::Build,
        Breach::Backtrace(breach) => {
            let named = breach.intruder.as_ref().and_then(|name| at(name));
            named.or_else(|| at(&v.function)).unwrap_or_else(function)
        }
        // A static variable is no function's: it is seen in one, and that has the block.
        Breach::Scope(breach) if breach.owner.is_empty() => Cause::Block { function: Arc::clone(&v.function) },
        Breach::Scope(breach) => at(&breach.owner).unwrap_or_else(|| Cause::Block { function: Arc::clone(&breach.owner) }),
        Breach::SelfContradiction(Contradiction::Frame { .. }) => at(&v.function).unwrap_or_else(function),
        Breach::SelfContradiction(Contradiction::Block { .. }) => Cause::Block { function: Arc::clone(&v.function) },
        Breach::Line(_) => at(&v.function).unwrap_or_else(function),
        other => other.variable().map_or_else(function, variable),
    }
}

/// The inlined call of a function that the debug information has at an address, and what it was inlined into.
fn call_of(module: &Module, pc: u64, name: &str) -> Option<Cause> {
    let chain: Vec<BlockId> = module.chain_at(pc);
    let called = |b: &BlockId| match &module.block(*b).kind {
        BlockKind::Inlined { name, .. } => Some(Arc::clone(name)),
        BlockKind::Function | BlockKind::Lexical => None,
    };
    let at = chain.iter().position(|b| called(b).as_deref() == Some(name))?;
    let own = || module.function_at(pc).map(|f| Arc::clone(&module.function(f).name));
    let caller = chain[at + 1..].iter().find_map(called).or_else(own)?;
    Some(Cause::InlinedCall { callee: Arc::from(name), caller })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_dwarf::{Search, Wanted};
    use trueline_model::Language;
    use trueline_toolchain::{CompileRequest, Scratch, find_compiler};

    fn violation(text: &str) -> Violation {
        serde_json::from_str(text).unwrap()
    }

    fn module() -> Arc<Module> {
        let scratch = Scratch::new().unwrap();
        let file = scratch.write("a.c", "int g;\nstatic inline __attribute__((always_inline)) void add(int n) { g += n; }\nint main(void) { add(g); add(3); return g; }\n").unwrap();
        let request = CompileRequest::new(file, Language::C, trueline_model::OptLevel::O1, scratch.join("a"));
        Module::load(&find_compiler("gcc").unwrap().compile(&request).unwrap().binary, Wanted::All, &Search::default()).unwrap()
    }

    #[test]
    fn lies_of_one_inlined_call_are_one_group_and_wrong_values_come_first() {
        let module = module();
        let inlined = module.blocks.iter().find(|b| b.is_inlined()).unwrap().entry();
        let backtrace = |line: u32| {
            violation(&format!(
                r#"{{"invariant":"backtrace","file":"a.c","line":{line},"function":"add","frames":["add","main"],"pc":{inlined},
                    "allowed":{{"first":[],"cut":false}},"intruder":"add"}}"#
            ))
        };
        let scope = violation(&format!(
            r#"{{"invariant":"scope","file":"a.c","line":3,"function":"add","frames":["add","main"],"pc":{inlined},"variable":"n","owner":"add","declared":2}}"#
        ));
        let value = violation(
            r#"{"invariant":"value","file":"a.c","line":3,"function":"main","frames":["main"],"pc":1,"variable":"x","value":"5","allowed":{"first":[],"cut":false}}"#,
        );
        let all = [backtrace(2), scope, backtrace(3), value];
        let groups = group(&all, &module, GroupBy::Cause);
        let told: Vec<(String, Vec<usize>)> = groups.iter().map(|g| (g.cause.to_string(), g.violations.clone())).collect();
        assert_eq!(told, [("`x` of `main`".to_owned(), vec![3]), ("`add` inlined into `main`".to_owned(), vec![0, 2, 1])]);
        assert_eq!(groups[1].counts, BTreeMap::from([(Invariant::Backtrace, 2), (Invariant::Scope, 1)]));
        assert_eq!(group(&all, &module, GroupBy::None).len(), 4);
        assert_eq!(group(&all, &module, GroupBy::Invariant).len(), 3);
        assert_eq!(group(&all, &module, GroupBy::Function).len(), 2);
        let shapes: Vec<String> = group(&all, &module, GroupBy::Shape).iter().map(|g| g.cause.to_string()).collect();
        let begin = "where the addresses of an inlined call begin";
        assert_eq!(shapes, ["value in the location of a variable", &format!("backtrace {begin}"), &format!("scope {begin}")]);
    }

    #[test]
    fn a_static_variable_out_of_its_block_is_told_by_the_function_that_shows_it() {
        let shown = violation(
            r#"{"invariant":"scope","file":"a.c","line":3,"function":"main","frames":["main"],"pc":1,"variable":"kept","owner":"","declared":2}"#,
        );
        let groups = group(&[shown], &module(), GroupBy::Cause);
        assert_eq!(groups[0].cause.to_string(), "blocks of `main`");
    }

    #[test]
    fn a_report_of_more_than_sixty_causes_is_put_together_by_shape() {
        let module = module();
        let of = |number: usize| {
            violation(&format!(
                r#"{{"invariant":"value","file":"a.c","line":3,"function":"main","frames":["main"],"pc":1,"variable":"x{number}","value":"5","allowed":{{"first":[],"cut":false}}}}"#
            ))
        };
        let all: Vec<Violation> = (0..=MOST_CAUSES).map(of).collect();
        assert_eq!(group_for_report(&all[1..], &module, None).len(), MOST_CAUSES);
        assert_eq!(group_for_report(&all, &module, None).len(), 1);
        assert_eq!(group_for_report(&all, &module, Some(GroupBy::Cause)).len(), MOST_CAUSES + 1);
    }
}
