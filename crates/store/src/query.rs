//! Numbers for progress and reports.

use crate::{Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use trueline_model::FindingId;

/// How far a campaign is.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Programs looked at.
    pub programs: u64,
    /// Programs dropped as not valid.
    pub rejected: u64,
    /// Units in each state: planned, done, failed, dropped.
    pub units: BTreeMap<String, u64>,
    /// Findings.
    pub findings: u64,
    /// Distinct ones.
    pub distinct: u64,
    /// Further findings of classes that were seen often enough; they are counted and not kept.
    pub repeated: u64,
}

impl Counts {
    /// Units in a state.
    pub fn units_in(&self, state: &str) -> u64 {
        self.units.get(state).copied().unwrap_or(0)
    }
}

/// A cell of the paper's Table 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelCount {
    /// The compiler: family and version.
    pub compiler: String,
    /// The level as the command line has it.
    pub opt: String,
    /// The invariant, or `crash`, `hang`, `wrong-code`.
    pub kind: String,
    /// All findings at it, however alike.
    pub findings: u64,
    /// How many of them are distinct.
    pub distinct: u64,
}

/// One unit as merged results are compared by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitRecord {
    /// Source, seed, mutation, language, joined.
    pub program: String,
    /// Compiler: family and version.
    pub compiler: String,
    /// The level that the unit was built at.
    pub opt: String,
    /// How far work on the unit is.
    pub state: String,
    /// Why it failed or was dropped.
    pub reason: Option<String>,
    /// Number of findings.
    pub findings: u64,
}

/// Findings with one cause.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CauseCount {
    /// The cause where triage named it, the class otherwise.
    pub cause: String,
    /// Whether triage named it.
    pub explained: bool,
    /// The invariant, or `crash`, `hang`, `wrong-code`, `explosion`.
    pub kind: String,
    /// The compiler: family.
    pub family: String,
    /// The compiler: version.
    pub version: String,
    /// Findings that were kept.
    pub findings: u64,
    /// The first of them.
    pub first: FindingId,
}

/// What the programs of a seed cost and brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramYield {
    /// CPU seconds of their units.
    pub cpu: f64,
    /// The classes that showed, kept or counted.
    pub classes: BTreeSet<String>,
}

impl Store {
    /// What seeds of a source brought: one of them, or all.
    pub fn yields(&self, source: &str, seed: Option<u64>) -> Result<BTreeMap<u64, ProgramYield>, StoreError> {
        let units = "FROM programs p JOIN units u ON u.program = p.id";
        let which = "WHERE p.source = ?1 AND (?2 IS NULL OR p.seed = ?2)";
        let cost = format!("SELECT p.seed, coalesce(sum(u.cpu), 0) {units} {which} AND u.state = 'done' GROUP BY p.seed");
        let classes = format!(
            "SELECT p.seed, f.class {units} JOIN findings f ON f.unit = u.id {which}
             UNION SELECT p.seed, r.class {units} JOIN repeats r ON r.unit = u.id {which}"
        );
        let key = (source, seed.map(|s| s as i64));
        self.with(|c| {
            let mut all: BTreeMap<u64, ProgramYield> = BTreeMap::new();
            let mut statement = c.prepare(&cost)?;
            for row in statement.query_map(key, |r| Ok((r.get::<_, i64>(0)? as u64, r.get(1)?)))? {
                let (seed, cpu) = row?;
                all.entry(seed).or_default().cpu = cpu;
            }
            let mut statement = c.prepare(&classes)?;
            for row in statement.query_map(key, |r| Ok((r.get::<_, i64>(0)? as u64, r.get(1)?)))? {
                let (seed, class): (u64, String) = row?;
                if let Some(brought) = all.get_mut(&seed) {
                    brought.classes.insert(class);
                }
            }
            Ok(all)
        })
    }

