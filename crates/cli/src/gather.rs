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

/// Arguments of the command line, each with a delimiter behind it. What is in them does not matter,
/// be it a delimiter.
pub(crate) struct Echoed {
    lines: Vec<Vec<u8>>,
    bytes: usize,
}

impl Echoed {
    pub(crate) fn new<'a>(arguments: impl Iterator<Item = &'a [u8]>, delimiter: u8) -> Self {
        let lines: Vec<_> = arguments.map(|argument| [argument, &[delimiter]].concat()).collect();
        let bytes = lines.iter().map(Vec::len).sum();
        Self { lines, bytes }
    }
}

impl Divided for Echoed {
    fn count(&self) -> usize {
        self.lines.len()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn get(&self, index: usize) -> &[u8] {
        &self.lines[index]
    }
}

/// A text of records of one size.
pub(crate) struct SizedRecords<'a> {
    pub(crate) text: &'a [u8],
    /// At least 1.
    pub(crate) record: usize,
}

impl Divided for SizedRecords<'_> {
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

/// Writes the items with these numbers, and returns the number of bytes.
///
/// It goes in rounds: while the blocks of one round are written, those of the next are gathered.
pub(crate) fn write_items<W: Offset>(
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
