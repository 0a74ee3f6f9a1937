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
}

impl TermShape {
    /// True when it has a leaf.
    pub fn has_leaf(&self) -> bool {
        match self {
            Self::Leaf(_) => true,
            Self::Constant(..) => false,
            Self::Binary(_, a, b) | Self::Joined(a, b) => a.has_leaf() || b.has_leaf(),
            Self::Bits(a, ..) | Self::Zeroes(a, _) | Self::Sign(a, _) => a.has_leaf(),
        }
    }
}

impl Terms {
    /// The shape of a term of at most `size` parts whose unknowns are all leaves.
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
            TermNode::Var(..) | TermNode::Ite(..) | TermNode::Extreme(..) | TermNode::Call(..) => return None,
        })
    }

    /// The term of a shape.
    pub fn of_shape(&mut self, shape: &TermShape, leaves: &[Term]) -> Option<Term> {
        Some(match shape {
            TermShape::Leaf(n) => *leaves.get(*n)?,
            TermShape::Constant(width, value) => self.constant(*width, *value),
            TermShape::Binary(op, a, b) => {
                let (a, b) = (self.of_shape(a, leaves)?, self.of_shape(b, leaves)?);
                self.bin(*op, a, b)
            }
            TermShape::Bits(a, low, width) => {
                let a = self.of_shape(a, leaves)?;
                self.extract(a, *low, *width)
            }
            TermShape::Joined(a, b) => {
                let (a, b) = (self.of_shape(a, leaves)?, self.of_shape(b, leaves)?);
                self.concat(a, b)
            }
            TermShape::Zeroes(a, width) => {
                let a = self.of_shape(a, leaves)?;
                self.zext(a, *width)
            }
            TermShape::Sign(a, width) => {
                let a = self.of_shape(a, leaves)?;
                self.sext(a, *width)
            }
        })
    }
}
