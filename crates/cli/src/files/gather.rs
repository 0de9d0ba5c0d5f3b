//! [`Held`]: items in memory to the output, without a store.

use std::mem;
use std::ops::Range;

use bijective_shuffle::Word;
use rayon::prelude::*;

use super::budget::Budget;
use super::error::FilesError;
use super::items::Items;
use super::order::FileOrder;
use super::ordered::{Ordered, OrderedRounds};
use super::room::{Spare, try_filled, try_reserve};
use super::sources::Pieces;
use super::summary::Summary;
use super::watch::{ShufflePass, Watch};

/// How many bytes of items a thread puts in order at a time: enough that threads which wait for
/// each other, as those that write a block and hash it, do so seldom.
const BLOCK: usize = 4 << 20;

/// How many blocks of a round there are for each thread, so that threads that are faster, or not
/// writing, can do more.
const BLOCKS_PER_THREAD: usize = 2;

/// How much memory an item takes beside its bytes: where it is, and its number in an order.
pub(crate) const PER_ITEM: usize = size_of::<&[u8]>() + size_of::<u64>();

/// Items in memory.
pub(super) struct Held<'t> {
    items: Vec<&'t [u8]>,
    bytes: u64,
}

impl<'t> Held<'t> {
    /// Finds the items of texts, which have whole ones.
    pub(super) fn new(items: Items, texts: &[&'t [u8]]) -> Result<Self, FilesError> {
        let counts: Vec<_> = texts.par_iter().map(|text| items.count(text) as usize).collect();
        let mut found: Vec<&[u8]> = try_filled(counts.iter().sum(), &[][..])?;
        let mut rest = found.as_mut_slice();
        let mut places = Vec::new();
        for count in counts {
            let (own, others) = mem::take(&mut rest).split_at_mut(count);
            places.push(own);
            rest = others;
        }
        let unwritten = items.unwritten();
        let bytes = texts.par_iter().zip(places).map(|(text, places)| {
            let (mut rest, mut bytes) = (*text, 0);
            for place in places {
                let (item, others) = rest.split_at(items.first(rest).unwrap_or(rest.len()));
                *place = &item[unwritten..];
                bytes += place.len() as u64;
                rest = others;
            }
            bytes
        });
        let bytes = bytes.sum();
        Ok(Self { items: found, bytes })
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.items.len() as u64
    }

    /// Writes the items in an order, whose length is theirs.
    pub(super) fn write<W: Word>(
        &self,
        order: &FileOrder,
        budget: Budget,
        output: &mut dyn Pieces,
        watch: &dyn Watch,
    ) -> Result<Summary, FilesError> {
        let order = order.indexes::<W>()?;
        let mean = self.bytes / self.len().max(1);
        let expected = u128::from(self.bytes) * order.len() as u128 / u128::from(self.len().max(1));
        watch.begin(ShufflePass::Place, u64::try_from(expected).ok());
        let most = budget.longest_item();
        let each = (most / (BLOCKS_PER_THREAD * rayon::current_num_threads())).min(BLOCK);
        let mut gatherer = Gatherer {
            items: &self.items,
            order: &order,
            ends: output.ends().to_vec(),
            next: 0,
            block: (each / (mean as usize).max(1)).max(1),
            most,
            spare: Spare::default(),
        };
        // On a thread of the pool: another one would be woken several times a round.
        let bytes = rayon::scope(|_| gatherer.write(output, watch))?;
        let items = order.len() as u64;
        Ok(Summary { items, bytes, buckets: 0, splits: 0, temporary_bytes: 0 })
    }
}

/// Brings items to their places.
struct Gatherer<'h, W> {
    items: &'h [&'h [u8]],
    order: &'h [W],
    /// Where the pieces of the output end.
    ends: Vec<u64>,
    /// The place of the first item that is in no block yet, and how many items a block has.
    next: usize,
    block: usize,
    /// How many bytes the items of a round may have, unless it is a single item.
    most: usize,
    spare: Spare<Vec<u8>>,
}

/// Items that are put in order at a time.
struct ItemBlock {
    places: Range<usize>,
    /// The number of bytes of all of them.
    bytes: usize,
}

impl<W: Word> Gatherer<'_, W> {
    /// The next blocks, of `block` items each, from a place on: as many as may be in memory.
    fn round(&self, next: usize, block: usize) -> Vec<ItemBlock> {
        let blocks = BLOCKS_PER_THREAD * rayon::current_num_threads();
        let sized = |number: usize| {
            let place = |number: usize| (next + number * block).min(self.order.len());
            let places = place(number)..place(number + 1);
            let bytes = self.order[places.clone()].iter().map(|&item| self.item(item).len());
            ItemBlock { places, bytes: bytes.sum() }
        };
        let mut round: Vec<_> = (0..blocks).into_par_iter().map(sized).collect();
        round.retain(|block| !block.places.is_empty());
        let mut sum = 0;
        let fits = round.iter().take_while(|block| {
            sum += block.bytes;
            sum <= self.most
        });
        match fits.count() {
            // Where items are unusually long there are fewer of them in a block.
            0 if block > 1 && !round.is_empty() => self.round(next, block / 2),
            fits => {
                round.truncate(fits.max(1));
                round
            }
        }
    }

    fn item(&self, item: W) -> &[u8] {
        self.items[item.widen() as usize]
    }
}

impl<W: Word> OrderedRounds for Gatherer<'_, W> {
    type Block = ItemBlock;

    fn next(&mut self) -> Result<Vec<ItemBlock>, FilesError> {
        let round = self.round(self.next, self.block);
        self.next = round.last().map_or(self.next, |block| block.places.end);
        Ok(round)
    }

    fn in_order(&self, ItemBlock { places, bytes }: ItemBlock) -> Result<Ordered, FilesError> {
        let mut memory = self.spare.take();
        try_reserve(&mut memory, bytes)?;
        let place = places.start as u64;
        let items = self.order[places].iter().map(|&item| Ok(self.item(item)));
        Ordered::new(items, memory, place, &self.ends, || FilesError::Changed)
    }

    fn spare(&self) -> &Spare<Vec<u8>> {
        &self.spare
    }

    /// What an unusually long block took is not kept.
    fn keeps(&self, bytes: usize) -> bool {
        bytes <= 2 * BLOCK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_fit_memory_or_are_one_item() {
        let long = [7; 1000];
        for lengths in [vec![10; 500], vec![0; 50], vec![900, 1000, 1, 1000, 2, 3, 1000, 0], vec![]]
        {
            let items: Vec<_> = lengths.iter().map(|&length| &long[..length]).collect();
            let order: Vec<u32> = (0..items.len() as u32).rev().collect();
            let (ends, spare) = (vec![items.len() as u64], Spare::default());
            let (items, order) = (items.as_slice(), order.as_slice());
            let gatherer = Gatherer { items, order, ends, next: 0, block: 1, most: 950, spare };
            for block in [1, 3, 1 << 20] {
                let mut next = 0;
                while next < items.len() {
                    let round = gatherer.round(next, block);
                    let bytes: usize = round.iter().map(|block| block.bytes).sum();
                    for ItemBlock { places, bytes } in &round {
                        let own = items.iter().rev().skip(places.start).take(places.len());
                        assert_eq!(
                            (places.start, own.map(|item| item.len()).sum()),
                            (next, *bytes)
                        );
                        next = places.end;
                    }
                    let is_one = matches!(&round[..], [one] if one.places.len() == 1);
                    assert!(!round.is_empty() && (bytes <= 950 || is_one), "{lengths:?} {block}");
                }
                assert!(gatherer.round(next, block).is_empty());
            }
        }
    }
}
