//! Text of one language inside programs of the model: what idioms are written with.
//!
//! An idiom gives lines as its language has them and leaves places for blocks of the model. Values that
//! flow into the text come from the model's expressions, with their intervals, and what comes out is put
//! into scope with its interval, so that the statements around it are as sound as without it.

use super::model::{Block, Expr, LanguageText, Name, ScalarType, Stmt, TextItem, ValueRange, WovenType, WovenWord};
use super::scope::{Maker, Mutability, VarInScope};
use super::{c, rust};

/// The language that a wide program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tongue {
    C,
    Cxx,
    Rust,
}

impl Tongue {
    /// What stands in front of a declaration of a C function.
    pub fn c_linkage(self) -> &'static str {
        if self == Self::Cxx { "extern \"C\" " } else { "" }
    }
}

/// Whether a line ends one level of indentation.
pub fn closes(line: &str) -> bool {
    line.starts_with('}')
}

/// Whether the lines after this one are a level deeper.
pub fn opens(line: &str) -> bool {
    line.ends_with('{')
}

fn pieces(text: &str, blocks: impl IntoIterator<Item = Block>) -> Vec<LanguageText> {
    let mut blocks = blocks.into_iter();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let pieces: Vec<LanguageText> = lines
        .map(|line| match line {
            "@" => LanguageText::Block(blocks.next().expect("a block for each place")),
            line => LanguageText::Line(line.to_owned()),
        })
        .collect();
    debug_assert!(blocks.next().is_none(), "a place for each block");
    pieces
}

/// Puts lines of text among statements; each line `@` is a place for the next block.
pub fn put<const N: usize>(out: &mut Block, text: &str, blocks: [Block; N]) {
    out.push(Stmt::Native(pieces(text, blocks)));
}

impl Maker {
    /// Puts a type or function in front of the function that is being written.
    pub fn item<const N: usize>(&mut self, text: &str, blocks: [Block; N]) {
        self.item_returning(text, blocks, None);
    }

    /// The same where blocks of the model in it return a value.
    pub fn item_returning<const N: usize>(&mut self, text: &str, blocks: [Block; N], returns: Option<ScalarType>) {
        let after = self.module.functions.len();
        self.module.items.push(TextItem { after, pieces: pieces(text, blocks), returns });
    }

    /// Needs a header or declaration at the top of the file.
    pub fn needs(&mut self, line: &str) {
        if !self.module.preamble.iter().any(|l| l == line) {
            self.module.preamble.push(line.to_owned());
        }
    }

    fn show(&self, e: &Expr) -> String {
        if self.tongue == Some(Tongue::Rust) { rust::operand(e) } else { c::operand(e) }
    }

    /// An `int` inside `range`, as an operand.
    pub fn int(&mut self, lo: i64, hi: i64, depth: u32) -> String {
        let value = self.value_for(ScalarType::I32, ValueRange::new(lo, hi), depth);
        self.show(&value)
    }

    /// Any unsigned number, as an operand; the text has the type, whatever is in it.
    pub fn word(&mut self, depth: u32) -> String {
        let value = self.expr(WovenWord::U32, depth).0;
        self.show(&value)
    }

    /// An integer of any word, as an operand.
    pub fn value_text(&mut self) -> String {
        let word = *self.dice.pick(&[WovenWord::I32, WovenWord::U32, WovenWord::I64]);
        let value = self.expr(word, 1).0;
        self.show(&value)
    }

    /// A condition in parentheses. None reads a volatile object, so that two may be in one expression.
    pub fn test(&mut self, depth: u32) -> String {
        let cond = self.cond(depth);
        if self.tongue == Some(Tongue::Rust) { format!("({})", rust::cond(&cond)) } else { c::condition(&cond) }
    }

    /// A number from `lo` to `hi` that is known at compile time.
    pub fn number(&mut self, lo: i64, hi: i64) -> i64 {
        self.dice.between(lo, hi)
    }

    /// Makes a place visible to the statements that follow. It may be anything the language can read and,
    /// unless it is fixed, assign to as a scalar of this type.
    pub fn bring(&mut self, name: impl Into<Name>, scalar: ScalarType, range: ValueRange, mutability: Mutability) {
        self.scope.push(VarInScope { name: name.into(), ty: WovenType::Scalar(scalar), range, mutability });
    }

    /// A new variable of a wrapping unsigned word.
    pub fn bring_word(&mut self, name: &Name) {
        self.bring(name.clone(), ScalarType::U32, ScalarType::U32.range(), Mutability::Free);
    }

    /// About `size` statements for a block that runs `trips` times and that no jump may leave but by
    /// `return` or `goto`: it may be inside a loop or switch that the model does not know of.
    pub fn inner(&mut self, size: usize, depth: u32, trips: u64) -> Block {
        let jumps = self.jumps.clone();
        self.jumps.retain(|j| matches!(j, super::scope::Jump::Label(_)));
        let block = self.repeated(trips, |m| m.block(size, depth + 1));
        self.jumps = jumps;
        block
    }

    /// The same for the body of a function that is written in the middle of another: it sees what is
    /// around it and these parameters, and no jump leaves it at all.
    pub fn sealed(&mut self, size: usize, depth: u32, trips: u64, params: &[(&Name, ScalarType, ValueRange)]) -> Block {
        let jumps = std::mem::take(&mut self.jumps);
        let returns = self.returns.take();
        let block = self.repeated(trips, |m| {
            m.scoped(|m| {
                for (name, scalar, range) in params {
                    m.bring((*name).clone(), *scalar, *range, Mutability::Free);
                }
                m.statements(size, depth + 1)
            })
        });
        self.jumps = jumps;
        self.returns = returns;
        block
    }

    /// Writes something that sees none of the function around it: the body of another function. Gives back
    /// what it costs to run, too.
    pub fn aside<T>(&mut self, cost_limit: u64, write: impl FnOnce(&mut Self) -> T) -> (T, u64) {
        let scope = std::mem::take(&mut self.scope);
        let jumps = std::mem::take(&mut self.jumps);
        let before = (self.returns.take(), self.times, self.cost, self.cost_limit);
        (self.times, self.cost, self.cost_limit) = (1, 0, cost_limit);
        let result = write(self);
        let cost = self.cost;
        (self.returns, self.times, self.cost, self.cost_limit) = before;
        self.scope = scope;
        self.jumps = jumps;
        (result, cost)
    }

    /// About `size` statements of a function of its own that sees these parameters and the globals.
    pub fn body(&mut self, params: &[(&Name, ScalarType, ValueRange)], size: usize) -> Block {
        let (block, cost) = self.aside(40, |m| {
            for (name, scalar, range) in params {
                m.bring((*name).clone(), *scalar, *range, Mutability::Free);
            }
            m.statements(size, super::stmt::MAX_DEPTH - 1)
        });
        self.charge(cost);
        block
    }

    /// A word made of what is visible in a function of its own.
    pub fn word_of(&mut self, params: &[(&Name, ScalarType, ValueRange)], depth: u32) -> String {
        let (text, _) = self.aside(40, |m| {
            for (name, scalar, range) in params {
                m.bring((*name).clone(), *scalar, *range, Mutability::Free);
            }
            m.word(depth)
        });
        text
    }

    /// Brings an `int` that text computed into scope, cut to a range that leaves room to compute.
    pub fn keep_int(&mut self, name: &Name, range: ValueRange) {
        let range = if WovenWord::I32.range().holds(range) { range } else { WovenWord::I32.range() };
        self.bring(name.clone(), ScalarType::I32, range, Mutability::Free);
    }
}
