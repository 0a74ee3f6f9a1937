//! The same machine code under another setting of the debug information: what that setting shows, this one could.
//!
//! A setting counts only where the executable sections are the same to the byte. On the line it must show exactly the values
//! that the variable has there at -O0: a setting that shows nonsense, or what the variable was before, proves nothing, and the
//! other one may be right to show nothing.

use crate::build::LevelBuild;
use crate::codegen::{again, is_same_code};
use crate::effects::is_available;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use trueline_dwarf::Module;
use trueline_model::{Breach, CompilerKind, LineKey, Missing, Recovery, VarKey, VarKind, Violation};
use trueline_oracle::{Digest, LeafDigest};

/// Settings of each compiler that describe the same code in another way. Each costs a compilation and a trace of every build;
/// other versions of DWARF spell the same locations and brought nothing.
fn settings(kind: CompilerKind) -> &'static [&'static [&'static str]] {
    match kind {
        CompilerKind::Gcc => &[&["-fno-var-tracking-assignments"]],
        CompilerKind::Clang => &[&["-mllvm", "-experimental-debug-variable-locations=false"]],
        CompilerKind::Rustc => &[&["-Cllvm-args=-experimental-debug-variable-locations=false"]],
        CompilerKind::Other => &[],
    }
}

/// A build of the same code under another setting.
pub(crate) struct OtherSetting {
    pub(crate) flag: String,
    pub(crate) binary: PathBuf,
}

/// Compiles under the other settings; those that give other code, or are refused, are left out.
pub(crate) fn build_others(build: &LevelBuild<'_>, cpu: &mut Duration) -> Vec<OtherSetting> {
    let mut found = Vec::new();
    for (number, flags) in settings(build.compiler.id.kind).iter().enumerate() {
        let request = again(build, &format!("setting-{number}")).flags(flags.iter().map(|f| (*f).to_owned()));
        let Ok(other) = build.compiler.compile(&request) else { continue };
        *cpu += other.cpu;
        if is_same_code(&build.binary, &other.binary) {
            found.push(OtherSetting { flag: flags.join(" "), binary: other.binary });
        }
    }
    found
}

/// The values of a scalar by the lines that it was seen on.
fn by_line<'d>(digest: &'d Digest, leaf: &'d LeafDigest) -> BTreeMap<&'d LineKey, BTreeSet<&'d str>> {
    let mut found: BTreeMap<&LineKey, BTreeSet<&str>> = BTreeMap::new();
    for (value, sightings) in &leaf.values {
        for line in sightings.iter().filter_map(|s| digest.stop(s.0).line.as_ref()) {
            found.entry(line).or_default().insert(value);
        }
    }
    found
}

/// Variables that another setting shows, with the values of -O0, where this one has them in scope without a location. Both digests
/// keep values line by line.
pub(crate) fn lost(debug: &Module, reference: &Digest, other: &Digest, flag: &str) -> Vec<Violation> {
    let mut found: BTreeMap<(LineKey, VarKey), Violation> = BTreeMap::new();
    for (key, variable) in other.vars.iter().filter(|(_, v)| v.kind != VarKind::Global && v.leaves.len() == 1) {
        let Some(known) = reference.vars.get(key).and_then(|v| v.leaves.first()) else { continue };
        let (known, shown) = (by_line(reference, known), by_line(other, &variable.leaves[0]));
        for (value, sightings) in &variable.leaves[0].values {
            for sighting in sightings {
                let stop = other.stop(sighting.0);
                let Some(line) = &stop.line else { continue };
                let is_at_o0 = reference.lines.get(line).is_some_and(|l| l.available.contains(key));
                let is_right = known.contains_key(line) && known.get(line) == shown.get(line);
                if !is_at_o0 || !is_right || is_available(debug, stop.pc, key) != Some(false) {
                    continue;
                }
                let evidence = Recovery::OtherSetting { flag: flag.into(), value: Arc::from(&**value) };
                found.entry((line.clone(), key.clone())).or_insert_with(|| Violation {
                    file: line.file.clone(),
                    line: line.line,
                    function: Arc::clone(&key.function),
                    frames: stop.functions(),
                    pc: Some(stop.pc),
                    breach: Breach::Lost(Missing { variable: Arc::clone(&key.name), evidence }),
                });
            }
        }
    }
    found.into_values().collect()
}
