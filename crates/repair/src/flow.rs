//! The control-flow graph of one function: instructions, blocks, dominators, natural loops.

use crate::debug::{ConcreteFunction, ImageInfo};
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trueline_machine::emulate::DecodedCode;

/// A loop with one head that dominates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Address of its head.
    pub head: u64,
    /// Addresses of all instructions in it.
    pub body: BTreeSet<u64>,
    /// The loop directly around it, by index.
    pub parent: Option<usize>,
}

/// A function's control flow.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The instructions, by their addresses.
    pub instructions: BTreeMap<u64, Instruction>,
    /// Successors inside the function, by address.
    pub successors: BTreeMap<u64, Vec<u64>>,
    /// Predecessors inside the function, by address.
    pub predecessors: BTreeMap<u64, Vec<u64>>,
    /// Loops, outer before inner.
    pub loops: Vec<Loop>,
    /// The addresses of its calls.
    pub calls: Vec<u64>,
    /// Addresses of instructions that leave the function.
    pub exits: Vec<u64>,
    /// Tables that computed jumps read their targets from, by the table's address.
    pub tables: BTreeMap<u64, Table>,
    /// Why the graph is not complete, if so.
    pub incomplete: Option<String>,
}

/// A table of jump targets, as compilers make one of a `switch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// How its entries name their targets.
    pub entries: Entries,
    /// The targets in order. What follows the table may have been taken for a part of it.
    pub targets: Vec<u64>,
}

/// How the entries of a table name their targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// As 32-bit distances from the table.
    Distances,
    /// As 64-bit addresses.
    Addresses,
}

/// Most entries of a table.
const MAX_TARGETS: u64 = 1024;

impl Entries {
    /// The bytes of an entry.
    pub fn width(self) -> u64 {
        match self {
            Self::Distances => 4,
            Self::Addresses => 8,
        }
    }
}

impl Graph {
    /// Reads the control flow of a function.
    pub fn build(code: &DecodedCode<'_>, function: &ConcreteFunction) -> Self {
        let mut graph = Self::default();
        let mut work = vec![function.entry()];
        while let Some(pc) = work.pop() {
            if graph.instructions.contains_key(&pc) {
                continue;
            }
            let Some(i) = code.at(pc).filter(|_| function.contains(pc)) else { continue };
            graph.instructions.insert(pc, i);
            let mut next = Vec::new();
            match i.flow_control() {
                FlowControl::Next => next.push(i.next_ip()),
                FlowControl::Call | FlowControl::IndirectCall => {
                    graph.calls.push(pc);
                    next.push(i.next_ip());
                }
                FlowControl::UnconditionalBranch => next.push(i.near_branch_target()),
                FlowControl::ConditionalBranch => next.extend([i.next_ip(), i.near_branch_target()]),
                FlowControl::Return => graph.exits.push(pc),
                FlowControl::IndirectBranch => match graph.table_of(code, function, &i) {
                    Some((address, table)) => {
                        next.extend(&table.targets);
                        next.sort_unstable();
                        graph.tables.insert(address, table);
                    }
                    None => {
                        graph.exits.push(pc);
                        graph.incomplete = Some("it has a computed jump".to_owned());
                    }
                },
                _ => {}
            }
            if next.iter().any(|n| !function.contains(*n)) {
                graph.exits.push(pc);
            }
            next.retain(|n| function.contains(*n));
            next.dedup();
            work.extend(&next);
            graph.successors.insert(pc, next);
        }
        for (from, to) in &graph.successors {
            for t in to {
                graph.predecessors.entry(*t).or_default().push(*from);
            }
        }
        graph.calls.sort_unstable();
        graph.exits.sort_unstable();
        graph.exits.dedup();
        graph.find_loops(function.entry());
        graph
    }

    /// The table behind a computed jump: the nearest one in front of it whose address the code takes. The table that the compiler made lies
    /// wholly in what is found, since all its targets are in the function.
    fn table_of(&self, code: &DecodedCode<'_>, function: &ConcreteFunction, jump: &Instruction) -> Option<(u64, Table)> {
        let image = code.image;
        let constant = |address: &u64| image.section_at(*address).is_some_and(|s| !s.writable && !s.code);
        let taken: Vec<u64> = self
            .instructions
            .range(..jump.ip())
            .rev()
            .filter(|(_, i)| i.mnemonic() == Mnemonic::Lea && i.is_ip_rel_memory_operand())
            .map(|(_, i)| i.memory_displacement64())
            .filter(constant)
            .collect();
        let entries = match jump.op0_kind() {
            OpKind::Register => Entries::Distances,
            OpKind::Memory if jump.memory_index_scale() == 8 && jump.memory_base() == Register::None => Entries::Addresses,
            _ => return None,
        };
        let address = match entries {
            Entries::Distances => *taken.first()?,
            Entries::Addresses => Some(jump.memory_displacement64()).filter(constant)?,
        };
        // Where the next thing begins that has a name or whose address is taken, this one ends.
        let end = image.section_at(address).map_or(address, |s| s.address + s.size);
        let end = taken.iter().copied().chain(image.symbols.iter().map(|s| s.address)).filter(|a| *a > address).fold(end, u64::min);
        let mut targets = Vec::new();
        for n in 0..MAX_TARGETS {
            let at = address + n * entries.width();
            let word = image.section_at(at).filter(|_| at + entries.width() <= end).and_then(|s| {
                let start = usize::try_from(at - s.address).ok()?;
                s.data.get(start..start + entries.width() as usize)
            });
            let target = word.and_then(|w| match entries {
                Entries::Distances => Some(address.wrapping_add(i64::from(i32::from_le_bytes(w.try_into().ok()?)) as u64)),
                Entries::Addresses => Some(u64::from_le_bytes(w.try_into().ok()?)),
            });
            match target.filter(|t| function.contains(*t)) {
                Some(target) => targets.push(target),
                None => break,
            }
        }
        (targets.len() > 1).then_some((address, Table { entries, targets }))
    }

