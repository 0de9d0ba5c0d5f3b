//! Which blocks of each bucket have been read and written. `claims_model.rs` checks the order of
//! memory with this same code.

use core::ops::Range;

use super::atomic::{AtomicU32, AtomicUsize, Ordering};
use super::grid::BlockGrid;
use crate::Error;
use crate::engine::check::try_with_capacity;

/// The state of every bucket's blocks, which all threads share.
///
/// A bucket's blocks are divided into a few *shares*, runs of blocks in each of which some threads
/// look first: a core that reads a block fetches more lines around it than it needs, so neighbours
/// had better be one thread's. In each share, blocks are *claimed*, to be written, from the first
/// on. A block that nobody has read by then is read by the thread that claims it, before it writes
/// there. A thread that has nothing to write *takes* an unread block, to read it, from the last on.
pub(super) struct Claims {
    /// The first share of each bucket, then the second of each, and so on.
    shares: Vec<BlockShare>,
    buckets: usize,
}

/// Where a thread looks for blocks.
pub(super) struct Search {
    /// The number of the share of each bucket in which it claims a block if it can.
    home: usize,
    /// The first of all shares in which it looks for an unread block.
    first: usize,
    /// The number of shares in which it has found none, from that one on and around. They will
    /// never have one.
    passed: usize,
}

/// Each has a cache line of its own, since threads claim blocks of different buckets at once.
#[repr(align(64))]
struct BlockShare {
    /// See [`ShareBlocks`].
    blocks: AtomicUsize,
    /// The number of threads that are about to take a block, or have not read one that they have
    /// taken.
    readers: AtomicU32,
    /// The number of its first block in the bucket.
    first: usize,
    /// The number of its blocks that are whole, which are those that can be claimed.
    whole: usize,
}

/// The blocks of a share, in one word: they have to change together. It is a `usize`, since not
/// every machine of 32 bits can change 64 at once.
#[derive(Clone, Copy)]
struct ShareBlocks {
    /// The number of blocks that have been claimed.
    claimed: usize,
    /// The number of blocks that have not been taken.
    untaken: usize,
}

/// The most blocks of a bucket, for which half of a word is enough.
pub(super) const MOST_BLOCKS: usize = ShareBlocks::UNTAKEN - 1;

impl ShareBlocks {
    /// What is added to the word for each block that is claimed, and for each that is not taken.
    const CLAIMED: usize = 1;
    const UNTAKEN: usize = 1 << (usize::BITS / 2);

    fn of(word: usize) -> Self {
        Self { claimed: word % Self::UNTAKEN, untaken: word / Self::UNTAKEN }
    }
}

/// A block that a thread has claimed.
pub(super) struct Claim {
    /// The number of the block's share.
    pub(super) share: usize,
    /// The number of the block in its bucket.
    pub(super) block: usize,
    /// Whether the thread has to read it first.
    pub(super) is_unread: bool,
}

/// A block that a thread has taken: it has to read it, and then to call
/// [`has_read`](Claims::has_read).
pub(super) struct Taken {
    pub(super) bucket: usize,
    /// The number of the block's share.
    pub(super) share: usize,
    /// The number of the block in its bucket.
    pub(super) block: usize,
}

impl Claims {
    /// A grid of which no block has been claimed or taken. Each of its buckets is divided into a
    /// few shares.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(grid: &BlockGrid, shares: usize) -> Result<Self, Error> {
        let buckets = grid.buckets();
        let mut all = try_with_capacity(shares * buckets)?;
        let of_all = (0..shares).flat_map(|share| (0..buckets).map(move |bucket| (share, bucket)));
        all.extend(of_all.map(|(share, bucket)| {
            let [first, end] = [share, share + 1].map(|k| grid.blocks(bucket) * k / shares);
            BlockShare {
                blocks: AtomicUsize::new((end - first) * ShareBlocks::UNTAKEN),
                readers: AtomicU32::new(0),
                first,
                whole: end.min(grid.whole_blocks(bucket)) - first,
            }
        }));
        Ok(Self { shares: all, buckets })
    }

    /// Where one of some threads looks for blocks: each begins elsewhere, so that they do not take
    /// blocks of one share, and wait for each other, until there are few.
    pub(super) fn search(&self, thread: usize, threads: usize) -> Search {
        let first = self.shares.len() * thread / threads;
        Search { home: first / self.buckets.max(1), first, passed: 0 }
    }

    /// Claims a block of a bucket.
    ///
    /// If it is not unread, then a thread has taken it, and [`are_read`](Self::are_read) says when
    /// that thread is done.
    ///
    /// # Panics
    ///
    /// If all whole blocks of the bucket have been claimed.
    #[inline]
    pub(super) fn claim(&self, bucket: usize, search: &Search) -> Claim {
        let of_bucket = (bucket..self.shares.len()).step_by(self.buckets);
        let of_bucket = of_bucket.clone().skip(search.home).chain(of_bucket.take(search.home));
        for number in of_bucket {
            let share = &self.shares[number];
            let claimed = share.blocks.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                (ShareBlocks::of(word).claimed < share.whole).then(|| word + ShareBlocks::CLAIMED)
            });
            if let Ok(word) = claimed {
                let ShareBlocks { claimed, untaken } = ShareBlocks::of(word);
                let block = share.first + claimed;
                return Claim { share: number, block, is_unread: claimed < untaken };
            }
        }
        panic!("a bucket has room for its items");
    }

    /// Takes an unread block; `None` if there is none.
    #[inline]
    pub(super) fn take(&self, search: &mut Search) -> Option<Taken> {
        let count = self.shares.len();
        while search.passed < count {
            let number = (search.first + search.passed) % count;
            let share = &self.shares[number];
            // This comes first, so that a thread that claims the block afterwards sees a reader.
            share.readers.fetch_add(1, Ordering::AcqRel);
            let taken = share.blocks.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                let ShareBlocks { claimed, untaken } = ShareBlocks::of(word);
                (claimed < untaken).then(|| word - ShareBlocks::UNTAKEN)
            });
            if let Ok(word) = taken {
                let block = share.first + ShareBlocks::of(word).untaken - 1;
                return Some(Taken { bucket: number % self.buckets, share: number, block });
            }
            share.readers.fetch_sub(1, Ordering::Release);
            search.passed += 1;
        }
        None
    }

    /// Says that a block that was taken from a share has been read.
    #[inline]
    pub(super) fn has_read(&self, share: usize) {
        self.shares[share].readers.fetch_sub(1, Ordering::Release);
    }

    /// Whether all blocks that have been taken from a share have been read.
    #[inline]
    pub(super) fn are_read(&self, share: usize) -> bool {
        self.shares[share].readers.load(Ordering::Acquire) == 0
    }

    /// The runs of a bucket's blocks that have been claimed.
    pub(super) fn claimed(&self, bucket: usize) -> impl Iterator<Item = Range<usize>> {
        self.shares.iter().skip(bucket).step_by(self.buckets).map(|share| {
            let ShareBlocks { claimed, .. } = ShareBlocks::of(share.blocks.load(Ordering::Acquire));
            share.first..share.first + claimed
        })
    }
}
