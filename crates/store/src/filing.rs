//! How evidence lies in the database: one document per finding, and each trace in a blob of its own that it names by address.
//! The findings of a unit share their traces, those of all levels the -O0 trace, and a trace of a long program is
//! megabytes of text: it is written, hashed and compressed once.

use crate::blob::Packed;
use crate::evidence::{BuildRecord, FindingEvidence, Minimal, ReaderRecord};
use crate::{Store, StoreError};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use trueline_model::{Program, Trace};

/// A trace that many findings keep; copies are cheap.
#[derive(Clone, Debug, Default)]
pub struct KeptTrace(Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    trace: Trace,
    packed: OnceLock<Packed>,
}

impl KeptTrace {
    /// The trace as a blob, packed at the first call.
    pub(crate) fn packed(&self) -> &Packed {
        self.0.packed.get_or_init(|| Packed::of(&serde_json::to_vec(&self.0.trace).expect("a trace is plain data")))
    }
}

impl From<Trace> for KeptTrace {
    fn from(trace: Trace) -> Self {
        Self(Arc::new(Kept { trace, packed: OnceLock::new() }))
    }
}

impl Deref for KeptTrace {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        &self.0.trace
    }
}

impl PartialEq for KeptTrace {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for KeptTrace {}

/// The document of a finding's evidence.
#[derive(Serialize, Deserialize)]
struct Filed<'e> {
    program: Cow<'e, Program>,
    reference: FiledBuild<'e>,
    optimized: FiledBuild<'e>,
    readers: Cow<'e, [ReaderRecord]>,
    dwarf: Cow<'e, [String]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minimal: Option<Cow<'e, Minimal>>,
}

#[derive(Serialize, Deserialize)]
struct FiledBuild<'e> {
    command: Cow<'e, str>,
    trace: FiledTrace<'e>,
    #[serde(default)]
    shortened: bool,
}

impl<'e> FiledBuild<'e> {
    fn of(build: &'e BuildRecord) -> Self {
        let trace = FiledTrace::At(Cow::Borrowed(&build.trace.packed().hash));
        Self { command: Cow::Borrowed(&build.command), trace, shortened: build.shortened }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FiledTrace<'e> {
    At(Cow<'e, str>),
    /// As the first version of the database had it.
    Here(Trace),
}

/// The document of some evidence, which names the blobs of its traces.
pub(crate) fn file(evidence: &FindingEvidence) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Filed {
        program: Cow::Borrowed(&evidence.program),
        reference: FiledBuild::of(&evidence.reference),
        optimized: FiledBuild::of(&evidence.optimized),
        readers: Cow::Borrowed(&evidence.readers),
        dwarf: Cow::Borrowed(&evidence.dwarf),
        minimal: evidence.minimal.as_ref().map(Cow::Borrowed),
    })
}

/// The evidence of a document, with the traces that `store` has for it.
pub(crate) fn unfile(document: &[u8], store: &Store) -> Result<FindingEvidence, StoreError> {
    let bad = |reason: String| StoreError::BadRecord { path: store.path().to_owned(), reason };
    let filed: Filed<'_> = serde_json::from_slice(document).map_err(|e| bad(e.to_string()))?;
    let build = |b: FiledBuild<'_>| -> Result<BuildRecord, StoreError> {
        let trace: Trace = match b.trace {
            FiledTrace::At(hash) => {
                let bytes = store.blob(&hash)?.ok_or_else(|| bad(format!("the trace {hash} is missing")))?;
                serde_json::from_slice(&bytes).map_err(|e| bad(format!("the trace {hash}: {e}")))?
            }
            FiledTrace::Here(trace) => trace,
        };
        Ok(BuildRecord { command: b.command.into_owned(), trace: trace.into(), shortened: b.shortened })
    };
    Ok(FindingEvidence {
        program: filed.program.into_owned(),
        reference: build(filed.reference)?,
        optimized: build(filed.optimized)?,
        readers: filed.readers.into_owned(),
        dwarf: filed.dwarf.into_owned(),
        minimal: filed.minimal.map(Cow::into_owned),
    })
}
