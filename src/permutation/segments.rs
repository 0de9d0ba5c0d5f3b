//! [`Segments`]: independent permutations of consecutive segments of different lengths.

use core::ops::Range;

use crate::compact::Direction;
use crate::compact::batch::{SegmentRun, fill_segments, reorder_segments};
use crate::engine::check::check_word;
use crate::error::ViewError;
use crate::permutation::Permutation;
use crate::{Error, Seed, Word};

/// Consecutive segments of different lengths, each of which is permuted within itself: the blocks
/// of a permutation test, the lists of an Arrow array, the rows of a sparse matrix.
///
/// Segment `r` has the items from `offsets[r]` up to `offsets[r + 1]`, as in CSR, so there is one
/// more offset than there are segments. Its permutation is [`Permutation::new`]`(len,
/// seed.with_epoch(r))`, where `len` is its own length: that of row `r` of
/// [`Permutations`](crate::Permutations) of this length. Empty segments count. The seed's own epoch
/// is not used: the segment's number replaces it.
///
/// Offsets are integers of any type that converts to a `usize`. They are borrowed, and nothing else
/// is stored.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// // Three groups, of which the second is empty.
/// let segments = Segments::new(&[0_u32, 3, 3, 8], 42)?;
/// let mut items = ["a0", "a1", "a2", "c0", "c1", "c2", "c3", "c4"];
/// segments.shuffle(&mut items)?;
/// assert!(items[..3].iter().all(|item| item.starts_with('a')));
/// let last = segments.segment(2).unwrap();
/// assert_eq!(items[3..], last.apply(&["c0", "c1", "c2", "c3", "c4"])?);
/// segments.unshuffle(&mut items)?;
/// assert_eq!(items, ["a0", "a1", "a2", "c0", "c1", "c2", "c3", "c4"]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segments<'a, N = usize> {
    /// At least one, from 0 on, none less than the one before it.
    offsets: &'a [N],
    seed: Seed,
}

impl<'a, N: Copy + Sync + TryInto<usize>> Segments<'a, N> {
    /// The segments between these offsets, with the permutations that a seed determines.
    ///
    /// # Errors
    ///
    /// [`ViewError::Offsets`](crate::error::ViewError::Offsets) if there are no offsets, the first
    /// is not 0, one is less than the one before it, or one does not fit a `usize`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::error::ViewError;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let error = Segments::new(&[0, 5, 4], 42).unwrap_err();
    /// assert_eq!(error, Error::View(ViewError::Offsets { number: 2 }));
    /// ```
    pub fn new(offsets: &'a [N], seed: impl Into<Seed>) -> Result<Self, Error> {
        let wrong = |number: usize| Error::View(ViewError::Offsets { number: number as u64 });
        let mut before = 0;
        for (number, &offset) in offsets.iter().enumerate() {
            match offset.try_into() {
                Ok(offset) if offset >= before && (number > 0 || offset == 0) => before = offset,
                _ => return Err(wrong(number)),
            }
        }
        // Segments that differ only in the seed's epoch are equal.
        let seed = seed.into().with_epoch(0);
        if offsets.is_empty() { Err(wrong(0)) } else { Ok(Self { offsets, seed }) }
    }

    /// The number of segments.
    pub const fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of items in all segments: the last offset.
    pub fn items(&self) -> usize {
        self.offset(self.count())
    }

    /// The seed, whose epochs are the segments.
    pub const fn seed(&self) -> Seed {
        self.seed
    }

    /// The offsets.
    pub const fn offsets(&self) -> &'a [N] {
        self.offsets
    }

    /// The permutation of one of the segments, whose indexes count from the segment's first item;
    /// `None` if `number` is not below [`count`](Self::count).
    pub fn segment(&self, number: usize) -> Option<Permutation> {
        let Range { start, end } = self.range(number)?;
        Some(Permutation::new((end - start) as u64, self.seed.with_epoch(number as u64)))
    }

    /// The places of a segment's items; `None` if `number` is not below [`count`](Self::count).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let segments = Segments::new(&[0, 3, 8], 42)?;
    /// assert_eq!(segments.range(1), Some(3..8));
    /// assert_eq!(segments.range(2), None);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn range(&self, number: usize) -> Option<Range<usize>> {
        (number < self.count()).then(|| self.offset(number)..self.offset(number + 1))
    }

    /// Writes the permutations of all segments, one after another, into a slice of 32-bit or 64-bit
    /// words: index `k` of segment `r` is word `offsets[r] + k`, and counts from the segment's
    /// first item.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice's length is not the last offset,
    /// [`Error::IndexTooWide`] if the word cannot hold the indexes, and [`Error::OutOfMemory`],
    /// after which the slice holds unspecified values.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let segments = Segments::new(&[0, 3, 3, 8], 42)?;
    /// let mut indexes = [0_u32; 8];
    /// segments.write_indexes(&mut indexes)?;
    /// let last = indexes[3..].iter().map(|&index| u64::from(index));
    /// assert!(segments.segment(2).unwrap().iter().eq(last));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn write_indexes<W: Word>(&self, out: &mut [W]) -> Result<(), Error> {
        self.check_all(out.len())?;
        if check_word::<W>(out.len()).is_err() {
            let mut segments = (0..self.count()).filter_map(|number| self.range(number));
            segments.try_for_each(|Range { start, end }| check_word::<W>(end - start))?;
        }
        fill_segments(self.run(), out)
    }

    /// Shuffles each segment of a slice by its own permutation `p`: item `p[k]` of the segment
    /// moves to its place `k`.
    ///
    /// Items are moved, not cloned, on the threads of the current rayon pool, which share the work
    /// however different the lengths are. Segments of up to
    /// [`Standard::EXACT_MAX`](crate::bijection::Standard::EXACT_MAX) items take no memory. Longer
    /// ones take what [`par_bijective_shuffle`] takes for the longest that each thread has.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice's length is not the last offset; the items are then
    /// unchanged. [`Error::OutOfMemory`]; each segment is then either shuffled or unchanged.
    ///
    /// [`par_bijective_shuffle`]: crate::ParBijectiveShuffle::par_bijective_shuffle
    pub fn shuffle<T: Send>(&self, items: &mut [T]) -> Result<(), Error> {
        self.reorder(items, Direction::Shuffle)
    }

    /// Undoes [`shuffle`](Self::shuffle): item `k` of a segment moves to its place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<T: Send>(&self, items: &mut [T]) -> Result<(), Error> {
        self.reorder(items, Direction::Unshuffle)
    }

    fn reorder<T: Send>(&self, items: &mut [T], direction: Direction) -> Result<(), Error> {
        self.check_all(items.len())?;
        reorder_segments(self.run(), items, direction)
    }

    /// Checks that a slice has the length of all segments together.
    fn check_all(&self, actual: usize) -> Result<(), Error> {
        let (expected, actual) = (self.items() as u64, actual as u64);
        if expected == actual { Ok(()) } else { Err(Error::LengthMismatch { expected, actual }) }
    }

    fn offset(&self, number: usize) -> usize {
        // `new` has converted it.
        self.offsets[number].try_into().unwrap_or(usize::MAX)
    }

    fn run(&self) -> SegmentRun<'a, N> {
        SegmentRun::new(self.offsets, self.seed)
    }
}
