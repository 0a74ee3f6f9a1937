//! The plan of an image: which blocks to watch, a copy of its code with every breakpoint in place, and
//! the names of it all. Computed once per build id and kept in the user's cache directory.

use crate::CoverageError;
use crate::image::CompilerImage;
use crate::naming::{Hints, name_ranges, range_at};
use crate::survey::survey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use trueline_model::{CodeFunction, CodeMap};

/// Changes whenever the layout of the cached files, or what they mean, does.
const VERSION: &str = "v4";
/// First bytes of a plan file; keep in step with `hook/blockhook.rs`.
const MAGIC: u64 = 0x3130_4b4c_4254_5254;
/// Bytes before the buckets of a plan file.
const HEAD: usize = 96;
const PAGE: u64 = 4096;
const BUCKET_SHIFT: u32 = 8;
const BREAKPOINT: u8 = 0xcc;
/// Where the stubs of position-dependent code lie: within reach of its jumps, and far above its heap.
const STUBS_AT: u64 = 0x7000_0000;
const STUB_SIZE: usize = 16;
/// Bytes that a jump to a stub takes.
const JUMP_SIZE: u64 = 5;

/// A plan that lies in the cache.
#[derive(Clone, Debug)]
pub struct BreakPlan {
    /// Path of the cached files without their extensions.
    pub stem: PathBuf,
    /// How many blocks it watches.
    pub blocks: usize,
    /// What they are called.
    pub map: CodeMap,
}

/// The map as it is stored: functions of consecutive blocks as runs.
#[derive(Serialize, Deserialize)]
struct StoredMap {
    image: PathBuf,
    files: Vec<String>,
    functions: Vec<CodeFunction>,
    runs: Vec<(u32, u32)>,
}

/// The cache directory: `XDG_CACHE_HOME/trueline/coverage`, or under `HOME/.cache`.
pub fn cache_dir() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("trueline").join("coverage")
}

impl BreakPlan {
    /// The plan of an image: from the cache, or computed and put there. `hints` is asked only when needed.
    pub fn of_image(path: &Path, cache: &Path, hints: impl FnOnce(&CompilerImage) -> Box<dyn Hints>) -> Result<Self, CoverageError> {
        let image = CompilerImage::load(path)?;
        let stem = cache.join(format!("{VERSION}-{}", image.identity()));
        if let Some(plan) = Self::read(&stem) {
            return Ok(plan);
        }
        std::fs::create_dir_all(cache).map_err(|source| CoverageError::Write { path: cache.to_owned(), source })?;
        Self::compute(&image, &stem, &*hints(&image))?;
        Self::read(&stem).ok_or_else(|| CoverageError::Write { path: stem, source: std::io::ErrorKind::InvalidData.into() })
    }

    fn read(stem: &Path) -> Option<Self> {
        // The map is written last: without it the other two are of no use.
        let stored: StoredMap = serde_json::from_slice(&std::fs::read(stem.with_extension("map")).ok()?).ok()?;
        let unit_functions: Vec<u32> =
            stored.runs.iter().flat_map(|&(count, function)| std::iter::repeat_n(function, count as usize)).collect();
        let complete = stem.with_extension("plan").exists() && stem.with_extension("text").exists();
        complete.then(|| Self {
            stem: stem.to_owned(),
            blocks: unit_functions.len(),
            map: CodeMap { files: stored.files, functions: stored.functions, unit_functions },
        })
    }

    /// The files of the blocks that these addresses lie in.
    pub fn files_at(&self, addresses: &[u64]) -> BTreeSet<&str> {
        let found = |offsets: &[u32], start: u64, address: u64| {
            let offset = u32::try_from(address.checked_sub(start)?).ok()?;
            let unit = offsets.partition_point(|&block| block <= offset).checked_sub(1)?;
            self.map.file_of(unit as u32).map(|file| self.map.files[file as usize].as_str())
        };
        let Some((start, offsets)) = self.block_offsets() else { return BTreeSet::new() };
        addresses.iter().filter_map(|&address| found(&offsets, start, address)).collect()
    }

    /// Where the blocks lie, from the address of the first page on.
    fn block_offsets(&self) -> Option<(u64, Vec<u32>)> {
        let plan = std::fs::read(self.stem.with_extension("plan")).ok()?;
        let word = |index: usize| plan.get(index * 8..index * 8 + 8).map(|w| u64::from_le_bytes(w.try_into().expect("eight bytes")));
        let first = HEAD + (word(6)? as usize + 1) * 4;
        let bytes = plan.get(first..first + self.blocks * 4)?;
        Some((word(3)?, bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().expect("four bytes"))).collect()))
    }

    fn compute(image: &CompilerImage, stem: &Path, hints: &dyn Hints) -> Result<(), CoverageError> {
        let survey = survey(image);
        let names = name_ranges(image, &survey, hints);
        if names.map.files.len() < 2 {
            let reason = "neither its symbols nor its assertions name source files (for libLLVM and libclang-cpp, install llvm-NN-dev and libclang-NN-dev: their static libraries do)".to_owned();
            return Err(CoverageError::Unmappable { image: image.path.clone(), reason });
        }
        // Only blocks that belong to some file are worth a breakpoint.
        let named = |block: u64| range_at(image, block).and_then(|range| names.range_functions[range]);
        let blocks: Vec<(u64, u32)> = survey.blocks.iter().filter_map(|&block| Some((block, named(block)?))).collect();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for &(_, function) in &blocks {
            match runs.last_mut() {
                Some((count, last)) if *last == function => *count += 1,
                _ => runs.push((1, function)),
            }
        }
        let stored = StoredMap { image: image.path.clone(), files: names.map.files, functions: names.map.functions, runs };
        let (code, start) = whole_pages(image)?;
        let addresses: Vec<u64> = blocks.iter().map(|&(block, _)| block).collect();
        let layout = lay_out(image, &addresses, code, start);
        store(&stem.with_extension("plan"), &layout.plan)?;
        store(&stem.with_extension("text"), &layout.text)?;
        store(&stem.with_extension("stub"), &layout.stubs)?;
        store(&stem.with_extension("map"), &serde_json::to_vec(&stored).expect("plain data"))
    }
}

