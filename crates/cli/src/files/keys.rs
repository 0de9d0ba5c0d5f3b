//! [`ItemKeys`]: numbers that say where items go, in the order in which the items are read.

use std::ops::Range;

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::{Bijection, Error, Permutation};
use rayon::prelude::*;

use super::order::FileOrder;

/// How many points are evaluated at a time.
const BATCH: u64 = 1 << 16;

/// How many of them a thread evaluates at a time.
const RUN: usize = 1 << 12;

/// The keys of a file's items, from the first on: the item with the least key comes first in the
/// output.
///
/// To shuffle, the key of an item is its slot in the permutation's domain. No place has to be
/// counted: slots that no item has leave gaps between the keys, which are at most as many as the
/// items. To undo a shuffle, the key is the place itself.
pub(crate) struct ItemKeys<'o> {
    bijection: &'o Standard,
    len: u64,
    is_undone: bool,
    /// The keys of the items that are wanted.
    wanted: Range<u64>,
    /// The first item, or slot, that was not evaluated yet.
    next: u64,
    /// The number after that of the last item.
    end: u64,
    batch: Vec<u64>,
    /// How many keys of the batch were taken.
    taken: usize,
}

impl<'o> ItemKeys<'o> {
    /// # Errors
    ///
    /// Those of building the permutation's index, which only a part of an order can need.
    pub(crate) fn new(order: &'o FileOrder) -> Result<Self, Error> {
        let permutation = order.permutation();
        let (bijection, len, is_undone) = (permutation.bijection(), order.len(), order.is_undone());
        let places = order.places();
        let wanted = if is_undone {
            places
        } else {
            slot(permutation, places.start)?..slot(permutation, places.end)?
        };
        let (next, batch) = (0, Vec::new());
        Ok(Self { bijection, len, is_undone, wanted, next, end: len, batch, taken: 0 })
    }

    /// The keys of some of the items. There may be more keys than items.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), which only a range that begins after the first item can have,
    /// if a shuffle is undone.
    pub(crate) fn of_items(order: &'o FileOrder, items: Range<u64>) -> Result<Self, Error> {
        let all = Self::new(order)?;
        let next =
            if all.is_undone { slot(order.permutation(), items.start)? } else { items.start };
        Ok(Self { next, end: items.end, ..all })
    }

    /// The keys of the items that are wanted lie in this range.
    pub(crate) fn wanted(&self) -> Range<u64> {
        self.wanted.clone()
    }

    /// The key of the next item; `None` if there are no more.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u64> {
        if self.taken == self.batch.len() && !self.refill() {
            return None;
        }
        self.taken += 1;
        Some(self.batch[self.taken - 1])
    }

    /// Evaluates the next batch that has any keys.
    #[cold]
    fn refill(&mut self) -> bool {
        let Self { bijection, len, end, .. } = *self;
        self.taken = 0;
        self.batch.clear();
        while self.batch.is_empty() {
            // Behind the last slot there may be no number.
            let last = if self.is_undone { bijection.last() } else { end.saturating_sub(1) };
            if end == 0 || self.next > last {
                return false;
            }
            let count = BATCH.min((last - self.next).saturating_add(1));
            self.batch.resize(count as usize, 0);
            let first = self.next;
            self.batch.par_chunks_mut(RUN).enumerate().for_each(|(run, keys)| {
                let first = first + (run * RUN) as u64;
                if self.is_undone {
                    bijection.forward_run(first, keys);
                } else {
                    bijection.inverse_run(first, keys);
                }
            });
            if self.is_undone {
                self.batch.retain(|&place| place < len);
            }
            self.next += count;
        }
        true
    }
}

/// The slot of a place, or the end of the domain for the place after the last. Files have fewer
/// than 2^63 items, and so the domain has fewer than 2^64 slots.
fn slot(permutation: &Permutation, place: u64) -> Result<u64, Error> {
    let bijection = permutation.bijection();
    if place == 0 {
        return Ok(0);
    }
    if place == permutation.len() {
        return Ok(bijection.last().saturating_add(1));
    }
    // It is only built by itself for fewer than 2^33 items.
    permutation.build_index()?;
    Ok(bijection.inverse(permutation.get(place)?))
}

#[cfg(test)]
mod tests {
    use bijective_shuffle::error::ViewError;

    use super::*;

    #[test]
    fn keys_are_in_the_order_of_the_places() {
        for len in [0, 1, 2, 100, 256, 257, 1000, 1024, 70_000, 150_001] {
            for (order, places) in [
                (FileOrder::shuffle(len, 7), Permutation::new(len, 7).inverted()),
                (FileOrder::unshuffle(len, 7), Permutation::new(len, 7)),
            ] {
                let mut keys = ItemKeys::new(&order).unwrap();
                let mut sorted: Vec<(u64, u64)> = Vec::new();
                let mut index = 0;
                while let Some(key) = keys.next() {
                    assert!(keys.wanted().contains(&key));
                    sorted.push((key, index));
                    index += 1;
                }
                assert_eq!(index, len);
                sorted.sort();
                let places = places.to_vec();
                for (place, (_, index)) in sorted.into_iter().enumerate() {
                    assert_eq!(places[index as usize], place as u64, "{len}");
                }
            }
        }
    }

    #[test]
    fn keys_of_some_items_are_those_of_all() {
        for order in [FileOrder::shuffle(150_001, 7), FileOrder::unshuffle(150_001, 7)] {
            let mut all = ItemKeys::new(&order).unwrap();
            let all: Vec<u64> = std::iter::from_fn(|| all.next()).collect();
            for items in [0..0, 0..1, 0..150_001, 1..2, 70_000..150_000, 150_000..150_001] {
                let mut some = ItemKeys::of_items(&order, items.clone()).unwrap();
                let (start, end) = (items.start as usize, items.end as usize);
                let some = (start..end).map(|_| some.next());
                assert!(some.eq(all[start..end].iter().copied().map(Some)), "{items:?}");
            }
        }
    }

    #[test]
    fn a_place_beyond_the_end_has_no_slot() {
        let permutation = Permutation::new(5000, 7);
        assert!(slot(&permutation, 5000).is_ok());
        for place in [5001, u64::MAX] {
            let found = slot(&permutation, place);
            assert!(matches!(found, Err(Error::View(ViewError::OutOfRange { .. }))), "{found:?}");
        }
    }

    #[test]
    fn keys_of_a_part_lie_in_its_range() {
        for order in [FileOrder::shuffle(5000, 7), FileOrder::unshuffle(5000, 7)] {
            for places in [0..5000, 0..0, 0..1, 4999..5000, 17..3000, 5000..5000] {
                let part = order.clone().range(places.clone()).unwrap();
                let mut keys = ItemKeys::new(&part).unwrap();
                let wanted = keys.wanted();
                let mut index = 0;
                let mut found = Vec::new();
                while let Some(key) = keys.next() {
                    if wanted.contains(&key) {
                        found.push((key, index));
                    }
                    index += 1;
                }
                found.sort();
                let found: Vec<u64> = found.into_iter().map(|(_, index)| index).collect();
                assert_eq!(found, part.indexes::<u64>().unwrap());
                assert_eq!(found.len() as u64, places.end - places.start);
            }
        }
    }
}
