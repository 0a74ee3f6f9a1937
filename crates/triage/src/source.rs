//! The source file of a pass: where somebody who is told its name begins to read.
//!
//! Names are those that the compilers print; a pass that is not in the table has no file here, never a guessed one.

use trueline_model::CompilerKind;

/// Passes of gcc (instance numbers left out) and the stem of their file in gcc's `gcc/` directory.
const GCC: &[(&str, &[&str])] = &[
    ("bb-reorder", &["rtl-bbro", "rtl-compgotos"]),
    ("cfgcleanup", &["rtl-jump"]),
    ("cfgexpand", &["rtl-expand"]),
    ("combine", &["rtl-combine"]),
    ("combine-stack-adj", &["rtl-csa"]),
    ("compare-elim", &["rtl-cmpelim"]),
    ("cprop", &["rtl-cprop"]),
    ("cse", &["rtl-cse", "rtl-cse_local"]),
    ("dce", &["rtl-ud_dce", "rtl-rtl_dce"]),
    ("dse", &["rtl-dse"]),
    ("function", &["rtl-pro_and_epilogue"]),
    ("fwprop", &["rtl-fwprop", "rtl-fwprop_addr"]),
    ("gcse", &["rtl-rtl pre", "rtl-rtl_pre", "rtl-hoist"]),
    ("gimple-ssa-backprop", &["tree-backprop"]),
    ("gimple-ssa-evrp", &["tree-evrp"]),
    ("gimple-ssa-isolate-paths", &["tree-isolate-paths"]),
    ("gimple-ssa-split-paths", &["tree-split-paths"]),
    ("gimple-ssa-store-merging", &["tree-store-merging", "tree-bswap"]),
    ("gimple-ssa-strength-reduction", &["tree-slsr"]),
    ("ifcvt", &["rtl-ce"]),
    ("ipa-cp", &["ipa-cp"]),
    ("ipa-icf", &["ipa-icf"]),
    ("ipa-inline", &["ipa-inline", "tree-einline", "ipa-early_optimizations"]),
    ("ipa-modref", &["ipa-modref", "tree-modref"]),
    ("ipa-profile", &["ipa-profile"]),
    ("ipa-pure-const", &["ipa-pure-const", "tree-local-pure-const"]),
    ("ipa-reference", &["ipa-static-var", "ipa-reference"]),
    ("ipa-split", &["tree-fnsplit", "tree-feedback_fnsplit"]),
    ("ipa-sra", &["ipa-sra"]),
    ("ipa-visibility", &["ipa-visibility", "ipa-whole-program"]),
    ("ira", &["rtl-ira", "rtl-reload"]),
    ("loop-doloop", &["rtl-loop2_doloop"]),
    ("loop-invariant", &["rtl-loop2_invariant"]),
    ("loop-unroll", &["rtl-loop2_unroll"]),
    ("lower-subreg", &["rtl-subreg"]),
    ("modulo-sched", &["rtl-sms"]),
    ("postreload", &["rtl-postreload"]),
    ("postreload-gcse", &["rtl-gcse"]),
    ("predict", &["tree-profile_estimate"]),
    ("recog", &["rtl-split", "rtl-peephole"]),
    ("ree", &["rtl-ree"]),
    ("regcprop", &["rtl-cprop_hardreg"]),
    ("regrename", &["rtl-rnreg"]),
    ("sched-rgn", &["rtl-sched"]),
    ("shrink-wrap", &["rtl-shrink_wrap"]),
    ("tree-cfg", &["tree-crited"]),
    ("tree-cfgcleanup", &["tree-mergephi"]),
    ("tree-if-conv", &["tree-ifcvt"]),
    ("tree-loop-distribution", &["tree-ldist"]),
    ("tree-predcom", &["tree-pcom"]),
    ("tree-scalar-evolution", &["tree-sccp"]),
    ("tree-sra", &["tree-esra", "tree-sra"]),
    ("tree-ssa-ccp", &["tree-ccp", "tree-fab"]),
    ("tree-ssa-copy", &["tree-copyprop"]),
    ("tree-ssa-dce", &["tree-dce", "tree-cddce"]),
    ("tree-ssa-dom", &["tree-dom"]),
    ("tree-ssa-dse", &["tree-dse"]),
    ("tree-ssa-forwprop", &["tree-forwprop"]),
    ("tree-ssa-ifcombine", &["tree-ifcombine"]),
    ("tree-ssa-loop-ch", &["tree-ch", "tree-ch_vect"]),
    ("tree-ssa-loop-im", &["tree-lim"]),
    ("tree-ssa-loop-ivcanon", &["tree-ivcanon", "tree-cunroll", "tree-cunrolli"]),
    ("tree-ssa-loop-ivopts", &["tree-ivopts"]),
    ("tree-ssa-loop-split", &["tree-lsplit"]),
    ("tree-ssa-loop-unswitch", &["tree-unswitch"]),
    ("tree-ssa-math-opts", &["tree-widening_mul", "tree-sincos", "tree-recip"]),
    ("tree-ssa-phiopt", &["tree-phiopt", "tree-cselim"]),
    ("tree-ssa-phiprop", &["tree-phiprop"]),
    ("tree-ssa-pre", &["tree-pre"]),
    ("tree-ssa-reassoc", &["tree-reassoc"]),
    ("tree-ssa-sccvn", &["tree-fre"]),
    ("tree-ssa-sink", &["tree-sink"]),
    ("tree-ssa-strlen", &["tree-strlen"]),
    ("tree-ssa-threadbackward", &["tree-thread", "tree-threadfull", "tree-ethread"]),
    ("tree-ssa-threadedge", &["tree-vrp-thread"]),
    ("tree-ssa-uncprop", &["tree-uncprop"]),
    ("tree-switch-conversion", &["tree-switchconv", "tree-switchlower"]),
    ("tree-tailcall", &["tree-tailr", "tree-tailc"]),
    ("tree-vectorizer", &["tree-vect", "tree-slp"]),
    ("tree-vrp", &["tree-vrp"]),
    ("var-tracking", &["rtl-vartrack"]),
    ("web", &["rtl-web"]),
];

