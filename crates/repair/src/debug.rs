//! DWARF as the repair reads it: functions, their variables with every location the compiler wrote,
//! inlined instances, line rows, globals.
//!
//! Deliberately absent: evaluation of arbitrary expressions (the checker does that on the written file).

use gimli::{AttributeValue, EndianSlice, LittleEndian, Reader as _};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use trueline_machine::image::{Image, ImageError};

/// The reader used everywhere.
pub type Slice<'a> = EndianSlice<'a, LittleEndian>;
/// A loaded DWARF.
pub type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;

/// What a value is, as far as printing it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// A signed integer.
    Signed,
    /// An unsigned integer, boolean or character.
    Unsigned,
    /// A binary floating-point number.
    Float,
    /// A pointer.
    Pointer,
    /// An aggregate or something else that no single register holds.
    Other,
}

/// The type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Class.
    pub class: TypeClass,
    /// Bytes.
    pub size: u64,
    /// For arrays and pointers: class and size of the element.
    pub element: Option<(TypeClass, u64)>,
}

/// One entry of a location list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationRange {
    /// First address.
    pub low: u64,
    /// One past the last.
    pub high: u64,
    /// The expression's bytes.
    pub expression: Vec<u8>,
}

/// Parameter or local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// A parameter.
    Parameter,
    /// A local variable.
    Local,
}

/// A variable (one per inlined instance).
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
    /// The source function it belongs to: the inlined one inside an inlined instance.
    pub function: String,
    /// Offset of its entry in `.debug_info`.
    pub die: usize,
    /// Parameter or local.
    pub kind: VariableKind,
    /// Its type.
    pub ty: Type,
    /// Where it is in scope.
    pub scope: Vec<(u64, u64)>,
    /// Locations by address.
    pub locations: Vec<LocationRange>,
    /// A constant the compiler wrote for the whole scope.
    pub constant: Option<i64>,
    /// True inside an inlined instance.
    pub inlined: bool,
}

/// What DWARF says of a variable at a PC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Not in scope.
    OutOfScope,
    /// In scope, no location.
    Missing,
    /// A constant.
    Constant,
    /// Something that depends on the machine's state.
    Computed,
}

impl Variable {
    /// True when a PC is inside its scope.
    pub fn in_scope(&self, pc: u64) -> bool {
        self.scope.iter().any(|(low, high)| pc >= *low && pc < *high)
    }

    /// What the compiler wrote for it at a PC.
    pub fn coverage(&self, pc: u64) -> Coverage {
        if !self.in_scope(pc) {
            return Coverage::OutOfScope;
        }
        if self.constant.is_some() {
            return Coverage::Constant;
        }
        match self.locations.iter().find(|l| pc >= l.low && pc < l.high) {
            None => Coverage::Missing,
            Some(l) if l.expression.is_empty() => Coverage::Missing,
            Some(l) if is_constant(&l.expression) => Coverage::Constant,
            Some(_) => Coverage::Computed,
        }
    }
}

/// True when an expression's value does not depend on the machine's state.
pub fn is_constant(expression: &[u8]) -> bool {
    let mut reader = EndianSlice::new(expression, LittleEndian);
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
    let mut value = false;
    while !reader.is_empty() {
        use gimli::Operation as Op;
        match gimli::Operation::parse(&mut reader, encoding) {
            Ok(Op::UnsignedConstant { .. } | Op::SignedConstant { .. } | Op::StackValue | Op::ImplicitValue { .. }) => value = true,
            Ok(Op::TypedLiteral { .. } | Op::Convert { .. } | Op::Reinterpret { .. } | Op::Nop | Op::Address { .. }) => {}
            Ok(
                Op::Plus
                | Op::PlusConstant { .. }
                | Op::Minus
                | Op::Mul
                | Op::Div
                | Op::And
                | Op::Or
                | Op::Xor
                | Op::Neg
                | Op::Not
                | Op::Shl,
            ) => {}
            _ => return false,
        }
    }
    value
}

/// How a function's frame base is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBase {
    /// The canonical frame address.
    Cfa,
    /// The frame pointer, set up by the usual prologue.
    FramePointer,
    /// Something else.
    Other,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Its named parameters, in order, are all that is passed.
    Plain,
    /// The result is an aggregate, so that a hidden pointer may come first.
    Aggregate,
    /// More may be passed than is named.
    Variadic,
}

