//! [`Packed`]: documents one after another, cut into sequences of the same length.

use core::fmt;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering;

use bijective_shuffle::{Bijection, Seed};
use bijective_shuffle_engine::stream::prefetch_lines_to_write;
use bijective_shuffle_engine::{check, memory, parallel};

#[cfg(not(target_has_atomic = "64"))]
use locked::AtomicU64;

use crate::Error;
use crate::batches::Source;
use crate::items::{self, ItemLengths, PerEpoch, StandardWalk, own_places};

/// The number of the documents' order, and that of the sequences' order, among what this package
/// draws.
const NUMBERS: [u32; 2] = [3, 4];

/// How many documents have one sum: so the sums of 64 bits take an eighth of a byte a document.
const RUN: usize = 64;

/// How many documents a thread evaluates at a time.
const BLOCK: usize = 4096;

/// How many documents ahead sums are prefetched.
const AHEAD: usize = 64;

/// A part of a document: its tokens from `from` up to, and without, `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Piece {
    /// The document.
    pub document: u64,
    /// The first of its tokens.
    pub from: u64,
    /// The end of its tokens, above `from`.
    pub to: u64,
}

/// Documents of given lengths in a shuffled order, one after another, cut into sequences of
/// `length` tokens, which come in a shuffled order themselves: place `k` of an epoch holds the
/// pieces of documents that make a sequence.
///
/// Every epoch has orders of its own. Of all tokens of an epoch, fewer than `length` are left over,
/// those at the end of the documents' order. A sequence may share its last tokens with the next one
/// in the documents' order, as a model needs that predicts each next token: `overlap` says how
/// many, and a sequence then has `length + overlap` tokens.
///
/// An index has a sum for each 64 documents in their order, an eighth of a byte for each. It is
/// built on all cores when an epoch is first asked for, and shared by clones, which keep those of
/// the last two epochs. A look-up takes a binary search among the sums, and looks at the lengths of
/// up to 64 documents besides those of the sequence.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::{BatchOptions, Batches, Packed};
///
/// let lengths: Vec<u32> = (0..1000).map(|document| document % 70).collect();
/// let packed = Packed::new(&lengths[..], 128, 0, 42)?;
/// assert_eq!(packed.len(), packed.tokens() / 128);
/// for piece in packed.get(7)? {
///     assert!(piece.from < piece.to && piece.to <= u64::from(lengths[piece.document as usize]));
/// }
///
/// let mut batches = Batches::new(packed, None, BatchOptions::new(8).rank(1, 4))?;
/// let mut batch = Vec::new();
/// batches.next_batch(&mut batch)?;
/// let tokens = |sequence: &[bijective_shuffle_loaders::Piece]| -> u64 {
///     sequence.iter().map(|piece| piece.to - piece.from).sum()
/// };
/// assert!(batch.iter().all(|sequence| tokens(sequence) == 128));
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
#[derive(Clone)]
pub struct Packed<L> {
    lengths: L,
    seed: Seed,
    total: u64,
    length: u64,
    overlap: u64,
    index: PerEpoch<EpochDocuments>,
}

/// The orders of an epoch, and the sums of the documents' lengths.
struct EpochDocuments {
    documents: StandardWalk,
    sequences: StandardWalk,
    /// How many tokens come before each run of documents, and the number of all.
    sums: Vec<u64>,
}

impl<L: ItemLengths> Packed<L> {
    /// Packs documents of these lengths into sequences of `length` tokens, each with `overlap` more
    /// that it shares with the next. Adds up all lengths, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::SequenceLengthOutOfRange`], [`Error::TotalLengthTooLarge`] or
    /// [`Error::TooFewTokens`]; [`Error::Shuffle`] if there is too little memory.
    pub fn new(
        lengths: L,
        length: u64,
        overlap: u64,
        seed: impl Into<Seed>,
    ) -> Result<Self, Error> {
        if !(1..=1 << 32).contains(&length) || overlap > length {
            return Err(Error::SequenceLengthOutOfRange { length, overlap });
        }
        let total = items::survey(&lengths)?.total;
        if total < length + overlap {
            return Err(Error::TooFewTokens { total, needed: length + overlap });
        }
        Ok(Self { lengths, seed: seed.into(), total, length, overlap, index: PerEpoch::new() })
    }

