//! [`Delivery`]: buckets of items on their way to other ranks, chunk after chunk.
//!
//! What is in use while messages are on their way is borrowed apart from what is not. A
//! [`DividedMailbox`] divides a rank's mailbox: the transport has the blocks that are sent, to
//! read, and the room for the chunk that comes, to write; and [`Arrived::place`] has the blocks
//! that are sent, to read, the chunk that came before, to read, and the places of the array, to
//! write.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Range;

use super::division::Division;
use super::plan::check;
use crate::Error;
use crate::compact::{
    Arrivals, BLOCK_BYTES, Block, DividedMailbox, Mailbox, Outbox, OutboxShape, chunk_of,
    most_items, others,
};
use crate::engine::check::try_with_capacity;
use crate::error::ExchangeError;

/// How a rank's buckets lie in memory, as the other ranks have to know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BucketShape {
    /// The number of parts: one for each thread that sorted the rank's items. 0 if they are not
    /// sorted into buckets.
    pub parts: u64,
    /// The room that each bucket has in each part, in blocks of [`Blocks::BLOCK_BYTES`] bytes.
    pub blocks: u64,
}

/// A rank's items in buckets, as [`TaggedExchange::sort`](super::TaggedExchange::sort) leaves them.
pub struct Sorted<'s, T> {
    outbox: Outbox<'s, T>,
    to: &'s Division,
    rank: usize,
}

impl<'s, T: Copy + Send + Sync> Sorted<'s, T> {
    pub(super) fn new(outbox: Outbox<'s, T>, to: &'s Division, rank: usize) -> Self {
        Self { outbox, to, rank }
    }

    /// The number of this rank's items in each bucket. All ranks sort into the same buckets, and
    /// each receives those that hold its places.
    pub fn counts(&self) -> &[u64] {
        self.outbox.counts()
    }

    /// How the buckets lie in memory, for the other ranks.
    pub fn shape(&self) -> BucketShape {
        let OutboxShape { parts, stride } = self.outbox.shape();
        BucketShape { parts: parts as u64, blocks: stride as u64 }
    }

    /// Makes room for what the other ranks send, and finds out what goes to whom. It needs the sums
    /// of all ranks' [`counts`](Self::counts), and all ranks' [`shape`](Self::shape)s. Shapes that
    /// are not those of the ranks break the promise that [`Arrived::place`] asks for.
    ///
    /// Buckets come in `chunks` chunks: all ranks must say the same number, such as that of
    /// [`TaggedExchange::chunks`](super::TaggedExchange::chunks). There is one at least, and no
    /// more than the most buckets that any rank receives.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::ItemsMismatch`] if the sums are not those of as many items as there are, or
    /// no rank's buckets lie in such a shape; and [`Error::OutOfMemory`].
    pub fn deliver(
        self,
        totals: &[u64],
        shapes: &[BucketShape],
        chunks: usize,
    ) -> Result<Delivery<'s, T>, Error> {
        let Self { outbox, to, rank } = self;
        let differ = || Error::Exchange(ExchangeError::ItemsMismatch);
        if totals.len() != outbox.counts().len() || shapes.len() != to.ranks() {
            return Err(differ());
        }
        let most = totals.iter().max().map_or(Some(0), |&most| usize::try_from(most).ok());
        let most = most.filter(|&most| most <= most_items()).ok_or_else(differ)?;
        // The first place of each bucket, and the number of all places.
        let mut starts = try_with_capacity(totals.len() + 1)?;
        let mut sum = 0_u64;
        starts.push(0);
        for &total in totals {
            sum = sum.checked_add(total).ok_or_else(differ)?;
            starts.push(sum);
        }
        if sum != to.len() {
            return Err(differ());
        }
        let mut runs = try_with_capacity(to.ranks())?;
        runs.extend((0..to.ranks()).map(|rank| buckets_of(&starts, to.places(rank))));
        let mut all = try_with_capacity(shapes.len())?;
        for &BucketShape { parts, blocks } in shapes {
            let [parts, stride] = [parts, blocks].map(usize::try_from);
            let (Ok(parts), Ok(stride)) = (parts, stride) else { return Err(differ()) };
            all.push(OutboxShape { parts, stride });
        }
        if all[rank] != outbox.shape() || !all.iter().all(|shape| shape.has_spare()) {
            return Err(differ());
        }
        let chunks = chunks.min(runs.iter().map(Range::len).max().unwrap_or(0)).max(1);
        let at_once = runs[rank].len().div_ceil(chunks);
        let mailbox = outbox.exchange(all, rank, chunks, at_once, most)?;
        Ok(Delivery { mailbox, starts, runs, chunks, rank, places: to.places(rank) })
    }
}

