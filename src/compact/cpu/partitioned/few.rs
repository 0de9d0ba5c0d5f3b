//! Putting a bucket's items in order where they are few for the slots, in the cache.

use core::mem::MaybeUninit;

use super::block::Part;
use crate::base::memory::assume_init_mut;
use crate::compact::cpu::buckets::{Buckets, LowBits};

/// What is needed to put a bucket's items in order of their slots without a bitmap of the slots:
/// the slots are divided into two to four times as many *cells* as there are items, the items
/// sorted by their cells, and then within those.
pub(super) struct Cells<'a> {
    /// Where the next item of each cell goes.
    nexts: &'a mut [MaybeUninit<u32>],
    /// The numbers of the items' slots within the bucket.
    numbers: &'a mut [MaybeUninit<u32>],
}

impl<'a> Cells<'a> {
    /// The words of room that a bucket of `items` items needs.
    pub(super) fn room(items: usize) -> usize {
        Self::count(items) + items
    }

    /// The number of cells for as many items: most have one item at most.
    fn count(items: usize) -> usize {
        (2 * items).next_power_of_two()
    }

    pub(super) fn new(room: &'a mut [MaybeUninit<u32>], items: usize) -> Self {
        let (nexts, rest) = room.split_at_mut(Self::count(items));
        Self { nexts, numbers: &mut rest[..items] }
    }

    /// Copies the items of a bucket to the stage in the order of their slots. The stage has as many
    /// places as the bucket has items.
    #[inline(always)]
    pub(super) fn order<T, L: LowBits>(
        self,
        parts: &[Part<T, L>],
        bucket: usize,
        buckets: Buckets,
        stage: &mut [MaybeUninit<T>],
    ) {
        let Self { nexts, numbers } = self;
        // The highest bits of a number are its cell.
        let shift = buckets.bits.saturating_sub(nexts.len().ilog2());
        nexts.fill(MaybeUninit::new(0));
        // SAFETY: `fill` has just written every word.
        let nexts = unsafe { assume_init_mut(nexts) };
        for part in parts {
            part.for_each(bucket, |number, _| nexts[number >> shift] += 1);
        }
        let mut first = 0;
        for next in &mut *nexts {
            first += *next;
            *next = first - *next;
        }
        numbers.fill(MaybeUninit::new(0));
        // SAFETY: `fill` has just written every word.
        let numbers = unsafe { assume_init_mut(numbers) };
        for part in parts {
            part.for_each(bucket, |number, item| {
                let next = &mut nexts[number >> shift];
                let place = *next as usize;
                *next += 1;
                numbers[place] = number as u32;
                // SAFETY: the item is in a block of one of the parts, which are borrowed for this
                // whole call.
                unsafe { item.copy_to(&mut stage[place]) };
            });
        }
        // The cells are in order, so an item is moved only past those of its own.
        for end in 1..numbers.len() {
            let mut place = end;
            while place > 0 && numbers[place - 1] > numbers[place] {
                numbers.swap(place - 1, place);
                stage.swap(place - 1, place);
                place -= 1;
            }
        }
    }
}
