//! The law of three values of `MulXorshift` on narrow domains, for keys that are uniform.
//!
//! As for pairs (`pairs.rs`), a round maps classes to classes, where the class of three points is
//! that of their two differences, `(d, e)`: all `(h d, h e)` with `h` 1 or 7 modulo 8. There are
//! about `3 2^(bits + 1)` classes and no formula for their probabilities, so all triples are
//! counted, and the chain is computed in floating point. What is printed is correct to several
//! digits, since all terms of a sum have about the size of their rounding errors times 2^40.
//!
//! Three points in another order have the same distance from uniform, so the chain begins at one
//! class of each six.

use std::collections::BTreeSet;

use rayon::prelude::*;

/// Matrices, row after row.
type Matrix = Vec<Vec<f64>>;

/// The classes of pairs of different differences that are not 0.
struct Classes {
    bits: u32,
    /// The class of the differences `d` and `e`, at `d << bits | e`; no class is `u32::MAX`.
    of: Vec<u32>,
    /// One member of each class.
    members: Vec<[usize; 2]>,
    sizes: Vec<u32>,
}

impl Classes {
    fn new(bits: u32) -> Self {
        let (n, none) = (1_usize << bits, u32::MAX);
        let mut classes =
            Self { bits, of: vec![none; n * n], members: Vec::new(), sizes: Vec::new() };
        for d in 1..n {
            for e in (1..n).filter(|&e| e != d) {
                if classes.of[d << bits | e] != none {
                    continue;
                }
                let class = classes.members.len() as u32;
                let mut size = 0;
                for h in (0..n).filter(|h| matches!(h % 8, 1 | 7)) {
                    let place = &mut classes.of[(h * d % n) << bits | (h * e % n)];
                    size += u32::from(*place == none);
                    *place = class;
                }
                classes.members.push([d, e]);
                classes.sizes.push(size);
            }
        }
        classes
    }

    /// The classes of the same three points in all orders.
    fn in_all_orders(&self, class: usize) -> BTreeSet<usize> {
        let [d, e] = self.members[class];
        let from_second = [d.wrapping_neg(), e.wrapping_sub(d)];
        let from_third = [e.wrapping_neg(), d.wrapping_sub(e)];
        let all = [[d, e], from_second, from_third];
        all.into_iter().flat_map(|[d, e]| [self.of(d, e), self.of(e, d)]).collect()
    }

    fn of(&self, d: usize, e: usize) -> usize {
        let mask = (1 << self.bits) - 1;
        self.of[(d & mask) << self.bits | e & mask] as usize
    }

    /// The probabilities of the classes after a xorshift and a multiplication, less those of three
    /// uniform points: a row for each class before.
    fn round(&self, shift: u32) -> Matrix {
        let n = 1_usize << self.bits;
        let xorshift = |x: usize| (x & (n - 1)) ^ (x & (n - 1)) >> shift;
        // Multiplication by any number that is 3 or 5 modulo 8 takes a class to the same one.
        let multiplied: Vec<_> = self.members.iter().map(|[d, e]| self.of(3 * d, 3 * e)).collect();
        let uniform = self.uniform();
        // A class is closed under multiplication by h, but the first point is not: all members are
        // counted.
        let mut all = vec![Vec::new(); self.members.len()];
        for d in 1..n {
            for e in (1..n).filter(|&e| e != d) {
                all[self.of(d, e)].push([d, e]);
            }
        }
        let rows = all.into_par_iter().map(|members| {
            let mut counts = vec![0_u32; self.members.len()];
            for &[d, e] in &members {
                for x in 0..n {
                    let first = xorshift(x);
                    let [d, e] = [d, e].map(|d| xorshift(x + d).wrapping_sub(first));
                    counts[multiplied[self.of(d, e)]] += 1;
                }
            }
            let total = (members.len() * n) as f64;
            counts.iter().zip(&uniform).map(|(&count, u)| f64::from(count) / total - u).collect()
        });
        rows.collect()
    }

    /// The probability of each class for three different uniform points.
    fn uniform(&self) -> Vec<f64> {
        let all = self.sizes.iter().map(|&size| f64::from(size)).sum::<f64>();
        self.sizes.iter().map(|&size| f64::from(size) / all).collect()
    }
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    /// How many rows share a row of `b` while it is in the cache.
    const TOGETHER: usize = 16;
    let rows = |rows: &[Vec<f64>]| {
        let mut sums = vec![vec![0.0; b.len()]; rows.len()];
        for (k, added) in b.iter().enumerate() {
            for (sum, row) in sums.iter_mut().zip(rows) {
                let factor = row[k];
                sum.iter_mut().zip(added).for_each(|(sum, &x)| *sum += factor * x);
            }
        }
        sums
    };
    a.par_chunks(TOGETHER).flat_map_iter(rows).collect()
}

