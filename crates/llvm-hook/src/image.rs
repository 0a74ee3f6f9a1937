//! The libLLVM that the loader has mapped: where it lies, its dynamic symbols, its unwind table.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::collections::HashMap;
use std::ffi::CStr;

/// A loaded shared library.
#[derive(Clone, Debug)]
pub struct Image {
    /// Path as the loader knows it.
    pub path: String,
    /// The address that the image was loaded at.
    pub base: u64,
    /// End of its last segment.
    pub end: u64,
    /// The address of its `.eh_frame_hdr` in memory.
    pub eh_frame_hdr: u64,
    /// End of the segment that holds it, and `.eh_frame` with it.
    pub eh_frame_end: u64,
    /// Address of the dynamic section.
    dynamic: u64,
}

/// The libLLVM in this process, if one is loaded.
pub fn find_llvm() -> Option<Image> {
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, data: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the loader passes a valid record and our own pointer.
        let (info, found) = unsafe { (&*info, &mut *data.cast::<Option<Image>>()) };
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the loader's name is a C string.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned();
        if !path.rsplit('/').next().is_some_and(|file| file.starts_with("libLLVM")) {
            return 0;
        }
        let mut image = Image { path, base: info.dlpi_addr, end: info.dlpi_addr, eh_frame_hdr: 0, eh_frame_end: 0, dynamic: 0 };
        // SAFETY: the program headers of a loaded object.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        for header in headers {
            let at = info.dlpi_addr + header.p_vaddr;
            match header.p_type {
                libc::PT_LOAD => image.end = image.end.max(at + header.p_memsz),
                libc::PT_GNU_EH_FRAME => image.eh_frame_hdr = at,
                libc::PT_DYNAMIC => image.dynamic = at,
                _ => {}
            }
        }
        let segments = headers.iter().filter(|h| h.p_type == libc::PT_LOAD).map(|h| (info.dlpi_addr + h.p_vaddr, h.p_memsz));
        image.eh_frame_end = segments
            .filter(|(at, size)| (*at..at + size).contains(&image.eh_frame_hdr))
            .map(|(at, size)| at + size)
            .next()
            .unwrap_or(image.eh_frame_hdr);
        *found = Some(image);
        1
    }
    let mut found: Option<Image> = None;
    // SAFETY: `visit` has the required signature and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}

/// How many symbols ahead of the one at hand a name is asked for.
const AHEAD: usize = 24;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

impl Image {
    fn dynamic_entries(&self) -> HashMap<u64, u64> {
        let mut entries = HashMap::new();
        if self.dynamic == 0 {
            return entries;
        }
        let mut at = self.dynamic as *const u64;
        // SAFETY: the dynamic section is an array of pairs that a DT_NULL ends.
        unsafe {
            while *at != 0 {
                // The loader has relocated the pointers on glibc; elsewhere they are still offsets. Sizes are neither.
                let value = *at.add(1);
                let is_offset = *at != DT_STRSZ && value < self.base;
                entries.entry(*at).or_insert(if is_offset { value + self.base } else { value });
                at = at.add(2);
            }
        }
        entries
    }

    /// Number of dynamic symbols: from the old hash table, or from the longest chain of the new one.
    fn symbol_count(entries: &HashMap<u64, u64>) -> usize {
        if let Some(hash) = entries.get(&DT_HASH) {
            // SAFETY: DT_HASH points to nbucket, nchain.
            return unsafe { *(*hash as *const u32).add(1) } as usize;
        }
        let Some(hash) = entries.get(&DT_GNU_HASH) else { return 0 };
        let table = *hash as *const u32;
        // SAFETY: the layout of DT_GNU_HASH: nbuckets, symoffset, bloom size, shift, bloom words, buckets, chains.
        unsafe {
            let (buckets, first, bloom) = (*table as usize, *table.add(1) as usize, *table.add(2) as usize);
            let bucket = table.add(4 + bloom * 2);
            let chain = bucket.add(buckets);
            let mut last = (0..buckets).map(|i| *bucket.add(i) as usize).max().unwrap_or(0);
            if last < first {
                return first;
            }
            while *chain.add(last - first) & 1 == 0 {
                last += 1;
            }
            last + 1
        }
    }

    /// Calls `visit` with the name, address and size of every function in the dynamic symbol table. The name is given as
    /// the string table from there on and ends at the first NUL: looking for the ends of a hundred thousand names is most
    /// of what the start of a watched process would cost.
    pub fn for_each_function(&self, mut visit: impl FnMut(&'static [u8], u64, u64)) {
        let entries = self.dynamic_entries();
        let [Some(symbols), Some(strings), Some(length)] = [DT_SYMTAB, DT_STRTAB, DT_STRSZ].map(|tag| entries.get(&tag).copied()) else {
            return;
        };
        // SAFETY: DT_STRTAB points to DT_STRSZ bytes, and libLLVM is never unloaded.
        let strings: &'static [u8] = unsafe { std::slice::from_raw_parts(strings as *const u8, length as usize) };
        let count = Self::symbol_count(&entries);
        // SAFETY: `index` is below the symbol count.
        let symbol_at = |index: usize| unsafe { &*(symbols as *const libc::Elf64_Sym).add(index) };
        for index in 0..count {
            // Names lie scattered: waiting for each to come from memory was half of the start.
            let ahead = symbol_at((index + AHEAD).min(count - 1));
            // SAFETY: a prefetch touches nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(strings.as_ptr().wrapping_add(ahead.st_name as usize).cast()) };
            let symbol = symbol_at(index);
            let is_function = symbol.st_info & 0xf == 2;
            if is_function
                && symbol.st_shndx != 0
                && symbol.st_value != 0
                && let Some(name) = strings.get(symbol.st_name as usize..)
            {
                visit(name, self.base + symbol.st_value, symbol.st_size);
            }
        }
    }
}
