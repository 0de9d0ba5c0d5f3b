//! [`Workspace`]: the engine with working memory that is reused, and with a choice of strategy.
//!
//! Its methods are in `slices.rs` for one slice and in `columns` for several.

use core::cell::Cell;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::strategy::Strategy;
use super::{cycles, in_place, partitioned, tuning};
use crate::Error;
use crate::engine::memory::Buffer;

/// The CPU engine with working memory that it keeps from call to call.
///
/// [`Cpu`](super::Cpu) keeps little memory, so it moves many items in place. A workspace uses the
/// faster strategy that takes a second copy of the items: its first call is the slowest of all,
/// since that memory is new, and every later one is faster than in place (by a quarter to a half on
/// the machines that were measured). It pays from the second or third shuffle of millions of items
/// on. The workspace grows to what the largest call so far has needed, and holds that memory until
/// it is dropped.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::VariablePhilox;
/// use bijective_shuffle::prelude::*;
///
/// let mut workspace = Workspace::new();
/// let mut items: Vec<u32> = (0..1000).collect();
/// for epoch in 0..3 {
///     workspace.shuffle(Seed::new(42).with_epoch(epoch), &mut items)?;
/// }
/// // With any bijection:
/// workspace.shuffle(&VariablePhilox::<24>::from_seed(1000, 42), &mut items)?;
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) strategy: Strategy,
    /// Whether the memory serves one call alone.
    pub(super) is_plain: bool,
    /// The direct strategy's copy of the items.
    pub(super) scratch: Buffer,
    pub(super) partition: partitioned::PartitionedBuffers,
    pub(super) in_place: in_place::InPlaceBuffers,
    pub(super) cycles: cycles::CycleBuffers,
    /// Buffers for columns that take more than one record.
    pub(super) more: Vec<partitioned::PartitionedBuffers>,
}

thread_local! {
    /// What [`Workspace::once`] keeps: the direct strategy's copy of the items, and its tiles.
    static SHORT: Cell<[Buffer; 2]> = const { Cell::new([Buffer::new(), Buffer::new()]) };
}

/// What longer calls without a workspace leave to later ones, on whatever thread these are, or
/// null. It is exchanged and not locked: a child that is forked while another thread holds a lock
/// would wait for it for ever.
static LONG: AtomicPtr<Long> = AtomicPtr::new(ptr::null_mut());

struct Long {
    /// The direct strategy's copy of the items, and its tiles.
    scratch: Buffer,
    tiles: Buffer,
    in_place: in_place::InPlaceBuffers,
}

impl Long {
    const fn new() -> Self {
        Self {
            scratch: Buffer::new(),
            tiles: Buffer::new(),
            in_place: in_place::InPlaceBuffers::new(),
        }
    }

    /// As much of it as has at most `most` bytes.
    fn within(self, most: usize) -> Self {
        let in_place = self.in_place.within(most);
        let left = most - in_place.bytes();
        let fits = self.scratch.bytes() + self.tiles.bytes() <= left;
        let (scratch, tiles) = if fits { (self.scratch, self.tiles) } else { Default::default() };
        Self { scratch, tiles, in_place }
    }

    /// Leaves it to later calls. What was there before is freed.
    fn leave(self) {
        drop(Self::exchange(Box::into_raw(Box::new(self))));
    }

    /// Takes what earlier calls have left.
    fn take() -> Option<Self> {
        Self::exchange(ptr::null_mut())
    }

    fn exchange(left: *mut Self) -> Option<Self> {
        let before = LONG.swap(left, Ordering::AcqRel);
        // SAFETY: what is not null is a box that `leave` has made into a pointer, and the exchange
        // has made this call its only owner.
        (!before.is_null()).then(|| *unsafe { Box::from_raw(before) })
    }
}

impl Workspace {
    /// An empty workspace.
    pub const fn new() -> Self {
        Self {
            strategy: Strategy::Auto,
            is_plain: false,
            scratch: Buffer::new(),
            partition: partitioned::PartitionedBuffers::new(),
            in_place: in_place::InPlaceBuffers::new(),
            cycles: cycles::CycleBuffers::new(),
            more: Vec::new(),
        }
    }

    /// A workspace for one call, with the little memory that the thread keeps.
    pub(crate) fn once() -> Once {
        let [scratch, tiles] = SHORT.try_with(Cell::take).unwrap_or_default();
        let mut workspace = Self { is_plain: true, scratch, ..Self::new() };
        workspace.partition.tiles = tiles;
        Once(workspace)
    }

