//! Finds the functions to hook in the libLLVM that is loaded and hooks them; refuses when it is not one
//! we know how to observe.

use crate::capi::{self, Api};
use crate::image::{self, Image};
use crate::patch::{Frame, Pool, When};
use crate::recorder::{PassHook, Recorder, Unit, Watch};
use crate::stream::Stream;
use crate::unwind::Unwinder;
use crate::variables::Variables;
use crate::wire::{EventKind, MAGIC, Record};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::path::Path;
use std::sync::OnceLock;

/// The oldest version whose symbols and layouts were checked.
const OLDEST: u32 = 13;
/// The newest. Reading a later one by the layouts of this one would show things that are not there.
const NEWEST: u32 = 22;

/// The recorder belongs to the thread that loaded the library, which is the one that runs passes; events
/// of other threads are not ours.
struct Owned {
    thread: u64,
    recorder: UnsafeCell<Recorder>,
}

// SAFETY: the recorder is only touched after checking that the current thread is its owner.
unsafe impl Sync for Owned {}
// SAFETY: it never leaves the static.
unsafe impl Send for Owned {}

static RECORDER: OnceLock<Owned> = OnceLock::new();

/// What is needed to hook the code generator's own passes over IR, when the first of each kind is made.
struct Legacy {
    thread: u64,
    pool: UnsafeCell<Pool>,
    /// Which function of a pass's table runs it on its unit.
    slot: u64,
    /// Numbers of the hooks, by the place of the pass in [`LEGACY`].
    hooks: Vec<u32>,
}

// SAFETY: the pool is only touched after checking that the current thread is its owner.
unsafe impl Sync for Legacy {}
// SAFETY: it never leaves the static.
unsafe impl Send for Legacy {}

static LEGACY_HOOKS: OnceLock<Legacy> = OnceLock::new();

/// The code generator's passes over IR: their classes are hidden in LLVM's files, and these exported functions make them.
/// Beginnings of their names in all versions, the class that does the same in pipelines, and what it runs on.
const LEGACY: [(&[&str], &str, Unit); 6] = [
    (&["_ZN4llvm24createCodeGenPreparePassEv", "_ZN4llvm30createCodeGenPrepareLegacyPassEv"], "CodeGenPreparePass", Unit::LegacyFunction),
    (&["_ZN4llvm28createLoopStrengthReducePassEv"], "LoopStrengthReducePass", Unit::LegacyLoop),
    (&["_ZN4llvm25createConstantHoistingPassEv"], "ConstantHoistingPass", Unit::LegacyFunction),
    (&["_ZN4llvm26createMergeICmpsLegacyPassEv"], "MergeICmpsPass", Unit::LegacyFunction),
    (&["_ZN4llvm22createExpandMemCmpPassEv", "_ZN4llvm28createExpandMemCmpLegacyPassEv"], "ExpandMemCmpPass", Unit::LegacyFunction),
    (&["_ZN4llvm31createPartiallyInlineLibCallsPassEv"], "PartiallyInlineLibCallsPass", Unit::LegacyFunction),
];

/// A number that tells threads apart: the address of the thread's control block, which costs one load.
fn this_thread() -> u64 {
    let at: u64;
    // SAFETY: the first word of the thread control block is its own address on x86-64 Linux.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) at, options(nostack, readonly, preserves_flags)) };
    at
}

/// Runs `action` on the recorder when this is its thread.
fn with(action: impl FnOnce(&mut Recorder)) {
    if let Some(owned) = RECORDER.get()
        && this_thread() == owned.thread
    {
        // SAFETY: one thread, and hooks do not nest: nothing the recorder calls is hooked.
        action(unsafe { &mut *owned.recorder.get() });
    }
}

/// What is hooked, apart from passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Hook {
    Construct,
    Clone,
    Destroy,
    Move,
    Remove,
    Replace,
    Merge,
    Drop,
    Track,
    Retrack,
    Untrack,
    Block,
    RecordCopy,
    Record,
    RecordDelete,
    Redescribe,
    Salvage,
}

