//! Puts a new file in place: written beside its destination, read back and compared, then renamed. There
//! is never a half-written output.

use crate::debug::ImageInfo;
use std::path::{Path, PathBuf};
use trueline_machine::image::Image;

/// Why a new file was not put in place.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refused a file operation.
    #[error("cannot write {path}: {source}", path = path.display())]
    System {
        /// The file that is in question.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// The new file does not say what the old one did.
    #[error("the new file was not written: {0}")]
    Differs(String),
}

/// Compares a new file with the old one: every loaded section byte by byte, and the debug information
/// entry by entry in number.
pub fn verify(old: &Image, bytes: &[u8]) -> Result<(), String> {
    let new = Image::parse(&old.path, bytes.to_vec()).map_err(|e| e.to_string())?;
    for section in old.sections.iter().filter(|s| s.loaded) {
        let same =
            new.sections.iter().find(|s| s.index == section.index).is_some_and(|s| {
                s.name == section.name && s.address == section.address && s.size == section.size && s.data == section.data
            });
        if !same {
            return Err(format!("its section {} is not as it was", section.name));
        }
    }
    let (a, b) = (ImageInfo::read(old).map_err(|e| e.to_string())?, ImageInfo::read(&new).map_err(|e| e.to_string())?);
    let shape = |i: &ImageInfo| {
        let variables: usize = i.functions.iter().map(|f| f.variables.len()).sum();
        (i.units.len(), i.functions.len(), variables, i.globals.len(), i.rows.len())
    };
    if shape(&a) != shape(&b) {
        return Err(format!(
            "its debug information counts {:?} units, functions, variables, globals, rows instead of {:?}",
            shape(&b),
            shape(&a)
        ));
    }
    Ok(())
}

/// Writes `bytes` to `output` with the permissions of `binary`.
pub fn write(binary: &Path, output: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let system = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError::System { path, source }
    };
    let old = Image::open(binary).map_err(|e| WriteError::Differs(e.to_string()))?;
    verify(&old, bytes).map_err(WriteError::Differs)?;
    let permissions = std::fs::metadata(binary).map_err(system(binary))?.permissions();
    let mut name = output.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(name);
    let result = std::fs::write(&temporary, bytes)
        .and_then(|()| std::fs::set_permissions(&temporary, permissions))
        .and_then(|()| std::fs::rename(&temporary, output));
    result.map_err(|source| {
        let _ = std::fs::remove_file(&temporary);
        system(output)(source)
    })
}
