//! Statements in front of a pass and behind it: which lost their location, and which variables the description of a value that
//! is still computed.

use super::catalog;
use super::text::{Spot, Statement, register};
use crate::judge::{ErrorKind, Operation};
use crate::pairs::Manipulation;
use crate::report::{InstructionView, UpdateError};
use crate::site::Site;
use crate::variables::{Certainty, VariableError, VariableErrorKind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The pass on one function.
pub struct Pass<'a> {
    /// Its name with family and instance.
    pub name: &'a str,
    /// gcc's version.
    pub version: &'a str,
    /// The function.
    pub function: &'a str,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Statements that are there on both sides.
    pub pairs: usize,
    /// Those that lost their location.
    pub locations: Vec<UpdateError>,
    /// Descriptions of variables that were lost.
    pub variables: Vec<VariableError>,
}

/// Compares one function.
pub fn compare(pass: &Pass<'_>, before: &[Statement], after: &[Statement], found: &mut Findings) {
    let (old, new) = (by_key(before), by_key(after));
    for (key, then) in &old {
        let Some(now) = new.get(key) else { continue };
        found.pairs += 1;
        if then.bind.is_none() && then.location.is_some() && now.location.is_none() && !now.text.starts_with("# ") {
            found.locations.push(pass.lost_location(then, now));
        }
    }
    found.locations.sort_by_key(|e| (e.srcs[0].line, e.srcs[0].text.clone()));
    found.variables.extend(lost_binds(before, after).into_iter().map(|(then, now)| pass.lost_bind(then, now)));
}

/// Statements that can be told apart, by uid or by text.
fn by_key(statements: &[Statement]) -> HashMap<String, &Statement> {
    let key = |s: &Statement| s.uid.map_or_else(|| s.text.clone(), |uid| uid.to_string());
    let mut all: HashMap<String, Vec<&Statement>> = HashMap::new();
    statements.iter().for_each(|s| all.entry(key(s)).or_default().push(s));
    all.into_iter().filter_map(|(key, list)| if let [one] = list[..] { Some((key, one)) } else { None }).collect()
}

/// Descriptions by a value that say nothing behind the pass though the value is a number, or computed there as before.
fn lost_binds<'s>(before: &'s [Statement], after: &'s [Statement]) -> Vec<(&'s Statement, &'s Statement)> {
    let computed: HashSet<(&str, &str)> =
        after.iter().filter(|s| s.bind.is_none()).flat_map(|s| s.sets.iter().map(|set| (set.as_str(), s.text.as_str()))).collect();
    let was_computed = |value: &str| before.iter().find(|s| s.bind.is_none() && s.sets.iter().any(|set| set == value));
    let still = |value: &str| {
        let name = register(value).unwrap_or_else(|| value.to_owned());
        was_computed(&name).is_some_and(|then| computed.contains(&(name.as_str(), then.text.as_str())) || number(then).is_some())
    };
    pairs_of_binds(before, after)
        .into_iter()
        .filter(|(then, now)| {
            let value = |s: &Statement| s.bind.as_ref().and_then(|(_, value)| value.clone());
            value(then).is_some_and(|v| still(&v)) && value(now).is_none()
        })
        .collect()
}

/// The number that a statement of GIMPLE sets a name to.
fn number(statement: &Statement) -> Option<&str> {
    let value = statement.text.split_once(" = ")?.1.strip_suffix(';')?;
    value.parse::<i128>().is_ok().then_some(value)
}

/// Descriptions of RTL by their uid, of GIMPLE by variable and location where there is one of each.
fn pairs_of_binds<'s>(before: &'s [Statement], after: &'s [Statement]) -> Vec<(&'s Statement, &'s Statement)> {
    if before.iter().any(|s| s.uid.is_some()) {
        let new: HashMap<u32, &Statement> = after.iter().filter(|s| s.bind.is_some()).filter_map(|s| Some((s.uid?, s))).collect();
        return before.iter().filter(|s| s.bind.is_some()).filter_map(|s| Some((s, *new.get(&s.uid?)?))).collect();
    }
    let of = |list: &'s [Statement]| {
        let mut all: BTreeMap<(&'s str, Spot), Vec<&'s Statement>> = BTreeMap::new();
        for statement in list {
            if let (Some((variable, _)), Some(location)) = (&statement.bind, &statement.location) {
                all.entry((variable.as_str(), location.clone())).or_default().push(statement);
            }
        }
        all
    };
    let (old, new) = (of(before), of(after));
    let alone = |key: &(&'s str, Spot), list: &[&'s Statement]| match (list, new.get(key).map(Vec::as_slice)) {
        ([then], Some([now])) => Some((*then, *now)),
        _ => None,
    };
    old.iter().filter_map(|(key, list)| alone(key, list)).collect()
}

