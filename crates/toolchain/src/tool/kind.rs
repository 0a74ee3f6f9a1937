//! The tools that are known: their programs, the packages they come in, what stands beside them.

use std::fmt;

/// The tools we know by name, compilers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolKind {
    /// The GNU debugger, `gdb`.
    Gdb,
    /// LLVM's debugger, `lldb` or `lldb-N`.
    Lldb,
    /// LLVM's optimizer driver, `opt-N`.
    Opt,
    /// The random program generator csmith.
    Csmith,
    /// The random program generator yarpgen.
    Yarpgen,
    /// The test-case reducer C-Vise.
    Cvise,
    /// The test-case reducer C-Reduce.
    Creduce,
    /// The SMT solver cvc5.
    Cvc5,
    /// The SMT solver Z3.
    Z3,
    /// CompCert, for its reference interpreter.
    Ccomp,
    /// Valgrind, for programs that others wrote.
    Valgrind,
    /// LLVM's DWARF dumper, `llvm-dwarfdump-N`.
    LlvmDwarfdump,
}

impl ToolKind {
    /// The name of the program without a version suffix.
    pub fn program(self) -> &'static str {
        match self {
            Self::Gdb => "gdb",
            Self::Lldb => "lldb",
            Self::Opt => "opt",
            Self::Csmith => "csmith",
            Self::Yarpgen => "yarpgen",
            Self::Cvise => "cvise",
            Self::Creduce => "creduce",
            Self::Cvc5 => "cvc5",
            Self::Z3 => "z3",
            Self::Ccomp => "ccomp",
            Self::Valgrind => "valgrind",
            Self::LlvmDwarfdump => "llvm-dwarfdump",
        }
    }

    /// The Debian package that brings it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Gdb => "gdb",
            Self::Lldb => "lldb-16",
            Self::Opt | Self::LlvmDwarfdump => "llvm-16",
            Self::Csmith => "csmith",
            Self::Yarpgen => "yarpgen",
            Self::Cvise => "cvise",
            Self::Creduce => "creduce",
            Self::Cvc5 => "cvc5",
            Self::Z3 => "z3",
            Self::Ccomp => "compcert",
            Self::Valgrind => "valgrind",
        }
    }

    /// Whether it shows programs as they run.
    pub(crate) fn is_debugger(self) -> bool {
        matches!(self, Self::Gdb | Self::Lldb)
    }

    /// Where those are from that Debian does not have; asking its archive for them would fail a whole command.
    pub fn homepage(self) -> Option<&'static str> {
        match self {
            Self::Yarpgen => Some("https://github.com/intel/yarpgen"),
            Self::Ccomp => Some("https://compcert.org"),
            _ => None,
        }
    }

    /// Packages that its own does not ask for, and without which it is of no use.
    pub(crate) fn companions(self) -> &'static [&'static str] {
        match self {
            // Debian packs lldb without the module that its scripts import.
            Self::Lldb => &["python3-lldb-16"],
            // The header that every program of csmith includes.
            Self::Csmith => &["libcsmith-dev"],
            _ => &[],
        }
    }
}

impl fmt::Display for ToolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program())
    }
}
