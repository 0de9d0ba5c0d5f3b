//! Statistics of the structure along the index inside one permutation: what differences, pairs,
//! single bits and linear functions of the values show. Every statistic is a number that is large
//! where there is structure.
//!
//! What is usual is learnt from a reference, an exact draw of the same size, and not from formulas.
//! One can work out what a statistic of one large permutation is under uniformity. But values drawn
//! without replacement, unequal cells and correlated counts make every formula slightly wrong, and
//! tests with 10^8 values notice. An exact draw has the same quirks.

use bijective_shuffle::prelude::*;

/// Domains of up to this many points are looked at as a whole.
const WHOLE: u64 = 1 << 16;

/// Of larger ones as many slots are looked at: most partners of a slot are then outside, and
/// evaluated one by one.
pub(crate) const WINDOW: u64 = 1 << 12;

/// The names of the statistics, in the order in which [`measure`] gives them.
pub(crate) const NAMES: [&str; 13] = [
    "differences, high bits",
    "differences, low bits",
    "pairs, high bits",
    "pairs, low bits",
    "lag correlation",
    "rank correlation",
    "avalanche",
    "largest avalanche",
    "linear, high bit",
    "linear, low bit",
    "linear, middle bit",
    "linear, high and low",
    "linear, two low bits",
];

/// All the statistics of one permutation of `n` points; those that `n` does not have are 0.
pub(crate) fn measure(f: &dyn Bijection, offset: u64) -> [f64; NAMES.len()] {
    let n = f.last() + 1;
    let window = Window::new(f, n, offset);
    let mut all = [0.0; NAMES.len()];
    let bits = n.ilog2();
    // Power-of-two strides, which is where a cipher's halves and shifts would show, and one that is
    // none.
    for stride in (0..bits - 1).map(|j| 1 << j).chain([3]) {
        window.at_stride(f, stride, &mut all[..5]);
    }
    all[5] = window.rank_correlation();
    if n.is_power_of_two() {
        (all[6], all[7]) = window.avalanche(f);
        let (high, low) = (n / 2, 1);
        for (k, mask) in [high, low, 1 << (bits / 2), high | low, 3].into_iter().enumerate() {
            all[8 + k] = window.largest_linear(mask);
        }
    }
    all
}

/// The values at slots that differ in some bits in a row: at all slots, or at as many as a window
/// holds.
struct Window {
    n: u64,
    first: u64,
    /// The lowest of the bits in which the slots differ.
    shift: u32,
    values: Vec<u64>,
}

impl Window {
    fn new(f: &dyn Bijection, n: u64, offset: u64) -> Self {
        let len = if n <= WHOLE { n } else { WINDOW };
        // A quarter of the windows each: consecutive slots, slots that differ in the highest bits,
        // and two between.
        let place = (offset >> 62) as u32;
        let shift = if n > len { (n.ilog2() - len.ilog2()) * place / 3 } else { 0 };
        let span = (len - 1) << shift;
        // Zeros where the slots differ, so that adding and setting bits are one.
        let first = if n > len {
            (offset % (n - span)) & !((len.next_power_of_two() - 1) << shift)
        } else {
            0
        };
        let mut values: Vec<u64> = (0..len).map(|k| first + (k << shift)).collect();
        f.forward_each(&mut values);
        Self { n, first, shift, values }
    }

    /// The value at a slot, if the window holds it.
    fn get(&self, slot: u64) -> Option<u64> {
        let offset = slot.checked_sub(self.first)?;
        let held = offset.trailing_zeros() >= self.shift;
        held.then(|| self.values.get((offset >> self.shift) as usize).copied()).flatten()
    }

    /// The `k`-th slot.
    fn slot(&self, k: usize) -> u64 {
        self.first + ((k as u64) << self.shift)
    }

    /// The value a stride on, all around the domain.
    fn partner(&self, f: &dyn Bijection, k: usize, stride: u64) -> u64 {
        let slot = self.slot(k);
        let slot = if slot >= self.n - stride { slot - (self.n - stride) } else { slot + stride };
        self.get(slot).unwrap_or_else(|| f.forward(slot))
    }

