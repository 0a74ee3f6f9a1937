//! Which build system a project has, and the command that builds it when the user names none.

use crate::ProjectError;
use std::fmt;
use std::path::Path;

/// A build system that is known by a file in the project's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildSystem {
    /// `Cargo.toml`: rustc's level comes from the profile, not from a wrapper.
    Cargo,
    /// `meson.build`, built below `build`.
    Meson,
    /// `CMakeLists.txt`, built below `build`.
    CMake,
    /// `Makefile`, `makefile` or `GNUmakefile`.
    Make,
    /// `configure`, then make.
    Configure,
}

impl BuildSystem {
    /// The system of a directory. A project that has several is built by the first of this order: Cargo, Make where somebody
    /// wrote or configured a makefile, Meson, CMake, configure.
    pub fn detect(dir: &Path) -> Result<Self, ProjectError> {
        let has = |name: &str| dir.join(name).is_file();
        if has("Cargo.toml") {
            Ok(Self::Cargo)
        } else if ["GNUmakefile", "makefile", "Makefile"].into_iter().any(has) {
            Ok(Self::Make)
        } else if has("meson.build") {
            Ok(Self::Meson)
        } else if has("CMakeLists.txt") {
            Ok(Self::CMake)
        } else if has("configure") {
            Ok(Self::Configure)
        } else {
            Err(ProjectError::UnknownSystem { dir: dir.to_owned() })
        }
    }

    /// The command that builds such a project with so many jobs. No build type: its flags would be the tool's, not the project's.
    pub fn command(self, jobs: usize) -> String {
        match self {
            Self::Cargo => "cargo build".to_owned(),
            Self::Meson => "meson setup --buildtype=plain build && meson compile -C build".to_owned(),
            Self::CMake => format!("cmake -S . -B build -DCMAKE_BUILD_TYPE= && cmake --build build -j{jobs}"),
            Self::Make => format!("make -j{jobs}"),
            Self::Configure => format!("./configure && make -j{jobs}"),
        }
    }
}

impl fmt::Display for BuildSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cargo => "Cargo",
            Self::Meson => "Meson",
            Self::CMake => "CMake",
            Self::Make => "make",
            Self::Configure => "configure",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_makefile_that_somebody_wrote_comes_before_cmake() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(BuildSystem::detect(dir.path()), Err(ProjectError::UnknownSystem { .. })));
        std::fs::write(dir.path().join("CMakeLists.txt"), "").unwrap();
        assert_eq!(BuildSystem::detect(dir.path()).unwrap(), BuildSystem::CMake);
        std::fs::write(dir.path().join("Makefile"), "").unwrap();
        assert_eq!(BuildSystem::detect(dir.path()).unwrap(), BuildSystem::Make);
    }
}
