//! From code ranges to source files and functions, with nothing but the stripped binary.
//!
//! Three kinds of evidence, all of them in every distribution's gcc:
//! - assertions pass `__FILE__` and `__FUNCTION__`, so thousands of ranges name their own file;
//! - a function whose cold part was moved away still jumps into it, so both parts share their evidence;
//! - the linker lays out one object after the other, so what stands between two ranges of one file is
//!   of that file too. Between two *different* files the border goes where fewest calls of functions
//!   that are not exported (which nobody outside the file can make) would cross it.
//!
//! Symbol names add evidence where the caller knows what they mean ([`Hints`]).

use crate::image::CompilerImage;
use crate::mangled::qualified_name;
use crate::survey::{JumpKind, Survey};
use std::collections::{BTreeMap, HashMap};
use trueline_model::{CodeFunction, CodeMap};

/// Knowledge about a compiler's symbols and file names, beyond what the binary says.
pub trait Hints: Sync {
    /// The file that defines an exported function, when its name tells.
    fn file_of_export(&self, name: &str) -> Option<String>;

    /// The name under which a file is reported: where people would edit it.
    fn display(&self, file: &str) -> String;
}

/// SourceNames for the ranges of an image.
#[derive(Debug)]
pub struct SourceNames {
    /// Files and functions; `unit_functions` is left empty.
    pub map: CodeMap,
    /// The function of each range, an index into the map's functions; `None` when no file could be told.
    pub range_functions: Vec<Option<u32>>,
}

/// SourceNames every range that can be named.
pub fn name_ranges(image: &CompilerImage, survey: &Survey, hints: &dyn Hints) -> SourceNames {
    let parts = join_parts(image, survey);
    let mut files: Vec<String> = Vec::new();
    let mut ids: HashMap<String, u32> = HashMap::new();
    let mut intern = |name: String| {
        *ids.entry(name).or_insert_with_key(|name| {
            files.push(name.clone());
            files.len() as u32 - 1
        })
    };
    let own = own_evidence(image, survey, hints, &parts, &mut intern);
    let assigned = fill_gaps(image, survey, &parts, own);

    // One function per joined group, named by its export, else by its assertions.
    let mut functions = Vec::new();
    let mut of_group: HashMap<u32, u32> = HashMap::new();
    let mut range_functions = vec![None; image.ranges.len()];
    for (index, range) in image.ranges.iter().enumerate() {
        let Some(file) = assigned[index] else { continue };
        let function = *of_group.entry(parts[index]).or_insert_with(|| {
            functions.push(CodeFunction { name: String::new(), file });
            functions.len() as u32 - 1
        });
        let name = &mut functions[function as usize].name;
        if let Some(export) = image.exports.get(&range.start) {
            *name = qualified_name(&export.name).unwrap_or_else(|| export.name.clone());
        } else if name.is_empty()
            && let Some(asserted) = most_frequent(&survey.ranges[index].names)
        {
            asserted.clone_into(name);
        }
        range_functions[index] = Some(function);
    }
    SourceNames { map: CodeMap { files, functions, unit_functions: Vec::new() }, range_functions }
}

/// The index of the range that contains an address.
pub fn range_at(image: &CompilerImage, address: u64) -> Option<usize> {
    let index = image.ranges.partition_point(|r| r.start <= address).checked_sub(1)?;
    (address < image.ranges[index].end).then_some(index)
}

