//! Claims and units: who works on which program, and what is left to do there.

use crate::store::{ProgramKey, birth_of, compiler_row, host};
use crate::{Store, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use trueline_model::{CompilerId, OptLevel};

/// Number of a unit in its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoredUnitId(pub i64);

/// A unit that is still to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedUnit {
    /// Its number in the database.
    pub id: StoredUnitId,
    /// Position of its compiler in the list that was claimed with.
    pub compiler: usize,
    /// The level it is compiled at.
    pub opt: OptLevel,
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// These units are ours to do now.
    Work(Vec<PlannedUnit>),
    /// Nothing is left to do.
    Done,
    /// Another living process works on it.
    Taken,
}

/// Failed units get one more try.
pub(crate) const MAX_ATTEMPTS: i64 = 2;

/// A program on which this many processes died is given up: it may be the program that kills them, and whatever
/// starts hunts again would do so for ever. Far above one, because people and schedulers kill hunts all the time: 200
/// kills within a second each, on a machine too busy to finish a unit in that time, left 14 programs with more than 20.
const MAX_DEATHS: i64 = 1000;

impl Store {
    /// Claims a program and plans its units: one per compiler and level of `wanted` that is not done yet.
    pub fn claim(&self, key: &ProgramKey, wanted: &[(CompilerId, Vec<OptLevel>)]) -> Result<Claim, StoreError> {
        let me = self.process()?;
        self.write(|c| {
            let values = params![key.source, key.seed as i64, key.mutation, key.language.key()];
            c.execute("INSERT OR IGNORE INTO programs (source, seed, mutation, language) VALUES (?, ?, ?, ?)", values)?;
            let (program, owner, deaths, rejected): (i64, Option<i64>, i64, bool) = c.query_row(
                "SELECT id, claimed_by, deaths, rejection IS NOT NULL FROM programs
                 WHERE source = ? AND seed = ? AND mutation = ? AND language = ?",
                values,
                |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)),
            )?;
            let died = match owner {
                Some(owner) if owner != me && is_alive(c, owner)? => return Ok(Claim::Taken),
                Some(owner) => owner != me,
                None => false,
            };
            let deaths = deaths + i64::from(died);
            let mut work = Vec::new();
            for (index, (compiler, levels)) in wanted.iter().enumerate() {
                let row = compiler_row(c, compiler)?;
                for opt in levels {
                    if let Some(id) = plan(c, program, row, *opt, rejected)? {
                        work.push(PlannedUnit { id, compiler: index, opt: *opt });
                    }
                }
            }
            if deaths > MAX_DEATHS {
                for unit in work.drain(..) {
                    let reason = format!("{MAX_DEATHS} processes died while working on this program");
                    c.execute(
                        "UPDATE units SET state = 'failed', attempts = ?, reason = ? WHERE id = ?",
                        params![MAX_ATTEMPTS, reason, unit.id.0],
                    )?;
                }
            }
            let claimed = if work.is_empty() { None } else { Some(me) };
            c.execute("UPDATE programs SET claimed_by = ?, deaths = ? WHERE id = ?", params![claimed, deaths, program])?;
            Ok(if work.is_empty() { Claim::Done } else { Claim::Work(work) })
        })
    }

    /// Gives a claim back when its units are done (or are to be done by somebody else).
    pub fn release(&self, key: &ProgramKey) -> Result<(), StoreError> {
        let me = self.process()?;
        self.write(|c| {
            let values = params![me, key.source, key.seed as i64, key.mutation, key.language.key()];
            let sql =
                "UPDATE programs SET claimed_by = NULL WHERE claimed_by = ? AND source = ? AND seed = ? AND mutation = ? AND language = ?";
            c.execute(sql, values).map(drop)
        })
    }

    /// Records that a unit makes no sense: the compiler does not take the program, or has no such level.
    pub fn drop_unit(&self, unit: StoredUnitId, reason: &str) -> Result<(), StoreError> {
        let sql = "UPDATE units SET state = 'dropped', reason = ? WHERE id = ? AND state IN ('planned', 'failed')";
        self.write(|c| c.execute(sql, params![reason, unit.0]).map(drop))
    }

    /// Records that a program is not valid: its open units are dropped, its findings withdrawn.
    pub fn reject(&self, key: &ProgramKey, reason: &str) -> Result<(), StoreError> {
        self.write(|c| {
            let values = params![key.source, key.seed as i64, key.mutation, key.language.key()];
            let sql = "SELECT id FROM programs WHERE source = ? AND seed = ? AND mutation = ? AND language = ?";
            let Some(program) = c.query_row(sql, values, |r| r.get::<_, i64>(0)).optional()? else { return Ok(()) };
            c.execute("UPDATE programs SET rejection = ?, claimed_by = NULL WHERE id = ?", params![reason, program])?;
            c.execute(
                "DELETE FROM triage WHERE finding IN (SELECT f.id FROM findings f JOIN units u ON u.id = f.unit WHERE u.program = ?)",
                [program],
            )?;
            c.execute("DELETE FROM findings WHERE unit IN (SELECT id FROM units WHERE program = ?)", [program])?;
            c.execute("UPDATE units SET state = 'dropped', reason = ? WHERE program = ?", params![reason, program]).map(drop)
        })
    }
}

/// Plans one unit, or says that nothing is to be done for it.
fn plan(c: &Connection, program: i64, compiler: i64, opt: OptLevel, rejected: bool) -> rusqlite::Result<Option<StoredUnitId>> {
    let key = params![program, compiler, opt.flag()];
    let sql = "SELECT id, state, attempts FROM units WHERE program = ? AND compiler = ? AND opt = ?";
    let known: Option<(i64, String, i64)> = c.query_row(sql, key, |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).optional()?;
    match known {
        Some((id, state, _)) if state == "planned" => Ok(Some(StoredUnitId(id))),
        Some((id, state, attempts)) if state == "failed" && attempts < MAX_ATTEMPTS => Ok(Some(StoredUnitId(id))),
        Some(_) => Ok(None),
        None => {
            let state = if rejected { "dropped" } else { "planned" };
            c.execute(
                "INSERT INTO units (program, compiler, opt, state) VALUES (?, ?, ?, ?)",
                params![program, compiler, opt.flag(), state],
            )?;
            Ok((!rejected).then(|| StoredUnitId(c.last_insert_rowid())))
        }
    }
}

fn is_alive(c: &Connection, process: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT host, pid, birth FROM processes WHERE id = ?";
    let row: Option<(String, u32, String)> = c.query_row(sql, [process], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).optional()?;
    // A database moved to another machine leaves its processes behind: SQLite files are not shared between hosts.
    Ok(row.is_some_and(|(at, pid, birth)| at == host() && birth_of(pid).is_some_and(|b| b == birth)))
}
