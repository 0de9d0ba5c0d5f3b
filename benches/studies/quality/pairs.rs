//! The exact law of two values of `MulXorshift`, for keys that are uniform: no samples, and no
//! rounding before a logarithm is printed. docs/proof.md has the theorem that this computes with.
//!
//! Two points differ by `2^v u` with `u` odd. After a round's multiplication and addition, the
//! first of them is uniform, and so is the difference within its *class*: all differences with the
//! same `v` and the same `u` modulo 8 up to its sign. A xorshift maps classes to classes with
//! probabilities that [`Classes::after_xorshift`] counts, so the classes after each round are a
//! Markov chain, and how far two values are from two different uniform ones is how far the chain
//! is from its stationary law.

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::{One, Zero};
use rayon::prelude::*;

/// The narrowest width to which the proof applies: at least 3 bits are shifted.
const MIN_BITS: u32 = 5;

/// The classes of differences modulo `2^bits`, numbered.
///
/// Class `2 v + t` has the differences `2^v u` in which `u` is 1 or 7 modulo 8 (`t = 0`), or 3 or 5
/// (`t = 1`). Modulo 4 or 2 there is one class of odd numbers, so the last two classes are those of
/// `v = bits - 2` and `v = bits - 1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes {
    bits: u32,
}

impl Classes {
    pub(crate) fn new(bits: u32) -> Self {
        assert!((MIN_BITS..=64).contains(&bits), "the width is from {MIN_BITS} to 64 bits");
        Self { bits }
    }

    pub(crate) fn count(self) -> usize {
        2 * self.bits as usize - 2
    }

    /// The class of a difference that is not 0 modulo `2^bits`.
    pub(crate) fn of(self, difference: u64) -> usize {
        let v = difference.trailing_zeros();
        let u = difference >> v;
        if self.bits - v == 1 {
            self.count() - 1
        } else {
            2 * v as usize + usize::from(self.bits - v > 2 && matches!(u % 8, 3 | 5))
        }
    }

    /// How many zeros the differences of a class end with.
    fn zeros(self, class: usize) -> u32 {
        if class == self.count() - 1 { self.bits - 1 } else { class as u32 / 2 }
    }

    /// The smallest difference in a class.
    fn smallest(self, class: usize) -> u64 {
        let u = if class % 2 == 1 && class < self.count() - 1 { 3 } else { 1 };
        u << self.zeros(class)
    }

    /// How many differences are in a class. There are `2^bits - 1` in all.
    pub(crate) fn size(self, class: usize) -> u64 {
        match self.bits - self.zeros(class) {
            1 => 1,
            2 => 2,
            above => 1 << (above - 2),
        }
    }

    /// The class of differences after a multiplication by a number that is 3 or 5 modulo 8.
    fn after_multiplication(self, class: usize) -> usize {
        if class < self.count() - 2 { class ^ 1 } else { class }
    }

    /// The shift of the xorshift after a round.
    pub(crate) fn shift(self, round: usize) -> u32 {
        self.bits.div_ceil(2) + (round % 2) as u32
    }

    /// [`after_xorshift`](Self::after_xorshift) gives probabilities in units of 2 to minus this
    /// power.
    fn shares(self) -> u32 {
        // 4 for the window, 1 for each position that must be equal, 2 for each of three more.
        4 + (self.bits - 3) + 3 * 2
    }

    /// With what probability two points whose difference is in a class have a difference in each
    /// class after `x ^= x >> shift`, in units of `2^-shares`. The first point is uniform, and the
    /// difference is independent of it and uniform in its class.
    fn after_xorshift(self, class: usize, shift: u32) -> Vec<u128> {
        let mut counts = vec![0; self.count()];
        let windows = Window::all(self, class);
        let unit = self.shares() - windows.len().ilog2();
        for window in windows {
            // The positions below `k` are equal with a probability of 2^-halves.
            let mut halves = 0;
            for k in 0..self.bits {
                let here = window.outcomes(k, shift);
                let above = [1, 2].map(|next| {
                    // Beyond the highest bit nothing matters.
                    if k + next < self.bits {
                        window.outcomes(k + next, shift)
                    } else {
                        Outcomes::EQUAL
                    }
                });
                for (low, low_weight) in here.different() {
                    for (middle, middle_weight) in above[0].all() {
                        for (high, high_weight) in above[1].all() {
                            let bits = |of: usize| low[of] + 2 * middle[of] + 4 * high[of];
                            let u = (8 + bits(1) - bits(0)) % 8;
                            let weight = low_weight * middle_weight * high_weight;
                            // A weight is in quarters.
                            counts[self.of(u << k)] += weight << (unit - halves - 6);
                        }
                    }
                }
                match here.quarters_equal() {
                    0 => break,
                    2 => halves += 1,
                    all => debug_assert_eq!(all, 4, "outcomes are uniform on a subspace"),
                }
            }
        }
        counts
    }
}

/// The bits of two points at one position, with the weights of the four cases 00, 10, 01, 11
/// (the first point's bit comes first), in quarters.
#[derive(Clone, Copy)]
struct Outcomes([u128; 4]);

