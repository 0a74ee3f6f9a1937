//! Newer versions of LLVM name the optimizer's passes in the bisection log as its pipeline texts do (`loop-rotate`),
//! older ones by their class (`LoopRotatePass`). Fingerprints compare versions, so a pass has one name: its class.

/// Names in pipelines and the classes they stand for. A name that is not here is kept as it is.
const CLASSES: &[(&str, &str)] = &[
    ("adce", "ADCEPass"),
    ("aggressive-instcombine", "AggressiveInstCombinePass"),
    ("alignment-from-assumptions", "AlignmentFromAssumptionsPass"),
    ("argpromotion", "ArgumentPromotionPass"),
    ("bdce", "BDCEPass"),
    ("called-value-propagation", "CalledValuePropagationPass"),
    ("callsite-splitting", "CallSiteSplittingPass"),
    ("consthoist", "ConstantHoistingPass"),
    ("constraint-elimination", "ConstraintEliminationPass"),
    ("correlated-propagation", "CorrelatedValuePropagationPass"),
    ("deadargelim", "DeadArgumentEliminationPass"),
    ("dfa-jump-threading", "DFAJumpThreadingPass"),
    ("div-rem-pairs", "DivRemPairsPass"),
    ("dse", "DSEPass"),
    ("early-cse", "EarlyCSEPass"),
    ("float2int", "Float2IntPass"),
    ("function-attrs", "PostOrderFunctionAttrsPass"),
    ("globaldce", "GlobalDCEPass"),
    ("globalopt", "GlobalOptPass"),
    ("gvn", "GVNPass"),
    ("gvn-hoist", "GVNHoistPass"),
    ("gvn-sink", "GVNSinkPass"),
    ("indvars", "IndVarSimplifyPass"),
    ("inferattrs", "InferFunctionAttrsPass"),
    ("inline", "InlinerPass"),
    ("instcombine", "InstCombinePass"),
    ("instsimplify", "InstSimplifyPass"),
    ("ipsccp", "IPSCCPPass"),
    ("jump-threading", "JumpThreadingPass"),
    ("lcssa", "LCSSAPass"),
    ("libcalls-shrinkwrap", "LibCallsShrinkWrapPass"),
    ("licm", "LICMPass"),
    ("loop-deletion", "LoopDeletionPass"),
    ("loop-distribute", "LoopDistributePass"),
    ("loop-idiom", "LoopIdiomRecognizePass"),
    ("loop-instsimplify", "LoopInstSimplifyPass"),
    ("loop-interchange", "LoopInterchangePass"),
    ("loop-load-elim", "LoopLoadEliminationPass"),
    ("loop-rotate", "LoopRotatePass"),
    ("loop-simplify", "LoopSimplifyPass"),
    ("loop-simplifycfg", "LoopSimplifyCFGPass"),
    ("loop-sink", "LoopSinkPass"),
    ("loop-unroll", "LoopUnrollPass"),
    ("loop-unroll-full", "LoopFullUnrollPass"),
    ("loop-vectorize", "LoopVectorizePass"),
    ("lower-expect", "LowerExpectIntrinsicPass"),
    ("mem2reg", "PromotePass"),
    ("memcpyopt", "MemCpyOptPass"),
    ("mldst-motion", "MergedLoadStoreMotionPass"),
    ("move-auto-init", "MoveAutoInitPass"),
    ("nary-reassociate", "NaryReassociatePass"),
    ("reassociate", "ReassociatePass"),
    ("sccp", "SCCPPass"),
    ("simple-loop-unswitch", "SimpleLoopUnswitchPass"),
    ("simplifycfg", "SimplifyCFGPass"),
    ("slp-vectorizer", "SLPVectorizerPass"),
    ("speculative-execution", "SpeculativeExecutionPass"),
    ("sroa", "SROAPass"),
    ("tailcallelim", "TailCallElimPass"),
    ("vector-combine", "VectorCombinePass"),
];

/// The class of a pass, whichever way it was named.
pub(crate) fn class_of(name: &str) -> &str {
    CLASSES.iter().find(|(text, _)| *text == name).map_or(name, |(_, class)| class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_has_one_name_in_all_versions() {
        assert_eq!(class_of("loop-rotate"), "LoopRotatePass");
        assert_eq!(class_of("LoopRotatePass"), "LoopRotatePass");
        assert_eq!(class_of("X86 DAG->DAG Instruction Selection"), "X86 DAG->DAG Instruction Selection");
    }
}
