//! The theorem of docs/proof.md against exact distances on up to eight points, and the rounds that
//! are chosen against the theorem.

use super::super::bound::{BatchShape, batches};
use super::super::*;

/// The exact law of where some points of a level of `2^3` are after rounds: the probability of each
/// tuple of points, by what the tuple's digits to base 8 are.
struct Law {
    size: usize,
    tuple: usize,
    probabilities: Vec<f64>,
}

impl Law {
    /// The points from 4 on, which the level settles, where they begin.
    fn settled(size: usize) -> Self {
        let tuple = size - 4;
        let mut probabilities = vec![0.0; 8_usize.pow(tuple as u32)];
        probabilities[(0..tuple).map(|place| (4 + place) << (3 * place)).sum::<usize>()] = 1.0;
        Self { size, tuple, probabilities }
    }

    /// After a round with this key, averaged over its bits.
    fn round(&self, key: usize) -> Self {
        let mut after = vec![0.0; self.probabilities.len()];
        for (points, &probability) in self.probabilities.iter().enumerate() {
            if probability == 0.0 {
                continue;
            }
            // The exchanges that move a point of the tuple: each is made or not, independently.
            let mut pairs: Vec<usize> = (0..self.tuple)
                .map(|place| points >> (3 * place) & 7)
                .filter(|point| point ^ key < self.size)
                .map(|point| point.min(point ^ key))
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            for bits in 0..1_usize << pairs.len() {
                let moved = |place: usize| {
                    let point = points >> (3 * place) & 7;
                    let pair = pairs.iter().position(|&pair| pair == point.min(point ^ key));
                    if pair.is_some_and(|pair| bits >> pair & 1 != 0) { point ^ key } else { point }
                };
                let moved: usize = (0..self.tuple).map(|place| moved(place) << (3 * place)).sum();
                after[moved] += probability / f64::from(1 << pairs.len());
            }
        }
        Self { probabilities: after, ..*self }
    }

    /// After a batch, averaged over its keys, each of which is uniform outside the span of those
    /// before it.
    fn batch(&self, rounds: u32, span: &[usize]) -> Self {
        if rounds == 0 {
            return Self { probabilities: self.probabilities.clone(), ..*self };
        }
        let mut mean = vec![0.0; self.probabilities.len()];
        for key in (0..8).filter(|key| !span.contains(key)) {
            let wider: Vec<usize> = span.iter().flat_map(|&sum| [sum, sum ^ key]).collect();
            let after = self.round(key).batch(rounds - 1, &wider);
            for (mean, after) in mean.iter_mut().zip(after.probabilities) {
                *mean += after / (8 - span.len()) as f64;
            }
        }
        Self { probabilities: mean, ..*self }
    }

    /// The distance in total variation from the uniform law on tuples of different points, and the
    /// divergence from it.
    fn distance_and_divergence(&self) -> [f64; 2] {
        let tuples: usize = (0..self.tuple).map(|place| self.size - place).product();
        let uniform = 1.0 / tuples as f64;
        let above = self.probabilities.iter().filter(|&&p| p > uniform);
        let distance = above.map(|p| p - uniform).sum();
        let some = self.probabilities.iter().filter(|&&p| p > 0.0);
        [distance, some.map(|p| p * (p / uniform).ln()).sum()]
    }
}

/// The mean distance and divergence over all keys of some batches, to those who know the keys.
fn to_who_knows(law: &Law, batches: u32, rounds: u32, span: &[usize]) -> [f64; 2] {
    if rounds == 0 {
        return match batches {
            1 => law.distance_and_divergence(),
            _ => to_who_knows(law, batches - 1, 3, &[0]),
        };
    }
    let mut mean = [0.0; 2];
    for key in (0..8).filter(|key| !span.contains(key)) {
        let wider: Vec<usize> = span.iter().flat_map(|&sum| [sum, sum ^ key]).collect();
        let known = to_who_knows(&law.round(key), batches, rounds - 1, &wider);
        for (mean, known) in mean.iter_mut().zip(known) {
            *mean += known / (8 - span.len()) as f64;
        }
    }
    mean
}

