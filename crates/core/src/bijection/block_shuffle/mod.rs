//! [`BlockShuffle`]: blocks in random order, and items in random order among the blocks of a
//! window.
//!
//! The domain has exactly as many points as there are items. The alternative is to treat all blocks
//! as full and leave the missing items of a short last block to the compaction. But then a window's
//! slots would depend on how many earlier slots were left out, and a loader could not tell where a
//! window begins. Only one block is short, so its place alone determines where all others begin.

#[cfg(test)]
mod tests;

use core::any::TypeId;
use core::ops::Range;

use super::hooks::{Conduct, EngineHooks, Hooked};
use super::{
    Bijection, CycleWalk, FromSeed, GridFeistel, MulXorshift, RandomSign, Standard, Trusted,
    TrustedBijection, VariablePhilox,
};
use crate::error::BijectionError;
use crate::seed::{KeyDomain, Seed};

/// A shuffle for data on disk or in object storage, where reading a block of neighbouring items
/// costs hardly more than reading one of them.
///
/// The `len` items lie in *blocks* of `block` items; the last block may be shorter. The blocks are
/// put in random order. Each `window` consecutive blocks of that order form a *window* (the last
/// may have fewer), and the items of a window are shuffled among each other. A reader that takes
/// the slots in order therefore reads each block once and whole, and holds the items of one window
/// at a time. This is the shuffle of blocks and buffers that training loops use (Xu et al.,
/// *In-database machine learning with CorgiPile*, SIGMOD 2022), but as a bijection: it has random
/// access and an inverse, and can be split among workers and composed like any other.
///
/// The domain has exactly `len` points, even where the last block is short. With blocks of one
/// item, or with one window for all blocks, it is a shuffle of single items like any other.
/// Otherwise it is *not* uniform among all orders; nothing that reads whole blocks can be. What is
/// uniform, and independent of each other, are the assignment of blocks to windows and the order of
/// the items within each window.
///
/// # The key schedule
///
/// The given seed and epoch yield a seed of the same width, 64 or 256 bits: the first words of
/// their key stream for `KeyDomain::Blocks`. `CycleWalk::<F>::from_seed` draws everything else
/// with that seed: at epoch 0 the order of the blocks, on as many points as there are blocks, and
/// at epoch `w + 1` the order within window `w`, on as many points as it has items. The order of
/// the blocks thus depends only on their number and the seed.
///
/// # Costs
///
/// It stores only the key of the blocks' order; windows' keys are drawn on demand. Evaluating a
/// single point draws the key of its window, which takes 0.3 us with the default family. A window
/// of at most [`Standard::EXACT_MAX`] items is drawn as a table, which takes from 0.1 us to a few
/// microseconds. Runs draw fewer keys: `forward_run` one for each window, `inverse_run` one for
/// each block. Runs reach 200 to 600 million items a second (`benches/notes/blocks.md`).
///
/// # What it does not implement
///
/// It is not a [`FromSeed`], because a length and a key do not determine the sizes of blocks and
/// windows, which depend on how the items are stored. It has no [device
/// source](Bijection::device_source), since the device would have to run the key schedule at every
/// point.
///
/// It is [trusted](Bijection::trusted) only where the family is [`Standard`], `MulXorshift<10>`,
/// `GridFeistel<12>`, `VariablePhilox<24>` or the latter with a [`RandomSign`]. Nothing guarantees
/// that any other family draws the same member twice for a length and a seed, so a shuffle over it
/// is checked.
///
/// # Examples
///
/// Reading a file of ten million items in blocks of 4096, with 64 blocks in memory:
///
/// ```
/// use bijective_shuffle::bijection::BlockShuffle;
/// use bijective_shuffle::prelude::*;
///
/// # fn read(items: core::ops::Range<u64>) -> impl Iterator<Item = u64> { items }
/// # let mut first = None;
/// let order = BlockShuffle::new(10_000_000, 4096, 64, Seed::new(42).with_epoch(3))?;
/// for window in order.windows().take(2) {
///     let mut items: Vec<u64> = Vec::new();
///     for block in window.blocks() {
///         items.extend(read(order.items_of(block)));
///     }
///     items.try_par_bijective_shuffle(&window.order())?;
///     // The same, item by item:
///     assert!(window.slots().zip(&items).all(|(slot, &item)| order.forward(slot) == item));
/// #   first.get_or_insert(items);
/// }
/// # assert_eq!(first.unwrap().len(), 64 * 4096);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockShuffle<F = Standard> {
    len: u64,
    block: u64,
    window: u64,
    /// The number of blocks.
    blocks: u64,
    /// The number of items in the last block.
    last_items: u64,
    /// The position at which the last block is read.
    last_position: u64,
    /// Which block is read at a position.
    outer: CycleWalk<F>,
    /// The seed that the windows' keys are drawn from.
    seed: Seed,
}

