//! [`write_items`]: items in memory, in their new order, to the output.

use std::io::{self, Write};

use bijective_shuffle::Word;
use bijective_shuffle_cli::files::FilesError;

use crate::files::ordered::{Ordered, OrderedRounds};
use crate::files::room::Spare;
use crate::files::sources::Whole;
use crate::lines::Divided;
use crate::progress::Progress;

/// How many bytes of items, on average, are gathered to a block: enough to make a system call
/// cheap.
const BLOCK_BYTES: usize = 1 << 20;

/// How many blocks a thread gathers in a round, so that threads that are faster, or not writing,
/// can do more.
const BLOCKS_PER_THREAD: usize = 2;

/// Items whose numbers are in order.
struct MemoryGatherer<'i, D, W> {
    items: &'i D,
    /// Those that are in no block yet.
    order: &'i [W],
    /// How many items of middling length make a block.
    block: usize,
    spare: Spare<Vec<u8>>,
}

impl<'i, D: Divided, W: Word> OrderedRounds for MemoryGatherer<'i, D, W> {
    type Block = &'i [W];

    fn next(&mut self) -> Result<Vec<&'i [W]>, FilesError> {
        let most = self.block * BLOCKS_PER_THREAD * rayon::current_num_threads();
        let (round, rest) = self.order.split_at(most.min(self.order.len()));
        self.order = rest;
        Ok(round.chunks(self.block).collect())
    }

    fn in_order(&self, order: &'i [W]) -> Result<Ordered, FilesError> {
        let mut block = self.spare.take();
        // Each item is somewhere else in memory, but no address depends on what was read from
        // another, so the processor fetches several at a time by itself: looking ahead by hand, in
        // batches, was measured to gain nothing.
        for number in order {
            block.extend_from_slice(self.items.get(number.widen() as usize));
        }
        Ok(Ordered::of(block))
    }

    fn spare(&self) -> &Spare<Vec<u8>> {
        &self.spare
    }

    fn keeps(&self, _: usize) -> bool {
        true
    }
}

/// Writes the items with these numbers, and returns the number of bytes.
pub(crate) fn write_items<W: Word>(
    items: &impl Divided,
    order: &[W],
    output: &mut (impl Write + Send),
    progress: &Progress,
) -> io::Result<u64> {
    let mean = items.bytes() / items.count().max(1);
    let block = (BLOCK_BYTES / mean.max(1)).max(1);
    let mut gatherer = MemoryGatherer { items, order, block, spare: Spare::default() };
    gatherer.write(&mut Whole(output), progress).map_err(|error| match error {
        FilesError::Write(error) => error,
        // Nothing else fails.
        error => io::Error::other(error),
    })
}
