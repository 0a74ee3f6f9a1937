//! How merging bends: synthetic shards of a campaign, merged one after another into one database.
//!
//!     cargo run --release -p trueline-store --example merge_scale -- DIR UNITS SHARDS
//!
//! The shards are written with SQL of their own, since a million units through the store's own calls would
//! measure those; what is measured is `merge_from`, and what reports ask of the result.

use rusqlite::Connection;
use std::path::Path;
use std::time::Instant;
use trueline_store::Store;

/// Units per program: seven levels of one compiler, as a hunt plans them.
const LEVELS: [&str; 7] = ["-Og", "-O1", "-O2", "-O3", "-Ofast", "-Os", "-Oz"];

/// One unit in so many has a finding with its evidence; in hunts of ours it is one in ten or fewer.
const FINDING_EVERY: i64 = 20;

/// One program in so many is rejected, which drops its units.
const REJECTED_EVERY: i64 = 50;

/// Compressed evidence of a woven program: two traces of about 150 stops.
const EVIDENCE_BYTES: usize = 4000;

fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: u64 =
        text.rsplit_once(')').map_or(0, |(_, rest)| rest.split_whitespace().skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum());
    ticks as f64 / 100.0
}

fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines().find_map(|l| l.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn make_shard(path: &Path, shard: u64, shards: u64, programs: u64) -> rusqlite::Result<()> {
    drop(Store::open(path).expect("a new database"));
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA synchronous = OFF; BEGIN")?;
    connection.execute("INSERT INTO compilers VALUES (1, '/usr/bin/gcc-12', 'gcc', '12.2.0')", [])?;
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
         INSERT INTO programs (id, source, seed, mutation, language, rejection)
         SELECT i + 1, 'weave', i * ?2 + ?3, 0, 'c', iif(i % ?4 = 0, 'undefined behaviour: synthetic', NULL) FROM n",
        rusqlite::params![programs as i64, shards as i64, shard as i64, REJECTED_EVERY],
    )?;
    for level in LEVELS {
        connection.execute(
            "INSERT INTO units (program, compiler, opt, state, attempts, reason, reference_steps, optimized_steps, cpu, compile_cpu, finished_at)
             SELECT id, 1, ?, iif(rejection IS NULL, 'done', 'dropped'), 1, NULL, 180, 120, 0.21, 0.15, 1.7e9 + id FROM programs",
            [level],
        )?;
    }
    let units: Vec<i64> = {
        let mut statement = connection.prepare("SELECT id FROM units WHERE state = 'done' AND id % ? = 0")?;
        let rows = statement.query_map([FINDING_EVERY], |r| r.get(0))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ shard;
    for unit in units {
        let evidence: Vec<u8> = (0..EVIDENCE_BYTES)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        let hash = format!("{shard:08x}{unit:056x}");
        connection.execute("INSERT INTO blobs VALUES (?, ?, ?)", rusqlite::params![hash, EVIDENCE_BYTES as i64, evidence])?;
        let class = format!("line if-converted {}", unit % 97);
        connection.execute(
            "INSERT INTO findings (unit, key, class, kind, document, evidence, found_at) VALUES (?, ?, ?, 'line', ?, ?, 1.7e9)",
            rusqlite::params![unit, format!("{unit:016x}"), class, "{}".repeat(200), hash],
        )?;
    }
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, units, shards] = args.as_slice() else { return Err("usage: merge_scale DIR UNITS SHARDS".into()) };
    let (dir, units, shards): (&Path, u64, u64) = (Path::new(dir), units.parse()?, shards.parse()?);
    std::fs::create_dir_all(dir)?;
    let programs = units / shards / LEVELS.len() as u64;
    let path = |shard: u64| dir.join(format!("shard-{shard}.db"));
    let before = cpu();
    for shard in 0..shards {
        make_shard(&path(shard), shard, shards, programs)?;
    }
    let bytes: u64 = (0..shards).filter_map(|s| Some(path(s).metadata().ok()?.len())).sum();
    println!("{shards} shards of {} units, {} MB in all, made in {:.1} CPU-s", programs * LEVELS.len() as u64, bytes >> 20, cpu() - before);

    let merged = Store::open(&dir.join("merged.db"))?;
    println!("{:>8} {:>10} {:>12} {:>10}", "shards", "units", "CPU-s/shard", "peak MB");
    let (started, cpu_started) = (Instant::now(), cpu());
    let mut last = cpu_started;
    for shard in 0..shards {
        merged.merge_from(&path(shard))?;
        let done = shard + 1;
        if done % (shards / 8).max(1) == 0 {
            let now = cpu();
            let per = (now - last) / (shards / 8).max(1) as f64;
            println!("{done:>8} {:>10} {per:>12.3} {:>10}", done * programs * LEVELS.len() as u64, peak_memory());
            last = now;
        }
    }
    println!("merged in {:.1} CPU-s, {:.1} s", cpu() - cpu_started, started.elapsed().as_secs_f64());
    let before = cpu();
    let again = merged.merge_from(&path(0))?;
    println!("one shard again: {again:?}, {:.2} CPU-s", cpu() - before);
    let before = cpu();
    let counts = merged.counts()?;
    println!("counts in {:.2} CPU-s: {counts:?}", cpu() - before);
    let before = cpu();
    let levels = merged.level_counts()?.len() + merged.distinct_per_compiler()?.len();
    println!("tables of a report ({levels} rows) in {:.2} CPU-s, peak {} MB", cpu() - before, peak_memory());
    let before = cpu();
    println!("integrity check: {} in {:.1} CPU-s", merged.integrity()?, cpu() - before);
    println!("merged database: {} MB", dir.join("merged.db").metadata()?.len() >> 20);
    Ok(())
}
