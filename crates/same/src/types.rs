//! Whether two types are the same: by name, size and structure, behind pointers too. Types that lead back to themselves are
//! taken for the same until something about them differs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use trueline_dwarf::{Field, Module, TypeId, TypeKind};

/// What was compared so far.
pub(crate) struct Types<'m> {
    a: &'m Module,
    b: &'m Module,
    known: HashMap<(TypeId, TypeId), Option<String>>,
}

impl<'m> Types<'m> {
    pub fn new(a: &'m Module, b: &'m Module) -> Self {
        Self { a, b, known: HashMap::new() }
    }

    /// What differs between a type of the first file and one of the second.
    pub fn difference(&mut self, a: TypeId, b: TypeId) -> Option<String> {
        if let Some(known) = self.known.get(&(a, b)) {
            return known.clone();
        }
        let mut taken = vec![(a, b)];
        self.known.insert((a, b), None);
        let mut next = 0;
        while let Some(&(x, y)) = taken.get(next) {
            next += 1;
            let mut inside = Vec::new();
            let own = self.shallow(x, y, &mut inside).map(|reason| (x, y, reason));
            let reason = own.or_else(|| inside.iter().find_map(|&(x, y)| Some((x, y, self.known.get(&(x, y))?.clone()?))));
            if let Some((x, y, reason)) = reason {
                let reason = if (x, y) == (a, b) { reason } else { format!("inside it, {}: {reason}", self.a.ty(x).name) };
                // Of the others it is not known whether they are the same.
                taken.iter().for_each(|pair| drop(self.known.remove(pair)));
                self.known.insert((a, b), Some(reason.clone()));
                return Some(reason);
            }
            for pair in inside {
                if let Entry::Vacant(new) = self.known.entry(pair) {
                    new.insert(None);
                    taken.push(pair);
                }
            }
        }
        None
    }

    fn shallow(&self, x: TypeId, y: TypeId, left: &mut Vec<(TypeId, TypeId)>) -> Option<String> {
        let (p, q) = (self.a.ty(x), self.b.ty(y));
        if p.name != q.name {
            return Some(format!("`{}` against `{}`", p.name, q.name));
        }
        if p.size != q.size {
            return Some(format!("{} bytes against {}", p.size, q.size));
        }
        let mut field = |f: &Field, g: &Field| {
            left.push((f.ty, g.ty));
            let differs = (&f.name, f.bit_offset, f.bit_size) != (&g.name, g.bit_offset, g.bit_size);
            differs.then(|| format!("member `{}` at bit {} against `{}` at bit {}", f.name, f.bit_offset, g.name, g.bit_offset))
        };
        match (&p.kind, &q.kind) {
            (TypeKind::Aggregate(f), TypeKind::Aggregate(g)) => {
                if f.len() != g.len() {
                    return Some(format!("{} members against {}", f.len(), g.len()));
                }
                f.iter().zip(g).find_map(|(f, g)| field(f, g))
            }
            (TypeKind::Enum { discriminant: c, variants: f }, TypeKind::Enum { discriminant: d, variants: g }) => {
                if f.len() != g.len() || c.is_some() != d.is_some() {
                    return Some(format!("{} variants against {}", f.len(), g.len()));
                }
                let tag = c.as_ref().zip(d.as_ref()).and_then(|(c, d)| field(c, d));
                tag.or_else(|| {
                    f.iter().zip(g).find_map(|(f, g)| {
                        let differs = (&f.name, f.discriminant) != (&g.name, g.discriminant);
                        differs.then(|| format!("variant `{}` against `{}`", f.name, g.name)).or_else(|| field(&f.field, &g.field))
                    })
                })
            }
            (TypeKind::Array { element: e, count: n }, TypeKind::Array { element: f, count: m }) => {
                left.push((*e, *f));
                (n != m).then(|| format!("{n} elements against {m}"))
            }
            (k, l) if std::mem::discriminant(k) != std::mem::discriminant(l) => Some("another kind of type".into()),
            _ => match (p.target, q.target) {
                (Some(t), Some(u)) => {
                    left.push((t, u));
                    None
                }
                (None, None) => None,
                _ => Some("only one says what it points to".into()),
            },
        }
    }
}
