//! The instructions of a build that may have an effect.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use trueline_dwarf::{BlockKind, Module};
use trueline_machine::emulate::DecodedCode;
use trueline_machine::image::Image;
use trueline_machine::library;
use trueline_machine::symbolic::call::Effect;
use trueline_model::{LineEffect, LineKey};
use trueline_trace::TraceRequest;

/// What an instruction may do.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// It calls a function without debug information.
    Call(Arc<str>),
    /// It is the entry of one of the user's functions.
    Enter(Arc<str>),
    /// It writes memory other than a slot of the frame.
    Store(Instruction),
}

/// A build with the places where effects happen.
#[derive(Debug)]
pub(super) struct Build {
    pub(super) image: Arc<Image>,
    pub(super) debug: Arc<Module>,
    pub(super) acts: HashMap<u64, Act>,
    /// Calls by the address that they return to.
    pub(super) calls: HashMap<u64, u64>,
    /// The lines of a function that may have an effect, whether or not they run.
    pub(super) alike: HashMap<(Arc<str>, LineEffect), BTreeSet<LineKey>>,
    /// How many instructions may have an effect.
    pub(super) sites: HashMap<LineEffect, usize>,
}

impl Build {
    /// Reads a build; `None` when it is not an image that can be decoded.
    pub(super) fn read(request: &TraceRequest, debug: &Arc<Module>) -> Option<Self> {
        let image = Arc::new(Image::open(&request.binary).ok()?);
        let (acts, calls, alike, sites) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        let mut build = Self { image, debug: Arc::clone(debug), acts, calls, alike, sites };
        build.find();
        Some(build)
    }

    fn find(&mut self) {
        let debug = Arc::clone(&self.debug);
        let image = Arc::clone(&self.image);
        let code = DecodedCode::new(&image);
        let names: HashMap<u64, &str> = image.symbols.iter().filter(|s| s.function).map(|s| (s.address, &*s.name)).collect();
        let mut factory = InstructionInfoFactory::new();
        for function in &debug.functions {
            if &*function.name != "main" {
                self.acts.insert(function.entry(), Act::Enter(Arc::clone(&function.name)));
            }
            for &(low, high) in &function.ranges {
                let Some(bytes) = debug.code_at(low) else { continue };
                let bytes = &bytes[..bytes.len().min((high - low) as usize)];
                for instruction in &mut Decoder::with_ip(64, bytes, low, DecoderOptions::NONE) {
                    let ip = instruction.ip();
                    let callee = match instruction.flow_control() {
                        FlowControl::Call | FlowControl::UnconditionalBranch => {
                            let to = instruction.near_branch64();
                            let of_user = debug.function_at(to).filter(|f| debug.function(*f).entry() == to);
                            if let (FlowControl::Call, Some(f)) = (instruction.flow_control(), of_user) {
                                self.note_line(ip, LineEffect::Call { callee: Arc::clone(&debug.function(f).name) });
                            }
                            let inside = debug.function_at(to).is_some();
                            let named = || code.outside(to).or_else(|| names.get(&to).map(|n| (*n).to_owned()));
                            if inside { None } else { named() }
                        }
                        FlowControl::IndirectCall | FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {
                            image.outside.get(&instruction.ip_rel_memory_address()).cloned()
                        }
                        _ => None,
                    };
                    if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
                        self.calls.insert(instruction.next_ip(), ip);
                    }
                    if let Some(callee) = callee.and_then(|name| visible(&name)) {
                        self.note_line(ip, LineEffect::Call { callee: Arc::clone(&callee) });
                        self.acts.insert(ip, Act::Call(callee));
                    } else if stores(&instruction, &mut factory) {
                        if instruction.is_ip_rel_memory_operand()
                            && let Some(symbol) = image.symbol_near(instruction.ip_rel_memory_address())
                        {
                            self.note_line(ip, LineEffect::Store { object: symbol.name.as_str().into() });
                        }
                        self.acts.entry(ip).or_insert(Act::Store(instruction));
                    }
                }
            }
        }
    }

    fn note_line(&mut self, pc: u64, effect: LineEffect) {
        *self.sites.entry(effect.clone()).or_default() += 1;
        if let (Some(function), Some(line)) = (self.function_at(pc), self.line_at(pc)) {
            self.alike.entry((function, effect)).or_default().insert(line);
        }
    }

    /// The line of the row around an address.
    pub(super) fn line_at(&self, pc: u64) -> Option<LineKey> {
        self.debug.row_around(pc).and_then(|row| self.debug.line_key(row.file, row.line))
    }

    /// The functions at an address, innermost first, inlined ones included.
    pub(super) fn functions_at(&self, pc: u64) -> Vec<Arc<str>> {
        let name = |kind: &BlockKind, function| match kind {
            BlockKind::Lexical => None,
            BlockKind::Inlined { name, .. } => Some(Arc::clone(name)),
            BlockKind::Function => Some(Arc::clone(&self.debug.function(function).name)),
        };
        self.debug.chain_at(pc).into_iter().map(|b| self.debug.block(b)).filter_map(|b| name(&b.kind, b.function)).collect()
    }

    /// The innermost function at an address.
    pub(super) fn function_at(&self, pc: u64) -> Option<Arc<str>> {
        self.functions_at(pc).into_iter().next()
    }

    /// How many instructions may have an effect.
    pub(super) fn sites_of(&self, effect: &LineEffect) -> usize {
        self.sites.get(effect).copied().unwrap_or(0)
    }

    /// The lines that may have an effect.
    pub(super) fn lines(&self) -> BTreeSet<LineKey> {
        let stores = self.acts.iter().filter(|(_, act)| matches!(act, Act::Store(_))).filter_map(|(pc, _)| self.line_at(*pc));
        self.alike.values().flatten().cloned().chain(stores).collect()
    }
}

