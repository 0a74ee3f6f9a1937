//! Exact linear algebra: row reduction over the rationals and modulo 2^64, and the null space.
//!
//! No floats anywhere. Over the rationals a relation may divide; modulo 2^64 only odd pivots are
//! invertible, so rows are kept in Howell form: the pivot is a power of two.

use num_bigint::BigInt;
use num_rational::Ratio;

/// A rational number of any size.
pub type Rational = Ratio<BigInt>;

fn zero() -> Rational {
    Rational::from_integer(BigInt::from(0))
}

fn one() -> Rational {
    Rational::from_integer(BigInt::from(1))
}

fn is_zero(x: &Rational) -> bool {
    x.numer() == &BigInt::from(0)
}

/// Reduces rows to row-reduced echelon form in place and returns the pivot columns; zero rows are dropped.
pub fn reduce(rows: &mut Vec<Vec<Rational>>) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let mut pivots = Vec::new();
    let mut top = 0;
    for column in 0..columns {
        let Some(found) = (top..rows.len()).find(|r| !is_zero(&rows[*r][column])) else { continue };
        rows.swap(top, found);
        let scale = one() / rows[top][column].clone();
        for x in &mut rows[top] {
            *x = x.clone() * scale.clone();
        }
        let pivot = rows[top].clone();
        for (r, row) in rows.iter_mut().enumerate() {
            if r == top || is_zero(&row[column]) {
                continue;
            }
            let factor = row[column].clone();
            for (x, p) in row.iter_mut().zip(&pivot) {
                if !is_zero(p) {
                    *x = x.clone() - factor.clone() * p.clone();
                }
            }
        }
        pivots.push(column);
        top += 1;
    }
    rows.truncate(top);
    pivots
}

/// A basis of the vectors that every row is orthogonal to: the freestyle relations of a sample matrix.
pub fn null_space(mut rows: Vec<Vec<Rational>>, columns: usize) -> Vec<Vec<Rational>> {
    let pivots = reduce(&mut rows);
    let free = (0..columns).filter(|c| !pivots.contains(c));
    free.map(|f| {
        let mut vector = vec![zero(); columns];
        vector[f] = one();
        for (row, pivot) in rows.iter().zip(&pivots) {
            vector[*pivot] = -row[f].clone();
        }
        vector
    })
    .collect()
}

/// The source-to-assembly rows: relations (one per row, source variables in the first `sources` columns)
/// brought to row-reduced echelon form, of which those with a source variable as pivot and no other
/// source variable are returned as (source column, row).
pub fn source_rows(mut relations: Vec<Vec<Rational>>, sources: usize) -> Vec<(usize, Vec<Rational>)> {
    let pivots = reduce(&mut relations);
    relations
        .into_iter()
        .zip(pivots)
        .filter(|(row, pivot)| *pivot < sources && row[..sources].iter().enumerate().all(|(c, x)| c == *pivot || is_zero(x)))
        .map(|(row, pivot)| (pivot, row))
        .collect()
}

/// A prime that no denominator of a relation has.
const PRIME: u64 = (1 << 61) - 1;

/// False when the equations, unknowns first and the right side last in each row, have no solution over the rationals: they have none modulo a
/// large prime. Much cheaper than finding out by reduction.
pub fn may_be_solved(rows: &[Vec<i128>]) -> bool {
    let modulo = |x: i128| x.rem_euclid(i128::from(PRIME)) as u64;
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64;
    let mut rows: Vec<Vec<u64>> = rows.iter().map(|row| row.iter().map(|x| modulo(*x)).collect()).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let mut top = 0;
    for column in 0..columns {
        let Some(found) = (top..rows.len()).find(|r| rows[*r][column] != 0) else { continue };
        if column + 1 == columns {
            return false;
        }
        rows.swap(top, found);
        let pivot = rows[top].clone();
        for row in rows.iter_mut().skip(top + 1).filter(|row| row[column] != 0) {
            // Crosswise, so that nothing is divided.
            let (own, theirs) = (pivot[column], row[column]);
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x = (times(*x, own) + PRIME - times(*p, theirs)) % PRIME;
            }
        }
        top += 1;
    }
    true
}

