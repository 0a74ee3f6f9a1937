//! The report's files, made anew when the campaign has moved on.

use crate::ServeError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_store::Store;
use trueline_toolchain::Scratch;

/// Pages are made at most this often, however often they are asked for.
const FRESH_FOR: Duration = Duration::from_secs(2);

/// Asks for the counts and says when there is something new to see.
pub(crate) const LIVE_SCRIPT: &str = r#"(function () {
  "use strict";
  var badge = document.createElement("a");
  badge.id = "live";
  badge.href = "";
  badge.style.cssText = "position:fixed;right:1rem;bottom:1rem;padding:.4rem .8rem;border-radius:1rem;background:#1f2937;color:#fff;font:14px system-ui,sans-serif;text-decoration:none;box-shadow:0 2px 8px rgba(0,0,0,.3)";
  document.body.appendChild(badge);
  var first = null;
  function show(now) {
    if (first === null) { first = now.findings; }
    var text = now.units + " units · " + now.findings + " findings · " + now.distinct + " distinct";
    badge.textContent = now.findings > first ? text + " · " + (now.findings - first) + " new, reload" : text;
  }
  function ask() {
    fetch("/live.json").then(function (r) { return r.json(); }).then(show).catch(function () { badge.textContent = "the server has stopped"; });
  }
  ask();
  setInterval(ask, 2000);
})();
"#;

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
