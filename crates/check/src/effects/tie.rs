//! Both runs put together: the n-th effect of a kind in one is the n-th in the other, where both have equally many with
//! equal values.

use super::ReferenceEffects;
use super::operands;
use super::run::{Deed, EffectKey, Happening, Run};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use trueline_model::{LineEffect, LineKey};
use trueline_oracle::{Effects, Place, Tied};

/// Visits of one instruction whose operands are compared.
const MOST_COMPARED: u32 = 64;

/// What is known of an effect at -O0.
struct Origin<'r> {
    line: LineKey,
    function: Arc<str>,
    /// Whether a breakpoint on the line was hit since the line had this effect last.
    covered: bool,
    deed: &'r Deed,
}

fn deeds(run: &Run) -> HashMap<&EffectKey, Vec<&Deed>> {
    let mut found: HashMap<&EffectKey, Vec<&Deed>> = HashMap::new();
    for happening in &run.happenings {
        if let Happening::Did(deed) = happening {
            found.entry(&run.keys[deed.key]).or_default().push(deed);
        }
    }
    found
}

/// The kinds of effects that both runs have equally often, with equal values.
fn common<'r>(reference: &'r Run, optimized: &Run) -> HashSet<&'r EffectKey> {
    let theirs = deeds(optimized);
    let same = |mine: &[&Deed], theirs: &[&Deed]| mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(a, b)| a.value == b.value);
    deeds(reference).into_iter().filter(|(key, mine)| theirs.get(key).is_some_and(|t| same(mine, t))).map(|(key, _)| key).collect()
}

/// Counts how often the breakpoints of lines were hit.
#[derive(Default)]
struct Counts(HashMap<LineKey, u64>);

impl Counts {
    fn of(&self, line: &LineKey) -> u64 {
        self.0.get(line).copied().unwrap_or(0)
    }

    fn add(&mut self, lines: &[LineKey]) {
        for line in lines {
            *self.0.entry(line.clone()).or_default() += 1;
        }
    }
}

/// For each effect of a common kind at -O0, by kind and in order: its line, and whether the breakpoint covers it.
fn origins<'r>(side: &'r ReferenceEffects, common: &HashSet<&EffectKey>) -> HashMap<&'r EffectKey, Vec<Option<Origin<'r>>>> {
    let ReferenceEffects { build, run, places } = side;
    let mut lines_at: HashMap<u64, Vec<LineKey>> = HashMap::new();
    for (line, placed) in places {
        placed.iter().for_each(|p| lines_at.entry(p.pc).or_default().push(line.clone()));
    }
    let mut counts = Counts::default();
    let mut last: HashMap<(LineKey, usize), u64> = HashMap::new();
    let mut found: HashMap<&EffectKey, Vec<Option<Origin<'r>>>> = HashMap::new();
    for happening in &run.happenings {
        match happening {
            Happening::Hit(pc) => counts.add(lines_at.get(pc).map_or(&[], |l| &l[..])),
            Happening::Did(deed) if common.contains(&run.keys[deed.key]) => {
                let place = deed.pc.and_then(|pc| Some((build.line_at(pc)?, build.function_at(pc)?)));
                let origin = place.map(|(line, function)| {
                    let now = counts.of(&line);
                    let before = last.insert((line.clone(), deed.key), now).unwrap_or(0);
                    Origin { line, function, covered: now > before, deed }
                });
                found.entry(&run.keys[deed.key]).or_default().push(origin);
            }
            Happening::Did(_) => {}
        }
    }
    found
}

/// Ties the runs of two builds.
pub(super) fn tie(reference: &ReferenceEffects, optimized: &ReferenceEffects) -> Effects {
    let common = common(&reference.run, &optimized.run);
    let origins = origins(reference, &common);
    let ReferenceEffects { build, run, places } = optimized;
    let mut effects = Effects::default();
    let mut tied: BTreeMap<(LineKey, usize), Tied> = BTreeMap::new();
    let mut last: HashMap<(LineKey, usize), (u64, u64)> = HashMap::new();
    let mut next: HashMap<&EffectKey, usize> = HashMap::new();
    let mut compared: HashMap<u64, u32> = HashMap::new();
    let mut active: HashMap<u64, Vec<Arc<str>>> = HashMap::new();
    let mut hits: HashMap<u64, u64> = HashMap::new();
    let mut lost = operands::LostSearch::new(reference, optimized);
    for happening in &run.happenings {
        let deed = match happening {
            Happening::Hit(pc) => {
                *hits.entry(*pc).or_default() += 1;
                continue;
            }
            Happening::Did(deed) => deed,
        };
        let key = &run.keys[deed.key];
        let Some(of_kind) = origins.get(key) else { continue };
        let number = next.entry(key).or_default();
        let origin = of_kind.get(*number).and_then(Option::as_ref);
        *number += 1;
        let (Some(origin), Some(pc)) = (origin, deed.pc) else { continue };
        let times = compared.entry(pc).or_default();
        *times += 1;
        if *times <= MOST_COMPARED {
            lost.compare(origin.deed, deed, &origin.line, &origin.function, &key.effect);
        }
        let entry = tied.entry((origin.line.clone(), deed.key)).or_insert_with(|| {
            let placed = places.get(&origin.line).into_iter().flatten();
            let here = |pc: u64| build.functions_at(pc).contains(&origin.function);
            let all = placed.map(|p| Place {
                pc: p.pc,
                shown: p.shown.clone(),
                in_function: here(p.pc),
                hits: run.hits.get(&p.pc).copied().unwrap_or(0),
            });
            Tied {
                line: origin.line.clone(),
                function: Arc::clone(&origin.function),
                effect: key.effect.clone(),
                pc,
                row: build.line_at(pc),
                visits: 0,
                missed: 0,
                moved: 0,
                places: all.collect(),
                alike: alike(reference, &origin.function, &key.effect),
                sites: (reference.build.sites_of(&key.effect), build.sites_of(&key.effect)),
            }
        });
        let count = |wanted: &dyn Fn(&Place) -> bool| -> u64 {
            entry.places.iter().filter(|p| p.in_function && wanted(p)).map(|p| hits.get(&p.pc).copied().unwrap_or(0)).sum()
        };
        let exact = count(&|p| p.shown.as_ref() == Some(&entry.line));
        let elsewhere = count(&|p| p.shown.as_ref() != Some(&entry.line));
        let before = last.insert((origin.line.clone(), deed.key), (exact, elsewhere)).unwrap_or((0, 0));
        if !origin.covered {
            continue;
        }
        entry.visits += 1;
        // The function of the effect's own instruction: a clone of a function keeps its name, an outlined piece may not.
        let functions = active.entry(pc).or_insert_with(|| build.functions_at(pc));
        if exact > before.0 || !functions.contains(&origin.function) {
            continue;
        }
        if entry.missed == 0 {
            (entry.pc, entry.row) = (pc, build.line_at(pc));
        }
        entry.missed += 1;
        entry.moved += u32::from(elsewhere > before.1);
    }
    effects.tied = tied.into_values().collect();
    effects.lost = lost.found();
    effects
}

fn alike(reference: &ReferenceEffects, function: &Arc<str>, effect: &LineEffect) -> std::collections::BTreeSet<LineKey> {
    reference.build.alike.get(&(Arc::clone(function), effect.clone())).cloned().unwrap_or_default()
}
