//! Inputs for a pair of runs: the program's own state at the function's entry, variations of it, or, where
//! the program never calls the function (or is no program), generated arguments and memory.

use crate::debug::TypeClass;
use crate::generate;
use crate::observe::BuildSide;
use crate::snapshot::Snapshot;
use crate::vary::{self, Data, InputDice, TripCounts, VariedItem, parameters, scramble};
use crate::wild::{self, Freedom, Start};
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::cpu::{Cpu, Region, Tracker};
use trueline_machine::emulate::outside;
use trueline_machine::image::{Image, ImageKind};

const HEAP: u32 = 0x1_0000;
/// Number of the first large allocation that has a mapping of its own.
const MAPPINGS: u32 = 0x1_1000;
/// Bounds of counts that are made small: loops over them are passed by, or go round a few times and leave a rest.
const FEW: [u64; 3] = [1, 4, 20];
/// Number of the first input with wild data: more than there are others.
const FIRST_WILD: u64 = 1000;
/// What numbers of later calls differ by.
const LATER: u64 = 1 << 32;
/// Pairs of turns that are run again with part of their results already there.
const QUIET: u64 = 2;
/// Room given to an object that an object file only declares.
pub const EXTERN_SIZE: u64 = 0xf_0000;

/// One input for both builds.
#[derive(Clone, Debug)]
pub struct Input {
    /// The reference build's machine at the entry.
    pub reference: Cpu,
    /// The optimized build's machine at the entry.
    pub optimized: Cpu,
    /// Which layout it runs in.
    pub layout: usize,
    /// Where it came from.
    pub origin: InputOrigin,
    /// Which of the inputs of its layout it is: those of the same number have the same parameters and data.
    pub number: u64,
    /// Which call of the program's own it comes from.
    pub call: usize,
}

/// Where an input came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputOrigin {
    /// The program's own run.
    Program,
    /// The program's own run with other data and parameters.
    Varied,
    /// The same with any numbers where that does no harm, so that no two are alike. Such a run counts only if both builds come to the
    /// same end.
    Wild,
    /// Made up for a function that nothing calls.
    Generated,
}

/// A shared object: name, reference address, optimized address, size.
pub type Shared = (String, u64, u64, u64);

/// Shared objects of both images: name, reference address, optimized address, size.
pub fn shared(reference: &Image, optimized: &Image) -> Vec<Shared> {
    let mut found: BTreeMap<(String, u64), (u64, u64)> = BTreeMap::new();
    let theirs: BTreeMap<(&str, u64), u64> = optimized.data_symbols().map(|s| ((s.name.as_str(), s.size), s.address)).collect();
    // Of two objects with one name nobody knows which is which.
    let unique =
        |image: &Image, name: &str| image.data_symbols().filter(|s| s.name == name).map(|s| s.address).collect::<BTreeSet<_>>().len() == 1;
    for symbol in reference.data_symbols().filter(|s| unique(reference, &s.name) && unique(optimized, &s.name)) {
        if let Some(address) = theirs.get(&(symbol.name.as_str(), symbol.size)) {
            found.insert((symbol.name.clone(), symbol.size), (symbol.address, *address));
        }
    }
    if optimized.kind == ImageKind::Relocatable {
        for (address, name) in &optimized.outside {
            if let Some((theirs, _)) = reference.outside.iter().find(|(_, n)| *n == name) {
                found.insert((name.clone(), EXTERN_SIZE), (*theirs, *address));
            }
        }
    }
    found.into_iter().map(|((name, size), (r, o))| (name, r, o, size)).collect()
}

/// Both builds of a function, the reference first.
pub type Builds<'a> = (BuildSide<'a>, BuildSide<'a>);

/// The builds that run in a layout: objects have their parts elsewhere in the second one.
pub fn placed<'s, 'a>(builds: &'s Builds<'a>, elsewhere: Option<&'s Builds<'a>>, layout: usize) -> &'s Builds<'a> {
    elsewhere.filter(|_| layout > 0).unwrap_or(builds)
}

