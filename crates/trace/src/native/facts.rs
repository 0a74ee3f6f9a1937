//! What the debug information of a binary says, without running it: evidence for reports and oracles.

use super::eval::{Fault, Machine, Memory};
use super::frame::{Frame, Registers};
use super::line::Row;
use super::module::{BlockKind, FileId, Location, Module, VarId};
use super::op::Op;
use crate::TraceError;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use trueline_dwarf::{Search, Wanted, spell, spell_constant};
use trueline_model::{FileName, Line, LineKey, Policy, VarKind};

/// A row of the line table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// Its address.
    pub address: u64,
    /// Its file.
    pub file: FileName,
    /// Its line; `None` for line 0.
    pub line: Option<Line>,
    /// Its column, 0 for none.
    pub column: u32,
    /// Whether it is a recommended place to stop.
    pub is_stmt: bool,
    /// How many rows at the same address precede it (gcc's location view).
    pub view: u32,
}

/// What a scope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// A function's body.
    Function,
    /// A block in braces.
    Lexical,
    /// A call that was inlined.
    Inlined,
}

/// A scope around an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// What it is.
    pub kind: ScopeKind,
    /// The function's name, for functions and inlined calls.
    pub name: Option<Arc<str>>,
    /// For inlined calls: where the call was.
    pub call: Option<LineKey>,
    /// Its address ranges.
    pub ranges: Vec<(u64, u64)>,
}

/// A function of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionExtent {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub declared: Option<LineKey>,
    /// The largest line that its own code (not what was inlined into it) has a row for in its file.
    pub last_line: Option<Line>,
    /// Its address ranges.
    pub ranges: Vec<(u64, u64)>,
}

/// What the debug information says of a variable at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationFact {
    /// The addresses the entry covers; `None` when the same location holds everywhere.
    pub range: Option<(u64, u64)>,
    /// The entry as text, in the words of the DWARF standard.
    pub text: String,
    /// What is wrong with the expression, if it is ill-formed: evaluating it is an error whatever the program's state.
    pub ill_formed: Option<String>,
}

/// The debug information of one binary.
#[derive(Debug)]
pub struct Facts {
    module: Module,
}

impl Facts {
    /// Reads a binary; `user_files` as in [`TraceRequest`](crate::TraceRequest).
    pub fn load(binary: &Path, user_files: &[String]) -> Result<Self, TraceError> {
        Ok(Self { module: Module::load(binary, Wanted::new(user_files), &Search::default(), Policy::Gdb)? })
    }

    fn key(&self, file: FileId, line: u32) -> LineKey {
        LineKey { file: self.module.file(file).clone(), line: Line(line) }
    }

    fn row(&self, r: &Row) -> LineRow {
        LineRow {
            address: r.address,
            file: self.module.file(r.file).clone(),
            line: (r.line != 0).then_some(Line(r.line)),
            column: r.column,
            is_stmt: r.flags.is_stmt,
            view: r.view,
        }
    }

