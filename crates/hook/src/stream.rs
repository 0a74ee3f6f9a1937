//! The output file as a chain of shared mappings: what was written is in the file even when the process
//! dies in the next instruction, and no system call is made per record.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

const CHUNK: usize = 1 << 20;

/// A growing file.
pub struct Stream {
    file: File,
    chunk: *mut u8,
    /// Offset of the current chunk in the file.
    base: u64,
    used: usize,
}

impl Stream {
    /// Creates the file and maps its first chunk.
    pub fn create(path: &Path) -> Option<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).ok()?;
        let mut stream = Self { file, chunk: std::ptr::null_mut(), base: 0, used: 0 };
        stream.map(0).then_some(stream)
    }

    fn map(&mut self, base: u64) -> bool {
        if self.file.set_len(base + CHUNK as u64).is_err() {
            return false;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh shared mapping of a file range that exists; nothing else refers to it.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), CHUNK, protection, libc::MAP_SHARED, self.file.as_raw_fd(), base as i64) };
        if at == libc::MAP_FAILED {
            return false;
        }
        if !self.chunk.is_null() {
            // SAFETY: the mapping made by the previous call, which nobody uses any more.
            unsafe { libc::munmap(self.chunk.cast(), CHUNK) };
        }
        (self.chunk, self.base, self.used) = (at.cast(), base, 0);
        true
    }

    /// Appends bytes. When the disk is full the rest of the stream is lost; the reader sees it end.
    pub fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.used == CHUNK && !self.map(self.base + CHUNK as u64) {
                return;
            }
            let n = bytes.len().min(CHUNK - self.used);
            // SAFETY: `used + n <= CHUNK`, the size of the mapping.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.chunk.add(self.used), n) };
            self.used += n;
            bytes = &bytes[n..];
        }
    }

    /// Cuts the file to what was written.
    pub fn finish(&mut self) {
        let _ = self.file.set_len(self.base + self.used as u64);
    }
}