/// A function of a library as effects name it; `None` for one whose calls a compiler may drop, make up or move.
fn visible(name: &str) -> Option<Arc<str>> {
    const PRINTS: [&str; 16] = [
        "printf",
        "puts",
        "putchar",
        "fputs",
        "fputc",
        "putc",
        "_IO_putc",
        "fwrite",
        "fprintf",
        "vprintf",
        "vfprintf",
        "__printf_chk",
        "__fprintf_chk",
        "__vprintf_chk",
        "__vfprintf_chk",
        "putchar_unlocked",
    ];
    const ALLOCATES: [&str; 8] =
        ["malloc", "calloc", "realloc", "free", "aligned_alloc", "__rust_alloc", "__rust_dealloc", "__rust_realloc"];
    let plain = library::plain(name);
    if PRINTS.contains(&plain) {
        return Some("output".into());
    }
    let is_known = library::model(plain).is_some_and(|m| m.effect != Effect::Writes || plain.starts_with("mem") || plain.starts_with("st"));
    let is_built_in = ["mem", "str", "stp", "bcmp", "bcopy", "bzero", "llvm.", "__mem", "__str"].iter().any(|p| plain.starts_with(p));
    let drop =
        is_known || is_unwinding(plain) || is_built_in || ALLOCATES.contains(&plain) || is_operator_new(plain) || is_mathematics(plain);
    (!drop && plain != "?").then(|| plain.into())
}

/// The allocating and deallocating operators of C++, which a compiler may leave out where a new-expression or a coroutine calls
/// them.
fn is_operator_new(name: &str) -> bool {
    ["_Znw", "_Zna", "_Zdl", "_Zda"].iter().any(|operator| name.starts_with(operator))
}

/// How a landing pad ends that only cleans up: the exception goes on, which no line of the source says.
fn is_unwinding(name: &str) -> bool {
    ["_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "__cxa_end_cleanup"].contains(&name)
}

/// The functions of the mathematical library and of the compilers' own arithmetic, in all their precisions.
fn is_mathematics(name: &str) -> bool {
    const STEMS: [&str; 44] = [
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "pow",
        "sqrt",
        "cbrt",
        "hypot",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fmod",
        "fmin",
        "fmax",
        "fabs",
        "ldexp",
        "frexp",
        "lround",
        "llround",
        "lrint",
        "llrint",
        "rint",
        "nearbyint",
        "remainder",
        "copysign",
        "fma",
        "sincos",
        "ilogb",
        "scalbn",
        "abs",
    ];
    let stem = name.strip_suffix(['f', 'l']).unwrap_or(name);
    STEMS.contains(&stem) || STEMS.contains(&name) || (name.starts_with("__") && name.ends_with(['2', '3']))
}

/// True for an instruction that writes memory, other than by the stack pointer and in the usual frame at -O0.
fn stores(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> bool {
    if instruction.flow_control() != FlowControl::Next || instruction.mnemonic() == Mnemonic::Push {
        return false;
    }
    let writes = |access| matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
    let in_frame = |base: Register, index: Register| base == Register::RSP || (base == Register::RBP && index == Register::None);
    factory.info(instruction).used_memory().iter().any(|m| writes(m.access()) && !in_frame(m.base(), m.index()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_may_leave_out_is_no_effect_and_what_prints_is_one() {
        for may_go in ["malloc", "_Znwm@GLIBCXX_3.4", "_ZdaPvm", "memcpy", "__strcpy_chk", "sqrtf"] {
            assert_eq!(visible(may_go), None, "{may_go}");
        }
        assert_eq!(visible("printf@GLIBC_2.2.5").as_deref(), Some("output"));
        assert_eq!(visible("_ZNSolsEi").as_deref(), Some("_ZNSolsEi"));
    }
}
