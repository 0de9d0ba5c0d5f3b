//! [`Ordered`]: items in their order, on the way to the pieces of an output.

use std::io;

use super::error::FilesError;
use super::sources::Pieces;

/// Items in their order.
pub(super) struct Ordered {
    pub(super) items: Vec<u8>,
    /// Pieces of the output, and where the items of each end here.
    pieces: Vec<(usize, usize)>,
}

impl Ordered {
    /// Puts items behind each other in memory that has room for them. The first comes to `place` of
    /// the output, whose pieces end at `ends`. `lacks` is the error if there are more items than
    /// places.
    pub(super) fn new<'i>(
        found: impl Iterator<Item = Result<&'i [u8], FilesError>>,
        memory: Vec<u8>,
        (place, ends): (u64, &[u64]),
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

    /// Appends the items to their pieces.
    pub(super) fn write(&self, output: &mut dyn Pieces) -> io::Result<()> {
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