    /// Addresses in reverse postorder from the entry.
    fn order(&self, entry: u64) -> Vec<u64> {
        let mut seen = BTreeSet::new();
        let mut post = Vec::new();
        let mut stack = vec![(entry, 0usize)];
        seen.insert(entry);
        while let Some((pc, index)) = stack.pop() {
            match self.successors.get(&pc).and_then(|s| s.get(index)) {
                Some(next) => {
                    stack.push((pc, index + 1));
                    if seen.insert(*next) {
                        stack.push((*next, 0));
                    }
                }
                None => post.push(pc),
            }
        }
        post.reverse();
        post
    }

    /// The place of every instruction in reverse postorder.
    pub fn ranks(&self, entry: u64) -> BTreeMap<u64, usize> {
        self.order(entry).into_iter().enumerate().map(|(n, pc)| (pc, n)).collect()
    }

    fn find_loops(&mut self, entry: u64) {
        let order = self.order(entry);
        let rank: BTreeMap<u64, usize> = order.iter().enumerate().map(|(n, pc)| (*pc, n)).collect();
        // Immediate dominators (Cooper, Harvey and Kennedy), by rank.
        let mut idom: Vec<Option<usize>> = vec![None; order.len()];
        if order.is_empty() {
            return;
        }
        idom[0] = Some(0);
        let mut changed = true;
        while changed {
            changed = false;
            for (n, pc) in order.iter().enumerate().skip(1) {
                let mut new: Option<usize> = None;
                for p in self.predecessors.get(pc).into_iter().flatten().filter_map(|p| rank.get(p)) {
                    if idom[*p].is_none() {
                        continue;
                    }
                    new = Some(match new {
                        None => *p,
                        Some(other) => {
                            let (mut a, mut b) = (*p, other);
                            while a != b {
                                while a > b {
                                    a = idom[a].unwrap_or(0);
                                }
                                while b > a {
                                    b = idom[b].unwrap_or(0);
                                }
                            }
                            a
                        }
                    });
                }
                if new.is_some() && idom[n] != new {
                    idom[n] = new;
                    changed = true;
                }
            }
        }
        let dominates = |a: usize, mut b: usize| loop {
            if a == b {
                return true;
            }
            if b == 0 {
                return false;
            }
            b = idom[b].unwrap_or(0);
        };
        let mut bodies: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (tail, heads) in &self.successors {
            for head in heads {
                let (Some(t), Some(h)) = (rank.get(tail), rank.get(head)) else { continue };
                if !dominates(*h, *t) {
                    continue;
                }
                let body = bodies.entry(*head).or_default();
                body.insert(*head);
                let mut work = vec![*tail];
                while let Some(pc) = work.pop() {
                    if body.insert(pc) {
                        work.extend(self.predecessors.get(&pc).into_iter().flatten());
                    }
                }
            }
        }
        let mut loops: Vec<Loop> = bodies.into_iter().map(|(head, body)| Loop { head, body, parent: None }).collect();
        loops.sort_by_key(|l| (std::cmp::Reverse(l.body.len()), l.head));
        for n in 0..loops.len() {
            let parent = (0..n).rev().find(|p| loops[*p].body.contains(&loops[n].head));
            loops[n].parent = parent;
        }
        self.loops = loops;
    }

    /// Where a debugger stops, by address, with the line: statement rows. A loop written on one line may have none (clang marks
    /// a row only where the line changes): there every row counts.
    pub fn stops(&self, info: &ImageInfo) -> HashMap<u64, u64> {
        let rows = || info.rows.iter().filter(|r| !r.end && r.line != 0);
        let mut stops: HashMap<u64, u64> = rows().filter(|r| r.is_stmt).map(|r| (r.address, r.line)).collect();
        let silent: Vec<&Loop> = self.loops.iter().filter(|l| !l.body.iter().any(|pc| stops.contains_key(pc))).collect();
        for l in silent {
            for row in rows().filter(|r| l.body.contains(&r.address)) {
                stops.entry(row.address).or_insert(row.line);
            }
        }
        stops
    }

    /// The innermost loop around an address.
    pub fn innermost(&self, pc: u64) -> Option<usize> {
        (0..self.loops.len()).rev().find(|n| self.loops[*n].body.contains(&pc))
    }
}