    /// Frees what calls without a workspace have left to later ones: to those of this thread, and
    /// to those of the process.
    pub(crate) fn release() {
        let _ = SHORT.try_with(|short| drop(short.take()));
        drop(Long::take());
    }

    /// Takes over what earlier calls have left, if this workspace is not kept.
    pub(super) fn adopt(&mut self) {
        if !self.is_plain {
            return;
        }
        let Some(Long { scratch, tiles, in_place }) = Long::take() else { return };
        if in_place.bytes() > 0 {
            self.in_place = in_place;
        }
        for (own, left) in [(&mut self.scratch, scratch), (&mut self.partition.tiles, tiles)] {
            if left.bytes() > own.bytes() {
                *own = left;
            }
        }
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
        let more: usize = self.more.iter().map(partitioned::PartitionedBuffers::bytes).sum();
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
        self.partition = partitioned::PartitionedBuffers::new();
        self.in_place = in_place::InPlaceBuffers::new();
        Ok(false)
    }

    /// Returns whether items have been moved along cycles. If not, the memory for that is freed.
    pub(super) fn settle_cycles(&mut self, moved: Result<bool, Error>) -> Result<bool, Error> {
        let moved = moved?;
        if !moved {
            self.cycles = cycles::CycleBuffers::new();
        }
        Ok(moved)
    }
}

