//! [`BlockShuffle`]: blocks in random order, and items in random order among the blocks of a window.

#[cfg(test)]
mod tests;

use core::any::Any;
use core::ops::Range;

use super::{
    Bijection, CycleWalk, FromSeed, GridFeistel, MulXorshift, RandomSign, Standard, Trusted,
    TrustedBijection, VariablePhilox,
};
use crate::error::{BijectionError, Error};
use crate::seed::{KeyDomain, Seed};

/// A shuffle for data on disks and in object stores, where a block of neighbouring items costs hardly more to read
/// than one of them.
///
/// The `len` items lie in *blocks* of `block` items; the last may be shorter. The blocks are put in random order. Of
/// that order, each `window` consecutive blocks are a *window* (the last may have fewer), and the items of a window
/// are shuffled among each other. So whoever goes through the slots in order reads each block once and whole, and
/// holds the items of one window at a time. It is the shuffle of blocks and buffers that training loops use (Xu et
/// al., *In-database machine learning with CorgiPile*, SIGMOD 2022), but as a bijection: it can be asked for any slot, undone,
/// split among workers and composed like all others.
///
/// The domain has exactly `len` points, also where the last block is short. With blocks of one item, or with one
/// window for all blocks, it is a shuffle of single items like any other. Else it is *not* uniform among all orders, as
/// nothing that reads whole blocks can be: uniform, and independent of each other, are which blocks are in which window
/// and the order of the items within each window.
///
/// # The key schedule
///
/// From the seed and epoch that are given, a seed of the same width, 64 or 256 bits, is drawn: the first words of its
/// key stream for [`KeyDomain::Blocks`]. With it, `CycleWalk::<F>::from_seed` draws all the rest: at epoch 0 the order of the
/// blocks, as many points as there are blocks, and at epoch `w + 1` the order within window `w`, as many points as it
/// has items. So the order of the blocks depends on their number and the seed alone.
///
/// # Costs
///
/// It holds the key of the blocks' order and nothing else. Evaluating a single point draws the key of its window, 0.3 us with the default family; a window of
/// at most [`Standard::EXACT_MAX`] items is drawn as a table, which takes from 0.1 us to some microseconds. Runs draw less: forward the
/// key of each window once, backward once a block, and 200 to 600 million items a second (`docs/results/blocks.md`).
///
/// It is not a [`FromSeed`]: a length and a key do not tell the sizes of block and window, which depend on where the items lie. Nor has it a
/// [device source](Bijection::device_source), since the device would have to draw the window's key at every point.
/// It is [trusted](Bijection::trusted) where the family is [`Standard`], `MulXorshift<10>`, `GridFeistel<12>`,
/// `VariablePhilox<24>` or the latter with a [`RandomSign`]. Any other family may draw another member at every call, and is checked.
///
/// # Examples
///
/// Reading a file of ten million items in blocks of 4096, with 64 blocks in memory:
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// # fn read(items: core::ops::Range<u64>) -> impl Iterator<Item = u64> { items }
/// # let mut first = None;
/// let order = BlockShuffle::new(10_000_000, 4096, 64, Seed::new(42).epoch(3))?;
/// for window in order.windows().take(2) {
///     let mut items: Vec<u64> = Vec::new();
///     for block in window.blocks() {
///         items.extend(read(order.items_of(block)));
///     }
///     items.par_bijective_shuffle_with(&window.order())?;
///     // The same, item by item:
///     assert!(window.slots().zip(&items).all(|(slot, &item)| order.forward(slot) == item));
/// #   first.get_or_insert(items);
/// }
/// # assert_eq!(first.unwrap().len(), 64 * 4096);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockShuffle<F = Standard> {
    len: u64,
    block: u64,
    window: u64,
    /// The number of blocks.
    blocks: u64,
    /// How many items the last block has.
    last_items: u64,
    /// The position at which the last block is read.
    last_position: u64,
    /// Which block is read at a position.
    outer: CycleWalk<F>,
    /// The seed that the windows' keys are drawn from.
    seed: Seed,
}