#[test]
fn the_bound_is_never_below_the_truth() {
    for rounds in 1..=3 {
        let shape = BatchShape { rounds, window: 3 };
        for size in 5..=8 {
            let mut law = Law::settled(size);
            for batches in 1..=12 / rounds {
                law = law.batch(rounds, &[0]);
                let [distance, divergence] = law.distance_and_divergence();
                let part = shape.log2_part(3, size as u64 - 1, batches).exp2();
                let what = format!("{size} points, {batches} batches of {rounds} rounds");
                assert!(distance <= (divergence / 2.0).sqrt() + 1e-12, "{what}: {distance}");
                assert!(divergence / 2.0 <= part, "{what}: {divergence} {part}");
            }
        }
    }
}

#[test]
fn the_bound_holds_for_who_knows_the_keys() {
    let shape = BatchShape { rounds: 3, window: 3 };
    for (size, most) in [(5, 2), (6, 2), (7, 1), (8, 1)] {
        for batches in 1..=most {
            let law = Law::settled(size);
            let [distance, divergence] = to_who_knows(&law, batches, 3, &[0]);
            let part = shape.log2_part(3, size as u64 - 1, batches).exp2();
            let what = format!("{size} points, {batches} batches");
            assert!(distance <= (divergence / 2.0).sqrt() + 1e-12, "{what}: {distance}");
            assert!(divergence / 2.0 <= part, "{what}: {divergence} {part}");
            // It is no idle bound, though half of a batch's keys are excluded on so few points.
            assert!(divergence / 2.0 > part / 60.0, "{what}: {divergence} {part}");
        }
    }
}

/// The sum itself, term by term.
fn exact_part(shape: BatchShape, width: u32, last: u64, batches: u32) -> f64 {
    let size = 2_f64.powi(width as i32);
    let terms = ((1_u64 << (width - 1)) + 1..=last + 1).map(|m| {
        let factor = |round: u32| {
            let excluded = 2_f64.powi((width + round) as i32 - shape.window as i32);
            1.0 - (m as f64 - excluded) / (2.0 * (size - excluded))
        };
        let batch: f64 = (0..shape.rounds).map(factor).product();
        (m - 1) as f64 * batch.powi(batches as i32)
    });
    0.5 * terms.sum::<f64>()
}

#[test]
fn the_closed_form_is_hardly_above_the_sum() {
    let shape = BatchShape { rounds: 5, window: 9 };
    for width in 9..=14 {
        for batches in [1, 7, 40, 100] {
            for last in [1 << (width - 1), 3 << (width - 2), (1 << width) - 1] {
                let exact = exact_part(shape, width, last, batches).log2();
                let closed = shape.log2_part(width, last, batches);
                assert!(exact <= closed && closed < exact + 1.0, "{width}: {exact} {closed}");
            }
        }
    }
}

#[test]
fn the_rounds_that_are_chosen_suffice() {
    for bits in [1, 2, 3, 10, 40, 41, 77, 128] {
        for width in 9..=64 {
            let half = 1_u64 << (width - 1);
            for n in [half + 1, half + half / 2, half + (half - 1)] {
                let f = SwapOrNot::for_distance(n, bits, 1).unwrap();
                let bound = f.log2_bound();
                assert!(bound <= -f64::from(bits), "{n} points, 2^-{bits}: {bound}");
            }
            // A batch less would not do for most: none is wasted.
            let shape = BatchShape { rounds: 5, window: 9 };
            let fewer = batches(width, 2 * bits + 1).saturating_sub(3);
            let part = shape.log2_part(width, u64::MAX >> (64 - width), fewer);
            assert!(part > -f64::from(2 * bits + 1), "{width}, 2^-{bits}: {fewer} {part}");
        }
    }
    assert_eq!(SwapOrNot::for_distance(256, 128, 1).unwrap().log2_bound(), f64::NEG_INFINITY);
}