impl Hook {
    const ALL: [Hook; 17] = [
        Hook::Construct,
        Hook::Clone,
        Hook::Destroy,
        Hook::Move,
        Hook::Remove,
        Hook::Replace,
        Hook::Merge,
        Hook::Drop,
        Hook::Track,
        Hook::Retrack,
        Hook::Untrack,
        Hook::Block,
        Hook::RecordCopy,
        Hook::Record,
        Hook::RecordDelete,
        Hook::Redescribe,
        Hook::Salvage,
    ];

    /// Whether it only serves variables.
    fn is_of_variables(self) -> bool {
        matches!(self, Hook::Record | Hook::RecordCopy | Hook::RecordDelete | Hook::Redescribe | Hook::Salvage)
    }

    /// Whether this version has the functions.
    fn is_in(self, major: u32) -> bool {
        !matches!(self, Hook::Record | Hook::RecordCopy | Hook::RecordDelete) || major >= 19
    }

    /// Beginnings of the mangled names of the functions that do this, in all versions.
    fn prefixes(self) -> &'static [&'static str] {
        match self {
            Hook::Construct => &["_ZN4llvm11InstructionC2E", "_ZN4llvm11InstructionC1E"],
            Hook::Clone => &["_ZNK4llvm11Instruction5cloneEv"],
            Hook::Destroy => &["_ZN4llvm11InstructionD2Ev", "_ZN4llvm11InstructionD1Ev"],
            Hook::Move => &[
                "_ZN4llvm11Instruction10moveBeforeE",
                "_ZN4llvm11Instruction9moveAfterE",
                "_ZN4llvm11Instruction20moveBeforePreservingE",
                "_ZN4llvm11Instruction19moveAfterPreservingE",
            ],
            Hook::Remove => &["_ZN4llvm11Instruction16removeFromParentEv"],
            Hook::Replace => &["_ZN4llvm5Value18replaceAllUsesWithEPS0_", "_ZN4llvm5Value26replaceNonMetadataUsesWithEPS0_"],
            Hook::Merge => &["_ZN4llvm11Instruction19applyMergedLocationE"],
            Hook::Drop => &["_ZN4llvm11Instruction12dropLocationEv"],
            Hook::Track => &["_ZN4llvm16MetadataTracking5trackEPv"],
            Hook::Retrack => &["_ZN4llvm16MetadataTracking7retrackEPv"],
            Hook::Untrack => &["_ZN4llvm16MetadataTracking7untrackEPv"],
            Hook::Block => &["_ZN4llvm10BasicBlockC2E", "_ZN4llvm10BasicBlockC1E"],
            Hook::RecordCopy => &["_ZN4llvm17DbgVariableRecordC2ERKS0_", "_ZN4llvm17DbgVariableRecordC1ERKS0_"],
            Hook::Record => &["_ZN4llvm17DbgVariableRecordC2E", "_ZN4llvm17DbgVariableRecordC1E"],
            Hook::RecordDelete => &["_ZN4llvm9DbgRecord12deleteRecordEv", "_ZN4llvm9DbgRecord15eraseFromParentEv"],
            Hook::Redescribe => &["_ZN4llvm15ValueAsMetadata10handleRAUWEPNS_5ValueES2_"],
            Hook::Salvage => {
                &["_ZN4llvm16salvageDebugInfoERNS_11InstructionE", "_ZN4llvm28salvageDebugInfoForDbgValuesERNS_11InstructionE"]
            }
        }
    }

    /// Without these there is nothing to analyse.
    fn required(self) -> bool {
        matches!(self, Hook::Construct | Hook::Clone | Hook::Destroy | Hook::Replace | Hook::Track | Hook::Retrack)
    }

    /// What is lost without it.
    fn loss(self) -> &'static str {
        match self {
            Hook::Move => "moves are only seen by comparing blocks",
            Hook::Remove => "taking an instruction out of its block is not seen",
            Hook::Merge => "merged locations are only seen by their value",
            Hook::Drop => "explicit drops look like missing locations",
            Hook::Block => "a new block at the address of a deleted one looks like the old one",
            Hook::Untrack => "cleared locations are only seen by their value",
            Hook::Record | Hook::RecordCopy => "debug records cannot be told apart",
            Hook::RecordDelete => "places where debug records are deleted are not known",
            Hook::Redescribe => "places where descriptions change are not known",
            Hook::Salvage => "attempts to salvage are not seen",
            _ => "nothing can be observed",
        }
    }
}

