//! A sparse address space of pages that snapshots share.

use crate::algebra::AccessFault;
use crate::hash::Mixing;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// A sparse address space.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pages: HashMap<u64, Arc<[u8; PAGE as usize]>, Mixing>,
}

impl Memory {
    /// Maps bytes at an address; pages they touch become readable and writable as a whole.
    pub fn map(&mut self, mut address: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let offset = (address % PAGE) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(PAGE as usize - offset));
            let page = self.pages.entry(address / PAGE).or_insert_with(|| Arc::new([0; PAGE as usize]));
            Arc::make_mut(page)[offset..offset + now.len()].copy_from_slice(now);
            (address, bytes) = (address.wrapping_add(now.len() as u64), later);
        }
    }

    /// Maps whole pages given as they are; those that `before` has with the same content are shared with it.
    pub fn map_pages(&mut self, address: u64, bytes: &[u8], before: &Self) {
        for (n, chunk) in bytes.chunks(PAGE as usize).enumerate() {
            let number = address / PAGE + n as u64;
            let page = match before.pages.get(&number) {
                Some(old) if chunk.len() == PAGE as usize && old[..] == *chunk => Arc::clone(old),
                _ => {
                    let mut page = [0; PAGE as usize];
                    page[..chunk.len()].copy_from_slice(chunk);
                    Arc::new(page)
                }
            };
            self.pages.insert(number, page);
        }
    }

    /// Bytes as they are, page by page; `None` where some are not mapped.
    pub fn bytes(&self, mut address: u64, size: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(size as usize);
        while (bytes.len() as u64) < size {
            let offset = (address % PAGE) as usize;
            let count = (PAGE as usize - offset).min(size as usize - bytes.len());
            bytes.extend_from_slice(&self.pages.get(&(address / PAGE))?[offset..offset + count]);
            address = address.wrapping_add(count as u64);
        }
        Some(bytes)
    }

    /// Maps a range that reads as zeroes.
    pub fn map_zeroes(&mut self, address: u64, size: u64) {
        let zero = Arc::new([0; PAGE as usize]);
        for page in address / PAGE..=(address + size.max(1) - 1) / PAGE {
            self.pages.entry(page).or_insert_with(|| Arc::clone(&zero));
        }
    }

    /// The byte at an address, if it is mapped.
    pub fn byte(&self, address: u64) -> Option<u8> {
        self.pages.get(&(address / PAGE)).map(|p| p[(address % PAGE) as usize])
    }

    /// Up to 16 bytes, little-endian.
    pub fn read(&self, address: u64, bytes: u32) -> Result<u128, AccessFault> {
        let offset = (address % PAGE) as usize;
        let mut buffer = [0u8; 16];
        if offset + bytes as usize <= PAGE as usize {
            let page = self.pages.get(&(address / PAGE)).ok_or(AccessFault { address })?;
            buffer[..bytes as usize].copy_from_slice(&page[offset..offset + bytes as usize]);
        } else {
            for (n, slot) in buffer.iter_mut().enumerate().take(bytes as usize) {
                let at = address.wrapping_add(n as u64);
                *slot = self.byte(at).ok_or(AccessFault { address: at })?;
            }
        }
        Ok(u128::from_le_bytes(buffer))
    }

    /// Writes up to 16 bytes.
    pub fn write(&mut self, address: u64, value: u128, bytes: u32) -> Result<(), AccessFault> {
        let buffer = value.to_le_bytes();
        let offset = (address % PAGE) as usize;
        if offset + bytes as usize <= PAGE as usize {
            let page = self.pages.get_mut(&(address / PAGE)).ok_or(AccessFault { address })?;
            Arc::make_mut(page)[offset..offset + bytes as usize].copy_from_slice(&buffer[..bytes as usize]);
            return Ok(());
        }
        for (n, byte) in buffer.iter().enumerate().take(bytes as usize) {
            let at = address.wrapping_add(n as u64);
            let page = self.pages.get_mut(&(at / PAGE)).ok_or(AccessFault { address: at })?;
            Arc::make_mut(page)[(at % PAGE) as usize] = *byte;
        }
        Ok(())
    }
}
