//! [`write_lines`]: the lines, in their new order, to the output.

use std::io::{self, Write};
use std::{iter, mem};

use rayon::prelude::*;

use crate::input::Input;
use crate::lines::{Lines, Offset};
use crate::progress::Progress;

/// How many bytes of lines, on average, are gathered to a block: enough to make a system call
/// cheap.
const BLOCK_BYTES: usize = 1 << 20;

/// How many blocks a thread gathers in a round, so that threads that are faster, or not writing,
/// can do more.
const BLOCKS_PER_THREAD: usize = 2;

/// Writes the lines of an input with these numbers, and flushes; returns the number of bytes. If
/// the last line of the input came without a delimiter, the last line of the output goes without
/// one.
pub(crate) fn write_lines<W: Offset>(
    input: &Input,
    lines: &Lines<W>,
    order: &[W],
    output: &mut (impl Write + Send),
    progress: &Progress,
) -> io::Result<u64> {
    let block_lines = lines_per_block(input.text.len(), lines.count());
    let written = match order.split_last() {
        Some((last, others)) if !input.is_terminated => {
            let line = lines.get(last.position());
            let stripped = &line[..line.len() - 1];
            let before = write_terminated(lines, others, block_lines, output, progress)?;
            output.write_all(stripped)?;
            before + stripped.len() as u64
        }
        _ => write_terminated(lines, order, block_lines, output, progress)?,
    };
    output.flush()?;
    Ok(written)
}

/// Writes lines with their delimiters, in rounds: while the blocks of one round are written, those
/// of the next are gathered.
fn write_terminated<W: Offset>(
    lines: &Lines<W>,
    order: &[W],
    block_lines: usize,
    output: &mut (impl Write + Send),
    progress: &Progress,
) -> io::Result<u64> {
    let blocks = BLOCKS_PER_THREAD * rayon::current_num_threads();
    let mut full = vec![Vec::new(); blocks];
    let mut next = vec![Vec::new(); blocks];
    let mut written = 0;
    // The blocks of the last round are written while nothing is gathered.
    for round in order.chunks(block_lines * blocks).chain(iter::once([].as_slice())) {
        let (result, ()) = rayon::join(
            || write_blocks(&full, output, progress),
            || gather_blocks(lines, round, block_lines, &mut next),
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

/// Fills as many blocks as the lines take, and empties the others.
fn gather_blocks<W: Offset>(
    lines: &Lines<W>,
    order: &[W],
    block_lines: usize,
    blocks: &mut [Vec<u8>],
) {
    blocks.par_iter_mut().with_max_len(1).enumerate().for_each(|(number, block)| {
        let order = order.chunks(block_lines).nth(number).unwrap_or_default();
        block.clear();
        gather(lines, order, block);
    });
}

/// Appends lines to a block.
fn gather<W: Offset>(lines: &Lines<W>, order: &[W], block: &mut Vec<u8>) {
    // Each line is somewhere else in memory, but no address depends on what was read from another,
    // so the processor fetches several at a time by itself: looking ahead by hand, in batches, was
    // measured to gain nothing.
    for number in order {
        block.extend_from_slice(lines.get(number.position()));
    }
}

/// How many lines of middling length make a block.
fn lines_per_block(text_bytes: usize, lines: usize) -> usize {
    let mean = text_bytes / lines.max(1);
    (BLOCK_BYTES / mean.max(1)).max(1)
}
