//! Mixtures of two builds of a project: some objects from the optimized build, the others from the -O0 build.
//!
//! The project's own build command makes a mixture. The wrapped compilers hand out objects that are there instead of
//! compiling, so that archives, libraries and link lines stay the project's own, and no object is compiled twice.

use crate::build::build_by;
use crate::shims::{Making, Supply};
use crate::{BuildRequest, BuiltTree, ObjectPath, ProjectError};
use trueline_toolchain::Scratch;

/// Makes mixtures of two builds.
pub struct Mixer<'a> {
    /// How the optimized build was made.
    pub request: BuildRequest<'a>,
    /// The build at -O0.
    pub reference: &'a BuiltTree,
    /// The optimized build.
    pub optimized: &'a BuiltTree,
}

impl Mixer<'_> {
    /// The objects that both builds made.
    pub fn objects(&self) -> Vec<ObjectPath> {
        let reference = self.reference.objects();
        self.optimized.objects().into_iter().filter(|o| reference.contains(o)).collect()
    }

    /// A build with these objects optimized.
    pub fn link(&self, optimized: &[ObjectPath]) -> Result<BuiltTree, ProjectError> {
        self.mix(&self.request, optimized, None)
    }

    /// A build with one object compiled anew, at the optimized build's level and with further flags, and all others at -O0.
    pub fn compile(&self, object: &ObjectPath, flags: &[String]) -> Result<BuiltTree, ProjectError> {
        let flags = [self.request.flags, flags].concat();
        let request = BuildRequest { flags: &flags, ..self.request.clone() };
        self.mix(&request, &[], Some(object))
    }

    fn mix(&self, request: &BuildRequest<'_>, optimized: &[ObjectPath], anew: Option<&ObjectPath>) -> Result<BuiltTree, ProjectError> {
        let cannot = || ProjectError::io("cannot write the list of optimized objects");
        let scratch = Scratch::new().map_err(cannot())?;
        let list = scratch.write("optimized", optimized.iter().map(|o| format!("{o}\n")).collect::<String>()).map_err(cannot())?;
        let supply = Supply { reference: self.reference.root(), optimized: self.optimized.root(), list: &list, anew };
        build_by(request, Making::Serve(supply))
    }
}
