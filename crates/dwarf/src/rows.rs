//! Line rows by address. Rows of code that the linker removed stand at address 0 and are left out.

use crate::Module;
use crate::line::Row;

/// The rows in the order of their addresses.
#[derive(Debug, Default)]
pub(crate) struct RowIndex {
    /// Numbers of rows; those of one address in the order of the line program.
    order: Vec<u32>,
    /// The highest end of a row up to each: it never falls, so it can be searched.
    reach: Vec<u64>,
}

impl Module {
    fn row_index(&self) -> &RowIndex {
        self.row_index.get_or_init(|| {
            let counts = |r: &Row| !r.flags.end_sequence && r.address != 0;
            let mut order: Vec<u32> = (0..self.rows.len() as u32).filter(|&i| counts(&self.rows[i as usize])).collect();
            order.sort_by_key(|&i| self.rows[i as usize].address);
            let reach = order.iter().scan(0, |reach: &mut u64, &i| {
                *reach = (*reach).max(self.covered(i as usize).1);
                Some(*reach)
            });
            RowIndex { reach: reach.collect(), order }
        })
    }

    /// Where the row after one starts: the first address that it does not hold at.
    pub fn row_end(&self, number: usize) -> u64 {
        self.rows.get(number + 1).map_or(self.rows[number].address, |next| next.address)
    }

    /// The addresses of a row; an empty row still stands at its address.
    fn covered(&self, number: usize) -> (u64, u64) {
        let start = self.rows[number].address;
        (start, self.row_end(number).max(start.saturating_add(1)))
    }

    /// The numbers of all rows, by address; those of one address in the order of the line program.
    pub fn rows_by_address(&self) -> impl Iterator<Item = usize> + '_ {
        self.row_index().order.iter().map(|&i| i as usize)
    }

    /// The numbers of the rows that start in a range, by address.
    pub fn rows_in(&self, low: u64, high: u64) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let order = &self.row_index().order;
        let place = |address: u64| order.partition_point(|&i| self.rows[i as usize].address < address);
        let (first, after) = (place(low), place(high));
        order[first..after.max(first)].iter().map(|&i| i as usize)
    }

    /// The numbers of the rows that hold an address of one of the ranges, each once, by address.
    pub fn rows_over(&self, ranges: &[(u64, u64)]) -> Vec<usize> {
        let index = self.row_index();
        let mut places = Vec::new();
        for &(low, high) in ranges {
            let first = index.reach.partition_point(|&end| end <= low);
            let after = index.order.partition_point(|&i| self.rows[i as usize].address < high);
            places.extend((first..after).filter(|&at| self.covered(index.order[at] as usize).1 > low));
        }
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|at| index.order[at] as usize).collect()
    }

    /// The last of the rows that hold an address.
    pub fn row_around(&self, address: u64) -> Option<&Row> {
        let index = self.row_index();
        let after = index.order.partition_point(|&i| self.rows[i as usize].address <= address);
        let near = (0..after).rev().take_while(|&at| index.reach[at] > address).map(|at| index.order[at] as usize);
        near.into_iter().find(|&i| address < self.row_end(i)).map(|i| &self.rows[i])
    }
}