impl Pass<'_> {
    fn site(&self) -> Site {
        let file = catalog::file(self.name, self.version);
        Site { function: format!("the pass {}", self.name), address: 0, chain: vec![self.name.to_owned()], file, line: None }
    }

    fn skeleton(&self, update: &str) -> String {
        format!("In {}: {update}", catalog::file(self.name, self.version).unwrap_or_else(|| self.name.to_owned()))
    }

    fn lost_location(&self, then: &Statement, now: &Statement) -> UpdateError {
        let update = if now.uid.is_some() {
            format!("Preserve({})  // INSN_LOCATION (NEW_INSN) = INSN_LOCATION (OLD_INSN);", name(now))
        } else {
            format!("Preserve(`{}`)  // gimple_set_location (new_stmt, gimple_location (old_stmt));", now.text)
        };
        UpdateError {
            pass: self.name.to_owned(),
            function: self.function.to_owned(),
            dst: view(now),
            srcs: vec![view(then)],
            manipulation: Manipulation::Rewrite,
            expected: Operation::Preserve,
            observed: Operation::Drop,
            kind: ErrorKind::Lost,
            site: self.site(),
            skeleton: self.skeleton(&update),
            evidence: None,
            hidden_by: None,
            instances: 1,
            picture: None,
        }
    }

    fn lost_bind(&self, then: &Statement, now: &Statement) -> VariableError {
        let (variable, value) = then.bind.clone().unwrap_or_default();
        let value = value.unwrap_or_default();
        VariableError {
            pass: self.name.to_owned(),
            function: self.function.to_owned(),
            line: then.location.as_ref().map_or(0, |l| l.1),
            fragment: None,
            kind: VariableErrorKind::Lost,
            point: Some(view(now)),
            before: vec![value.clone()],
            after: vec!["no value".to_owned()],
            evidence: format!("{value} was a number, or is still computed as before"),
            counterexample: None,
            certainty: Certainty::Known,
            site: self.site(),
            skeleton: self.skeleton(&format!("Keep({variable}, {value})  // propagate_for_debug, or leave the debug statement as it was")),
            variable,
            hidden_by: None,
            instances: 1,
        }
    }
}

fn name(statement: &Statement) -> String {
    statement.uid.map_or_else(|| statement.text.clone(), |uid| format!("insn {uid}"))
}

fn view(statement: &Statement) -> InstructionView {
    let location = statement.location.as_ref();
    InstructionView {
        text: statement.uid.map_or_else(|| statement.text.clone(), |uid| format!("insn {uid}: {}", statement.text)),
        block: format!("bb {}", statement.block),
        file: location.map(|l| l.0.clone()),
        line: location.map(|l| l.1),
        column: location.map(|l| l.2),
        called_at: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcc::text;

    fn judged(family: char, before: &str, after: &str) -> Findings {
        let read = |body: &str| text::read(&format!(";; Function f (f)\n  <bb 2> :\n{body}"), family).remove("f").unwrap();
        let mut found = Findings::default();
        let pass = Pass { name: "tree-ccp2", version: "12.2.0", function: "f" };
        compare(&pass, &read(before), &read(after), &mut found);
        found
    }

    #[test]
    fn a_statement_that_stays_must_keep_its_location() {
        let found = judged('t', "  [a.c:5:7] a_6 = x_5 + 7;\n  [a.c:6:7] b_6 = 2;\n", "  a_6 = x_5 + 7;\n  [a.c:6:7] b_6 = 2;\n");
        assert_eq!((found.pairs, found.locations.len()), (2, 1));
        assert_eq!(found.locations[0].srcs[0].line, Some(5));
        assert!(found.locations[0].skeleton.starts_with("In gcc/tree-ssa-ccp.cc:"), "{}", found.locations[0].skeleton);
        // Two of the same text cannot be told apart.
        let twice = judged('t', "  [a.c:5:7] f ();\n  [a.c:6:7] f ();\n", "  f ();\n  f ();\n");
        assert_eq!((twice.pairs, twice.locations.len()), (0, 0));
    }

    #[test]
    fn a_bind_is_lost_only_while_its_value_is_computed_as_before() {
        let before = "  [a.c:5:7] a_6 = x_5 + 7;\n  [a.c:5:7] # DEBUG a => a_6\n";
        let lost = judged('t', before, "  [a.c:5:7] a_6 = x_5 + 7;\n  [a.c:5:7] # DEBUG a => NULL\n");
        assert_eq!((lost.variables.len(), lost.variables[0].variable.as_str()), (1, "a"));
        assert!(judged('t', before, "  [a.c:5:7] # DEBUG a => NULL\n").variables.is_empty());
        // The number that a name was set to is known without it.
        let number = "  [a.c:5:7] a_6 = 3;\n  [a.c:5:7] # DEBUG a => a_6\n";
        assert_eq!(judged('t', number, "  [a.c:5:7] # DEBUG a => NULL\n").variables.len(), 1);
        assert!(judged('t', before, "  [a.c:5:7] a_6 = 3;\n  [a.c:5:7] # DEBUG a => NULL\n").variables.is_empty());
    }

    #[test]
    fn a_debug_insn_is_followed_by_its_uid() {
        let add = "(insn 11 10 12 2 (set (reg:SI 83) (plus:SI (reg:SI 97) (const_int 7 [0x7]))) \"a.c\":5:7 1\n     (nil))\n";
        let bind = |value: &str| format!("{add}(debug_insn 12 11 13 2 (var_location:SI a {value}) -1\n     (nil))\n");
        let lost = judged('r', &bind("(reg:SI 83)"), &bind("(clobber (const_int 0 [0]))"));
        assert_eq!(lost.variables.len(), 1);
        assert!(judged('r', &bind("(reg:SI 83)"), &bind("(reg:SI 97)")).variables.is_empty());
    }
}
