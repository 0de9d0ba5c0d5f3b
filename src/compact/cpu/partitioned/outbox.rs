//! Items in buckets that travel: a rank sorts its items as the strategy's first half does, and
//! another puts what it has been sent in order, in a [mailbox](super::mailbox), as the second half
//! does.
//!
//! Each bucket's blocks have two more after the full ones: one for the items that do not fill a
//! block, and one that tells how many items there are. So a run of buckets is a run of memory that
//! can be sent as it is. Each thread sorts into a part of its own, and every part has such a run.

use core::marker::PhantomData;

use rayon::prelude::*;

use super::PartitionedBuffers;
use super::block::{Block, SPARE, ThreadBuckets};
use super::shape::{Low, OutboxShape, buckets_of, capacity, fits};
use super::sort::{BucketKey, Partition};
use crate::compact::cpu::buckets::BucketDivision;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::{Buffer, SharedPtr};
use crate::engine::stream::Publish;
use crate::{Error, Trusted};

/// A rank's items in buckets.
pub(crate) struct Outbox<'a, T> {
    pub(super) buckets: BucketDivision,
    stride: usize,
    pub(super) parts: Vec<&'a [Block]>,
    counts: Vec<u64>,
    pub(super) rest: Rest<'a>,
    items: PhantomData<fn(T)>,
}

/// The memory that is not in use before buckets arrive.
pub(super) struct Rest<'a> {
    /// For the buckets of other ranks.
    pub(super) received: &'a mut Buffer,
    /// For one bucket's items in order, for each thread.
    pub(super) stages: &'a mut Buffer,
    /// For the taken slots of one bucket, for each thread.
    pub(super) taken: &'a mut Buffer,
}

/// Sorts copies of a rank's items into buckets of the points up to `last`. What other ranks send is
/// to come to `received`. `None` if a bucket overflows, as it may if the bijection is nothing like
/// random.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
///
/// # Panics
///
/// If there are too many buckets, or the items do not fit blocks, or there are not as many as
/// the key tells.
pub(in crate::compact::cpu) fn sort_to_send<'a, T: Copy + Send + Sync>(
    partition: &'a mut PartitionedBuffers,
    received: &'a mut Buffer,
    f: &Trusted,
    key: BucketKey,
    last: u64,
    items: &[T],
) -> Result<Option<Outbox<'a, T>>, Error> {
    let buckets = buckets_of(last).expect("few buckets");
    assert!(fits::<T>());
    let capacity = capacity::<T>(items.len(), last, buckets);
    let stride = capacity.blocks + SPARE;
    let (source, len) = (SharedPtr::new(items.as_ptr().cast_mut()), items.len());
    let PartitionedBuffers { open, full, tiles, stages, taken, .. } = partition;
    // SAFETY: there are `len` items, and they are borrowed, so nobody writes to them. The source is
    // only read.
    let sorted = unsafe { Partition::sort(&capacity, f, key, &source, len, [open, full], tiles) }?;
    let Some(sorted) = sorted else { return Ok(None) };
    let mut counts = try_with_capacity(buckets.count)?;
    counts.extend((0..buckets.count).map(|bucket| sorted.count(bucket) as u64));
    let parts = sorted.parts.into_par_iter().with_max_len(1).map(seal).collect();
    let rest = Rest { received, stages, taken };
    Ok(Some(Outbox { buckets, stride, parts, counts, rest, items: PhantomData }))
}

/// Seals a part, so that other threads see all of it.
fn seal<'a, T>(part: ThreadBuckets<'a, T, Low>) -> &'a [Block] {
    let _publish = Publish;
    part.seal()
}

impl<T> Outbox<'_, T> {
    /// The number of items in each bucket.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of parts, and the blocks of a bucket in each.
    pub(crate) fn shape(&self) -> OutboxShape {
        OutboxShape { parts: self.parts.len(), stride: self.stride }
    }
}
