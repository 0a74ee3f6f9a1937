//! What a machine has, what each tool enables, and the one command that installs the rest.

use crate::Compiler;
use crate::tool::{Tool, ToolError, ToolKind, find_tool, installed_compilers, installed_debuggers};

/// A tool that some command wants.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// The tool that is looked for.
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
    /// Debuggers that `--engine` can name, of the host and fetched.
    pub debuggers: Vec<Tool>,
    /// Each other tool, or why it cannot be used.
    pub tools: Vec<(Requirement, Result<Tool, ToolError>)>,
}

impl Diagnosis {
    /// The command that installs everything missing that Debian has, `None` when nothing is missing.
    pub fn install_command(&self) -> Option<String> {
        use trueline_model::CompilerKind;
        let mut packages: Vec<&str> = Vec::new();
        let has = |kind| self.compilers.iter().any(|c| c.id.kind == kind);
        if !has(CompilerKind::Gcc) {
            packages.push("gcc");
        }
        if !has(CompilerKind::Clang) {
            // Its sanitizers are in a package of their own.
            packages.extend(["clang-16", "libclang-rt-16-dev"]);
        }
        for requirement in self.missing().filter(|r| r.kind.homepage().is_none()) {
            packages.push(requirement.kind.package());
            packages.extend(requirement.kind.companions());
        }
        let mut seen = std::collections::BTreeSet::new();
        packages.retain(|package| seen.insert(*package));
        (!packages.is_empty()).then(|| format!("apt-get install --no-install-recommends {}", packages.join(" ")))
    }

    /// The tools that cannot be used.
    pub fn missing(&self) -> impl Iterator<Item = Requirement> {
        self.tools.iter().filter(|(_, tool)| tool.is_err()).map(|(requirement, _)| *requirement)
    }
}

/// Looks at the machine.
pub fn diagnose() -> Diagnosis {
    let tools = REQUIREMENTS.into_iter().map(|r| (r, find_tool(r.kind, None))).collect();
    Diagnosis { compilers: installed_compilers(), debuggers: installed_debuggers(), tools }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_machine_is_told_every_package_once() {
        let missing = |r: Requirement| (r, Err(ToolError::missing(r.kind, None)));
        let bare = Diagnosis { compilers: Vec::new(), debuggers: Vec::new(), tools: REQUIREMENTS.into_iter().map(missing).collect() };
        let command = bare.install_command().expect("everything is missing");
        let packages: Vec<&str> = command.split_whitespace().skip(3).collect();
        let distinct: std::collections::BTreeSet<&&str> = packages.iter().collect();
        assert_eq!(packages.len(), distinct.len(), "{command}");
        for package in ["gcc", "python3-lldb-16", "libcsmith-dev", "libclang-rt-16-dev"] {
            assert!(packages.contains(&package), "{package}: {command}");
        }
        assert!(!packages.contains(&"yarpgen"), "{command}");
    }
}