// Three numberings of the items: an *index* is an item's number where it lies, a *place* its number when the blocks are
// read one after another in their new order, and a *slot* its number in the end. Blocks have a number where they
// lie, and a *position* in their new order. A window has the same places as slots.

impl BlockShuffle {
    /// The shuffle of `len` items in blocks of `block` items and windows of `window` blocks, by the [`Standard`]
    /// family.
    ///
    /// A block may have more items than there are, and a window more blocks; they are then as good as all.
    ///
    /// # Errors
    ///
    /// [`BijectionError::EmptyDomain`](crate::BijectionError::EmptyDomain) if `len` is 0, and [`BijectionError::EmptyBlock`](crate::BijectionError::EmptyBlock) if `block` or `window` is.
    pub fn new(len: u64, block: u64, window: u64, seed: impl Into<Seed>) -> Result<Self, Error> {
        Self::with_family(len, block, window, seed)
    }
}

impl<F: FromSeed + Bijection> BlockShuffle<F> {
    /// The same as [`new`](BlockShuffle::new), by another family.
    ///
    /// # Errors
    ///
    /// As [`new`](BlockShuffle::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let order = BlockShuffle::<GridFeistel>::with_family(1_000_000, 1000, 16, 42)?;
    /// assert_eq!(order.last(), 999_999);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_family(
        len: u64,
        block: u64,
        window: u64,
        seed: impl Into<Seed>,
    ) -> Result<Self, Error> {
        if len == 0 {
            return Err(Error::Bijection(BijectionError::EmptyDomain));
        }
        if block == 0 || window == 0 {
            return Err(Error::Bijection(BijectionError::EmptyBlock { block, window }));
        }
        let blocks = len.div_ceil(block);
        let last_items = len - (blocks - 1) * block;
        let seed = seed.into().child(KeyDomain::Blocks);
        let outer = CycleWalk::<F>::from_seed(blocks, seed.epoch(0));
        // A family that lies may answer anything; the arithmetic on positions relies on this one.
        let last_position = outer.inverse(blocks - 1).min(blocks - 1);
        Ok(Self { len, block, window, blocks, last_items, last_position, outer, seed })
    }

    /// The windows in the order of their slots.
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

    /// The window with a number, from 0 on; `None` if there are fewer.
    pub fn window(&self, number: u64) -> Option<BlockWindow<'_, F>> {
        (number < self.window_count()).then(|| self.numbered(number))
    }

    /// The window that a slot lies in; `None` if the slot is not below the length.
    pub fn window_of(&self, slot: u64) -> Option<BlockWindow<'_, F>> {
        (slot < self.len).then(|| self.around(slot))
    }

    fn numbered(&self, number: u64) -> BlockWindow<'_, F> {
        let first = number * self.window;
        let positions = first..first + self.window.min(self.blocks - first);
        let slots = self.start(positions.start)..self.start(positions.end);
        BlockWindow { shuffle: self, number, positions, slots }
    }

    /// The window of a place, or of a slot, which is the same; the last one's if there is none.
    fn around(&self, place: u64) -> BlockWindow<'_, F> {
        self.numbered(self.position(place) / self.window)
    }

    /// The window in which an item is read, and the place at which it is.
    fn find(&self, index: u64) -> (BlockWindow<'_, F>, u64) {
        let position = self.outer.inverse(index / self.block).min(self.blocks - 1);
        let place = self.start(position).wrapping_add(index % self.block);
        (self.numbered(position / self.window), place)
    }

    /// Replaces places by the indexes of the items that are read there.
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
    /// How many items there are.
    // A shuffle of no items cannot be made.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one item")]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// How many items a block has, but for the last.
    pub const fn block(&self) -> u64 {
        self.block
    }

    /// How many blocks there are.
    pub const fn block_count(&self) -> u64 {
        self.blocks
    }

    /// How many windows there are.
    pub const fn window_count(&self) -> u64 {
        self.blocks.div_ceil(self.window)
    }

    /// The indexes of a block's items; none if there is no such block.
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

    /// The first place of a position, up to the number of blocks.
    fn start(&self, position: u64) -> u64 {
        // All the blocks before it are of the full size, except that the last block may be among them.
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

/// A window of a [`BlockShuffle`]: some blocks, and the slots that their items come to.
#[derive(Clone, Debug)]
pub struct BlockWindow<'a, F = Standard> {
    shuffle: &'a BlockShuffle<F>,
    number: u64,
    positions: Range<u64>,
    slots: Range<u64>,
}

