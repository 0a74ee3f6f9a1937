//! What the repair makes of debug information: concrete functions, their variables with every location the compiler
//! wrote, inlined instances, line rows, globals. `trueline-dwarf` reads it; this keeps what an image's own entries say.
//!
//! Deliberately absent: reading DWARF, and the evaluation of expressions (the checker does that on the written file).

mod view;

use trueline_dwarf::{Module, Sections};
use trueline_machine::image::{Image, ImageError};
use view::ImageView;

/// What a value is, as far as printing it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// A signed integer.
    Signed,
    /// An unsigned integer, boolean or character.
    Unsigned,
    /// A binary floating-point number.
    Float,
    /// An address of another object.
    Pointer,
    /// An aggregate or something else that no single register holds.
    Other,
}

/// The type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableType {
    /// What a value of it is.
    pub class: TypeClass,
    /// How many bytes a value has.
    pub size: u64,
    /// For arrays and pointers: class and size of the element.
    pub element: Option<(TypeClass, u64)>,
}

/// One entry of a location list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationRange {
    /// The first address that it holds at.
    pub low: u64,
    /// One past the last.
    pub high: u64,
    /// The expression's bytes.
    pub expression: Vec<u8>,
    /// What its value depends on.
    pub depends: Depends,
}

/// What an expression's value depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depends {
    /// Nothing: it is the same always.
    Nothing,
    /// The machine's state.
    State,
}

/// Parameter or local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// What the caller gives the function.
    Parameter,
    /// A local variable.
    Local,
}

/// A variable (one per inlined instance).
#[derive(Clone, Debug)]
pub struct PlacedVariable {
    /// The name that the source gives it.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
    /// The source function it belongs to: the inlined one inside an inlined instance.
    pub function: String,
    /// Offset of its entry in `.debug_info`.
    pub die: usize,
    /// Parameter or local.
    pub kind: VariableKind,
    /// How its value is printed.
    pub ty: VariableType,
    /// Where it is in scope.
    pub scope: Vec<(u64, u64)>,
    /// Locations by address.
    pub locations: Vec<LocationRange>,
    /// A constant the compiler wrote for the whole scope.
    pub constant: Option<i64>,
    /// Its offset from the frame base, where it lives in memory for its whole life, as -O0 builds keep variables.
    pub frame_offset: Option<i64>,
    /// True inside an inlined instance.
    pub inlined: bool,
}

/// What DWARF says of a variable at a PC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationCoverage {
    /// Not in scope.
    OutOfScope,
    /// In scope, no location.
    Missing,
    /// A value that never depends on the machine's state.
    Constant,
    /// Something that depends on the machine's state.
    Computed,
}

impl PlacedVariable {
    /// True when a PC is inside its scope.
    pub fn in_scope(&self, pc: u64) -> bool {
        self.scope.iter().any(|(low, high)| pc >= *low && pc < *high)
    }

    /// What the compiler wrote for it at a PC.
    pub fn coverage(&self, pc: u64) -> LocationCoverage {
        if !self.in_scope(pc) {
            return LocationCoverage::OutOfScope;
        }
        if self.constant.is_some() {
            return LocationCoverage::Constant;
        }
        match self.locations.iter().find(|l| pc >= l.low && pc < l.high) {
            None => LocationCoverage::Missing,
            Some(l) if l.expression.is_empty() => LocationCoverage::Missing,
            Some(l) if l.depends == Depends::Nothing => LocationCoverage::Constant,
            Some(_) => LocationCoverage::Computed,
        }
    }
}

/// How a function's frame base is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBase {
    /// The canonical frame address.
    Cfa,
    /// The frame pointer, set up by the usual prologue.
    FramePointer,
    /// A register or expression that the checker guesses at.
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
pub struct ConcreteFunction {
    /// The full name that debuggers show.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
    /// Its address ranges, the one with the entry first.
    pub ranges: Vec<(u64, u64)>,
    /// What its variables at fixed offsets are measured from.
    pub frame_base: FrameBase,
    /// Variables, own and of inlined instances.
    pub variables: Vec<PlacedVariable>,
    /// Inlined instances: callee name and ranges.
    pub inlined: Vec<(String, Vec<(u64, u64)>)>,
    /// Index of its unit.
    pub unit: usize,
    /// How it is called.
    pub convention: Convention,
}

impl ConcreteFunction {
    /// The entry point.
    pub fn entry(&self) -> u64 {
        self.ranges[0].0
    }

    /// Whether somebody means it by a name: its full one, or that without the modules, classes and parameters around it.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.match_indices(name).any(|(at, found)| {
            let (before, after) = (&self.name[..at], &self.name[at + found.len()..]);
            !found.is_empty() && (before.is_empty() || before.ends_with("::")) && (after.is_empty() || after.starts_with('('))
        })
    }

    /// True when a PC is inside.
    pub fn contains(&self, pc: u64) -> bool {
        self.ranges.iter().any(|(low, high)| pc >= *low && pc < *high)
    }
}

/// A row of the line table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The link-time address that it holds from.
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
pub struct GlobalVariable {
    /// The name that the source gives it.
    pub name: String,
    /// The address that the linker gave it.
    pub address: u64,
    /// How its value is printed.
    pub ty: VariableType,
}

/// A compilation unit.
#[derive(Clone, Debug, Default)]
pub struct CompiledUnit {
    /// The source file as given to the compiler.
    pub name: String,
    /// The directory it was compiled in.
    pub comp_dir: String,
    /// Who compiled it.
    pub producer: String,
    /// Whether it knows a volatile type.
    pub volatile: bool,
}

/// Everything that was read.
#[derive(Clone, Debug, Default)]
pub struct ImageInfo {
    /// Units in order.
    pub units: Vec<CompiledUnit>,
    /// The functions that have code, in the order of their entries.
    pub functions: Vec<ConcreteFunction>,
    /// Line rows in address order.
    pub rows: Vec<LineRow>,
    /// The variables with a fixed address outside functions.
    pub globals: Vec<GlobalVariable>,
}

impl ImageInfo {
    /// Reads an image's DWARF.
    pub fn read(image: &Image) -> Result<Self, ImageError> {
        let find = |name: &str| image.section(name).map(|s| &*s.data);
        let module = Module::of_sections(&Sections { path: &image.path, find: &find });
        let module =
            module.map_err(|e| ImageError::Unsuitable { path: image.path.clone(), reason: format!("cannot be read: {}", e.reason) })?;
        let has_code = |address: u64| image.section_at(address).is_some_and(|s| s.code);
        Ok(ImageView { module: &module, has_code: &has_code }.read())
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
        let same: Vec<&LineRow> = self.rows[..end].iter().rev().take_while(|r| r.address == last.address && !r.end).collect();
        let chosen = same.iter().find(|r| r.is_stmt).unwrap_or(&same[0]);
        (chosen.file, chosen.line)
    }

    /// The rows of a function, in address order.
    pub fn rows_of<'s>(&'s self, function: &'s ConcreteFunction) -> impl Iterator<Item = &'s LineRow> {
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
}

/// The frame offset of a variable that lives in memory for its whole life, as -O0 builds keep them.
pub fn frame_offset(variable: &PlacedVariable) -> Option<i64> {
    variable.frame_offset
}
