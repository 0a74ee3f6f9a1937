//! The part of the debug information that is wrong, as `llvm-dwarfdump` prints it: the line rows at the
//! violating address, the entries whose ranges hold it, the variable with its location list.

use std::path::Path;
use trueline_model::{Invariant, Violation};
use trueline_toolchain::{Limits, ToolKind, find_tool};

/// Lines of context kept from each dump: a draft is to be read.
const KEPT: usize = 24;

/// The excerpt for a violation in a binary; `None` when there is no dumper, or nothing to show.
pub fn excerpt(binary: &Path, violation: &Violation) -> Option<String> {
    let tool = find_tool(ToolKind::LlvmDwarfdump, None).ok()?;
    let dump = |args: &[String]| {
        let job = tool.job().args(args).arg(binary).limits(Limits::seconds(20));
        job.run().ok().map(|o| o.stdout_text()).unwrap_or_default()
    };
    let mut parts = Vec::new();
    if let Some(pc) = violation.pc {
        let rows = line_rows(&dump(&["--debug-line".to_owned()]), pc);
        if !rows.is_empty() {
            parts.push(format!(
                ".debug_line rows at 0x{pc:x} (address, line, column, file, isa, discriminator, flags)\n{}",
                rows.join("\n")
            ));
        }
        if matches!(violation.invariant(), Invariant::Backtrace | Invariant::Scope) {
            let entries = dump(&[format!("--lookup=0x{pc:x}")]);
            parts.push(format!("entries whose ranges hold 0x{pc:x}\n{}", first_lines(entries.lines().skip(2))));
        }
    }
    if let Some(variable) = violation.variable() {
        let entries = dump(&[format!("--name={variable}")]);
        parts.push(format!("`{variable}`\n{}", first_lines(entries.lines().skip(1))));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn first_lines<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let lines: Vec<&str> = lines.filter(|l| !l.trim().is_empty()).take(KEPT).collect();
    lines.join("\n")
}

/// The rows that cover an address: all that share the last address at or before it.
fn line_rows(dump: &str, pc: u64) -> Vec<String> {
    let row = |line: &str| {
        let address = line.split_whitespace().next()?.strip_prefix("0x")?;
        (line.split_whitespace().count() >= 6).then(|| u64::from_str_radix(address, 16).ok()).flatten().map(|a| (a, line.to_owned()))
    };
    let rows: Vec<(u64, String)> = dump.lines().filter_map(row).collect();
    let covering = rows.iter().map(|(a, _)| *a).filter(|a| *a <= pc).max();
    rows.into_iter().filter(|(a, _)| Some(*a) == covering).map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_that_share_the_covering_address_are_kept() {
        let dump = "Address            Line   Column File   ISA Discriminator Flags\n\
                    0x0000000000001131     10      3      1   0             0  is_stmt\n\
                    0x0000000000001131     12      3      1   0             0  is_stmt\n\
                    0x0000000000001140     13      1      1   0             0  is_stmt end_sequence\n";
        assert_eq!(line_rows(dump, 0x1133).len(), 2);
        assert!(line_rows(dump, 0x1140)[0].contains("end_sequence"));
    }
}
