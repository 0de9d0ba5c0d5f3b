//! MergeShuffle: halves are shuffled, and then merged at random.

use crate::fisher_yates;
use crate::stream::{Key, Stream};
use crate::tuning::Tuning;

/// Shuffles by random merging: Bacher, Bodini, Hollender, Lumbroso, *MergeShuffle: A Very Fast,
/// Parallel Random Permutation Algorithm*, arXiv:1508.03167, 2015.
///
/// Blocks are shuffled by Fisher-Yates, and neighbours merged in place, which takes little more
/// than a random bit an item, until all is one. Merges of different neighbours run at the same
/// time, but each on one thread, as in the paper: the last goes through all the items alone. The
/// order does not depend on the number of threads.
pub fn merge_shuffle<T: Copy + Send + Sync>(items: &mut [T], seed: u64) {
    tuned(items, seed, &Tuning::DEFAULT);
}

pub(crate) fn tuned<T: Copy + Send + Sync>(items: &mut [T], seed: u64, tuning: &Tuning) {
    halve(items, Key::new(seed), tuning);
}

fn halve<T: Copy + Send>(items: &mut [T], key: Key, tuning: &Tuning) {
    if items.len() <= tuning.leaf {
        return fisher_yates::shuffle(items, &mut key.stream());
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    rayon::join(|| halve(left, key.child(0), tuning), || halve(right, key.child(1), tuning));
    merge(items, middle, &mut key.child(2).stream());
}

/// Merges the items before `middle` with those from there on, both in random order, into one random
/// order.
fn merge<T: Copy>(items: &mut [T], middle: usize, stream: &mut Stream) {
    const WORD: usize = u64::BITS as usize;
    // Before `next` is what is merged, then what is left of the left side, and from `right` on that
    // of the right.
    let (mut next, mut right) = (0, middle);

    // A bit chooses the side that the next item is from. While no side can run out, 64 of them need
    // no other branch.
    while right - next >= WORD && items.len() - right >= WORD {
        let mut bits = stream.word();
        for _ in 0..WORD {
            let from_right = bits & 1 == 1;
            let (a, b) = (items[next], items[right]);
            (items[next], items[right]) = if from_right { (b, a) } else { (a, b) };
            right += usize::from(from_right);
            next += 1;
            bits >>= 1;
        }
    }

    // The same, until a bit asks for an item of a side that has none.
    'sides: loop {
        let mut bits = stream.word();
        for _ in 0..WORD {
            if bits & 1 == 1 {
                if right == items.len() {
                    break 'sides;
                }
                items.swap(next, right);
                right += 1;
            } else if next == right {
                break 'sides;
            }
            next += 1;
            bits >>= 1;
        }
    }

    // The rest is inserted one by one.
    for last in next..items.len() {
        items.swap(last, stream.below(last + 1));
    }
}