/// A concrete function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
    /// Its address ranges, the one with the entry first.
    pub ranges: Vec<(u64, u64)>,
    /// Frame base.
    pub frame_base: FrameBase,
    /// Variables, own and of inlined instances.
    pub variables: Vec<Variable>,
    /// Inlined instances: callee name and ranges.
    pub inlined: Vec<(String, Vec<(u64, u64)>)>,
    /// Index of its unit.
    pub unit: usize,
    /// How it is called.
    pub convention: Convention,
}

impl Function {
    /// The entry point.
    pub fn entry(&self) -> u64 {
        self.ranges[0].0
    }

    /// True when a PC is inside.
    pub fn contains(&self, pc: u64) -> bool {
        self.ranges.iter().any(|(low, high)| pc >= *low && pc < *high)
    }
}

/// A row of the line table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Address.
    pub address: u64,
    /// Line, 0 for none.
    pub line: u64,
    /// The file, as a hash of its path.
    pub file: u64,
    /// A place to stop.
    pub is_stmt: bool,
    /// End of a sequence.
    pub end: bool,
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Link-time address.
    pub address: u64,
    /// Its type.
    pub ty: Type,
}

/// A compilation unit.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// The source file as given to the compiler.
    pub name: String,
    /// The directory it was compiled in.
    pub comp_dir: String,
    /// Who compiled it.
    pub producer: String,
    /// DWARF version.
    pub version: u16,
    /// Whether it knows a volatile type.
    pub volatile: bool,
}

/// Everything that was read.
#[derive(Clone, Debug, Default)]
pub struct DebugInfo {
    /// Units in order.
    pub units: Vec<Unit>,
    /// Concrete functions.
    pub functions: Vec<Function>,
    /// Line rows in address order.
    pub rows: Vec<Row>,
    /// Globals.
    pub globals: Vec<Global>,
}

/// Loads the DWARF sections of an image.
pub fn load(image: &Image) -> Dwarf<'_> {
    let section = |id: gimli::SectionId| {
        let data = image.section(id.name()).map_or(&[][..], |s| &s.data);
        Ok::<_, gimli::Error>(EndianSlice::new(data, LittleEndian))
    };
    Dwarf::load(section).unwrap_or_default()
}

impl DebugInfo {
    /// Reads an image's DWARF.
    pub fn read(image: &Image) -> Result<Self, ImageError> {
        let bad =
            |e: gimli::Error| ImageError::Unsuitable { path: image.path.clone(), reason: format!("has DWARF that cannot be read: {e}") };
        let dwarf = load(image);
        let mut info = Self::default();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().map_err(bad)? {
            let unit = dwarf.unit(header).map_err(bad)?;
            if unit.dwo_name().map_err(bad)?.is_some() {
                return Err(ImageError::Unsuitable {
                    path: image.path.clone(),
                    reason: "has split debug information (.dwo); build it without -gsplit-dwarf".to_owned(),
                });
            }
            let reference = unit.unit_ref(&dwarf);
            let index = info.units.len();
            info.read_unit(image, reference, index).map_err(bad)?;
            read_rows(reference, &mut info.rows).map_err(bad)?;
        }
        info.rows.sort_by_key(|r| (r.address, !r.end));
        if info.units.is_empty() {
            return Err(ImageError::Unsuitable {
                path: image.path.clone(),
                reason: "has an empty .debug_info; build it with -g".to_owned(),
            });
        }
        Ok(info)
    }

    /// The line a debugger shows at a PC: the last row that is a statement at or before it, as gdb reads
    /// the table; 0 when the covering row has no line.
    pub fn line_at(&self, pc: u64) -> u64 {
        self.place_at(pc).1
    }

    /// The file (by the hash of its path) and line that a debugger shows at a PC.
    pub fn place_at(&self, pc: u64) -> (u64, u64) {
        let end = self.rows.partition_point(|r| r.address <= pc);
        let Some(last) = self.rows[..end].last() else { return (0, 0) };
        if last.end {
            return (0, 0);
        }
        let same: Vec<&Row> = self.rows[..end].iter().rev().take_while(|r| r.address == last.address && !r.end).collect();
        let chosen = same.iter().find(|r| r.is_stmt).unwrap_or(&same[0]);
        (chosen.file, chosen.line)
    }

