//! A machine function as LLVM prints it: blocks, instructions, and what describes variables between them.

use crate::observation::LocationId;

/// A machine function at one moment of code generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirFunction {
    /// Its name.
    pub name: String,
    /// Whether every virtual register has one definition.
    pub is_ssa: bool,
    /// The blocks in the order of their layout.
    pub blocks: Vec<MirBlock>,
}

/// A block of a machine function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirBlock {
    /// Its number, which some passes give anew.
    pub number: u32,
    /// The block of the IR it came from, empty when there is none.
    pub name: String,
    /// Numbers of the blocks it leads to.
    pub successors: Vec<u32>,
    /// What it holds, descriptions of variables included.
    pub instructions: Vec<MirInstruction>,
}

impl MirBlock {
    /// The block for people: `bb.3 (for.body)`.
    pub fn title(&self) -> String {
        if self.name.is_empty() { format!("bb.{}", self.number) } else { format!("bb.{} ({})", self.number, self.name) }
    }
}

/// A machine instruction, or a description of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirInstruction {
    /// Its text without location and memory operands.
    pub text: String,
    /// The opcode, `MOV32rr`.
    pub opcode: String,
    /// Opcode and operands without flags that passes change at will and without block numbers.
    pub key: String,
    /// The same with every register alike: what register allocation leaves as it is.
    pub shape: String,
    /// Registers that it writes.
    pub defs: Vec<String>,
    /// Registers that it reads.
    pub uses: Vec<String>,
    /// Whether it calls something: all registers that a call may change are changed.
    pub is_call: bool,
    /// Its location.
    pub location: Option<LocationId>,
    /// The number by which `DBG_INSTR_REF` refers to it.
    pub number: Option<u32>,
    /// What it says of a variable.
    pub description: Option<MirDescription>,
}

impl MirInstruction {
    /// Whether it is something that the processor executes.
    pub fn is_real(&self) -> bool {
        const META: [&str; 16] = [
            "DBG_VALUE",
            "DBG_VALUE_LIST",
            "DBG_INSTR_REF",
            "DBG_PHI",
            "DBG_LABEL",
            "CFI_INSTRUCTION",
            "EH_LABEL",
            "GC_LABEL",
            "ANNOTATION_LABEL",
            "KILL",
            "IMPLICIT_DEF",
            "LIFETIME_START",
            "LIFETIME_END",
            "PSEUDO_PROBE",
            "BUNDLE",
            "FAKE_USE",
        ];
        !META.contains(&self.opcode.as_str())
    }

    /// Whether it can end a block.
    pub fn is_terminator(&self) -> bool {
        const STARTS: [&str; 8] = ["JMP", "JCC", "RET", "TAILJMP", "TCRETURN", "B ", "Bcc", "INDIRECT"];
        self.text.contains("%bb.") && self.opcode != "PHI" || STARTS.iter().any(|start| self.opcode.starts_with(start.trim()))
    }
}

/// A source variable as machine code names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MirVariable {
    /// Its name.
    pub name: String,
    /// The line that declares it.
    pub line: u32,
    /// The call that it is inlined at, as text.
    pub inlined_at: String,
    /// The piece of it, offset and size in bits.
    pub fragment: Option<(u64, u64)>,
}

/// What an operand of a description holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Held {
    /// A register.
    Register(String),
    /// The value of an instruction, by its number and operand.
    Reference(u32, u32),
    /// A number or an address known at link time.
    Constant(String),
    /// A place in the frame.
    Slot(String),
    /// Nothing: the value is gone.
    Nothing,
}

/// A description of a variable: `DBG_VALUE`, `DBG_VALUE_LIST` or `DBG_INSTR_REF`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirDescription {
    /// The variable.
    pub variable: MirVariable,
    /// The scope that declares it, by the number of its metadata.
    pub scope: Option<u32>,
    /// The location's call site, for the question whether it is in scope.
    pub inlined: Option<LocationId>,
    /// What it is computed from.
    pub held: Vec<Held>,
    /// The expression, as LLVM prints it.
    pub expression: String,
    /// Whether what is held is the address of the value.
    pub is_indirect: bool,
}

impl MirDescription {
    /// Whether it says that the value is gone.
    pub fn is_undefined(&self) -> bool {
        self.held.is_empty() || self.held.contains(&Held::Nothing)
    }

    /// For people and for comparing: operands and expression.
    pub fn value(&self) -> String {
        let held: Vec<String> = self.held.iter().map(Held::text).collect();
        let indirect = if self.is_indirect { ", indirect" } else { "" };
        match self.expression.as_str() {
            "" | "DW_OP_LLVM_arg, 0" => format!("{}{indirect}", held.join(", ")),
            expression => format!("{}; {expression}{indirect}", held.join(", ")),
        }
    }
}

impl Held {
    /// As LLVM prints it.
    pub fn text(&self) -> String {
        match self {
            Held::Register(name) | Held::Constant(name) | Held::Slot(name) => name.clone(),
            Held::Reference(number, operand) => format!("instruction {number}, operand {operand}"),
            Held::Nothing => "nothing".to_owned(),
        }
    }
}