    /// All rows in the order of the line programs, without end markers.
    pub fn rows(&self) -> impl Iterator<Item = LineRow> + '_ {
        self.module.rows.iter().filter(|r| !r.flags.end_sequence).map(|r| self.row(r))
    }

    /// The rows at exactly this address, in order.
    pub fn rows_at(&self, pc: u64) -> Vec<LineRow> {
        self.module.rows_in(pc, pc.saturating_add(1)).map(|i| self.row(&self.module.rows[i])).collect()
    }

    /// Every line that has a row.
    pub fn lines(&self) -> BTreeSet<LineKey> {
        self.module.rows.iter().filter(|r| !r.flags.end_sequence && r.line != 0).map(|r| self.key(r.file, r.line)).collect()
    }

    /// The scopes around an address, innermost first.
    pub fn scopes_at(&self, pc: u64) -> Vec<Scope> {
        let scope = |id| {
            let block = self.module.block(id);
            let (kind, name, call) = match &block.kind {
                BlockKind::Function => (ScopeKind::Function, Some(Arc::clone(&self.module.function(block.function).name)), None),
                BlockKind::Lexical => (ScopeKind::Lexical, None, None),
                BlockKind::Inlined { name, call_file, call_line, .. } => {
                    (ScopeKind::Inlined, Some(Arc::clone(name)), call_file.map(|f| self.key(f, *call_line)))
                }
            };
            Scope { kind, name, call, ranges: block.ranges.clone() }
        };
        self.module.chain_at(pc).into_iter().map(scope).collect()
    }

    /// The functions with code.
    pub fn functions(&self) -> Vec<FunctionExtent> {
        let extent = |f: &super::module::Function| {
            let own = |pc: u64| self.module.chain_at(pc).iter().all(|&b| !self.module.block(b).is_inlined());
            let rows = f.ranges.iter().flat_map(|g| self.module.rows_in(g.0, g.1)).map(|i| &self.module.rows[i]);
            let rows = rows.filter(|r| Some(r.file) == f.decl_file && own(r.address));
            FunctionExtent {
                name: Arc::clone(&f.name),
                declared: f.decl_file.map(|file| self.key(file, f.decl_line)),
                last_line: rows.map(|r| r.line).max().filter(|&l| l != 0).map(Line),
                ranges: f.ranges.clone(),
            }
        };
        self.module.functions.iter().map(extent).collect()
    }

    /// What is said at `pc` of the variable `name` declared at `decl_line`, searched from the innermost scope out to the
    /// globals; `None` when no such variable is visible there.
    pub fn location(&self, pc: u64, name: &str, decl_line: u32) -> Option<LocationFact> {
        let is_it = |v: &&VarId| {
            let var = self.module.var(**v);
            &*var.name == name && (decl_line == 0 || var.decl_line == decl_line)
        };
        let blocks = self.module.chain_at(pc);
        let function = self.module.function_at(pc)?;
        let globals = &self.module.unit(self.module.function(function).unit).globals;
        let var = blocks.iter().flat_map(|&b| &self.module.block(b).vars).chain(globals).find(is_it)?;
        Some(self.describe(*var, pc))
    }

    fn describe(&self, var: VarId, pc: u64) -> LocationFact {
        let nowhere = |text: &str| LocationFact { range: None, text: text.to_owned(), ill_formed: None };
        let entry = self.module.function_at(pc).map_or(0, |f| self.module.function(f).entry());
        let location = &self.module.var(var).location;
        let range = match location {
            Location::List(list) => list.iter().find(|e| e.low <= pc && pc < e.high).map(|e| (e.low, e.high)),
            _ => None,
        };
        match location {
            Location::None => nowhere("no location"),
            Location::Constant(bytes, _) => nowhere(&format!("constant {}", spell_constant(bytes))),
            _ => match location.at(pc, entry) {
                None => nowhere("no location at this address"),
                Some(Err(reason)) => LocationFact { range, text: "undecodable".into(), ill_formed: Some(reason.to_string()) },
                Some(Ok(ops)) => LocationFact { range, text: spell(ops), ill_formed: self.judge(ops, pc) },
            },
        }
    }

    /// Evaluates with nothing known of the program: only errors of the expression itself show.
    fn judge(&self, ops: &[Op], pc: u64) -> Option<String> {
        let machine = Machine { module: &self.module, bias: 0, memory: &Blank };
        let registers = Registers { values: [0; 17], known: 0x1_ffff };
        let frame = Frame::innermost(registers, pc, self.module.function_at(pc)?);
        match machine.locate(&frame, ops) {
            Err(Fault::IllFormed(reason)) => Some(reason),
            _ => None,
        }
    }

    /// The variables visible at an address: name, declaration line, kind.
    pub fn variables_at(&self, pc: u64) -> Vec<(Arc<str>, u32, VarKind)> {
        let vars = super::watch::visible(&self.module, pc, 0, Policy::Gdb, |_| true);
        vars.into_iter().map(|v| self.module.var(v)).map(|v| (Arc::clone(&v.name), v.decl_line, v.kind)).collect()
    }
}

/// Memory that is all zeros.
struct Blank;

impl Memory for Blank {
    fn read(&self, _address: u64, buffer: &mut [u8]) -> bool {
        buffer.fill(0);
        true
    }
    fn thread_pointer(&self) -> Option<u64> {
        Some(0)
    }
    fn sse(&self, _register: usize) -> Option<[u8; 16]> {
        Some([0; 16])
    }
    fn avx(&self, _register: usize) -> Option<[u8; 32]> {
        Some([0; 32])
    }
    fn x87(&self, _register: usize) -> Option<[u8; 16]> {
        Some([0; 16])
    }
}
