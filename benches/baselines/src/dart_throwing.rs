//! Dart throwing: every item is thrown at random places of a larger board until it hits a free one.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::pieces::pieces;
use crate::stream::Key;
use crate::tuning::Tuning;

/// How many slots the board has for each item, as in the measurements of Mitchell et al.: a throw
/// hits a free slot with a probability of more than a half.
const SLOTS_PER_ITEM: usize = 2;

/// Shuffles by dart throwing: Miller, Reif, *Parallel Tree Contraction and its Application*, FOCS
/// 1985; Reif, Rajasekaran, *Optimal and Sublogarithmic Time Randomized Parallel Sorting
/// Algorithms*, SIAM J. Comput. 18(3), 1989.
///
/// Threads throw items at a board of twice as many slots, and claim a slot by setting its bit
/// atomically; a thread that finds the bit set throws again. A prefix sum over the number of bits
/// then tells where each part of the board goes in the output.
///
/// A throw that succeeds hits each of the free slots with the same probability, so whatever the
/// order of the throws, the order of the items is uniform. But it is **not deterministic**: when
/// two items are thrown at one slot, the thread that comes first decides. Only in a pool of one
/// thread is the order the same for a seed.
pub fn dart_throwing<T: Copy + Send + Sync>(items: &mut [T], seed: u64) {
    tuned(items, seed, &Tuning::DEFAULT);
}

pub(crate) fn tuned<T: Copy + Send + Sync>(items: &mut [T], seed: u64, tuning: &Tuning) {
    let board = Board::new(items.len() * SLOTS_PER_ITEM);
    let key = Key::new(seed);
    items.par_chunks(tuning.block).enumerate().for_each(|(number, block)| {
        let mut stream = key.child(number).stream();
        for &item in block {
            while !board.place(stream.below(board.slots.len()), item) {}
        }
    });
    board.collect_into(items, tuning.block);
}

/// Slots that threads fill at the same time, each slot once.
struct Board<T> {
    /// A bit for each slot, set by the one thread that may write it.
    taken: Vec<AtomicU64>,
    /// Holds an item where the bit is set and the thread that set it is done with
    /// [`place`](Self::place).
    slots: Box<[MaybeUninit<UnsafeCell<T>>]>,
}

// SAFETY: by a shared reference, items can only be moved in, and never be looked at; a slot is
// written by one thread only, the one that set its bit.
unsafe impl<T: Send> Sync for Board<T> {}

impl<T: Copy + Send> Board<T> {
    const WORD: usize = u64::BITS as usize;

    fn new(slots: usize) -> Self {
        Self {
            taken: (0..slots.div_ceil(Self::WORD)).map(|_| AtomicU64::new(0)).collect(),
            slots: Box::new_uninit_slice(slots),
        }
    }

    /// Puts an item into a slot, if it is free; whether it was.
    fn place(&self, slot: usize, item: T) -> bool {
        let cell = UnsafeCell::raw_get(self.slots[slot].as_ptr());
        let bit = 1 << (slot % Self::WORD);
        // Relaxed is enough: the bit alone decides who writes, and nobody reads before all threads
        // are done.
        let free = self.taken[slot / Self::WORD].fetch_or(bit, Ordering::Relaxed) & bit == 0;
        if free {
            // SAFETY: the pointer is to a slot of the board, which lives and may be written by a
            // shared reference, for it is in an `UnsafeCell`. Nobody else writes it, since the bit
            // of a slot is found clear once, and nobody reads it, since that takes the board by
            // value.
            unsafe { cell.write(item) };
        }
        free
    }

    /// Moves the items to `out`, in the order of their slots; `block` slots or a few more are one
    /// thread's work.
    ///
    /// # Panics
    ///
    /// If there are not as many items as `out` has places.
    fn collect_into(mut self, out: &mut [T], block: usize) {
        let words = block.div_ceil(Self::WORD);
        let count = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones() as usize;
        let counts: Vec<usize> =
            self.taken.par_chunks(words).map(|words| words.iter().map(count).sum()).collect();
        self.taken
            .par_chunks_mut(words)
            .zip(self.slots.par_chunks_mut(words * Self::WORD))
            .zip(pieces(out, counts))
            .for_each(|((taken, slots), out)| {
                let mut places = out.iter_mut();
                for (taken, slots) in taken.iter_mut().zip(slots.chunks_mut(Self::WORD)) {
                    for (slot, place) in ones(*taken.get_mut()).zip(&mut places) {
                        // SAFETY: the bit of the slot is set, and by owning the board we know that
                        // each thread that set one came to the end of `place`, in which nothing can
                        // fail after the bit is set.
                        let cell = unsafe { slots[slot].assume_init_mut() };
                        *place = *cell.get_mut();
                    }
                }
            });
    }
}

/// The numbers of the bits that are set, from the lowest.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}