/// Passes of LLVM and their file under `llvm/lib/`. Those of the optimizer not listed here are in
/// `Transforms/Scalar`, under the name of the class, when [`SCALAR`] has it.
const LLVM: &[(&str, &str)] = &[
    ("InstCombinePass", "Transforms/InstCombine/InstructionCombining.cpp"),
    ("AggressiveInstCombinePass", "Transforms/AggressiveInstCombine/AggressiveInstCombine.cpp"),
    ("SimplifyCFGPass", "Transforms/Utils/SimplifyCFG.cpp"),
    ("InlinerPass", "Transforms/Utils/InlineFunction.cpp"),
    ("PromotePass", "Transforms/Utils/PromoteMemoryToRegister.cpp"),
    ("LoopSimplifyPass", "Transforms/Utils/LoopSimplify.cpp"),
    ("LCSSAPass", "Transforms/Utils/LCSSA.cpp"),
    ("LoopRotatePass", "Transforms/Utils/LoopRotationUtils.cpp"),
    ("LoopUnrollPass", "Transforms/Utils/LoopUnroll.cpp"),
    ("LoopFullUnrollPass", "Transforms/Utils/LoopUnroll.cpp"),
    ("LoopVectorizePass", "Transforms/Vectorize/LoopVectorize.cpp"),
    ("SLPVectorizerPass", "Transforms/Vectorize/SLPVectorizer.cpp"),
    ("VectorCombinePass", "Transforms/Vectorize/VectorCombine.cpp"),
    ("IPSCCPPass", "Transforms/IPO/SCCP.cpp"),
    ("GlobalOptPass", "Transforms/IPO/GlobalOpt.cpp"),
    ("DeadArgumentEliminationPass", "Transforms/IPO/DeadArgumentElimination.cpp"),
    ("ArgumentPromotionPass", "Transforms/IPO/ArgumentPromotion.cpp"),
    ("TailCallElimPass", "Transforms/Scalar/TailRecursionElimination.cpp"),
    ("DSEPass", "Transforms/Scalar/DeadStoreElimination.cpp"),
    ("MemCpyOptPass", "Transforms/Scalar/MemCpyOptimizer.cpp"),
    ("X86 DAG->DAG Instruction Selection", "CodeGen/SelectionDAG/SelectionDAGISel.cpp"),
    ("CodeGen Prepare", "CodeGen/CodeGenPrepare.cpp"),
    ("Branch Probability Basic Block Placement", "CodeGen/MachineBlockPlacement.cpp"),
    ("Control Flow Optimizer", "CodeGen/BranchFolding.cpp"),
    ("Tail Duplication", "CodeGen/TailDuplicator.cpp"),
    ("Early Tail Duplication", "CodeGen/TailDuplicator.cpp"),
    ("Machine Common Subexpression Elimination", "CodeGen/MachineCSE.cpp"),
    ("Machine code sinking", "CodeGen/MachineSink.cpp"),
    ("Machine Loop Invariant Code Motion", "CodeGen/MachineLICM.cpp"),
    ("Early Machine Loop Invariant Code Motion", "CodeGen/MachineLICM.cpp"),
    ("Machine Copy Propagation Pass", "CodeGen/MachineCopyPropagation.cpp"),
    ("Machine Instruction Scheduler", "CodeGen/MachineScheduler.cpp"),
    ("Peephole Optimizations", "CodeGen/PeepholeOptimizer.cpp"),
    ("Remove dead machine instructions", "CodeGen/DeadMachineInstructionElim.cpp"),
    ("Loop Strength Reduction", "Transforms/Scalar/LoopStrengthReduce.cpp"),
    ("Merge disjoint stack slots", "CodeGen/StackColoring.cpp"),
    ("Stack Slot Coloring", "CodeGen/StackSlotColoring.cpp"),
    ("Shrink Wrapping analysis", "CodeGen/ShrinkWrap.cpp"),
    ("Greedy Register Allocator", "CodeGen/RegAllocGreedy.cpp"),
    ("Simple Register Coalescing", "CodeGen/RegisterCoalescer.cpp"),
    ("Two-Address instruction pass", "CodeGen/TwoAddressInstructionPass.cpp"),
    ("X86 LEA Optimize", "Target/X86/X86OptimizeLEAs.cpp"),
    ("X86 cmov Conversion", "Target/X86/X86CmovConversion.cpp"),
];

