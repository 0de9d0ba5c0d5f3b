//! Fisher-Yates with several random places to a word of random bits.

use crate::stream::{Key, Stream};

/// Shuffles on one thread by batched draws: Brackett-Rozinsky, Lemire, *Batched Ranged Random
/// Integer Generation*, Software: Practice and Experience 55(1), 2025.
///
/// It is Fisher-Yates. A random word is multiplied by the first bound. The high half of the product
/// is the first place, and the low half is multiplied by the next bound, so that one word gives up
/// to six places. Where these would not be equally likely, the word is drawn again, as rarely as
/// for one place.
pub fn batched_dice<T>(items: &mut [T], seed: u64) {
    let mut stream = Key::new(seed).stream();
    let mut left = items.len();
    // The product of the bounds is at most 2^60, so few words are drawn again.
    left = rolls::<1, T>(items, left, 1 << 30, &mut stream);
    left = rolls::<2, T>(items, left, 1 << 19, &mut stream);
    left = rolls::<3, T>(items, left, 1 << 14, &mut stream);
    left = rolls::<4, T>(items, left, 1 << 11, &mut stream);
    left = rolls::<5, T>(items, left, 1 << 9, &mut stream);
    left = rolls::<6, T>(items, left, 6, &mut stream);
    rolls::<1, T>(items, left, 1, &mut stream);
}

/// Shuffles the items from `left` down, `K` at a time, until at most `until` are left. Returns how
/// many those are.
fn rolls<const K: usize, T>(
    items: &mut [T],
    mut left: usize,
    until: usize,
    stream: &mut Stream,
) -> usize {
    let mut bound = product::<K>(left);
    while left > until {
        let places = roll::<K>(left, &mut bound, stream);
        for (below, place) in places.into_iter().enumerate() {
            items.swap(left - 1 - below, place);
        }
        left -= K;
    }
    left
}

/// Places below `left`, `left - 1` and so on, from one word. `bound` is at least the product of
/// these bounds, and becomes it where it is computed.
fn roll<const K: usize>(left: usize, bound: &mut u64, stream: &mut Stream) -> [usize; K] {
    let (mut places, mut rest) = split::<K>(left, stream.word());
    if rest < *bound {
        *bound = product::<K>(left);
        let excess = bound.wrapping_neg() % *bound;
        while rest < excess {
            (places, rest) = split(left, stream.word());
        }
    }
    places
}

/// The places that a word gives, and what is left of it.
fn split<const K: usize>(left: usize, word: u64) -> ([usize; K], u64) {
    let mut rest = word;
    let places = std::array::from_fn(|below| {
        let product = u128::from(rest) * (left - below) as u128;
        rest = product as u64;
        (product >> 64) as usize
    });
    (places, rest)
}

fn product<const K: usize>(left: usize) -> u64 {
    (0..K).map(|below| left.saturating_sub(below).max(1) as u64).product()
}
