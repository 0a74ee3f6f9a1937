//! What the preloaded library saw, read back: the passes that ran, each with its functions before and
//! after and the events between.

use std::collections::HashMap;
use std::sync::Arc;
use trueline_llvm_hook::wire::{ConstantKind, Decoder, EventKind, FunctionRecord, Record};

/// A debug location, equal when a debugger could not tell the difference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Line, 0 for code without a line.
    pub line: u32,
    /// Column.
    pub column: u32,
    /// The lexical scope's identity.
    pub scope: u64,
    /// The call site it was inlined at.
    pub inlined_at: Option<LocationId>,
    /// The file.
    pub file: Arc<str>,
    /// The subprogram's identity, 0 where variables were not watched.
    pub subprogram: u64,
}

/// The number of a location within one observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

/// All locations of an observation.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    table: Vec<Location>,
    ids: HashMap<Location, LocationId>,
    by_address: HashMap<u64, LocationId>,
}

impl Locations {
    /// Adds a location and gives it its number; equal ones share theirs.
    pub fn add(&mut self, location: Location) -> LocationId {
        if let Some(id) = self.ids.get(&location) {
            return *id;
        }
        let id = LocationId(self.table.len() as u32);
        self.table.push(location.clone());
        self.ids.insert(location, id);
        id
    }

    /// Adds the location that the observed process has at an address.
    pub fn add_at(&mut self, address: u64, location: Location) -> LocationId {
        let id = self.add(location);
        self.by_address.insert(address, id);
        id
    }

    /// The location of a number.
    pub fn get(&self, id: LocationId) -> &Location {
        &self.table[id.0 as usize]
    }

    /// The location at an address of the observed process, `None` for 0.
    pub fn at(&self, address: u64) -> Option<LocationId> {
        self.by_address.get(&address).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

/// The number of a call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackId(pub u32);

/// Something a pass did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// Address of the instruction.
    pub inst: u64,
    /// Address of the other value.
    pub other: u64,
    /// Where in the pass.
    pub stack: StackId,
}

/// One run of a pass on one unit.
#[derive(Clone, Debug, Default)]
pub struct PassRun {
    /// The pass's class, `LICMPass`.
    pub pass: String,
    /// The function it ran on; empty for a module.
    pub unit: String,
    /// Functions before.
    pub before: Vec<Arc<FunctionRecord>>,
    /// Functions after; empty when the pass manipulated nothing.
    pub after: Vec<Arc<FunctionRecord>>,
    /// What it did.
    pub events: Vec<Event>,
    /// Its number among all passes that ran to their end, from 1.
    pub number: usize,
}

/// A source variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceVariable {
    /// Its name.
    pub name: String,
    /// Its line.
    pub line: u32,
    /// The scope's identity.
    pub scope: u64,
    /// The subprogram's identity.
    pub subprogram: u64,
    /// Its size in bits, 0 when that is not known.
    pub bits: u32,
}

/// A constant: the code of its type and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The code of its type, as the wire has it.
    pub type_code: u32,
    /// What it is.
    pub kind: ConstantKind,
}

/// What descriptions of variables refer to, by address.
#[derive(Clone, Debug, Default)]
pub struct Referents {
    /// The variables.
    pub variables: HashMap<u64, SourceVariable>,
    /// The expressions: operators and their arguments.
    pub expressions: HashMap<u64, Vec<u64>>,
    /// The constants.
    pub constants: HashMap<u64, Constant>,
    /// The scope around each scope that is no function.
    pub scopes: HashMap<u64, u64>,
}

impl Referents {
    /// Whether a value is known to be undefined.
    pub fn is_undefined(&self, at: u64) -> bool {
        self.constants.get(&at).is_some_and(|c| c.kind == ConstantKind::Undefined)
    }

    /// Whether a variable is in scope at a location: in its own function, or in one that it is inlined into.
    pub fn is_visible(&self, variable: u64, inlined_at: Option<LocationId>, location: LocationId, locations: &Locations) -> bool {
        let Some(declared) = self.variables.get(&variable) else { return false };
        let mut at = Some(location);
        while let Some(location) = at.map(|id| locations.get(id)) {
            if location.inlined_at == inlined_at {
                let around = std::iter::successors(Some(location.scope), |scope| self.scopes.get(scope).copied());
                return around.into_iter().any(|scope| scope == declared.scope);
            }
            at = location.inlined_at;
        }
        false
    }
}

