//! Where LLVM's machine passes are: class and file by the name that command lines and dumps use.

/// Name, class and file of each pass, from the `INITIALIZE_PASS` lines of LLVM 16, 19 and 22.
const PASSES: [(&str, &str, &str); 73] = [
    ("block-placement", "MachineBlockPlacement", "llvm/lib/CodeGen/MachineBlockPlacement.cpp"),
    ("branch-folder", "BranchFolderPass", "llvm/lib/CodeGen/BranchFolding.cpp"),
    ("branch-relaxation", "BranchRelaxation", "llvm/lib/CodeGen/BranchRelaxation.cpp"),
    ("break-false-deps", "BreakFalseDeps", "llvm/lib/CodeGen/BreakFalseDeps.cpp"),
    ("cfi-instr-inserter", "CFIInstrInserter", "llvm/lib/CodeGen/CFIInstrInserter.cpp"),
    ("dead-mi-elimination", "DeadMachineInstructionElim", "llvm/lib/CodeGen/DeadMachineInstructionElim.cpp"),
    ("detect-dead-lanes", "DetectDeadLanes", "llvm/lib/CodeGen/DetectDeadLanes.cpp"),
    ("early-if-predicator", "EarlyIfPredicator", "llvm/lib/CodeGen/EarlyIfConversion.cpp"),
    ("early-ifcvt", "EarlyIfConverter", "llvm/lib/CodeGen/EarlyIfConversion.cpp"),
    ("early-machinelicm", "EarlyMachineLICM", "llvm/lib/CodeGen/MachineLICM.cpp"),
    ("early-tailduplication", "EarlyTailDuplicate", "llvm/lib/CodeGen/TailDuplication.cpp"),
    ("finalize-isel", "FinalizeISel", "llvm/lib/CodeGen/FinalizeISel.cpp"),
    ("fixup-statepoint-caller-saved", "FixupStatepointCallerSaved", "llvm/lib/CodeGen/FixupStatepointCallerSaved.cpp"),
    ("greedy", "RAGreedy", "llvm/lib/CodeGen/RegAllocGreedy.cpp"),
    ("if-converter", "IfConverter", "llvm/lib/CodeGen/IfConversion.cpp"),
    ("implicit-null-checks", "ImplicitNullChecks", "llvm/lib/CodeGen/ImplicitNullChecks.cpp"),
    ("init-undef", "InitUndef", "llvm/lib/CodeGen/InitUndef.cpp"),
    ("livedebugvalues", "LiveDebugValues", "llvm/lib/CodeGen/LiveDebugValues/LiveDebugValues.cpp"),
    ("livedebugvars", "LiveDebugVariables", "llvm/lib/CodeGen/LiveDebugVariables.cpp"),
    ("liveintervals", "LiveIntervals", "llvm/lib/CodeGen/LiveIntervals.cpp"),
    ("livevars", "LiveVariables", "llvm/lib/CodeGen/LiveVariables.cpp"),
    ("localstackalloc", "LocalStackSlotPass", "llvm/lib/CodeGen/LocalStackSlotAllocation.cpp"),
    ("lrshrink", "LiveRangeShrink", "llvm/lib/CodeGen/LiveRangeShrink.cpp"),
    ("machine-combiner", "MachineCombiner", "llvm/lib/CodeGen/MachineCombiner.cpp"),
    ("machine-cp", "MachineCopyPropagation", "llvm/lib/CodeGen/MachineCopyPropagation.cpp"),
    ("machine-cse", "MachineCSE", "llvm/lib/CodeGen/MachineCSE.cpp"),
    ("machine-function-splitter", "MachineFunctionSplitter", "llvm/lib/CodeGen/MachineFunctionSplitter.cpp"),
    ("machine-latecleanup", "MachineLateInstrsCleanup", "llvm/lib/CodeGen/MachineLateInstrsCleanup.cpp"),
    ("machine-outliner", "MachineOutliner", "llvm/lib/CodeGen/MachineOutliner.cpp"),
    ("machine-scheduler", "MachineScheduler", "llvm/lib/CodeGen/MachineScheduler.cpp"),
    ("machine-sink", "MachineSinking", "llvm/lib/CodeGen/MachineSink.cpp"),
    ("machinelicm", "MachineLICM", "llvm/lib/CodeGen/MachineLICM.cpp"),
    ("opt-phis", "OptimizePHIs", "llvm/lib/CodeGen/OptimizePHIs.cpp"),
    ("peephole-opt", "PeepholeOptimizer", "llvm/lib/CodeGen/PeepholeOptimizer.cpp"),
    ("phi-node-elimination", "PHIElimination", "llvm/lib/CodeGen/PHIElimination.cpp"),
    ("pipeliner", "MachinePipeliner", "llvm/lib/CodeGen/MachinePipeliner.cpp"),
    ("post-RA-sched", "PostRAScheduler", "llvm/lib/CodeGen/PostRASchedulerList.cpp"),
    ("postmisched", "PostMachineScheduler", "llvm/lib/CodeGen/MachineScheduler.cpp"),
    ("postra-machine-sink", "PostRAMachineSinking", "llvm/lib/CodeGen/MachineSink.cpp"),
    ("postrapseudos", "ExpandPostRA", "llvm/lib/CodeGen/ExpandPostRAPseudos.cpp"),
    ("processimpdefs", "ProcessImplicitDefs", "llvm/lib/CodeGen/ProcessImplicitDefs.cpp"),
    ("prologepilog", "PEI", "llvm/lib/CodeGen/PrologEpilogInserter.cpp"),
    ("regallocbasic", "RABasic", "llvm/lib/CodeGen/RegAllocBasic.cpp"),
    ("regallocfast", "RegAllocFast", "llvm/lib/CodeGen/RegAllocFast.cpp"),
    ("register-coalescer", "RegisterCoalescer", "llvm/lib/CodeGen/RegisterCoalescer.cpp"),
    ("removeredundantdebugvalues", "RemoveRedundantDebugValues", "llvm/lib/CodeGen/RemoveRedundantDebugValues.cpp"),
    ("rename-independent-subregs", "RenameIndependentSubregs", "llvm/lib/CodeGen/RenameIndependentSubregs.cpp"),
    ("shrink-wrap", "ShrinkWrap", "llvm/lib/CodeGen/ShrinkWrap.cpp"),
    ("simple-register-coalescing", "RegisterCoalescer", "llvm/lib/CodeGen/RegisterCoalescer.cpp"),
    ("stack-coloring", "StackColoring", "llvm/lib/CodeGen/StackColoring.cpp"),
    ("stack-slot-coloring", "StackSlotColoring", "llvm/lib/CodeGen/StackSlotColoring.cpp"),
    ("tailduplication", "TailDuplicate", "llvm/lib/CodeGen/TailDuplication.cpp"),
    ("twoaddressinstruction", "TwoAddressInstructionPass", "llvm/lib/CodeGen/TwoAddressInstructionPass.cpp"),
    ("unreachable-mbb-elimination", "UnreachableMachineBlockElim", "llvm/lib/CodeGen/UnreachableBlockElim.cpp"),
    ("virtregrewriter", "VirtRegRewriter", "llvm/lib/CodeGen/VirtRegMap.cpp"),
    ("x86-avoid-SFB", "X86AvoidSFBPass", "llvm/lib/Target/X86/X86AvoidStoreForwardingBlocks.cpp"),
    ("x86-cf-opt", "X86CallFrameOptimization", "llvm/lib/Target/X86/X86CallFrameOptimization.cpp"),
    ("x86-cmov-conversion", "X86CmovConverterPass", "llvm/lib/Target/X86/X86CmovConversion.cpp"),
    ("x86-codegen", "FPS", "llvm/lib/Target/X86/X86FloatingPoint.cpp"),
    ("x86-compress-evex", "CompressEVEXPass", "llvm/lib/Target/X86/X86CompressEVEX.cpp"),
    ("x86-domain-reassignment", "X86DomainReassignment", "llvm/lib/Target/X86/X86DomainReassignment.cpp"),
    ("x86-evex-to-vex-compress", "EvexToVexInstPass", "llvm/lib/Target/X86/X86EvexToVex.cpp"),
    ("x86-execution-domain-fix", "X86ExecutionDomainFix", "llvm/lib/Target/X86/X86TargetMachine.cpp"),
    ("x86-fixup-LEAs", "FixupLEAPass", "llvm/lib/Target/X86/X86FixupLEAs.cpp"),
    ("x86-fixup-bw-insts", "FixupBWInstPass", "llvm/lib/Target/X86/X86FixupBWInsts.cpp"),
    ("x86-fixup-inst-tuning", "X86FixupInstTuningPass", "llvm/lib/Target/X86/X86FixupInstTuning.cpp"),
    ("x86-fixup-setcc", "X86FixupSetCCPass", "llvm/lib/Target/X86/X86FixupSetCC.cpp"),
    ("x86-fixup-vector-constants", "X86FixupVectorConstantsPass", "llvm/lib/Target/X86/X86FixupVectorConstants.cpp"),
    ("x86-flags-copy-lowering", "X86FlagsCopyLoweringPass", "llvm/lib/Target/X86/X86FlagsCopyLowering.cpp"),
    ("x86-isel", "X86DAGToDAGISel", "llvm/lib/Target/X86/X86ISelDAGToDAG.cpp"),
    ("x86-optimize-LEAs", "X86OptimizeLEAPass", "llvm/lib/Target/X86/X86OptimizeLEAs.cpp"),
    ("x86-pseudo", "X86ExpandPseudo", "llvm/lib/Target/X86/X86ExpandPseudo.cpp"),
    ("x86-slh", "X86SpeculativeLoadHardeningPass", "llvm/lib/Target/X86/X86SpeculativeLoadHardening.cpp"),
];

/// A machine pass's function and file in LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassHome {
    /// Its class.
    pub class: &'static str,
    /// The file that implements it.
    pub file: &'static str,
}

/// Where the pass of a name is; `None` for one that is not known.
pub fn home(pass: &str) -> Option<PassHome> {
    PASSES.iter().find(|(name, ..)| *name == pass).map(|(_, class, file)| PassHome { class, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_is_named_once_and_has_a_file_of_llvm() {
        assert!(PASSES.windows(2).all(|w| w[0].0 < w[1].0), "sorted, without repetition");
        assert!(PASSES.iter().all(|(_, class, file)| !class.is_empty() && file.starts_with("llvm/lib/")));
        assert_eq!(home("machine-sink").map(|h| h.file), Some("llvm/lib/CodeGen/MachineSink.cpp"));
        assert_eq!(home("no-such-pass"), None);
    }
}