/// Makes the inputs of one function. `pairs` are snapshots of both builds at the same call, by layout.
pub fn make(
    builds: &Builds<'_>,
    elsewhere: Option<&Builds<'_>>,
    pairs: &[(usize, Snapshot, Snapshot)],
    variations: u64,
    seed: u64,
) -> Vec<Input> {
    let (reference, optimized) = builds;
    let objects = shared(reference.image, optimized.image);
    let mut inputs = Vec::new();
    let mut bases = Vec::new();
    for (n, (layout, r, o)) in pairs.iter().enumerate() {
        let call = pairs[..n].iter().filter(|p| p.0 == *layout).count();
        let items = items(optimized, &objects, (r.cpu.bias, o.cpu.bias));
        let mut own = Input {
            reference: r.cpu.clone(),
            optimized: o.cpu.clone(),
            layout: *layout,
            origin: InputOrigin::Program,
            number: LATER * call as u64,
            call,
        };
        let (theirs, ours) = mappings(r, o);
        track(&mut own.reference, &objects, |x| x.1, r.heap, &theirs);
        track(&mut own.optimized, &objects, |x| x.2, o.heap, &ours);
        own.salt(seed);
        inputs.push(own.clone());
        // The first call is varied, the later ones are taken as they are.
        if call > 0 {
            continue;
        }
        bases.push((own.clone(), items.clone()));
        let integers = parameters(optimized).iter().any(|(ty, p)| p.is_ok() && ty.class != TypeClass::Pointer);
        let usual = if integers { 2 * variations } else { variations };
        for n in 0..usual + FEW.len() as u64 * u64::from(variations > 0) {
            let mut dice = own.dice(seed, n);
            let (origin, counts) = match n.checked_sub(usual) {
                Some(few) => (InputOrigin::Wild, TripCounts::Few(FEW[few as usize])),
                None if n % 2 == 1 => (InputOrigin::Varied, TripCounts::Whole),
                None => (InputOrigin::Varied, TripCounts::Any),
            };
            let mut input = Input { origin, number: n + 1, ..own.clone() };
            input.salt(seed);
            let (rc, oc) = (&mut input.reference, &mut input.optimized);
            for item in &items {
                vary::vary_item(&mut dice, item, rc, oc, Data::Permuted, counts);
            }
            vary::vary_parameters(&mut dice, optimized, rc, oc, Data::Permuted, counts);
            scramble(&mut dice, optimized, oc);
            input.restart();
            inputs.push(input);
        }
    }
    if pairs.is_empty() {
        for layout in 0..2 {
            let (reference, optimized) = placed(builds, elsewhere, layout);
            let objects = shared(reference.image, optimized.image);
            for n in 0..=variations {
                let mut dice = InputDice(seed ^ n << 8 ^ (layout as u64) << 32);
                let (input, items) = generate::generate(&mut dice, reference, optimized, &objects, layout);
                if n == 0 {
                    bases.push((input.clone(), items));
                }
                let mut input = Input { number: n, ..input };
                input.salt(seed);
                inputs.push(input);
            }
        }
    }
    if variations > 0 {
        inputs.extend(any_numbers(builds, elsewhere, &bases, seed));
    }
    inputs
}

