//! Findings: written together with the end of their unit, read back whole.

use crate::blob::{address, put};
use crate::claim::{MAX_ATTEMPTS, StoredUnitId};
use crate::evidence::FindingEvidence;
use crate::filing;
use crate::store::now;
use crate::{ProgramKey, Store, StoreError};
use rusqlite::{OptionalExtension, Row, params};
use std::collections::BTreeMap;
use trueline_model::{Fault, Finding, FindingId, Language};

/// A finding about to be written.
#[derive(Clone, Debug)]
pub struct NewFinding {
    /// The finding; its `program` is filled in with the content address.
    pub finding: Finding,
    /// What makes it distinct before triage has named a pass.
    pub class: String,
    /// What its page shows.
    pub evidence: FindingEvidence,
}

/// What a finished unit cost and saw.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnitResult {
    /// Stops of the -O0 trace.
    pub reference_steps: u64,
    /// Stops of the optimized trace.
    pub optimized_steps: u64,
    /// CPU seconds of everything the unit did.
    pub cpu: f64,
    /// CPU seconds of the compilers alone.
    pub compile_cpu: f64,
}

/// A finding as it is stored.
#[derive(Clone, Debug)]
pub struct FindingRecord {
    /// Its number in the database.
    pub id: FindingId,
    /// The finding itself, as a document.
    pub finding: Finding,
    /// What makes it distinct: the guilty pass once triage has named one.
    pub class: String,
    /// Seconds since the epoch.
    pub found_at: f64,
    /// The program that shows it, by its key.
    pub program: ProgramKey,
    /// Address of its evidence.
    pub evidence: Option<String>,
    /// What triage said, as JSON.
    pub triage: Option<String>,
}

/// What makes two findings of one unit the same.
fn key_of(fault: &Fault) -> String {
    let text = match fault {
        Fault::Violation(v) => v.complaint().to_string(),
        other => other.kind().to_owned(),
    };
    address(text.as_bytes())[..16].to_owned()
}

impl FindingRecord {
    /// The kind of fault in one word: an invariant's name, or `crash`, `hang`, `wrong-code`.
    pub fn kind(&self) -> &'static str {
        self.finding.fault.kind()
    }
}

impl Store {
    /// Ends a unit and adds its findings, in one transaction: both or neither.
    pub fn finish_unit(&self, unit: StoredUnitId, result: UnitResult, findings: &[NewFinding]) -> Result<Vec<FindingId>, StoreError> {
        self.finish_unit_with(unit, result, findings, &BTreeMap::new())
    }

    /// The same with findings that are only counted, by their class.
    pub fn finish_unit_with(
        &self,
        unit: StoredUnitId,
        result: UnitResult,
        findings: &[NewFinding],
        repeats: &BTreeMap<String, u64>,
    ) -> Result<Vec<FindingId>, StoreError> {
        let documents = findings.iter().map(|f| self.pack(f)).collect::<Result<Vec<_>, _>>()?;
        self.write(|c| {
            let values =
                params![result.reference_steps as i64, result.optimized_steps as i64, result.cpu, result.compile_cpu, now(), unit.0];
            let sql = "UPDATE units SET state = 'done', reason = NULL, attempts = attempts + 1, reference_steps = ?, optimized_steps = ?,
                       cpu = ?, compile_cpu = ?, finished_at = ? WHERE id = ? AND state IN ('planned', 'failed')";
            if c.execute(sql, values)? == 0 {
                // Somebody else finished it, or its program was rejected meanwhile.
                return Ok(Vec::new());
            }
            for (class, count) in repeats {
                c.execute("INSERT OR REPLACE INTO repeats (unit, class, count) VALUES (?, ?, ?)", params![unit.0, class, *count as i64])?;
            }
            let mut ids = Vec::new();
            for (finding, (program, evidence)) in findings.iter().zip(&documents) {
                let hash = put(c, program)?;
                let mut document = finding.finding.clone();
                document.program.clone_from(&hash);
                for build in [&finding.evidence.reference, &finding.evidence.optimized] {
                    build.trace.packed().put(c)?;
                }
                let evidence = put(c, evidence)?;
                let json = serde_json::to_string(&document).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
                c.execute("UPDATE programs SET hash = ? WHERE id = (SELECT program FROM units WHERE id = ?)", params![hash, unit.0])?;
                let kind = document.fault.kind();
                let values = params![unit.0, key_of(&document.fault), finding.class, kind, json, evidence, now()];
                let sql =
                    "INSERT OR IGNORE INTO findings (unit, key, class, kind, document, evidence, found_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
                if c.execute(sql, values)? > 0 {
                    ids.push(FindingId(c.last_insert_rowid()));
                }
            }
            Ok(ids)
        })
    }