/// The total variation distances of the values at the worst three slots, and at three slots on
/// average, from three different uniform values, after 1, 2, .. rounds.
fn distances(bits: u32, rounds: usize) -> Vec<[f64; 2]> {
    let classes = Classes::new(bits);
    let uniform = classes.uniform();
    let steps = [0, 1].map(|odd| classes.round(bits.div_ceil(2) + odd));
    let orders = (0..uniform.len()).map(|class| classes.in_all_orders(class));
    let is_first = |(class, all): &(usize, BTreeSet<usize>)| all.first() == Some(class);
    let starts: Vec<_> = (0..).zip(orders).filter(is_first).collect();
    // After one round each class is a single one.
    let mut law: Matrix = starts
        .iter()
        .map(|(start, _)| {
            (0..).zip(&uniform).map(|(k, u)| f64::from(u8::from(k == *start)) - u).collect()
        })
        .collect();
    (0..rounds)
        .map(|round| {
            if round > 0 {
                law = product(&law, &steps[(round - 1) % 2]);
            }
            let distance = |row: &Vec<f64>| row.iter().map(|x| x.abs()).sum::<f64>() / 2.0;
            let all: Vec<_> = law.iter().map(distance).collect();
            let weight = |(_, alike): &(_, BTreeSet<usize>)| -> f64 {
                alike.iter().map(|&class| uniform[class]).sum()
            };
            let mean = all.iter().zip(&starts).map(|(far, start)| far * weight(start)).sum();
            [all.into_iter().fold(0.0, f64::max), mean]
        })
        .collect()
}

/// Prints the logarithms to base 2 of the distances for 1 to `rounds` rounds.
pub(crate) fn print_table(bits: u32, rounds: usize) {
    println!("| rounds | worst three slots | three slots on average |");
    println!("| --- | --- | --- |");
    for (round, [worst, mean]) in (1..).zip(distances(bits, rounds)) {
        println!("| {round} | {:.1} | {:.1} |", worst.log2(), mean.log2());
    }
}

#[cfg(test)]
mod tests {
    use bijective_shuffle::bijection::MulXorshift;
    use bijective_shuffle::prelude::*;

    use super::*;

    #[test]
    fn classes_hold_every_pair_of_differences_once() {
        let classes = Classes::new(6);
        assert_eq!(classes.sizes.iter().sum::<u32>(), 63 * 62);
        let uniform: f64 = classes.uniform().iter().sum();
        assert!((uniform - 1.0).abs() < 1e-12);
    }

    /// Every key of two rounds on 5 bits, by the bijection itself.
    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn the_worst_distance_is_that_of_all_keys() {
        let mut worst = 0.0_f64;
        // The slots of all classes: 0 and any other two, since a first xorshift is one to one.
        let mut laws = vec![vec![0_u16; 1 << 15]; 31 * 31];
        let multipliers: Vec<_> = (0..32_u64).filter(|a| matches!(a % 8, 3 | 5)).collect();
        for &a0 in &multipliers {
            for &a1 in &multipliers {
                for c in 0..1024_u64 {
                    let f = MulXorshift::<2>::new(5, [a0, a1], [c % 32, c / 32]).unwrap();
                    let values: Vec<_> = (0..32).map(|slot| f.forward(slot) as usize).collect();
                    for (law, k) in laws.iter_mut().zip(0..) {
                        let (j, k) = (1 + k / 31, 1 + k % 31);
                        if j != k {
                            law[values[0] << 10 | values[j] << 5 | values[k]] += 1;
                        }
                    }
                }
            }
        }
        let (keys, triples) = (65_536.0, f64::from(32 * 31 * 30));
        for (law, k) in laws.iter().zip(0..) {
            if k / 31 == k % 31 {
                continue;
            }
            let seen = law.iter().filter(|&&count| count > 0);
            let sum: f64 =
                seen.clone().map(|&count| (f64::from(count) / keys - 1.0 / triples).abs()).sum();
            let unseen = triples - seen.count() as f64;
            worst = worst.max((sum + unseen / triples) / 2.0);
        }
        let computed = distances(5, 2)[1][0];
        assert!((computed - worst).abs() < 1e-9, "{computed} {worst}");
    }
}