/// Inputs with any numbers where that does no harm, the layouts in turn.
fn any_numbers(builds: &Builds<'_>, elsewhere: Option<&Builds<'_>>, bases: &[(Input, Vec<VariedItem>)], seed: u64) -> Vec<Input> {
    let Some((own, items)) = bases.first() else { return Vec::new() };
    let (reference, optimized) = placed(builds, elsewhere, own.layout);
    let start = Start { reference, optimized, machines: (own.reference.clone(), own.optimized.clone()) };
    let freedom = Freedom::find(&start, items, seed);
    let mut inputs = Vec::new();
    for (turn, (own, items)) in (0..freedom.runs).zip(bases.iter().cycle()) {
        let number = FIRST_WILD + turn;
        let (reference, optimized) = placed(builds, elsewhere, own.layout);
        let mut dice = own.dice(seed, number);
        let mut input = Input { origin: InputOrigin::Wild, number, ..own.clone() };
        input.salt(seed);
        freedom.apply(&mut dice, optimized, items, &mut input.reference, &mut input.optimized, turn);
        scramble(&mut dice, optimized, &mut input.optimized);
        // The first of each kind again, and the program's own, with part of what they come to already there.
        let again = [Some(input.clone()).filter(|_| turn < 2 * QUIET), Some(own.clone()).filter(|_| turn < QUIET)];
        for (n, mut quiet) in again.into_iter().enumerate().filter_map(|(n, q)| Some((n as u64, q?))) {
            quiet.number = FIRST_WILD * (2 + n) + turn;
            quiet.origin = InputOrigin::Wild;
            let (rc, oc) = (&mut quiet.reference, &mut quiet.optimized);
            wild::settle(&mut dice, reference, items, rc, oc, 4 + 2 * (turn % 2));
            quiet.restart();
            inputs.push(quiet);
        }
        input.restart();
        inputs.push(input);
    }
    inputs
}

impl Input {
    fn dice(&self, seed: u64, number: u64) -> InputDice {
        InputDice(seed ^ number << 8 ^ (self.layout as u64) << 32)
    }

    /// Gives what is allocated in this run distances of its own.
    fn salt(&mut self, seed: u64) {
        let salt = self.dice(seed, self.number).throw();
        (self.reference.salt, self.optimized.salt) = (salt, salt);
    }

    /// Takes the memory as it is now for the start.
    fn restart(&mut self) {
        for cpu in [&mut self.reference, &mut self.optimized] {
            cpu.tracker.restart(&cpu.memory);
        }
    }
}

/// Large allocations that have mappings of their own, where both builds have as many of the same sizes.
fn mappings(reference: &Snapshot, optimized: &Snapshot) -> (Vec<Region>, Vec<Region>) {
    let sizes = |s: &Snapshot| s.mappings.iter().map(|(low, high)| high - low).collect::<Vec<_>>();
    if sizes(reference) != sizes(optimized) {
        return (Vec::new(), Vec::new());
    }
    let regions = |s: &Snapshot| (MAPPINGS..).zip(&s.mappings).map(|(id, (start, end))| Region { start: *start, end: *end, id }).collect();
    (regions(reference), regions(optimized))
}

/// The shared objects that hold numbers, at their addresses in both builds.
pub fn items(side: &BuildSide<'_>, objects: &[Shared], bias: (u64, u64)) -> Vec<VariedItem> {
    let ty = |name: &str| side.info.globals.iter().find(|g| g.name == name).map(|g| g.ty);
    let placed =
        objects.iter().filter_map(|(name, r, o, size)| vary::item((r.wrapping_add(bias.0), o.wrapping_add(bias.1)), *size, &ty(name)?));
    placed.collect()
}

/// Follows what is stored into the objects, the heap and more.
pub fn track(cpu: &mut Cpu, objects: &[Shared], address: impl Fn(&Shared) -> u64, heap: (u64, u64), more: &[Region]) {
    let mut regions: Vec<Region> = objects
        .iter()
        .enumerate()
        .map(|(n, object)| {
            let start = address(object).wrapping_add(cpu.bias);
            Region { start, end: start + object.3, id: n as u32 }
        })
        .collect();
    if heap.1 > heap.0 {
        regions.push(Region { start: heap.0, end: heap.1, id: HEAP });
    }
    regions.extend_from_slice(more);
    regions.push(outside::arena());
    cpu.tracker = Tracker::new(regions, cpu.memory.clone());
}