/// The file's pages that hold the code, and the address of the first.
fn whole_pages(image: &CompilerImage) -> Result<(Vec<u8>, u64), CoverageError> {
    let file = std::fs::read(&image.path).map_err(|source| CoverageError::Read { path: image.path.clone(), source })?;
    let from = image.text_offset / PAGE * PAGE;
    let to = (image.text_offset + image.text.len() as u64).div_ceil(PAGE) * PAGE;
    let mut code = file[from as usize..(to as usize).min(file.len())].to_vec();
    code.resize((to - from) as usize, 0);
    Ok((code, image.text_address - (image.text_offset - from)))
}

/// What the preloaded library maps.
struct MappedLayout {
    plan: Vec<u8>,
    text: Vec<u8>,
    stubs: Vec<u8>,
}

/// Lays out the plan, the patched code and the stubs its jumps lead to.
fn lay_out(image: &CompilerImage, blocks: &[u64], mut code: Vec<u8>, start: u64) -> MappedLayout {
    let buckets = (code.len() >> BUCKET_SHIFT) + 1;
    let mut plan = Vec::with_capacity(HEAD + buckets * 4 + blocks.len() * 12);
    let stubs_at = if image.fixed_address { STUBS_AT } else { 0 };
    let head = [
        MAGIC,
        blocks.len() as u64,
        stubs_at,
        start,
        code.len() as u64,
        u64::from(BUCKET_SHIFT),
        buckets as u64,
        image.build_id.len() as u64,
    ];
    head.iter().for_each(|word| plan.extend(word.to_le_bytes()));
    let mut id = image.build_id.clone();
    id.resize(32, 0);
    plan.extend(id);
    let offsets: Vec<u32> = blocks.iter().map(|block| (block - start) as u32).collect();
    for bucket in 0..=buckets {
        let first = offsets.partition_point(|&offset| (offset >> BUCKET_SHIFT) < bucket as u32);
        plan.extend((first as u32).to_le_bytes());
    }
    offsets.iter().for_each(|offset| plan.extend(offset.to_le_bytes()));
    plan.resize(plan.len().next_multiple_of(8), 0);
    let original = code.clone();
    let mut stubs = if image.fixed_address { vec![0; PAGE as usize + blocks.len() * STUB_SIZE] } else { Vec::new() };
    if image.fixed_address {
        stubs[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    }
    for (index, &block) in blocks.iter().enumerate() {
        let at = (block - start) as usize;
        let mut bytes = [0u8; 8];
        let length = bytes.len().min(original.len() - at);
        bytes[..length].copy_from_slice(&original[at..at + length]);
        plan.extend(bytes);
        let end = range_at(image, block).map_or(block, |range| image.ranges[range].end);
        let room = blocks.get(index + 1).map_or(end, |&next| next.min(end)) - block;
        if image.fixed_address && room >= JUMP_SIZE && at + 8 <= code.len() {
            let stub = PAGE as usize + index * STUB_SIZE;
            code[at] = 0xe9;
            code[at + 1..at + 5].copy_from_slice(&displacement(block + JUMP_SIZE, STUBS_AT + stub as u64));
            // lea rsp, [rsp - 0x80]; push index; jmp to the trampoline on the first page
            stubs[stub..stub + 5].copy_from_slice(&[0x48, 0x8d, 0x64, 0x24, 0x80]);
            stubs[stub + 5] = 0x68;
            stubs[stub + 6..stub + 10].copy_from_slice(&(index as u32).to_le_bytes());
            stubs[stub + 10] = 0xe9;
            stubs[stub + 11..stub + 15].copy_from_slice(&displacement(STUBS_AT + stub as u64 + 15, STUBS_AT));
        } else {
            code[at] = BREAKPOINT;
        }
    }
    MappedLayout { plan, text: code, stubs }
}

/// The operand of a jump whose next instruction is at `from`.
fn displacement(from: u64, to: u64) -> [u8; 4] {
    (to.wrapping_sub(from) as u32).to_le_bytes()
}

/// Writes a file under another name first, so that a reader never sees half of it.
fn store(path: &Path, content: &[u8]) -> Result<(), CoverageError> {
    let failed = |source| CoverageError::Write { path: path.to_owned(), source };
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = std::fs::File::create(&temporary).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    drop(file);
    std::fs::rename(&temporary, path).map_err(failed)
}
