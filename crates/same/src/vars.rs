//! Variables that both files have in scope: what they are, and where they are at each address.

use crate::types::Types;
use crate::{Aspect, Side, ViewComparison, spelling};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use trueline_dwarf::{Location, Module, Var, VarId};
use trueline_model::VarKind;

/// Pairs of variables with the addresses where they stand for one another, and those that stand alone.
#[derive(Default)]
pub(crate) struct Pairs {
    both: BTreeMap<(VarId, VarId), Vec<(u64, u64)>>,
    only_a: BTreeMap<VarId, Vec<(u64, u64)>>,
    only_b: BTreeMap<VarId, Vec<(u64, u64)>>,
}

impl Pairs {
    /// Notes the variables in scope, innermost first, at some addresses. Of several with one name the inner one hides the
    /// outer ones, so that they are told apart by their order.
    pub fn note(&mut self, (a, of_a): (&Module, &[VarId]), (b, of_b): (&Module, &[VarId]), ranges: &[(u64, u64)]) {
        let mut waiting: HashMap<(Arc<str>, usize), VarId> = number(b, of_b).collect();
        for (key, var) in number(a, of_a) {
            match waiting.remove(&key) {
                Some(other) => self.both.entry((var, other)).or_default().extend(ranges),
                None => self.only_a.entry(var).or_default().extend(ranges),
            }
        }
        for var in waiting.into_values() {
            self.only_b.entry(var).or_default().extend(ranges);
        }
    }

    /// Notes what the variables of a function do not share.
    pub fn compare(self, a: &Module, b: &Module, function: &str, types: &mut Types<'_>, found: &mut ViewComparison) {
        let missing = || Side::says("not in scope");
        for (var, ranges) in self.only_a {
            let var = a.var(var);
            found.add(Aspect::Variables, subject(var, function), ranges, Side::of_var(a, var, describe(a, var)), missing());
        }
        for (var, ranges) in self.only_b {
            let var = b.var(var);
            found.add(Aspect::Variables, subject(var, function), ranges, missing(), Side::of_var(b, var, describe(b, var)));
        }
        found.looked.variables += self.both.len();
        for ((x, y), ranges) in self.both {
            let (x, y) = (a.var(x), b.var(y));
            declarations(a, b, (x, y), &subject(x, function), &ranges, types, found);
            locations(a, b, (x, y), &subject(x, function), &ranges, found);
        }
    }
}

fn number<'m>(module: &'m Module, vars: &'m [VarId]) -> impl Iterator<Item = ((Arc<str>, usize), VarId)> + 'm {
    let mut seen: HashMap<Arc<str>, usize> = HashMap::new();
    vars.iter().map(move |&id| {
        let name = Arc::clone(&module.var(id).name);
        let count = seen.entry(Arc::clone(&name)).or_default();
        *count += 1;
        ((name, *count), id)
    })
}

fn subject(var: &Var, function: &str) -> String {
    format!("`{}` in {function}", var.name)
}

/// A variable's declaration.
pub(crate) fn describe(module: &Module, var: &Var) -> String {
    let file = var.decl_file.map_or("?", |f| module.file(f).as_str());
    let artificial = if var.is_artificial { ", artificial" } else { "" };
    let kind = match var.kind {
        VarKind::Param => "parameter",
        VarKind::Local => "local",
        VarKind::Global => "static",
    };
    format!("{kind} of type {}, declared at {file}:{}{artificial}", module.ty(var.ty).name, var.decl_line)
}

pub(crate) fn declarations(
    a: &Module,
    b: &Module,
    (x, y): (&Var, &Var),
    subject: &str,
    ranges: &[(u64, u64)],
    types: &mut Types<'_>,
    found: &mut ViewComparison,
) {
    let (mut of_a, mut of_b) = (describe(a, x), describe(b, y));
    if x.presence != y.presence {
        of_a += &format!(", {:?} in its block", x.presence);
        of_b += &format!(", {:?} in its block", y.presence);
    }
    if of_a == of_b {
        match types.difference(x.ty, y.ty) {
            None => return,
            Some(reason) => of_a += &format!(" ({reason})"),
        }
    }
    found.add(Aspect::Declarations, subject, ranges.to_vec(), Side::of_var(a, x, of_a), Side::of_var(b, y, of_b));
}

/// Compares where two variables are, at each of the addresses.
fn locations(a: &Module, b: &Module, (x, y): (&Var, &Var), subject: &str, ranges: &[(u64, u64)], found: &mut ViewComparison) {
    let (of_a, of_b) = (VarPlaces::of(a, x), VarPlaces::of(b, y));
    found.looked.locations += of_a.count();
    if let (VarPlaces::Fixed(p), VarPlaces::Fixed(q)) = (&of_a, &of_b)
        && p == q
    {
        return;
    }
    let mut borders: Vec<u64> = [&of_a, &of_b].iter().flat_map(|p| p.borders()).collect();
    borders.extend(ranges.iter().flat_map(|r| [r.0, r.1]));
    borders.sort_unstable();
    borders.dedup();
    // What each says, with the addresses where it says so and the other says something else.
    let mut differing: BTreeMap<(&str, &str), Vec<(u64, u64)>> = BTreeMap::new();
    for &(low, high) in ranges {
        let first = borders.partition_point(|&b| b < low);
        for pair in borders[first..].windows(2).take_while(|p| p[0] < high) {
            let (p, q) = (of_a.at(pair[0]), of_b.at(pair[0]));
            if p != q {
                differing.entry((p, q)).or_default().push((pair[0], pair[1]));
            }
        }
    }
    for ((p, q), ranges) in differing {
        found.add(Aspect::Locations, subject, ranges, Side::of_var(a, x, p), Side::of_var(b, y, q));
    }
}

/// Where a variable is, as text.
enum VarPlaces {
    Fixed(String),
    List(Vec<(u64, u64, String)>),
}

impl VarPlaces {
    fn of(module: &Module, var: &Var) -> Self {
        match (&var.location, spelling::fixed(module, var)) {
            (_, Some(text)) => Self::Fixed(text),
            (Location::List(list), None) => {
                Self::List(list.iter().map(|e| (e.low, e.high, spelling::expression(module, e.ops.as_ref()))).collect())
            }
            (_, None) => Self::Fixed(spelling::NOWHERE.into()),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Fixed(_) => 1,
            Self::List(list) => list.len(),
        }
    }

    fn borders(&self) -> impl Iterator<Item = u64> + '_ {
        let list: &[(u64, u64, String)] = match self {
            Self::Fixed(_) => &[],
            Self::List(list) => list,
        };
        list.iter().flat_map(|e| [e.0, e.1])
    }

    fn at(&self, address: u64) -> &str {
        match self {
            Self::Fixed(text) => text,
            Self::List(list) => list.iter().find(|e| e.0 <= address && address < e.1).map_or(spelling::NOWHERE, |e| &e.2),
        }
    }
}
