//! From coverage to suspicion (DiWi, section 3.3): Ochiai per unit, gathered over the units of a file or
//! function that the failing compilation runs. Pure.
//!
//! The paper gathers by the mean. A mean over few units is noise: a helper file of three blocks that one
//! witness happens to miss outranks the pass of a thousand. The default therefore weighs the mean's excess
//! over an innocent unit's suspicion by the root of the number of units, as a standard error would. Units of a
//! file that the very same witnesses run are no independent observations, so a group of them counts for less
//! than its size; otherwise the largest generated files win.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use trueline_model::{CodeMap, CoverageSet};

/// What a ranking lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RankLevel {
    /// Source files of the compiler.
    File,
    /// Functions of the compiler's source.
    Function,
}

/// How the suspicion of units makes that of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// The mean, as in the paper.
    Mean,
    /// The mean's excess over a unit that every passing compilation runs, times the root of the units' number.
    Independent,
    /// The same, where units that the same passing compilations run weigh less than one each.
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

/// Units of a file or function that the same passing compilations run.
struct UnitGroup {
    suspicion: f64,
    units: usize,
}

/// What is gathered of a file or function.
#[derive(Default)]
struct Sums {
    excess: f64,
    suspicion: f64,
    weight: f64,
    units: usize,
}

/// A group of so many units weighs their number to this power: 1 would be independent observations, 1/2 would
/// let the root speak for the whole.
const REPEATED: f64 = 0.75;

