//! Times the rewriting of one file: `cargo run --release -p trueline-repair --example rewrite_large -- FILE`

use std::path::Path;
use std::time::Instant;
use trueline_repair::image::Image;
use trueline_repair::{rewrite, written};

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: rewrite_large FILE");
        std::process::exit(2);
    };
    let started = Instant::now();
    let image = match Image::open(Path::new(&path)) {
        Ok(image) => image,
        Err(e) => {
            eprintln!("error: {e}");
            std::process::exit(2);
        }
    };
    let read = started.elapsed();
    match rewrite::rewrite(&image, &[]) {
        Ok(bytes) => {
            let rewritten = started.elapsed();
            let verdict = written::verify(&image, &bytes);
            println!(
                "{path}: {} bytes read in {:.2} s, rewritten to {} bytes after {:.2} s, verified after {:.2} s: {verdict:?}",
                image.bytes.len(),
                read.as_secs_f64(),
                bytes.len(),
                rewritten.as_secs_f64(),
                started.elapsed().as_secs_f64()
            );
            println!("figure rewrite {:.2} s", rewritten.as_secs_f64());
            println!("figure size {:.0} MB", image.bytes.len() as f64 / 1e6);
        }
        Err(e) => println!("{path}: {e}"),
    }
}
