//! What a machine has, what each tool enables, and the one command that installs the rest.

use crate::Compiler;
use crate::tool::{Tool, ToolError, ToolKind, find_tool, installed_compilers};

/// A tool that some command wants.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// The tool.
    pub kind: ToolKind,
    /// What it makes possible.
    pub enables: &'static str,
}

/// Every tool we can use, compilers apart.
pub const REQUIREMENTS: [Requirement; 12] = [
    Requirement { kind: ToolKind::Gdb, enables: "--engine gdb, and gdb as a reader of every finding" },
    Requirement { kind: ToolKind::Lldb, enables: "--engine lldb, and lldb as a reader of every finding" },
    Requirement { kind: ToolKind::Opt, enables: "trueline passes" },
    Requirement { kind: ToolKind::Csmith, enables: "--generator csmith" },
    Requirement { kind: ToolKind::Yarpgen, enables: "--generator yarpgen" },
    Requirement { kind: ToolKind::Cvise, enables: "trueline reduce --tool cvise" },
    Requirement { kind: ToolKind::Creduce, enables: "trueline reduce --tool creduce" },
    Requirement { kind: ToolKind::Cvc5, enables: "proofs in trueline repair" },
    Requirement { kind: ToolKind::Z3, enables: "proofs in trueline repair, where cvc5 is absent" },
    Requirement { kind: ToolKind::Ccomp, enables: "CompCert's interpreter in the validity filter" },
    Requirement { kind: ToolKind::Valgrind, enables: "a second opinion on the validity of programs" },
    Requirement { kind: ToolKind::LlvmDwarfdump, enables: "DWARF excerpts in bug drafts, verification of repaired binaries" },
];

/// What a look at the machine found.
#[derive(Debug)]
pub struct Diagnosis {
    /// Compilers, oldest first within a family.
    pub compilers: Vec<Compiler>,
    /// Each other tool, or why it cannot be used.
    pub tools: Vec<(Requirement, Result<Tool, ToolError>)>,
}

impl Diagnosis {
    /// The command that installs everything missing that Debian has, `None` when nothing is missing.
    pub fn install_command(&self) -> Option<String> {
        use trueline_model::CompilerKind;
        // Neither is in Debian's main archive for bookworm: asking for them would fail the whole command.
        let unavailable = [ToolKind::Yarpgen, ToolKind::Ccomp];
        let mut packages: Vec<&str> = Vec::new();
        let has = |kind| self.compilers.iter().any(|c| c.id.kind == kind);
        if !has(CompilerKind::Gcc) {
            packages.push("gcc");
        }
        if !has(CompilerKind::Clang) {
            packages.push("clang-16");
        }
        for (requirement, _) in self.tools.iter().filter(|(r, t)| t.is_err() && !unavailable.contains(&r.kind)) {
            packages.push(requirement.kind.package());
            // Debian packs lldb without the module that its scripts import.
            if requirement.kind == ToolKind::Lldb {
                packages.push("python3-lldb-16");
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        packages.retain(|package| seen.insert(*package));
        (!packages.is_empty()).then(|| format!("apt-get install --no-install-recommends {}", packages.join(" ")))
    }
}

/// Looks at the machine.
pub fn diagnose() -> Diagnosis {
    Diagnosis { compilers: installed_compilers(), tools: REQUIREMENTS.into_iter().map(|r| (r, find_tool(r.kind, None))).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_machine_is_told_every_package_once() {
        let missing =
            |r: Requirement| (r, Err(ToolError::Missing { name: r.kind.program().to_owned(), package: r.kind.package().to_owned() }));
        let bare = Diagnosis { compilers: Vec::new(), tools: REQUIREMENTS.into_iter().map(missing).collect() };
        let command = bare.install_command().expect("everything is missing");
        let packages: Vec<&str> = command.split_whitespace().skip(3).collect();
        let distinct: std::collections::BTreeSet<&&str> = packages.iter().collect();
        assert_eq!(packages.len(), distinct.len(), "{command}");
        assert!(packages.contains(&"gcc") && packages.contains(&"python3-lldb-16"), "{command}");
    }
}
