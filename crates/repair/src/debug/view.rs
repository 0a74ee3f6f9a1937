//! From the tables of a module to what the repair knows of a program: only what an image's own entries describe, since
//! only such an entry can be given another location.

use super::{
    CompiledUnit, ConcreteFunction, Convention, Depends, FrameBase, GlobalVariable, ImageInfo, LineRow, LocationRange, PlacedVariable,
    TypeClass, VariableKind, VariableType,
};
use std::hash::{Hash, Hasher};
use trueline_dwarf::op::{Binary, Op, Unary};
use trueline_dwarf::{BlockId, BlockKind, Location, Module, MoreArguments, Presence, TypeId, TypeKind, VarId};
use trueline_model::VarKind;

/// The tables of a module with what the file has in its sections of code.
pub(super) struct ImageView<'m> {
    /// What the debug information says.
    pub module: &'m Module,
    /// Whether an address is in such a section.
    pub has_code: &'m dyn Fn(u64) -> bool,
}

impl ImageView<'_> {
    /// All of it.
    pub fn read(&self) -> ImageInfo {
        let units = self.module.units.iter().map(|u| CompiledUnit {
            name: u.name.to_string(),
            comp_dir: u.directory.to_string(),
            producer: u.made_by.to_string(),
            volatile: u.knows_volatile,
        });
        // In the order of the entries; what only the symbol table knows has none.
        let mut functions: Vec<(usize, ConcreteFunction)> = self.module.functions.iter().filter_map(|f| self.function(f)).collect();
        functions.sort_by_key(|(die, _)| *die);
        let globals = self.module.units.iter().flat_map(|u| &u.globals).filter_map(|&var| self.global(var));
        ImageInfo {
            units: units.collect(),
            functions: functions.into_iter().map(|(_, f)| f).collect(),
            rows: self.rows(),
            globals: globals.collect(),
        }
    }

    fn rows(&self) -> Vec<LineRow> {
        let files: Vec<u64> = self.module.base_names.iter().map(|f| hash(f.as_str())).collect();
        let row = |r: &trueline_dwarf::line::Row| LineRow {
            address: r.address,
            line: r.line.into(),
            file: files[r.file.0 as usize],
            is_stmt: r.flags.is_stmt,
            end: r.flags.end_sequence,
        };
        let mut rows: Vec<LineRow> = self.module.rows.iter().map(row).collect();
        rows.sort_by_key(|r| (r.address, !r.end));
        rows
    }

    fn with_code(&self, ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
        ranges.iter().copied().filter(|r| (self.has_code)(r.0)).collect()
    }

    fn function(&self, of: &trueline_dwarf::Function) -> Option<(usize, ConcreteFunction)> {
        let die = self.module.block(of.block).die?;
        let ranges = self.with_code(&of.ranges);
        let result = of.result.map(|ty| self.ty(ty));
        let mut found = ConcreteFunction {
            name: of.name.to_string(),
            line: of.decl_line.into(),
            frame_base: frame_base(&of.frame_base),
            variables: Vec::new(),
            inlined: Vec::new(),
            unit: of.unit.0 as usize,
            convention: match (of.more, result) {
                (MoreArguments::Any, _) => Convention::Variadic,
                (_, Some(ty)) if ty.class == TypeClass::Other && ty.size > 0 => Convention::Aggregate,
                _ => Convention::Plain,
            },
            ranges,
        };
        if found.ranges.is_empty() {
            return None;
        }
        self.block(of.block, &of.name, Instance::Own, &mut found);
        found.variables.sort_by_key(|v| v.die);
        Some((die, found))
    }

    /// A block's variables and those of the blocks inside it; `source` is the function that the text belongs to.
    fn block(&self, id: BlockId, source: &str, instance: Instance, found: &mut ConcreteFunction) {
        let block = self.module.block(id);
        let scope = self.with_code(&block.ranges);
        found.variables.extend(block.vars.iter().filter_map(|&var| self.variable(var, source, instance, &scope)));
        for &child in &block.children {
            match &self.module.block(child).kind {
                BlockKind::Inlined { name, .. } => {
                    found.inlined.push((name.to_string(), self.with_code(&self.module.block(child).ranges)));
                    self.block(child, name, Instance::Inlined, found);
                }
                BlockKind::Lexical | BlockKind::Function => self.block(child, source, instance, found),
            }
        }
    }

    /// A variable that the block's own entries describe: only such an entry can be given another location.
    fn variable(&self, id: VarId, function: &str, instance: Instance, scope: &[(u64, u64)]) -> Option<PlacedVariable> {
        let var = self.module.var(id);
        if !matches!(var.presence, Presence::Own | Presence::Codeless) {
            return None;
        }
        let ops = |range: Option<(u64, u64)>| match (&var.location, range) {
            (Location::Everywhere(ops), None) => Some(ops),
            (Location::List(list), Some(range)) => list.iter().find(|e| (e.low, e.high) == range).and_then(|e| e.ops.as_ref().ok()),
            _ => None,
        };
        let mut locations = Vec::new();
        for entry in self.module.written(id) {
            let depends = ops(entry.range).map_or(Depends::State, |ops| depends(ops));
            let ranges = entry.range.as_ref().map_or(scope, std::slice::from_ref);
            let range = |&(low, high): &(u64, u64)| LocationRange { low, high, expression: entry.bytes.clone(), depends };
            locations.extend(ranges.iter().map(range));
        }
        Some(PlacedVariable {
            name: var.name.to_string(),
            line: var.decl_line.into(),
            function: function.to_owned(),
            die: var.die,
            kind: if var.kind == VarKind::Param { VariableKind::Parameter } else { VariableKind::Local },
            ty: self.ty(var.ty),
            scope: scope.to_vec(),
            locations,
            constant: match &var.location {
                Location::Constant(bytes, _) => Some(low_word(bytes)),
                _ => None,
            },
            frame_offset: match &var.location {
                Location::Everywhere(ops) => match **ops {
                    [Op::FrameOffset(offset)] => Some(offset),
                    _ => None,
                },
                _ => None,
            },
            inlined: instance == Instance::Inlined,
        })
    }

    fn global(&self, id: VarId) -> Option<GlobalVariable> {
        let var = self.module.var(id);
        match &var.location {
            Location::Everywhere(ops) => match ops.first() {
                Some(Op::Address(address)) => Some(GlobalVariable { name: var.name.to_string(), address: *address, ty: self.ty(var.ty) }),
                _ => None,
            },
            _ => None,
        }
    }

    fn ty(&self, id: TypeId) -> VariableType {
        let of = self.module.ty(id);
        let (class, size) = self.class(id);
        let element = match &of.kind {
            // A reference is a pointer that a debugger follows by itself.
            TypeKind::Reference(to) => Some(self.class(*to)),
            TypeKind::Pointer => Some(of.target.map_or((TypeClass::Other, 0), |to| self.class(to))),
            TypeKind::Array { .. } => Some(self.class(self.scalar_of(id))),
            _ => None,
        };
        VariableType { class, size, element }
    }

    /// What stands in the innermost dimension of an array.
    fn scalar_of(&self, id: TypeId) -> TypeId {
        let inner = |&id: &TypeId| match self.module.ty(id).kind {
            TypeKind::Array { element, .. } => Some(element),
            _ => None,
        };
        // Bounded: damaged references may form a circle.
        std::iter::successors(Some(id), inner).take(16).last().unwrap_or(id)
    }

    fn class(&self, id: TypeId) -> (TypeClass, u64) {
        let of = self.module.ty(id);
        let class = match of.kind {
            TypeKind::Signed => TypeClass::Signed,
            TypeKind::Unsigned => TypeClass::Unsigned,
            TypeKind::Float => TypeClass::Float,
            TypeKind::Pointer | TypeKind::Reference(_) => TypeClass::Pointer,
            _ => TypeClass::Other,
        };
        (class, of.size)
    }
}