/// One solution of the equations modulo 2^64, unknowns first and the right side last in each row; unknowns
/// that nothing determines are zero. `None` when there is none.
pub fn solve_modular(mut rows: Vec<Vec<u64>>) -> Option<Vec<u64>> {
    let unknowns = rows.first()?.len().checked_sub(1)?;
    let pivots = reduce_modular(&mut rows);
    let mut solution = vec![0u64; unknowns];
    for (row, pivot) in rows.iter().zip(&pivots).rev() {
        if *pivot == unknowns {
            return None;
        }
        let known = (pivot + 1..unknowns).fold(0u64, |sum, c| sum.wrapping_add(row[c].wrapping_mul(solution[c])));
        let right = row[unknowns].wrapping_sub(known);
        let twos = row[*pivot].trailing_zeros();
        if twos > 0 && right.trailing_zeros() < twos {
            return None;
        }
        solution[*pivot] = right.checked_shr(twos).unwrap_or(0);
    }
    Some(solution)
}

/// Reduces rows modulo 2^64 in place: each pivot is a power of two, entries above it are smaller, and the
/// span is kept. Returns the pivot columns.
pub fn reduce_modular(rows: &mut Vec<Vec<u64>>) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let mut pivots = Vec::new();
    let mut top = 0;
    for column in 0..columns {
        // The entry with the fewest factors of two divides all others.
        let Some(best) = (top..rows.len()).filter(|r| rows[*r][column] != 0).min_by_key(|r| rows[*r][column].trailing_zeros()) else {
            continue;
        };
        rows.swap(top, best);
        let twos = rows[top][column].trailing_zeros();
        let inverse = invert_odd(rows[top][column] >> twos);
        for x in &mut rows[top] {
            *x = x.wrapping_mul(inverse);
        }
        let pivot = rows[top].clone();
        for (r, row) in rows.iter_mut().enumerate() {
            if r == top {
                continue;
            }
            let factor = row[column] >> twos;
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x = x.wrapping_sub(factor.wrapping_mul(*p));
            }
        }
        // A pivot 2^k with k > 0 also implies the row times 2^(64-k), which may say more further right.
        if twos > 0 {
            let extra: Vec<u64> = pivot.iter().map(|x| x.wrapping_shl(64 - twos)).collect();
            if extra.iter().any(|x| *x != 0) {
                rows.push(extra);
            }
        }
        pivots.push(column);
        top += 1;
    }
    rows.truncate(top);
    pivots
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
pub fn invert_odd(x: u64) -> u64 {
    let mut inverse = x;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(inverse)));
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rational(x: i64) -> Rational {
        Rational::from_integer(BigInt::from(x))
    }

    #[test]
    fn the_example_of_the_papers_figure_five_comes_out_as_printed() {
        // i, j, idx, r1, r2, 1 with a = 100, b = 500, aa = 9000.
        let (a, b, aa) = (100, 500, 9000);
        let rows = vec![vec![-4096, -4, 0, 1, 0, -aa], vec![0, 0, -1, 0, 1, -b + a], vec![4, 0, -1, 0, 0, a]];
        let rows = rows.into_iter().map(|r| r.into_iter().map(rational).collect()).collect();
        let found = source_rows(rows, 3);
        assert_eq!(found.len(), 3);
        let quarter = rational(1) / rational(4);
        // i = (r2 - b)/4
        assert_eq!(found[0].1[4], -quarter.clone());
        assert_eq!(found[0].1[5], rational(b) * quarter.clone());
        // j = (r1 - aa - 1024 (r2 - b))/4
        assert_eq!(found[1].1[3], -quarter.clone());
        assert_eq!(found[1].1[4], rational(256 * 4) * quarter * rational(1));
        // idx = r2 + a - b
        assert_eq!(found[2].1[4], rational(-1));
        assert_eq!(found[2].1[5], rational(b - a));
    }

    proptest! {
        #[test]
        fn reduced_rows_keep_the_solutions(rows in prop::collection::vec(prop::collection::vec(-9i64..9, 5), 1..6)) {
            let original: Vec<Vec<Rational>> = rows.iter().map(|r| r.iter().map(|x| rational(*x)).collect()).collect();
            let basis = null_space(original.clone(), 5);
            for row in &original {
                for vector in &basis {
                    let dot = row.iter().zip(vector).fold(rational(0), |s, (a, b)| s + a.clone() * b.clone());
                    prop_assert_eq!(dot, rational(0));
                }
            }
            let mut reduced = original;
            let pivots = reduce(&mut reduced);
            prop_assert_eq!(pivots.len() + basis.len(), 5);
            for (row, pivot) in reduced.iter().zip(&pivots) {
                prop_assert_eq!(&row[*pivot], &rational(1));
                prop_assert!(row[..*pivot].iter().all(|x| *x == rational(0)));
            }
        }

        #[test]
        fn modular_reduction_keeps_the_solutions(rows in prop::collection::vec(prop::collection::vec(any::<u64>(), 4), 1..5), x in prop::collection::vec(any::<u64>(), 4)) {
            // Make x a solution by fixing the constant column, reduce, and see that it still is one.
            let mut rows: Vec<Vec<u64>> = rows.into_iter().map(|mut r| {
                let dot = r.iter().zip(&x).fold(0u64, |s, (a, b)| s.wrapping_add(a.wrapping_mul(*b)));
                r.push(dot.wrapping_neg());
                r
            }).collect();
            reduce_modular(&mut rows);
            for row in &rows {
                let dot = row[..4].iter().zip(&x).fold(row[4], |s, (a, b)| s.wrapping_add(a.wrapping_mul(*b)));
                prop_assert_eq!(dot, 0);
            }
        }

        #[test]
        fn a_modular_solution_solves_every_equation(rows in prop::collection::vec(prop::collection::vec(any::<u64>(), 3), 1..8), x in prop::collection::vec(-9i64..9, 3)) {
            let rows: Vec<Vec<u64>> = rows.into_iter().map(|mut r| {
                r.push(r.iter().zip(&x).fold(0u64, |s, (a, b)| s.wrapping_add(a.wrapping_mul(*b as u64))));
                r
            }).collect();
            if let Some(found) = solve_modular(rows.clone()) {
                for row in &rows {
                    let dot = row[..3].iter().zip(&found).fold(0u64, |s, (a, b)| s.wrapping_add(a.wrapping_mul(*b)));
                    prop_assert_eq!(dot, row[3]);
                }
            } else {
                prop_assert!(rows.iter().any(|r| r[..3].iter().all(|x| x % 2 == 0)) || rows.len() < 3, "an odd system has a solution");
            }
        }

        #[test]
        fn what_has_a_solution_may_be_solved(rows in prop::collection::vec(prop::collection::vec(-1_000_000i128..1_000_000, 3), 1..8), x in prop::collection::vec(-9i128..9, 3), off in 1i128..9) {
            let mut rows: Vec<Vec<i128>> = rows.into_iter().map(|mut r| {
                r.push(r.iter().zip(&x).map(|(a, b)| a * b).sum::<i128>());
                r
            }).collect();
            prop_assert!(may_be_solved(&rows));
            // The same left side with another right one.
            let mut wrong = rows[0].clone();
            wrong[3] += off;
            rows.push(wrong);
            prop_assert!(!may_be_solved(&rows));
        }

        #[test]
        fn odd_numbers_have_inverses(x in any::<u64>()) {
            let odd = x | 1;
            prop_assert_eq!(odd.wrapping_mul(invert_odd(odd)), 1);
        }
    }
}