extern "C" fn before_call(frame: &Frame, id: u32) {
    with(|r| match Hook::ALL[id as usize] {
        Hook::Construct => r.constructed(frame),
        Hook::Clone => r.cloning(frame),
        Hook::Destroy => r.destroyed(frame),
        Hook::Move => r.called(frame, EventKind::Move),
        Hook::Remove => r.called(frame, EventKind::Remove),
        Hook::Replace => r.called(frame, EventKind::Replace),
        Hook::Merge => r.called(frame, EventKind::Merge),
        Hook::Drop => r.called(frame, EventKind::Drop),
        // track(slot, metadata, owner), retrack(old slot, metadata, new slot), untrack(slot, metadata)
        Hook::Track => r.tracked(frame, frame.rdi, frame.rsi),
        Hook::Retrack => r.tracked(frame, frame.rdx, frame.rsi),
        Hook::Untrack => r.tracked(frame, frame.rdi, 0),
        Hook::Block => r.block_constructed(frame),
        Hook::Record => r.record_constructed(frame, 0),
        Hook::RecordCopy => r.record_constructed(frame, frame.rsi),
        Hook::RecordDelete => r.record_deleted(frame),
        Hook::Redescribe => r.redescribed(frame),
        Hook::Salvage => r.salvaging(frame),
    });
}

extern "C" fn before_pass(frame: &Frame, id: u32) {
    with(|r| r.pass_started(frame, id));
}

extern "C" fn after_pass(preserved: u64, _id: u32) {
    with(|r| r.pass_finished(preserved));
}

extern "C" fn before_making(_: &Frame, _: u32) {}

/// A pass was made: from now on its kind is watched.
extern "C" fn after_making(pass: u64, kind: u32) {
    if let Some(legacy) = LEGACY_HOOKS.get()
        && this_thread() == legacy.thread
        && pass != 0
    {
        // SAFETY: one thread, and making a pass does not nest with itself; the first word of a pass is its table, which has this slot.
        unsafe {
            let table = *(pass as *const u64);
            let pool = &mut *legacy.pool.get();
            // A pass that cannot be hooked is not seen, and whoever asks for it is told that it did not run.
            let _ = pool.surround_slot(table + legacy.slot, before_pass, after_pass, legacy.hooks[kind as usize]);
        }
    }
}

/// The place of the function that runs a function pass within its table: where that of a class whose table and function
/// are both exported has it. Loop passes have theirs at the same place, the first behind what all passes have.
fn running_slot() -> Option<u64> {
    const MOST: u64 = 32;
    let table = capi::lookup("_ZTVN4llvm19MachineFunctionPassE")? as u64 + 16;
    let run = capi::lookup("_ZN4llvm19MachineFunctionPass13runOnFunctionERNS_8FunctionE")? as u64;
    // SAFETY: the table has more functions than come in front of this one, which ends the search.
    (0..MOST).map(|i| i * 8).find(|at| unsafe { *((table + at) as *const u64) } == run)
}

extern "C" fn at_exit() {
    with(Recorder::finish);
}

/// A function of libLLVM: address and size.
type Target = (u64, u64);

#[derive(Default)]
struct Targets {
    calls: Vec<(Hook, Target)>,
    passes: Vec<(PassHook, Target)>,
    /// Functions that make passes, by their place in [`LEGACY`].
    makers: Vec<(usize, Target)>,
}

