mod tank;

use std::hint::black_box;
use tank::Tank;

fn main() {
    let mut tank = Tank::new(7, 2);
    let mut shown = 0;
    for day in black_box([1, 1, 1]) {
        shown += tank.pass(day);
    }
    println!("{shown}");
}
