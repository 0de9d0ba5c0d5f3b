//! Putting a bucket's items in order where they are few for the slots, in the cache.
//!
//! ```text
//! count the items of each cell           a cell is slot >> shift: two to four of them for an item
//! start[cell] = items in the cells before
//! for item: stage[start[cell]++] = item  sorted by cell
//! sort by insertion                      an item passes only those of its own cell
//! ```

use core::mem::MaybeUninit;

use super::block::InBuckets;
use crate::compact::cpu::buckets::BucketDivision;
use crate::engine::memory::assume_init_mut;

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
    pub(super) fn order<T>(
        self,
        parts: &[impl InBuckets<T>],
        bucket: usize,
        buckets: BucketDivision,
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
        sort_cells(numbers, stage);
    }
}

/// How many swaps an item may take on average before its bucket is sorted in another way. With a
/// random bijection, and at least twice as many cells as items, it is an eighth of a swap or less.
const MOST_SWAPS: usize = 16;

/// Sorts items by their numbers. Items whose numbers are in different cells are in order already,
/// so an item is moved only past those of its own cell.
fn sort_cells<T>(numbers: &mut [u32], items: &mut [T]) {
    let mut swaps = MOST_SWAPS * numbers.len();
    for end in 1..numbers.len() {
        let mut place = end;
        while place > 0 && numbers[place - 1] > numbers[place] {
            if swaps == 0 {
                return sort_heap(numbers, items);
            }
            swaps -= 1;
            numbers.swap(place - 1, place);
            items.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Sorts items by their numbers, however few cells they are in, without more memory.
#[cold]
fn sort_heap<T>(numbers: &mut [u32], items: &mut [T]) {
    let mut swap = |numbers: &mut [u32], a, b| {
        numbers.swap(a, b);
        items.swap(a, b);
    };
    // Moves the number at `place` down until none of its two children is larger.
    let sink = |numbers: &mut [u32], mut place: usize, swap: &mut dyn FnMut(&mut [u32], _, _)| {
        while let Some(&left) = numbers.get(2 * place + 1) {
            let right = numbers.get(2 * place + 2).copied().unwrap_or(0);
            let child = 2 * place + if right > left { 2 } else { 1 };
            if numbers[place] >= numbers[child] {
                break;
            }
            swap(numbers, place, child);
            place = child;
        }
    };
    for place in (0..numbers.len() / 2).rev() {
        sink(numbers, place, &mut swap);
    }
    for end in (1..numbers.len()).rev() {
        swap(numbers, 0, end);
        sink(&mut numbers[..end], 0, &mut swap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sort = fn(&mut [u32], &mut [String]);

    #[test]
    fn items_are_sorted_however_few_cells_they_are_in() {
        let orders: [fn(u32) -> u32; 5] =
            [|k| k, |k| 2999 - k, |k| k * 1009 % 3000, |k| k ^ 1, |k| (k + 1500) % 3000];
        for order in orders {
            for len in [0, 1, 2, 3, 100, 3000] {
                let numbers: Vec<u32> = (0..len).map(order).collect();
                let items: Vec<String> = numbers.iter().map(u32::to_string).collect();
                let mut expected = numbers.clone();
                expected.sort_unstable();
                let sorts: [Sort; 2] = [sort_cells, sort_heap];
                for sort in sorts {
                    let (mut numbers, mut items) = (numbers.clone(), items.clone());
                    sort(&mut numbers, &mut items);
                    assert_eq!(numbers, expected);
                    assert!(items.iter().zip(&numbers).all(|(item, n)| *item == n.to_string()));
                }
            }
        }
    }
}
