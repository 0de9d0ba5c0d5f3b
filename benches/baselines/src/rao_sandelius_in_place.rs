//! Rao-Sandelius in place, with two parts at a time: the form that Mitchell et al. measured.

use crate::fisher_yates;
use crate::stream::{Key, Stream};
use crate::tuning::Tuning;

/// Shuffles by recursive random halving, in place, as the program of Mitchell et al. does
/// (`RaoSandeliusShuffle.h` of <https://github.com/djns99/CUDA-Shuffle>, after Bacher et al.).
///
/// A random bit sends each item to the front or to the back, and both parts, of which each has its
/// own thread, are split again until they are small enough for Fisher-Yates. It takes no memory,
/// and it reads and writes in sequence, but once for every bit; and the first split is the work of
/// one thread, the next two that of two. With any number of threads it therefore takes the time in
/// which one thread goes through the items twice. The order does not depend on the number of
/// threads.
pub fn rao_sandelius_in_place<T: Copy + Send + Sync>(items: &mut [T], seed: u64) {
    tuned(items, seed, &Tuning::DEFAULT);
}

pub(crate) fn tuned<T: Copy + Send + Sync>(items: &mut [T], seed: u64, tuning: &Tuning) {
    halve(items, Key::new(seed), tuning.halved_leaf);
}

fn halve<T: Copy + Send>(items: &mut [T], key: Key, leaf: usize) {
    if items.len() <= leaf {
        return fisher_yates::shuffle(items, &mut key.stream());
    }
    let middle = split(items, &mut key.child(0).stream());
    let (front, back) = items.split_at_mut(middle);
    rayon::join(|| halve(front, key.child(1), leaf), || halve(back, key.child(2), leaf));
}

/// Moves each item to the front or to the back by a random bit; how many came to the front.
fn split<T: Copy>(items: &mut [T], stream: &mut Stream) -> usize {
    let (mut front, mut back) = (0, items.len());
    while front < back {
        let mut bits = stream.word();
        for _ in 0..u64::BITS.min(u32::try_from(back - front).unwrap_or(u32::MAX)) {
            // The item at `front` stays, or changes places with the last one that has had no bit.
            let to_back = bits & 1 == 1;
            let (a, b) = (items[front], items[back - 1]);
            (items[front], items[back - 1]) = if to_back { (b, a) } else { (a, b) };
            back -= usize::from(to_back);
            front += usize::from(!to_back);
            bits >>= 1;
        }
    }
    front
}
