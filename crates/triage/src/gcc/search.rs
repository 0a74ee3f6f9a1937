//! The search over gcc's switches.
//!
//! 1. All transformations off. If that hides the fault, bisect over prefixes of the pipeline ("everything
//!    behind this point is off"): the pass at the boundary creates the fault with its effect, with exactly
//!    the passes before it and none behind it. That is the same notion as LLVM's bisection: *guilty*, if
//!    switching it off alone hides the fault in the full pipeline too; otherwise several passes would do it,
//!    and the one switch (*enabling*) or the smallest *set* that hides it is the answer.
//! 2. Otherwise no transformation is needed for it. Analyses and the switches of debug-information output
//!    may still be: a smallest set of them that hides the fault is *enabling* (one) or a *set*.
//! 3. Otherwise look for single transformations whose absence hides it in the full pipeline, in groups:
//!    *enabling*. If there is none, the fault is *present without any optional pass*.
//!
//! Builds that cannot be judged count neither way; when they are all there is, the answer is *cannot be
//! switched off*.

use super::counter;
use super::passes::{GccPass, PassKind, parse_pass_dump};
use super::subset::{Effect, shrink};
use crate::attribution::{Attribution, Show};
use crate::probe::{CachedProbe, Presence, Probe, ProbeError, Probed, Setting};
use trueline_model::{PassName, PassRole};

/// Compilations that one search may take.
const BUDGET: usize = 80;
/// What the evidence says of a set that could not be made smallest.
const INCOMPLETE: &str = "; the search stopped at its limit, a smaller set may exist";
/// Functions asked for the one that a pass spoilt.
const FUNCTIONS: usize = 4;
/// Passes switched off together when single transformations are looked for.
const GROUP: usize = 12;

/// Something that can be switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    /// The pass, or the part of one.
    pub name: String,
    /// What switches it off.
    pub flags: Vec<String>,
}

impl Switch {
    fn new(name: &str, flags: &[&str]) -> Self {
        Self { name: name.to_owned(), flags: flags.iter().map(|f| (*f).to_owned()).collect() }
    }
}

/// The transformations in pipeline order, and what else can be switched off.
struct Switches {
    transformations: Vec<Switch>,
    enablers: Vec<Switch>,
    /// No passes: how debug information is tracked and written. Asked last, because without it much that is
    /// wrong is gone, and much that is right too.
    output: Vec<Switch>,
}

/// Parts of passes that cannot be left out as a whole, each behind the pass that its name begins with.
fn parts() -> Vec<Switch> {
    vec![
        Switch::new(
            "ipa-inline",
            &["-fno-inline-small-functions", "-fno-inline-functions-called-once", "-fno-inline-functions", "-fno-indirect-inlining"],
        ),
        Switch::new("rtl-expand (tree-ter)", &["-fno-tree-ter"]),
        Switch::new("rtl-expand (coalesce-vars)", &["-fno-tree-coalesce-vars"]),
        Switch::new("rtl-pro_and_epilogue (shrink-wrap)", &["-fno-shrink-wrap"]),
    ]
}

fn output() -> Vec<Switch> {
    vec![
        Switch::new("frame pointer omission", &["-fno-omit-frame-pointer"]),
        Switch::new("location views", &["-gno-variable-location-views"]),
        Switch::new("statement frontiers", &["-gno-statement-frontiers"]),
        Switch::new("var-tracking-assignments", &["-fno-var-tracking-assignments"]),
    ]
}

fn switches(passes: &[GccPass]) -> Switches {
    let mut transformations: Vec<Switch> = Vec::new();
    let mut enablers = Vec::new();
    let mut pending: Vec<String> = Vec::new();
    for pass in passes {
        let full = pass.full_name();
        transformations.extend(parts().into_iter().filter(|p| p.name.split(' ').next() == Some(full.as_str())));
        match pass.kind {
            PassKind::Mandatory => {}
            PassKind::Analysis => enablers.push(Switch { name: full, flags: vec![pass.disable_flag()] }),
            // If-conversion leaves a marker that only the vectorizer removes: one switch for both.
            PassKind::Transformation if full == "tree-ifcvt" => pending.push(pass.disable_flag()),
            PassKind::Transformation => {
                let mut flags = vec![pass.disable_flag()];
                if full == "tree-vect" {
                    flags.append(&mut pending);
                }
                transformations.push(Switch { name: full, flags });
            }
        }
    }
    Switches { transformations, enablers, output: output() }
}

/// The flags that switch off what a name (or names joined with `+`) stands for.
pub(crate) fn flags_of_name(name: &str) -> Option<Vec<String>> {
    let mut flags = Vec::new();
    for part in name.split('+') {
        let known = parts().into_iter().chain(output()).find(|s| s.name == part);
        match (known, part.split_once('-')) {
            (Some(switch), _) => flags.extend(switch.flags),
            (None, Some((family @ ("tree" | "ipa" | "rtl"), rest))) => {
                flags.push(format!("-fdisable-{family}-{rest}"));
                if part == "tree-vect" {
                    flags.push("-fdisable-tree-ifcvt".to_owned());
                }
            }
            _ => return None,
        }
    }
    Some(flags)
}

