//! Opening a database, and the few calls everything else goes through.

use crate::{StoreError, schema};
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trueline_model::{CompilerId, Language};

/// How long a call waits for another process's lock. Transactions take milliseconds; a lock held longer
/// than this is held by something else than a hunt.
const BUSY: Duration = Duration::from_secs(30);

/// Which program of a campaign, independent of the database that knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramKey {
    /// Name of the source: `weave`, `csmith`…
    pub source: String,
    /// Its number in that source.
    pub seed: u64,
    /// 0 for the program itself, otherwise the number of a mutant.
    pub mutation: u32,
    /// The language it is written in.
    pub language: Language,
}

/// A campaign database, open for reading and writing.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    path: PathBuf,
    process: Mutex<Option<i64>>,
}

impl Store {
    /// Opens a database, making it where there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            std::fs::create_dir_all(dir).map_err(|_| StoreError::ReadOnly { path: path.to_owned() })?;
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a database that must be there.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Two processes that make one database at the same moment get in each other's way in two places where
    /// SQLite does not wait: the change to a write-ahead log, and the schema that the other one has just
    /// made. Both pass, so the opening is tried again.
    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        const PAUSE: Duration = Duration::from_millis(50);
        const RACES: u32 = 5;
        let started = Instant::now();
        let mut races = 0;
        loop {
            match Self::try_connect(path, flags) {
                Err(StoreError::Locked { .. }) if started.elapsed() < BUSY => {}
                Err(StoreError::Sql { .. }) if races < RACES => races += 1,
                result => return result,
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn try_connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let sql = |e| StoreError::from_sql(path, e);
        let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(sql)?;
        connection.busy_timeout(BUSY).map_err(sql)?;
        // With a write-ahead log and NORMAL, a killed process loses nothing that was committed.
        connection.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(sql)?;
        connection.pragma_update(None, "foreign_keys", "ON").map_err(sql)?;
        connection.pragma_update(None, "trusted_schema", "OFF").map_err(sql)?;
        // First: bringing a database to our schema reads its tables.
        refuse_foreign_schema(path, &connection)?;
        migrate(path, &mut connection)?;
        Ok(Self { connection: Mutex::new(connection), path: path.to_owned(), process: Mutex::new(None) })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs one read, with errors told as this crate's.
    pub(crate) fn with<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        read(&self.lock()).map_err(|e| StoreError::from_sql(&self.path, e))
    }

    /// Runs one transaction that writes: all of it or nothing.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut connection = self.lock();
        let sql = |e| StoreError::from_sql(&self.path, e);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let result = change(&transaction).map_err(sql)?;
        transaction.commit().map_err(sql)?;
        Ok(result)
    }

    /// A panic in one worker must not take the database from the others: rusqlite rolls back on drop.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock()
    }

    /// The number of this process in the database, written down at the first call.
    pub(crate) fn process(&self) -> Result<i64, StoreError> {
        let mut known = self.process.lock();
        if let Some(id) = *known {
            return Ok(id);
        }
        let (host, pid) = (host(), std::process::id());
        let birth = birth_of(pid).unwrap_or_default();
        let id = self.write(|c| {
            let values = rusqlite::params![host, pid, birth, now()];
            c.execute("INSERT INTO processes (host, pid, birth, started_at) VALUES (?, ?, ?, ?)", values)?;
            Ok(c.last_insert_rowid())
        })?;
        *known = Some(id);
        Ok(id)
    }

    /// Remembers a fact about the campaign.
    pub fn set_meta(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.write(|c| c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", [key, value]).map(drop))
    }

    /// A fact about the campaign.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.with(|c| c.query_row("SELECT value FROM meta WHERE key = ?", [key], |r| r.get(0)).optional())
    }

    /// Lets the file grow no further, so that tests can see what a full disk does.
    #[doc(hidden)]
    pub fn limit_pages_for_test(&self) {
        let connection = self.lock();
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |r| r.get(0)).unwrap_or(1);
        let _ = connection.query_row(&format!("PRAGMA max_page_count = {}", pages + 2), [], |r| r.get::<_, i64>(0));
    }

    /// SQLite's own opinion on the file: `ok`, or the first complaint.
    pub fn integrity(&self) -> Result<String, StoreError> {
        self.with(|c| c.query_row("PRAGMA integrity_check", [], |r| r.get(0)))
    }
}

/// A database from elsewhere may call a view `units`, whose query never ends, or bring triggers that run on our
/// writes. Campaigns have tables and indexes only.
fn refuse_foreign_schema(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let sql =
        "SELECT type || ' `' || name || '`' FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%TABLE%' LIMIT 1";
    let foreign: Option<String> = connection.query_row(sql, [], |r| r.get(0)).optional().map_err(|e| StoreError::from_sql(path, e))?;
    match foreign {
        None => Ok(()),
        Some(what) => Err(StoreError::Corrupt { path: path.to_owned(), reason: format!("it has a {what}, which no campaign has") }),
    }
}

fn migrate(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    use rusqlite_migration::{Error, MigrationDefinitionError};
    schema::migrations().to_latest(connection).map_err(|error| match error {
        Error::MigrationDefinition(MigrationDefinitionError::DatabaseTooFarAhead) => StoreError::Newer { path: path.to_owned() },
        Error::RusqliteError { err, .. } => StoreError::from_sql(path, err),
        other => StoreError::Corrupt { path: path.to_owned(), reason: other.to_string() },
    })
}

/// The row of a compiler, made where there is none.
pub(crate) fn compiler_row(connection: &Connection, id: &CompilerId) -> rusqlite::Result<i64> {
    let values = rusqlite::params![id.path.to_string_lossy(), id.kind.to_string(), id.version];
    connection.execute("INSERT OR IGNORE INTO compilers (path, kind, version) VALUES (?, ?, ?)", values)?;
    connection.query_row("SELECT id FROM compilers WHERE path = ? AND kind = ? AND version = ?", values, |r| r.get(0))
}

/// Seconds since the epoch. Only ever shown: nothing decides by it, so that a clock that jumps harms nothing.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

pub(crate) fn host() -> String {
    // The boot id too: after a reboot every claim of before is free.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{}/{}", name.trim(), boot.trim())
}

/// Start time of a process in clock ticks, which tells it from a later one with the same number.
pub(crate) fn birth_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.rsplit_once(')')?.1;
    if after.trim_start().starts_with('Z') {
        return None;
    }
    after.split_whitespace().nth(19).map(str::to_owned)
}