/// A workspace that is not kept.
///
/// When it is dropped, it leaves memory to the next such call: a little to this thread, or more to
/// all of the process. An allocator may return half a MiB to the system whenever it is freed, and
/// then a call on 2^16 + 1 items of 8 bytes takes 148 us instead of 83, for the page faults.
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
        let Workspace { scratch, partition, in_place, .. } = &mut self.0;
        let mut buffers = [mem::take(scratch), mem::take(&mut partition.tiles)];
        let is_long = buffers.each_ref().map(|it| it.bytes() > tuning::MOST_SHORT_BYTES);
        if is_long != [false; 2] || in_place.bytes() > 0 {
            let mut long = Long { in_place: mem::take(in_place), ..Long::new() };
            for (k, to) in [&mut long.scratch, &mut long.tiles].into_iter().enumerate() {
                if is_long[k] {
                    *to = mem::take(&mut buffers[k]);
                }
            }
            long.within(tuning::most_kept_bytes(rayon::current_num_threads())).leave();
        }
        // If the thread is about to end, the memory is freed.
        let _ = SHORT.try_with(|short| short.set(buffers));
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicBool;

    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::compact::{Compactor, Cpu};
    use crate::{Bijection, Trusted};

    #[test]
    fn calls_keep_short_buffers_on_their_thread() {
        let kept = || {
            let buffers = SHORT.take();
            let bytes = [&buffers[0], &buffers[1]].map(Buffer::bytes);
            SHORT.set(buffers);
            bytes
        };
        let mut items: Vec<u64> = (0..1000).collect();
        Workspace::once().shuffle(1, &mut items).unwrap();
        let first = kept();
        assert!(first[0] >= 8000 && first[1] == 0, "{first:?}");
        let mut workspace = Workspace::once();
        // Within a call there may be another.
        Workspace::once().shuffle(1, &mut items[..500]).unwrap();
        workspace.unshuffle(1, &mut items[..500]).unwrap();
        workspace.unshuffle(1, &mut items).unwrap();
        drop(workspace);
        assert!(items.into_iter().eq(0..1000));
        assert_eq!(kept(), first);
        let mut workspace = Workspace::once();
        workspace.scratch.room::<u8>(tuning::MOST_SHORT_BYTES + 1).unwrap();
        workspace.partition.tiles.room::<u8>(100).unwrap();
        drop(workspace);
        assert!(kept()[0] == 0 && kept()[1] >= 100, "{:?}", kept());
    }

    /// One test, since what is left is the process's. Other tests may take it meanwhile, so it is
    /// not looked for in later calls, but in this one's own workspaces.
    #[test]
    fn longer_calls_leave_their_memory_within_limits() {
        let of = |scratch: usize, lows: usize, blocks: usize| {
            let mut long = Long::new();
            long.scratch.room::<u8>(scratch).unwrap();
            long.in_place = in_place::InPlaceBuffers::of_sizes(lows, blocks);
            long
        };
        let bytes = |long: Long| {
            let of_scratch = long.scratch.bytes();
            [of_scratch, long.in_place.bytes()].map(|bytes| bytes.div_ceil(1000))
        };
        assert_eq!(bytes(of(100_000, 20_000, 30_000).within(200_000)), [100, 50]);
        // The low bits go first, then all that is in place, then the copy of the items.
        assert_eq!(bytes(of(100_000, 90_000, 30_000).within(60_000)), [0, 30]);
        assert_eq!(bytes(of(100_000, 0, 130_000).within(110_000)), [100, 0]);
        assert_eq!(bytes(of(100_000, 0, 130_000).within(90_000)), [0, 0]);

        let mut first = Workspace::once();
        first.scratch.room::<u8>(tuning::MOST_SHORT_BYTES + 1).unwrap();
        first.in_place = in_place::InPlaceBuffers::of_sizes(1000, 1000);
        first.adopt();
        assert!(first.scratch.bytes() > tuning::MOST_SHORT_BYTES);
        assert!(first.in_place.bytes() >= 2000);
        let mut kept = Workspace::new();
        kept.adopt();
        assert_eq!(kept.bytes(), 0);
    }

    /// Looks, when it is evaluated, whether memory of a certain size is there for other calls.
    struct LooksForMemory {
        bytes: usize,
        is_there: AtomicBool,
    }

    impl Bijection for LooksForMemory {
        fn last(&self) -> u64 {
            (1 << 17) - 1
        }

        fn forward(&self, slot: u64) -> u64 {
            if let Some(long) = Long::take() {
                self.is_there.fetch_or(long.scratch.bytes() == self.bytes, Ordering::Relaxed);
                long.leave();
            }
            slot
        }

        fn inverse(&self, index: u64) -> u64 {
            index
        }

        fn trusted(&self) -> Option<Trusted<'_>> {
            Some(Trusted::new(self))
        }
    }

    // SAFETY: it is the identity, of a last point that never changes.
    unsafe impl crate::TrustedBijection for LooksForMemory {}

    /// Other tests may take what this one has left, so it tries again.
    #[test]
    fn lists_on_two_threads_take_over_no_memory_and_on_three_they_do() {
        let is_there = |threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let bytes = tuning::MOST_SHORT_BYTES + 12_345;
            let f = LooksForMemory { bytes, is_there: AtomicBool::new(false) };
            let mut left = Long::new();
            left.scratch.room::<u8>(bytes).unwrap();
            left.leave();
            let mut indexes = vec![0_u32; 1 << 17];
            pool.install(|| Cpu.write_indexes(&f, &mut indexes)).unwrap();
            f.is_there.into_inner()
        };
        assert!((0..100).any(|_| is_there(2)));
        assert!(!is_there(3));
    }

    /// In a child that is forked while other threads leave and take memory, nothing is locked.
    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri forks no process")]
    fn a_forked_child_leaves_takes_and_releases() {
        use std::thread;

        /// Ends the other threads, also when this one unwinds.
        struct EndThreads<'a>(&'a AtomicBool);
        impl Drop for EndThreads<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }

        unsafe extern "C" {
            fn fork() -> i32;
            fn alarm(seconds: u32) -> u32;
            fn waitpid(child: i32, status: &mut i32, options: i32) -> i32;
            fn _exit(status: i32) -> !;
        }
        let leave = |bytes| {
            let mut workspace = Workspace::once();
            workspace.adopt();
            workspace.scratch.room::<u8>(bytes).unwrap();
        };
        // Rayon starts its pool behind a lock of its own, which a child would find closed.
        rayon::current_num_threads();
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let _done = EndThreads(&is_done);
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        leave(tuning::MOST_SHORT_BYTES + 1);
                    }
                });
            }
            for _ in 0..100 {
                // SAFETY: the child calls what is below alone. It allocates, which the allocator of
                // this system permits in a child.
                let child = unsafe { fork() };
                if child == 0 {
                    // A child that hangs is ended by its alarm, and so exits otherwise.
                    // SAFETY: the function has no conditions.
                    unsafe { alarm(60) };
                    Workspace::release();
                    leave(tuning::MOST_SHORT_BYTES + 2);
                    Workspace::release();
                    // SAFETY: the function has no conditions, and nothing is to be done at exit.
                    unsafe { _exit(7) };
                }
                let mut status = 0;
                // SAFETY: the function writes to the number, which is there.
                assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 7 << 8, "the child has not come to its end");
            }
        });
    }
}
