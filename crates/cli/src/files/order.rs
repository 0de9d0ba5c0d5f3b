//! [`FileOrder`]: which items are written, and in which order.

use std::ops::Range;

use bijective_shuffle::error::ViewError;
use bijective_shuffle::{Backend, Error, Permutation, Seed, Word};

use super::room::{try_filled, try_reserve};

/// An order of the items of a file, and which part of it is wanted.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Permutation;
/// use bijective_shuffle_cli::files::FileOrder;
///
/// let order = FileOrder::shuffle(1000, 42).range(10..20)?;
/// assert_eq!(order.indexes::<u32>()?, Permutation::new(1000, 42).range(10..20)?
///     .map(|index| index as u32)
///     .collect::<Vec<_>>());
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileOrder {
    permutation: Permutation,
    is_undone: bool,
    places: Range<u64>,
}

impl FileOrder {
    /// The shuffled order of `len` items.
    pub fn shuffle(len: u64, seed: impl Into<Seed>) -> Self {
        Self { permutation: Permutation::new(len, seed), is_undone: false, places: 0..len }
    }

    /// The order that puts `len` items back from the shuffled order.
    pub fn unshuffle(len: u64, seed: impl Into<Seed>) -> Self {
        Self { is_undone: true, ..Self::shuffle(len, seed) }
    }

    /// The same order. [`indexes`](Self::indexes) computes it on another back end; a shuffle of a
    /// file uses the processor's threads anyway.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { permutation: self.permutation.with_backend(backend), ..self }
    }

    /// A part of the order: these places of what is left of it.
    ///
    /// # Errors
    ///
    /// [`ViewError::OutOfRange`] if there are no such places.
    pub fn range(self, places: Range<u64>) -> Result<Self, Error> {
        let len = self.places.end - self.places.start;
        let Range { start, end } = places;
        if start > end || end > len {
            let (start, end) = (start.into(), end.into());
            return Err(Error::View(ViewError::OutOfRange { start, end, len }));
        }
        let from = self.places.start;
        Ok(Self { places: from + start..from + end, ..self })
    }

    /// The share of one of several workers of what is left of the order, as
    /// [`Permutation::shard`] divides it.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if `rank` is not below `ranks`.
    pub fn shard(self, rank: u64, ranks: u64) -> Result<Self, Error> {
        if rank >= ranks {
            return Err(Error::NoSuchRank { rank, ranks });
        }
        let len = self.places.end - self.places.start;
        // At most `len`.
        let bound = |rank: u64| (u128::from(len) * u128::from(rank) / u128::from(ranks)) as u64;
        self.range(bound(rank)..bound(rank + 1))
    }

    /// The number of items of the file.
    pub fn len(&self) -> u64 {
        self.permutation.len()
    }

    /// Whether the file has no items.
    pub fn is_empty(&self) -> bool {
        self.permutation.is_empty()
    }

    /// The places of the whole order that are wanted.
    pub fn places(&self) -> Range<u64> {
        self.places.clone()
    }

    /// Whether all items are wanted.
    pub fn is_whole(&self) -> bool {
        self.places == (0..self.len())
    }

    /// Whether this order puts shuffled items back.
    pub fn is_undone(&self) -> bool {
        self.is_undone
    }

    /// The permutation by which items are shuffled, or put back.
    pub fn permutation(&self) -> &Permutation {
        &self.permutation
    }

    /// The numbers of the items at the wanted places, counted from 0.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::write_indexes`], and [`Error::OutOfMemory`] if they do not fit
    /// memory.
    pub fn indexes<W: Word>(&self) -> Result<Vec<W>, Error> {
        let Range { start, end } = self.places;
        // A part takes one thread, in proportion; the whole order takes all of them.
        let is_part = end - start < self.len() / rayon::current_num_threads() as u64;
        if is_part && !self.is_undone {
            let mut order = Vec::new();
            try_reserve(&mut order, count(end - start))?;
            order.extend(self.permutation.range(start..end)?.map(W::wrap));
            return Ok(order);
        }
        let mut order = if self.is_undone { self.put_back()? } else { self.shuffled()? };
        order.truncate(end as usize);
        order.drain(..start as usize);
        Ok(order)
    }

    fn shuffled<W: Word>(&self) -> Result<Vec<W>, Error> {
        let mut order = try_filled(count(self.len()), W::ZERO)?;
        self.permutation.write_indexes(&mut order)?;
        Ok(order)
    }

    /// Shuffling brings item `order[k]` to place `k`, so that item `k` goes back to place
    /// `order[k]`: the numbers themselves are put back.
    fn put_back<W: Word>(&self) -> Result<Vec<W>, Error> {
        let mut order = Vec::new();
        try_reserve(&mut order, count(self.len()))?;
        order.extend((0..self.len()).map(W::wrap));
        self.permutation.unapply_in_place(&mut order)?;
        Ok(order)
    }
}

/// A number of items in memory. One that cannot be addressed is more than can be allocated.
fn count(items: u64) -> usize {
    usize::try_from(items).unwrap_or(usize::MAX)
}