    /// The rows of a function, in address order.
    pub fn rows_of<'s>(&'s self, function: &'s Function) -> impl Iterator<Item = &'s Row> {
        self.rows.iter().filter(|r| function.contains(r.address))
    }

    /// Every line that some debugger may show at a PC.
    pub fn lines_at(&self, pc: u64) -> Vec<u64> {
        let end = self.rows.partition_point(|r| r.address <= pc);
        let Some(last) = self.rows[..end].last() else { return Vec::new() };
        if last.end {
            return Vec::new();
        }
        vec![self.line_at(pc), last.line]
    }

    fn read_unit(&mut self, image: &Image, unit: gimli::UnitRef<'_, Slice<'_>>, index: usize) -> gimli::Result<()> {
        let mut entries = unit.entries();
        let mut walker = Walker { image, unit, scopes: Vec::new(), index };
        while let Some(entry) = entries.next_dfs()? {
            let entry = entry.clone();
            walker.visit(self, &entry)?;
        }
        Ok(())
    }
}

fn read_rows(unit: gimli::UnitRef<'_, Slice<'_>>, rows: &mut Vec<Row>) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut state = program.rows();
    let mut files: HashMap<u64, u64> = HashMap::new();
    while let Some((header, row)) = state.next_row()? {
        let file = *files.entry(row.file_index()).or_insert_with(|| row.file(header).map_or(0, |f| path_hash(unit, f)));
        rows.push(Row {
            address: row.address(),
            line: row.line().map_or(0, std::num::NonZero::get),
            file,
            is_stmt: row.is_stmt(),
            end: row.end_sequence(),
        });
    }
    Ok(())
}

/// A hash of a file's name without its directories: two builds may be made in different ones.
fn path_hash<'a>(unit: gimli::UnitRef<'_, Slice<'a>>, file: &gimli::FileEntry<Slice<'a>>) -> u64 {
    let name = unit.attr_string(file.path_name()).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let base = name.rsplit('/').next().unwrap_or(&name);
    let mut hasher = std::hash::DefaultHasher::new();
    base.hash(&mut hasher);
    hasher.finish() | 1
}

type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;

/// What encloses the entry being visited.
struct Scope {
    depth: isize,
    function: Option<usize>,
    source: String,
    ranges: Vec<(u64, u64)>,
    inlined: bool,
}

struct Walker<'u, 'a> {
    image: &'u Image,
    unit: gimli::UnitRef<'u, Slice<'a>>,
    scopes: Vec<Scope>,
    index: usize,
}

