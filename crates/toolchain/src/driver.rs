//! Which driver of a compiler takes which language. `gcc-12` and `g++-12` are one compiler with two drivers: they differ
//! in what they take a file for and in the libraries they link. The user names either; the program decides.
//!
//! Deliberately absent: any list of versions. A sibling is a file beside the driver that was named.

use crate::tool::{Compiler, ToolError};
use std::path::PathBuf;
use trueline_model::{CompilerKind, Language};

/// The option that makes a clang of any name a driver for C++.
const AS_CXX: &str = "--driver-mode=g++";

impl Compiler {
    /// The language that this driver takes all files for, and links for.
    pub fn language(&self) -> Language {
        match self.id.kind {
            CompilerKind::Rustc => Language::Rust,
            _ if self.name().contains("++") || self.launcher.args.iter().any(|a| a == AS_CXX) => Language::Cpp,
            _ => Language::C,
        }
    }

    /// Whether one of its drivers takes a language.
    pub fn takes(&self, language: Language) -> bool {
        (self.id.kind == CompilerKind::Rustc) == (language == Language::Rust)
    }

    /// The driver of the same compiler for a language: `g++-12` of `gcc-12` for C++, `gcc-12` of `g++-12` for C.
    pub fn driver(&self, language: Language) -> Result<Compiler, ToolError> {
        if self.language() == language || !self.takes(language) {
            return Ok(self.clone());
        }
        let name = self.name();
        let renamed = if language == Language::Cpp { cxx_name(&name) } else { c_name(&name) };
        let path: PathBuf = self.id.path.with_file_name(&renamed);
        let mut driver = self.clone();
        if renamed != name && path.exists() {
            driver.id.path = path;
            return Ok(driver);
        }
        match (self.id.kind, language) {
            // One program that goes by its name, or by what it is told.
            (CompilerKind::Clang, Language::Cpp) => driver.launcher.args.push(AS_CXX.to_owned()),
            (CompilerKind::Clang, _) => driver.launcher.args.retain(|a| a != AS_CXX),
            _ if renamed != name => {
                let advice = format!(
                    "it is the {language} driver of {}: install it with `apt-get install {renamed}`, or name another --cc",
                    self.id
                );
                return Err(ToolError::Missing { name: path.display().to_string(), advice });
            }
            // A script of its own name: it knows what it is for.
            _ => {}
        }
        Ok(driver)
    }

    fn name(&self) -> String {
        self.id.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

fn cxx_name(name: &str) -> String {
    match name {
        "cc" => "c++".to_owned(),
        _ => name.replacen("gcc", "g++", 1).replacen("clang", "clang++", 1),
    }
}

fn c_name(name: &str) -> String {
    match name {
        "c++" => "cc".to_owned(),
        _ => name.replacen("clang++", "clang", 1).replacen("g++", "gcc", 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileRequest, Exit, Job, Scratch, find_compiler};
    use trueline_model::OptLevel;

    #[test]
    fn either_driver_leads_to_the_one_that_the_language_needs() {
        for (c, cxx) in [("gcc-12", "g++-12"), ("clang-16", "clang++-16")] {
            let (Ok(c), Ok(cxx)) = (find_compiler(c), find_compiler(cxx)) else {
                println!("skipped: no {c} with {cxx}");
                continue;
            };
            assert_eq!((c.language(), cxx.language()), (Language::C, Language::Cpp));
            assert_eq!(c.driver(Language::Cpp).unwrap(), cxx);
            assert_eq!(cxx.driver(Language::C).unwrap(), c);
            assert_eq!(cxx.driver(Language::Cpp).unwrap(), cxx);
            assert!(c.takes(Language::Cpp) && !c.takes(Language::Rust));
        }
    }

    #[test]
    fn a_c_driver_that_is_named_compiles_and_links_a_cpp_file() {
        let scratch = Scratch::new().unwrap();
        let text =
            "#include <string>\nint main() { try { throw std::string(\"abc\"); } catch (std::string &s) { return (int)s.size(); } }\n";
        let source = scratch.write("a.cpp", text).unwrap();
        for name in ["gcc", "clang"] {
            let Ok(compiler) = find_compiler(name) else {
                println!("skipped: no {name}");
                continue;
            };
            let request = CompileRequest::new(&source, Language::Cpp, OptLevel::O1, scratch.join("a"));
            let build = compiler.compile(&request).unwrap();
            assert_eq!(Job::new(&build.binary).run().unwrap().exit, Exit::Code(3), "{name}");
            assert!(build.command.contains("++"), "{}", build.command);
        }
    }

    #[test]
    fn a_compiler_without_its_other_driver_says_which_program_is_missing() {
        let scratch = Scratch::new().unwrap();
        let mut lonely = find_compiler("gcc").unwrap();
        lonely.id.path = scratch.write("gcc-99", "").unwrap();
        let error = lonely.driver(Language::Cpp).unwrap_err().to_string();
        assert!(error.contains("g++-99") && error.contains("apt-get install g++-99"), "{error}");
        let mut clang = lonely.clone();
        clang.id.kind = CompilerKind::Clang;
        clang.id.path = scratch.write("clang-99", "").unwrap();
        let driver = clang.driver(Language::Cpp).unwrap();
        assert_eq!((driver.language(), driver.id.path.clone()), (Language::Cpp, clang.id.path.clone()));
        assert_eq!(driver.driver(Language::C).unwrap(), clang);
    }
}
