//! What a binary's debug information says without running it: rows, functions, scopes, homes of variables.
//!
//! A reader of its own, small and static: the rules need facts about whole builds, while engines read
//! what concerns one stop. Deliberately absent: evaluating expressions.

use crate::CheckError;
use gimli::{AttributeValue, EndianArcSlice, LittleEndian, Operation, Reader as _};
use object::{Object, ObjectSection, ObjectSegment};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use trueline_model::{FileName, Line, LineKey, VarKey};

type Slice = EndianArcSlice<LittleEndian>;
type Unit = gimli::Unit<Slice>;
type Entry = gimli::DebuggingInformationEntry<Slice>;

/// One row of the line table, in a user file or not.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub start: u64,
    /// First address after it; equal to `start` for rows that another row at the same address follows.
    pub end: u64,
    /// `None` for line 0.
    pub key: Option<LineKey>,
    pub is_stmt: bool,
}

/// Where a variable is said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A fixed address.
    Static(u64),
    /// A fixed offset from the function's frame base.
    Frame(i64),
    /// Anything else that is a claim: lists, registers, constants, computed values.
    Described,
    /// Nowhere at all.
    Nowhere,
}

/// A variable or parameter in one copy of its function.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub name: Arc<str>,
    pub decl_line: u32,
    pub place: Place,
    /// Ranges of the block around it.
    pub ranges: Arc<[(u64, u64)]>,
    /// True when its block has no code left.
    pub is_codeless: bool,
    pub leaves: Option<Arc<[Leaf]>>,
}

/// A scalar inside a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub offset: u64,
    pub size: u64,
    /// First bit and width, for bit-fields.
    pub bits: Option<(u64, u64)>,
    pub encoding: Encoding,
}

/// How a scalar's bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Signed,
    Unsigned,
    Float,
}

/// What a function's variables at fixed offsets are measured from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameBase {
    /// The register rbp.
    Rbp,
    /// The canonical frame address, rbp + 16 once an -O0 prologue is over.
    Cfa,
    Other,
}

/// A function with code of its own, or a copy of one inlined somewhere.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: Arc<str>,
    pub decl: Option<LineKey>,
    pub ranges: Arc<[(u64, u64)]>,
    pub is_inlined: bool,
    pub frame_base: FrameBase,
    pub vars: Vec<Var>,
}

/// Everything.
pub(crate) struct DebugInfo {
    pub rows: Vec<Row>,
    pub functions: Vec<Function>,
    pub globals: Vec<Var>,
    /// Variables of blocks inside functions that are described apart from their copies.
    pub nested: Vec<VarKey>,
    pub entry: u64,
    pub image: (u64, u64),
    pub text: Vec<(u64, Vec<u8>)>,
}

