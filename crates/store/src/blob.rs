//! Compressed blobs under their content address.

use crate::{Store, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

/// Level 3 is zstd's default: traces shrink to a few percent, and compressing costs less than a
/// thousandth of what compiling the program did.
const LEVEL: i32 = 3;

/// No blob is larger than this when unpacked; a damaged size must not exhaust memory.
const MAX_BYTES: usize = 256 << 20;

/// The content address of some bytes.
pub(crate) fn address(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// A blob ready to be written.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) hash: String,
    size: usize,
    data: Vec<u8>,
}

impl Packed {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { hash: address(bytes), size: bytes.len(), data: compress(bytes) }
    }

    pub(crate) fn put(&self, connection: &Connection) -> rusqlite::Result<()> {
        insert(connection, &self.hash, self.size, &self.data)
    }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, LEVEL).expect("memory is all that compressing takes")
}

fn insert(connection: &Connection, hash: &str, size: usize, data: &[u8]) -> rusqlite::Result<()> {
    connection.execute("INSERT OR IGNORE INTO blobs (hash, size, data) VALUES (?, ?, ?)", params![hash, size as i64, data]).map(drop)
}

/// Writes some bytes unless they are there.
pub(crate) fn put(connection: &Connection, bytes: &[u8]) -> rusqlite::Result<String> {
    let hash = address(bytes);
    let known: bool = connection.query_row("SELECT EXISTS (SELECT 1 FROM blobs WHERE hash = ?)", [&hash], |r| r.get(0))?;
    if !known {
        insert(connection, &hash, bytes.len(), &compress(bytes))?;
    }
    Ok(hash)
}

impl Store {
    /// The bytes of a content address, `None` where there are none.
    pub fn blob(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let row: Option<(i64, Vec<u8>)> =
            self.with(|c| c.query_row("SELECT size, data FROM blobs WHERE hash = ?", [hash], |r| Ok((r.get(0)?, r.get(1)?))).optional())?;
        let Some((size, data)) = row else { return Ok(None) };
        let bad = |reason: String| StoreError::BadRecord { path: self.path().to_owned(), reason };
        let size = usize::try_from(size).ok().filter(|s| *s <= MAX_BYTES).ok_or_else(|| bad(format!("blob {hash} has a bad size")))?;
        let bytes = zstd::bulk::decompress(&data, size).map_err(|e| bad(format!("blob {hash}: {e}")))?;
        if address(&bytes) != hash {
            return Err(bad(format!("blob {hash} does not hold what its address says")));
        }
        Ok(Some(bytes))
    }
}
