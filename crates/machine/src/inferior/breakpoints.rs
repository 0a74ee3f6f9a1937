//! Breakpoints of a stopped process: set, muted and removed, many at once.

use super::slot::{self, Displaced};
use super::{Breakpoint, Inferior};
use std::io;

impl Inferior {
    /// Inserts breakpoints; addresses that have one already or are not mapped are passed over.
    pub fn set_breakpoints(&mut self, addresses: &[u64]) -> io::Result<()> {
        let mut wanted = self.loader.hold_back(addresses);
        wanted.retain(|a| !self.breakpoints.contains_key(a));
        wanted.sort_unstable();
        wanted.dedup();
        // Neighbours are patched with one read and one write.
        let mut rest = &wanted[..];
        while let Some(&first) = rest.first() {
            // Between two libraries there may be nothing.
            let near = rest.iter().zip(&rest[1..]).take_while(|(a, b)| **b - **a < 1 << 16 && **b - first < 1 << 20);
            let count = near.count() + 1;
            let (run, later) = rest.split_at(count);
            rest = later;
            self.patch_run(run)?;
        }
        Ok(())
    }

    fn patch_run(&mut self, run: &[u64]) -> io::Result<()> {
        let (first, last) = (run[0], run[run.len() - 1]);
        let mut code = vec![0u8; (last - first) as usize + 16];
        // The last instruction may end at the end of the mapping.
        while self.read(first, &mut code).is_err() {
            if code.len() <= (last - first) as usize + 1 {
                return Err(io::Error::other(format!("code at {first:#x} is not mapped")));
            }
            code.pop();
        }
        let pristine = self.with_originals(first, &code);
        let mut slot_bytes = Vec::new();
        let mut slots = *self.loader.slots_near(first).unwrap_or(&mut self.slots);
        let slot_start = slots.next();
        for &address in run {
            let at = (address - first) as usize;
            // The program's own int3: hitting it must stay the program's doing.
            if pristine[at] == 0xcc {
                continue;
            }
            let bytes = &pristine[at..(at + 15).min(pristine.len())];
            let displaced = match slots.next() {
                Some(slot) => match slot::displace(bytes, address, slot) {
                    Some(moved) => {
                        slot_bytes.extend_from_slice(&moved);
                        slots.take();
                        Displaced::Slot(slot)
                    }
                    None => Displaced::SingleStep,
                },
                None => Displaced::SingleStep,
            };
            self.breakpoints.insert(address, Breakpoint { original: pristine[at], displaced });
            code[at] = 0xcc;
        }
        *self.loader.slots_near(first).unwrap_or(&mut self.slots) = slots;
        if let (Some(start), false) = (slot_start, slot_bytes.is_empty()) {
            self.write(start, &slot_bytes)?;
        }
        code.truncate((last - first) as usize + 1);
        self.write(first, &code)
    }

    /// Code bytes with our breakpoints taken out.
    fn with_originals(&self, first: u64, code: &[u8]) -> Vec<u8> {
        let mut pristine = code.to_vec();
        for (i, byte) in pristine.iter_mut().enumerate() {
            if *byte == 0xcc
                && let Some(b) = self.breakpoints.get(&(first + i as u64))
            {
                *byte = b.original;
            }
        }
        pristine
    }

    /// Takes a breakpoint out again.
    pub fn remove_breakpoint(&mut self, address: u64) -> io::Result<()> {
        let result = self.mute(&[address]);
        self.breakpoints.remove(&address);
        self.company.retired.insert(address);
        result
    }

    /// Takes breakpoints out for a while; the program may stand on one.
    pub fn mute(&self, addresses: &[u64]) -> io::Result<()> {
        self.patch(addresses, |b| b.original)
    }

    /// Puts muted breakpoints back.
    pub fn unmute(&self, addresses: &[u64]) -> io::Result<()> {
        self.patch(addresses, |_| 0xcc)
    }

    /// Changes the bytes of breakpoints; neighbours with one read and one write.
    fn patch(&self, addresses: &[u64], byte: impl Fn(&Breakpoint) -> u8) -> io::Result<()> {
        const FARTHEST: u64 = 2048;
        let mut bytes: Vec<(u64, u8)> = addresses.iter().filter_map(|a| Some((*a, byte(self.breakpoints.get(a)?)))).collect();
        bytes.sort_unstable();
        for run in bytes.chunk_by(|a, b| b.0 - a.0 <= FARTHEST) {
            let (first, last) = (run[0].0, run[run.len() - 1].0);
            let mut code = vec![0u8; (last - first) as usize + 1];
            if run.len() > 1 {
                self.read(first, &mut code)?;
            }
            for &(address, byte) in run {
                code[(address - first) as usize] = byte;
            }
            self.write(first, &code)?;
        }
        Ok(())
    }

    /// True when a breakpoint of ours is at `address`.
    pub fn has_breakpoint(&self, address: u64) -> bool {
        self.breakpoints.contains_key(&address)
    }
}