impl DebugInfo {
    /// Reads it from a binary.
    pub(crate) fn read(binary: &Path) -> Result<Self, CheckError> {
        let bad = |reason: String| CheckError::BadBinary { binary: binary.to_owned(), reason };
        let data = std::fs::read(binary).map_err(|e| bad(e.to_string()))?;
        let file = object::File::parse(&*data).map_err(|e| bad(format!("not a readable ELF file ({e})")))?;
        if file.architecture() != object::Architecture::X86_64 {
            return Err(bad(format!("it is for {:?}, and only x86-64 can be checked here", file.architecture())));
        }
        let load = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
            let bytes = file.section_by_name(id.name()).and_then(|s| s.uncompressed_data().ok()).unwrap_or_default();
            Ok(Slice::new(Arc::from(&*bytes), LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(load).map_err(|e| bad(format!("its debug information cannot be read ({e})")))?;
        let image =
            file.segments().fold((u64::MAX, 0), |(low, high), s| (low.min(s.address()), high.max(s.address().saturating_add(s.size()))));
        let mut this = Self {
            rows: Vec::new(),
            functions: Vec::new(),
            globals: Vec::new(),
            nested: Vec::new(),
            entry: file.entry(),
            image,
            text: file
                .sections()
                .filter(|s| s.kind() == object::SectionKind::Text)
                .filter_map(|s| Some((s.address(), s.data().ok()?.to_vec())))
                .collect(),
        };
        this.read_units(&dwarf).map_err(|e| bad(format!("its debug information is damaged ({e})")))?;
        if this.functions.is_empty() || this.rows.is_empty() {
            return Err(bad("it has no debug information; compile it with -g".to_owned()));
        }
        this.rows.sort_by_key(|r| r.start);
        Ok(this)
    }

    fn read_units(&mut self, dwarf: &gimli::Dwarf<Slice>) -> gimli::Result<()> {
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            let unit = dwarf.unit(header)?;
            let mut reader = UnitReader { dwarf, unit: &unit, files: HashMap::new(), types: HashMap::new(), paths: HashMap::new() };
            reader.read_paths()?;
            reader.read_files()?;
            reader.read_rows(&mut self.rows)?;
            reader.read_tree(self)?;
        }
        Ok(())
    }

    /// The code at a link-time address, to the end of its section.
    pub(crate) fn code_at(&self, address: u64) -> Option<&[u8]> {
        let (start, bytes) = self.text.iter().find(|(start, bytes)| (*start..start + bytes.len() as u64).contains(&address))?;
        bytes.get((address - start) as usize..)
    }

    /// The last row that covers an address.
    pub(crate) fn row_at(&self, address: u64) -> Option<&Row> {
        let after = self.rows.partition_point(|r| r.start <= address);
        self.rows[..after].iter().rev().take(16).find(|r| address < r.end)
    }
}

struct UnitReader<'a> {
    dwarf: &'a gimli::Dwarf<Slice>,
    unit: &'a Unit,
    files: HashMap<u64, FileName>,
    types: HashMap<gimli::UnitOffset, Option<Arc<[Leaf]>>>,
    /// The paths of Rust's functions, which engines show in front of their names.
    paths: HashMap<gimli::UnitOffset, Arc<str>>,
}

/// Where we are while walking the tree.
#[derive(Clone)]
struct Context {
    depth: isize,
    /// Index into the function list, when inside one.
    function: Option<usize>,
    ranges: Arc<[(u64, u64)]>,
    is_codeless: bool,
    /// Name of the function, when this is the description that its copies refer to.
    abstract_function: Option<Arc<str>>,
}

