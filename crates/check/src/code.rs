//! Wrong code alone: compile without debug information, run, compare what is printed. Nothing is traced, so programs of any length
//! can be judged, at a fraction of the cost. Deliberately absent: what the program should print, which the caller knows.

use crate::build::{BuildCost, BuildExtent, Compilation};
use crate::checker::float_math_of;
use crate::{Behaviour, CheckError, Checker};
use std::path::PathBuf;
use std::time::Duration;
use trueline_model::{OptLevel, Program};
use trueline_oracle::FloatMath;
use trueline_toolchain::{Compiler, DebugInfo, Limits, Scratch};

/// A program compiled at a level without debug information.
pub struct PlainBuild {
    /// What it took to compile.
    pub cost: BuildCost,
    /// The command, with bare file names.
    pub command: String,
    binary: PathBuf,
    opt: OptLevel,
    float_math: FloatMath,
    // Holds the binary.
    _scratch: Scratch,
}

impl Checker {
    /// Compiles a program at a level, without debug information.
    pub fn build_plain(&self, program: &Program, compiler: &Compiler, opt: OptLevel) -> Result<PlainBuild, CheckError> {
        let scratch = Scratch::new().map_err(CheckError::io("cannot make a scratch directory"))?;
        let source = scratch.write(&program.name, &program.source).map_err(CheckError::io(format!("cannot write {}", program.name)))?;
        let flags = self.flags(program, &[]);
        let (extent, debug, output) = (BuildExtent::Program, DebugInfo::None, "plain".to_owned());
        let compilation = Compilation { program, compiler, opt, flags: &flags, extent, debug, output, limits: None };
        let built = compilation.run(&source, &scratch).map_err(|e| CheckError::of_build(e, opt))?;
        let cost = BuildCost { cpu: built.cpu, max_rss: built.max_rss };
        let float_math = float_math_of(opt, &flags);
        Ok(PlainBuild { cost, command: built.command, binary: built.binary, opt, float_math, _scratch: scratch })
    }

    /// Runs a build, which may take so much CPU time, and says how it behaves.
    pub fn run_plain(&self, program: &Program, build: &PlainBuild, cpu: Duration) -> Result<Behaviour, CheckError> {
        let limits = Limits { cpu, ..self.options().limits.clone() };
        Behaviour::observe(&build.binary, &self.launch_of(program), &limits)
    }

    /// Runs a build of a program that is known to behave as `expected`; behaving differently is an error.
    pub fn check_plain(&self, expected: &Behaviour, build: &PlainBuild) -> Result<(), CheckError> {
        self.compare_behaviour(expected, &build.binary, build.opt, build.float_math)
    }
}