// The code numbers the items in three ways. An *index* is an item's number in storage, a *place*
// its number when the blocks are read one after another in their new order, and a *slot* its number
// in the final order. A block's number is its number in storage, and its *position* is its number
// in the new order. A window covers the same range of places and of slots.

impl BlockShuffle {
    /// A shuffle of `len` items in blocks of `block` items and windows of `window` blocks, with the
    /// [`Standard`] family.
    ///
    /// `block` may exceed the number of items, and `window` the number of blocks. They then mean
    /// all of them.
    ///
    /// # Errors
    ///
    /// [`BijectionError::EmptyDomain`] if `len` is 0, and [`BijectionError::EmptyBlock`] if `block`
    /// or `window` is.
    pub fn new(
        len: u64,
        block: u64,
        window: u64,
        seed: impl Into<Seed>,
    ) -> Result<Self, BijectionError> {
        Self::try_from_seed(len, block, window, seed)
    }
}

impl<F: FromSeed + Bijection> BlockShuffle<F> {
    /// The same shuffle as [`new`](BlockShuffle::new), with another family.
    ///
    /// # Errors
    ///
    /// Those of [`new`](BlockShuffle::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::{BlockShuffle, GridFeistel};
    /// use bijective_shuffle::prelude::*;
    ///
    /// let order = BlockShuffle::<GridFeistel>::try_from_seed(1_000_000, 1000, 16, 42)?;
    /// assert_eq!(order.last(), 999_999);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn try_from_seed(
        len: u64,
        block: u64,
        window: u64,
        seed: impl Into<Seed>,
    ) -> Result<Self, BijectionError> {
        if len == 0 {
            return Err(BijectionError::EmptyDomain);
        }
        if block == 0 || window == 0 {
            return Err(BijectionError::EmptyBlock { block, window });
        }
        let blocks = len.div_ceil(block);
        let last_items = len - (blocks - 1) * block;
        let seed = seed.into().child(KeyDomain::Blocks);
        let outer = CycleWalk::<F>::from_seed(blocks, seed.with_epoch(0));
        // A wrong family may return any value; the arithmetic on positions needs this one in range.
        let last_position = outer.inverse(blocks - 1).min(blocks - 1);
        Ok(Self { len, block, window, blocks, last_items, last_position, outer, seed })
    }

    /// The windows, in the order of their slots.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::BlockShuffle;
    ///
    /// let order = BlockShuffle::new(1000, 10, 16, 42)?;
    /// assert_eq!(order.windows().count(), 7);
    /// let blocks: u64 = order.windows().map(|window| window.blocks().count() as u64).sum();
    /// assert_eq!(blocks, 100);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn windows(&self) -> impl DoubleEndedIterator<Item = BlockWindow<'_, F>> {
        (0..self.window_count()).map(|number| self.numbered(number))
    }

    /// The window with the given number, counted from 0; `None` if there is no such window.
    pub fn window(&self, number: u64) -> Option<BlockWindow<'_, F>> {
        (number < self.window_count()).then(|| self.numbered(number))
    }

    fn numbered(&self, number: u64) -> BlockWindow<'_, F> {
        let first = number * self.window;
        let positions = first..first + self.window.min(self.blocks - first);
        let slots = self.start(positions.start)..self.start(positions.end);
        BlockWindow { shuffle: self, number, positions, slots }
    }

    /// The window that contains a place or, which is the same, a slot. The last window if there is
    /// none.
    fn around(&self, place: u64) -> BlockWindow<'_, F> {
        self.numbered(self.position(place) / self.window)
    }

    /// The window in which an item is read, and its place.
    fn find(&self, index: u64) -> (BlockWindow<'_, F>, u64) {
        let position = self.outer.inverse(index / self.block).min(self.blocks - 1);
        let place = self.start(position).wrapping_add(index % self.block);
        (self.numbered(position / self.window), place)
    }

    /// Replaces each place with the index of the item that is read there.
    fn read(&self, places: &mut [u64]) {
        for places in places.chunks_mut(TOGETHER) {
            let mut blocks = [0; TOGETHER];
            let blocks = &mut blocks[..places.len()];
            for (place, block) in places.iter_mut().zip(&mut *blocks) {
                *block = self.position(*place);
                *place = place.wrapping_sub(self.start(*block));
            }
            self.outer.forward_each(blocks);
            for (place, block) in places.iter_mut().zip(blocks) {
                *place = place.wrapping_add(block.wrapping_mul(self.block));
            }
        }
    }
}