impl UnitReader<'_> {
    fn read_files(&mut self) -> gimli::Result<()> {
        let Some(program) = self.unit.line_program.clone() else { return Ok(()) };
        let header = program.header();
        for index in 0..=header.file_names().len() as u64 {
            if let Some(file) = header.file(index) {
                let name = self.dwarf.attr_string(self.unit, file.path_name())?;
                let name = name.to_string_lossy()?.into_owned();
                self.files.insert(index, FileName::new(name.rsplit('/').next().unwrap_or(&name)));
            }
        }
        Ok(())
    }

    fn key(&self, file: u64, line: u64) -> Option<LineKey> {
        let line = u32::try_from(line).ok().filter(|l| *l != 0)?;
        Some(LineKey { file: self.files.get(&file)?.clone(), line: Line(line) })
    }

    fn read_rows(&self, rows: &mut Vec<Row>) -> gimli::Result<()> {
        let Some(program) = self.unit.line_program.clone() else { return Ok(()) };
        let mut state = program.rows();
        let mut open: Option<Row> = None;
        while let Some((_, row)) = state.next_row()? {
            if let Some(mut last) = open.take() {
                last.end = row.address();
                // Sequences of discarded functions are linked to address 0.
                if last.start != 0 {
                    rows.push(last);
                }
            }
            if !row.end_sequence() {
                let key = row.line().and_then(|l| self.key(row.file_index(), l.get()));
                open = Some(Row { start: row.address(), end: row.address(), key, is_stmt: row.is_stmt() });
            }
        }
        Ok(())
    }

    fn read_tree(&mut self, info: &mut DebugInfo) -> gimli::Result<()> {
        let mut stack: Vec<Context> = Vec::new();
        let mut entries = self.unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            while stack.last().is_some_and(|c| c.depth >= depth) {
                stack.pop();
            }
            let mut context = stack.last().cloned().unwrap_or(Context {
                depth,
                function: None,
                ranges: Arc::from([]),
                is_codeless: false,
                abstract_function: None,
            });
            context.depth = depth;
            match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    context.is_codeless = false;
                    context.function = self.function(entry)?.map(|function| {
                        context.ranges = Arc::clone(&function.ranges);
                        info.functions.push(function);
                        info.functions.len() - 1
                    });
                    context.abstract_function = if context.function.is_none() { self.path_name(entry)? } else { None };
                }
                gimli::DW_TAG_lexical_block => {
                    let ranges = self.ranges(entry)?;
                    // Abstract blocks and blocks whose code is gone have none.
                    context.is_codeless = ranges.is_empty();
                    if !context.is_codeless {
                        context.ranges = ranges;
                    }
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let at_file_scope = context.function.is_none();
                    if let Some(var) = self.variable(entry, &context)? {
                        if let (Some(function), true) = (&context.abstract_function, context.is_codeless) {
                            let (function, name) = (Arc::clone(function), Arc::clone(&var.name));
                            info.nested.push(VarKey { function, name, decl_line: var.decl_line });
                        }
                        match context.function {
                            Some(index) => info.functions[index].vars.push(var),
                            None if at_file_scope && var.place != Place::Nowhere => info.globals.push(var),
                            None => {}
                        }
                    }
                }
                _ => {}
            }
            stack.push(context);
        }
        Ok(())
    }

    fn ranges(&self, entry: &Entry) -> gimli::Result<Arc<[(u64, u64)]>> {
        let mut ranges = trueline_trace::die_ranges(self.dwarf, self.unit, entry)?;
        let mut found = Vec::new();
        while let Some(range) = ranges.next()? {
            if range.begin < range.end && range.begin != 0 {
                found.push((range.begin, range.end));
            }
        }
        Ok(found.into())
    }

    /// An attribute of the entry or of the one it is an instance of.
    fn attr(&self, entry: &Entry, name: gimli::DwAt) -> gimli::Result<Option<AttributeValue<Slice>>> {
        let mut current = entry.clone();
        for _ in 0..4 {
            if let Some(value) = current.attr_value(name) {
                return Ok(Some(value));
            }
            let origin = current.attr_value(gimli::DW_AT_abstract_origin).or_else(|| current.attr_value(gimli::DW_AT_specification));
            match origin {
                Some(AttributeValue::UnitRef(offset)) => current = self.unit.entry(offset)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn name(&self, entry: &Entry) -> gimli::Result<Option<Arc<str>>> {
        let Some(value) = self.attr(entry, gimli::DW_AT_name)? else { return Ok(None) };
        let text = self.dwarf.attr_string(self.unit, value)?;
        Ok(Some(Arc::from(&*text.to_string_lossy()?)))
    }

    /// A function's name with its path, which stands around the entry itself or around the one that it is a copy of.
    fn path_name(&self, entry: &Entry) -> gimli::Result<Option<Arc<str>>> {
        let Some(name) = self.name(entry)? else { return Ok(None) };
        let mut offset = entry.offset();
        for _ in 0..4 {
            if let Some(path) = self.paths.get(&offset) {
                return Ok(Some(format!("{path}::{name}").into()));
            }
            let at = self.unit.entry(offset)?;
            match at.attr_value(gimli::DW_AT_abstract_origin).or_else(|| at.attr_value(gimli::DW_AT_specification)) {
                Some(AttributeValue::UnitRef(origin)) if !self.paths.is_empty() => offset = origin,
                _ => break,
            }
        }
        Ok(Some(name))
    }

    /// Notes the path of every function inside a module or type; only Rust has such.
    fn read_paths(&mut self) -> gimli::Result<()> {
        let mut open: Vec<(isize, Arc<str>)> = Vec::new();
        let mut entries = self.unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            if depth == 0 {
                match entry.attr_value(gimli::DW_AT_language) {
                    Some(AttributeValue::Language(gimli::DW_LANG_Rust)) => continue,
                    _ => return Ok(()),
                }
            }
            while open.last().is_some_and(|o| o.0 >= depth) {
                open.pop();
            }
            // Only what stands directly inside counts: functions inside functions are another matter.
            let around = open.last().filter(|o| o.0 == depth - 1).map(|o| Arc::clone(&o.1));
            match (entry.tag(), around) {
                (gimli::DW_TAG_subprogram, Some(path)) => {
                    self.paths.insert(entry.offset(), path);
                }
                (gimli::DW_TAG_namespace | gimli::DW_TAG_structure_type | gimli::DW_TAG_enumeration_type, around) => {
                    if around.is_none() && depth > 1 {
                        continue;
                    }
                    let Some(name) = self.name(entry)? else { continue };
                    open.push((depth, around.map_or(name.clone(), |path| format!("{path}::{name}").into())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn decl(&self, entry: &Entry) -> gimli::Result<(Option<LineKey>, u32)> {
        let number = |v: Option<AttributeValue<Slice>>| v.and_then(|v| v.udata_value()).unwrap_or(0);
        let line = number(self.attr(entry, gimli::DW_AT_decl_line)?);
        let file = match self.attr(entry, gimli::DW_AT_decl_file)? {
            Some(AttributeValue::FileIndex(index)) => index,
            other => number(other),
        };
        Ok((self.key(file, line), line as u32))
    }

    fn function(&self, entry: &Entry) -> gimli::Result<Option<Function>> {
        let ranges = self.ranges(entry)?;
        let Some(name) = self.path_name(entry)?.filter(|_| !ranges.is_empty()) else { return Ok(None) };
        let is_inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
        let frame_base = match entry.attr_value(gimli::DW_AT_frame_base) {
            Some(AttributeValue::Exprloc(expression)) => match self.only_operation(expression)? {
                Some(Operation::CallFrameCFA) => FrameBase::Cfa,
                Some(Operation::Register { register: gimli::X86_64::RBP }) => FrameBase::Rbp,
                _ => FrameBase::Other,
            },
            _ => FrameBase::Other,
        };
        Ok(Some(Function { name, decl: self.decl(entry)?.0, ranges, is_inlined, frame_base, vars: Vec::new() }))
    }

    fn only_operation(&self, expression: gimli::Expression<Slice>) -> gimli::Result<Option<Operation<Slice>>> {
        let mut operations = expression.operations(self.unit.encoding());
        let first = operations.next()?;
        Ok(if operations.next()?.is_none() { first } else { None })
    }

    fn variable(&mut self, entry: &Entry, context: &Context) -> gimli::Result<Option<Var>> {
        let Some(name) = self.name(entry)? else { return Ok(None) };
        if self.attr(entry, gimli::DW_AT_artificial)?.is_some() {
            return Ok(None);
        }
        let place = match entry.attr_value(gimli::DW_AT_location) {
            Some(AttributeValue::Exprloc(expression)) => match self.only_operation(expression)? {
                Some(Operation::Address { address }) => Place::Static(address),
                Some(Operation::AddressIndex { index }) => Place::Static(self.dwarf.address(self.unit, index)?),
                Some(Operation::FrameOffset { offset }) => Place::Frame(offset),
                _ => Place::Described,
            },
            Some(_) => Place::Described,
            None if self.attr(entry, gimli::DW_AT_const_value)?.is_some() => Place::Described,
            None => Place::Nowhere,
        };
        let leaves = match self.attr(entry, gimli::DW_AT_type)? {
            Some(AttributeValue::UnitRef(offset)) => self.leaves(offset)?,
            _ => None,
        };
        let (ranges, is_codeless) = (Arc::clone(&context.ranges), context.is_codeless);
        Ok(Some(Var { name, decl_line: self.decl(entry)?.1, place, ranges, is_codeless, leaves }))
    }

    /// The scalars of a type, `None` when it holds anything but numbers.
    fn leaves(&mut self, offset: gimli::UnitOffset) -> gimli::Result<Option<Arc<[Leaf]>>> {
        if let Some(known) = self.types.get(&offset) {
            return Ok(known.clone());
        }
        let mut found = Vec::new();
        let complete = crate::types::flatten(self.dwarf, self.unit, offset, 0, &mut found, 0)?;
        let leaves = complete.then(|| Arc::from(found));
        self.types.insert(offset, leaves.clone());
        Ok(leaves)
    }
}

/// Rows by address, in table order.
pub(crate) fn rows_by_address(rows: &[Row]) -> BTreeMap<u64, Vec<&Row>> {
    let mut found: BTreeMap<u64, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        found.entry(row.start).or_default().push(row);
    }
    found
}