    /// Adds what pairs of slots at a stride show: high and low bits of differences, high and low
    /// bits of pairs, and the square of the correlation.
    fn at_stride(&self, f: &dyn Bijection, stride: u64, sums: &mut [f64]) {
        let n = self.n;
        let cells = if n >= 4096 { 64 } else { 16 };
        let scale = |value: u64, cells: u64| {
            (u128::from(value) * u128::from(cells) / u128::from(n)) as usize
        };
        let mut counts = [[0_u32; 64]; 4];
        let (mut correlation, middle) = (0.0, (n - 1) as f64 / 2.0);
        for (k, &a) in self.values.iter().enumerate() {
            let b = self.partner(f, k, stride);
            let difference = if b >= a { b - a } else { b + (n - a) };
            counts[0][scale(difference, cells)] += 1;
            counts[1][(difference % cells) as usize] += 1;
            counts[2][scale(a, 8) * 8 + scale(b, 8)] += 1;
            counts[3][(a % 8 * 8 + b % 8) as usize] += 1;
            correlation += (a as f64 - middle) * (b as f64 - middle);
        }
        let count = self.values.len() as f64;
        let used = [cells as usize, cells as usize, 64, 64];
        for ((sum, counts), used) in sums.iter_mut().zip(&counts).zip(used) {
            let expected = count / used as f64;
            *sum += counts[..used].iter().map(|&c| (f64::from(c) - expected).powi(2)).sum::<f64>()
                / expected;
        }
        sums[4] += (correlation / self.variance()).powi(2) / count;
    }

    /// The variance of a value.
    fn variance(&self) -> f64 {
        (self.n as f64 * self.n as f64 - 1.0) / 12.0
    }

    fn rank_correlation(&self) -> f64 {
        let count = self.values.len() as f64;
        let middle = (count - 1.0) / 2.0;
        let sum: f64 =
            self.values.iter().enumerate().map(|(k, &x)| (k as f64 - middle) * x as f64).sum();
        sum * sum / (self.variance() * count * (count * count - 1.0) / 12.0)
    }

    /// How evenly each bit of the slot changes each bit of the value: the sum of squares over all
    /// pairs of bits, in units of a fair coin's variance, and the largest.
    fn avalanche(&self, f: &dyn Bijection) -> (f64, f64) {
        let bits = self.n.ilog2() as usize;
        let (mut sum, mut largest) = (0.0, 0.0_f64);
        for j in 0..bits {
            let mut flips = [0_u32; 64];
            let mut pairs = 0;
            for (k, &a) in self.values.iter().enumerate() {
                let slot = self.slot(k);
                let other = slot ^ 1 << j;
                let b = match self.get(other) {
                    // Both ends are in the window: look at the pair once.
                    Some(_) if other < slot => continue,
                    Some(value) => value,
                    None => f.forward(other),
                };
                pairs += 1;
                for (bit, flips) in flips[..bits].iter_mut().enumerate() {
                    *flips += ((a ^ b) >> bit & 1) as u32;
                }
            }
            let pairs = f64::from(pairs);
            for &flips in &flips[..bits] {
                let square = (f64::from(flips) - pairs / 2.0).powi(2) / (pairs / 4.0);
                sum += square;
                largest = largest.max(square);
            }
        }
        (sum, largest)
    }

    /// The largest correlation, squared and in units of its variance, of the parity of some bits of
    /// the value with the parity of any bits of the slot (within the window): a Walsh-Hadamard
    /// transform.
    fn largest_linear(&self, mask: u64) -> f64 {
        let sign = |value: &u64| if (value & mask).count_ones() % 2 == 1 { -1 } else { 1 };
        let mut spectrum: Vec<i32> = self.values.iter().map(sign).collect();
        let mut half = 1;
        while half < spectrum.len() {
            for pair in spectrum.chunks_mut(2 * half) {
                let (left, right) = pair.split_at_mut(half);
                for (a, b) in left.iter_mut().zip(right) {
                    (*a, *b) = (*a + *b, *a - *b);
                }
            }
            half *= 2;
        }
        let largest = spectrum[1..].iter().map(|x| x.unsigned_abs()).max().unwrap_or(0);
        f64::from(largest).powi(2) / self.values.len() as f64
    }
}
