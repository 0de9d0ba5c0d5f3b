//! Structure over the keys: the values at a few slots that a cipher's shape sets apart, over many
//! members of a family.

use bijective_shuffle::prelude::*;
use rayon::prelude::*;

use crate::families::Draw;

/// Counts of the cells that members fall into, for one way of looking at them.
pub(crate) struct Histogram {
    pub(crate) name: String,
    pub(crate) counts: Vec<u64>,
}

/// The pairs of slots: neighbours, half and quarter of the domain apart, across the halves of a
/// word, at the ends.
fn pairs(n: u64) -> Vec<(u64, u64)> {
    let half_word = 1 << (n - 1).ilog2().div_ceil(2);
    let mut pairs = vec![
        (0, 1),
        (0, 2),
        (0, n / 2),
        (1, n / 2 + 1),
        (n / 2 - 1, n / 2),
        (0, n / 4),
        (0, half_word),
        (half_word, half_word + 1),
        (0, half_word / 2),
        (n - 2, n - 1),
        (3, n - 4),
    ];
    pairs.retain(|(a, b)| a != b && *a < n && *b < n);
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Up to 64 points every pair of values has a cell of its own; beyond, several views of 256 cells
/// each.
const WHOLE: u64 = 64;

/// The cell of two values in a domain of a number of points.
type View = fn(u64, u64, u64) -> u64;

const VIEWS: [(&str, View); 6] = [
    ("difference, high bits", |a, b, n| scale(difference(a, b, n), 256, n)),
    ("difference, low bits", |a, b, n| difference(a, b, n) % 256),
    ("pair, high bits", |a, b, n| scale(a, 16, n) * 16 + scale(b, 16, n)),
    ("pair, low bits", |a, b, _| a % 16 * 16 + b % 16),
    ("first value", |a, _, n| scale(a, 256, n)),
    ("exclusive or", |a, b, _| (a ^ b) % 256),
];

fn difference(a: u64, b: u64, n: u64) -> u64 {
    if b >= a { b - a } else { b + (n - a) }
}

fn scale(value: u64, cells: u64, n: u64) -> u64 {
    (u128::from(value) * u128::from(cells) / u128::from(n)) as u64
}

/// Draws `keys` members for a length and counts.
pub(crate) fn count(draw: Draw, len: u64, keys: u64, seed: Seed) -> Vec<Histogram> {
    const CHUNKS: u64 = 128;
    let n = draw(len, seed).last() + 1;
    let pairs = pairs(n);
    let views = if n <= WHOLE { 1 } else { VIEWS.len() };
    let cells = if n <= WHOLE { (n * n) as usize } else { 256 };
    let empty = || vec![vec![0_u64; cells]; pairs.len() * views];
    let counts = (0..CHUNKS)
        .into_par_iter()
        .map(|chunk| {
            let mut counts = empty();
            for key in keys * chunk / CHUNKS..keys * (chunk + 1) / CHUNKS {
                let f = draw(len, seed.with_epoch(key));
                for (&(a, b), counts) in pairs.iter().zip(counts.chunks_mut(views)) {
                    let (a, b) = (f.forward(a), f.forward(b));
                    if n <= WHOLE {
                        counts[0][(a * n + b) as usize] += 1;
                    } else {
                        for (counts, (_, view)) in counts.iter_mut().zip(VIEWS) {
                            counts[view(a, b, n) as usize] += 1;
                        }
                    }
                }
            }
            counts
        })
        .reduce(empty, |mut all, some| {
            for (all, some) in all.iter_mut().flatten().zip(some.iter().flatten()) {
                *all += some;
            }
            all
        });
    let name = |k: usize| {
        let (a, b) = pairs[k / views];
        let view = if n <= WHOLE { "pair" } else { VIEWS[k % views].0 };
        format!("{view} at slots {a} and {b}")
    };
    counts.into_iter().enumerate().map(|(k, counts)| Histogram { name: name(k), counts }).collect()
}