    /// The same documents at another epoch.
    #[must_use]
    pub fn with_epoch(mut self, epoch: u64) -> Self {
        self.seed = self.seed.with_epoch(epoch);
        self
    }

    /// The seed, with its epoch.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The number of sequences in an epoch.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one sequence")]
    pub fn len(&self) -> u64 {
        (self.total - self.overlap) / self.length
    }

    /// The number of tokens of all documents.
    pub fn tokens(&self) -> u64 {
        self.total
    }

    /// The lengths of the documents.
    pub fn lengths(&self) -> &L {
        &self.lengths
    }

    /// The pieces of the sequence at a place of the seed's epoch, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if the place is not below [`len`](Self::len) or memory for the epoch's
    /// index runs out, and [`Error::LengthsChanged`] if lengths are found to have changed.
    pub fn get(&self, place: u64) -> Result<Vec<Piece>, Error> {
        items::check_place(place, self.len())?;
        self.pieces(&*self.index(self.seed.epoch())?, place)
    }

    /// Builds the index of the seed's epoch, as the first look-up does.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn build(&self) -> Result<(), Error> {
        self.index(self.seed.epoch()).map(|_| ())
    }

    fn index(&self, epoch: u64) -> Result<std::sync::Arc<EpochDocuments>, Error> {
        self.index.get(epoch, || self.build_index(self.seed.with_epoch(epoch)))
    }

    fn build_index(&self, seed: Seed) -> Result<EpochDocuments, Error> {
        let count = self.lengths.count();
        let documents = items::order(count, seed, NUMBERS[0]);
        let sequences = items::order(self.len(), seed, NUMBERS[1]);
        let runs = usize::try_from(count.div_ceil(RUN as u64)).unwrap_or(usize::MAX - 1);
        let mut sums = memory::try_in_huge_pages(runs + 1)?;
        sums.resize_with(runs + 1, AtomicU64::default);
        let total = AtomicU64::new(0);
        parallel::each(count.div_ceil(BLOCK as u64) as usize, &|block| {
            let first = (block * BLOCK) as u64;
            let mut places = [0; BLOCK];
            let places = &mut places[..(count - first).min(BLOCK as u64) as usize];
            documents.inverse_run(first, places);
            let added = self.add_lengths(first, places, &sums);
            let add = |total: u64| Some(total.saturating_add(added));
            let _ = total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        });
        // If this is so, no sum of a run has gone beyond 64 bits either.
        if total.into_inner() != self.total {
            return Err(Error::LengthsChanged);
        }
        let mut sums: Vec<u64> = sums.into_iter().map(AtomicU64::into_inner).collect();
        let mut before = 0;
        for sum in &mut sums {
            before += core::mem::replace(sum, before);
        }
        Ok(EpochDocuments { documents, sequences, sums })
    }

    /// Adds the lengths of consecutive documents to the sums of the runs in which their places are,
    /// and returns the sum of them, or `u64::MAX` if it is larger.
    ///
    /// The lengths are read in their own order, which suits a file that is larger than memory, and
    /// the sums that they are added to are a 32nd of their size. With 10^9 documents, on two cores
    /// of an EPYC, an index took 8.1 seconds: 22 where the lengths were gathered run by run, with
    /// or without prefetches, and 12.5 where all sums of a block were prefetched at its start.
    fn add_lengths(&self, first: u64, places: &[u64], sums: &[AtomicU64]) -> u64 {
        let sum_of = |place: u64| (place / RUN as u64) as usize;
        let prefetch = |&place: &u64| {
            prefetch_lines_to_write(sums.as_ptr().wrapping_add(sum_of(place)).cast(), 1);
        };
        let mut ahead = places.iter();
        ahead.by_ref().take(AHEAD).for_each(prefetch);
        let mut added = 0_u64;
        for (&place, document) in places.iter().zip(first..) {
            if let Some(place) = ahead.next() {
                prefetch(place);
            }
            let length = self.lengths.length(document);
            sums[sum_of(place)].fetch_add(length, Ordering::Relaxed);
            added = added.saturating_add(length);
        }
        added
    }

    /// The pieces of the sequence at a place, which is below the number of sequences.
    fn pieces(&self, index: &EpochDocuments, place: u64) -> Result<Vec<Piece>, Error> {
        let start = index.sequences.forward(place) * self.length;
        let end = start + self.length + self.overlap;
        // The last run with a sum that is not above, so the documents before it are without a look.
        let mut run = index.sums.partition_point(|&sum| sum <= start) - 1;
        let (mut pieces, mut at) = (Vec::new(), index.sums[run]);
        let mut documents = [0; RUN];
        while at < end {
            let first = (run * RUN) as u64;
            let count = (self.lengths.count() - first).min(RUN as u64) as usize;
            let documents = &mut documents[..count];
            index.documents.forward_run(first, documents);
            for &document in &*documents {
                let length = self.lengths.length(document);
                let (from, to) = (start.max(at), end.min(at.saturating_add(length)));
                if from < to {
                    check::try_reserve(&mut pieces, 1)?;
                    pieces.push(Piece { document, from: from - at, to: to - at });
                }
                at = at.saturating_add(length);
                if at >= end {
                    break;
                }
            }
            run += 1;
            // Within a run a change shows only in what lies after the run.
            if at > index.sums[run] || at < end && at < index.sums[run] {
                return Err(Error::LengthsChanged);
            }
        }
        Ok(pieces)
    }
}

