//! Reads what describes source variables: `llvm.dbg.*` calls (until LLVM 18) and debug records (since 19), their values,
//! expressions and variables, and of other values what a proof needs: widths, constants, predicates, offsets.
//!
//! Nothing is created: wrapping metadata as a value would change the module. What LLVM exports no reader for is read
//! from its objects, whose layout is written down here per version; versions beyond the newest one tried are refused
//! before anything is read.

use crate::capi::{Ref, lookup};
use crate::fast::{FastMap, FastSet, Recent};
use crate::wire::{ConstantKind, Encoder, POINTER, Record, VariableKind, known};
use std::ffi::{c_char, c_void};

/// Kinds of metadata, which stand first in every version: a constant and a local value as metadata.
const CONSTANT_AS_METADATA: u8 = 1;
const LOCAL_AS_METADATA: u8 = 2;
/// More words than any `ValueAsMetadata` has.
const METADATA_WORDS: u64 = 32;
/// Longer expressions and lists are not what LLVM makes.
const MOST_ELEMENTS: u64 = 512;

/// What text LLVM gives as a pointer and a length.
#[repr(C)]
struct Text {
    at: *const u8,
    length: usize,
}

/// What LLVM returns of type `optional<uint64_t>`: two registers.
#[repr(C)]
struct MaybeSize {
    value: u64,
    present: u8,
}

macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident = $($symbol:literal)|+ : fn($($arg:ty),*) -> $result:ty;)*) => {
        #[derive(Clone, Copy)]
        struct Functions { $($(#[$doc])* $field: unsafe extern "C" fn($($arg),*) -> $result,)* }

        impl Functions {
            fn resolve() -> Result<Self, &'static str> {
                Ok(Self { $($field: {
                    let at = None$(.or_else(|| lookup($symbol)))+.ok_or([$($symbol),+][0])?;
                    // SAFETY: the symbol is LLVM's function of exactly this type.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $result>(at) }
                },)* })
            }
        }
    };
}

functions! {
    metadata_operands = "LLVMGetMDNodeOperands": fn(Ref, *mut Ref) -> ();
    variable_line = "LLVMDIVariableGetLine": fn(Ref) -> u32;
    variable_scope = "LLVMDIVariableGetScope": fn(Ref) -> Ref;
    type_of = "LLVMTypeOf": fn(Ref) -> Ref;
    type_kind = "LLVMGetTypeKind": fn(Ref) -> u32;
    integer_width = "LLVMGetIntTypeWidth": fn(Ref) -> u32;
    predicate = "LLVMGetICmpPredicate": fn(Ref) -> u32;
    float_predicate = "LLVMGetFCmpPredicate": fn(Ref) -> u32;
    metadata_of = "LLVMInstructionGetAllMetadataOtherThanDebugLoc": fn(Ref, *mut usize) -> Ref;
    metadata_kind = "LLVMValueMetadataEntriesGetKind": fn(Ref, u32) -> u32;
    dispose_metadata = "LLVMDisposeValueMetadataEntries": fn(Ref) -> ();
    attribute_kind = "LLVMGetEnumAttributeKindForName": fn(*const c_char, usize) -> u32;
    attribute_of = "LLVMGetEnumAttributeAtIndex": fn(Ref, u32, u32) -> Ref;
    is_constant_int = "LLVMIsAConstantInt": fn(Ref) -> Ref;
    is_undefined = "LLVMIsAUndefValue": fn(Ref) -> Ref;
    is_null = "LLVMIsAConstantPointerNull": fn(Ref) -> Ref;
    constant_value = "LLVMConstIntGetZExtValue": fn(Ref) -> u64;
    value_name = "LLVMGetValueName2": fn(Ref, *mut usize) -> *const c_char;
    called = "LLVMGetCalledValue": fn(Ref) -> Ref;
    module_of = "LLVMGetGlobalParent": fn(Ref) -> Ref;
    data_layout = "LLVMGetModuleDataLayout": fn(Ref) -> Ref;
    allocated_size = "LLVMABISizeOfType": fn(Ref, Ref) -> u64;
    field_offset = "LLVMOffsetOfElement": fn(Ref, Ref, u32) -> u64;
    field_type = "LLVMStructGetTypeAtIndex": fn(Ref, u32) -> Ref;
    element_type = "LLVMGetElementType": fn(Ref) -> Ref;
    text = "_ZNK4llvm8MDString9getStringEv": fn(Ref) -> Text;
    subprogram = "_ZNK4llvm12DILocalScope13getSubprogramEv": fn(Ref) -> Ref;
    size = "_ZNK4llvm10DIVariable13getSizeInBitsEv": fn(Ref) -> MaybeSize;
}

/// What a value is, told by its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    NotAsked,
    Integer,
    Undefined,
    Null,
    Other,
}

