//! The life of every instruction during one run of a pass: addresses are reused, so an instruction is
//! known by a number that its construction gives it.

use crate::flow::BlockIndex;
use crate::observation::{Event, LocationId, Locations, PassRun, StackId};
use std::collections::{HashMap, HashSet};
use trueline_llvm_hook::wire::{EventKind, FunctionRecord, InstructionRecord};

/// An instruction within one run of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstId(pub u32);

/// How an instruction came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Birth {
    /// It was there before the pass.
    Original,
    /// The pass constructed it.
    Created(StackId),
    /// The pass copied it from another.
    Cloned(InstId, StackId),
    /// It is there afterwards and no construction was seen.
    Unseen,
}

/// Where an instruction is in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Index of the function in the run's list.
    pub function: usize,
    /// Its block.
    pub block: BlockIndex,
    /// Its position in the block.
    pub index: usize,
}

/// What a pass did to the location of an instruction, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Set to a location.
    Set(LocationId),
    /// Taken away by assignment.
    Clear,
    /// `dropLocation`.
    Drop,
    /// `applyMergedLocation`.
    Merge,
}

/// One instruction's life.
#[derive(Clone, Debug)]
pub struct Life {
    /// How it came to be.
    pub birth: Birth,
    /// Where it was before.
    pub before: Option<Place>,
    /// Where it is after; `None` when it died or is in no block.
    pub after: Option<Place>,
    /// Its location before.
    pub location_before: Option<LocationId>,
    /// Its location after.
    pub location_after: Option<LocationId>,
    /// An explicit move or removal, with the place in the pass.
    pub moved: Option<StackId>,
    /// Instructions whose uses it took over.
    pub replaced: Vec<(InstId, StackId)>,
    /// Writes to its location, with the place in the pass.
    pub writes: Vec<Write>,
    /// Whether it was destroyed.
    pub dead: bool,
    /// Where it was destroyed.
    pub death: Option<StackId>,
    /// The values that took over its uses, by address or by number where they are instructions.
    pub taken_over_by: Vec<(ValueId, StackId)>,
    /// Where descriptions of variables stopped naming it, and what they name instead.
    pub redescribed: Vec<(ValueId, StackId)>,
    /// Where LLVM was asked to express it by other values.
    pub salvage_tried: Option<StackId>,
}

/// A value within one run of a pass: an instruction, or what no pass constructs or destroys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueId {
    /// An instruction.
    Inst(InstId),
    /// An argument, a constant or a global, by address.
    Given(u64),
}

impl Life {
    fn new(birth: Birth) -> Self {
        Self {
            birth,
            before: None,
            after: None,
            location_before: None,
            location_after: None,
            moved: None,
            replaced: Vec::new(),
            writes: Vec::new(),
            dead: false,
            death: None,
            taken_over_by: Vec::new(),
            redescribed: Vec::new(),
            salvage_tried: None,
        }
    }
}

/// All lives of one run.
pub struct History<'a> {
    /// The run.
    pub run: &'a PassRun,
    /// The locations of its observation.
    pub locations: &'a Locations,
    /// Lives by number.
    pub lives: Vec<Life>,
    /// Blocks constructed during the pass, by address.
    pub new_blocks: HashSet<u64>,
    /// Instructions before, by address.
    pub before_ids: HashMap<u64, InstId>,
    /// Instructions after, by address.
    pub after_ids: HashMap<u64, InstId>,
    /// Debug records that the pass made, by address.
    pub new_records: HashMap<u64, RecordBirth>,
    /// What took over the uses of arguments and globals, by address.
    pub given_away: HashMap<u64, Vec<(ValueId, StackId)>>,
    /// Where debug records that were there before were deleted, by address.
    pub deleted_records: HashMap<u64, StackId>,
}

/// How a debug record came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordBirth {
    /// The record that was there before and that it goes back to, by address.
    pub origin: Option<u64>,
    /// Where in the pass.
    pub stack: StackId,
}

impl<'a> History<'a> {
    /// Follows the events from the snapshots before to those after.
    pub fn follow(run: &'a PassRun, locations: &'a Locations) -> Self {
        let mut history = Self {
            run,
            locations,
            lives: Vec::new(),
            new_blocks: HashSet::new(),
            before_ids: HashMap::new(),
            after_ids: HashMap::new(),
            new_records: HashMap::new(),
            deleted_records: HashMap::new(),
            given_away: HashMap::new(),
        };
        for (place, inst) in instructions(&run.before) {
            let id = history.give_birth(Birth::Original);
            let life = &mut history.lives[id.0 as usize];
            (life.before, life.location_before) = (Some(place), locations.at(inst.location));
            history.before_ids.insert(inst.at, id);
        }
        let mut current = history.before_ids.clone();
        run.events.iter().for_each(|event| history.apply(event, &mut current));
        for (place, inst) in instructions(&run.after) {
            let id = current.get(&inst.at).copied().unwrap_or_else(|| history.give_birth(Birth::Unseen));
            let life = &mut history.lives[id.0 as usize];
            (life.after, life.location_after) = (Some(place), locations.at(inst.location));
            history.after_ids.insert(inst.at, id);
        }
        history
    }

    fn give_birth(&mut self, birth: Birth) -> InstId {
        self.lives.push(Life::new(birth));
        InstId(self.lives.len() as u32 - 1)
    }