impl<F> BlockShuffle<F> {
    /// The number of items.
    // The constructors refuse a length of 0.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one item")]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// The number of blocks.
    pub const fn block_count(&self) -> u64 {
        self.blocks
    }

    /// The number of windows.
    pub const fn window_count(&self) -> u64 {
        self.blocks.div_ceil(self.window)
    }

    /// The indexes of a block's items. The range is empty if there is no such block.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::BlockShuffle;
    ///
    /// let order = BlockShuffle::new(25, 10, 2, 42)?;
    /// assert_eq!(order.items_of(1), 10..20);
    /// assert_eq!(order.items_of(2), 20..25);
    /// assert!(order.items_of(3).is_empty());
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn items_of(&self, block: u64) -> Range<u64> {
        let edge = |block: u64| block.saturating_mul(self.block).min(self.len);
        edge(block)..edge(block.saturating_add(1))
    }

    /// The first place of a position; positions up to the number of blocks are allowed.
    fn start(&self, position: u64) -> u64 {
        // All blocks before the position are full, except that the short last block may be among
        // them.
        if position <= self.last_position {
            position * self.block
        } else {
            (position - 1) * self.block + self.last_items
        }
    }

    /// The position of the block that is read at a place.
    fn position(&self, place: u64) -> u64 {
        let last_start = self.last_position * self.block;
        let position = if place < last_start {
            place / self.block
        } else if place - last_start < self.last_items {
            self.last_position
        } else {
            1 + (place - self.last_items) / self.block
        };
        position.min(self.blocks - 1)
    }
}

/// A window of a [`BlockShuffle`]: its blocks, and the slots that their items go to.
#[derive(Clone, Debug)]
pub struct BlockWindow<'a, F = Standard> {
    shuffle: &'a BlockShuffle<F>,
    number: u64,
    positions: Range<u64>,
    slots: Range<u64>,
}

impl<F: FromSeed + Bijection> BlockWindow<'_, F> {
    /// The window's slots: one for each of its items, and at least one.
    pub fn slots(&self) -> Range<u64> {
        self.slots.clone()
    }

    /// The numbers of the window's blocks, in the order in which they should be read.
    /// [`BlockShuffle::items_of`] returns the items of each.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.positions.clone().map(|position| self.shuffle.outer.forward(position))
    }

    /// The order of the items within the window. It maps the window's slots, numbered from 0, to
    /// its items, numbered from 0 in the order in which the blocks are read. Its domain has exactly
    /// as many points as the window has items.
    pub fn order(&self) -> CycleWalk<F> {
        let items = self.slots.end - self.slots.start;
        // There are fewer than 2^64 windows, so the epoch does not overflow.
        CycleWalk::from_seed(items, self.shuffle.seed.with_epoch(self.number + 1))
    }
}

/// How many blocks are looked up at a time: as many points as a family evaluates at once.
const TOGETHER: usize = 256;

/// The cost of a point of a run besides the evaluations, most of it divisions. 200 million points a
/// second were measured (`benches/notes/blocks.md`); the evaluations alone would reach 1.5 billion.
const DIVISIONS_PICOSECONDS: u32 = 4_000;