/// Reads descriptions of variables.
pub struct Variables {
    functions: Functions,
    source_type: Option<unsafe extern "C" fn(Ref) -> Ref>,
    first_location: Option<unsafe extern "C" fn(Ref, u32) -> Ref>,
    major: u32,
    /// Whether values begin with their type, as they did before LLVM 18; since then they begin with their class.
    type_first: bool,
    /// Distance of the value within a `ValueAsMetadata`, learnt from the first one.
    value_offset: Option<u64>,
    /// By the number that a value's class has in this version.
    classes: [Class; 256],
    types: FastMap<u64, u32>,
    written: FastSet<u64>,
    recent: Recent,
    /// What was met for the first time, to be written behind the snapshot.
    pub fresh: Vec<Record>,
    layout: Ref,
    /// The number of the attribute `range`, 0 where there is none.
    range_attribute: u32,
}

/// Code of a type that is neither an integer nor a pointer.
const OTHER_TYPE: u32 = 0;
/// Code of metadata that is an argument.
const METADATA: u32 = 1 << 25;

impl Variables {
    /// The reader for a version, or the name of a function that this LLVM does not export.
    pub fn new(major: u32) -> Result<Self, &'static str> {
        // SAFETY: LLVM's functions of exactly these types.
        let (source_type, first_location) = unsafe {
            (
                lookup("LLVMGetGEPSourceElementType").map(|at| std::mem::transmute::<Ref, unsafe extern "C" fn(Ref) -> Ref>(at)),
                lookup("_ZNK4llvm17DbgVariableRecord21getVariableLocationOpEj")
                    .map(|at| std::mem::transmute::<Ref, unsafe extern "C" fn(Ref, u32) -> Ref>(at)),
            )
        };
        let functions = Functions::resolve()?;
        // SAFETY: a name with its length.
        let range_attribute = unsafe { (functions.attribute_kind)(c"range".as_ptr(), 5) };
        Ok(Self {
            functions,
            range_attribute,
            source_type,
            first_location,
            major,
            type_first: false,
            value_offset: None,
            classes: [Class::NotAsked; 256],
            types: FastMap::default(),
            written: FastSet::default(),
            recent: Recent::default(),
            fresh: Vec::new(),
            layout: std::ptr::null_mut(),
        })
    }

    /// Turns to a function.
    ///
    /// # Safety
    /// `function` must be a live function.
    pub unsafe fn turn_to(&mut self, function: Ref) {
        // SAFETY: as the caller promises; a function is a value.
        unsafe {
            self.layout = (self.functions.data_layout)((self.functions.module_of)(function));
            self.type_first = *(function.cast::<Ref>()) == (self.functions.type_of)(function);
        }
    }

    /// Whether debug records stand in front of instructions in this version.
    fn has_records(&self) -> bool {
        self.major >= 19
    }

    /// The width of an integer type, or a code for pointers and for others.
    ///
    /// # Safety
    /// `of` must be a live type.
    unsafe fn type_code(&mut self, of: Ref) -> u32 {
        let f = self.functions;
        // SAFETY: a live type, asked for its width only if it is an integer (kind 8); pointers are kind 12.
        *self.types.entry(of as u64).or_insert_with(|| unsafe {
            match (f.type_kind)(of) {
                8 => (f.integer_width)(of),
                12 => POINTER,
                14 => METADATA,
                _ => OTHER_TYPE,
            }
        })
    }

    /// The code of a value's type.
    ///
    /// # Safety
    /// `value` must be a live value.
    pub unsafe fn type_of(&mut self, value: Ref) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { self.type_code((self.functions.type_of)(value)) }
    }

    /// Where a value holds its type.
    fn type_offset(&self) -> u64 {
        if self.type_first { 0 } else { 8 }
    }

    /// Where a value holds its class.
    fn class_offset(&self) -> u64 {
        if self.type_first { 16 } else { 0 }
    }

    /// Whether a value is metadata: an argument of an intrinsic.
    ///
    /// # Safety
    /// `value` must be a live value.
    pub unsafe fn is_metadata(&mut self, value: u64) -> bool {
        // SAFETY: a live value, which holds its type here.
        unsafe { self.type_code(*((value + self.type_offset()) as *const Ref)) == METADATA }
    }

    /// Describes a value that is a constant number, once.
    ///
    /// # Safety
    /// `value` must be a live value.
    pub unsafe fn mention(&mut self, value: u64) {
        if value == 0 || self.recent.saw(value) {
            return;
        }
        // SAFETY: a live value, which holds its class here.
        unsafe {
            let number = *((value + self.class_offset()) as *const u8) as usize;
            if self.classes[number] == Class::NotAsked {
                self.classes[number] = self.class_of(value as Ref);
            }
            let class = self.classes[number];
            if class == Class::Other || !self.written.insert(value) {
                return;
            }
            let width = self.type_of(value as Ref);
            let kind = match class {
                Class::Integer if width <= 64 => ConstantKind::Integer((self.functions.constant_value)(value as Ref)),
                Class::Undefined => ConstantKind::Undefined,
                Class::Null => ConstantKind::Null,
                _ => return,
            };
            self.fresh.push(Record::Constant { at: value, width, kind });
        }
    }

    /// # Safety
    /// `value` must be a live value.
    unsafe fn class_of(&self, value: Ref) -> Class {
        // SAFETY: as the caller promises.
        unsafe {
            if !(self.functions.is_constant_int)(value).is_null() {
                Class::Integer
            } else if !(self.functions.is_undefined)(value).is_null() {
                Class::Undefined
            } else if !(self.functions.is_null)(value).is_null() {
                Class::Null
            } else {
                Class::Other
            }
        }
    }

    /// The condition of a comparison, of floating-point numbers or integers.
    ///
    /// # Safety
    /// `inst` must be a live `fcmp` or `icmp`, as `is_float` says.
    pub unsafe fn predicate(&self, inst: Ref, is_float: bool) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { if is_float { (self.functions.float_predicate)(inst) } else { (self.functions.predicate)(inst) } }
    }

    /// What a value holds beside its class: flags and predicates, which a pass may change in place.
    ///
    /// # Safety
    /// `value` must be a live value.
    pub unsafe fn subclass(&self, value: Ref) -> u64 {
        // The lowest bit beside the class says that something watches the value.
        const HANDLED: u32 = 1 << 8;
        // SAFETY: class, flags and predicate are the four bytes from here, in every version.
        unsafe { u64::from(*((value as u64 + self.class_offset()) as *const u32) & !HANDLED) }
    }

    /// What an instruction says of its result: the flags of arithmetic, comparisons and conversions, and whether a load
    /// has a range.
    ///
    /// # Safety
    /// `inst` must be a live instruction of this opcode.
    pub unsafe fn known(&self, inst: Ref, opcode: u32) -> u8 {
        const LOAD: u32 = 27;
        // Arithmetic, `trunc`, `zext` and `icmp`.
        if matches!(opcode, 8..=25 | 30 | 31 | 42) {
            // SAFETY: the flags are above the lowest bit of the byte behind the class.
            return unsafe { *((inst as u64 + self.class_offset() + 1) as *const u8) >> 1 } & (known::FIRST | known::SIGNED);
        }
        // SAFETY: a live instruction, whose list of metadata is given back.
        if opcode == LOAD && unsafe { self.has_range(inst) } { known::RANGED } else { 0 }
    }

    /// # Safety
    /// `inst` must be a live instruction.
    unsafe fn has_range(&self, inst: Ref) -> bool {
        /// LLVM's fixed number of `!range`.
        const RANGE: u32 = 4;
        let f = self.functions;
        // SAFETY: as the caller promises.
        unsafe {
            let mut count = 0;
            let entries = (f.metadata_of)(inst, &raw mut count);
            let found = (0..count as u32).any(|index| (f.metadata_kind)(entries, index) == RANGE);
            (f.dispose_metadata)(entries);
            found
        }
    }

    /// Whether an attribute says in which range an argument is; the first has the number 1.
    ///
    /// # Safety
    /// `function` must be a live function.
    pub unsafe fn is_ranged_argument(&self, function: Ref, number: u32) -> bool {
        // SAFETY: as the caller promises; a number of 0 stands for an attribute that this version does not have.
        self.range_attribute != 0 && unsafe { !(self.functions.attribute_of)(function, number, self.range_attribute).is_null() }
    }

    /// What each index of a `getelementptr` is multiplied with, and the bytes that its constant fields add; `None` where
    /// a size is not a plain number.
    ///
    /// # Safety
    /// `inst` must be a live `getelementptr` with these operands.
    pub unsafe fn scales(&mut self, inst: Ref, operands: &[u64]) -> Option<(Vec<u64>, u64)> {
        let f = self.functions;
        let (mut scales, mut offset) = (Vec::new(), 0u64);
        // SAFETY: a live instruction and the types that its indices go through.
        unsafe {
            let mut current = match self.source_type {
                Some(source_type) => source_type(inst),
                None => (f.element_type)((f.type_of)(*operands.first()? as Ref)),
            };
            for (position, index) in operands.iter().skip(1).enumerate() {
                let kind = (f.type_kind)(current);
                // 10 is a struct, 11 an array; the first index steps over whole objects. Vectors may be scalable.
                if position > 0 && kind == 10 {
                    if (f.is_constant_int)(*index as Ref).is_null() {
                        return None;
                    }
                    let field = u32::try_from((f.constant_value)(*index as Ref)).ok()?;
                    offset = offset.wrapping_add((f.field_offset)(self.layout, current, field));
                    current = (f.field_type)(current, field);
                    scales.push(0);
                    continue;
                }
                if position > 0 {
                    if kind != 11 {
                        return None;
                    }
                    current = (f.element_type)(current);
                }
                if !self.is_plain(current) {
                    return None;
                }
                scales.push((f.allocated_size)(self.layout, current));
            }
        }
        Some((scales, offset))
    }

    /// Whether a type has a size that is a plain number: numbers, pointers, structs and arrays of these.
    ///
    /// # Safety
    /// `of` must be a live type.
    unsafe fn is_plain(&self, of: Ref) -> bool {
        // SAFETY: as the caller promises.
        let kind = unsafe { (self.functions.type_kind)(of) };
        matches!(kind, 1..=6 | 8 | 10 | 11 | 12)
    }

    /// The debug records in front of an instruction, each given to `each`.
    ///
    /// # Safety
    /// `inst` must be a live instruction whose location stands at `location_offset`.
    pub unsafe fn for_each_record(&self, inst: Ref, location_offset: u64, mut each: impl FnMut(u64)) {
        if !self.has_records() {
            return;
        }
        // SAFETY: behind the location stand the order and the marker; the marker names its instruction and begins a ring of
        // records, of which the first word of a node leads back and the second on.
        unsafe {
            let word = |at: u64| *(at as *const u64);
            let marker = word(inst as u64 + location_offset + 16);
            if marker == 0 || word(marker) != inst as u64 {
                return;
            }
            let ring = marker + 8;
            let mut node = word(ring + 8);
            while node != ring && node != 0 {
                // Records of labels describe no variable.
                if *((node + 32) as *const u8) == 0 {
                    each(node);
                }
                node = word(node + 8);
            }
        }
    }

    /// The words of a record that say what it describes: location, variable, expression, kind, place, address, mark.
    ///
    /// # Safety
    /// `record` must be a live record of a variable.
    unsafe fn record_words(record: u64) -> Description {
        // SAFETY: the layout of DbgVariableRecord in LLVM 19 to 22.
        unsafe {
            let word = |at: u64| *((record + at) as *const u64);
            let kind = match *((record + 64) as *const u8) {
                0 | 3 => VariableKind::Declare,
                2 => VariableKind::Assign,
                _ => VariableKind::Value,
            };
            let is_assign = kind == VariableKind::Assign;
            Description {
                kind,
                value: word(40),
                variable: word(72),
                expression: word(80),
                location: word(24),
                address: if is_assign { word(48) } else { 0 },
                mark: if is_assign { word(56) } else { 0 },
            }
        }
    }

    /// What a call describes, if it is one of `llvm.dbg.*`.
    ///
    /// # Safety
    /// `inst` must be a live call with these operands, the callee last.
    unsafe fn call_words(&self, inst: Ref, operands: &[u64], location: u64) -> Option<Description> {
        // SAFETY: a live call; arguments that are metadata hold it behind the fields of a value.
        unsafe {
            let kind = match self.debug_callee(inst)? {
                b"llvm.dbg.value" => VariableKind::Value,
                b"llvm.dbg.declare" | b"llvm.dbg.addr" => VariableKind::Declare,
                b"llvm.dbg.assign" => VariableKind::Assign,
                _ => return None,
            };
            let metadata = |index: usize| operands.get(index).map(|at| *((at + 24) as *const u64));
            let is_assign = kind == VariableKind::Assign;
            Some(Description {
                kind,
                value: metadata(0)?,
                variable: metadata(1)?,
                expression: metadata(2)?,
                location,
                mark: if is_assign { metadata(3)? } else { 0 },
                address: if is_assign { metadata(4)? } else { 0 },
            })
        }
    }

    /// The name of the debug intrinsic that a call calls.
    ///
    /// # Safety
    /// `inst` must be a live call.
    unsafe fn debug_callee(&self, inst: Ref) -> Option<&[u8]> {
        // SAFETY: as the caller promises; the name lives as long as the function.
        unsafe {
            let called = (self.functions.called)(inst);
            let mut length = 0;
            let at = (self.functions.value_name)(called, &raw mut length);
            let name = if at.is_null() { &[][..] } else { std::slice::from_raw_parts(at.cast::<u8>(), length) };
            name.starts_with(b"llvm.dbg.").then_some(name)
        }
    }

    /// Gives the words of a record to `each`, so that blocks whose descriptions changed are seen to have changed.
    ///
    /// # Safety
    /// `record` must be a live record.
    pub unsafe fn print_record(&mut self, record: u64, mut each: impl FnMut(u64)) {
        // SAFETY: as the caller promises.
        unsafe {
            let words = Self::record_words(record);
            each(record);
            self.print(&words, each);
        }
    }

    /// The same for a call, if it is one of `llvm.dbg.*`.
    ///
    /// # Safety
    /// `inst` must be a live call.
    pub unsafe fn print_call(&mut self, inst: Ref, operands: &[u64], each: impl FnMut(u64)) {
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(words) = self.call_words(inst, operands, 0) {
                self.print(&words, each);
            }
        }
    }

    unsafe fn print(&mut self, words: &Description, mut each: impl FnMut(u64)) {
        each(words.variable ^ words.mark.rotate_left(17));
        each(words.expression);
        each(words.location);
        // SAFETY: the metadata of a live description.
        unsafe {
            self.for_each_value(words.value, &mut each);
            self.for_each_value(words.address, &mut each);
        }
    }

    /// The values that a location names: one, a list, or none where the variable has no value.
    ///
    /// # Safety
    /// `metadata` must be live or 0.
    unsafe fn for_each_value(&mut self, metadata: u64, each: &mut impl FnMut(u64)) {
        if metadata == 0 {
            return;
        }
        // SAFETY: live metadata, whose first byte is its kind.
        unsafe {
            let word = |at: u64| *(at as *const u64);
            let Some(offset) = self.value_offset else { return };
            let kind = *(metadata as *const u8);
            if matches!(kind, CONSTANT_AS_METADATA | LOCAL_AS_METADATA) {
                return each(word(metadata + offset));
            }
            // Lists became a kind of their own, the one behind the placeholder, in LLVM 18; before, they were nodes like
            // the empty tuple, which was the kind behind the placeholder.
            let is_list = if self.major >= 18 { kind == 4 } else { kind != 4 };
            if is_list {
                let list = match self.major {
                    18.. => metadata + offset,
                    _ => metadata + self.node_size(),
                };
                let count = u64::from(*((list + 8) as *const u32));
                for index in 0..count.min(MOST_ELEMENTS) {
                    each(word(word(word(list) + 8 * index) + offset));
                }
            }
        }
    }

    /// The size of a metadata node without its operands.
    fn node_size(&self) -> u64 {
        if self.major < 15 { 24 } else { 16 }
    }

    /// Learns where a value stands within its metadata from what LLVM says the value is.
    fn learn(&mut self, metadata: u64, value: u64) {
        // SAFETY: live metadata of a value, which is longer than the words that are looked at until the value is met.
        unsafe {
            if value != 0 && matches!(*(metadata as *const u8), CONSTANT_AS_METADATA | LOCAL_AS_METADATA) {
                self.value_offset = (1..METADATA_WORDS).map(|i| i * 8).find(|at| *((metadata + at) as *const u64) == value);
            }
        }
    }

    /// Learns the layout of metadata from the first description that names one value, if it is not known yet.
    ///
    /// # Safety
    /// `record` must be a live record.
    pub unsafe fn learn_from_record(&mut self, record: u64) {
        if let (None, Some(first)) = (self.value_offset, self.first_location) {
            // SAFETY: a record with one value has a first one.
            unsafe {
                let metadata = *((record + 40) as *const u64);
                if metadata != 0 && matches!(*(metadata as *const u8), CONSTANT_AS_METADATA | LOCAL_AS_METADATA) {
                    let value = first(record as Ref, 0) as u64;
                    self.learn(metadata, value);
                }
            }
        }
    }

    /// The same from a call.
    ///
    /// # Safety
    /// `inst` must be a live call with these operands.
    pub unsafe fn learn_from_call(&mut self, inst: Ref, operands: &[u64]) {
        if self.value_offset.is_some() || operands.len() < 4 {
            return;
        }
        // SAFETY: the first argument of a debug intrinsic wraps metadata; that of a value has one operand, the value.
        unsafe {
            let Some(words) = self.call_words(inst, operands, 0) else { return };
            if words.value != 0 && matches!(*(words.value as *const u8), CONSTANT_AS_METADATA | LOCAL_AS_METADATA) {
                let mut value = std::ptr::null_mut();
                (self.functions.metadata_operands)(operands[0] as Ref, &raw mut value);
                self.learn(words.value, value as u64);
            }
        }
    }

    /// Writes a record.
    ///
    /// # Safety
    /// `record` must be a live record.
    pub unsafe fn write_record(&mut self, record: u64, out: &mut Encoder) -> u64 {
        // SAFETY: as the caller promises.
        unsafe {
            let words = Self::record_words(record);
            self.write(record, &words, out);
            words.location
        }
    }

    /// Whether a call describes a variable; if so it is written.
    ///
    /// # Safety
    /// `inst` must be a live call with these operands.
    pub unsafe fn describe_call(&self, inst: Ref, operands: &[u64], location: u64) -> Option<Description> {
        // SAFETY: as the caller promises.
        unsafe { self.call_words(inst, operands, location) }
    }

    /// Writes a description.
    ///
    /// # Safety
    /// The description must be that of a live record or call.
    pub unsafe fn write(&mut self, at: u64, words: &Description, out: &mut Encoder) {
        let mut values = Vec::new();
        let mut address = 0;
        // SAFETY: as the caller promises.
        unsafe {
            self.for_each_value(words.value, &mut |value| values.push(value));
            self.for_each_value(words.address, &mut |value| address = value);
            for value in values.iter().chain([&address]) {
                self.mention(*value);
            }
            self.define(words);
        }
        out.u8(words.kind as u8);
        out.reference(at);
        out.u32(values.len() as u32);
        values.iter().for_each(|value| out.reference(*value));
        out.u64(words.variable);
        out.u64(words.expression);
        out.location(words.location);
        out.optional(address);
        out.u64(words.mark);
    }

    /// Tells of a variable and an expression when they are met for the first time.
    unsafe fn define(&mut self, words: &Description) {
        let f = self.functions;
        // SAFETY: live metadata of these kinds; an expression's elements are a vector behind the node.
        unsafe {
            if words.variable != 0 && self.written.insert(words.variable) {
                let variable = words.variable as Ref;
                let scope = (f.variable_scope)(variable);
                let size = (f.size)(variable);
                self.define_scopes(scope);
                self.fresh.push(Record::Variable {
                    at: words.variable,
                    name: self.name_of(words.variable),
                    line: (f.variable_line)(variable),
                    scope: scope as u64,
                    subprogram: if scope.is_null() { 0 } else { (f.subprogram)(scope) as u64 },
                    bits: if size.present == 0 { 0 } else { u32::try_from(size.value).unwrap_or(0) },
                });
            }
            if words.expression != 0 && self.written.insert(words.expression) {
                let word = |at: u64| *(at as *const u64);
                let vector = words.expression + self.node_size();
                let (begin, end) = (word(vector), word(vector + 8));
                let count = end.saturating_sub(begin) / 8;
                let elements = (0..count.min(MOST_ELEMENTS)).map(|i| word(begin + 8 * i)).collect();
                self.fresh.push(Record::Expression { at: words.expression, elements });
            }
        }
    }

    /// Tells of a scope and those around it, up to its function, when they are met for the first time.
    ///
    /// # Safety
    /// `scope` must be a live local scope or null.
    pub unsafe fn define_scopes(&mut self, scope: Ref) {
        let mut at = scope;
        // SAFETY: live scopes; what is not a function is a block, whose second operand is the scope around it.
        unsafe {
            while !at.is_null() && (self.functions.subprogram)(at) != at && self.written.insert(at as u64) {
                let parent = self.second_operand(at as u64);
                self.fresh.push(Record::Scope { at: at as u64, parent });
                at = parent as Ref;
            }
        }
    }

    /// The second operand of a metadata node. Operands stand in front of a node.
    unsafe fn second_operand(&self, node: u64) -> u64 {
        // SAFETY: a live node with at least two operands.
        unsafe {
            let word = |at: u64| *(at as *const u64);
            let first = if self.major < 15 {
                node - 8 * u64::from(*((node + 8) as *const u32))
            } else {
                // A header of sixteen bytes, whose bits 2 to 5 count the operands in front of it.
                node - 16 - 8 * (word(node - 16) >> 2 & 15)
            };
            word(first + 8)
        }
    }

    /// The name of a variable: its second operand.
    unsafe fn name_of(&self, node: u64) -> String {
        // SAFETY: a live DILocalVariable.
        unsafe {
            let name = self.second_operand(node);
            if name == 0 || *(name as *const u8) != 0 {
                return String::new();
            }
            let text = (self.functions.text)(name as Ref);
            String::from_utf8_lossy(std::slice::from_raw_parts(text.at, text.length)).into_owned()
        }
    }

    /// The subprogram that a scope is in, 0 for none.
    ///
    /// # Safety
    /// `scope` must be a live local scope or null.
    pub unsafe fn subprogram_of(&self, scope: Ref) -> u64 {
        // SAFETY: as the caller promises.
        if scope.is_null() { 0 } else { unsafe { (self.functions.subprogram)(scope) as u64 } }
    }
}

/// The words of one description.
pub struct Description {
    kind: VariableKind,
    value: u64,
    variable: u64,
    expression: u64,
    location: u64,
    address: u64,
    mark: u64,
}
