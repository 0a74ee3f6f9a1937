//! The report's files, made anew when the campaign has moved on.

use crate::ServeError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_store::Store;
use trueline_toolchain::Scratch;

/// Pages are made at most this often, however often they are asked for.
const FRESH_FOR: Duration = Duration::from_secs(2);

/// What a served page may load: what the static ones may, and our own script, counts and pages.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'";

/// What the static pages say of themselves: too strict for a page that asks for counts.
const STATIC_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// Asks for the counts, shows new findings as they come, and leads from a finding to its analyses.
pub(crate) const LIVE_SCRIPT: &str = include_str!("live.js");

pub(crate) struct Pages {
    db: PathBuf,
    scratch: Scratch,
    made: Option<(Instant, Counts)>,
}

type Counts = (u64, u64, u64);

impl Pages {
    pub(crate) fn open(db: PathBuf) -> Result<Self, ServeError> {
        Store::open_existing(&db)?;
        Ok(Self { db, scratch: Scratch::new()?, made: None })
    }

    /// The counts as JSON.
    pub(crate) fn live(&self) -> Result<Vec<u8>, ServeError> {
        let (units, findings, distinct) = counts_of(&Store::open_existing(&self.db)?)?;
        let document = serde_json::json!({"schema": "trueline.live/1", "units": units, "findings": findings, "distinct": distinct});
        Ok(document.to_string().into_bytes())
    }

    /// A file of the report with its media type, `None` where there is none.
    pub(crate) fn read(&mut self, name: &Path) -> Result<Option<(&'static str, Vec<u8>)>, ServeError> {
        self.refresh()?;
        let Ok(mut body) = std::fs::read(self.scratch.join("report").join(name)) else { return Ok(None) };
        let kind = match name.extension().and_then(|e| e.to_str()) {
            Some("html") => {
                body = String::from_utf8_lossy(&body).replace(STATIC_POLICY, POLICY).into_bytes();
                body.extend_from_slice(b"<script src=\"/live.js\"></script>\n");
                "text/html; charset=utf-8"
            }
            Some("js") => "text/javascript",
            Some("css") => "text/css",
            Some("svg") => "image/svg+xml",
            Some("json") => "application/json",
            _ => "application/octet-stream",
        };
        Ok(Some((kind, body)))
    }

    fn refresh(&mut self) -> Result<(), ServeError> {
        if self.made.is_some_and(|(when, _)| when.elapsed() < FRESH_FOR) {
            return Ok(());
        }
        let store = Store::open_existing(&self.db)?;
        let counts = counts_of(&store)?;
        if self.made.is_none_or(|(_, before)| before != counts) {
            trueline_report::write_html(&store, &self.scratch.join("report"))?;
        }
        self.made = Some((Instant::now(), counts));
        Ok(())
    }
}

fn counts_of(store: &Store) -> Result<Counts, ServeError> {
    let counts = store.counts()?;
    Ok((counts.units_in("done"), counts.findings, counts.distinct))
}
