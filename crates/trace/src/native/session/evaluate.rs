//! Evaluation of expressions where the program stands. Nothing is read before it is needed: the size of an object, its address
//! and its members are known without its value, and so is what is wrong with a part that the rest does not share.

use super::super::eval::{Fault, Machine, Place, Placement};
use super::super::frame::Frame;
use super::super::module::{Field, Location, Module, TypeId, TypeKind, VarId};
use super::super::value::{Content, Printed, extract, from_extended, print_part};
use super::super::watch::visible;
use super::expression::{Binary, Node, Unary};
use super::number::{self, Mismatch, Number};
use super::typed::{Held, Kind, Part};
use std::rc::Rc;
use std::sync::Arc;
use trueline_dwarf::{Bound, BoundValue, Enumerator, EnumeratorHome};
use trueline_model::{Policy, VarKind};

/// Callers that are looked through for the function around a nested one.
const MOST_FRAMES: u32 = 256;

/// Largest value that is fetched, as gdb's `max-value-size` is set by default.
const LARGEST: u64 = 65536;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stray {
    /// The debug information or the memory does not give it.
    Fault(Fault),
    /// No such name.
    NoSymbol,
    /// The question makes no sense here.
    Refused(String),
}

impl From<Fault> for Stray {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Mismatch> for Stray {
    fn from(mismatch: Mismatch) -> Self {
        Self::Refused(mismatch.0.to_owned())
    }
}

fn refused(reason: &str) -> Stray {
    Stray::Refused(reason.to_owned())
}

/// A floating-point number of so many bytes.
fn real(raw: u128, size: u64) -> f64 {
    match size {
        4 => f64::from(f32::from_bits(raw as u32)),
        8 => f64::from_bits(raw as u64),
        _ => from_extended(raw),
    }
}

/// The complex number that begins at a bit; `size` is that of a component.
fn complex(content: &Content, bit: u64, size: u64) -> Result<Number, Stray> {
    let component = |at: u64| {
        let bits = (size * 8).min(128);
        if content.missing.as_ref().is_some_and(|m| extract(m, at, bits) != 0) {
            return Err(Stray::Fault(Fault::OptimizedOut));
        }
        Ok(real(extract(&content.bytes, at, bits), size))
    };
    Ok(Number::Complex(component(bit)?, component(bit + size * 8)?, size as u8))
}

/// What a name in a block stands for.
#[derive(Clone, Debug)]
pub(super) enum Named {
    Variable(VarId),
    /// A variable of that name at file scope.
    Elsewhere(Arc<str>),
    /// A constant of an enumeration, by its place in the module's list.
    Enumerator(usize),
}

/// What can be named at an address without leaving the function, innermost first; `hidden` inlined calls are not entered yet.
pub(super) fn scope(module: &Module, pc: u64, hidden: usize, policy: Policy) -> Vec<Named> {
    let mut found = Vec::new();
    let mut left = hidden;
    let visible = visible(module, pc, hidden, policy, |_| true);
    for id in module.chain_at(pc) {
        let block = module.block(id);
        if left == 0 {
            found.extend(block.vars.iter().filter(|v| visible.contains(v)).copied().map(Named::Variable));
            found.extend(block.declared.iter().cloned().map(Named::Elsewhere));
            let own = |e: &Enumerator| e.home == EnumeratorHome::Block(id);
            found.extend((0..module.enumerators.len()).filter(|&n| own(&module.enumerators[n])).map(Named::Enumerator));
        }
        match (block.is_inlined(), left) {
            (true, 0) => break,
            (true, _) => left -= 1,
            (false, _) => {}
        }
    }
    found.extend(visible.into_iter().map(Named::Variable));
    found
}

/// Where an expression is evaluated.
pub(super) struct Evaluator<'e> {
    pub machine: &'e Machine<'e>,
    pub frame: &'e Frame,
    /// What can be named without leaving the function, innermost first.
    pub scope: &'e [Named],
}

