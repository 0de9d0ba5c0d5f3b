//! Sort-shuffle: items are sorted by random keys.

use rayon::prelude::*;
use rdst::{RadixKey, RadixSort};

use crate::stream::Key;
use crate::tuning::Tuning;

/// Shuffles by sorting with random 64-bit keys, by rayon's parallel pattern-defeating quicksort.
///
/// The keys are words of one stream of SplitMix64, of which no two are the same: there are no ties,
/// and the order depends on the seed alone.
pub fn sort_shuffle<T: Copy + Send + Sync>(items: &mut [T], seed: u64) {
    sort_tuned(items, seed, &Tuning::DEFAULT);
}

/// Shuffles as [`sort_shuffle`] does, to the same order, by the parallel radix sort of the crate
/// `rdst`.
pub fn radix_sort_shuffle<T: Copy + Send + Sync>(items: &mut [T], seed: u64) {
    radix_sort_tuned(items, seed, &Tuning::DEFAULT);
}

pub(crate) fn sort_tuned<T: Copy + Send + Sync>(items: &mut [T], seed: u64, tuning: &Tuning) {
    by_keys(items, seed, tuning, |keyed| keyed.par_sort_unstable_by_key(|keyed| keyed.key));
}

pub(crate) fn radix_sort_tuned<T: Copy + Send + Sync>(items: &mut [T], seed: u64, tuning: &Tuning) {
    by_keys(items, seed, tuning, |keyed| keyed.radix_sort_unstable());
}

/// An item with its random key.
#[derive(Clone, Copy)]
struct Keyed<T> {
    key: u64,
    item: T,
}

impl<T> RadixKey for Keyed<T> {
    const LEVELS: usize = size_of::<u64>();

    fn get_level(&self, level: usize) -> u8 {
        (self.key >> (8 * level)) as u8
    }
}

fn by_keys<T: Copy + Send + Sync>(
    items: &mut [T],
    seed: u64,
    tuning: &Tuning,
    sort: impl FnOnce(&mut [Keyed<T>]),
) {
    let key = Key::new(seed);
    let with_key = |(index, &item): (usize, &T)| Keyed { key: key.word(index), item };
    let mut keyed: Vec<Keyed<T>> =
        items.par_iter().enumerate().with_min_len(tuning.block).map(with_key).collect();
    sort(&mut keyed);
    let places = items.par_iter_mut().with_min_len(tuning.block);
    places.zip(&keyed).for_each(|(place, keyed)| *place = keyed.item);
}