    fn pack(&self, finding: &NewFinding) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
        let bad = |e: serde_json::Error| StoreError::BadRecord { path: self.path().to_owned(), reason: e.to_string() };
        Ok((serde_json::to_vec(&finding.evidence.program).map_err(bad)?, filing::file(&finding.evidence).map_err(bad)?))
    }

    /// Records that a unit could not be done. Says whether it gets another try.
    pub fn fail_unit(&self, unit: StoredUnitId, reason: &str) -> Result<bool, StoreError> {
        self.write(|c| {
            let sql = "UPDATE units SET state = 'failed', attempts = attempts + 1, reason = ?, finished_at = ? WHERE id = ? AND state IN ('planned', 'failed')";
            c.execute(sql, params![reason, now(), unit.0])?;
            let attempts: i64 = c.query_row("SELECT attempts FROM units WHERE id = ?", [unit.0], |r| r.get(0))?;
            Ok(attempts < MAX_ATTEMPTS)
        })
    }

    /// Every finding, oldest first.
    pub fn findings(&self) -> Result<Vec<FindingRecord>, StoreError> {
        let rows = self.with(|c| {
            let mut statement = c.prepare(&format!("{SELECT} ORDER BY f.id"))?;
            statement.query_map([], read)?.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        rows.into_iter().map(|row| self.unpack(row)).collect()
    }

    /// One finding by its number.
    pub fn finding(&self, id: FindingId) -> Result<FindingRecord, StoreError> {
        let row = self.with(|c| c.query_row(&format!("{SELECT} WHERE f.id = ?"), [id.0], read).optional())?;
        self.unpack(row.ok_or(StoreError::NoFinding { id: id.0, path: self.path().to_owned() })?)
    }

    /// The evidence of a finding, `None` where none was kept.
    pub fn evidence(&self, record: &FindingRecord) -> Result<Option<FindingEvidence>, StoreError> {
        let Some(hash) = &record.evidence else { return Ok(None) };
        let Some(bytes) = self.blob(hash)? else { return Ok(None) };
        filing::unfile(&bytes, self).map(Some)
    }

    /// Keeps what triage said about a finding; with a class, findings of one class count as one.
    pub fn set_triage(&self, id: FindingId, class: Option<&str>, document: &str) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO triage (finding, class, document) VALUES (?, ?, ?)";
        self.write(|c| c.execute(sql, params![id.0, class, document]).map(drop))
    }

    fn unpack(&self, row: Stored) -> Result<FindingRecord, StoreError> {
        let bad = |reason: String| StoreError::BadRecord { path: self.path().to_owned(), reason };
        let finding = serde_json::from_str(&row.document).map_err(|e| bad(format!("finding {}: {e}", row.id)))?;
        let language: Language = row.language.parse().map_err(|e| bad(format!("program of finding {}: {e}", row.id)))?;
        let program = ProgramKey { source: row.source, seed: row.seed as u64, mutation: row.mutation, language };
        Ok(FindingRecord {
            id: FindingId(row.id),
            finding,
            class: row.triage_class.unwrap_or(row.class),
            found_at: row.found_at,
            program,
            evidence: row.evidence,
            triage: row.triage,
        })
    }
}

const SELECT: &str =
    "SELECT f.id, f.document, f.class, t.class, f.found_at, f.evidence, t.document, p.source, p.seed, p.mutation, p.language
    FROM findings f JOIN units u ON u.id = f.unit JOIN programs p ON p.id = u.program LEFT JOIN triage t ON t.finding = f.id";

struct Stored {
    id: i64,
    document: String,
    class: String,
    triage_class: Option<String>,
    found_at: f64,
    evidence: Option<String>,
    triage: Option<String>,
    source: String,
    seed: i64,
    mutation: u32,
    language: String,
}

fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        id: row.get(0)?,
        document: row.get(1)?,
        class: row.get(2)?,
        triage_class: row.get(3)?,
        found_at: row.get(4)?,
        evidence: row.get(5)?,
        triage: row.get(6)?,
        source: row.get(7)?,
        seed: row.get(8)?,
        mutation: row.get(9)?,
        language: row.get(10)?,
    })
}