impl<L: ItemLengths> Source for Packed<L> {
    type Item = Vec<Piece>;

    fn fingerprint(&self) -> u64 {
        let numbers = [self.total, self.length, self.overlap];
        items::fingerprint(&self.lengths, &numbers, self.seed)
    }

    /// All epochs have as many places. The index is built at the first look-up: what is resumed
    /// needs that of its own epoch only.
    fn begin(&self, _epoch: u64, places: Option<u64>) -> Result<u64, Error> {
        own_places(places, self.len())
    }

    fn items(
        &self,
        epoch: u64,
        _len: u64,
        places: &mut [u64],
        out: &mut Vec<Vec<Piece>>,
    ) -> Result<(), Error> {
        let index = self.index(epoch)?;
        check::try_reserve(out, places.len())?;
        for &place in &*places {
            out.push(self.pieces(&index, place)?);
        }
        Ok(())
    }
}

impl<L: ItemLengths> fmt::Debug for Packed<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packed")
            .field("documents", &self.lengths.count())
            .field("tokens", &self.total)
            .field("length", &self.length)
            .field("overlap", &self.overlap)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// Sums for processors that have no atomics of 64 bits.
#[cfg(not(target_has_atomic = "64"))]
mod locked {
    use core::sync::atomic::Ordering;
    use std::sync::{Mutex, PoisonError};

    #[derive(Default)]
    pub(super) struct AtomicU64(Mutex<u64>);

    impl AtomicU64 {
        pub(super) fn new(number: u64) -> Self {
            Self(Mutex::new(number))
        }

        pub(super) fn fetch_add(&self, added: u64, order: Ordering) -> u64 {
            let add = |number: u64| Some(number.wrapping_add(added));
            let (Ok(before) | Err(before)) = self.fetch_update(order, order, add);
            before
        }

        pub(super) fn fetch_update(
            &self,
            _: Ordering,
            _: Ordering,
            update: impl FnOnce(u64) -> Option<u64>,
        ) -> Result<u64, u64> {
            let mut number = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let next = update(*number).ok_or(*number)?;
            Ok(core::mem::replace(&mut number, next))
        }

        pub(super) fn into_inner(self) -> u64 {
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
