//! Mixtures of two builds of a project: some objects from the optimized build, the others from the -O0 build.
//!
//! Where the recorded calls of compilers and archivers make the same program again, a mixture is linked by repeating these.
//! Otherwise the project's own build command makes it, and the wrapped compilers hand out objects that are there instead of
//! compiling. In both ways archives, libraries and link lines stay the project's own, and no object is compiled twice.

use crate::build::build_by;
use crate::calls::ObjectPath;
use crate::replay::{Replay, ReplayedObject};
use crate::shims::{MakingCall, Supply};
use crate::{BuildRequest, BuiltTree, ProjectError, RunCommand, UnitFunction, UnitFunctions};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use trueline_model::CompilerKind;
use trueline_toolchain::Scratch;

/// Makes mixtures of two builds of the program of one run. One at a time: the next one may stand in the place of the last.
pub struct MixtureMaker<'a> {
    /// How the optimized build was made.
    request: BuildRequest<'a>,
    /// The build at -O0.
    reference: &'a BuiltTree,
    /// The optimized build.
    optimized: &'a BuiltTree,
    /// What is run.
    run: &'a RunCommand,
    replay: Option<Replay<'a>>,
    links: AtomicUsize,
}

/// How mixtures are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mixing {
    /// By repeating the recorded calls.
    Replay,
    /// By the project's build command.
    BuildCommand,
}

/// A mixture that was linked.
#[derive(Clone)]
pub struct Mixed {
    /// The program, until the next mixture is made.
    pub program: PathBuf,
    /// The tree that it stands in, where it has one of its own.
    tree: Option<Arc<BuiltTree>>,
}

/// An object that was compiled anew.
pub enum Anew {
    /// The object is compiled by itself.
    Object(ReplayedObject),
    /// Within a whole build, which linked it too.
    Program(Mixed),
}

impl Anew {
    /// What the compiler printed on standard error.
    pub fn log(&self) -> &str {
        match self {
            Self::Object(compiled) => &compiled.log,
            Self::Program(mixed) => mixed.tree.as_ref().map_or("", |tree| &tree.log),
        }
    }
}

impl<'a> MixtureMaker<'a> {
    /// A mixer of the program of one run; tries whether the recorded calls can be repeated.
    pub fn new(
        request: BuildRequest<'a>,
        reference: &'a BuiltTree,
        optimized: &'a BuiltTree,
        run: &'a RunCommand,
    ) -> Result<Self, ProjectError> {
        let objects = objects_of_both(reference, optimized);
        let replay = match objects.is_empty() {
            true => None,
            false => Replay::prepare(&request, (reference, optimized), &objects, &run.program)?,
        };
        Ok(Self { request, reference, optimized, run, replay, links: AtomicUsize::new(0) })
    }

    /// How mixtures are made.
    pub fn mixing(&self) -> Mixing {
        if self.replay.is_some() { Mixing::Replay } else { Mixing::BuildCommand }
    }

    /// The build at -O0.
    pub fn reference(&self) -> &'a BuiltTree {
        self.reference
    }

    /// The optimized build.
    pub fn optimized(&self) -> &'a BuiltTree {
        self.optimized
    }

    /// How the optimized build was made.
    pub fn request(&self) -> &BuildRequest<'a> {
        &self.request
    }

    /// What is run.
    pub fn run(&self) -> &'a RunCommand {
        self.run
    }

    /// How many times the program was linked so far, without the trials.
    pub fn links(&self) -> usize {
        self.links.load(Ordering::Relaxed)
    }

    /// How many links the trial of the recorded calls took.
    pub fn trials(&self) -> usize {
        if self.replay.is_some() { Replay::TRIALS } else { 0 }
    }

    /// The objects that both builds made.
    pub fn objects(&self) -> Vec<ObjectPath> {
        objects_of_both(self.reference, self.optimized)
    }

    /// The objects that the program is linked from, as far as its link names them; all objects where that is not known.
    pub fn linked_objects(&self) -> Vec<ObjectPath> {
        let linked = self.replay.as_ref().map(Replay::linked_objects).unwrap_or_default();
        if linked.is_empty() { self.objects() } else { linked }
    }

    /// The program with these objects optimized.
    pub fn link(&self, optimized: &[ObjectPath]) -> Result<Mixed, ProjectError> {
        self.links.fetch_add(1, Ordering::Relaxed);
        match &self.replay {
            Some(replay) => Ok(Mixed { program: replay.link(optimized, None)?, tree: None }),
            None => self.mix(&self.request, optimized, None),
        }
    }

    /// One object compiled anew, at the optimized build's level and with further flags. Several may be compiled at a time.
    pub fn compile(&self, object: &ObjectPath, flags: &[String]) -> Result<Anew, ProjectError> {
        if let Some(replay) = &self.replay {
            return Ok(Anew::Object(replay.compile(object, flags)?));
        }
        self.links.fetch_add(1, Ordering::Relaxed);
        let flags = [self.request.flags, flags].concat();
        let request = BuildRequest { flags: &flags, ..self.request.clone() };
        Ok(Anew::Program(self.mix(&request, &[], Some(object))?))
    }

    /// The functions of an object's unit; none where the recorded calls cannot be repeated.
    pub fn functions_of(&self, object: &ObjectPath) -> Result<Option<UnitFunctions>, ProjectError> {
        self.replay.as_ref().map(|replay| Ok(UnitFunctions::of(replay.preprocessed(object)?))).transpose()
    }

    /// One object compiled anew with only these functions of its unit optimized; none where the recorded calls cannot be
    /// repeated.
    pub fn compile_functions(
        &self,
        object: &ObjectPath,
        unit: &UnitFunctions,
        (optimized, kind): (&[UnitFunction], CompilerKind),
    ) -> Result<Option<Anew>, ProjectError> {
        let Some(replay) = &self.replay else { return Ok(None) };
        Ok(Some(Anew::Object(replay.compile_text(object, &unit.with_optimized(optimized, kind))?)))
    }

    /// The program with an object that was compiled anew, and all others at -O0.
    pub fn link_with(&self, object: &ObjectPath, anew: &Anew) -> Result<Mixed, ProjectError> {
        match (anew, &self.replay) {
            (Anew::Object(compiled), Some(replay)) => {
                self.links.fetch_add(1, Ordering::Relaxed);
                Ok(Mixed { program: replay.link(&[], Some((object, compiled)))?, tree: None })
            }
            (Anew::Program(mixed), _) => Ok(mixed.clone()),
            (Anew::Object(_), None) => Err(ProjectError::Unknown { object: object.to_string() }),
        }
    }

    fn mix(&self, request: &BuildRequest<'_>, optimized: &[ObjectPath], anew: Option<&ObjectPath>) -> Result<Mixed, ProjectError> {
        let cannot = || ProjectError::io("cannot write the list of optimized objects");
        let scratch = Scratch::new().map_err(cannot())?;
        let list = scratch.write("optimized", optimized.iter().map(|o| format!("{o}\n")).collect::<String>()).map_err(cannot())?;
        let supply = Supply { reference: self.reference.root(), optimized: self.optimized.root(), list: &list, anew };
        let tree = build_by(request, MakingCall::Serve(supply))?;
        Ok(Mixed { program: self.run.program_in(&tree)?, tree: Some(Arc::new(tree)) })
    }
}

fn objects_of_both(reference: &BuiltTree, optimized: &BuiltTree) -> Vec<ObjectPath> {
    let reference = reference.objects();
    optimized.objects().into_iter().filter(|o| reference.contains(o)).collect()
}
