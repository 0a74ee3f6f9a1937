//! The batch script that every task of the array runs.

use std::path::Path;
use trueline_toolchain::quote;

/// Writes the script. `command` is the hunt without shard and database, one word per element; paths must
/// mean the same on every node.
pub(crate) fn batch_script(directory: &Path, command: &[String], shards: u32) -> String {
    let dir = quote(directory);
    let program = quote(&command[0]);
    let hunt: Vec<String> = command.iter().map(quote).collect();
    let hunt = hunt.join(" ");
    format!(
        r#"#!/bin/sh
# One shard of a Trueline campaign. It works in a database on the node's own disk and leaves a whole copy
# in the shared directory, also when it is told to stop early; started again, it goes on from that copy.
set -u
shared={dir}
shard=$SLURM_ARRAY_TASK_ID
local=$(mktemp -d "${{TMPDIR:-/tmp}}/trueline-shard-XXXXXX") || exit 75
save() {{
    [ -f "$local/shard.db" ] || return 0
    rm -f "$shared/shard-$shard.part"
    {program} merge "$shared/shard-$shard.part" "$local/shard.db" >/dev/null && mv "$shared/shard-$shard.part" "$shared/shard-$shard.db"
}}
[ -f "$shared/shard-$shard.db" ] && {program} merge "$local/shard.db" "$shared/shard-$shard.db" >/dev/null
{hunt} --shard "$shard/{shards}" --db "$local/shard.db" --json >"$shared/shard-$shard.jsonl" 2>>"$shared/shard-$shard.log" &
hunt=$!
stopped=no
trap 'stopped=yes; kill -INT "$hunt" 2>/dev/null' TERM INT
wait "$hunt"; code=$?
# A trapped signal ends the first wait early; the second gives the hunt's own code.
[ $stopped = yes ] && {{ wait "$hunt"; code=143; }}
save || code=75
rm -rf "$local"
[ $code -eq 0 ] && : >"$shared/shard-$shard.done"
exit $code
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_shell_unharmed() {
        let script = batch_script(Path::new("/shared/it's here"), &["/opt/trueline".into(), "hunt".into(), "--opt=-O2,-Og".into()], 8);
        assert!(script.contains("shared=\"/shared/it's here\""));
        assert!(script.contains(r#"/opt/trueline hunt --opt=-O2,-Og --shard "$shard/8""#));
    }
}