impl Outcomes {
    const EQUAL: Self = Self([2, 0, 0, 2]);
    const FREE: Self = Self([1; 4]);

    fn fixed(first: u64, second: u64) -> Self {
        let mut weights = [0; 4];
        weights[(first + 2 * second) as usize] = 4;
        Self(weights)
    }

    /// The cases that are possible: two bits, and their weight.
    fn all(self) -> impl Iterator<Item = ([u64; 2], u128)> {
        let cases = self.0.into_iter().zip(0..).filter(|&(weight, _)| weight > 0);
        cases.map(|(weight, case)| ([case % 2, case / 2], weight))
    }

    fn different(self) -> impl Iterator<Item = ([u64; 2], u128)> {
        self.all().filter(|([first, second], _)| first != second)
    }

    fn quarters_equal(self) -> u128 {
        self.0[0] + self.0[3]
    }

    /// The exclusive or of independent bits.
    fn xor(self, other: Self) -> Self {
        let mut sums = [0; 4];
        for (a, weight_a) in self.0.into_iter().enumerate() {
            for (b, weight_b) in other.0.into_iter().enumerate() {
                sums[a ^ b] += weight_a * weight_b;
            }
        }
        Self(sums.map(|sum| sum / 4))
    }

    /// The bits, given that their exclusive or with independent others is the same for both points.
    fn given_equal_xor(self, other: Self) -> Self {
        let is_equal = |case: usize| case == 0 || case == 3;
        let mut sums = [0; 4];
        for (a, weight_a) in self.0.into_iter().enumerate() {
            for (b, weight_b) in other.0.into_iter().enumerate() {
                if is_equal(a ^ b) {
                    sums[a] += weight_a * weight_b;
                }
            }
        }
        let total: u128 = sums.iter().sum();
        Self(sums.map(|sum| 4 * sum / total))
    }
}

/// What is known of two points, one of the equally likely cases: their bits from the lowest one in
/// which they differ on, three or as many as there are. The bits below are equal; those above are
/// independent, since the difference is uniform there.
#[derive(Clone, Copy)]
struct Window {
    bits: u32,
    /// The lowest position that differs.
    first: u32,
    /// The number of positions.
    len: u32,
    /// The bits of both points.
    points: [u64; 2],
}

impl Window {
    /// All cases in a class.
    fn all(classes: Classes, class: usize) -> Vec<Self> {
        let (bits, first) = (classes.bits, classes.zeros(class));
        let len = 3.min(bits - first);
        let odd = (1..1 << len).step_by(2).filter(|u| classes.of(u << first) == class);
        let cases = odd.flat_map(|u| (0..1 << len).map(move |x| [x, (x + u) % (1 << len)]));
        cases.map(|points| Self { bits, first, len, points }).collect()
    }

    /// The bits of the points at a position.
    fn before(&self, position: u32) -> Outcomes {
        match position.checked_sub(self.first) {
            None => Outcomes::EQUAL,
            Some(k) if k < self.len => {
                Outcomes::fixed(self.points[0] >> k & 1, self.points[1] >> k & 1)
            }
            Some(_) => Outcomes::FREE,
        }
    }

    /// The bits at a position after a xorshift, given that the points are then equal at all
    /// positions that are at least three lower.
    ///
    /// A position depends on no other, except that the bit at `p` takes part in the one at
    /// `p - shift`, which is at least three lower.
    fn outcomes(&self, position: u32, shift: u32) -> Outcomes {
        if position >= shift {
            self.before(position).given_equal_xor(self.before(position - shift))
        } else if position + shift < self.bits {
            self.before(position).xor(self.before(position + shift))
        } else {
            self.before(position)
        }
    }
}

/// Which way pairs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From two slots to their values.
    Forward,
    /// From two values to their slots.
    Inverse,
}

/// The law of the class of a pair after each number of rounds, from each class at the start.
struct Chain {
    classes: Classes,
    /// Probabilities in units of `2^-exponent`: row `k` is the law from class `k`.
    rows: Vec<Vec<BigUint>>,
    exponent: u32,
}

impl Chain {
    /// After `rounds` rounds, at least one.
    ///
    /// Of the xorshifts, those before the first and after the last affine map of the direction are
    /// left out. They take pairs to pairs one to one, so the first only says which pair is in which
    /// class, and the last changes no distance.
    fn new(bits: u32, rounds: usize, direction: Direction) -> Self {
        let classes = Classes::new(bits);
        let rows = (0..classes.count()).map(|start| {
            let mut row = vec![BigUint::zero(); classes.count()];
            row[classes.after_multiplication(start)].set_bit(0, true);
            row
        });
        let mut chain = Self { classes, rows: rows.collect(), exponent: 0 };
        let xorshifts = [0, 1].map(|round| chain.xorshift(classes.shift(round)));
        for k in 0..rounds - 1 {
            let round = match direction {
                Direction::Forward => k,
                Direction::Inverse => rounds - 2 - k,
            };
            chain.step(&xorshifts[round % 2]);
        }
        chain
    }

