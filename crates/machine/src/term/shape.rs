//! Terms taken out of their table, so that the same can be said again of other unknowns in another one.

use super::{Term, TermNode, Terms};
use crate::algebra::Bin;

/// What a term is made of, its leaves by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermShape {
    /// Something that whoever makes a term of it has to name.
    Leaf(usize),
    /// A constant of a width.
    Constant(u32, u128),
    /// A binary operation on two others.
    Binary(Bin, Box<Self>, Box<Self>),
    /// Some bits: the lowest, and how many.
    Bits(Box<Self>, u32, u32),
    /// The first above the second.
    Joined(Box<Self>, Box<Self>),
    /// Widened with zeroes.
    Zeroes(Box<Self>, u32),
    /// Widened with its sign.
    Sign(Box<Self>, u32),
    /// Where a part of an object ends up, by the unknown's name.
    Base(u32, String),
    /// So many bytes of memory at an address.
    Load(u32, Box<Self>),
}

/// Reads bytes of memory at an address.
pub type Reader<'r> = &'r dyn Fn(&mut Terms, Term, u32) -> Option<Term>;

impl TermShape {
    /// True when it has a leaf.
    pub fn has_leaf(&self) -> bool {
        match self {
            Self::Leaf(_) => true,
            Self::Constant(..) | Self::Base(..) => false,
            Self::Binary(_, a, b) | Self::Joined(a, b) => a.has_leaf() || b.has_leaf(),
            Self::Bits(a, ..) | Self::Zeroes(a, _) | Self::Sign(a, _) | Self::Load(_, a) => a.has_leaf(),
        }
    }

    /// True when it reads memory.
    pub fn has_load(&self) -> bool {
        match self {
            Self::Load(..) => true,
            Self::Leaf(_) | Self::Constant(..) | Self::Base(..) => false,
            Self::Binary(_, a, b) | Self::Joined(a, b) => a.has_load() || b.has_load(),
            Self::Bits(a, ..) | Self::Zeroes(a, _) | Self::Sign(a, _) => a.has_load(),
        }
    }
}

impl Terms {
    /// The shape of a term of at most `size` parts whose unknowns are all leaves; memory is that of the start.
    pub fn shape(&self, t: Term, leaf: &dyn Fn(Term) -> Option<usize>, size: &mut usize) -> Option<TermShape> {
        *size = size.checked_sub(1)?;
        if let Some(n) = leaf(t) {
            return Some(TermShape::Leaf(n));
        }
        let mut part = |t: Term| self.shape(t, leaf, size).map(Box::new);
        Some(match &self.nodes[t.0 as usize] {
            TermNode::Const(width, value) => TermShape::Constant(*width, *value),
            TermNode::Bin(op, a, b) => TermShape::Binary(*op, part(*a)?, part(*b)?),
            TermNode::Extract(a, low, width) => TermShape::Bits(part(*a)?, *low, *width),
            TermNode::Concat(a, b) => TermShape::Joined(part(*a)?, part(*b)?),
            TermNode::Zext(a, width) => TermShape::Zeroes(part(*a)?, *width),
            TermNode::Sext(a, width) => TermShape::Sign(part(*a)?, *width),
            TermNode::Var(width, name) if self.is_base(t) => TermShape::Base(*width, self.names[name.0 as usize].clone()),
            TermNode::Call(..) if self.loaded_from(t).is_some() => TermShape::Load(self.width(t) / 8, part(self.loaded_from(t)?)?),
            TermNode::Var(..) | TermNode::Ite(..) | TermNode::Extreme(..) | TermNode::Call(..) => return None,
        })
    }

    /// The term of a shape.
    pub fn of_shape(&mut self, shape: &TermShape, leaves: &[Term], read: Reader<'_>) -> Option<Term> {
        Some(match shape {
            TermShape::Leaf(n) => *leaves.get(*n)?,
            TermShape::Constant(width, value) => self.constant(*width, *value),
            TermShape::Binary(op, a, b) => {
                let (a, b) = (self.of_shape(a, leaves, read)?, self.of_shape(b, leaves, read)?);
                self.bin(*op, a, b)
            }
            TermShape::Bits(a, low, width) => {
                let a = self.of_shape(a, leaves, read)?;
                self.extract(a, *low, *width)
            }
            TermShape::Joined(a, b) => {
                let (a, b) = (self.of_shape(a, leaves, read)?, self.of_shape(b, leaves, read)?);
                self.concat(a, b)
            }
            TermShape::Zeroes(a, width) => {
                let a = self.of_shape(a, leaves, read)?;
                self.zext(a, *width)
            }
            TermShape::Sign(a, width) => {
                let a = self.of_shape(a, leaves, read)?;
                self.sext(a, *width)
            }
            TermShape::Base(width, name) => self.var(*width, name),
            TermShape::Load(bytes, a) => {
                let a = self.of_shape(a, leaves, read)?;
                read(self, a, *bytes)?
            }
        })
    }
}