/// Classes whose file in `Transforms/Scalar` is the class's name without `Pass`.
const SCALAR: &[&str] = &[
    "ADCE",
    "BDCE",
    "CallSiteSplitting",
    "ConstraintElimination",
    "CorrelatedValuePropagation",
    "DivRemPairs",
    "EarlyCSE",
    "Float2Int",
    "GVN",
    "IndVarSimplify",
    "JumpThreading",
    "LICM",
    "LoopDeletion",
    "LoopDistribute",
    "LoopIdiomRecognize",
    "LoopInstSimplify",
    "LoopLoadElimination",
    "LoopSimplifyCFG",
    "LoopSink",
    "MergedLoadStoreMotion",
    "Reassociate",
    "SCCP",
    "SROA",
    "SimpleLoopUnswitch",
    "SpeculativeExecution",
    "TailRecursionElimination",
];

/// The source file of a pass as its compiler's repository has it; of a set, those of its members.
pub fn source_of(kind: CompilerKind, major: u32, pass: &str) -> Vec<String> {
    let mut files: Vec<String> = match kind {
        CompilerKind::Gcc => pass.split('+').filter_map(|one| gcc_source(one, major)).collect(),
        CompilerKind::Clang | CompilerKind::Rustc => llvm_source(pass).into_iter().collect(),
        CompilerKind::Other => Vec::new(),
    };
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files
}

fn gcc_source(pass: &str, major: u32) -> Option<String> {
    let plain = pass.trim_end_matches(|c: char| c.is_ascii_digit());
    let (stem, _) = GCC.iter().find(|(_, names)| names.iter().any(|n| *n == plain || *n == pass))?;
    // The files were renamed from .c to .cc for gcc 12.
    Some(format!("gcc/{stem}.{}", if major >= 12 { "cc" } else { "c" }))
}

fn llvm_source(pass: &str) -> Option<String> {
    let listed = LLVM.iter().find(|(name, _)| *name == pass).map(|(_, file)| format!("llvm/lib/{file}"));
    listed.or_else(|| {
        let class = pass.strip_suffix("Pass")?;
        SCALAR.contains(&class).then(|| format!("llvm/lib/Transforms/Scalar/{class}.cpp"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_and_sets_lead_to_their_files() {
        assert_eq!(
            source_of(CompilerKind::Gcc, 12, "tree-ccp1+tree-forwprop1+tree-ccp5"),
            ["gcc/tree-ssa-ccp.cc", "gcc/tree-ssa-forwprop.cc"]
        );
        assert_eq!(source_of(CompilerKind::Gcc, 11, "tree-profile_estimate"), ["gcc/predict.c"]);
        assert_eq!(source_of(CompilerKind::Clang, 16, "LICMPass"), ["llvm/lib/Transforms/Scalar/LICM.cpp"]);
        assert_eq!(source_of(CompilerKind::Clang, 16, "Control Flow Optimizer"), ["llvm/lib/CodeGen/BranchFolding.cpp"]);
    }

    #[test]
    fn an_unknown_pass_has_no_file() {
        assert!(source_of(CompilerKind::Gcc, 12, "tree-nonsense1").is_empty());
        assert!(source_of(CompilerKind::Clang, 16, "NonsensePass").is_empty());
    }
}