/// The buckets with the items of some places, where bucket `b` has those from `starts[b]` on.
fn buckets_of(starts: &[u64], places: Range<u64>) -> Range<usize> {
    if places.is_empty() {
        return 0..0;
    }
    // Among empty buckets that begin at a place, the last one has its item.
    let bucket = |place| starts.partition_point(|&start| start <= place) - 1;
    bucket(places.start)..bucket(places.end - 1) + 1
}

impl<T> fmt::Debug for Sorted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorted").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// A rank's buckets, and room for those of the other ranks.
///
/// The buckets that a rank receives come in chunks, and it needs room for two: while one is on its
/// way, the one before it is placed. Of `n` buckets, chunk `c` of `k` has those from `c n / k` to
/// `(c + 1) n / k`, rounded down. All ranks have the same number of chunks, though the number of
/// buckets that they receive differs.
///
/// [`TaggedExchange`](super::TaggedExchange) has an example.
pub struct Delivery<'s, T> {
    mailbox: Mailbox<'s, T>,
    /// The first place of each bucket, and the number of all places.
    starts: Vec<u64>,
    /// The buckets that each rank gets. Where a bucket has items of several ranks, each gets it.
    runs: Vec<Range<usize>>,
    chunks: usize,
    rank: usize,
    /// The places that this rank holds after the exchange.
    places: Range<u64>,
}

impl<T: Copy + Send + Sync> Delivery<'_, T> {
    /// The number of steps: one more than the number of chunks.
    pub fn steps(&self) -> usize {
        self.chunks + 1
    }

    /// What a rank does in a step: it exchanges the messages of the chunk with that number, and
    /// places what [arrived](Arrived) in the step before. The two use different memory, so a rank
    /// may do both at the same time. The first step places nothing, and the last one sends nothing.
    ///
    /// All ranks take all steps, in order. They need not take a step at the same time: each waits
    /// for its messages only.
    ///
    /// # Panics
    ///
    /// If there are not as many steps.
    pub fn step(&mut self, step: usize) -> (Blocks<'_>, Arrived<'_, T>) {
        let Self { ref mut mailbox, ref starts, ref runs, chunks, rank, ref places } = *self;
        assert!(step <= chunks, "there are {} steps", chunks + 1);
        let DividedMailbox { parts, shapes, room, arrivals } = mailbox.step(step);
        let before = match step.checked_sub(1) {
            Some(before) => chunk_of(&runs[rank], before, chunks),
            None => 0..0,
        };
        let blocks = Blocks { chunk: step, chunks, rank, runs, shapes, parts, room };
        (blocks, Arrived { arrivals, chunk: before, starts, places: places.clone() })
    }
}

impl<T> fmt::Debug for Delivery<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("rank", &self.rank)
            .field("buckets", &self.runs)
            .field("chunks", &self.chunks)
            .finish_non_exhaustive()
    }
}

/// What a rank sends and receives in one [`step`](Delivery::step): one message from each part of
/// each other rank, with that rank's items for this one. A part is what one thread sorted.
///
/// What one rank sends, another receives: a message of the same part and of as many bytes, in the
/// same step. Messages without any are left out on both sides, and none goes from a rank to itself.
/// Both sides have the messages from one rank to another in the order of their parts. They begin
/// with the rank after this one, so that not all send to the same rank first.
pub struct Blocks<'d> {
    chunk: usize,
    chunks: usize,
    rank: usize,
    runs: &'d [Range<usize>],
    shapes: &'d [OutboxShape],
    parts: &'d [&'d [Block]],
    room: &'d mut [Block],
}