impl Targets {
    fn find(image: &Image) -> Self {
        let mut targets = Self::default();
        // There are a hundred thousand symbols and few are ours: the cheap questions come first.
        image.for_each_function(|name, at, size| {
            if !name.starts_with(b"_ZN") {
                return;
            }
            if [
                &b"_ZN4llvm11Instruction"[..],
                b"_ZNK4llvm11Instruction",
                b"_ZN4llvm5Value",
                b"_ZN4llvm16MetadataTracking",
                b"_ZN4llvm10BasicBlock",
                b"_ZN4llvm17DbgVariableRecord",
                b"_ZN4llvm9DbgRecord",
                b"_ZN4llvm15ValueAsMetadata",
                b"_ZN4llvm16salvageDebugInfo",
                b"_ZN4llvm28salvageDebugInfo",
            ]
            .iter()
            .any(|class| name.starts_with(class))
            {
                let hook = Hook::ALL.into_iter().find(|h| h.prefixes().iter().any(|p| name.starts_with(p.as_bytes())));
                targets.calls.extend(hook.map(|hook| (hook, (at, size))));
            } else if names_run(name)
                && let Some(pass) = CStr::from_bytes_until_nul(name).ok().and_then(|name| name.to_str().ok()).and_then(pass_of)
            {
                targets.passes.push((pass, (at, size)));
            } else if name.starts_with(b"_ZN4llvm") && name[8..].iter().take(8).skip_while(|c| c.is_ascii_digit()).eq(b"create") {
                let named = |(makers, ..): &(&[&str], &str, Unit)| makers.iter().any(|m| name.starts_with(m.as_bytes()));
                targets.makers.extend(LEGACY.iter().position(named).map(|kind| (kind, (at, size))));
            }
        });
        // Complete-object and base-object constructors are one function under two names.
        targets.calls.sort_by_key(|(hook, target)| (target.0, *hook as u32));
        targets.calls.dedup_by_key(|(_, target)| target.0);
        targets.passes.sort_by_key(|(_, target)| target.0);
        targets.passes.dedup_by_key(|(_, target)| target.0);
        targets
    }

    fn missing(&self, major: u32, variables: bool) -> Vec<Hook> {
        let wanted = |hook: &Hook| hook.is_in(major) && (variables || !hook.is_of_variables());
        Hook::ALL.into_iter().filter(|hook| wanted(hook) && !self.calls.iter().any(|(h, _)| h == hook)).collect()
    }
}

/// Whether a mangled name is that of a member `run` of a class whose name ends in `Pass`: steps from name to name by their
/// lengths, so that most symbols are told by a dozen bytes.
fn names_run(mangled: &[u8]) -> bool {
    let Some(mut rest) = mangled.strip_prefix(b"_ZN") else { return false };
    let mut last: &[u8] = b"";
    loop {
        let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        let Some(length) = std::str::from_utf8(&rest[..digits]).ok().and_then(|d| d.parse::<usize>().ok()) else { return false };
        let Some(name) = rest.get(digits..digits + length) else { return false };
        rest = &rest[digits + length..];
        if name == b"run" {
            return last.ends_with(b"Pass") && rest.starts_with(b"ER");
        }
        last = name;
    }
}

/// The pass whose `run` has this mangled name.
fn pass_of(name: &str) -> Option<PassHook> {
    let at = name.find("Pass3runER")? + "Pass".len();
    let (class, arguments) = (last_component(&name[..at])?, &name[at + "3runER".len()..]);
    let unit = if arguments.starts_with("NS_8FunctionERNS_15AnalysisManager") {
        Unit::Function
    } else if arguments.starts_with("NS_4LoopERNS_15AnalysisManager") {
        Unit::Loop
    } else if arguments.starts_with("NS_8LoopNestERNS_15AnalysisManager") {
        Unit::LoopNest
    } else if arguments.starts_with("NS_6ModuleERNS_15AnalysisManager") {
        Unit::Module
    } else if arguments.starts_with("NS_13LazyCallGraph3SCCERNS_15AnalysisManager") {
        Unit::Component
    } else {
        return None;
    };
    let watch = if class.contains("Print")
        || class.contains("Verif")
        || class.contains("Writer")
        || class.contains("Viewer")
        || class.contains("Lint")
    {
        Watch::Pure
    } else if class.contains("Debugify")
        || class.contains("Strip")
        || class.contains("Wrapper")
        || class.contains("Repeated")
        || class.contains("Adaptor")
    {
        Watch::Ignore
    } else {
        Watch::Observe
    };
    Some(PassHook { name: class.to_owned(), unit, watch })
}

