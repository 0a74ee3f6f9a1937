//! The pass list of a gcc, and what may be switched off.
//!
//! Names change between versions, so the list is read from the compiler itself (`-fdump-passes`); only
//! the knowledge which passes are no optimizations is ours.

/// What a pass is to a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassKind {
    /// Changes the program, and the compiler works without it.
    Transformation,
    /// Only computes what others use: may enable, never creates.
    Analysis,
    /// Lowering and output: the compiler needs it. Also containers.
    Mandatory,
}

/// One pass of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GccPass {
    /// `tree`, `ipa` or `rtl`.
    pub family: String,
    /// Its name with the number of its instance: `ccp2`.
    pub name: String,
    /// What it is to a search.
    pub kind: PassKind,
}

impl GccPass {
    /// The name as reports print it: `tree-ccp2`.
    pub fn full_name(&self) -> String {
        format!("{}-{}", self.family, self.name)
    }

    /// The flag that switches it off.
    pub fn disable_flag(&self) -> String {
        format!("-fdisable-{}-{}", self.family, self.name)
    }
}

/// Passes that the compiler cannot do without, or whose absence breaks correct programs; measured by
/// switching off each pass alone (gcc 12, several csmith programs), completed from what they do. Base
/// names, without the number of the instance.
const MANDATORY: [&str; 78] = [
    // lowering, control flow graph, SSA
    "omplower",
    "lower",
    "tmlower",
    "eh",
    "ehopt",
    "coro-lower-builtins",
    "coro-early-expand-ifns",
    "cfg",
    "ompexp",
    "ompexpssa",
    "fixup_cfg",
    "ssa",
    "build_ssa_passes",
    "opt_local_passes",
    "early_optimizations",
    "release_ssa",
    "remove_symbols",
    "visibility",
    "free_lang_data",
    "fix_loops",
    "loop",
    "loopinit",
    "loopdone",
    "no_loop",
    "switchlower",
    "switchlower_O",
    "cplxlower",
    "veclower",
    "lower_vaarg",
    "isel",
    "nrv",
    "optimized",
    "resx",
    "ehdisp",
    "ehcleanup",
    "adjust_alignment",
    "ompdevlow",
    "simdclone",
    "targetclone",
    "stdarg",
    "fab",
    "inline",
    "free-fnsummary",
    "local-fnsummary",
    "fnsummary",
    "whole-program",
    "cdtor",
    // rtl
    "expand",
    "vregs",
    "into_cfglayout",
    "outof_cfglayout",
    "dfinit",
    "dfinish",
    "reginfo",
    "loop2",
    "loop2_init",
    "loop2_done",
    "split",
    "mode_sw",
    "asmcons",
    "ira",
    "reload",
    "pro_and_epilogue",
    "stack",
    "zero_call_used_regs",
    "mach",
    "barriers",
    "shorten",
    "final",
    "dwarf",
    "eh_ranges",
    "endbr_and_patchable_area",
    "vzeroupper",
    "init-regs",
    "subreg",
    "nothrow",
    "dbr",
    "vartrack",
];

/// Passes that only compute or warn.
const ANALYSES: [&str; 28] = [
    "profile_estimate",
    "profile",
    "alias",
    "ealias",
    "local-pure-const",
    "pure-const",
    "modref",
    "static-var",
    "single-use",
    "pta",
    "waccess",
    "walloca",
    "wrestrict",
    "post_ipa_warn",
    "uninit",
    "early_uninit",
    "objsz",
    "early_objsz",
    "odr",
    "warn-printf",
    "alignments",
    "ubsan",
    "retslot",
    "comdats",
    "ipa_oacc",
    "ipa_oacc_kernels",
    "oacc_kernels",
    "analyzer",
];

/// Passes that transform, although others are listed below them: the vectorizer has a clean-up of its own. All other containers
/// do nothing but hold passes.
const WORKING_CONTAINERS: [&str; 1] = ["vect"];

