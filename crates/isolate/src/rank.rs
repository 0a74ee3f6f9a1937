//! From coverage to suspicion (DiWi, section 3.3): Ochiai per unit, gathered over the units of a file or
//! function that the failing compilation runs. Pure.
//!
//! The paper gathers by the mean. A mean over few units is noise: a helper file of three blocks that one
//! witness happens to miss outranks the pass of a thousand. The default therefore weighs the mean's excess
//! over an innocent unit's suspicion by the root of the number of units, as a standard error would.

use serde::Serialize;
use std::collections::HashMap;
use trueline_model::{CodeMap, CoverageSet};

/// What a ranking lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Source files.
    File,
    /// Functions.
    Function,
}

/// How the suspicion of units makes that of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// The mean, as in the paper.
    Mean,
    /// The mean's excess over a unit that every passing compilation runs, times the root of the units' number.
    Evidence,
}

/// A suspect.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Suspect {
    /// Its rank; those with equal scores all have the worst of their places.
    pub rank: usize,
    /// The file.
    pub file: String,
    /// The function, in a ranking of functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its suspicion.
    pub score: f64,
    /// How many of its units the failing compilation ran.
    pub statements: usize,
}

/// One passing compilation and how much it counts.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// What it covers.
    pub covered: &'a CoverageSet,
    /// Its weight; 1 for the paper's formula.
    pub weight: f64,
}

/// The suspicion of a unit that the one failing compilation runs, when passing compilations of the given
/// total weight run it too: Ochiai with one failing test, `1 / sqrt(1 + passing)`.
pub fn ochiai(passing: f64) -> f64 {
    1.0 / (1.0 + passing).sqrt()
}

/// Ranks files or functions; `excluded` says which files do not rank at all.
pub fn rank(
    failing: &CoverageSet,
    passing: &[Passing<'_>],
    map: &CodeMap,
    level: Level,
    aggregate: Aggregate,
    excluded: impl Fn(&str) -> bool,
) -> Vec<Suspect> {
    let innocent = ochiai(passing.iter().map(|p| p.weight).sum());
    let mut sums: HashMap<u32, (f64, usize)> = HashMap::new();
    for unit in failing.iter() {
        let Some(&function) = map.unit_functions.get(unit as usize) else { continue };
        let key = match level {
            Level::File => map.functions[function as usize].file,
            Level::Function => function,
        };
        let run_by: f64 = passing.iter().filter(|p| p.covered.contains(unit)).map(|p| p.weight).sum();
        let entry = sums.entry(key).or_default();
        entry.0 += ochiai(run_by);
        entry.1 += 1;
    }
    let gather = |sum: f64, units: usize| match aggregate {
        Aggregate::Mean => sum / units as f64,
        Aggregate::Evidence => (sum - innocent * units as f64) / (units as f64).sqrt(),
    };
    let suspects = sums.into_iter().map(|(key, (sum, units))| {
        let (file, function) = match level {
            Level::File => (&map.files[key as usize], None),
            Level::Function => {
                let function = &map.functions[key as usize];
                (&map.files[function.file as usize], Some(function.name.clone()))
            }
        };
        Suspect { rank: 0, file: file.clone(), function, score: gather(sum, units), statements: units }
    });
    place(suspects.filter(|suspect| !excluded(&suspect.file)).collect())
}

/// Sorts by score and numbers the places, equal scores with the worst place among them.
pub fn place(mut suspects: Vec<Suspect>) -> Vec<Suspect> {
    suspects.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (&a.file, &a.function).cmp(&(&b.file, &b.function))));
    let mut end = suspects.len();
    for index in (0..suspects.len()).rev() {
        // Sums of the same numbers in another order are the same.
        if index + 1 < suspects.len() && suspects[index].score - suspects[index + 1].score > 1e-9 {
            end = index + 1;
        }
        suspects[index].rank = end;
    }
    suspects
}

/// Files that report crashes rather than cause them: they run only because the compiler crashed.
pub fn reports_diagnostics(file: &str) -> bool {
    let base = file.rsplit('/').next().unwrap_or(file);
    let stem = base.split('.').next().unwrap_or(base);
    ["diagnostic", "pretty-print", "input", "json", "edit-context", "tree-diagnostic", "c-objc-common", "langhooks", "toplev"]
        .contains(&stem)
        || stem.starts_with("diagnostic-")
        || stem.starts_with("tree-diagnostic")
        || ["Signals", "PrettyStackTrace", "CrashRecoveryContext", "ErrorHandling", "Diagnostic", "TextDiagnostic"].contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::CodeFunction;

    fn map() -> CodeMap {
        let function = |name: &str, file| CodeFunction { name: name.to_owned(), file };
        CodeMap {
            files: vec!["a.cc".to_owned(), "b.cc".to_owned(), "c.cc".to_owned()],
            functions: vec![function("f", 0), function("g", 1), function("h", 2)],
            unit_functions: vec![0, 0, 1, 1, 2],
        }
    }

    fn set(units: &[u32]) -> CoverageSet {
        units.iter().copied().collect()
    }

    #[test]
    fn what_only_the_failing_program_runs_ranks_first() {
        let failing = set(&[0, 1, 2, 3]);
        let (one, two) = (set(&[2, 3, 0]), set(&[2, 3, 4]));
        let passing = [Passing { covered: &one, weight: 1.0 }, Passing { covered: &two, weight: 1.0 }];
        let ranking = rank(&failing, &passing, &map(), Level::File, Aggregate::Mean, |_| false);
        let files: Vec<&str> = ranking.iter().map(|s| s.file.as_str()).collect();
        assert_eq!(files, ["a.cc", "b.cc"], "c.cc is not run by the failing program");
        assert!((ranking[0].score - (1.0 / 2f64.sqrt() + 1.0) / 2.0).abs() < 1e-12);
        assert!((ranking[1].score - 1.0 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(ranking[0].statements, 2);
    }

    #[test]
    fn evidence_prefers_many_suspect_units_to_few() {
        let map = CodeMap { unit_functions: vec![0, 0, 0, 0, 1], ..map() };
        let failing = set(&[0, 1, 2, 3, 4]);
        let witness = set(&[]);
        let passing = [Passing { covered: &witness, weight: 1.0 }];
        let mean = rank(&failing, &passing, &map, Level::File, Aggregate::Mean, |_| false);
        assert_eq!(mean.iter().map(|s| s.rank).collect::<Vec<_>>(), [2, 2]);
        let evidence = rank(&failing, &passing, &map, Level::File, Aggregate::Evidence, |_| false);
        assert_eq!(evidence.iter().map(|s| (s.rank, s.file.as_str())).collect::<Vec<_>>(), [(1, "a.cc"), (2, "b.cc")]);
    }

    #[test]
    fn equal_scores_share_the_worst_place() {
        let failing = set(&[0, 2, 4]);
        let ranking = rank(&failing, &[], &map(), Level::File, Aggregate::Mean, |file| file == "c.cc");
        assert_eq!(ranking.iter().map(|s| s.rank).collect::<Vec<_>>(), [2, 2]);
        let ranking = rank(&failing, &[], &map(), Level::Function, Aggregate::Mean, |_| false);
        assert_eq!(ranking.iter().map(|s| s.rank).collect::<Vec<_>>(), [3, 3, 3]);
        assert_eq!(ranking[0].function.as_deref(), Some("f"));
    }
}