impl<'a> Walker<'_, 'a> {
    fn visit(&mut self, info: &mut DebugInfo, entry: &Entry<'a>) -> gimli::Result<()> {
        let depth = entry.depth();
        while self.scopes.last().is_some_and(|s| s.depth >= depth) {
            self.scopes.pop();
        }
        match entry.tag() {
            gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit | gimli::DW_TAG_skeleton_unit => {
                let text =
                    |name| entry.attr_value(name).and_then(|v| self.unit.attr_string(v).ok()).map(|s| s.to_string_lossy().into_owned());
                info.units.push(Unit {
                    name: text(gimli::DW_AT_name).unwrap_or_default(),
                    comp_dir: text(gimli::DW_AT_comp_dir).unwrap_or_default(),
                    producer: text(gimli::DW_AT_producer).unwrap_or_default(),
                    version: self.unit.encoding().version,
                    volatile: false,
                });
            }
            gimli::DW_TAG_subprogram => {
                let ranges = self.ranges(entry);
                let name = self.name(entry, 0).unwrap_or_default();
                let function = if ranges.is_empty() {
                    None
                } else {
                    let result = self.type_of(entry, 0);
                    let aggregate = result.class == TypeClass::Other && result.size > 0;
                    info.functions.push(Function {
                        convention: if aggregate { Convention::Aggregate } else { Convention::Plain },
                        name: name.clone(),
                        line: self.number(entry, gimli::DW_AT_decl_line, 0).unwrap_or(0),
                        ranges: ranges.clone(),
                        frame_base: frame_base(entry),
                        variables: Vec::new(),
                        inlined: Vec::new(),
                        unit: self.index,
                    });
                    Some(info.functions.len() - 1)
                };
                self.scopes.push(Scope { depth, function, source: name, ranges, inlined: false });
            }
            gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                let Some(parent) = self.scopes.last() else { return Ok(()) };
                let (function, mut source, mut inlined) = (parent.function, parent.source.clone(), parent.inlined);
                let mut ranges = self.ranges(entry);
                if entry.tag() == gimli::DW_TAG_inlined_subroutine {
                    source = self.name(entry, 0).unwrap_or_default();
                    inlined = true;
                    if let Some(f) = function {
                        info.functions[f].inlined.push((source.clone(), ranges.clone()));
                    }
                } else if ranges.is_empty() {
                    ranges.clone_from(&parent.ranges);
                }
                self.scopes.push(Scope { depth, function, source, ranges, inlined });
            }
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                let kind = if entry.tag() == gimli::DW_TAG_variable { VariableKind::Local } else { VariableKind::Parameter };
                match self.scopes.last().and_then(|s| s.function) {
                    Some(function) => {
                        if let Some(variable) = self.variable(entry, kind)? {
                            info.functions[function].variables.push(variable);
                        }
                    }
                    None if self.scopes.is_empty() => {
                        if let (Some(name), Some(address)) = (self.name(entry, 0), fixed_address(entry, self.unit)) {
                            info.globals.push(Global { name, address, ty: self.type_of(entry, 0) });
                        }
                    }
                    None => {}
                }
            }
            gimli::DW_TAG_unspecified_parameters => {
                if let Some(function) = self.scopes.last().filter(|s| !s.inlined).and_then(|s| s.function) {
                    info.functions[function].convention = Convention::Variadic;
                }
            }
            gimli::DW_TAG_volatile_type => {
                if let Some(unit) = info.units.last_mut() {
                    unit.volatile = true;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ranges(&self, entry: &Entry<'a>) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        if let Ok(mut ranges) = trueline_dwarf::die_ranges(self.unit.dwarf, self.unit.unit, entry) {
            while let Ok(Some(range)) = ranges.next() {
                if range.end > range.begin && self.image.section_at(range.begin).is_some_and(|s| s.code) {
                    found.push((range.begin, range.end));
                }
            }
        }
        found
    }

    fn origin(&self, entry: &Entry<'a>) -> Option<Entry<'a>> {
        let value = entry.attr_value(gimli::DW_AT_abstract_origin).or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
        match value {
            AttributeValue::UnitRef(offset) => self.unit.entry(offset).ok(),
            _ => None,
        }
    }

    fn name(&self, entry: &Entry<'a>, depth: u32) -> Option<String> {
        if let Some(value) = entry.attr_value(gimli::DW_AT_name) {
            return self.unit.attr_string(value).ok().map(|s| s.to_string_lossy().into_owned());
        }
        if depth > 4 {
            return None;
        }
        self.name(&self.origin(entry)?, depth + 1)
    }

    fn number(&self, entry: &Entry<'a>, name: gimli::DwAt, depth: u32) -> Option<u64> {
        if let Some(value) = entry.attr_value(name) {
            return value.udata_value();
        }
        if depth > 4 {
            return None;
        }
        self.number(&self.origin(entry)?, name, depth + 1)
    }

    fn type_of(&self, entry: &Entry<'a>, depth: u32) -> Type {
        let other = Type { class: TypeClass::Other, size: 0, element: None };
        if depth > 12 {
            return other;
        }
        match entry.attr_value(gimli::DW_AT_type) {
            Some(AttributeValue::UnitRef(offset)) => self.unit.entry(offset).map_or(other, |t| self.type_entry(&t, depth + 1)),
            Some(_) => other,
            None => self.origin(entry).map_or(other, |o| self.type_of(&o, depth + 1)),
        }
    }

    fn type_entry(&self, entry: &Entry<'a>, depth: u32) -> Type {
        let size = entry.attr_value(gimli::DW_AT_byte_size).and_then(|v| v.udata_value()).unwrap_or(0);
        match entry.tag() {
            gimli::DW_TAG_base_type => {
                let class = match entry.attr_value(gimli::DW_AT_encoding) {
                    Some(AttributeValue::Encoding(e)) => match e {
                        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => TypeClass::Signed,
                        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_boolean | gimli::DW_ATE_UTF => {
                            TypeClass::Unsigned
                        }
                        gimli::DW_ATE_float => TypeClass::Float,
                        _ => TypeClass::Other,
                    },
                    _ => TypeClass::Other,
                };
                Type { class, size, element: None }
            }
            // A reference is a pointer that a debugger follows by itself.
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                let to = self.type_of(entry, depth);
                Type { class: TypeClass::Pointer, size: 8, element: Some((to.class, to.size)) }
            }
            gimli::DW_TAG_enumeration_type => Type { class: TypeClass::Unsigned, size, element: None },
            gimli::DW_TAG_array_type => {
                let of = self.type_of(entry, depth);
                Type { class: TypeClass::Other, size, element: Some(of.element.unwrap_or((of.class, of.size))) }
            }
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type | gimli::DW_TAG_restrict_type => {
                self.type_of(entry, depth)
            }
            _ => Type { class: TypeClass::Other, size, element: None },
        }
    }

    fn variable(&self, entry: &Entry<'a>, kind: VariableKind) -> gimli::Result<Option<Variable>> {
        let Some(scope) = self.scopes.last() else { return Ok(None) };
        let Some(name) = self.name(entry, 0) else { return Ok(None) };
        let mut locations = Vec::new();
        match entry.attr_value(gimli::DW_AT_location) {
            Some(AttributeValue::Exprloc(expression)) => {
                let bytes = expression.0.to_slice()?.into_owned();
                locations.extend(scope.ranges.iter().map(|(low, high)| LocationRange {
                    low: *low,
                    high: *high,
                    expression: bytes.clone(),
                }));
            }
            Some(value) => {
                if let Ok(Some(mut list)) = self.unit.attr_locations(value) {
                    while let Ok(Some(item)) = list.next() {
                        if item.range.end > item.range.begin {
                            let expression = item.data.0.to_slice()?.into_owned();
                            locations.push(LocationRange { low: item.range.begin, high: item.range.end, expression });
                        }
                    }
                }
            }
            None => {}
        }
        let constant =
            entry.attr_value(gimli::DW_AT_const_value).map(|v| v.sdata_value().or(v.udata_value().map(|u| u as i64)).unwrap_or(0));
        let constant = constant.or_else(|| {
            // gcc puts the constant of an inlined variable on the abstract entry.
            let origin = self.origin(entry)?;
            let value = origin.attr_value(gimli::DW_AT_const_value)?;
            locations.is_empty().then(|| value.sdata_value().unwrap_or(0))
        });
        Ok(Some(Variable {
            name,
            line: self.number(entry, gimli::DW_AT_decl_line, 0).unwrap_or(0),
            function: scope.source.clone(),
            die: entry.offset().to_debug_info_offset(&self.unit.header).map_or(0, |o| o.0),
            kind,
            ty: self.type_of(entry, 0),
            scope: scope.ranges.clone(),
            locations,
            constant,
            inlined: scope.inlined,
        }))
    }
}

