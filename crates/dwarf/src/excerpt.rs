//! The part of the debug information that speaks about one address or variable, as text: evidence for a report.

use crate::line::Row;
use crate::{BlockKind, Location, Module, Presence, Var, spell, spell_constant};
use trueline_model::VarKind;

/// Rows shown before and after the address.
const CONTEXT: usize = 4;

/// What is said, one fact per line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The rows around the address; those in force at it are marked.
    pub rows: Vec<String>,
    /// The function, inlined calls and blocks that hold the address, innermost last.
    pub scopes: Vec<String>,
    /// The variable's locations in each copy of its function.
    pub locations: Vec<String>,
}

impl Excerpt {
    /// All of it, in the order of reading.
    pub fn into_lines(self) -> Vec<String> {
        [self.rows, self.scopes, self.locations].concat()
    }
}

impl Module {
    /// What is said about an address, and about a variable there.
    pub fn excerpt(&self, pc: Option<u64>, variable: Option<&str>) -> Excerpt {
        let mut excerpt = Excerpt::default();
        if let Some(pc) = pc {
            excerpt.rows = self.rows_near(pc);
            excerpt.scopes = self.chain_at(pc).into_iter().rev().map(|b| self.scope_text(b)).collect();
        }
        if let Some(name) = variable {
            let vars = self.vars.iter().filter(|v| &*v.name == name && v.presence != Presence::Gone);
            excerpt.locations = vars.flat_map(|v| self.location_texts(v, pc)).collect();
        }
        excerpt
    }

    fn rows_near(&self, pc: u64) -> Vec<String> {
        let Some(at) = self.row_around(pc).map(|r| r.address) else { return Vec::new() };
        let text = |row: &Row| {
            let flag = if row.flags.is_stmt { "is_stmt" } else { "not is_stmt" };
            let end = if row.flags.end_sequence { ", end of sequence" } else { "" };
            let mark = if row.address == at && !row.flags.end_sequence { format!("  <- in force at {pc:#x}") } else { String::new() };
            format!("row {:#x} {}:{} {flag}{end}{mark}", row.address, self.base_names[row.file.0 as usize], row.line)
        };
        let mut texts = Vec::new();
        // Rows in force stand together in their line program; the same address may occur in several.
        let in_force: Vec<usize> = self.rows_in(at, at + 1).collect();
        for run in in_force.chunk_by(|a, b| a + 1 == *b) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let begins = |i: usize| i == 0 || self.rows[i - 1].flags.end_sequence;
            let from = (first.saturating_sub(CONTEXT)..=first).rev().find(|&i| begins(i)).unwrap_or(first.saturating_sub(CONTEXT));
            let after = (last + 1 + CONTEXT).min(self.rows.len());
            let to = (last..after).find(|&i| self.rows[i].flags.end_sequence).map_or(after, |i| i + 1);
            texts.extend(self.rows[from..to].iter().map(text));
        }
        texts
    }

    fn scope_text(&self, block: crate::BlockId) -> String {
        let block = self.block(block);
        let spans: Vec<String> = block.ranges.iter().map(|(low, high)| format!("[{low:#x}, {high:#x})")).collect();
        let spans = spans.join(" ");
        match &block.kind {
            BlockKind::Function => format!("function {} {spans}", self.function(block.function).name),
            BlockKind::Lexical => format!("block {spans}"),
            BlockKind::Inlined { name, call_line, .. } => format!("inlined {name} {spans}, called at line {call_line}"),
        }
    }

    fn location_texts(&self, var: &Var, pc: Option<u64>) -> Vec<String> {
        let kind = match var.kind {
            VarKind::Param => "parameter",
            VarKind::Local => "variable",
            VarKind::Global => "static variable",
        };
        let who = format!("{kind} {} <{:#x}> of line {}", var.name, var.die, var.decl_line);
        let text = |ops: &Result<std::sync::Arc<[crate::op::Op]>, std::sync::Arc<str>>| match ops {
            Ok(ops) if ops.is_empty() => "is optimized out".to_owned(),
            Ok(ops) => spell(ops),
            Err(reason) => format!("({reason})"),
        };
        match &var.location {
            Location::None => vec![format!("{who} has no location")],
            Location::Constant(bytes, _) => vec![format!("{who} has the constant value {}", spell_constant(bytes))],
            Location::Everywhere(ops) => vec![format!("{who} is everywhere {}", spell(ops))],
            Location::Broken(reason) => vec![format!("{who} cannot be read: {reason}")],
            Location::List(list) => {
                let inside = |e: &crate::LocationEntry| pc.is_some_and(|pc| e.low <= pc && pc < e.high);
                let mark = |e| if inside(e) { "  <- in force" } else { "" };
                let mut lines: Vec<String> =
                    list.iter().map(|e| format!("{who} [{:#x}, {:#x}) {}{}", e.low, e.high, text(&e.ops), mark(e))).collect();
                if let Some(pc) = pc.filter(|_| !list.iter().any(inside)) {
                    lines.push(format!("{who} has no location at {pc:#x}"));
                }
                lines
            }
        }
    }
}