impl<F: FromSeed + Bijection> BlockWindow<'_, F> {
    /// The window's number, from 0 on.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The slots: as many as the window has items, and at least one.
    pub fn slots(&self) -> Range<u64> {
        self.slots.clone()
    }

    /// The numbers of the blocks, in the order in which they are to be read. [`BlockShuffle::items_of`] says which
    /// items each has.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.positions.clone().map(|position| self.shuffle.outer.forward(position))
    }

    /// The order of the items within the window: which of the items, numbered from 0 in the order in which the blocks
    /// are read, comes to which of its slots, numbered from 0. Its domain is exactly as large.
    pub fn order(&self) -> CycleWalk<F> {
        let items = self.slots.end - self.slots.start;
        // There are fewer than 2^64 windows, so the epoch does not overflow.
        CycleWalk::from_seed(items, self.shuffle.seed.epoch(self.number + 1))
    }
}

/// How many blocks are looked up at a time: as many as a family evaluates at once.
const TOGETHER: usize = 256;

/// What a point of a run costs beside the evaluations, most of it divisions: 200 million points a second were measured
/// (`docs/results/blocks.md`), of which the evaluations alone would make 1.5 thousand million.
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

    /// Draws the key of each window that the run touches once.
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

    /// Draws the key of a window once for each block that the run touches.
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

    /// Draws the key of a window once for values next to each other that lie in it.
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

    fn evaluation_picoseconds(&self) -> u32 {
        let inner = self.numbered(0).order().evaluation_picoseconds();
        let outer = self.outer.evaluation_picoseconds();
        inner.saturating_add(outer).saturating_add(DIVISIONS_PICOSECONDS)
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        trusted_form(self)
    }
}

/// Cuts off up to `count` values, but at least one: points outside of the domain must not make for an endless loop.
fn take<'a>(values: &mut &'a mut [u64], count: u64) -> &'a mut [u64] {
    let count = usize::try_from(count).unwrap_or(usize::MAX).clamp(1, values.len());
    let (now, later) = core::mem::take(values).split_at_mut(count);
    *values = later;
    now
}

/// Vouches for the shuffles over certain families, and finds out whether a shuffle is one of them.
macro_rules! vouch {
    ($($family:ty),*) => {
        $(
            // SAFETY: such a family draws, for a length and a seed, always the same member, a bijection on at least as
            // many points; its walk to the length is one on exactly so many, forward, backward and in runs. So the
            // blocks are permuted, and within each window its items. All sizes and keys are worked out from private fields that never change.
            // Places are numbered block after block in their new order, each block with as many as it has
            // items, where only the last one may have fewer, and a window has whole blocks; so places, windows and
            // indexes correspond one to one, and `inverse_run` goes the steps of `forward_run` backwards.
            unsafe impl TrustedBijection for BlockShuffle<$family> {}
        )*

        fn trusted_form(shuffle: &dyn Any) -> Option<Trusted<'_>> {
            $(
                if let Some(own) = shuffle.downcast_ref::<BlockShuffle<$family>>() {
                    return Some(Trusted::new(own));
                }
            )*
            None
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
