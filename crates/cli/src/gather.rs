//! [`write_items`]: items in memory, in their new order, to the output.

use std::io::{self, Write};
use std::{iter, mem};

use bijective_shuffle::Word;
use rayon::prelude::*;

use crate::lines::Divided;
use crate::progress::Progress;

/// How many bytes of items, on average, are gathered to a block: enough to make a system call
/// cheap.
const BLOCK_BYTES: usize = 1 << 20;

/// How many blocks a thread gathers in a round, so that threads that are faster, or not writing,
/// can do more.
const BLOCKS_PER_THREAD: usize = 2;

/// Writes the items with these numbers, and returns the number of bytes.
///
/// It goes in rounds: while the blocks of one round are written, those of the next are gathered.
pub(crate) fn write_items<W: Word>(
    items: &impl Divided,
    order: &[W],
    output: &mut (impl Write + Send),
    progress: &Progress,
) -> io::Result<u64> {
    let block_items = items_per_block(items.bytes(), items.count());
    let blocks = BLOCKS_PER_THREAD * rayon::current_num_threads();
    let mut full = vec![Vec::new(); blocks];
    let mut next = vec![Vec::new(); blocks];
    let mut written = 0;
    // The blocks of the last round are written while nothing is gathered.
    for round in order.chunks(block_items * blocks).chain(iter::once([].as_slice())) {
        let (result, ()) = rayon::join(
            || write_blocks(&full, output, progress),
            || gather_blocks(items, round, block_items, &mut next),
        );
        written += result?;
        mem::swap(&mut full, &mut next);
    }
    Ok(written)
}

/// Writes the blocks, and returns their size.
fn write_blocks(
    blocks: &[Vec<u8>],
    output: &mut impl Write,
    progress: &Progress,
) -> io::Result<u64> {
    let mut written = 0;
    for block in blocks {
        output.write_all(block)?;
        progress.advance(block.len() as u64)?;
        written += block.len() as u64;
    }
    Ok(written)
}

/// Fills as many blocks as the items take, and empties the others.
fn gather_blocks<W: Word>(
    items: &impl Divided,
    order: &[W],
    block_items: usize,
    blocks: &mut [Vec<u8>],
) {
    blocks.par_iter_mut().with_max_len(1).enumerate().for_each(|(number, block)| {
        let order = order.chunks(block_items).nth(number).unwrap_or_default();
        block.clear();
        gather(items, order, block);
    });
}

/// Appends items to a block.
fn gather<W: Word>(items: &impl Divided, order: &[W], block: &mut Vec<u8>) {
    // Each item is somewhere else in memory, but no address depends on what was read from another,
    // so the processor fetches several at a time by itself: looking ahead by hand, in batches, was
    // measured to gain nothing.
    for number in order {
        block.extend_from_slice(items.get(number.widen() as usize));
    }
}

/// How many items of middling length make a block.
fn items_per_block(bytes: usize, items: usize) -> usize {
    let mean = bytes / items.max(1);
    (BLOCK_BYTES / mean.max(1)).max(1)
}
