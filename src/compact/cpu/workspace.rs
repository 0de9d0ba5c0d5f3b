//! [`Workspace`]: the engine with working memory that is reused, and with a choice of strategy.
//!
//! Its methods are in `slices.rs` for one slice and in `columns` for several.

use core::cell::Cell;
use core::ops::{Deref, DerefMut};

use super::cycles;
use super::in_place;
use super::partitioned;
use super::strategy::Strategy;
use super::tuning;
use crate::base::memory::Buffer;
use crate::error::Error;

/// The CPU engine with working memory that it keeps from call to call.
///
/// [`Cpu`](super::Cpu) allocates its working memory anew for every call. So it moves many items in
/// place, with little memory. A workspace uses the faster strategy that takes a second copy of the
/// items: its first call is the slowest of all, since that memory is new, and every later one is
/// faster than in place (by a fifth on one machine that was measured, and by half and more on
/// another). It pays from the second or third shuffle of millions of items on. The workspace grows
/// to what the largest call so far has needed, and holds that memory until it is dropped.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let mut workspace = Workspace::new();
/// let mut items: Vec<u32> = (0..1000).collect();
/// for epoch in 0..3 {
///     workspace.shuffle_by_seed(Seed::new(42).epoch(epoch), &mut items)?;
/// }
/// // With any bijection:
/// workspace.shuffle(&VariablePhilox::<24>::from_seed(1000, 42), &mut items)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    pub(super) strategy: Strategy,
    /// Whether the memory will perhaps serve another call.
    pub(super) is_kept: bool,
    /// [`tuning::MOST_BUCKETS`], or in tests a smaller number, which makes the buckets larger.
    pub(super) most_buckets: u64,
    /// The direct strategy's copy of the items.
    pub(super) scratch: Buffer,
    pub(super) partition: partitioned::Buffers,
    pub(super) in_place: in_place::Buffers,
    pub(super) cycles: cycles::Buffers,
    /// Buffers for columns that take more than one record.
    pub(super) more: Vec<partitioned::Buffers>,
}

thread_local! {
    /// What [`Workspace::once`] keeps: the direct strategy's copy of the items, and its tiles.
    static SHORT: Cell<[Buffer; 2]> = const { Cell::new([Buffer::new(), Buffer::new()]) };
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// An empty workspace.
    pub const fn new() -> Self {
        Self {
            strategy: Strategy::Auto,
            is_kept: true,
            most_buckets: tuning::MOST_BUCKETS,
            scratch: Buffer::new(),
            partition: partitioned::Buffers::new(),
            in_place: in_place::Buffers::new(),
            cycles: cycles::Buffers::new(),
            more: Vec::new(),
        }
    }

    /// A workspace for one call, with the little memory that the thread keeps.
    pub(crate) fn once() -> Once {
        let [scratch, tiles] = SHORT.try_with(Cell::take).unwrap_or_default();
        let mut workspace = Self { is_kept: false, scratch, ..Self::new() };
        workspace.partition.tiles = tiles;
        Once(workspace)
    }

    /// The same workspace with another strategy.
    #[must_use]
    pub const fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The strategy of this workspace.
    pub const fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The bytes of working memory that it holds.
    pub fn bytes(&self) -> usize {
        let more: usize = self.more.iter().map(partitioned::Buffers::bytes).sum();
        let moves = self.in_place.bytes() + self.cycles.bytes();
        self.scratch.bytes() + self.partition.bytes() + moves + more
    }

    /// Decides what to do after an attempt of a strategy. Returns whether it has moved the items.
    /// If not, another is to move them, and the memory of the attempt is freed for it.
    pub(super) fn settle(&mut self, placed: Result<bool, Error>) -> Result<bool, Error> {
        match placed {
            Ok(true) => return Ok(true),
            Err(error) if !self.strategy.forgoes_memory() => return Err(error),
            Ok(false) | Err(_) => {}
        }
        self.partition = partitioned::Buffers::new();
        self.in_place = in_place::Buffers::new();
        Ok(false)
    }

    /// Returns whether items have been moved along cycles. If not, the memory for that is freed.
    pub(super) fn settle_cycles(&mut self, moved: Result<bool, Error>) -> Result<bool, Error> {
        let moved = moved?;
        if !moved {
            self.cycles = cycles::Buffers::new();
        }
        Ok(moved)
    }
}

/// A workspace that is not kept.
///
/// When it is dropped, it leaves little memory to the thread, for the next such call. An allocator
/// may return half a MiB to the system whenever it is freed, and then a call on 2^16 + 1 items of 8
/// bytes takes 148 us instead of 83, for the page faults.
pub(crate) struct Once(Workspace);

impl Deref for Once {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.0
    }
}

impl DerefMut for Once {
    fn deref_mut(&mut self) -> &mut Workspace {
        &mut self.0
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        let Workspace { scratch, partition, .. } = &mut self.0;
        let buffers = [scratch, &mut partition.tiles].map(|buffer| {
            let is_short = buffer.bytes() <= tuning::MOST_SHORT_BYTES;
            if is_short { core::mem::take(buffer) } else { Buffer::new() }
        });
        // If the thread is about to end, the memory is freed.
        let _ = SHORT.try_with(|short| short.set(buffers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_keep_short_buffers_and_no_others() {
        let kept = || {
            let buffers = SHORT.take();
            let bytes = [&buffers[0], &buffers[1]].map(Buffer::bytes);
            SHORT.set(buffers);
            bytes
        };
        let mut items: Vec<u64> = (0..1000).collect();
        Workspace::once().shuffle_by_seed(1, &mut items).unwrap();
        let first = kept();
        assert!(first[0] >= 8000 && first[1] == 0, "{first:?}");
        let mut workspace = Workspace::once();
        // Within a call there may be another.
        Workspace::once().shuffle_by_seed(1, &mut items[..500]).unwrap();
        workspace.unshuffle_by_seed(1, &mut items[..500]).unwrap();
        workspace.unshuffle_by_seed(1, &mut items).unwrap();
        drop(workspace);
        assert!(items.into_iter().eq(0..1000));
        assert_eq!(kept(), first);
        let mut workspace = Workspace::once();
        workspace.scratch.room::<u8>(tuning::MOST_SHORT_BYTES).unwrap();
        workspace.partition.tiles.room::<u8>(100).unwrap();
        drop(workspace);
        assert!(kept()[0] == 0 && kept()[1] >= 100, "{:?}", kept());
    }
}