/// Reads what `-fdump-passes` prints: the passes that run, in pipeline order.
pub fn parse_pass_dump(dump: &str) -> Vec<GccPass> {
    let rows: Vec<(usize, &str, bool)> = dump.lines().filter_map(row).collect();
    let mut passes = Vec::new();
    // The gates of what comes after register allocation are asked too early and say OFF.
    let late = rows.iter().position(|(_, name, _)| *name == "*all-postreload").unwrap_or(rows.len());
    // Nesting: a switched-off ancestor (the other level's pipeline) takes its children along.
    let mut dead_below: Option<usize> = None;
    for (index, (depth, name, on)) in rows.iter().enumerate() {
        if dead_below.is_some_and(|d| *depth > d) {
            continue;
        }
        dead_below = None;
        let is_container = rows.get(index + 1).is_some_and(|next| next.0 > *depth);
        if !on && index < late {
            dead_below = is_container.then_some(*depth);
            continue;
        }
        let Some((family, name)) = name.split_once('-').filter(|(f, _)| matches!(*f, "tree" | "ipa" | "rtl")) else { continue };
        // A name with a blank cannot be given on a command line.
        if name.contains(' ') {
            continue;
        }
        let kind = if is_container && !WORKING_CONTAINERS.contains(&name) { PassKind::Mandatory } else { kind_of(name) };
        passes.push(GccPass { family: family.to_owned(), name: name.to_owned(), kind });
    }
    passes
}

/// Depth, name and state of a pass in a line of the dump.
fn row(line: &str) -> Option<(usize, &str, bool)> {
    let (left, state) = line.rsplit_once(':')?;
    let on = match state.trim() {
        "ON" => true,
        "OFF" => false,
        _ => return None,
    };
    let name = left.trim();
    (!name.is_empty()).then(|| (left.len() - left.trim_start().len(), name, on))
}

fn kind_of(name: &str) -> PassKind {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if MANDATORY.contains(&base) || MANDATORY.contains(&name) {
        PassKind::Mandatory
    } else if ANALYSES.contains(&base) {
        PassKind::Analysis
    } else {
        PassKind::Transformation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_dump_gives_what_runs_in_order_without_the_other_levels_pipeline() {
        let dump = "   *warn_unused_result                                 :  ON\n   tree-cfg                                            :  ON\n\
                    \x20  tree-einline                                        :  ON\n   tree-pre                                            :  OFF\n\
                    \x20  tree-profile_estimate                               :  ON\n   *all_optimizations_g                                :  OFF\n\
                    \x20     tree-ccp5                                        :  ON\n   tree-loop                                           :  ON\n\
                    \x20     tree-sccp                                        :  ON\n   rtl-rtl pre                                         :  ON\n\
                    \x20  *all-postreload                                     :  OFF\n      rtl-postreload                                   :  OFF\n";
        let read: Vec<_> = parse_pass_dump(dump).into_iter().map(|p| (p.full_name(), p.kind)).collect();
        let expected = [
            ("tree-cfg", PassKind::Mandatory),
            ("tree-einline", PassKind::Transformation),
            ("tree-profile_estimate", PassKind::Analysis),
            ("tree-loop", PassKind::Mandatory),
            ("tree-sccp", PassKind::Transformation),
            ("rtl-postreload", PassKind::Transformation),
        ];
        assert_eq!(read, expected.map(|(n, k)| (n.to_owned(), k)));
    }

    #[test]
    fn the_vectorizer_is_a_transformation_although_it_has_a_pass_below_it() {
        let dump = "      tree-ifcvt                                       :  ON\n      tree-vect                                        :  ON\n\
                    \x20        tree-dce6                                     :  ON\n      tree-pcom                                        :  ON\n";
        let read: Vec<_> = parse_pass_dump(dump).into_iter().map(|p| (p.full_name(), p.kind)).collect();
        assert_eq!(read[1], ("tree-vect".to_owned(), PassKind::Transformation));
        assert_eq!(read.len(), 4);
    }
}
