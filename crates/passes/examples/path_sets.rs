//! How long the location sets of a function of 10,000 blocks take:
//! `cargo run --release -p trueline-passes --example path_sets`

use std::time::Instant;
use trueline_passes::flow::{BlockIndex, Flow, PathSets};
use trueline_passes::observation::{Location, Locations};

fn main() {
    // A ladder of diamonds inside one loop, a line per block.
    let rungs = 3333u32;
    let mut edges: Vec<Vec<u32>> = Vec::new();
    for i in 0..rungs {
        edges.extend([vec![3 * i + 1, 3 * i + 2], vec![3 * i + 3], vec![3 * i + 3]]);
    }
    edges.push(vec![0]);
    let mut locations = Locations::default();
    let line = |line| Location { line, column: 1, scope: 1, inlined_at: None, file: "a.c".into(), subprogram: 0 };
    let by_block: Vec<_> = (0..edges.len() as u32).map(|b| vec![locations.add(line(b + 1))]).collect();
    let blocks = edges.len();
    let started = Instant::now();
    let flow = Flow::from_edges(edges);
    let mut sets = PathSets::new(&flow, by_block, &locations);
    sets.through(BlockIndex(5000));
    println!("{blocks} blocks, one set: {:.2} ms", started.elapsed().as_secs_f64() * 1000.0);
    for block in (0..blocks as u32).step_by(10) {
        sets.through(BlockIndex(block));
    }
    println!("{blocks} blocks, {} sets: {:.1} ms", blocks / 10, started.elapsed().as_secs_f64() * 1000.0);
}
