//! The update that is missing, in the three forms of the paper's table 3, and the LLVM call that does it.

use crate::judge::Operation;
use crate::report::InstructionView;
use crate::site::Site;

/// The skeleton of an update.
pub fn skeleton(expected: Operation, dst: &InstructionView, srcs: &[InstructionView], site: &Site) -> String {
    let name = |view: &InstructionView| view.text.split(" = ").next().unwrap_or("").to_owned();
    let line = site.line.map_or(String::new(), |line| format!(":{line}"));
    let file = site.file.as_ref().map_or(String::new(), |file| format!(" ({file}{line})"));
    let at = format!("After {}+{:#x}{file}", site.function, site.address);
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