    fn xorshift(&self, shift: u32) -> Vec<Vec<u128>> {
        (0..self.classes.count()).map(|class| self.classes.after_xorshift(class, shift)).collect()
    }

    /// One more xorshift and multiplication.
    fn step(&mut self, xorshift: &[Vec<u128>]) {
        let classes = self.classes;
        self.rows.par_iter_mut().for_each(|row| {
            let mut next = vec![BigUint::zero(); classes.count()];
            for (probability, counts) in row.iter().zip(xorshift) {
                for (class, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
                    next[classes.after_multiplication(class)] += probability * count;
                }
            }
            *row = next;
        });
        self.exponent += classes.shares();
    }

    /// How far the law from a class is from that of two different uniform points: in total
    /// variation, and as the largest relative difference of a pair's probability.
    fn distances(&self, start: usize) -> [Fraction; 2] {
        let (row, classes) = (&self.rows[start], self.classes);
        let one = BigUint::one() << self.exponent;
        let pairs = (BigUint::one() << classes.bits) - 1u32;
        let (mut sum, mut largest) = (BigUint::zero(), Fraction::zero());
        for (class, probability) in row.iter().enumerate() {
            let (ours, uniform) = (probability * &pairs, &one * classes.size(class));
            let difference = if ours > uniform { ours - &uniform } else { &uniform - ours };
            sum += &difference;
            largest = largest.max(Fraction::new(difference, uniform));
        }
        [Fraction::new(sum, one * pairs * 2u32), largest]
    }
}

/// What is known of the pairs of a width after a number of rounds.
#[derive(Debug)]
pub(crate) struct Worst {
    /// The distance in total variation of the law of the worst pair from that of a uniform pair of
    /// different points.
    pub(crate) distance: Fraction,
    /// The largest `|p / q - 1|` of the probability `p` of a pair at a pair of places, which is `q`
    /// for a uniform one.
    pub(crate) relative: Fraction,
    /// A pair with that distance: 0 and this.
    pub(crate) partner: u64,
}

/// The worst pair.
///
/// # Panics
///
/// The width is not from 5 to 64 bits, or there is no round.
pub(crate) fn worst(bits: u32, rounds: usize, direction: Direction) -> Worst {
    assert!(rounds > 0, "there is at least one round");
    let chain = Chain::new(bits, rounds, direction);
    let classes = chain.classes;
    let all: Vec<_> = (0..classes.count()).map(|start| chain.distances(start)).collect();
    let start = (0..all.len()).max_by(|&a, &b| all[a][0].cmp(&all[b][0]));
    let start = start.expect("there are classes");
    // The xorshift before the first affine map is its own inverse, and maps 0 to 0.
    let first = match direction {
        Direction::Forward => classes.shift(1),
        Direction::Inverse => classes.shift(rounds - 1),
    };
    let difference = classes.smallest(start);
    let relative = all.iter().map(|[_, relative]| relative).max().expect("there are classes");
    Worst {
        distance: all[start][0].clone(),
        relative: relative.clone(),
        partner: difference ^ difference >> first,
    }
}

/// An exact fraction that is not negative.
pub(crate) type Fraction = Ratio<BigUint>;

/// The logarithm to base 2, correct to about 10 digits.
pub(crate) fn log2(fraction: &Fraction) -> f64 {
    let log2 = |number: &BigUint| {
        let dropped = number.bits().saturating_sub(64);
        let leading = u64::try_from(number >> dropped).expect("64 bits are left");
        (leading as f64).log2() + dropped as f64
    };
    log2(fraction.numer()) - log2(fraction.denom())
}

/// Prints the distance of one width and number of rounds.
pub(crate) fn print_worst(bits: u32, rounds: usize, direction: Direction) {
    let Worst { distance, relative, partner } = worst(bits, rounds, direction);
    let points = match direction {
        Direction::Forward => "slots",
        Direction::Inverse => "values",
    };
    println!("A worst pair: {points} 0 and {partner}");
    println!("Largest relative difference of a pair's probability, log2: {:.1}", log2(&relative));
    println!("Distance: {distance}");
    println!("Its log2: {:.1}", log2(&distance));
}

/// The numbers of rounds in the table.
const ROUNDS: [usize; 10] = [3, 4, 5, 6, 7, 8, 9, 10, 12, 16];

/// Prints the logarithms of the distances of all widths that the default uses.
pub(crate) fn print_table(direction: Direction) {
    println!("| bits |{} relative, 10 |", ROUNDS.map(|rounds| format!(" {rounds} |")).concat());
    println!("|{}", " --- |".repeat(ROUNDS.len() + 2));
    for bits in 9..=64 {
        println!("{}", table_row(bits, direction));
    }
}

fn table_row(bits: u32, direction: Direction) -> String {
    let cells =
        ROUNDS.map(|rounds| format!(" {:.1} |", log2(&worst(bits, rounds, direction).distance)));
    let relative = log2(&worst(bits, 10, direction).relative);
    format!("| {bits} |{} {relative:.1} |", cells.concat())
}

#[cfg(test)]
mod tests;
