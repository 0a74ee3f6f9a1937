//! The control-flow graphs before and after, with the instructions of interest marked: data for the page.

use crate::history::Place;
use crate::naming::Names;
use crate::observation::Locations;
use std::collections::HashMap;
use trueline_llvm_hook::wire::FunctionRecord;

/// A line of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The instruction as LLVM prints it.
    pub text: String,
    /// The source line of its location.
    pub line: Option<u32>,
    /// Whether it is a source or the destination.
    pub marked: bool,
}

/// A block with its successors by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The name it has in the source or the file.
    pub name: String,
    /// Indices of its successors.
    pub successors: Vec<usize>,
    /// The instructions of the block.
    pub lines: Vec<Line>,
}

/// The control-flow graphs before and after a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Before the pass, sources marked.
    pub before: Vec<Node>,
    /// After the pass, the destination marked.
    pub after: Vec<Node>,
}

impl Picture {
    /// Draws the graphs, with the marked places in each.
    pub fn draw(before: (&FunctionRecord, &[Place]), after: (&FunctionRecord, &[Place]), locations: &Locations) -> Self {
        Self { before: draw(before.0, before.1, locations), after: draw(after.0, after.1, locations) }
    }
}

fn draw(function: &FunctionRecord, marked: &[Place], locations: &Locations) -> Vec<Node> {
    let names = Names::of(function);
    let index: HashMap<u64, usize> = function.blocks.iter().enumerate().map(|(i, b)| (b.at, i)).collect();
    let blocks = function.blocks.iter().enumerate();
    blocks
        .map(|(b, block)| Node {
            name: names.block(block.at).to_owned(),
            successors: block.successors.iter().filter_map(|s| index.get(s).copied()).collect(),
            lines: block
                .instructions
                .iter()
                .enumerate()
                .map(|(i, inst)| Line {
                    text: names.long(inst),
                    line: locations.at(inst.location).map(|l| locations.get(l).line),
                    marked: marked.iter().any(|p| p.block.0 as usize == b && p.index == i),
                })
                .collect(),
        })
        .collect()
}