    /// How often each class was found, kept or not.
    pub fn class_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let sql = "SELECT class, sum(n) FROM (SELECT class, count(*) AS n FROM findings GROUP BY class
                   UNION ALL SELECT class, sum(count) AS n FROM repeats GROUP BY class) GROUP BY class";
        self.with(|c| {
            let mut statement = c.prepare(sql)?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as u64)))?;
            rows.collect()
        })
    }

    /// The classes of which triage has looked at a finding.
    pub fn explained_classes(&self) -> Result<BTreeSet<String>, StoreError> {
        let sql = "SELECT DISTINCT f.class FROM findings f JOIN triage t ON t.finding = f.id";
        self.with(|c| c.prepare(sql)?.query_map([], |r| r.get(0))?.collect())
    }

    /// Findings by cause, kind and compiler. One that triage has not looked at has the cause of the first of its class that it has.
    pub fn causes(&self) -> Result<Vec<CauseCount>, StoreError> {
        let sql = "SELECT coalesce(t.class, CASE WHEN t.finding IS NULL THEN m.cause END, f.class) AS cause,
                max(coalesce(t.class, CASE WHEN t.finding IS NULL THEN m.cause END) IS NOT NULL), f.kind, k.kind, k.version, count(*), min(f.id)
            FROM findings f JOIN units u ON u.id = f.unit JOIN compilers k ON k.id = u.compiler LEFT JOIN triage t ON t.finding = f.id
            LEFT JOIN (SELECT g.class AS class, s.class AS cause, min(g.id) FROM findings g JOIN triage s ON s.finding = g.id
                       WHERE s.class IS NOT NULL GROUP BY g.class) m ON m.class = f.class
            GROUP BY 1, f.kind, k.kind, k.version ORDER BY 7";
        self.with(|c| {
            let mut statement = c.prepare(sql)?;
            let rows = statement.query_map([], |r| {
                Ok(CauseCount {
                    cause: r.get(0)?,
                    explained: r.get(1)?,
                    kind: r.get(2)?,
                    family: r.get(3)?,
                    version: r.get(4)?,
                    findings: r.get::<_, i64>(5)? as u64,
                    first: FindingId(r.get(6)?),
                })
            })?;
            rows.collect()
        })
    }

    /// How far the campaign is.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        self.with(|c| {
            let one = |sql: &str| c.query_row(sql, [], |r| r.get::<_, i64>(0)).map(|n| n as u64);
            let mut units = BTreeMap::new();
            let mut statement = c.prepare("SELECT state, count(*) FROM units GROUP BY state")?;
            for row in statement.query_map([], |r| Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)? as u64)))? {
                let (state, count) = row?;
                units.insert(state, count);
            }
            Ok(Counts {
                programs: one("SELECT count(*) FROM programs")?,
                rejected: one("SELECT count(*) FROM programs WHERE rejection IS NOT NULL")?,
                units,
                findings: one("SELECT count(*) FROM findings")?,
                distinct: one("SELECT count(DISTINCT coalesce(t.class, f.class)) FROM findings f LEFT JOIN triage t ON t.finding = f.id")?,
                repeated: one("SELECT coalesce(sum(count), 0) FROM repeats")?,
            })
        })
    }

    /// Findings per compiler, level and kind.
    pub fn level_counts(&self) -> Result<Vec<LevelCount>, StoreError> {
        let sql = "SELECT k.kind || ' ' || k.version, u.opt, f.kind, count(*), count(DISTINCT coalesce(t.class, f.class))
            FROM findings f JOIN units u ON u.id = f.unit JOIN compilers k ON k.id = u.compiler LEFT JOIN triage t ON t.finding = f.id
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
        self.with(|c| {
            let mut statement = c.prepare(sql)?;
            let rows = statement.query_map([], |r| {
                let (findings, distinct): (i64, i64) = (r.get(3)?, r.get(4)?);
                let (findings, distinct) = (findings as u64, distinct as u64);
                Ok(LevelCount { compiler: r.get(0)?, opt: r.get(1)?, kind: r.get(2)?, findings, distinct })
            })?;
            rows.collect()
        })
    }

    /// Distinct findings per compiler and kind, over all levels.
    pub fn distinct_per_compiler(&self) -> Result<BTreeMap<(String, String), u64>, StoreError> {
        let sql = "SELECT k.kind || ' ' || k.version, f.kind, count(DISTINCT coalesce(t.class, f.class))
            FROM findings f JOIN units u ON u.id = f.unit JOIN compilers k ON k.id = u.compiler LEFT JOIN triage t ON t.finding = f.id
            GROUP BY 1, 2";
        self.with(|c| {
            let mut statement = c.prepare(sql)?;
            let rows = statement.query_map([], |r| Ok(((r.get(0)?, r.get(1)?), r.get::<_, i64>(2)? as u64)))?;
            rows.collect()
        })
    }

    /// Rejected programs by their reason's first words.
    pub fn rejections(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let sql =
            "SELECT CASE instr(rejection, ':') WHEN 0 THEN rejection ELSE substr(rejection, 1, instr(rejection, ':') - 1) END, count(*)
            FROM programs WHERE rejection IS NOT NULL GROUP BY 1";
        self.with(|c| {
            let mut statement = c.prepare(sql)?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get::<_, i64>(1)? as u64)))?;
            rows.collect()
        })
    }

    /// When units ended, for the time axis: first and last, and the CPU seconds spent (all, compilers alone).
    pub fn effort(&self) -> Result<(f64, f64, f64, f64), StoreError> {
        let sql = "SELECT coalesce(min(finished_at), 0), coalesce(max(finished_at), 0), coalesce(sum(cpu), 0), coalesce(sum(compile_cpu), 0) FROM units";
        self.with(|c| c.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))))
    }

    /// Every unit, in an order that does not depend on who did it when.
    pub fn units(&self) -> Result<Vec<UnitRecord>, StoreError> {
        let sql = "SELECT p.source || ' ' || p.seed || ' ' || p.mutation || ' ' || p.language, k.kind || ' ' || k.version, u.opt, u.state,
            u.reason, (SELECT count(*) FROM findings f WHERE f.unit = u.id)
            FROM units u JOIN programs p ON p.id = u.program JOIN compilers k ON k.id = u.compiler ORDER BY 1, 2, 3";
        self.with(|c| {
            let mut statement = c.prepare(sql)?;
            let rows = statement.query_map([], |r| {
                let findings: i64 = r.get(5)?;
                Ok(UnitRecord {
                    program: r.get(0)?,
                    compiler: r.get(1)?,
                    opt: r.get(2)?,
                    state: r.get(3)?,
                    reason: r.get(4)?,
                    findings: findings as u64,
                })
            })?;
            rows.collect()
        })
    }
}