/// A number that tells passing compilations apart when those of a pattern are combined (the finalizer of splitmix64).
fn scramble(index: u64) -> u64 {
    let mut x = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Ranks files or functions; `excluded` says which files do not rank at all.
pub fn rank(
    failing: &CoverageSet,
    passing: &[Passing<'_>],
    map: &CodeMap,
    level: RankLevel,
    aggregate: Aggregate,
    excluded: impl Fn(&str) -> bool,
) -> Vec<Suspect> {
    let innocent = ochiai(passing.iter().map(|p| p.weight).sum());
    let mut groups: HashMap<(u32, u64), UnitGroup> = HashMap::new();
    for unit in failing.iter() {
        let Some(&function) = map.unit_functions.get(unit as usize) else { continue };
        let key = match level {
            RankLevel::File => map.functions[function as usize].file,
            RankLevel::Function => function,
        };
        let (mut run_by, mut pattern) = (0.0, 0);
        for (index, p) in passing.iter().enumerate().filter(|(_, p)| p.covered.contains(unit)) {
            run_by += p.weight;
            pattern ^= scramble(index as u64);
        }
        groups.entry((key, pattern)).or_insert(UnitGroup { suspicion: ochiai(run_by), units: 0 }).units += 1;
    }
    let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
    let mut groups: Vec<((u32, u64), UnitGroup)> = groups.into_iter().collect();
    // In one order, so that equal rankings have equal scores to the last bit.
    groups.sort_unstable_by_key(|(key, _)| *key);
    for ((key, _), group) in groups {
        let units = group.units as f64;
        let weight = if aggregate == Aggregate::Evidence { units.powf(REPEATED) } else { units };
        let entry = sums.entry(key).or_default();
        entry.excess += weight * (group.suspicion - innocent);
        entry.suspicion += units * group.suspicion;
        entry.weight += weight;
        entry.units += group.units;
    }
    let gather = |sums: &Sums| match aggregate {
        Aggregate::Mean => sums.suspicion / sums.units as f64,
        Aggregate::Independent | Aggregate::Evidence => sums.excess / sums.weight.sqrt(),
    };
    let suspects = sums.into_iter().map(|(key, sums)| {
        let (file, function) = match level {
            RankLevel::File => (&map.files[key as usize], None),
            RankLevel::Function => {
                let function = &map.functions[key as usize];
                (&map.files[function.file as usize], Some(function.name.clone()))
            }
        };
        Suspect { rank: 0, file: file.clone(), function, score: gather(&sums), statements: sums.units }
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

/// Files that report crashes rather than cause them: they run only because the compiler crashed. Printers of the
/// compiler's own trees are among them, since a failed check shows what it found.
pub fn reports_diagnostics(file: &str) -> bool {
    let base = file.rsplit('/').next().unwrap_or(file);
    let stem = base.split('.').next().unwrap_or(base);
    const GCC: [&str; 8] = ["diagnostic", "input", "json", "edit-context", "c-objc-common", "langhooks", "toplev", "libbacktrace"];
    const LLVM: [&str; 6] = ["Signals", "PrettyStackTrace", "CrashRecoveryContext", "ErrorHandling", "Diagnostic", "TextDiagnostic"];
    let prints =
        ["diagnostic-", "tree-diagnostic", "print-"].iter().any(|prefix| stem.starts_with(prefix)) || stem.contains("pretty-print");
    prints || GCC.contains(&stem) || LLVM.contains(&stem)
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
        let ranking = rank(&failing, &passing, &map(), RankLevel::File, Aggregate::Mean, |_| false);
        let files: Vec<&str> = ranking.iter().map(|s| s.file.as_str()).collect();
        assert_eq!(files, ["a.cc", "b.cc"], "c.cc is not run by the failing program");
        assert!((ranking[0].score - f64::midpoint(1.0 / 2f64.sqrt(), 1.0)).abs() < 1e-12);
        assert!((ranking[1].score - 1.0 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(ranking[0].statements, 2);
    }

    #[test]
    fn evidence_prefers_many_suspect_units_to_few() {
        let map = CodeMap { unit_functions: vec![0, 0, 0, 0, 1], ..map() };
        let failing = set(&[0, 1, 2, 3, 4]);
        let witness = set(&[]);
        let passing = [Passing { covered: &witness, weight: 1.0 }];
        let mean = rank(&failing, &passing, &map, RankLevel::File, Aggregate::Mean, |_| false);
        assert_eq!(mean.iter().map(|s| s.rank).collect::<Vec<_>>(), [2, 2]);
        let evidence = rank(&failing, &passing, &map, RankLevel::File, Aggregate::Evidence, |_| false);
        assert_eq!(evidence.iter().map(|s| (s.rank, s.file.as_str())).collect::<Vec<_>>(), [(1, "a.cc"), (2, "b.cc")]);
    }

    #[test]
    fn units_that_run_together_weigh_less_than_units_that_do_not() {
        let map = CodeMap { unit_functions: vec![0, 0, 0, 0, 1, 1, 1, 1], ..map() };
        let failing = set(&[0, 1, 2, 3, 4, 5, 6, 7]);
        // Each of four witnesses misses one unit of b.cc; the first misses all of a.cc.
        let covered: Vec<CoverageSet> = (4..8).map(|missed| (0..8).filter(|&u| u != missed && !(missed == 4 && u < 4)).collect()).collect();
        let passing: Vec<Passing<'_>> = covered.iter().map(|covered| Passing { covered, weight: 1.0 }).collect();
        let independent = rank(&failing, &passing, &map, RankLevel::File, Aggregate::Independent, |_| false);
        assert_eq!(independent.iter().map(|s| s.rank).collect::<Vec<_>>(), [2, 2]);
        let evidence = rank(&failing, &passing, &map, RankLevel::File, Aggregate::Evidence, |_| false);
        assert_eq!(evidence.iter().map(|s| (s.rank, s.file.as_str())).collect::<Vec<_>>(), [(1, "b.cc"), (2, "a.cc")]);
    }

    #[test]
    fn equal_scores_share_the_worst_place() {
        let failing = set(&[0, 2, 4]);
        let ranking = rank(&failing, &[], &map(), RankLevel::File, Aggregate::Mean, |file| file == "c.cc");
        assert_eq!(ranking.iter().map(|s| s.rank).collect::<Vec<_>>(), [2, 2]);
        let ranking = rank(&failing, &[], &map(), RankLevel::Function, Aggregate::Mean, |_| false);
        assert_eq!(ranking.iter().map(|s| s.rank).collect::<Vec<_>>(), [3, 3, 3]);
        assert_eq!(ranking[0].function.as_deref(), Some("f"));
    }

    #[test]
    fn what_reports_a_crash_is_no_suspect() {
        for file in ["libbacktrace", "diagnostic-show-locus.cc", "tree-pretty-print.cc", "print-rtl.cc", "c-family/c-pretty-print.cc"] {
            assert!(reports_diagnostics(file), "{file}");
        }
        assert!(!reports_diagnostics("tree-vect-loop.cc") && !reports_diagnostics("AsmPrinter.cpp"));
    }
}
