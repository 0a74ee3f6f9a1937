//! Where gcc's passes are: the file by the name that dumps use, without the number of the instance.

/// Names and files, without their ending: gcc 12 renamed `.c` to `.cc`. From gcc's `passes.def` and the `pass_data` of each file.
const PASSES: [(&str, &str); 66] = [
    ("backprop", "gimple-ssa-backprop"),
    ("bbro", "bb-reorder"),
    ("ccp", "tree-ssa-ccp"),
    ("cddce", "tree-ssa-dce"),
    ("ce", "ifcvt"),
    ("ch", "tree-ssa-loop-ch"),
    ("cmpelim", "compare-elim"),
    ("combine", "combine"),
    ("copyprop", "tree-ssa-copy"),
    ("cprop", "cprop"),
    ("cprop_hardreg", "regcprop"),
    ("cse", "cse"),
    ("cse_local", "cse"),
    ("cunroll", "tree-ssa-loop-ivcanon"),
    ("cunrolli", "tree-ssa-loop-ivcanon"),
    ("dce", "tree-ssa-dce"),
    ("dom", "tree-ssa-dom"),
    ("dse", "tree-ssa-dse"),
    ("einline", "ipa-inline"),
    ("esra", "tree-sra"),
    ("evrp", "tree-vrp"),
    ("forwprop", "tree-ssa-forwprop"),
    ("fre", "tree-ssa-sccvn"),
    ("fwprop", "fwprop"),
    ("hoist", "gcse"),
    ("ifcombine", "tree-ssa-ifcombine"),
    ("ira", "ira"),
    ("isolate-paths", "gimple-ssa-isolate-paths"),
    ("ivcanon", "tree-ssa-loop-ivcanon"),
    ("ivopts", "tree-ssa-loop-ivopts"),
    ("jump", "cfgcleanup"),
    ("ldist", "tree-loop-distribution"),
    ("lim", "tree-ssa-loop-im"),
    ("loop2_invariant", "loop-invariant"),
    ("loop2_unroll", "loop-unroll"),
    ("mergephi", "tree-cfgcleanup"),
    ("pcom", "tree-predcom"),
    ("peephole", "recog"),
    ("phicprop", "tree-ssa-copy"),
    ("phiopt", "tree-ssa-phiopt"),
    ("phiprop", "tree-ssa-phiprop"),
    ("postreload", "postreload"),
    ("pre", "tree-ssa-pre"),
    ("pro_and_epilogue", "function"),
    ("reassoc", "tree-ssa-reassoc"),
    ("ree", "ree"),
    ("reload", "lra"),
    ("rtl_dce", "dce"),
    ("rtl pre", "gcse"),
    ("sched", "haifa-sched"),
    ("sink", "tree-ssa-sink"),
    ("slp", "tree-vectorizer"),
    ("slsr", "gimple-ssa-strength-reduction"),
    ("split", "recog"),
    ("split-paths", "gimple-ssa-split-paths"),
    ("sra", "tree-sra"),
    ("store-merging", "gimple-ssa-store-merging"),
    ("strlen", "tree-ssa-strlen"),
    ("switchconv", "tree-switch-conversion"),
    ("tailc", "tree-tailcall"),
    ("tailr", "tree-tailcall"),
    ("thread", "tree-ssa-threadbackward"),
    ("unswitch", "tree-ssa-loop-unswitch"),
    ("vartrack", "var-tracking"),
    ("vect", "tree-vectorizer"),
    ("vrp", "tree-vrp"),
];

/// The file of a pass with its family (`tree-ccp2`), of a compiler of this version.
pub fn file(pass: &str, version: &str) -> Option<String> {
    let (family, name) = pass.split_once('-')?;
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let rtl = format!("rtl {base}");
    let of = |wanted: &str| PASSES.iter().find(|(n, _)| *n == wanted).map(|(_, file)| *file);
    // Some passes of GIMPLE and RTL share a name.
    let found = match (family, base) {
        ("rtl", "dse") => Some("dse"),
        ("rtl", _) => of(&rtl).or_else(|| of(name)).or_else(|| of(base)),
        _ => of(name).or_else(|| of(base)),
    }?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    Some(format!("gcc/{found}.{}", if major >= 12 { "cc" } else { "c" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_found_by_its_name_without_the_instance() {
        assert_eq!(file("tree-ccp2", "12.2.0").as_deref(), Some("gcc/tree-ssa-ccp.cc"));
        assert_eq!(file("rtl-sched2", "11.3.0").as_deref(), Some("gcc/haifa-sched.c"));
        assert_eq!(file("rtl-dse1", "12.2.0").as_deref(), Some("gcc/dse.cc"));
        assert_eq!(file("tree-dse1", "12.2.0").as_deref(), Some("gcc/tree-ssa-dse.cc"));
        assert_eq!(file("rtl-loop2_unroll", "12.2.0").as_deref(), Some("gcc/loop-unroll.cc"));
        assert_eq!(file("tree-nothing", "12.2.0"), None);
    }
}
