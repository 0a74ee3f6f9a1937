//! Compiling and linking parts of a project again without its build command: the recorded calls are repeated in a third
//! tree, in which each object is that of one of two builds.
//!
//! A build command may do more than the calls show, so a replay is trusted only after it has made both builds' programs and
//! libraries anew, byte for byte.

use crate::build::{last_lines, with_environment};
use crate::calls::ToolCall;
use crate::recipe::{ProgramRecipe, StepKind};
use crate::shims::{CompilerShims, MakingCall};
use crate::{BuildRequest, BuiltTree, ObjectPath, ProjectError, tree};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use trueline_toolchain::{Job, Outcome, Scratch};

/// Which build an object of the third tree is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectSide {
    Reference,
    Optimized,
    /// It was compiled anew.
    Other,
}

/// The third tree, and how parts of it are made.
pub(crate) struct Replay<'a> {
    request: BuildRequest<'a>,
    reference: &'a BuiltTree,
    optimized: &'a BuiltTree,
    recipe: ProgramRecipe,
    /// The program, from the root of a tree.
    program: PathBuf,
    root: PathBuf,
    shims: CompilerShims,
    objects: Vec<ObjectPath>,
    /// What the third tree holds where it is not the object of the -O0 build.
    held: Mutex<BTreeMap<ObjectPath, ObjectSide>>,
    _scratch: Scratch,
}

/// An object that was compiled anew, beside the tree.
pub struct ReplayedObject {
    pub(crate) file: PathBuf,
    /// What the compiler printed on standard error.
    pub(crate) log: String,
    _scratch: Scratch,
}

impl<'a> Replay<'a> {
    /// Prepares a replay of one program and tries it; none when the recorded calls do not make what the build made. Links
    /// the program twice.
    pub(crate) fn prepare(
        request: &BuildRequest<'a>,
        (reference, optimized): (&'a BuiltTree, &'a BuiltTree),
        objects: &[ObjectPath],
        program: &Path,
    ) -> Result<Option<Self>, ProjectError> {
        let io = |what: &str| ProjectError::io(what.to_owned());
        let real = fs::canonicalize(optimized.root().join(program)).map_err(io("cannot find the program"))?;
        let top = fs::canonicalize(optimized.root()).map_err(io("cannot find the build"))?;
        let Ok(program) = real.strip_prefix(&top) else { return Ok(None) };
        let Some(recipe) = ProgramRecipe::of(optimized, program) else { return Ok(None) };
        let scratch = Scratch::new().map_err(io("cannot make a scratch directory"))?;
        let root = scratch.join("tree");
        tree::copy_project(reference.root(), &root)?;
        let project = fs::canonicalize(request.project).map_err(io("cannot find the project"))?;
        let shims = CompilerShims::write(&scratch.join("compilers"), request, (&root, &project), MakingCall::Compile)?;
        let (request, program, objects) = (request.clone(), program.to_owned(), objects.to_vec());
        let held = Mutex::default();
        let replay = Self { request, reference, optimized, recipe, program, root, shims, objects, held, _scratch: scratch };
        let repeats = replay.repeats(&replay.objects, optimized)? && replay.repeats(&[], reference)?;
        Ok(repeats.then_some(replay))
    }

    /// The objects that the program is linked from, in the order of the calls that name them.
    pub(crate) fn linked_objects(&self) -> Vec<ObjectPath> {
        let root = self.optimized.root();
        let mut found: Vec<ObjectPath> = Vec::new();
        for step in &self.recipe.steps {
            for path in step.call.args.iter().filter_map(|word| step.call.within(root, word)) {
                let object = ObjectPath(path.display().to_string());
                if self.objects.contains(&object) && !found.contains(&object) {
                    found.push(object);
                }
            }
        }
        found
    }

    /// How many links it took to try it.
    pub(crate) const TRIALS: usize = 2;

    /// Whether linking these objects as optimized makes what a build made.
    fn repeats(&self, objects: &[ObjectPath], build: &BuiltTree) -> Result<bool, ProjectError> {
        if self.link(objects, None).is_err() {
            return Ok(false);
        }
        let products: BTreeSet<&PathBuf> = self.recipe.steps.iter().map(|s| &s.product).collect();
        let same = |path: &&PathBuf| fs::read(self.root.join(path)).ok() == fs::read(build.root().join(path)).ok();
        Ok(products.iter().all(same))
    }

    /// The tree with these objects optimized, one of another make if there is one, the others at -O0; its program until the next
    /// link.
    pub(crate) fn link(&self, optimized: &[ObjectPath], anew: Option<(&ObjectPath, &ReplayedObject)>) -> Result<PathBuf, ProjectError> {
        self.fill(optimized, anew)?;
        let mut begun = BTreeSet::new();
        for step in &self.recipe.steps {
            // An archiver adds to what is there, and a linker that fails must not leave the last program.
            if begun.insert(&step.product) || step.kind == StepKind::Link {
                let _ = fs::remove_file(self.root.join(&step.product));
            }
            self.run(&step.call, &self.shims)?;
        }
        Ok(self.root.join(&self.program))
    }