fn frame_base(entry: &Entry<'_>) -> FrameBase {
    match entry.attr_value(gimli::DW_AT_frame_base) {
        Some(AttributeValue::Exprloc(e)) => match e.0.slice() {
            [op] if *op == gimli::DW_OP_call_frame_cfa.0 => FrameBase::Cfa,
            [op] if *op == gimli::DW_OP_reg6.0 => FrameBase::FramePointer,
            _ => FrameBase::Other,
        },
        _ => FrameBase::Other,
    }
}

fn fixed_address(entry: &Entry<'_>, unit: gimli::UnitRef<'_, Slice<'_>>) -> Option<u64> {
    let Some(AttributeValue::Exprloc(e)) = entry.attr_value(gimli::DW_AT_location) else { return None };
    let mut operations = e.operations(unit.encoding());
    match operations.next() {
        Ok(Some(gimli::Operation::Address { address })) => Some(address),
        Ok(Some(gimli::Operation::AddressIndex { index })) => unit.address(index).ok(),
        _ => None,
    }
}

/// The frame offset of a variable that lives in memory for its whole life, as -O0 builds keep them.
pub fn frame_offset(variable: &Variable) -> Option<i64> {
    let expression = &variable.locations.first()?.expression;
    let mut reader = EndianSlice::new(expression.as_slice(), LittleEndian);
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
    match gimli::Operation::parse(&mut reader, encoding).ok()? {
        gimli::Operation::FrameOffset { offset } if reader.is_empty() => Some(offset),
        _ => None,
    }
}
