//! CPU time that the rewriting of one file takes: `cargo run --release -p trueline-repair --example rewrite_large -- FILE`

use std::path::Path;
use trueline_machine::image::Image;
use trueline_repair::{rewrite, written};
use trueline_toolchain::cpu_time;

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: rewrite_large FILE");
        std::process::exit(2);
    };
    let image = match Image::open(Path::new(&path)) {
        Ok(image) => image,
        Err(e) => {
            eprintln!("error: {e}");
            std::process::exit(2);
        }
    };
    let read = cpu_time();
    match rewrite::rewrite(&image, &[]) {
        Ok(bytes) => {
            let rewritten = cpu_time();
            let verdict = written::verify(&image, &bytes);
            println!(
                "{path}: {} bytes read in {:.2} CPU-s, rewritten to {} bytes after {:.2}, verified after {:.2}: {verdict:?}",
                image.bytes.len(),
                read.as_secs_f64(),
                bytes.len(),
                rewritten.as_secs_f64(),
                cpu_time().as_secs_f64()
            );
            println!("figure rewrite {:.2} s", rewritten.as_secs_f64());
            println!("figure size {:.0} MB", image.bytes.len() as f64 / 1e6);
        }
        Err(e) => println!("{path}: {e}"),
    }
}
