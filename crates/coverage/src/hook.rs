//! The preloaded library: compiled by the build script, embedded here, and written to the cache where
//! the loader can find it.

use crate::CoverageError;
use std::path::{Path, PathBuf};

static BLOCKHOOK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/blockhook.so"));

/// Writes the library into the cache, unless this very one is there already.
pub fn install(cache: &Path) -> Result<PathBuf, CoverageError> {
    std::fs::create_dir_all(cache).map_err(|source| CoverageError::Write { path: cache.to_owned(), source })?;
    // FNV-1a over the content: another build of Trueline may share the cache.
    let digest = BLOCKHOOK.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let path = cache.join(format!("blockhook-{digest:016x}.so"));
    if std::fs::metadata(&path).is_ok_and(|m| m.len() == BLOCKHOOK.len() as u64) {
        return Ok(path);
    }
    let temporary = cache.join(format!("blockhook-{digest:016x}.{}.tmp", std::process::id()));
    let failed = |source| CoverageError::Write { path: path.clone(), source };
    std::fs::write(&temporary, BLOCKHOOK).map_err(failed)?;
    std::fs::rename(&temporary, &path).map_err(failed)?;
    Ok(path)
}
