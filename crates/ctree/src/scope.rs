//! Which names, and which integers behind them, a statement at a given place could use.

use crate::types::{DeclaredBy, RecordShape};
use crate::{CTypeId, CTypeKind, Decl, DeclId, DeclKind, DeclLinkage, IntKind, IntType, SourceUnit, StorageClass};
use std::collections::{HashMap, HashSet};

/// Whether an lvalue may be assigned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It may be read and written.
    ReadWrite,
    /// It may not: it is const, or a union's member, whose neighbours an assignment would disturb.
    ReadOnly,
}

/// Whose variable it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableReach {
    /// Declared in the function.
    Local,
    /// A parameter of it.
    Parameter,
    /// Declared at file level.
    Global,
}

/// An integer that can be named at a place: a variable, an array element, a member, a bit-field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lvalue {
    /// How to write it: `g_5[1][0].f3`.
    pub path: String,
    /// Its type (of a bit-field, the declared one).
    pub ty: IntType,
    /// Width of a bit-field.
    pub width: Option<u32>,
    /// Whether it may be assigned to.
    pub access: Access,
    /// Whether it is volatile.
    pub volatile: bool,
    /// Whose object it is: the function's or everybody's.
    pub reach: VariableReach,
    /// The variable it is part of.
    pub decl: DeclId,
}

impl SourceUnit {
    /// The declarations whose names mean them at an offset, innermost first; shadowed ones are left out.
    /// Names from headers are left out too.
    pub fn names_in_scope(&self, offset: usize) -> Vec<DeclId> {
        let visible = |d: &Decl| d.linkage != DeclLinkage::Header && d.visible.start <= offset && offset < d.visible.end;
        let ordinary = |d: &Decl| !matches!(d.kind, DeclKind::Record | DeclKind::Enum | DeclKind::Field) && !d.name.is_empty();
        let mut found: Vec<(DeclId, &Decl)> = self.decls().filter(|(_, d)| ordinary(d) && visible(d)).collect();
        // An inner scope ends earlier, or starts later when both end together.
        found.sort_by_key(|(_, d)| (d.visible.end, std::cmp::Reverse(d.visible.start)));
        let mut seen = HashSet::new();
        found.into_iter().filter(|(_, d)| seen.insert(d.name.as_str())).map(|(id, _)| id).collect()
    }

    /// The integers that can be named at an offset, innermost variables first; of one variable at most
    /// `per_variable` elements and members, spread evenly.
    pub fn integers_in_scope(&self, offset: usize, per_variable: usize) -> Vec<Lvalue> {
        let mut all = Vec::new();
        for id in self.names_in_scope(offset) {
            let decl = self.decl(id);
            let reach = match (decl.kind, decl.linkage) {
                (DeclKind::Parameter, _) => VariableReach::Parameter,
                (DeclKind::Variable, DeclLinkage::Local) => VariableReach::Local,
                (DeclKind::Variable, DeclLinkage::File) => VariableReach::Global,
                _ => continue,
            };
            if !self.is_defined_here(id) || decl.attributes {
                continue;
            }
            let mut parts = Vec::new();
            let root = CommaPart { path: decl.name.clone(), ty: decl.ty, access: Access::ReadWrite, volatile: false, width: None };
            self.integers_of(root, &mut parts, 512);
            let step = parts.len().div_ceil(per_variable.max(1)).max(1);
            let finish =
                |p: CommaPart, ty| Lvalue { path: p.path, ty, width: p.width, access: p.access, volatile: p.volatile, reach, decl: id };
            all.extend(parts.into_iter().step_by(step).map(|(part, ty)| finish(part, ty)));
        }
        all
    }

    /// False for a variable that another file defines: nothing is known about it.
    fn is_defined_here(&self, id: DeclId) -> bool {
        let decl = self.decl(id);
        decl.storage != StorageClass::Extern
            || decl.init.is_some()
            || self.decls().any(|(_, d)| d.entity == decl.entity && (d.storage != StorageClass::Extern || d.init.is_some()))
    }

    fn integers_of(&self, part: CommaPart, out: &mut Vec<(CommaPart, IntType)>, limit: usize) {
        if out.len() >= limit {
            return;
        }
        let ty = self.ty(part.ty);
        let access = if ty.quals.constant { Access::ReadOnly } else { part.access };
        let volatile = part.volatile || ty.quals.volatile;
        let part = CommaPart { access, volatile, ..part };
        match &ty.kind {
            CTypeKind::Int(int) => out.push((part, *int)),
            // Writing arbitrary numbers into an enumeration is legal but no program's intent.
            CTypeKind::Enum(int) => out.push((CommaPart { access: Access::ReadOnly, ..part }, *int)),
            CTypeKind::Array(element, Some(length)) => {
                for i in 0..(*length).min(limit as u64) {
                    self.integers_of(CommaPart { path: format!("{}[{i}]", part.path), ty: *element, ..part.clone() }, out, limit);
                }
            }
            CTypeKind::Record(record) => {
                let record = self.record(*record);
                if record.declared == DeclaredBy::Elsewhere {
                    return;
                }
                let union = record.shape == RecordShape::Union;
                if union && self.holds_what_integers_should_not_read(part.ty) {
                    return;
                }
                let access = if union { Access::ReadOnly } else { part.access };
                for field in &record.fields {
                    if field.name.is_empty() && field.width.is_some() {
                        continue;
                    }
                    let path = if field.name.is_empty() { part.path.clone() } else { format!("{}.{}", part.path, field.name) };
                    self.integers_of(CommaPart { path, ty: field.ty, width: field.width, access, volatile }, out, limit);
                }
            }
            _ => {}
        }
    }

    /// Pointers (their bytes differ from run to run), floating numbers and `_Bool` (not every byte is one)
    /// make reading a union's other members unwise.
    fn holds_what_integers_should_not_read(&self, ty: CTypeId) -> bool {
        match &self.ty(ty).kind {
            CTypeKind::Int(int) => int.kind == IntKind::Bool,
            CTypeKind::Enum(_) => false,
            CTypeKind::Array(element, _) => self.holds_what_integers_should_not_read(*element),
            CTypeKind::Record(record) => self.record(*record).fields.iter().any(|f| self.holds_what_integers_should_not_read(f.ty)),
            _ => true,
        }
    }

    /// The declarations of one name in a map, for callers that look up many.
    pub fn declarations_by_name(&self) -> HashMap<&str, Vec<DeclId>> {
        let mut map: HashMap<&str, Vec<DeclId>> = HashMap::new();
        for (id, decl) in self.decls() {
            map.entry(decl.name.as_str()).or_default().push(id);
        }
        map
    }
}

#[derive(Clone)]
struct CommaPart {
    path: String,
    ty: CTypeId,
    access: Access,
    volatile: bool,
    width: Option<u32>,
}
