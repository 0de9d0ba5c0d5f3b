//! Rao-Sandelius: items go to random buckets, and each bucket is shuffled in the same way.

use rayon::prelude::*;

use crate::fisher_yates;
use crate::pieces::pieces;
use crate::stream::{Key, Stream};
use crate::tuning::Tuning;

/// Shuffles by recursive random splitting: Rao, *Generation of Random Permutation of Given Number
/// of Elements Using Random Sampling Numbers*, Sankhya A 23, 1961; Sandelius, *A Simple
/// Randomization Procedure*, J. R. Stat. Soc. B 24(2), 1962.
///
/// A random digit sends each item to one of 256 buckets, a bucket that is small enough is shuffled
/// by Fisher-Yates, and a larger one is split again. It is a radix sort, from the most significant
/// digit, by random keys that never end.
///
/// Threads deal blocks of items, each with its own stream of digits, to places that were counted
/// before, and then have a bucket each. The order does not depend on the number of threads.
pub fn rao_sandelius<T: Copy + Send + Sync>(items: &mut [T], seed: u64) {
    tuned(items, seed, &Tuning::DEFAULT);
}

/// Shuffles as [`rao_sandelius`] does, to the same order, with memory that is kept from call to
/// call: room for the items, which grows if it is too small.
pub fn rao_sandelius_with<T: Copy + Send + Sync>(scratch: &mut Vec<T>, items: &mut [T], seed: u64) {
    with_scratch(scratch, items, seed, &Tuning::DEFAULT);
}

pub(crate) fn tuned<T: Copy + Send + Sync>(items: &mut [T], seed: u64, tuning: &Tuning) {
    with_scratch(&mut Vec::new(), items, seed, tuning);
}

pub(crate) fn with_scratch<T: Copy + Send + Sync>(
    scratch: &mut Vec<T>,
    items: &mut [T],
    seed: u64,
    tuning: &Tuning,
) {
    let key = Key::new(seed);
    if items.len() <= tuning.leaf {
        return fisher_yates::shuffle(items, &mut key.stream());
    }
    if scratch.len() < items.len() {
        // What is there is of no use, and is given back first.
        *scratch = Vec::new();
        *scratch = items.par_iter().copied().collect();
    }
    let to = &mut scratch[..items.len()];
    split(Bucket { from: items, to, home: Home::From }, key, tuning);
}

/// Items to be shuffled, and as much room beside them.
struct Bucket<'a, T> {
    /// Where the items are.
    from: &'a mut [T],
    /// Room for them.
    to: &'a mut [T],
    /// Which of the two belongs to the caller, who waits for the items there.
    home: Home,
}

#[derive(Clone, Copy)]
enum Home {
    From,
    To,
}

/// Shuffles the items of a bucket, and leaves them at home.
fn split<T: Copy + Send + Sync>(bucket: Bucket<'_, T>, key: Key, tuning: &Tuning) {
    let Bucket { from, to, home } = bucket;
    if from.len() <= tuning.leaf {
        return match home {
            Home::From => fisher_yates::shuffle(from, &mut key.stream()),
            Home::To => fisher_yates::shuffle_into(from, to, &mut key.stream()),
        };
    }
    let (digits_key, buckets_key) = (key.child(0), key.child(1));
    let sizes = deal(from, to, digits_key, tuning);
    let home = match home {
        Home::From => Home::To,
        Home::To => Home::From,
    };
    // The items have changed sides.
    let parts = pieces(to, sizes.iter().copied()).into_par_iter().zip(pieces(from, sizes));
    parts.enumerate().for_each(|(number, (from, to))| {
        split(Bucket { from, to, home }, buckets_key.child(number), tuning);
    });
}

/// Copies the items to random buckets, which lie one after the other in `to`; the buckets' sizes.
fn deal<T: Copy + Send + Sync>(from: &[T], to: &mut [T], key: Key, tuning: &Tuning) -> Vec<usize> {
    let Tuning { block, digit_bits, .. } = *tuning;
    let buckets = 1_usize << digit_bits;
    let blocks = from.par_chunks(block).enumerate();
    let counts: Vec<Vec<usize>> = blocks
        .clone()
        .map(|(number, block)| {
            let mut counts = vec![0; buckets];
            with_digits(block, digit_bits, key.child(number).stream(), |digit, _| {
                counts[digit] += 1;
            });
            counts
        })
        .collect();

    // Bucket by bucket, and in each block by block: so the places of a block are not in one piece,
    // but a piece in each bucket.
    let in_order = (0..buckets).flat_map(|bucket| counts.iter().map(move |block| block[bucket]));
    let mut places: Vec<_> = counts.iter().map(|_| Vec::with_capacity(buckets)).collect();
    for (number, piece) in pieces(to, in_order).into_iter().enumerate() {
        places[number % counts.len()].push(piece.iter_mut());
    }

    blocks.zip(places).for_each(|((number, block), mut places)| {
        with_digits(block, digit_bits, key.child(number).stream(), |digit, &item| {
            *places[digit].next().expect("a place for each digit counted") = item;
        });
    });
    (0..buckets).map(|bucket| counts.iter().map(|block| block[bucket]).sum()).collect()
}

/// Passes each item with a random number of `bits` bits. The same stream gives the same numbers.
fn with_digits<T>(items: &[T], bits: u32, mut stream: Stream, mut each: impl FnMut(usize, &T)) {
    let mask = (1 << bits) - 1;
    for group in items.chunks((u64::BITS / bits) as usize) {
        let mut word = stream.word();
        for item in group {
            each((word & mask) as usize, item);
            word >>= bits;
        }
    }
}
