//! Joining databases by content: any number, in any order, as often as one likes.

use crate::{Store, StoreError};
use rusqlite::Connection;
use std::path::Path;

/// What a merge brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct MergeSummary {
    /// Programs that were new.
    pub programs: u64,
    /// Units that were new.
    pub units: u64,
    /// Units that were known as open or failed and are now done.
    pub completed: u64,
    /// Findings that were new.
    pub findings: u64,
}

impl std::ops::AddAssign for MergeSummary {
    fn add_assign(&mut self, other: Self) {
        self.programs += other.programs;
        self.units += other.units;
        self.completed += other.completed;
        self.findings += other.findings;
    }
}

/// A unit that is done beats one that failed, and that beats one that is only planned. A rejection beats
/// all: whoever looked at the program's validity knew more.
const RANK: &str = "CASE state WHEN 'dropped' THEN 3 WHEN 'done' THEN 2 WHEN 'failed' THEN 1 ELSE 0 END";

impl Store {
    /// Takes over everything from another database, which is only read.
    pub fn merge_from(&self, other: &Path) -> Result<MergeSummary, StoreError> {
        // Opening it first brings it to our schema and tells damaged from locked from newer.
        drop(Store::open_existing(other)?);
        if same_file(self.path(), other) {
            return Ok(MergeSummary::default());
        }
        let attach = |c: &Connection| c.execute("ATTACH DATABASE ? AS other", [other.to_string_lossy()]).map(drop);
        attach(&self.lock()).map_err(|e| StoreError::from_sql(other, e))?;
        let result = self.write(copy);
        let detached = self.lock().execute("DETACH DATABASE other", []);
        let summary = result?;
        detached.map_err(|e| StoreError::from_sql(other, e))?;
        Ok(summary)
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Every join goes from their rows, which are few, to ours by an index: `CROSS JOIN` keeps SQLite to that order, so that
/// a merge takes as long as what it brings is large, however large the target is. The plus before a state keeps SQLite
/// from the index over states, which holds every unit of the target.
fn copy(c: &Connection) -> rusqlite::Result<MergeSummary> {
    c.execute_batch(
        "INSERT OR IGNORE INTO meta SELECT * FROM other.meta;
         INSERT OR IGNORE INTO blobs SELECT * FROM other.blobs;
         INSERT OR IGNORE INTO compilers (path, kind, version) SELECT path, kind, version FROM other.compilers;",
    )?;
    let programs = c.execute(
        "INSERT OR IGNORE INTO programs (source, seed, mutation, language, hash, rejection)
         SELECT source, seed, mutation, language, hash, rejection FROM other.programs",
        [],
    )?;
    c.execute_batch(
        "CREATE TEMP TABLE program_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
         INSERT INTO program_map SELECT o.id, p.id FROM other.programs o
             CROSS JOIN programs p ON p.source = o.source AND p.seed = o.seed AND p.mutation = o.mutation AND p.language = o.language;
         CREATE TEMP TABLE compiler_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
         INSERT INTO compiler_map SELECT o.id, k.id FROM other.compilers o
             CROSS JOIN compilers k ON k.path = o.path AND k.kind = o.kind AND k.version = o.version;
         UPDATE programs SET hash = coalesce(programs.hash, o.hash), rejection = coalesce(programs.rejection, o.rejection)
             FROM other.programs o JOIN program_map m ON m.theirs = o.id
             WHERE m.ours = programs.id AND (o.hash IS NOT NULL OR o.rejection IS NOT NULL);",
    )?;
    c.execute_batch(&format!(
        "CREATE TEMP TABLE better (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
         INSERT INTO better SELECT o.id, u.id FROM other.units o CROSS JOIN program_map pm ON pm.theirs = o.program
             CROSS JOIN compiler_map cm ON cm.theirs = o.compiler
             CROSS JOIN units u ON u.program = pm.ours AND u.compiler = cm.ours AND u.opt = o.opt WHERE {theirs} > {ours};",
        theirs = RANK.replace("state", "o.state"),
        ours = RANK.replace("state", "u.state"),
    ))?;
    let completed = c.execute(
        "UPDATE units SET state = o.state, attempts = o.attempts, reason = o.reason, reference_steps = o.reference_steps,
             optimized_steps = o.optimized_steps, cpu = o.cpu, compile_cpu = o.compile_cpu, finished_at = o.finished_at
         FROM better b CROSS JOIN other.units o ON o.id = b.theirs WHERE units.id = b.ours",
        [],
    )?;
    let units = c.execute(
        "INSERT OR IGNORE INTO units (program, compiler, opt, state, attempts, reason, reference_steps, optimized_steps, cpu, compile_cpu, finished_at)
         SELECT pm.ours, cm.ours, u.opt, u.state, u.attempts, u.reason, u.reference_steps, u.optimized_steps, u.cpu, u.compile_cpu, u.finished_at
         FROM other.units u CROSS JOIN program_map pm ON pm.theirs = u.program CROSS JOIN compiler_map cm ON cm.theirs = u.compiler",
        [],
    )?;
    c.execute_batch(
        "CREATE TEMP TABLE unit_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
         INSERT INTO unit_map SELECT o.id, u.id FROM other.units o CROSS JOIN program_map pm ON pm.theirs = o.program
             CROSS JOIN compiler_map cm ON cm.theirs = o.compiler
             CROSS JOIN units u ON u.program = pm.ours AND u.compiler = cm.ours AND u.opt = o.opt WHERE u.state = 'done';",
    )?;
    let findings = c.execute(
        "INSERT OR IGNORE INTO findings (unit, key, class, kind, document, evidence, found_at)
         SELECT m.ours, f.key, f.class, f.kind, f.document, f.evidence, f.found_at FROM other.findings f CROSS JOIN unit_map m ON m.theirs = f.unit
         ORDER BY f.id",
        [],
    )?;
    c.execute_batch(
        "INSERT OR IGNORE INTO triage (finding, class, document)
             SELECT g.id, t.class, t.document FROM other.triage t CROSS JOIN other.findings f ON f.id = t.finding
             CROSS JOIN unit_map m ON m.theirs = f.unit CROSS JOIN findings g ON g.unit = m.ours AND g.key = f.key;
         INSERT OR IGNORE INTO repeats (unit, class, count)
             SELECT m.ours, r.class, r.count FROM other.repeats r CROSS JOIN unit_map m ON m.theirs = r.unit;
         CREATE TEMP TABLE withdrawn AS SELECT u.id FROM program_map m CROSS JOIN units u ON u.program = m.ours WHERE +u.state = 'dropped';
         DELETE FROM triage WHERE finding IN (SELECT id FROM findings WHERE unit IN (SELECT id FROM withdrawn));
         DELETE FROM findings WHERE unit IN (SELECT id FROM withdrawn);
         DELETE FROM repeats WHERE unit IN (SELECT id FROM withdrawn);
         DROP TABLE withdrawn;
         DROP TABLE better; DROP TABLE program_map; DROP TABLE compiler_map; DROP TABLE unit_map;",
    )?;
    Ok(MergeSummary { programs: programs as u64, units: units as u64, completed: completed as u64, findings: findings as u64 })
}
