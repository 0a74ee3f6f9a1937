//! Nothing to report at any level.

#[inline(never)]
fn square(x: u32) -> u32 {
    x * x
}

fn main() {
    let mut total = 0;
    for i in 0..4 {
        total += square(i);
    }
    println!("{total}");
}
