//! The independent checker: steps the repaired build as a real process and compares every variable at every
//! stop with the -O0 build at the corresponding moment.
//!
//! It shares nothing with the code that found the relations but the reading of DWARF and of the code: no emulator,
//! no lifter, no alignment. The corresponding moment is defined by memory alone: the moments at which the
//! -O0 process had the same global memory (and, where it has any, the same line).

mod live;

use crate::debug::ImageInfo;
use crate::flow::Graph;
use crate::mend::repairable;
use live::{Live, STEP_LIMIT};
use std::collections::{BTreeMap, HashMap};
use trueline_machine::emulate::DecodedCode;
use trueline_machine::image::Image;

/// A wrong value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Wrong {
    /// Where.
    pub pc: u64,
    /// Line shown there.
    pub line: u64,
    /// Which variable.
    pub variable: String,
    /// What the repaired build shows.
    pub shown: u64,
    /// What the -O0 build had.
    pub expected: Vec<u64>,
}

/// What the checker saw of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Verification {
    /// Values compared where the -O0 build had the very same memory.
    pub exact: usize,
    /// Values compared between two such states (a vector store half done).
    pub between: usize,
    /// Values for which the -O0 build has no moment.
    pub unmatched: usize,
    /// Wrong ones of the repair's own locations.
    pub wrong: Vec<Wrong>,
    /// How many of the repair's own values were compared.
    pub own: usize,
    /// How many of them were wrong.
    pub wrong_count: usize,
    /// Values of locations that the compiler wrote and that were kept: wrong ones.
    pub kept_wrong: usize,
}

type Name = (String, u64);

struct CheckedMoment {
    state: u64,
    line: u64,
    values: BTreeMap<Name, u64>,
}

/// Checks one function of a repaired file, in the program's own run.
///
/// `own` says whether a location (PC, variable, line of its declaration) is the repair's.
pub fn verify(
    reference: &Image,
    repaired: &Image,
    function: &str,
    args: &[String],
    own: &dyn Fn(u64, &str, u64) -> bool,
) -> Result<Verification, String> {
    let (ri, oi) = (ImageInfo::read(reference).map_err(|e| e.to_string())?, ImageInfo::read(repaired).map_err(|e| e.to_string())?);
    let find = |i: &ImageInfo| i.functions.iter().find(|f| f.name == function).cloned().ok_or_else(|| format!("no function {function}"));
    let (rf, of) = (find(&ri)?, find(&oi)?);
    let names: Vec<(String, u64)> = reference
        .data_symbols()
        .filter(|s| repaired.data_symbols().any(|o| o.name == s.name && o.size == s.size))
        .map(|s| (s.name.clone(), s.size))
        .collect();
    let stops = Graph::build(&DecodedCode::new(reference), &rf).stops(&ri);
    let mut live = Live::launch(reference, rf.entry(), &names, args)?;
    let mut moments: Vec<CheckedMoment> = Vec::new();
    for _ in 0..STEP_LIMIT * 4 {
        let pc = live.pc();
        if let Some(line) = stops.get(&pc) {
            let own = if rf.contains(pc) { Some(&rf) } else { None };
            let values = match own {
                Some(f) => f
                    .variables
                    .iter()
                    .filter(|v| repairable(v) && live.defined(f, v))
                    .filter_map(|v| Some(((v.name.clone(), v.line), live.show(f, v, pc)?)))
                    .collect(),
                None => moments.last().map(|m| m.values.clone()).unwrap_or_default(),
            };
            moments.push(CheckedMoment { state: live.state, line: *line, values });
        }
        if !live.step()? {
            break;
        }
    }
    drop(live);
    let mut by_state: HashMap<u64, Vec<usize>> = HashMap::new();
    for (n, m) in moments.iter().enumerate() {
        by_state.entry(m.state).or_default().push(n);
    }
    let mut live = Live::launch(repaired, of.entry(), &names, args)?;
    let mut result = Verification::default();
    // Values shown while memory is in a state the -O0 build never had: judged when the next common state comes.
    let mut pending: Vec<(u64, u64, Name, u64)> = Vec::new();
    let mut last = 0usize;
    for _ in 0..STEP_LIMIT {
        let pc = live.pc();
        if of.contains(pc) {
            let line = oi.line_at(pc);
            let same = by_state.get(&live.state);
            if let Some(same) = same {
                let next = same.iter().copied().find(|n| *n >= last).unwrap_or(same[same.len() - 1]);
                for (pc, line, name, shown) in pending.drain(..) {
                    result.between += 1;
                    let end = same[same.len() - 1].max(last);
                    judge(&mut result, &moments, &mut (last..=end), pc, line, &name, shown, own);
                }
                last = next;
            }
            for v in of.variables.iter().filter(|v| repairable(v) && !v.inlined && v.in_scope(pc)) {
                let Some(shown) = live.show(&of, v, pc) else { continue };
                let name = (v.name.clone(), v.line);
                match same {
                    Some(same) => {
                        result.exact += 1;
                        judge(&mut result, &moments, &mut same.iter().copied(), pc, line, &name, shown, own);
                    }
                    None => pending.push((pc, line, name, shown)),
                }
            }
        }
        if !live.step()? {
            break;
        }
    }
    result.unmatched += pending.len();
    Ok(result)
}

#[allow(clippy::too_many_arguments, reason = "one value with everything it is judged by")]
/// Judges one value against moments: those at the same line, or all of them where there is none.
fn judge(
    result: &mut Verification,
    moments: &[CheckedMoment],
    among: &mut dyn Iterator<Item = usize>,
    pc: u64,
    line: u64,
    name: &Name,
    shown: u64,
    own: &dyn Fn(u64, &str, u64) -> bool,
) {
    let known: Vec<(u64, u64)> = among.filter_map(|n| moments[n].values.get(name).map(|v| (moments[n].line, *v))).collect();
    if known.is_empty() {
        result.unmatched += 1;
        return;
    }
    let at_line: Vec<u64> = known.iter().filter(|(l, _)| *l == line).map(|(_, v)| *v).collect();
    let mut allowed = if line == 0 || at_line.is_empty() { known.iter().map(|(_, v)| *v).collect() } else { at_line };
    let ours = own(pc, &name.0, name.1);
    result.own += usize::from(ours);
    if allowed.contains(&shown) {
        return;
    }
    if !ours {
        result.kept_wrong += 1;
        return;
    }
    result.wrong_count += 1;
    allowed.sort_unstable();
    allowed.dedup();
    if result.wrong.len() < 64 && !result.wrong.iter().any(|w| w.pc == pc && w.variable == name.0) {
        allowed.truncate(4);
        result.wrong.push(Wrong { pc, line, variable: name.0.clone(), shown, expected: allowed });
    }
}
