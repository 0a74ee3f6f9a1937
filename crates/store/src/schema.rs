//! The schema, as a list of steps that is only ever appended to.

use crate::upgrade;
use rusqlite_migration::{M, Migrations};

/// Each step once released stays as it is: databases in the field stand at some of them.
pub fn migrations() -> Migrations<'static> {
    Migrations::new(vec![
        M::up(
            "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
         CREATE TABLE blobs (hash TEXT PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL);
         CREATE TABLE processes (
             id INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, birth TEXT NOT NULL, started_at REAL NOT NULL);
         CREATE TABLE compilers (
             id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, version TEXT NOT NULL, UNIQUE (path, kind, version));
         CREATE TABLE programs (
             id INTEGER PRIMARY KEY, source TEXT NOT NULL, seed INTEGER NOT NULL, mutation INTEGER NOT NULL, language TEXT NOT NULL,
             claimed_by INTEGER REFERENCES processes (id), deaths INTEGER NOT NULL DEFAULT 0,
             hash TEXT, rejection TEXT, UNIQUE (source, seed, mutation, language));
         CREATE TABLE units (
             id INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES programs (id), compiler INTEGER NOT NULL REFERENCES compilers (id),
             opt TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, reason TEXT,
             reference_steps INTEGER, optimized_steps INTEGER, cpu REAL, compile_cpu REAL, finished_at REAL,
             UNIQUE (program, compiler, opt));
         CREATE INDEX units_by_state ON units (state);
         CREATE TABLE findings (
             id INTEGER PRIMARY KEY, unit INTEGER NOT NULL REFERENCES units (id), key TEXT NOT NULL, class TEXT NOT NULL,
             kind TEXT NOT NULL, document TEXT NOT NULL, evidence TEXT REFERENCES blobs (hash), found_at REAL NOT NULL,
             UNIQUE (unit, key));
         CREATE TABLE triage (finding INTEGER PRIMARY KEY REFERENCES findings (id), class TEXT, document TEXT NOT NULL);",
        ),
        // Evidence names its traces by address from here on; whoever does not know that must not read it.
        M::up(""),
        // Violations are data from here on, and classes have no part that was a sentence.
        M::up_with_hook("", upgrade::findings),
        // Findings of classes that were seen often enough are counted per unit, and nothing else is kept of them.
        M::up(
            "CREATE TABLE repeats (unit INTEGER NOT NULL REFERENCES units (id), class TEXT NOT NULL, count INTEGER NOT NULL,
                 PRIMARY KEY (unit, class)) WITHOUT ROWID;",
        ),
    ])
}
