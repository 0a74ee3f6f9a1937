// expect: rustc -O1,-O2,-O3 native: clean
use std::sync::atomic::{AtomicU32, Ordering};
static TOTAL: AtomicU32 = AtomicU32::new(0);
#[inline(never)]
fn note(x: u32) {
    TOTAL.store(x, Ordering::SeqCst);
}
fn main() {
    for i in 0..3 {
        note(i * 2);
    }
    println!("{}", TOTAL.load(Ordering::SeqCst));
}
