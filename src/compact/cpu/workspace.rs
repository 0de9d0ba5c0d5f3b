//! [`Workspace`]: the engine with working memory that is reused, and with a choice of strategy.
//!
//! Its methods are in `slices.rs` for one slice and in `columns` for several.

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
    is_kept: bool,
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

    /// A workspace for one call.
    pub(crate) fn once() -> Self {
        Self { is_kept: false, ..Self::new() }
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
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
}
