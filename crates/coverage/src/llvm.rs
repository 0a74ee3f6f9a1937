//! What is known about LLVM's symbols: which object file of the static libraries (`llvm-NN-dev`) defines
//! an exported function.

use crate::image::Image;
use crate::naming::Hints;

/// Hints for `libLLVM` and `libclang-cpp`.
#[derive(Clone, Debug, Default)]
pub struct LlvmHints {}

impl LlvmHints {
    /// Hints for an image.
    pub fn of_image(_image: &Image) -> Self {
        Self {}
    }
}

impl Hints for LlvmHints {
    fn file_of_export(&self, _name: &str) -> Option<String> {
        None
    }

    fn display(&self, file: &str) -> String {
        file.to_owned()
    }
}
