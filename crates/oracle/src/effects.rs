//! What lines do that everybody can see, tied between the two runs, and where breakpoints on them go. Pure data: `check`
//! watches both runs.
//!
//! An effect is a call that leaves its function and is still made in the optimized build, or a store to a global variable.
//! The effects of one kind (calls of one function, stores to one place) are tied one to one, in order, where both runs have
//! equally many of them with equal values. Where they have not, the optimizer removed or merged some: nothing is said of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_model::{LineEffect, LineKey, Recovery, VarKey};

/// Everything that is known of effects.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Lines with effects that are tied, and whose breakpoint at -O0 is hit before the effect.
    pub tied: Vec<Tied>,
    /// Lines that -O0 has code for and never runs, with the places of their breakpoint that are hit in the optimized run and
    /// show the line, and the function of each.
    pub hit_without_run: BTreeMap<LineKey, Vec<(u64, Arc<str>)>>,
    /// Variables that have no location where their value is at hand.
    pub lost: Vec<LostNote>,
}

/// A line and one of its effects.
#[derive(Clone, Debug)]
pub struct Tied {
    /// The line that has the effect at -O0.
    pub line: LineKey,
    /// The function that the line is in.
    pub function: Arc<str>,
    /// What it does.
    pub effect: LineEffect,
    /// The instruction that does it in the optimized build, on the first visit that is missed.
    pub pc: u64,
    /// The line that the line table gives that instruction.
    pub row: Option<LineKey>,
    /// Visits of the line with the effect before which the breakpoint is hit at -O0.
    pub visits: u32,
    /// Those among them before which it is not hit, on this line and in this function, in the optimized build.
    pub missed: u32,
    /// Those among the missed before which it is hit on another line of the function.
    pub moved: u32,
    /// Where the debugger puts the breakpoint in the optimized build.
    pub places: Vec<Place>,
    /// Lines of the function with the same effect, whether or not they run: the optimizer may make one piece of code of them.
    pub alike: BTreeSet<LineKey>,
    /// How many instructions of the whole program may have the effect, at -O0 and in the optimized build.
    pub sites: (usize, usize),
}

/// A place of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The link-time address.
    pub pc: u64,
    /// The line that is shown there.
    pub shown: Option<LineKey>,
    /// Whether the line's function is active there.
    pub in_function: bool,
    /// How often the optimized run comes by.
    pub hits: u32,
}

impl Tied {
    /// The places that are on the line itself, in its function.
    pub fn exact(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|p| p.in_function && p.shown.as_ref() == Some(&self.line))
    }
}

/// A variable without a location, and why it could have one.
#[derive(Clone, Debug)]
pub struct LostNote {
    /// The line.
    pub line: LineKey,
    /// Which variable.
    pub variable: VarKey,
    /// The address without a location.
    pub pc: u64,
    /// The functions that are active there as far as one activation goes, innermost first.
    pub frames: Vec<Arc<str>>,
    /// Why it could be shown.
    pub evidence: Recovery,
}