impl<F: FromSeed + Bijection + 'static> Bijection for BlockShuffle<F> {
    fn last(&self) -> u64 {
        self.len - 1
    }

    fn forward(&self, slot: u64) -> u64 {
        let window = self.around(slot);
        let first = window.slots.start;
        let place = window.order().forward(slot.wrapping_sub(first)).wrapping_add(first);
        let position = self.position(place);
        let block = self.outer.forward(position);
        block.wrapping_mul(self.block).wrapping_add(place.wrapping_sub(self.start(position)))
    }

    fn inverse(&self, index: u64) -> u64 {
        let (window, place) = self.find(index);
        let first = window.slots.start;
        window.order().inverse(place.wrapping_sub(first)).wrapping_add(first)
    }

    /// Draws the key of each window that the run touches, once.
    fn forward_run(&self, first: u64, mut out: &mut [u64]) {
        let mut slot = first;
        while !out.is_empty() {
            let window = self.around(slot);
            let first = window.slots.start;
            let now = take(&mut out, window.slots.end.saturating_sub(slot));
            window.order().forward_run(slot.wrapping_sub(first), now);
            slot = slot.wrapping_add(now.len() as u64);
            now.iter_mut().for_each(|place| *place = place.wrapping_add(first));
            self.read(now);
        }
    }

    /// Draws the key of a window for each block that the run touches.
    fn inverse_run(&self, first: u64, mut out: &mut [u64]) {
        let mut index = first;
        while !out.is_empty() {
            let (window, place) = self.find(index);
            let first = window.slots.start;
            let end = self.items_of(index / self.block).end;
            let now = take(&mut out, end.saturating_sub(index));
            window.order().inverse_run(place.wrapping_sub(first), now);
            index = index.wrapping_add(now.len() as u64);
            now.iter_mut().for_each(|slot| *slot = slot.wrapping_add(first));
        }
    }

    /// Draws a window's key once for each group of adjacent values that lie in it.
    fn forward_each(&self, mut values: &mut [u64]) {
        while let Some(&slot) = values.first() {
            let window = self.around(slot);
            let slots = window.slots();
            let count = values.iter().take_while(|slot| slots.contains(slot)).count();
            let now = take(&mut values, count as u64);
            now.iter_mut().for_each(|slot| *slot = slot.wrapping_sub(slots.start));
            window.order().forward_each(now);
            now.iter_mut().for_each(|place| *place = place.wrapping_add(slots.start));
            self.read(now);
        }
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        let conduct = Conduct { is_panic_free: false, only_computes: true };
        // SAFETY: a shuffle over a steady family is trusted.
        let trusted = || unsafe { Trusted::vouched(self) };
        is_steady::<F>().then(|| trusted().with_conduct(conduct))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl<F: FromSeed + Bijection + 'static> EngineHooks for BlockShuffle<F> {
    fn evaluation_picoseconds(&self) -> u32 {
        let inner = Hooked::evaluation_picoseconds(&self.numbered(0).order());
        let outer = Hooked::evaluation_picoseconds(&self.outer);
        inner.saturating_add(outer).saturating_add(DIVISIONS_PICOSECONDS)
    }
}

/// Splits off up to `count` values, but at least one, so that points outside the domain cannot
/// cause an endless loop.
fn take<'a>(values: &mut &'a mut [u64], count: u64) -> &'a mut [u64] {
    let count = usize::try_from(count).unwrap_or(usize::MAX).clamp(1, values.len());
    let (now, later) = core::mem::take(values).split_at_mut(count);
    *values = later;
    now
}

/// A family that always draws the same member for a length and a seed: a bijection on at least as
/// many points. Only this file implements it.
pub trait Steady: FromSeed + Bijection + 'static {}

// SAFETY: a steady family always draws the same member for a length and a seed. Its walk to the
// length is a bijection on exactly that many points, forward, inverse and in runs. So the outer
// walk permutes the blocks, and each window's walk permutes its items. All sizes and keys are
// computed from private fields that never change. Places number the items block after block in the
// new order: each block takes as many places as it has items, only the last block may be short, and
// a window consists of whole blocks. So places, windows and indexes correspond one to one, and
// `inverse_run` reverses the steps of `forward_run`.
unsafe impl<F: Steady> TrustedBijection for BlockShuffle<F> {}

/// Implements trust for the shuffles over certain families. The check of the family is at run time,
/// since Rust has no specialisation, and by its type's number, so that a program compiles only the
/// families that it uses.
macro_rules! vouch {
    ($($family:ty),*) => {
        $(impl Steady for $family {})*

        fn is_steady<F: 'static>() -> bool {
            [$(TypeId::of::<$family>()),*].contains(&TypeId::of::<F>())
        }
    };
}

vouch!(
    Standard,
    MulXorshift<10>,
    GridFeistel<12>,
    VariablePhilox<24>,
    RandomSign<VariablePhilox<24>>
);
