//! Measures isolation on a set of known compiler bugs, in steps that can be repeated at will:
//!
//! usage: bench_isolate search BUGS-DIR OUT-DIR BUDGET-SECONDS SEED guided|random [FILE…]
//!        bench_isolate corpus BUGS-DIR OUT-DIR NAME DIR COUNT
//!        bench_isolate rank BUGS-DIR OUT-DIR
//!
//! BUGS-DIR holds `bugs.json` and the programs; a bug may name its compiler (`"compiler"`, else gcc-12).
//! `search` leaves everything that was measured in OUT-DIR, as lists of blocks, and does nothing twice: what
//! does not depend on the seed (switches, other levels) is shared by all runs of a bug. `corpus` measures passing
//! programs under each bug's flags, for the comparison with plain spectrum-based ranking. `rank` ranks from
//! these files alone, under every method that is compared.

mod corpus;
mod ranks;
mod record;
mod run;

use std::path::Path;

type SeenFailure = Box<dyn std::error::Error>;

fn main() -> Result<(), SeenFailure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["search", bugs, out, budget, seed, strategy, only @ ..] => {
            run::search(Path::new(bugs), Path::new(out), budget.parse()?, seed.parse()?, strategy, only)
        }
        ["corpus", bugs, out, name, dir, count] => corpus::measure(Path::new(bugs), Path::new(out), name, Path::new(dir), count.parse()?),
        ["rank", bugs, out] => ranks::rank_all(Path::new(bugs), Path::new(out)),
        _ => Err("usage: bench_isolate search BUGS-DIR OUT-DIR BUDGET SEED guided|random [FILE...] | corpus BUGS-DIR OUT-DIR NAME DIR COUNT | rank BUGS-DIR OUT-DIR".into()),
    }
}
