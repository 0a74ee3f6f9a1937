//! Unwinding rows from .eh_frame and .debug_frame, for the functions that have debug information.

use crate::op::{FilePlace, Op, Slice};
use gimli::{BaseAddresses, CieOrFde, LittleEndian, UnwindContext, UnwindSection};
use std::sync::Arc;

/// How the canonical frame address is found.
#[derive(Clone, Debug)]
pub enum CfaRule {
    /// A register's value plus an offset.
    RegisterOffset(u16, i64),
    /// What an expression computes.
    Expression(Arc<[Op]>),
}

/// How a register of the caller is found.
#[derive(Clone, Debug)]
pub enum RegisterRule {
    /// Its value in the caller is lost.
    Undefined,
    /// It is the same as in the callee.
    SameValue,
    /// Saved at the CFA plus this.
    Offset(i64),
    /// Is the CFA plus this itself.
    ValOffset(i64),
    /// Is in another register.
    Register(u16),
    /// Saved at the address that this computes.
    Expression(Arc<[Op]>),
    /// Is what this computes.
    ValExpression(Arc<[Op]>),
}

/// The rules for a range of addresses.
#[derive(Clone, Debug)]
pub struct CfiRow {
    /// The first address that they hold at.
    pub low: u64,
    /// The first address that they no longer hold at.
    pub high: u64,
    /// How the frame address is found.
    pub cfa: CfaRule,
    /// How the caller's registers are found, by DWARF number.
    pub registers: Vec<(u16, RegisterRule)>,
}

/// All rows, sorted by address.
#[derive(Debug, Default)]
pub struct CfiTable(Vec<CfiRow>);

impl CfiTable {
    /// The row that holds at `pc`.
    pub fn at(&self, pc: u64) -> Option<&CfiRow> {
        let after = self.0.partition_point(|r| r.low <= pc);
        self.0[..after].last().filter(|r| pc < r.high)
    }

    /// Adds the rows of a section whose addresses `wanted` accepts. Damaged entries are passed over: they
    /// make frames unreadable, not the binary.
    pub(crate) fn collect<'a, S>(&mut self, section: &S, bases: &BaseAddresses, place: FilePlace, wanted: impl Fn(u64, u64) -> bool)
    where
        S: UnwindSection<Slice<'a>>,
        S::Offset: gimli::UnwindOffset<usize>,
    {
        let mut entries = section.entries(bases);
        let mut context = UnwindContext::new();
        let mut found = Vec::new();
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(S::cie_from_offset) else { continue };
            let (start, end) = (place.address(fde.initial_address()), place.address(fde.end_address()));
            if !wanted(start, end) || self.at(start).is_some() {
                continue;
            }
            let encoding = fde.cie().encoding();
            let Ok(mut rows) = fde.rows(section, bases, &mut context) else { continue };
            let mut collected = Vec::new();
            while let Ok(Some(row)) = rows.next_row() {
                let decode = |e: &gimli::UnwindExpression<usize>| decode_plain(e.get(section).ok()?.0, encoding);
                let cfa = match row.cfa() {
                    gimli::CfaRule::RegisterAndOffset { register, offset } => CfaRule::RegisterOffset(register.0, *offset),
                    gimli::CfaRule::Expression(e) => match decode(e) {
                        Some(ops) => CfaRule::Expression(ops),
                        None => continue,
                    },
                };
                let registers = row.registers().filter_map(|(register, rule)| {
                    use gimli::RegisterRule as R;
                    let rule = match rule {
                        R::SameValue => RegisterRule::SameValue,
                        R::Offset(n) => RegisterRule::Offset(*n),
                        R::ValOffset(n) => RegisterRule::ValOffset(*n),
                        R::Register(r) => RegisterRule::Register(r.0),
                        R::Expression(e) => RegisterRule::Expression(decode(e)?),
                        R::ValExpression(e) => RegisterRule::ValExpression(decode(e)?),
                        R::Constant(_) => return None,
                        _ => RegisterRule::Undefined,
                    };
                    Some((register.0, rule))
                });
                let (low, high) = (place.address(row.start_address()), place.address(row.end_address()));
                collected.push(CfiRow { low, high, cfa, registers: registers.collect() });
            }
            found.append(&mut collected);
        }
        self.0.append(&mut found);
        self.0.sort_by_key(|r| r.low);
    }
}

/// Expressions in unwinding rows: a small vocabulary without units (the PLT's, mostly).
fn decode_plain(bytes: Slice<'_>, encoding: gimli::Encoding) -> Option<Arc<[Op]>> {
    use crate::op::Binary;
    use gimli::Operation as O;
    let mut rest: gimli::EndianSlice<'_, LittleEndian> = bytes;
    let mut ops = Vec::new();
    while !rest.is_empty() {
        ops.push(match O::parse(&mut rest, encoding).ok()? {
            O::RegisterOffset { register, offset, .. } => Op::RegisterOffset(register.0, offset),
            O::UnsignedConstant { value } => Op::Const(value),
            O::SignedConstant { value } => Op::Const(value as u64),
            O::PlusConstant { value } => Op::PlusConst(value),
            O::Deref { size, .. } => Op::Deref(size),
            O::Plus => Op::Binary(Binary::Plus),
            O::Minus => Op::Binary(Binary::Minus),
            O::Mul => Op::Binary(Binary::Mul),
            O::And => Op::Binary(Binary::And),
            O::Shl => Op::Binary(Binary::Shl),
            O::Ge => Op::Binary(Binary::Ge),
            O::Nop => Op::Nop,
            _ => return None,
        });
    }
    Some(ops.into())
}