/// Whose variables are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Instance {
    /// The function's own.
    Own,
    /// Those of a call that was inlined into it.
    Inlined,
}

/// A hash of a file's name without its directories: two builds may be made in different ones.
fn hash(base: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    base.hash(&mut hasher);
    hasher.finish() | 1
}

fn frame_base(of: &Location) -> FrameBase {
    match of {
        Location::Everywhere(ops) => match **ops {
            [Op::Cfa] => FrameBase::Cfa,
            [Op::Register(6)] => FrameBase::FramePointer,
            _ => FrameBase::Other,
        },
        _ => FrameBase::Other,
    }
}

/// The lowest eight bytes of a constant, filled up with zeros.
fn low_word(bytes: &[u8]) -> i64 {
    let mut word = [0; 8];
    let given = bytes.len().min(8);
    word[..given].copy_from_slice(&bytes[..given]);
    i64::from_le_bytes(word)
}

/// What an expression depends on. A value that nothing pushes is none.
fn depends(ops: &[Op]) -> Depends {
    let mut value = false;
    for op in ops {
        match op {
            Op::Const(_) | Op::StackValue | Op::Implicit(_) => value = true,
            Op::TypedConst(..) | Op::Convert(_) | Op::Reinterpret(_) | Op::Nop | Op::Address(_) | Op::PlusConst(_) => {}
            Op::Binary(Binary::Plus | Binary::Minus | Binary::Mul | Binary::Div | Binary::And | Binary::Or | Binary::Xor | Binary::Shl) => {
            }
            Op::Unary(Unary::Neg | Unary::Not) => {}
            _ => return Depends::State,
        }
    }
    if value { Depends::Nothing } else { Depends::State }
}
