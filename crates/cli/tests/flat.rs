//! A hunt's memory and open files stay where they are. Two thousand units here with the stub compiler of
//! `bench/run scale-flat`; `make bench-flat` does a hundred thousand.

use std::path::Path;
use std::process::Command;

/// The numbers after a label: first half, second half, least, most.
fn figures(text: &str, label: &str) -> Vec<f64> {
    let line = text.lines().find(|l| l.starts_with(label)).unwrap_or_else(|| panic!("no {label} in {text}"));
    line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn memory_and_open_files_stay_flat_over_two_thousand_units() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/run");
    let run = Command::new("python3")
        .arg(script)
        .args(["scale-flat", "--units", "2000", "--every", "0.1", "--trueline", env!("CARGO_BIN_EXE_trueline")])
        .output();
    let Ok(output) = run else { return println!("skipped: no python3") };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    println!("{text}");
    assert!(text.contains("{'done': 2002}"), "{text}");
    let (memory, files) = (figures(&text, "memory"), figures(&text, "open files"));
    // Freed memory is not always given back: a tenth is the allocator's, a leak of one trace per unit would be tenfold.
    assert!(memory[1] < memory[0] * 1.1 + 4.0, "memory grows: {text}");
    assert!(files[1] < files[0] + 4.0 && files[3] < 100.0, "files stay open: {text}");
}
