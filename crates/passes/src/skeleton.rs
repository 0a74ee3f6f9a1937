//! The update that is missing, in the three forms of the paper's table 3, and the LLVM call that does it.

use crate::judge::Operation;
use crate::report::InstructionView;
use crate::site::Site;

/// The skeleton of an update.
pub fn skeleton(expected: Operation, dst: &InstructionView, srcs: &[InstructionView], site: &Site) -> String {
    let name = |view: &InstructionView| view.text.split(" = ").next().unwrap_or("").to_owned();
    let at = format!("After {} ({})", site.function, place(site));
    let sources: Vec<String> = srcs.iter().map(name).collect();
    match expected {
        Operation::Preserve => {
            format!("{at} Preserve({}, {})  // DstInst->setDebugLoc(SrcInst->getDebugLoc());", name(dst), sources.join(", "))
        }
        Operation::Merge => {
            format!(
                "{at} Merge({}, {})  // DstInst->applyMergedLocation(SrcInst1->getDebugLoc(), SrcInst2->getDebugLoc());",
                name(dst),
                sources.join(", ")
            )
        }
        Operation::Drop => format!("{at} Drop({})  // DstInst->dropLocation();", name(dst)),
    }
}

/// The skeleton of an update that is given in words.
pub fn at(site: &Site, update: &str) -> String {
    format!("After {} ({}) {update}", site.function, place(site))
}

/// Where the call is: its line where that is known, otherwise its address in the library, with the file if that is.
fn place(site: &Site) -> String {
    match (&site.file, site.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => format!("{file}, libLLVM+{:#x}", site.address),
        (None, _) => format!("libLLVM+{:#x}", site.address),
    }
}
