//! [`read_chunks`]: a source in pieces of whole items.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use bijective_shuffle::Error;

use super::budget::BudgetJob;
use super::items::{ItemCount, Items};
use super::room::try_reserve;

/// Why reading ended too soon.
#[derive(Debug)]
pub(super) enum Stopped {
    Read(io::Error),
    OutOfMemory(Error),
    /// An item has more bytes than are allowed.
    TooLong,
    /// This number of bytes is left of a record.
    PartOfRecord(usize),
}

/// How the source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SourceEnd {
    /// Whether the last line had its delimiter, so that none was added.
    pub(super) is_terminated: bool,
    /// The number of bytes that were read.
    pub(super) bytes: u64,
}

impl SourceEnd {
    /// What the source has, with this number of items.
    pub(super) fn count(self, items: u64) -> ItemCount {
        let Self { is_terminated, bytes } = self;
        ItemCount { items, bytes, is_terminated }
    }
}

/// Reads a source to its end, `step` bytes at a time, in chunks of whole items. A delimiter is
/// added to the last line if it has none. `take` takes a chunk and returns memory for the next; it
/// ends early, without an error, if that returns none.
///
/// An item that is longer than what is read at a time waits for `long`, so that there is one such
/// item in all sources that are read at the same time.
pub(super) fn read_chunks(
    mut source: impl Read,
    BudgetJob { items, budget }: BudgetJob,
    step: usize,
    long: &Mutex<()>,
    mut take: impl FnMut(Vec<u8>) -> Option<Vec<u8>>,
) -> Result<SourceEnd, Stopped> {
    let mut end = SourceEnd { is_terminated: true, bytes: 0 };
    // What was read of an item that is not whole.
    let mut rest = Vec::new();
    let mut chunk = Vec::new();
    let mut is_long = None;
    loop {
        if rest.len() <= step {
            is_long = None;
        } else if is_long.is_none() {
            is_long = Some(long.lock().unwrap_or_else(PoisonError::into_inner));
        }
        chunk.clear();
        // One byte is for a delimiter.
        try_reserve(&mut chunk, rest.len() + step + 1).map_err(Stopped::OutOfMemory)?;
        chunk.append(&mut rest);
        let before = chunk.len();
        let read =
            source.by_ref().take(step as u64).read_to_end(&mut chunk).map_err(Stopped::Read)?;
        end.bytes += read as u64;
        let is_last = read < step;
        if is_last && let Items::Lines { delimiter } = items {
            end.is_terminated = chunk.last().is_none_or(|&last| last == delimiter);
            if !end.is_terminated {
                chunk.push(delimiter);
            }
        }
        let whole = items.whole(&chunk, before);
        rest.extend_from_slice(&chunk[whole..]);
        chunk.truncate(whole);
        if is_last && !rest.is_empty() {
            return Err(Stopped::PartOfRecord(rest.len()));
        }
        if !chunk.is_empty() {
            let Some(next) = take(chunk) else { return Ok(end) };
            chunk = next;
        }
        if is_last {
            return Ok(end);
        }
        if rest.len() > budget.longest_item() {
            return Err(Stopped::TooLong);
        }
    }
}