/// Joins the parts of split functions: the result gives each range the lowest index of its group.
fn join_parts(image: &CompilerImage, survey: &Survey) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..image.ranges.len() as u32).collect();
    for (index, facts) in survey.ranges.iter().enumerate() {
        for &(target, jump) in &facts.leaps {
            let Some(other) = range_at(image, target) else { continue };
            let at_start = image.ranges[other].start == target;
            // A jump to the start of something is a tail call, unless it has a condition and the place no name.
            let part = !at_start || (jump == JumpKind::Conditional && !image.exports.contains_key(&target));
            if part {
                let (a, b) = (root(&mut parent, index as u32), root(&mut parent, other as u32));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
    }
    (0..parent.len() as u32).map(|index| root(&mut parent, index)).collect()
}

fn root(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

/// The file each range gives away by itself or through a part joined to it.
fn own_evidence(
    image: &CompilerImage,
    survey: &Survey,
    hints: &dyn Hints,
    parts: &[u32],
    intern: &mut impl FnMut(String) -> u32,
) -> Vec<Option<u32>> {
    let mut votes: HashMap<u32, BTreeMap<u32, u32>> = HashMap::new();
    for (index, range) in image.ranges.iter().enumerate() {
        let group = votes.entry(parts[index]).or_default();
        for file in &survey.ranges[index].files {
            *group.entry(intern(hints.display(file))).or_default() += 1;
        }
        // A name that tells its file tells more than any assertion that was inlined into it.
        let export = image.exports.get(&range.start).filter(|e| !e.weak);
        if let Some(file) = export.and_then(|e| hints.file_of_export(&e.name)) {
            *group.entry(intern(hints.display(&file))).or_default() += 100;
        }
    }
    let winner =
        |votes: &BTreeMap<u32, u32>| votes.iter().max_by_key(|(file, count)| (**count, std::cmp::Reverse(**file))).map(|(f, _)| *f);
    parts.iter().map(|group| votes.get(group).and_then(winner)).collect()
}

/// Gives the ranges between two known ones a file by object order and calls.
fn fill_gaps(image: &CompilerImage, survey: &Survey, parts: &[u32], mut known: Vec<Option<u32>>) -> Vec<Option<u32>> {
    // What lies between two ranges of one file is certain, and tells about joined parts elsewhere.
    for _ in 0..4 {
        let before = known.clone();
        for (left, right) in gaps(&before) {
            if before[left] == before[right] {
                known[left + 1..right].fill(before[left]);
            }
        }
        let of_group: HashMap<u32, u32> = parts.iter().zip(&known).filter_map(|(&group, file)| Some((group, (*file)?))).collect();
        known.iter_mut().zip(parts).for_each(|(file, group)| *file = file.or_else(|| of_group.get(group).copied()));
        if known == before {
            break;
        }
    }
    let affinity = Affinity::new(image, survey, &known);
    let mut assigned = known.clone();
    for (left, right) in gaps(&known) {
        let (Some(a), Some(b)) = (known[left], known[right]) else { continue };
        let gap = left + 1..right;
        let mut best = (gap.start + gap.len() / 2, 0);
        let mut sum = 0;
        for index in gap.clone() {
            sum += affinity.of(index, a) - affinity.of(index, b);
            if sum > best.1 || (sum == best.1 && sum != 0) {
                best = (index + 1, sum);
            }
        }
        // Nothing speaks for the left file: all of it goes to the right one, if anything speaks for that.
        let split = if best.1 == 0 && sum < 0 { gap.start } else { best.0 };
        assigned[gap.start..split].fill(Some(a));
        assigned[split..gap.end].fill(Some(b));
    }
    if let Some(first) = known.iter().position(Option::is_some) {
        assigned[..first].fill(known[first]);
    }
    if let Some(last) = known.iter().rposition(Option::is_some) {
        assigned[last + 1..].fill(known[last]);
    }
    assigned
}

/// Neighbouring known positions with something unknown between them.
fn gaps(known: &[Option<u32>]) -> Vec<(usize, usize)> {
    let positions: Vec<usize> = (0..known.len()).filter(|&i| known[i].is_some()).collect();
    positions.windows(2).filter(|w| w[1] > w[0] + 1).map(|w| (w[0], w[1])).collect()
}

/// How many calls tie a range to the known ranges of a file.
struct Affinity(HashMap<(u32, u32), i64>);

impl Affinity {
    /// A function that is not exported can only be called from its own file; a call of an exported one
    /// says little, but files do call themselves more than others.
    const LOCAL: i64 = 8;
    const EXPORTED: i64 = 1;

    fn new(image: &CompilerImage, survey: &Survey, known: &[Option<u32>]) -> Self {
        let mut ties = HashMap::new();
        for (caller, facts) in survey.ranges.iter().enumerate() {
            for &target in &facts.calls {
                let Some(callee) = range_at(image, target) else { continue };
                let weight = match image.exports.get(&target) {
                    Some(export) if export.weak => continue,
                    Some(_) => Self::EXPORTED,
                    None => Self::LOCAL,
                };
                match (known[caller], known[callee]) {
                    (Some(file), None) => *ties.entry((callee as u32, file)).or_default() += weight,
                    (None, Some(file)) => *ties.entry((caller as u32, file)).or_default() += weight,
                    _ => {}
                }
            }
        }
        Self(ties)
    }

    fn of(&self, range: usize, file: u32) -> i64 {
        self.0.get(&(range as u32, file)).copied().unwrap_or(0)
    }
}

fn most_frequent(names: &[String]) -> Option<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    counts.into_iter().max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name))).map(|(name, _)| name)
}
