//! Which mutants become witnesses: those that pass, look different to the compiler, and are programs at all.

use std::sync::atomic::{AtomicU32, Ordering};
use trueline_isolate::{SearchOutcome, WitnessSearch};
use trueline_model::{CodeMap, Coverage, CoverageSet, Interesting, Language, Origin, Program, SeamError, StillShows, Validity};

const FAILING: &str = "int table[8];
int main(void) {
  int sum = 0;
  for (int i = 0; i < 8; i++) sum += table[i] + i * 3;
  return sum > 84;
}
";

/// Every program but the first passes.
struct OnlyTheFirst;

impl Interesting for OnlyTheFirst {
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        Ok(if candidate.source == FAILING { StillShows::Yes } else { StillShows::No })
    }
}

/// Every compilation covers something of its own.
#[derive(Default)]
struct AlwaysNew(AtomicU32, CodeMap);

impl Coverage for AlwaysNew {
    fn measure(&self, _: &Program, _: &[String]) -> Result<CoverageSet, SeamError> {
        Ok([0, self.0.fetch_add(1, Ordering::SeqCst) + 1].into_iter().collect())
    }

    fn code_map(&self) -> &CodeMap {
        &self.1
    }
}

/// What a sanitizer says of this program's mutants: those that change the loop's condition or start run over the array's end.
struct InsideTheArray;

impl Validity for InsideTheArray {
    fn reject(&self, candidate: &Program) -> Result<Option<String>, SeamError> {
        let is_inside = candidate.source.contains("i = 0; i < 8; i++");
        Ok((!is_inside).then(|| "index out of bounds".to_owned()))
    }
}

fn search(validity: Option<&dyn Validity>) -> SearchOutcome {
    let origin = Origin::File { path: "program.c".into() };
    let program = Program { name: "program.c".to_owned(), language: Language::C, source: FAILING.to_owned(), origin, cflags: Vec::new() };
    let coverage = AlwaysNew::default();
    let mut search = WitnessSearch::new(&program, &OnlyTheFirst, &coverage, &[]);
    search.validity = validity;
    let mut rounds = 0;
    let mut within = || {
        rounds += 1;
        rounds <= 20
    };
    search.run(&mut within, &mut |_| {}).unwrap()
}

#[test]
fn a_mutant_with_undefined_behaviour_is_no_witness_although_it_passes() {
    let (careless, careful) = (search(None), search(Some(&InsideTheArray)));
    let is_invalid = |found: &SearchOutcome| found.witnesses.iter().filter(|w| !w.program.source.contains("i = 0; i < 8; i++")).count();
    assert!(is_invalid(&careless) > 0, "mutation makes such programs: {} of {}", careless.invalid, careless.judged);
    assert_eq!(is_invalid(&careful), 0);
    assert!(careful.invalid > 0 && !careful.witnesses.is_empty(), "{} refused of {}", careful.invalid, careful.judged);
    assert_eq!(careful.witnesses.len() + careful.invalid + careful.failing_mutants + careful.unjudged, careful.judged);
}
