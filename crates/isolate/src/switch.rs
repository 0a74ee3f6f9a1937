//! Witnesses of another kind: the failing program itself, compiled with one more flag that makes the
//! failure go away (a pass switched off, an option taken back). Nothing about the program changes, so what
//! the failing compilation runs beyond such a witness lies near what the flag switches.
//!
//! Switches are tried in groups: a group that changes nothing as a whole is left alone as a whole. A dial,
//! which lets only the first so many transformations happen, is turned to the last place where the program
//! passes: its two sides differ by a single transformation.

use trueline_model::{Coverage, CoverageSet, Program, SeamError, StillShows};

/// Something that can be switched off in a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompilerSwitch {
    /// Flags that switch it off for good.
    Off(Vec<String>),
    /// Flags that allow it the first so many times; the number goes after the last of them.
    Dial(Vec<String>),
}

impl CompilerSwitch {
    /// The flags that switch it off.
    pub fn off(&self) -> Vec<String> {
        match self {
            Self::Off(flags) => flags.clone(),
            Self::Dial(_) => self.at(0),
        }
    }

    /// The flags that allow it so many times.
    fn at(&self, times: u64) -> Vec<String> {
        let (Self::Off(flags) | Self::Dial(flags)) = self;
        let mut flags = flags.clone();
        if let (Self::Dial(_), Some(last)) = (self, flags.last_mut()) {
            last.push_str(&times.to_string());
        }
        flags
    }
}

/// A switch that makes the failure go away.
#[derive(Clone, Debug)]
pub struct SwitchWitness {
    /// The flags that switch it off.
    pub flag: String,
    /// What the compilation with it covers.
    pub covered: CoverageSet,
}

/// What finding switches needs.
pub struct Switchboard<'a> {
    /// The program that fails.
    pub program: &'a Program,
    /// The flags of the failing compilation.
    pub flags: &'a [String],
    /// Judges the program with further flags.
    pub judge: &'a (dyn Fn(&[String]) -> Result<StillShows, SeamError> + Sync),
    /// Measures what a compilation covers.
    pub coverage: &'a dyn Coverage,
}

/// Finds the single switches among `candidates` that make the failure go away, and measures each.
pub fn switch_witnesses(
    board: &Switchboard<'_>,
    candidates: &[CompilerSwitch],
    within_budget: &mut dyn FnMut() -> bool,
) -> Result<Vec<SwitchWitness>, SeamError> {
    let mut found = Vec::new();
    let mut groups: Vec<&[CompilerSwitch]> = candidates.chunks(16).rev().collect();
    while let Some(group) = groups.pop() {
        if !within_budget() {
            break;
        }
        let flags: Vec<String> = group.iter().flat_map(CompilerSwitch::off).collect();
        match ((board.judge)(&flags)?, group) {
            (StillShows::Yes, _) => {}
            (StillShows::No, [switch]) => found.push(board.witness(switch, within_budget)?),
            // Some passes cannot be left out, alone or together: a group that cannot be judged is split.
            (StillShows::Unjudged, [_]) => {}
            (_, group) => {
                let (left, right) = group.split_at(group.len() / 2);
                groups.push(right);
                groups.push(left);
            }
        }
    }
    Ok(found)
}

/// Transformations of one kind in one small program, at most.
const HIGHEST_DIAL: u64 = 1 << 20;

impl Switchboard<'_> {
    fn witness(&self, switch: &CompilerSwitch, within_budget: &mut dyn FnMut() -> bool) -> Result<SwitchWitness, SeamError> {
        let (mut passes, mut fails) = (0, None);
        if matches!(switch, CompilerSwitch::Dial(_)) {
            while within_budget() && fails != Some(passes + 1) && passes < HIGHEST_DIAL {
                let middle = fails.map_or(passes * 2 + 1, |fails| passes.midpoint(fails));
                match (self.judge)(&switch.at(middle))? {
                    StillShows::No => passes = middle,
                    _ => fails = Some(middle),
                }
            }
        }
        let with = |extra: Vec<String>| self.flags.iter().cloned().chain(extra).collect::<Vec<String>>();
        let flags = switch.at(passes);
        Ok(SwitchWitness { flag: flags.join(" "), covered: self.coverage.measure(self.program, &with(flags))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{CodeMap, Language, Origin};

    struct NoCoverage(CodeMap);

    impl Coverage for NoCoverage {
        fn measure(&self, _: &Program, _: &[String]) -> Result<CoverageSet, SeamError> {
            Ok(CoverageSet::default())
        }

        fn code_map(&self) -> &CodeMap {
            &self.0
        }
    }

    fn find(candidates: &[CompilerSwitch], judge: &(dyn Fn(&[String]) -> StillShows + Sync)) -> Vec<String> {
        let program = Program {
            name: "p.c".to_owned(),
            language: Language::C,
            source: String::new(),
            origin: Origin::File { path: "p.c".into() },
            cflags: Vec::new(),
        };
        let judge = |flags: &[String]| Ok(judge(flags));
        let board = Switchboard { program: &program, flags: &[], judge: &judge, coverage: &NoCoverage(CodeMap::default()) };
        switch_witnesses(&board, candidates, &mut || true).unwrap().into_iter().map(|w| w.flag).collect()
    }

    #[test]
    fn the_single_switches_that_help_are_found_in_groups() {
        let candidates: Vec<CompilerSwitch> = (0..40).map(|n| CompilerSwitch::Off(vec![format!("-off{n}")])).collect();
        let helps = |flags: &[String]| if flags.iter().any(|f| f == "-off7" || f == "-off33") { StillShows::No } else { StillShows::Yes };
        assert_eq!(find(&candidates, &helps), ["-off7", "-off33"]);
    }

    #[test]
    fn a_dial_is_turned_to_the_last_place_that_passes() {
        let below = |flags: &[String]| {
            let value: u64 = flags[1].strip_prefix("limit=").unwrap().parse().unwrap();
            if value < 613 { StillShows::No } else { StillShows::Yes }
        };
        assert_eq!(find(&[CompilerSwitch::Dial(vec!["-x".to_owned(), "limit=".to_owned()])], &below), ["-x limit=612"]);
    }
}