    /// Puts the objects in their places.
    fn fill(&self, optimized: &[ObjectPath], anew: Option<(&ObjectPath, &ReplayedObject)>) -> Result<(), ProjectError> {
        let mut held = self.held.lock();
        for object in &self.objects {
            let (side, source) = match anew {
                Some((other, compiled)) if other == object => (ObjectSide::Other, compiled.file.clone()),
                _ if optimized.contains(object) => (ObjectSide::Optimized, self.optimized.root().join(&object.0)),
                _ => (ObjectSide::Reference, self.reference.root().join(&object.0)),
            };
            let is = held.get(object).copied().unwrap_or(ObjectSide::Reference);
            if side == ObjectSide::Other || side != is {
                fs::copy(&source, self.root.join(&object.0)).map_err(ProjectError::io(format!("cannot copy {}", source.display())))?;
                held.insert(object.clone(), side);
            }
        }
        Ok(())
    }

    /// Compiles one object with further flags, beside the tree: several may be compiled at a time.
    pub(crate) fn compile(&self, object: &ObjectPath, flags: &[String]) -> Result<ReplayedObject, ProjectError> {
        let scratch = Scratch::new().map_err(ProjectError::io("cannot make a scratch directory"))?;
        let file = scratch.join("anew.o");
        let call = self.call_of(object)?;
        let mut args = without_output(&call.args);
        args.extend(["-o".to_owned(), file.display().to_string()]);
        args.extend(flags.iter().cloned());
        let outcome = self.run(&ToolCall { args, ..call.clone() }, &self.shims)?;
        Ok(ReplayedObject { file, log: outcome.stderr_text(), _scratch: scratch })
    }

    /// An object's unit as the preprocessor writes it.
    pub(crate) fn preprocessed(&self, object: &ObjectPath) -> Result<String, ProjectError> {
        let scratch = Scratch::new().map_err(ProjectError::io("cannot make a scratch directory"))?;
        let file = scratch.join("unit.i");
        let call = self.call_of(object)?;
        let mut args: Vec<String> = without_output(&call.args).into_iter().filter(|a| a != "-c").collect();
        args.extend(["-E".to_owned(), "-w".to_owned(), "-o".to_owned(), file.display().to_string()]);
        self.run(&ToolCall { args, ..call.clone() }, &self.shims)?;
        let bytes = fs::read(&file).map_err(ProjectError::io("cannot read what the preprocessor wrote"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An object compiled of a preprocessed text in the place of its source, beside the tree.
    pub(crate) fn compile_text(&self, object: &ObjectPath, text: &str) -> Result<ReplayedObject, ProjectError> {
        let scratch = Scratch::new().map_err(ProjectError::io("cannot make a scratch directory"))?;
        let call = self.call_of(object)?;
        let source = call.source().unwrap_or_default();
        let name = if source.ends_with(".c") || source.ends_with(".i") { "unit.i" } else { "unit.ii" };
        let written = scratch.write(name, text).map_err(ProjectError::io("cannot write the unit"))?;
        let file = scratch.join("anew.o");
        let own = |word: String| if word == source { written.display().to_string() } else { word };
        let mut args: Vec<String> = without_output(&call.args).into_iter().map(own).collect();
        args.extend(["-w".to_owned(), "-o".to_owned(), file.display().to_string()]);
        let outcome = self.run(&ToolCall { args, ..call.clone() }, &self.shims)?;
        Ok(ReplayedObject { file, log: outcome.stderr_text(), _scratch: scratch })
    }

    fn call_of(&self, object: &ObjectPath) -> Result<&'a ToolCall, ProjectError> {
        self.optimized.call_of(object).ok_or_else(|| ProjectError::Unknown { object: object.to_string() })
    }

    /// Repeats a call of the optimized build in this tree.
    fn run(&self, call: &ToolCall, shims: &CompilerShims) -> Result<Outcome, ProjectError> {
        let call = call.moved(self.optimized.root(), &self.root);
        run_call(&call, shims, &self.request)
    }
}

/// Makes one call by a wrapped compiler.
pub(crate) fn run_call(call: &ToolCall, shims: &CompilerShims, request: &BuildRequest<'_>) -> Result<Outcome, ProjectError> {
    let job = Job::new(shims.dir().join(&call.name)).args(&call.args).cwd(&call.directory).limits(request.limits.clone());
    let started = |e: trueline_toolchain::JobError| ProjectError::NotStarted { level: request.level.to_string(), reason: e.to_string() };
    let outcome = with_environment(job, shims).run().map_err(started)?;
    if outcome.success() {
        return Ok(outcome);
    }
    Err(ProjectError::CallFailed { call: format!("{} {}", call.name, call.args.join(" ")), output: last_lines(&outcome) })
}

/// A compilation's words without its output and without the lists of sources for make.
pub(crate) fn without_output(args: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "-MF" | "-MT" | "-MQ" => {
                words.next();
            }
            "-MD" | "-MMD" | "-MP" => {}
            glued if glued.starts_with("-o") => {}
            _ => kept.push(word.clone()),
        }
    }
    kept
}
