//! [`Ordered`]: items in their order, on the way to the pieces of an output, and [`OrderedRounds`],
//! which puts some in order while others are written.

use std::{io, mem};

use rayon::prelude::*;

use super::error::FilesError;
use super::room::Spare;
use super::sources::Pieces;
use super::watch::Watch;

/// Items in their order.
pub(crate) struct Ordered {
    items: Vec<u8>,
    /// Pieces of the output, and where the items of each end here.
    pieces: Vec<(usize, usize)>,
}

impl Ordered {
    /// Puts items one after the other in memory that has room for them. The first comes to `place`
    /// of the output, whose pieces end at `ends`. `lacks` is the error if there are more items than
    /// places.
    pub(super) fn new<'i>(
        found: impl Iterator<Item = Result<&'i [u8], FilesError>>,
        memory: Vec<u8>,
        place: u64,
        ends: &[u64],
        lacks: impl Fn() -> FilesError,
    ) -> Result<Self, FilesError> {
        let (mut items, mut pieces) = (memory, Vec::new());
        // The pieces that end at or before the place have all their items.
        let mut piece = ends.partition_point(|&end| end <= place);
        let mut left = ends.get(piece).map_or(0, |end| end - place);
        for item in found {
            while left == 0 {
                pieces.push((piece, items.len()));
                let end = *ends.get(piece).ok_or_else(&lacks)?;
                piece += 1;
                left = ends.get(piece).ok_or_else(&lacks)? - end;
            }
            left -= 1;
            items.extend_from_slice(item?);
        }
        pieces.push((piece, items.len()));
        Ok(Self { items, pieces })
    }

    /// Items of an output in one piece.
    pub(crate) fn of(items: Vec<u8>) -> Self {
        let pieces = vec![(0, items.len())];
        Self { items, pieces }
    }

    /// Appends the items to their pieces.
    fn write(&self, output: &mut dyn Pieces) -> io::Result<()> {
        let mut start = 0;
        for &(piece, end) in &self.pieces {
            if end > start {
                output.write(piece, &self.items[start..end])?;
            }
            start = end;
        }
        Ok(())
    }
}

/// Blocks that are put in order, some at a time.
pub(crate) trait OrderedRounds: Sync {
    type Block: Send;

    /// The next blocks, as many as may be in memory; none at the end.
    fn next(&mut self) -> Result<Vec<Self::Block>, FilesError>;

    /// The items of a block, in their order.
    fn in_order(&self, block: Self::Block) -> Result<Ordered, FilesError>;

    /// Where memory for blocks waits, and whether a piece of this size is kept there.
    fn spare(&self) -> &Spare<Vec<u8>>;
    fn keeps(&self, bytes: usize) -> bool;

    /// Writes all of them, and returns how many bytes they have. While the blocks of one round are
    /// written, those of the next are put in order.
    fn write(&mut self, output: &mut dyn Pieces, watch: &dyn Watch) -> Result<u64, FilesError> {
        let (mut full, mut bytes) = (Vec::<Ordered>::new(), 0);
        loop {
            let round = self.next()?;
            if round.is_empty() && full.is_empty() {
                return Ok(bytes);
            }
            let (this, blocks) = (&*self, mem::take(&mut full));
            let (written, ordered): (_, Result<Vec<_>, _>) = rayon::join(
                || this.write_all(blocks, output, watch),
                || {
                    round
                        .into_par_iter()
                        .with_max_len(1)
                        .map(|block| this.in_order(block))
                        .collect()
                },
            );
            bytes += written.map_err(FilesError::Write)?;
            full = ordered?;
        }
    }

    fn write_all(
        &self,
        blocks: Vec<Ordered>,
        output: &mut dyn Pieces,
        watch: &dyn Watch,
    ) -> io::Result<u64> {
        let mut bytes = 0;
        for ordered in blocks {
            ordered.write(output)?;
            let mut items = ordered.items;
            watch.advance(items.len() as u64)?;
            bytes += items.len() as u64;
            if self.keeps(items.capacity()) {
                items.clear();
                self.spare().give(items);
            }
        }
        Ok(bytes)
    }
}
