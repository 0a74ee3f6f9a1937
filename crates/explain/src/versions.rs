//! The compilers that a fingerprint is taken over.

use std::collections::BTreeMap;
use trueline_model::{CompilerKind, OptLevel};
use trueline_toolchain::Compiler;
use trueline_triage::Setting;

/// Which compilers a fingerprint is taken over.
pub enum Versions {
    /// Every installed (or fetched) one of the finding's family.
    Installed(Vec<Compiler>),
    /// These, of whatever family they are; only those of the finding's family are used.
    Named(Vec<Compiler>),
    /// No fingerprint: the finding's own compiler only.
    None,
}

impl Versions {
    /// The settings of a fingerprint for one compiler: its own version and all others of its family.
    pub fn settings(&self, own: &Compiler, opt: OptLevel) -> Vec<Setting> {
        let others: &[Compiler] = match self {
            Self::Installed(all) | Self::Named(all) => all,
            Self::None => &[],
        };
        let mut compilers: BTreeMap<(CompilerKind, u32, String), Compiler> = BTreeMap::new();
        // Those without a driver for the language of the finding's compiler cannot be asked.
        let drivers = others.iter().filter(|c| c.id.kind == own.id.kind).filter_map(|c| c.driver(own.language()).ok());
        for compiler in drivers.chain([own.clone()]) {
            compilers.insert((compiler.id.kind, compiler.major(), compiler.id.version.clone()), compiler);
        }
        compilers.into_values().map(|compiler| Setting { compiler, opt }).collect()
    }
}