impl Evaluator<'_> {
    /// The canonical text of an expression's value.
    pub fn text(&self, node: &Node) -> Result<String, Stray> {
        // What is shown of a reference is what it stands for.
        let part = self.dereferenced(&self.part(node)?)?;
        self.print(&part)
    }

    /// The name of an expression's type, where the program names it.
    pub fn type_name(&self, node: &Node) -> Result<String, Stray> {
        match self.referent(self.kind(node)?) {
            Kind::Known(ty) => Ok(self.machine.module.ty(ty).name.to_string()),
            _ => Err(refused("its type has no name here")),
        }
    }

    fn print(&self, part: &Part) -> Result<String, Stray> {
        let module = self.machine.module;
        let Kind::Known(ty) = part.kind else {
            if let Kind::Array(element, count) = &part.kind {
                let items = (0..*count).take(256).map(|i| self.print(&self.element(part, element, i128::from(i))?));
                return Ok(format!("{{{}}}", items.collect::<Result<Vec<_>, _>>()?.join(", ")));
            }
            return Ok(self.number(part)?.text());
        };
        if let Some(array) = self.with_length(ty, part)? {
            return self.print(&array);
        }
        if matches!(module.ty(ty).kind, TypeKind::Complex) {
            return Ok(self.number(part)?.text());
        }
        if matches!(module.ty(ty).kind, TypeKind::Opaque) {
            return Err(refused("its type has no values"));
        }
        if let Held::Number(number) = &part.held {
            return Ok(number.text());
        }
        let (content, bit) = self.load(part)?;
        let mut text = String::new();
        match print_part(module, None, ty, &content, (bit, part.bit_size), &mut text) {
            Printed::Text => Ok(text),
            Printed::AllMissing => Err(Fault::OptimizedOut.into()),
        }
    }

    fn part(&self, node: &Node) -> Result<Part, Stray> {
        let rvalue = |number: Number| Ok(Part::whole(self.kind_of_number(&number), Held::Number(number)));
        match node {
            Node::Integer(value, size, is_signed) => rvalue(Number::integer(*value, *size, *is_signed)),
            Node::Real(value, size) => rvalue(Number::Real(*value, *size)),
            Node::Imaginary(value, size) => rvalue(Number::Complex(0.0, *value, *size)),
            Node::Text(bytes) => {
                let content = Content { bytes: bytes.clone(), ..Content::default() };
                let kind = Kind::Array(Rc::new(Kind::Integer { size: 1, is_signed: true }), bytes.len() as u64);
                Ok(Part::whole(kind, Held::Bytes(Rc::new(content))))
            }
            Node::Name(name) => self.named(name),
            Node::Member(of, name) => self.member(&self.part(of)?, name),
            Node::Index(of, index) => {
                let index = self.number(&self.part(index)?)?.index().ok_or_else(|| refused("an index is a whole number"))?;
                self.index(&self.part(of)?, index)
            }
            Node::Unary(Unary::Target, of) => self.target(&self.part(of)?, 0),
            Node::Unary(Unary::Address, of) => self.address(&self.part(of)?),
            Node::Unary(operator, of) => rvalue(number::unary(*operator, self.number(&self.part(of)?)?)?),
            Node::Binary(operator @ (Binary::Both | Binary::Either), a, b) => {
                // The second is not looked at where the first decides.
                let first = self.number(&self.part(a)?)?;
                let decides = first.is_true() == (*operator == Binary::Either);
                let is_true = if decides { first.is_true() } else { self.number(&self.part(b)?)?.is_true() };
                rvalue(Number::integer(i128::from(is_true), 4, true))
            }
            Node::Binary(operator, a, b) => {
                let (a, b) = (self.number(&self.part(a)?)?, self.number(&self.part(b)?)?);
                rvalue(number::binary(*operator, a, b, &|kind| kind.size(self.machine.module))?)
            }
            Node::Choice(condition, yes, no) => {
                let is_true = self.number(&self.part(condition)?)?.is_true();
                self.part(if is_true { yes } else { no })
            }
            Node::Cast(name, of) => {
                let kind = Kind::named(self.machine.module, name).ok_or(Stray::NoSymbol)?;
                self.cast(kind, &self.part(of)?)
            }
            Node::SizeOf(of) => {
                let size = self.kind(of)?;
                rvalue(Number::integer(i128::from(self.size(&size)?), 8, false))
            }
            Node::SizeOfType(name) => {
                let kind = Kind::named(self.machine.module, name).ok_or(Stray::NoSymbol)?;
                rvalue(Number::integer(i128::from(self.size(&kind)?), 8, false))
            }
        }
    }

    /// The type of an expression, whether or not it has a value here.
    fn kind(&self, node: &Node) -> Result<Kind, Stray> {
        let module = self.machine.module;
        match node {
            Node::Unary(Unary::Target, of) | Node::Index(of, _) => {
                let kind = self.referent(self.kind(of)?);
                let found = kind.target(module).or_else(|| kind.element(module).map(|e| e.0));
                found.map(|k| (*k).clone()).ok_or_else(|| refused("it leads nowhere"))
            }
            Node::Member(of, name) => {
                let kind = self.referent(self.kind(of)?);
                let kind = kind.target(module).map_or(kind, |k| (*k).clone());
                let (field, _) = self.field(&kind, name)?;
                Ok(Kind::Known(field.ty))
            }
            Node::Unary(Unary::Address, of) => Ok(Kind::Pointer(Rc::new(self.kind(of)?))),
            Node::Cast(name, _) => Kind::named(module, name).ok_or(Stray::NoSymbol),
            other => Ok(self.part(other)?.kind),
        }
    }

    fn size(&self, kind: &Kind) -> Result<u64, Stray> {
        let module = self.machine.module;
        match kind {
            Kind::Known(ty) => match self.length(*ty)? {
                Some((element, count)) => Ok(self.size(&Kind::Known(element))?.saturating_mul(count)),
                None if matches!(module.ty(*ty).kind, TypeKind::Pointer) && module.ty(*ty).name.ends_with("()") => Ok(1),
                None => match module.ty(*ty).kind {
                    // gdb has no size for an array whose own length the debug information leaves out beside a computed one.
                    TypeKind::Array { element, count: 0 } if self.is_computed(element) => Err(Fault::OptimizedOut.into()),
                    TypeKind::Array { element, count } if self.is_computed(element) => {
                        Ok(self.size(&Kind::Known(element))?.saturating_mul(count))
                    }
                    _ => Ok(module.ty(*ty).size),
                },
            },
            // The elements may be arrays of computed length too.
            Kind::Array(element, count) => Ok(self.size(element)?.saturating_mul(*count)),
            other => Ok(other.size(module)),
        }
    }

    /// Whether a type is an array with a length that is computed, in whichever dimension.
    fn is_computed(&self, ty: TypeId) -> bool {
        let module = self.machine.module;
        match module.ty(ty).kind {
            TypeKind::Array { element, .. } => module.bound(ty).is_some() || self.is_computed(element),
            _ => false,
        }
    }

    fn named(&self, name: &str) -> Result<Part, Stray> {
        let module = self.machine.module;
        let is_local = self.scope.iter().find(|n| match n {
            Named::Variable(var) => module.var(*var).kind != VarKind::Global && *module.var(*var).name == *name,
            Named::Elsewhere(declared) => **declared == *name,
            Named::Enumerator(at) => *module.enumerators[*at].name == *name,
        });
        if is_local.is_none()
            && let Some(outer) = self.outer(name)
        {
            return outer;
        }
        if is_local.is_none()
            && let Some(member) = self.own_member(name)
        {
            return member;
        }
        let at_file_scope = || module.units.iter().flat_map(|u| &u.globals).copied().find(|&v| *module.var(v).name == *name);
        // In the order of the blocks: statics of a function are variables of its blocks too.
        let first = self.scope.iter().find(|n| match n {
            Named::Variable(var) => *module.var(*var).name == *name,
            Named::Elsewhere(declared) => **declared == *name,
            Named::Enumerator(at) => *module.enumerators[*at].name == *name,
        });
        let unit = EnumeratorHome::Unit(module.function(self.frame.function).unit);
        let enumerator = |is_home: &dyn Fn(EnumeratorHome) -> bool| {
            let found = module.enumerators.iter().find(|e| *e.name == *name && is_home(e.home));
            found.map(|e| Part::whole(Kind::Known(e.ty), Held::Number(self.constant(e))))
        };
        let var = match first {
            Some(Named::Variable(var)) => Some(*var),
            Some(Named::Enumerator(at)) => {
                let named = &module.enumerators[*at];
                return Ok(Part::whole(Kind::Known(named.ty), Held::Number(self.constant(named))));
            }
            Some(Named::Elsewhere(_)) => at_file_scope(),
            None => match enumerator(&|home| home == unit) {
                Some(own) => return Ok(own),
                None => at_file_scope(),
            },
        };
        if let Some(var) = var {
            let ty = module.var(var).ty;
            return self.array_here(Part::whole(Kind::Known(ty), self.place(&module.var(var).location, ty)?));
        }
        if let Some(function) = module.function_named(name) {
            let address = module.function(function).entry().wrapping_add(self.machine.bias);
            return Ok(Part::whole(Kind::Function, Held::Memory(address)));
        }
        // What another unit has at file scope can be named too.
        enumerator(&|home| matches!(home, EnumeratorHome::Unit(_))).ok_or(Stray::NoSymbol)
    }

    /// The value of an enumerator.
    fn constant(&self, of: &Enumerator) -> Number {
        let ty = self.machine.module.ty(of.ty);
        Number::integer(of.value, ty.size.clamp(1, 16) as u8, matches!(ty.kind, TypeKind::Signed))
    }

    /// A member of the object that a method works on; none where there is no such member.
    fn own_member(&self, name: &str) -> Option<Result<Part, Stray>> {
        const OBJECT: &str = "this";
        let is_method = |n: &Named| matches!(n, Named::Variable(var) if *self.machine.module.var(*var).name == *OBJECT);
        if name == OBJECT || !self.scope.iter().any(is_method) {
            return None;
        }
        let object = self.named(OBJECT).ok()?;
        let class = object.kind.target(self.machine.module)?;
        self.field(&class, name).ok()?;
        Some(self.member(&object, name))
    }

    /// A variable of the function around a nested one, in the activation that it belongs to.
    fn outer(&self, name: &str) -> Option<Result<Part, Stray>> {
        let module = self.machine.module;
        let mut frame = self.frame;
        let mut within = module.function(frame.function).within?;
        for _ in 0..MOST_FRAMES {
            frame = self.machine.caller(frame)?;
            if frame.function != within {
                continue;
            }
            let vars = visible(module, frame.lookup, 0, Policy::Gdb, |_| true);
            let is_it = |v: &&VarId| *module.var(**v).name == *name && module.var(**v).kind != VarKind::Global;
            if let Some(&var) = vars.iter().find(is_it) {
                let outer = Evaluator { machine: self.machine, frame, scope: &[] };
                let ty = module.var(var).ty;
                return Some(outer.place(&module.var(var).location, ty).map(|held| Part::whole(Kind::Known(ty), held)));
            }
            within = module.function(within).within?;
        }
        None
    }

    /// Where an object is. That it is nowhere is found out later, by those who want its value.
    fn place(&self, location: &Location, ty: TypeId) -> Result<Held, Stray> {
        let fetched = match self.placement(location) {
            Ok(Placement::Whole(Place::Memory(address))) => return Ok(Held::Memory(address)),
            Ok(placement) => {
                let mut content = Content::default();
                self.machine.fetch(self.frame, &placement, ty, &mut content).map(|()| content)
            }
            Err(Ok(constant)) => Ok(constant),
            Err(Err(fault)) => Err(fault),
        };
        match fetched {
            Ok(content) => Ok(Held::Bytes(Rc::new(content))),
            Err(fault @ (Fault::OptimizedOut | Fault::NoEntryValue)) => Ok(Held::Lost(fault)),
            Err(fault) => Err(fault.into()),
        }
    }

    fn placement(&self, location: &Location) -> Result<Placement, Result<Content, Fault>> {
        if let Location::Constant(bytes, _) = location {
            return Err(Ok(Content { bytes: bytes.to_vec(), ..Content::default() }));
        }
        match self.machine.module.in_force(location, self.frame.lookup, self.frame.function) {
            None => Err(Err(Fault::OptimizedOut)),
            Some(Err(reason)) => Err(Err(Fault::IllFormed(reason.to_string()))),
            Some(Ok(ops)) if ops.is_empty() => Err(Err(Fault::OptimizedOut)),
            Some(Ok(ops)) => self.machine.locate(self.frame, ops).map_err(Err),
        }
    }

    /// The element type and the length of an array whose length is computed.
    fn length(&self, ty: TypeId) -> Result<Option<(TypeId, u64)>, Stray> {
        let module = self.machine.module;
        let (Some(bound), TypeKind::Array { element, .. }) = (module.bound(ty), &module.ty(ty).kind) else { return Ok(None) };
        let (value, more) = match bound {
            Bound::Last(value) => (value, 1),
            Bound::Count(value) => (value, 0),
        };
        let number = match value {
            BoundValue::Computed(ops) => self.machine.address(self.frame, ops, None, 0)?,
            BoundValue::Object(die) => {
                let location = module.location_of(*die).ok_or(Stray::Fault(Fault::OptimizedOut))?;
                match self.placement(location) {
                    Ok(Placement::Whole(Place::Memory(address))) => {
                        let mut bytes = [0u8; 8];
                        if !self.machine.memory.read(address, &mut bytes) {
                            return Err(Fault::Unreadable(format!("no memory at {address:#x}")).into());
                        }
                        u64::from_le_bytes(bytes)
                    }
                    Ok(Placement::Whole(Place::Value(value))) => value.bits as u64,
                    Ok(Placement::Whole(Place::Register(register))) => {
                        self.frame.registers.get(register).ok_or(Stray::Fault(Fault::OptimizedOut))?
                    }
                    Err(Ok(constant)) => extract(&constant.bytes, 0, 64) as u64,
                    Ok(_) | Err(Err(_)) => return Err(Fault::OptimizedOut.into()),
                }
            }
        };
        Ok(Some((*element, number.wrapping_add(more))))
    }

    fn with_length(&self, ty: TypeId, part: &Part) -> Result<Option<Part>, Stray> {
        let array = self.length(ty)?.map(|(element, count)| Kind::Array(Rc::new(Kind::Known(element)), count));
        Ok(array.map(|kind| Part { kind, ..part.clone() }))
    }

    fn array_here(&self, part: Part) -> Result<Part, Stray> {
        match part.kind {
            Kind::Known(ty) if self.machine.module.bound(ty).is_some() => Ok(match self.with_length(ty, &part) {
                Ok(Some(array)) => array,
                // A length that is lost is that of no elements.
                _ => part,
            }),
            _ => Ok(part),
        }
    }

    /// What a reference stands for.
    fn referent(&self, kind: Kind) -> Kind {
        match &kind {
            Kind::Known(ty) => match self.machine.module.ty(*ty).kind {
                TypeKind::Reference(to) => Kind::Known(to),
                _ => kind,
            },
            _ => kind,
        }
    }

    fn dereferenced(&self, part: &Part) -> Result<Part, Stray> {
        if let Kind::Known(ty) = part.kind
            && let TypeKind::Reference(to) = self.machine.module.ty(ty).kind
        {
            let (content, bit) = self.load(part)?;
            if let Some((die, offset)) = content.synthetic {
                return self.behind(die, offset, Kind::Known(to));
            }
            return Ok(Part::whole(Kind::Known(to), Held::Memory(extract(&content.bytes, bit, 64) as u64)));
        }
        Ok(part.clone())
    }

    /// What a pointer leads to, so many elements further on.
    fn target(&self, part: &Part, steps: i128) -> Result<Part, Stray> {
        let part = self.dereferenced(part)?;
        let module = self.machine.module;
        if let Some((element, _)) = part.kind.element(module) {
            return self.element(&part, &element, steps);
        }
        if matches!(part.kind, Kind::Function) {
            return Ok(part);
        }
        let Some(target) = part.kind.target(module) else {
            // gdb takes a number for the address of one of its own size.
            return match self.number(&part)? {
                Number::Integer { value, .. } if steps == 0 => {
                    Ok(Part::whole(Kind::Integer { size: 8, is_signed: true }, Held::Memory(value as u64)))
                }
                _ => Err(refused("only pointers lead anywhere")),
            };
        };
        let size = i128::from(target.size(module));
        if !matches!(part.held, Held::Number(_)) {
            let (content, _) = self.load(&part)?;
            if let Some((die, offset)) = content.synthetic {
                return self.behind(die, offset.saturating_add(steps.saturating_mul(size) as i64), (*target).clone());
            }
        }
        let Number::Address(address, _) = self.number(&part)? else { return Err(refused("only pointers lead anywhere")) };
        if matches!(*target, Kind::Void) {
            return Err(refused("what a pointer to void leads to has no type"));
        }
        Ok(Part::whole((*target).clone(), Held::Memory(address.wrapping_add((steps * size) as u64))))
    }

    /// What stands behind a pointer without an address.
    fn behind(&self, die: usize, offset: i64, kind: Kind) -> Result<Part, Stray> {
        let module = self.machine.module;
        let location = module.location_of(die).ok_or(Stray::Fault(Fault::OptimizedOut))?;
        let ty = module.var_dies.binary_search_by_key(&die, |v| v.0).ok().map(|at| module.var(module.var_dies[at].1).ty);
        let held = match (ty, &kind) {
            (Some(ty), _) => self.place(location, ty)?,
            (None, Kind::Known(ty)) => self.place(location, *ty)?,
            (None, _) => return Err(Fault::OptimizedOut.into()),
        };
        match held {
            Held::Memory(address) => Ok(Part::whole(kind, Held::Memory(address.wrapping_add_signed(offset)))),
            held => {
                let bit = u64::try_from(offset).ok().and_then(|o| o.checked_mul(8)).ok_or(Stray::Fault(Fault::OptimizedOut))?;
                Ok(Part { kind, held, bit, bit_size: None })
            }
        }
    }

    fn index(&self, part: &Part, index: i128) -> Result<Part, Stray> {
        self.target(part, index)
    }

    fn element(&self, part: &Part, element: &Rc<Kind>, index: i128) -> Result<Part, Stray> {
        let size = i128::from(self.size(element)?);
        let kind = (**element).clone();
        let bits = index * size * 8;
        match &part.held {
            Held::Memory(address) => {
                Ok(Part::whole(kind, Held::Memory(address.wrapping_add(part.bit / 8).wrapping_add((index * size) as u64))))
            }
            Held::Bytes(content) => {
                let bit = i128::from(part.bit) + bits;
                let is_inside = bit >= 0 && bit + size * 8 <= content.bytes.len() as i128 * 8;
                if !is_inside {
                    return Err(refused("there is no such element"));
                }
                Ok(Part { kind, held: part.held.clone(), bit: bit as u64, bit_size: None })
            }
            Held::Lost(_) => Ok(Part::whole(kind, part.held.clone())),
            Held::Number(_) => Err(refused("it has no elements")),
        }
    }

    fn member(&self, part: &Part, name: &str) -> Result<Part, Stray> {
        let part = self.dereferenced(part)?;
        // gdb does not mind which of `.` and `->` is written.
        let of = if part.kind.target(self.machine.module).is_some() { self.target(&part, 0)? } else { part };
        let (field, bit) = self.field(&of.kind, name)?;
        let member = Part { kind: Kind::Known(field.ty), held: of.held, bit: of.bit + bit, bit_size: field.bit_size };
        self.array_here(member)
    }

    fn field(&self, kind: &Kind, name: &str) -> Result<(Field, u64), Stray> {
        let Kind::Known(ty) = kind else { return Err(refused("it has no members")) };
        self.field_of(*ty, name, 0).ok_or_else(|| Stray::Refused(format!("there is no member named {name}")))
    }

    /// A member and its first bit; members of unnamed ones and of base classes count as the whole's.
    fn field_of(&self, ty: TypeId, name: &str, depth: u32) -> Option<(Field, u64)> {
        let (TypeKind::Aggregate(fields) | TypeKind::Library { fields, .. }) = &self.machine.module.ty(ty).kind else { return None };
        let own = fields.iter().find(|f| *f.name == *name).map(|f| (f.clone(), f.bit_offset));
        let inner = || {
            let mut unnamed = fields.iter().filter(|f| f.name.is_empty() && depth < 16);
            unnamed.find_map(|f| self.field_of(f.ty, name, depth + 1).map(|(g, bit)| (g, bit + f.bit_offset)))
        };
        own.or_else(inner)
    }

    fn address(&self, part: &Part) -> Result<Part, Stray> {
        let part = self.dereferenced(part)?;
        match part.held {
            Held::Memory(start) if part.bit_size.is_none() => {
                let address = start.wrapping_add(part.bit / 8);
                let number = Number::Address(address, Rc::new(part.kind));
                Ok(Part::whole(self.kind_of_number(&number), Held::Number(number)))
            }
            _ => Err(refused("it has no address")),
        }
    }

    fn cast(&self, kind: Kind, part: &Part) -> Result<Part, Stray> {
        let module = self.machine.module;
        let into = |number: Number| Ok(Part::whole(kind.clone(), Held::Number(number)));
        let scalar = match &kind {
            Kind::Known(ty) => match &module.ty(*ty).kind {
                TypeKind::Signed => Kind::Integer { size: module.ty(*ty).size as u8, is_signed: true },
                TypeKind::Unsigned => Kind::Integer { size: module.ty(*ty).size as u8, is_signed: false },
                TypeKind::Float => Kind::Real(module.ty(*ty).size as u8),
                TypeKind::Pointer => Kind::Pointer(kind.target(module).unwrap_or_else(|| Rc::new(Kind::Void))),
                _ => match part.kind {
                    Kind::Known(own) if module.ty(own).name == module.ty(*ty).name => return Ok(part.clone()),
                    _ => return Err(refused("there is no such cast")),
                },
            },
            other => other.clone(),
        };
        let number = self.number(part)?;
        if matches!(number, Number::Complex(..)) {
            return Err(refused("there is no such cast"));
        }
        match scalar {
            Kind::Integer { size, is_signed } => into(number.to_integer(size, is_signed)),
            Kind::Real(size) => {
                let value = number.to_real().ok_or_else(|| refused("a pointer is no floating-point number"))?;
                into(Number::Real(if size == 4 { f64::from(value as f32) } else { value }, size))
            }
            Kind::Pointer(target) => {
                let Number::Integer { value, .. } = number.to_integer(8, false) else { return Err(refused("there is no such cast")) };
                into(Number::Address(value as u64, target))
            }
            Kind::Known(_) | Kind::Complex(_) | Kind::Array(..) | Kind::Function | Kind::Void => Err(refused("there is no such cast")),
        }
    }

    fn kind_of_number(&self, number: &Number) -> Kind {
        match number {
            Number::Integer { size, is_signed, .. } => Kind::Integer { size: *size, is_signed: *is_signed },
            Number::Real(_, size) => Kind::Real(*size),
            Number::Complex(_, _, size) => Kind::Complex(*size),
            Number::Address(_, target) => Kind::Pointer(Rc::clone(target)),
        }
    }

    /// The scalar that a part is, or that an array or function turns into.
    fn number(&self, part: &Part) -> Result<Number, Stray> {
        let part = self.dereferenced(part)?;
        if let Held::Number(number) = &part.held {
            return Ok(number.clone());
        }
        let module = self.machine.module;
        if let Some((element, _)) = part.kind.element(module) {
            return match part.held {
                Held::Memory(address) => Ok(Number::Address(address.wrapping_add(part.bit / 8), element)),
                Held::Lost(fault) => Err(fault.into()),
                Held::Bytes(_) | Held::Number(_) => Err(refused("it is not in memory and has no address")),
            };
        }
        if let (Kind::Function, Held::Memory(address)) = (&part.kind, &part.held) {
            return Ok(Number::Address(*address, Rc::new(Kind::Function)));
        }
        let (is_signed, is_real) = match &part.kind {
            Kind::Integer { is_signed, .. } => (*is_signed, false),
            Kind::Real(_) | Kind::Complex(_) => (true, true),
            Kind::Pointer(_) => (false, false),
            Kind::Known(ty) => match &module.ty(*ty).kind {
                TypeKind::Signed => (true, false),
                TypeKind::Unsigned | TypeKind::Pointer => (false, false),
                TypeKind::Float | TypeKind::Complex => (true, true),
                _ => return Err(refused("it is no number")),
            },
            Kind::Array(..) | Kind::Function | Kind::Void => return Err(refused("it is no number")),
        };
        let (content, bit) = self.load(&part)?;
        if let Kind::Known(ty) = part.kind
            && matches!(module.ty(ty).kind, TypeKind::Complex)
        {
            return complex(&content, bit, module.ty(ty).size / 2);
        }
        let size = part.kind.size(module).min(16);
        let bits = part.bit_size.unwrap_or(size * 8).min(128);
        if content.missing.as_ref().is_some_and(|m| extract(m, bit, bits) != 0) {
            return Err(Fault::OptimizedOut.into());
        }
        if content.synthetic.is_some() {
            return Err(Fault::Unsupported("a pointer without an address".into()).into());
        }
        let raw = extract(&content.bytes, bit, bits);
        if is_real {
            return Ok(Number::Real(real(raw, size), if size < 16 { size as u8 } else { 16 }));
        }
        if let Some(target) = part.kind.target(module) {
            return Ok(Number::Address(raw as u64, target));
        }
        let value = if is_signed && bits > 0 { (raw << (128 - bits)) as i128 >> (128 - bits) } else { raw as i128 };
        Ok(Number::integer(value, size as u8, is_signed))
    }

    /// The bytes of a part, and the bit that it begins at.
    fn load(&self, part: &Part) -> Result<(Rc<Content>, u64), Stray> {
        match &part.held {
            Held::Bytes(content) => Ok((Rc::clone(content), part.bit)),
            Held::Lost(fault) => Err(fault.clone().into()),
            Held::Number(_) => Err(refused("it is no object")),
            Held::Memory(address) => {
                let size = match part.bit_size {
                    Some(bits) => (part.bit % 8 + bits).div_ceil(8),
                    None => part.kind.size(self.machine.module),
                };
                if size > LARGEST {
                    return Err(Stray::Refused(format!("a value of {size} bytes is more than is printed")));
                }
                let address = address.wrapping_add(part.bit / 8);
                let mut bytes = vec![0u8; size as usize];
                if !self.machine.memory.read(address, &mut bytes) {
                    return Err(Fault::Unreadable(format!("no memory at {address:#x}")).into());
                }
                Ok((Rc::new(Content { bytes, ..Content::default() }), part.bit % 8))
            }
        }
    }
}