struct SwitchSearch<'a, 'p> {
    cached: &'a CachedProbe<'p>,
    setting: &'a Setting,
    full: &'a Probed,
    spent_before: usize,
}

/// Searches; `full` is the judged build that listed all passes.
pub(crate) fn search(cached: &CachedProbe<'_>, setting: &Setting, full: &Probed) -> Result<Attribution, ProbeError> {
    // The listing build itself is one of ours.
    let search = SwitchSearch { cached, setting, full, spent_before: cached.builds().saturating_sub(1) };
    let switches = switches(&parse_pass_dump(&full.log));
    search.run(&switches)
}

fn flags_of<'s>(switches: impl IntoIterator<Item = &'s Switch>) -> Vec<String> {
    switches.into_iter().flat_map(|s| s.flags.clone()).collect()
}

impl SwitchSearch<'_, '_> {
    fn left(&self) -> usize {
        BUDGET.saturating_sub(self.cached.builds() - self.spent_before)
    }

    fn off<'s>(&self, switches: impl IntoIterator<Item = &'s Switch>) -> Result<Probed, ProbeError> {
        self.cached.probe(self.setting, &flags_of(switches))
    }

    fn run(&self, switches: &Switches) -> Result<Attribution, ProbeError> {
        let all: Vec<Switch> = switches.transformations.clone();
        let bare = self.off(&all)?;
        if bare.presence == Presence::Absent {
            return self.prefix(&all, &switches.enablers, bare);
        }
        // Needed by no transformation: what else could it need?
        let mut groups: Vec<Vec<Switch>> = vec![switches.enablers.clone()];
        groups.push(all.iter().chain(&switches.enablers).cloned().collect());
        groups.push(switches.output.clone());
        for group in groups {
            if self.off(&group)?.presence == Presence::Absent {
                return self.smallest(group);
            }
        }
        if let Some(found) = self.single(&all)? {
            return Ok(found);
        }
        Ok(match bare.presence {
            Presence::Unjudged(reason) => {
                let evidence =
                    format!("switching everything off gives a build that cannot be judged ({reason}), and nothing less hides it");
                // Not the build that listed all passes: whoever runs the command wants to see the fault alone.
                let plain = self.cached.probe(self.setting, &[])?;
                Attribution::without_pass(PassRole::Unswitchable, Show::new(&plain.command), evidence)
            }
            _ => {
                let evidence = format!("present with all {} optional transformations switched off", all.len());
                let with = Show { command: bare.command, full: Some(self.full.command.clone()) };
                Attribution::without_pass(PassRole::None, with, evidence)
            }
        })
    }

    /// Bisects over prefixes: `transformations[..k]` on, the rest off.
    fn prefix(&self, all: &[Switch], enablers: &[Switch], bare: Probed) -> Result<Attribution, ProbeError> {
        let mut hidden = (0usize, bare);
        let plain = self.cached.probe(self.setting, &[])?;
        let mut shown = (all.len(), plain.clone());
        while shown.0 - hidden.0 > 1 && self.left() >= 2 {
            let gap = shown.0 - hidden.0;
            let mut cuts = vec![hidden.0 + gap / 3, hidden.0 + (2 * gap).div_ceil(3)];
            cuts.retain(|cut| *cut > hidden.0 && *cut < shown.0);
            cuts.dedup();
            if cuts.is_empty() {
                cuts.push(hidden.0 + gap / 2);
            }
            let sets: Vec<Vec<String>> = cuts.iter().map(|cut| flags_of(&all[*cut..])).collect();
            let answers = self.cached.probe_all(self.setting, &sets)?;
            let before = (hidden.0, shown.0);
            for (cut, probed) in cuts.into_iter().zip(answers) {
                match probed.presence {
                    Presence::Present if cut < shown.0 => {
                        shown = (cut, probed);
                        break;
                    }
                    Presence::Absent if cut > hidden.0 => hidden = (cut, probed),
                    _ => {}
                }
            }
            if (hidden.0, shown.0) == before {
                let next = shown.0 - 1;
                let probed = self.off(&all[next..])?;
                match probed.presence {
                    Presence::Present => shown = (next, probed),
                    Presence::Absent => hidden = (next, probed),
                    // No clean boundary: settle for a smallest set that hides it.
                    Presence::Unjudged(_) => return self.smallest(all.to_vec()),
                }
            }
        }
        if shown.0 - hidden.0 > 1 {
            return self.smallest(all.to_vec());
        }
        let culprit = &all[hidden.0];
        let alone = self.off([culprit])?;
        if alone.presence != Presence::Absent
            && let Some(set) = self.together(all, enablers, culprit)?
        {
            return Ok(set);
        }
        let necessary = alone.presence == Presence::Absent;
        let (with, without, base) = if necessary {
            (Show::new(&plain.command), alone.command, Vec::new())
        } else {
            let base = flags_of(&all[shown.0..]);
            (Show { command: shown.1.command, full: Some(plain.command) }, hidden.1.command, base)
        };
        let function = self.function_of(culprit, &base)?;
        let inside = if self.left() >= 12 { counter::locate(self.cached, self.setting, &culprit.name, &base)? } else { None };
        let mut evidence = format!(
            "with the {} transformations before it and none behind it the fault is there, without it it is not; {}",
            hidden.0,
            if necessary { "switching off this pass alone hides it too" } else { "in the full pipeline others would do the same" }
        );
        if let Some(function) = &function {
            evidence.push_str(&format!("; switched off in `{function}` alone it is hidden as well"));
        }
        if let Some(inside) = &inside {
            evidence.push_str(&format!("; inside it, change {} of {} (-fdbg-cnt={})", inside.change, inside.changes, inside.counter));
        }
        Ok(Attribution {
            role: PassRole::Guilty,
            name: Some(PassName(culprit.name.clone())),
            execution: inside.as_ref().map(|i| i.change),
            of: inside.as_ref().map_or(0, |i| i.changes),
            function,
            with,
            without: Some(without),
            evidence,
            builds: 0,
        })
    }

    /// The function in which the pass does it: gcc takes a list of functions with each of its switches.
    fn function_of(&self, culprit: &Switch, base: &[String]) -> Result<Option<String>, ProbeError> {
        let [switch] = culprit.flags.as_slice() else { return Ok(None) };
        // Passes between procedures run once, on all of them.
        if !switch.starts_with("-fdisable-tree-") && !switch.starts_with("-fdisable-rtl-") {
            return Ok(None);
        }
        for function in self.cached.functions().into_iter().take(FUNCTIONS) {
            if self.left() < 2 {
                break;
            }
            let flags: Vec<String> = base.iter().cloned().chain([format!("{switch}={function}")]).collect();
            if self.cached.probe(self.setting, &flags)?.presence == Presence::Absent {
                return Ok(Some(function));
            }
        }
        Ok(None)
    }

    /// The pass that creates the fault first is not the only one that would. What hides it in the full
    /// pipeline is the honest answer: one enabling switch, or a smallest set. `None` when the builds run out
    /// before it is found.
    fn together(&self, all: &[Switch], enablers: &[Switch], first: &Switch) -> Result<Option<Attribution>, ProbeError> {
        let mut found = if self.off(enablers)?.presence == Presence::Absent {
            self.smallest(enablers.to_vec())?
        } else if let Some(found) = self.single(all)? {
            found
        } else {
            self.smallest(all.to_vec())?
        };
        if found.evidence.contains(INCOMPLETE) {
            return Ok(None);
        }
        found
            .evidence
            .push_str(&format!("; the first pass of the pipeline whose effect creates it is {}, but others would too", first.name));
        Ok(Some(found))
    }

    /// Shrinks a set of switches that hides the fault.
    fn smallest(&self, start: Vec<Switch>) -> Result<Attribution, ProbeError> {
        let budget = self.left().saturating_sub(1);
        let (set, minimal) = shrink(start, budget, |batch: &[Vec<Switch>]| -> Result<Vec<Effect>, ProbeError> {
            let sets: Vec<Vec<String>> = batch.iter().map(flags_of).collect();
            let answers = self.cached.probe_all(self.setting, &sets)?;
            Ok(answers.iter().map(|p| if p.presence == Presence::Absent { Effect::Hides } else { Effect::Keeps }).collect())
        })?;
        let hidden = self.off(&set)?;
        let shown = self.cached.probe(self.setting, &[])?;
        let names: Vec<&str> = set.iter().map(|s| s.name.as_str()).collect();
        let (role, mut evidence) = match set.len() {
            1 => (PassRole::Enabling, "switching it off hides the fault, but it does not create it: it is only needed".to_owned()),
            n => (PassRole::Set, format!("only these {n} together hide it")),
        };
        if !minimal {
            evidence.push_str(INCOMPLETE);
        }
        Ok(Attribution {
            role,
            name: Some(PassName(names.join("+"))),
            execution: None,
            of: 0,
            function: None,
            with: Show::new(&shown.command),
            without: Some(hidden.command),
            evidence,
            builds: 0,
        })
    }

    /// Looks for one transformation whose absence alone hides the fault, group by group.
    fn single(&self, all: &[Switch]) -> Result<Option<Attribution>, ProbeError> {
        for pair in all.chunks(GROUP * 2) {
            let groups: Vec<Vec<Switch>> = pair.chunks(GROUP).map(<[Switch]>::to_vec).collect();
            // A group that hides it must leave enough to be taken apart.
            if self.left() < groups.len() + 12 {
                break;
            }
            let sets: Vec<Vec<String>> = groups.iter().map(flags_of).collect();
            let answers = self.cached.probe_all(self.setting, &sets)?;
            if let Some(index) = answers.iter().position(|p| p.presence == Presence::Absent) {
                return self.smallest(groups[index].clone()).map(Some);
            }
        }
        Ok(None)
    }
}
