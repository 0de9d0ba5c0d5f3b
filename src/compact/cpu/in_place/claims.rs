//! Which blocks of each bucket have been read and written. `claims_model.rs` checks the order of
//! memory with this same code.

use super::atomic::{AtomicU32, AtomicUsize, Ordering};
use super::grid::Grid;
use crate::base::check::try_with_capacity;
use crate::base::stream::prefetch_lines_to_write;
use crate::error::Error;

/// The state of every bucket's blocks, which all threads share.
///
/// A bucket's blocks are *claimed*, to be written, from the first on. A block that nobody has read
/// by then is read by the thread that claims it, before it writes there. A thread that has nothing
/// to write *takes* an unread block, to read it, from the last on; see [`Search`].
pub(super) struct Claims {
    buckets: Vec<Bucket>,
}

/// Where a thread looks for unread blocks. In a bucket that had none, there will never be one.
pub(super) struct Search {
    /// The first bucket that it looks at.
    first: usize,
    /// The number of buckets in which it has found none, from that one on and around.
    passed: usize,
}

/// Each has a cache line of its own, since threads claim blocks of different buckets at once.
#[repr(align(64))]
struct Bucket {
    /// See [`Blocks`].
    blocks: AtomicUsize,
    /// The number of threads that are about to take a block, or have not read one that they have
    /// taken.
    readers: AtomicU32,
}

/// The blocks of a bucket, in one word: they have to change together. It is a `usize`, since not
/// every machine of 32 bits can change 64 at once.
#[derive(Clone, Copy)]
struct Blocks {
    /// The number of blocks that have been claimed.
    claimed: usize,
    /// The number of blocks that have not been taken.
    untaken: usize,
}

/// The most blocks of a bucket, for which half of a word is enough.
pub(super) const MOST_BLOCKS: usize = Blocks::UNTAKEN - 1;

impl Blocks {
    /// What is added to the word for each block that is claimed, and for each that is not taken.
    const CLAIMED: usize = 1;
    const UNTAKEN: usize = 1 << (usize::BITS / 2);

    fn of(word: usize) -> Self {
        Self { claimed: word % Self::UNTAKEN, untaken: word / Self::UNTAKEN }
    }
}

/// A block that a thread has claimed.
pub(super) struct Claim {
    /// Its number in the bucket.
    pub(super) block: usize,
    /// Whether the thread has to read it first.
    pub(super) is_unread: bool,
}

impl Claims {
    /// Nothing has been claimed or taken.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(grid: &Grid) -> Result<Self, Error> {
        let mut buckets = try_with_capacity(grid.buckets())?;
        buckets.extend((0..grid.buckets()).map(|bucket| Bucket {
            blocks: AtomicUsize::new(grid.blocks(bucket) * Blocks::UNTAKEN),
            readers: AtomicU32::new(0),
        }));
        Ok(Self { buckets })
    }

    /// Where one of some threads looks for unread blocks: each begins elsewhere, so that they do
    /// not take blocks of one bucket, and wait for each other, until there are few.
    pub(super) fn search(&self, thread: usize, threads: usize) -> Search {
        Search { first: self.buckets.len() * thread / threads, passed: 0 }
    }

    /// Says that this thread will soon claim a block of a bucket, which another core may have
    /// touched last.
    #[inline]
    pub(super) fn expect(&self, bucket: usize) {
        prefetch_lines_to_write(core::ptr::from_ref(&self.buckets[bucket]).cast(), 1);
    }

    /// Claims the next block of a bucket.
    ///
    /// If it is not unread, then another thread has taken it, and [`are_read`](Self::are_read) says
    /// when that thread is done.
    #[inline]
    pub(super) fn claim(&self, bucket: usize) -> Claim {
        let word = self.buckets[bucket].blocks.fetch_add(Blocks::CLAIMED, Ordering::AcqRel);
        let Blocks { claimed, untaken } = Blocks::of(word);
        Claim { block: claimed, is_unread: claimed < untaken }
    }

    /// Takes an unread block, and returns its bucket and its number there; `None` if there is none.
    /// The thread has to read it, and then to call [`has_read`](Self::has_read).
    #[inline]
    pub(super) fn take(&self, search: &mut Search) -> Option<(usize, usize)> {
        let count = self.buckets.len();
        while search.passed < count {
            let number = (search.first + search.passed) % count;
            let bucket = &self.buckets[number];
            // This comes first, so that a thread that claims the block afterwards sees a reader.
            bucket.readers.fetch_add(1, Ordering::AcqRel);
            let taken = bucket.blocks.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                let Blocks { claimed, untaken } = Blocks::of(word);
                (claimed < untaken).then(|| word - Blocks::UNTAKEN)
            });
            if let Ok(word) = taken {
                return Some((number, Blocks::of(word).untaken - 1));
            }
            bucket.readers.fetch_sub(1, Ordering::Release);
            search.passed += 1;
        }
        None
    }

    /// Says that a block that was taken from the bucket has been read.
    #[inline]
    pub(super) fn has_read(&self, bucket: usize) {
        self.buckets[bucket].readers.fetch_sub(1, Ordering::Release);
    }

    /// Whether all blocks that have been taken from the bucket have been read.
    #[inline]
    pub(super) fn are_read(&self, bucket: usize) -> bool {
        self.buckets[bucket].readers.load(Ordering::Acquire) == 0
    }

    /// The number of blocks of a bucket that have been claimed.
    pub(super) fn claimed(&self, bucket: usize) -> usize {
        Blocks::of(self.buckets[bucket].blocks.load(Ordering::Acquire)).claimed
    }
}
