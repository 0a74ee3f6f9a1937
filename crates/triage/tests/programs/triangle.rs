use std::hint::black_box;

#[inline(never)]
fn triangle(n: u32) -> u32 {
    let mut sum = 0u32;
    let mut i = 0u32;
    while i < n {
        sum = sum.wrapping_add(i);
        i = i.wrapping_add(1);
    }
    sum
}

fn main() {
    std::process::exit(black_box(triangle(black_box(4))) as i32 - 6);
}