/// The last name of a mangled sequence of length-prefixed names: of the digits in front of a name, those that
/// say its length count, since names may contain digits themselves.
fn last_component(mangled: &str) -> Option<&str> {
    let starts = mangled.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at);
    starts.into_iter().find_map(|at| {
        let digits = mangled[at..].bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = mangled[at..at + digits].parse().ok()?;
        (at + digits + length == mangled.len()).then(|| &mangled[at + digits..])
    })
}

/// The major version, from the library's file name: `libLLVM-16.so.1`, `libLLVM.so.19.1`.
fn major_of(path: &str) -> Option<u32> {
    let file = path.rsplit('/').next()?.strip_prefix("libLLVM")?;
    let digits = file.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Whether a process is the one to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It has a libLLVM; the stream says what came of it.
    Here,
    /// It has none.
    NotHere,
}

/// Installs all hooks in a process that has a libLLVM and leaves others alone: the driver of a toolchain is often
/// a shell script.
pub fn install(output: &Path) -> Installed {
    let Some(image) = image::find_llvm() else { return Installed::NotHere };
    match Stream::create(output) {
        Some(stream) => install_in(&image, stream),
        None => eprintln!("trueline: cannot write {}", output.display()),
    }
    Installed::Here
}

fn install_in(image: &Image, mut stream: Stream) {
    stream.write(MAGIC);
    let refuse = |mut stream: Stream, reason: String| {
        let mut encoder = crate::wire::Encoder::default();
        encoder.record(&Record::Refused(reason));
        stream.write(&encoder.bytes);
        stream.finish();
    };
    let Some(major) = major_of(&image.path) else {
        return refuse(stream, format!("{} does not tell its version", image.path));
    };
    if !(OLDEST..=NEWEST).contains(&major) {
        let text = "objects are laid out another way in each version, and this one was not tried";
        return refuse(stream, format!("{} is LLVM {major}; versions {OLDEST} to {NEWEST} can be watched: {text}", image.path));
    }
    let api = match Api::resolve() {
        Ok(api) => api,
        Err(symbol) => return refuse(stream, format!("{} does not export {symbol}", image.path)),
    };
    let targets = Targets::find(image);
    let with_variables = std::env::var_os(crate::VARIABLES_VARIABLE).is_some();
    let missing = targets.missing(major, with_variables);
    if let Some(hook) = missing.iter().find(|h| h.required()) {
        return refuse(stream, format!("{} does not export {}", image.path, hook.prefixes()[0]));
    }
    let Some(mut pool) = Pool::near(image) else {
        return refuse(stream, "no memory within reach of libLLVM".to_owned());
    };
    let unwinder = Unwinder::new(image);
    let all_preserved = capi::lookup("_ZN4llvm17PreservedAnalyses14AllAnalysesKeyE").map_or(0, |at| at as u64);

    let mut losses: Vec<String> = missing.iter().map(|h| h.loss().to_owned()).collect();
    if unwinder.is_none() {
        losses.push("call sites are unknown: libLLVM has no unwind table".to_owned());
    }
    let mut recorder = Recorder::new(&api, stream, unwinder, all_preserved, major, pool.switch());
    if with_variables {
        match Variables::new(major) {
            Ok(variables) => recorder.watch_variables(variables),
            Err(symbol) => losses.push(format!("variables are not watched: {} does not export {symbol}", image.path)),
        }
    }
    for (pass, _) in &targets.passes {
        recorder.passes.push(PassHook { name: pass.name.clone(), unit: pass.unit, watch: pass.watch });
    }
    let mut makers = Vec::new();
    for (kind, target) in &targets.makers {
        let (_, name, unit) = LEGACY[*kind];
        makers.push((*kind, recorder.passes.len() as u32, *target));
        recorder.passes.push(PassHook { name: name.to_owned(), unit, watch: Watch::Observe });
    }
    for (hook, (at, size)) in targets.calls.iter().filter(|(hook, _)| with_variables || !hook.is_of_variables()) {
        // Deaths between passes matter too: they end what is known of a function.
        let when = if *hook == Hook::Destroy { When::Always } else { When::On };
        if let Err(reason) = pool.observe(*at, *size, before_call, *hook as u32, when) {
            if hook.required() {
                recorder.emit(&Record::Refused(format!("{} of {} cannot be hooked: {reason}", hook.prefixes()[0], image.path)));
                return recorder.finish();
            }
            losses.push(format!("{}: {reason}", hook.loss()));
        }
    }
    for (index, (pass, (at, size))) in targets.passes.iter().enumerate() {
        if let Err(reason) = pool.surround(*at, *size, before_pass, after_pass, index as u32) {
            losses.push(format!("{} is not watched: {reason}", pass.name));
        }
    }
    let slot = running_slot();
    let mut hooks = vec![0; LEGACY.len()];
    for (kind, index, (at, size)) in makers {
        hooks[kind] = index;
        let made = slot.map(|_| pool.surround(at, size, before_making, after_making, kind as u32));
        if let Some(Err(reason)) = made {
            losses.push(format!("{} of the code generator is not watched: {reason}", LEGACY[kind].1));
        }
    }
    if let Err(reason) = pool.install() {
        recorder.emit(&Record::Refused(format!("{} cannot be hooked: {reason}", image.path)));
        return recorder.finish();
    }
    recorder.emit(&Record::Header { major, library: image.path.clone(), losses });
    let owned = Owned { thread: this_thread(), recorder: UnsafeCell::new(recorder) };
    let _ = RECORDER.set(owned);
    if let Some(slot) = slot {
        let _ = LEGACY_HOOKS.set(Legacy { thread: this_thread(), pool: UnsafeCell::new(pool), slot, hooks });
    }
    // SAFETY: registers a plain function to run at exit.
    unsafe { libc::atexit(at_exit) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_library_names() {
        assert_eq!(major_of("/lib/x86_64-linux-gnu/libLLVM-16.so.1"), Some(16));
        assert_eq!(major_of("/usr/lib/libLLVM.so.19.1"), Some(19));
        assert_eq!(major_of("libLLVM.so"), None);
    }

    #[test]
    fn a_pass_is_recognised_by_its_mangled_run() {
        let name = "_ZN4llvm8LICMPass3runERNS_4LoopERNS_15AnalysisManagerIS1_JRNS_27LoopStandardAnalysisResultsEEEES5_RNS_10LPMUpdaterE";
        let pass = pass_of(name).unwrap();
        assert_eq!((pass.name.as_str(), pass.unit, pass.watch), ("LICMPass", Unit::Loop, Watch::Observe));
        assert!(names_run(name.as_bytes()));
        assert!(pass_of("_ZN4llvm11Instruction5cloneEv").is_none());
        assert!(!names_run(b"_ZN4llvm11Instruction5cloneEv\0_ZN4llvm8LICMPass3runER"));
        assert!(!names_run(b"_ZN4llvm8LICMPass4nameEv"));
        let float = pass_of("_ZN4llvm13Float2IntPass3runERNS_8FunctionERNS_15AnalysisManagerIS1_JEEE").unwrap();
        assert_eq!(float.name, "Float2IntPass");
        let printer = pass_of("_ZN4llvm17PrintFunctionPass3runERNS_8FunctionERNS_15AnalysisManagerIS1_JEEE").unwrap();
        assert_eq!(printer.watch, Watch::Pure);
    }
}
