//! Lengths whose permutation is drawn exactly: the exchanges of the draw, made on the items
//! themselves. That takes no memory and no second pass, and cannot fail.

use crate::bijection::Standard;
use crate::compact::Direction;
use crate::engine::bijection::draw_exchanges;
use crate::engine::seed::BLOCKS;
use crate::{FromSeed, Seed};

/// Whether the order of this many items is drawn exactly.
pub(crate) fn is_exact(len: usize) -> bool {
    len as u64 <= Standard::EXACT_MAX
}

/// Shuffles the items in the order of a seed, or undoes it.
///
/// # Panics
///
/// If there are more than [`Standard::EXACT_MAX`] items.
pub(crate) fn exchange<T>(seed: &Seed, items: &mut [T], direction: Direction) {
    exchange_by(words(seed, items.len(), &[]), items, direction);
}

/// The same by the words of the seed's stream for that many items.
///
/// # Panics
///
/// As [`exchange`].
pub(crate) fn exchange_by<T>(words: impl FnMut() -> u64, items: &mut [T], direction: Direction) {
    let len = items.len();
    assert!(is_exact(len));
    match direction {
        Direction::Shuffle => draw_exchanges(len, words, |a, b| items.swap(a, b)),
        Direction::Unshuffle => {
            let mut exchanges = [(0, 0); Standard::EXACT_MAX as usize];
            let mut count = 0;
            draw_exchanges(len, words, |a, b| {
                exchanges[count] = (a, b);
                count += 1;
            });
            exchanges[..count].iter().rev().for_each(|&(a, b)| items.swap(a, b));
        }
    }
}

/// The words from which the exchanges of this many items are drawn. The first blocks of the stream
/// may be known, at most [`BLOCKS`] of them.
pub(crate) fn words(seed: &Seed, len: usize, known: &[[u64; 2]]) -> impl FnMut() -> u64 {
    let domain = Standard::key_domain(len as u64);
    let mut words = [0; 2 * BLOCKS];
    let (mut end, mut used, mut next) = (2 * known.len(), 0, known.len() as u32);
    words[..end].copy_from_slice(known.as_flattened());
    move || {
        if used == end {
            words = seed.stream_words(domain, next);
            next += BLOCKS as u32;
            (used, end) = (0, words.len());
        }
        used += 1;
        words[used - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::{Compactor, Serial};

    #[test]
    fn items_are_exchanged_as_the_table_orders_them() {
        for len in 0..=Standard::EXACT_MAX as usize {
            for seed in
                [Seed::new(len as u64).with_epoch(1 << 40), Seed::from_bytes([len as u8; 32])]
            {
                let mut expected: Vec<String> = (0..len).map(|k| format!("item {k}")).collect();
                let mut items = expected.clone();
                let table = Standard::from_seed(len as u64, seed);
                Serial.shuffle(&table, &mut expected).unwrap();
                exchange(&seed, &mut items, Direction::Shuffle);
                assert_eq!(items, expected, "{len}");
                exchange(&seed, &mut items, Direction::Unshuffle);
                Serial.unshuffle(&table, &mut expected).unwrap();
                assert_eq!(items, expected, "{len}, undone");
            }
        }
    }
}