/// A message to another rank, with its bytes, or from another rank, with room for them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Message<B> {
    /// The other rank.
    pub rank: usize,
    /// The number of the part, among the sender's.
    pub part: usize,
    /// A multiple of [`Blocks::BLOCK_BYTES`]. Messages to two ranks may share bytes.
    pub bytes: B,
}

impl<'d> Blocks<'d> {
    /// The size of a block in bytes. A message is a whole number of blocks.
    pub const BLOCK_BYTES: usize = BLOCK_BYTES;

    /// The messages that this rank sends.
    pub fn sent(&self) -> impl Iterator<Item = Message<&'d [MaybeUninit<u8>]>> + use<'d> {
        let Self { chunk, chunks, rank, runs, shapes, parts, .. } = *self;
        let stride = shapes[rank].stride;
        let messages = others(rank, shapes.len()).flat_map(move |to| {
            let run = chunk_of(&runs[to], chunk, chunks);
            let blocks = run.start * stride..run.end * stride;
            parts.iter().enumerate().map(move |(part, all)| {
                let bytes = Block::bytes(&all[blocks.clone()]);
                Message { rank: to, part, bytes }
            })
        });
        messages.filter(|message| !message.bytes.is_empty())
    }

    /// The messages that this rank receives, with room for their bytes.
    pub fn received(self) -> impl Iterator<Item = Message<&'d mut [MaybeUninit<u8>]>> + use<'d> {
        let Self { chunk, chunks, rank, runs, shapes, room, .. } = self;
        let buckets = chunk_of(&runs[rank], chunk, chunks).len();
        let mut rest = Block::bytes_mut(room);
        let parts_of = move |from: usize| (0..shapes[from].parts).map(move |part| (from, part));
        let rooms = others(rank, shapes.len()).flat_map(parts_of).map(move |(rank, part)| {
            let bytes = buckets * shapes[rank].stride * BLOCK_BYTES;
            let bytes = rest.split_off_mut(..bytes).expect("there is room for a chunk");
            Message { rank, part, bytes }
        });
        rooms.filter(|room| !room.bytes.is_empty())
    }
}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("rank", &self.rank)
            .field("chunk", &self.chunk)
            .finish_non_exhaustive()
    }
}

/// The chunk of a rank's buckets that has arrived in the [`step`](Delivery::step) before.
pub struct Arrived<'d, T> {
    arrivals: Arrivals<'d, T>,
    chunk: Range<usize>,
    starts: &'d [u64],
    places: Range<u64>,
}

impl<T: Copy + Send + Sync> Arrived<'_, T> {
    /// Puts the chunk's items at their places in `out`, which has all places that the rank holds
    /// after the exchange. Once every chunk is placed, every place has its item.
    ///
    /// It may run while the messages of the next chunk are on their way. A rank that gets an error
    /// still has to send and receive what is left, since the others wait for it.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many places in `out` as the rank holds after
    /// the exchange, [`Error::OutOfMemory`], and [`ExchangeError::ItemsMismatch`] if not all items
    /// of the chunk have come. After the last one, `out` holds unspecified items.
    ///
    /// # Safety
    ///
    /// * The shapes that [`Sorted::deliver`] was given were true: each was that of the
    ///   [`Sorted`](Sorted::shape) of its rank whose messages come. By another shape of as many
    ///   blocks, whatever bytes lie there would be read as numbers and as items.
    /// * In the step before, all room that this rank's [`Blocks`] gave was filled with the
    ///   messages that belong there: those that the delivery of the other rank, for items of the
    ///   same type, gave in that step for this rank and the same part. Nothing has been written to
    ///   it since, such as the messages of another step. In the first step there is none to be
    ///   filled.
    pub unsafe fn place(self, out: &mut [T]) -> Result<(), Error> {
        let Self { arrivals, chunk, starts, places } = self;
        check(places.end - places.start, [out.len()])?;
        // SAFETY: the caller promises that the blocks of this chunk have been received, and that
        // they lie as the shapes say.
        let is_complete = unsafe { arrivals.place(chunk, starts, places.start, out) }?;
        if is_complete { Ok(()) } else { Err(Error::Exchange(ExchangeError::ItemsMismatch)) }
    }
}

impl<T> fmt::Debug for Arrived<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrived").field("buckets", &self.chunk).finish_non_exhaustive()
    }
}