/// Everything that one run of `opt` showed.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// LLVM's major version.
    pub major: u32,
    /// The libLLVM that ran.
    pub library: String,
    /// What could not be observed, in words.
    pub losses: Vec<String>,
    /// The runs of passes that manipulated something, in order.
    pub runs: Vec<PassRun>,
    /// How many passes ran in all.
    pub passes_run: usize,
    /// The number of the last run of each pass, whether it manipulated something or not.
    pub last_runs: HashMap<String, usize>,
    /// The pass that was running when the stream ended: where `opt` crashed.
    pub unfinished: Option<PassRun>,
    /// Call stacks: (return address, function), relative to the library.
    pub stacks: HashMap<StackId, Vec<(u64, u64)>>,
    /// The locations.
    pub locations: Locations,
    /// What descriptions of variables refer to.
    pub referents: Referents,
}

/// Why a stream tells nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObservationError {
    /// The library was not loaded, or `opt` has no libLLVM to hook.
    #[error("`opt` is not linked with a shared libLLVM that can be observed")]
    Silent,
    /// The library looked and declined.
    #[error("this LLVM cannot be observed: {0}")]
    Refused(String),
}

impl Observation {
    /// The same process without what its passes did.
    pub fn without_runs(&self) -> Self {
        Self {
            major: self.major,
            library: self.library.clone(),
            stacks: self.stacks.clone(),
            locations: self.locations.clone(),
            referents: self.referents.clone(),
            ..Self::default()
        }
    }

    /// Reads a stream.
    pub fn read(bytes: &[u8]) -> Result<Self, ObservationError> {
        let decoder = Decoder::new(bytes).ok_or(ObservationError::Silent)?;
        let mut seen = Self::default();
        let mut snapshots: HashMap<u32, Arc<FunctionRecord>> = HashMap::new();
        let mut running: Option<PassRun> = None;
        let mut headed = false;
        let list = |ids: &[u32], snapshots: &HashMap<u32, Arc<FunctionRecord>>| {
            ids.iter().filter_map(|id| snapshots.get(id).cloned()).collect::<Vec<_>>()
        };
        for record in decoder {
            match record {
                Record::Header { major, library, losses } => {
                    headed = true;
                    (seen.major, seen.library, seen.losses) = (major, library, losses);
                }
                Record::Refused(reason) => return Err(ObservationError::Refused(reason)),
                Record::Stack { id, frames } => drop(seen.stacks.insert(StackId(id), frames)),
                Record::Location { at, line, column, scope, inlined_at, file, subprogram } => {
                    let inlined_at = seen.locations.at(inlined_at);
                    seen.locations.add_at(at, Location { line, column, scope, inlined_at, file: file.into(), subprogram });
                }
                Record::Variable { at, name, line, scope, subprogram, bits } => {
                    seen.referents.variables.insert(at, SourceVariable { name, line, scope, subprogram, bits });
                }
                Record::Scope { at, parent } => drop(seen.referents.scopes.insert(at, parent)),
                Record::Expression { at, elements } => drop(seen.referents.expressions.insert(at, elements)),
                Record::Constant { at, width, kind } => drop(seen.referents.constants.insert(at, Constant { type_code: width, kind })),
                Record::Snapshot { id, function } => drop(snapshots.insert(id, Arc::new(function))),
                Record::PassStart { pass, unit, before } => {
                    let before = list(&before, &snapshots);
                    running = Some(PassRun { pass, unit, before, ..Default::default() });
                }
                Record::PassFinish { after } => {
                    seen.passes_run += 1;
                    let Some(mut run) = running.take() else { continue };
                    run.number = seen.passes_run;
                    seen.last_runs.insert(run.pass.clone(), run.number);
                    if !after.is_empty() {
                        run.after = list(&after, &snapshots);
                        seen.runs.push(run);
                    }
                }
                Record::PassAbandoned => running = None,
                Record::Event { kind, inst, other, stack } => {
                    if let Some(run) = &mut running {
                        run.events.push(Event { kind, inst, other, stack: StackId(stack) });
                    }
                }
            }
        }
        seen.unfinished = running;
        if headed { Ok(seen) } else { Err(ObservationError::Silent) }
    }
}
