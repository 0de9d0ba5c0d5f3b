//! [`write_items`]: items in memory, in their new order, to the output.

use std::io::{self, Write};
use std::{iter, mem};

use rayon::prelude::*;

use crate::lines::{Lines, Offset};
use crate::progress::Progress;

/// How many bytes of items, on average, are gathered to a block: enough to make a system call
/// cheap.
const BLOCK_BYTES: usize = 1 << 20;

/// How many blocks a thread gathers in a round, so that threads that are faster, or not writing,
/// can do more.
const BLOCKS_PER_THREAD: usize = 2;

/// A text that is divided into items.
pub(crate) trait Divided: Sync {
    /// How many items there are.
    fn count(&self) -> usize;

    /// How many bytes they have.
    fn bytes(&self) -> usize;

    /// An item, counted from 0. Panics if there is no such item.
    fn get(&self, index: usize) -> &[u8];
}

impl<W: Offset> Divided for Lines<'_, W> {
    fn count(&self) -> usize {
        self.count()
    }

    fn bytes(&self) -> usize {
        self.text().len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        self.get(index)
    }
}

/// A text of records of one size.
pub(crate) struct Records<'a> {
    pub(crate) text: &'a [u8],
    /// At least 1.
    pub(crate) record: usize,
}

impl Divided for Records<'_> {
    fn count(&self) -> usize {
        self.text.len() / self.record
    }

    fn bytes(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        &self.text[index * self.record..][..self.record]
    }
}

/// Writes the items with these numbers; returns the number of bytes. If `is_open`, the last byte of
/// the last of them, which is its delimiter, is left out.
pub(crate) fn write_items<W: Offset>(
    items: &impl Divided,
    order: &[W],
    is_open: bool,
    output: &mut (impl Write + Send),
    progress: &Progress,
) -> io::Result<u64> {
    match order.split_last() {
        Some((last, others)) if is_open => {
            let line = items.get(last.position());
            let stripped = &line[..line.len() - 1];
            let before = write_whole(items, others, output, progress)?;
            output.write_all(stripped)?;
            Ok(before + stripped.len() as u64)
        }
        _ => write_whole(items, order, output, progress),
    }
}

/// Writes items in rounds: while the blocks of one round are written, those of the next are
/// gathered.
fn write_whole<W: Offset>(
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
        progress.advance(block.len() as u64);
        written += block.len() as u64;
    }
    Ok(written)
}

/// Fills as many blocks as the items take, and empties the others.
fn gather_blocks<W: Offset>(
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
fn gather<W: Offset>(items: &impl Divided, order: &[W], block: &mut Vec<u8>) {
    // Each item is somewhere else in memory, but no address depends on what was read from another,
    // so the processor fetches several at a time by itself: looking ahead by hand, in batches, was
    // measured to gain nothing.
    for number in order {
        block.extend_from_slice(items.get(number.position()));
    }
}

/// How many items of middling length make a block.
fn items_per_block(bytes: usize, items: usize) -> usize {
    let mean = bytes / items.max(1);
    (BLOCK_BYTES / mean.max(1)).max(1)
}
