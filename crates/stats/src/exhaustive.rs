//! Statistics of all `n!` permutations, to check the formulas for uniform ones.

use super::counts::VALUES;

/// Calls a function for each permutation of `len` items.
pub(super) fn for_all(len: usize, mut call: impl FnMut(&[u32])) {
    let mut p: Vec<u32> = (0..len as u32).collect();
    for_all_from(&mut p, 0, &mut call);
}

fn for_all_from(p: &mut [u32], first: usize, call: &mut impl FnMut(&[u32])) {
    if first == p.len() {
        return call(p);
    }
    for k in first..p.len() {
        p.swap(first, k);
        for_all_from(p, first + 1, call);
        p.swap(first, k);
    }
}

/// The probabilities of a statistic's values from 0 to 63.
pub(super) fn distribution(len: usize, statistic: impl Fn(&[u32]) -> u64) -> [f64; VALUES] {
    let mut counts = [0.0; VALUES];
    let mut all = 0.0;
    for_all(len, |p| {
        counts[statistic(p) as usize] += 1.0;
        all += 1.0;
    });
    counts.map(|count| count / all)
}

/// A statistic's mean and variance.
pub(super) fn moments(len: usize, statistic: impl Fn(&[u32]) -> f64) -> [f64; 2] {
    let (mut all, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for_all(len, |p| {
        let x = statistic(p);
        all += 1.0;
        sum += x;
        squares += x * x;
    });
    let mean: f64 = sum / all;
    [mean, squares / all - mean * mean]
}