    fn apply(&mut self, event: &Event, current: &mut HashMap<u64, InstId>) {
        let known = current.get(&event.inst).copied();
        match event.kind {
            EventKind::BlockCreate => drop(self.new_blocks.insert(event.inst)),
            EventKind::Create => drop(current.insert(event.inst, self.give_birth(Birth::Created(event.stack)))),
            EventKind::Clone => {
                let birth = current.get(&event.other).map_or(Birth::Created(event.stack), |from| Birth::Cloned(*from, event.stack));
                current.insert(event.inst, self.give_birth(birth));
            }
            EventKind::Death => {
                if let Some(id) = current.remove(&event.inst) {
                    let life = &mut self.lives[id.0 as usize];
                    (life.dead, life.death) = (true, Some(event.stack));
                }
            }
            EventKind::RecordCreate => {
                self.new_records.insert(event.inst, RecordBirth { origin: None, stack: event.stack });
            }
            EventKind::RecordClone => {
                // A copy of a copy goes back to what was there before.
                let origin = self.new_records.get(&event.other).map_or(Some(event.other), |birth| birth.origin);
                self.new_records.insert(event.inst, RecordBirth { origin, stack: event.stack });
            }
            EventKind::RecordDeath => {
                if !self.new_records.contains_key(&event.inst) {
                    self.deleted_records.entry(event.inst).or_insert(event.stack);
                }
            }
            EventKind::Salvage => {
                if let Some(id) = known {
                    self.lives[id.0 as usize].salvage_tried = Some(event.stack);
                }
            }
            EventKind::Redescribe => {
                let to = current.get(&event.other).map_or(ValueId::Given(event.other), |id| ValueId::Inst(*id));
                match known {
                    Some(id) => self.lives[id.0 as usize].redescribed.push((to, event.stack)),
                    None => self.given_away.entry(event.inst).or_default().push((to, event.stack)),
                }
            }
            EventKind::Replace => {
                let to = current.get(&event.other).map_or(ValueId::Given(event.other), |id| ValueId::Inst(*id));
                match known {
                    Some(from) => self.lives[from.0 as usize].taken_over_by.push((to, event.stack)),
                    None => self.given_away.entry(event.inst).or_default().push((to, event.stack)),
                }
                // The replaced one is the event's; the life that changes is its replacement's.
                if let (Some(from), Some(to)) = (known, current.get(&event.other)) {
                    self.lives[to.0 as usize].replaced.push((from, event.stack));
                }
            }
            EventKind::Move | EventKind::Remove => {
                if let Some(id) = known {
                    self.lives[id.0 as usize].moved.get_or_insert(event.stack);
                }
            }
            EventKind::Merge | EventKind::Drop | EventKind::SetLocation | EventKind::ClearLocation => {
                let Some(id) = known else { return };
                let write = match event.kind {
                    EventKind::Merge => Write::Merge,
                    EventKind::Drop => Write::Drop,
                    EventKind::ClearLocation => Write::Clear,
                    _ => match self.locations.at(event.other) {
                        Some(location) => Write::Set(location),
                        None => return,
                    },
                };
                self.lives[id.0 as usize].writes.push(write);
            }
        }
    }

    /// The value at an address before the pass.
    pub fn value_before(&self, at: u64) -> ValueId {
        self.before_ids.get(&at).map_or(ValueId::Given(at), |id| ValueId::Inst(*id))
    }

    /// The value at an address after the pass.
    pub fn value_after(&self, at: u64) -> ValueId {
        self.after_ids.get(&at).map_or(ValueId::Given(at), |id| ValueId::Inst(*id))
    }

    /// The life of an instruction.
    pub fn life(&self, id: InstId) -> &Life {
        &self.lives[id.0 as usize]
    }

    /// Its record before the pass.
    pub fn record_before(&self, id: InstId) -> Option<&'a InstructionRecord> {
        self.life(id).before.map(|p| record_at(&self.run.before, p))
    }

    /// Its record after the pass.
    pub fn record_after(&self, id: InstId) -> Option<&'a InstructionRecord> {
        self.life(id).after.map(|p| record_at(&self.run.after, p))
    }

    /// The address of the block of a place before the pass.
    pub fn block_before(&self, place: Place) -> u64 {
        self.run.before[place.function].blocks[place.block.0 as usize].at
    }

    /// The address of the block of a place after the pass.
    pub fn block_after(&self, place: Place) -> u64 {
        self.run.after[place.function].blocks[place.block.0 as usize].at
    }

    /// The original instructions that this one goes back to: itself, what it was cloned from, or what the
    /// created one replaced.
    pub fn origins(&self, id: InstId) -> Vec<InstId> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut work = vec![id];
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.life(id).birth {
                Birth::Original => found.push(id),
                Birth::Cloned(from, _) => work.push(from),
                Birth::Created(_) => work.extend(self.life(id).replaced.iter().map(|(from, _)| *from)),
                Birth::Unseen => {}
            }
        }
        found.sort();
        found
    }
}

fn record_at(functions: &[std::sync::Arc<FunctionRecord>], place: Place) -> &InstructionRecord {
    &functions[place.function].blocks[place.block.0 as usize].instructions[place.index]
}

fn instructions(functions: &[std::sync::Arc<FunctionRecord>]) -> impl Iterator<Item = (Place, &InstructionRecord)> {
    functions.iter().enumerate().flat_map(|(function, f)| {
        f.blocks.iter().enumerate().flat_map(move |(block, b)| {
            let place = move |index| Place { function, block: BlockIndex(block as u32), index };
            b.instructions.iter().enumerate().map(move |(index, inst)| (place(index), inst))
        })
    })
}
