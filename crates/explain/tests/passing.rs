//! Programs that are given beside a failing one: how many are tried whatever the budget is, and which count.

use std::sync::atomic::{AtomicUsize, Ordering};
use trueline_explain::{FailingCase, LEAST_PASSING, PassingPrograms, Soundness, SwitchJudge, passing_programs};
use trueline_isolate::ProgramSetting;
use trueline_model::{CodeMap, Coverage, CoverageSet, Interesting, Language, OptLevel, Origin, Program, SeamError, StillShows};
use trueline_toolchain::find_compiler;

/// Programs with an even number pass.
struct EvenPasses;

impl Interesting for EvenPasses {
    fn judge(&self, _: &Program) -> Result<StillShows, SeamError> {
        Ok(StillShows::Yes)
    }
}

impl SwitchJudge for EvenPasses {
    fn judge_flags(&self, _: &Program, _: &[String]) -> Result<StillShows, SeamError> {
        Ok(StillShows::Yes)
    }

    fn passing_levels(&self, _: &Program) -> Result<Vec<OptLevel>, SeamError> {
        Ok(Vec::new())
    }

    fn passes(&self, program: &Program) -> Result<bool, SeamError> {
        Ok(program.name.parse::<usize>().is_ok_and(|number| number % 2 == 0))
    }
}

#[derive(Default)]
struct Counted(AtomicUsize, CodeMap);

impl Coverage for Counted {
    fn measure(&self, _: &Program, flags: &[String]) -> Result<CoverageSet, SeamError> {
        assert_eq!(flags, ["-fno-tree-vrp", "-O2"], "as the failing program is compiled");
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok([1].into_iter().collect())
    }

    fn code_map(&self) -> &CodeMap {
        &self.1
    }
}

fn program(number: usize) -> Program {
    let source = "int main(void) { return 0; }\n".to_owned();
    Program { name: number.to_string(), language: Language::C, source, origin: Origin::File { path: "p.c".into() }, cflags: Vec::new() }
}

/// What comes of so many programs with a budget that lasts for so many of them.
fn given(count: usize, budget: usize, seed: u64) -> Option<PassingPrograms> {
    let Ok(compiler) = find_compiler("gcc") else {
        println!("skipped: no gcc");
        return None;
    };
    let case = FailingCase {
        kind: "wrong-code",
        message: String::new(),
        setting: ProgramSetting { compiler, opt: OptLevel::O2, flags: vec!["-fno-tree-vrp".to_owned()] },
        crash: false,
        protect_output: false,
        judge: Box::new(EvenPasses),
        program: program(0),
        soundness: Soundness::Irrelevant,
    };
    let coverage = Counted::default();
    let mut left = budget;
    let mut within = || {
        left = left.saturating_sub(1);
        left > 0
    };
    let found = passing_programs(&case, &coverage, count, seed, &|number| Ok(program(number)), &mut within).unwrap();
    assert_eq!(found.covered.len(), coverage.0.load(Ordering::SeqCst), "what fails is not measured");
    Some(found)
}

#[test]
fn a_budget_that_is_used_up_at_once_still_leaves_a_dozen_programs() {
    let Some(found) = given(1000, 0, 1) else { return };
    assert_eq!(found.covered.len() + found.refused.len(), LEAST_PASSING);
    assert_eq!(found.left, 1000 - LEAST_PASSING);
    assert!(found.covered.len() > 1, "of a dozen about half pass: {:?} do not", found.refused);
    assert!(found.refused.iter().all(|name| name.parse::<usize>().unwrap() % 2 == 1));
}

#[test]
fn all_programs_are_tried_where_the_budget_lasts_and_the_seed_decides_the_order_where_not() {
    let Some(all) = given(40, 1000, 1) else { return };
    assert_eq!((all.covered.len(), all.refused.len(), all.left), (20, 20, 0));
    let refused = |seed| given(1000, 0, seed).unwrap().refused;
    assert_eq!(refused(1), refused(1));
    assert_ne!(refused(1), refused(2), "not the first of the directory every time");
}
